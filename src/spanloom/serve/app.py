"""The addresses of the API, and the way every request takes to them.

    counted ▶ secured ▶ problems ▶ access (with a token) ▶ receipt ▶ refusal ▶ FastAPI's routes ▶
    the queues

The page for browsers sets the content policy that it needs on its own reply.
"""

import asyncio
import json
from dataclasses import asdict, dataclass

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from spanloom.serve import browser, openapi, requests
from spanloom.serve.access import Access
from spanloom.serve.batcher import AnnotationFailed, QueueFull, WorkerStopped
from spanloom.serve.headers import SecurityHeaders
from spanloom.serve.lanes import Lanes
from spanloom.serve.limits import Limits
from spanloom.serve.load_shedding import LoadShedding, busy
from spanloom.serve.metrics import MEDIA, Counted, rendered
from spanloom.serve.model_info import ModelInfo
from spanloom.serve.problem import BROKEN, GONE, Problem, Problems
from spanloom.serve.request_body import BodyReader
from spanloom.serve.request_json import parsed
from spanloom.serve.requests import ParsedRequest, Reader

_JSON = "application/json"
_SOON = {"Retry-After": "1"}  # seconds


@dataclass(frozen=True, slots=True)
class Service:
    """What the addresses have in common: the queues, the model as it is told, the limits."""

    lanes: Lanes
    about: ModelInfo
    limits: Limits

    async def answer(self, request: Request, read: Reader) -> Response:
        """Answer a request of the model; raises ``Problem``."""
        said = parsed(await _body(request))
        asked = read(said, self.about, self.limits)
        self._check(asked.wish.size)
        return Response(asked.reply(await self._pieces(request, asked)), media_type=_JSON)

    def _check(self, size: int) -> None:
        """Refuse what this machine cannot read in time."""
        if size > self.limits.request:
            expected = f"expected up to {self.limits.request} characters in all, got {size}"
            told = f"{expected}; this machine reads no more in {self.limits.compute:g} seconds"
            raise Problem(413, told, where="body")

    async def _pieces(self, request: Request, asked: ParsedRequest) -> tuple[str, ...]:
        """Wait for the model, but not longer than the client does, or than the limit is."""
        try:
            taken = self.lanes.submit(asked.wish)
        except QueueFull as error:
            raise busy() from error
        except WorkerStopped as error:
            raise Problem(503, "the model takes no requests", headers=_SOON) from error
        done, gone = asyncio.wrap_future(taken), asyncio.ensure_future(_gone(request))
        done.add_done_callback(_heard)
        try:
            limit = self.limits.compute
            await asyncio.wait((done, gone), timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            return self._outcome(done, asked, gone=gone.done())
        finally:
            gone.cancel()
            taken.cancel()  # what nobody waits for is not computed; of ``done`` it would hear later

    def _outcome(
        self, done: "asyncio.Future[tuple[str, ...]]", asked: ParsedRequest, *, gone: bool
    ) -> tuple[str, ...]:
        if not done.done():
            if gone:
                raise Problem(GONE, "the client went away")
            raise Problem(504, f"not done within {self.limits.compute:g} seconds; send less")
        try:
            return done.result()
        except AnnotationFailed as error:
            place = asked.places[error.row]
            raise Problem(500, "the model failed on this text", where=place) from error
        except WorkerStopped as error:
            raise Problem(503, "the model takes no requests", headers=_SOON) from error


async def _body(request: Request) -> bytes:
    """Return the body of a request that says that it is JSON.

    No form of a web page can say so, and a script of another origin has to ask first.
    """
    said = request.headers.get("content-type", "")
    if said.partition(";")[0].strip().lower() != _JSON:
        what = f"expected {_JSON}, got {said[:60] or 'none'!r}"
        raise Problem(415, what, where="header content-type")
    return await request.body()


def _heard(done: "asyncio.Future[tuple[str, ...]]") -> None:
    """Hear what became of a request: whoever asked may have left in the moment when it failed."""
    if not done.cancelled():
        done.exception()


async def _gone(request: Request) -> None:
    """Return when the client has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def application(
    lanes: Lanes,
    about: ModelInfo,
    limits: Limits = Limits(),
    *,
    token: str | None = None,
) -> ASGIApp:
    """Return the server as an ASGI application; ``lanes`` are started and ended by the caller.

    With a ``token`` only those who send it are answered.
    """
    service = Service(lanes, about, limits)
    api = FastAPI(
        title="Spanloom",
        description=openapi.SUMMARY,
        version="1",
        docs_url=None,  # FastAPI's pages load scripts from elsewhere
        redoc_url=None,
        exception_handlers={
            Problem: _problem,
            HTTPException: _http,
            Exception: _broken,
        },
    )
    api.include_router(_model_routes(service))
    inner: ASGIApp = BodyReader(LoadShedding(api, lanes, openapi.ASKING), limits)
    if token is not None:
        inner = Access(inner, token)
    counted = Counted(SecurityHeaders(Problems(inner)), openapi.PATHS)
    api.include_router(_state_routes(service, counted))
    return counted


def _model_routes(service: Service) -> APIRouter:
    """The addresses that ask the model."""
    router = APIRouter()

    @router.post("/v1/annotate", **openapi.ANNOTATE)
    async def annotate(request: Request) -> Response:
        return await service.answer(request, requests.annotate)

    @router.post("/v1/ask", **openapi.ASK)
    async def ask(request: Request) -> Response:
        return await service.answer(request, requests.ask)

    @router.post("/v1/classify", **openapi.CLASSIFY)
    async def classify(request: Request) -> Response:
        return await service.answer(request, requests.classify)

    return router


def _state_routes(service: Service, counted: Counted) -> APIRouter:
    """The addresses that say what the server is and how it does."""
    router = APIRouter()
    told = json.dumps({**service.about.plain(), "limits": asdict(service.limits)})

    @router.get("/v1/model", **openapi.MODEL)
    async def model() -> Response:
        return Response(told, media_type=_JSON)

    @router.get("/health/live", **openapi.LIVE)
    async def live() -> Response:
        if not service.lanes.is_live:
            raise Problem(503, "the model has ended; another is begun", headers=_SOON)
        return Response('{"status": "live"}', media_type=_JSON)

    @router.get("/health/ready", **openapi.READY)
    async def ready() -> Response:
        if not service.lanes.is_ready:
            raise Problem(503, "the model is not warm, is stuck, or has ended", headers=_SOON)
        return Response('{"status": "ready"}', media_type=_JSON)

    @router.get("/", **openapi.PAGE)
    async def index() -> Response:
        return browser.page()

    @router.get("/metrics", **openapi.METRICS)
    async def metrics() -> Response:
        return Response(rendered(counted, service.lanes), media_type=MEDIA)

    return router


async def _problem(request: Request, error: Problem) -> Response:
    return error.response()


async def _http(request: Request, error: HTTPException) -> Response:
    """What routing raises: no such address, no such method."""
    what = f"{request.method} is not answered here; addresses: {', '.join(openapi.PATHS)}"
    return Problem(error.status_code, what, where="address", headers=error.headers).response()


async def _broken(request: Request, error: Exception) -> Response:
    return BROKEN.response()
