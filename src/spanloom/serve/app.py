"""The endpoints of the HTTP API and of the page for browsers, as an ASGI application.

RequestMetrics ▶ SecurityHeaders ▶ Problems ▶ Access (with a token) or LocalNames ▶ BodyReader ▶
LoadShedding ▶ HeadAsGet ▶ FastAPI's routes ▶ the queues
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from spanloom.serve import api_page, openapi, requests
from spanloom.serve.batcher import Lanes
from spanloom.serve.jobs import ChoicesRefused
from spanloom.serve.limits import Limits
from spanloom.serve.metrics import MEDIA, RequestMetrics, format_metrics
from spanloom.serve.middleware import (
    Access,
    BodyReader,
    HeadAsGet,
    LoadShedding,
    LocalNames,
    Problems,
    SecurityHeaders,
    busy,
)
from spanloom.serve.model_info import ModelInfo
from spanloom.serve.model_thread import AnnotationFailed
from spanloom.serve.problem import CLIENT_GONE, SERVER_ERROR, Problem
from spanloom.serve.request_queue import QueueFull, WorkerStopped
from spanloom.serve.requests import ParsedRequest, Parser, parse_json
from spanloom.viewer.html import style
from spanloom.viewer.script import policy, script

PAGE_SCRIPT = "serve/site/site"
_JSON = "application/json"
_RETRY_SOON = {"Retry-After": "1"}  # seconds
_START_PAGE = "\nstart(document);\n"
_PAGE_POLICY = (  # blob: for PNGs
    "connect-src 'self'",
    "img-src 'self' blob:",
    "frame-ancestors 'none'",
)

Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


@dataclass(frozen=True, slots=True)
class Service:
    """What the endpoints share: the queues, the description of the model, the limits."""

    lanes: Lanes
    model: ModelInfo
    limits: Limits

    def endpoint(self, parse: Parser) -> Endpoint:
        """Return an endpoint that uses the model."""

        async def answer(request: Request) -> Response:
            payload = parse_json(await _read_json_body(request))
            parsed = parse(payload, self.model, self.limits)
            self._check_size(parsed.request.size)
            return Response(parsed.reply(await self._replies(request, parsed)), media_type=_JSON)

        return answer

    def _check_size(self, size: int) -> None:
        """Refuse what this machine cannot annotate in time."""
        if size > self.limits.request:
            expected = f"expected up to {self.limits.request} characters in all, got {size}"
            reason = f"this machine reads no more in {self.limits.compute:g} seconds"
            raise Problem(413, f"{expected}; {reason}", location="body")

    async def _replies(self, request: Request, parsed: ParsedRequest) -> tuple[str, ...]:
        """Wait for the model until the client disconnects or time is over."""
        try:
            job = self.lanes.submit(parsed.request)
        except QueueFull as error:
            raise busy() from error
        except WorkerStopped as error:
            raise _no_model("the model takes no requests") from error
        done, gone = asyncio.wrap_future(job), asyncio.ensure_future(_wait_for_disconnect(request))
        done.add_done_callback(_retrieve_exception)
        try:
            timeout = self.limits.compute
            await asyncio.wait((done, gone), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            return self._outcome(done, parsed, is_gone=gone.done())
        finally:
            gone.cancel()
            job.cancel()  # what nobody waits for is not computed; cancelling ``done`` acts later

    def _outcome(
        self, done: "asyncio.Future[tuple[str, ...]]", parsed: ParsedRequest, *, is_gone: bool
    ) -> tuple[str, ...]:
        if not done.done():
            if is_gone:
                raise Problem(CLIENT_GONE, "the client went away")
            raise Problem(504, f"not done within {self.limits.compute:g} seconds; send less")
        try:
            return done.result()
        except AnnotationFailed as error:
            location = parsed.locations[error.index]
            raise Problem(500, "the model failed on this text", location=location) from error
        except ChoicesRefused as error:
            raise Problem(422, str(error), location=parsed.choices_location) from error
        except WorkerStopped as error:
            raise _no_model("the model takes no requests") from error


def _no_model(what: str) -> Problem:
    return Problem(503, what, headers=_RETRY_SOON)


async def _read_json_body(request: Request) -> bytes:
    """Return the body of a request whose content type is JSON.

    HTML forms cannot send this type, and scripts of other origins must ask first.
    """
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != _JSON:
        what = f"expected {_JSON}, got {content_type[:60] or 'none'!r}"
        raise Problem(415, what, location="header content-type")
    return await request.body()


def _retrieve_exception(done: "asyncio.Future[tuple[str, ...]]") -> None:
    """Retrieve the exception of a request, whose client may have left at the same moment."""
    if not done.cancelled():
        done.exception()


async def _wait_for_disconnect(request: Request) -> None:
    """Return when the client has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def application(
    lanes: Lanes,
    model: ModelInfo,
    limits: Limits = Limits(),
    *,
    token: str | None = None,
    is_local: bool = False,
) -> ASGIApp:
    """Return the server as an ASGI application; the caller starts and ends ``lanes``.

    With a ``token``, only requests that send it are answered; without one, a server that
    ``is_local`` answers only those for this machine by its own name or address.
    """
    service = Service(lanes, model, limits)
    api = FastAPI(
        title="Spanloom",
        description=openapi.SUMMARY,
        version="1",
        docs_url=None,  # FastAPI's pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # a 307 without a body tells a client nothing
        exception_handlers={
            Problem: _handle_problem,
            HTTPException: _handle_routing_error,
            Exception: _handle_error,
        },
    )
    api.include_router(_model_routes(service))
    inner: ASGIApp = BodyReader(LoadShedding(HeadAsGet(api), lanes, openapi.MODEL_PATHS), limits)
    if token is not None:
        inner = Access(inner, token, openapi.OPEN_PATHS)
    elif is_local:
        inner = LocalNames(inner)
    outer = RequestMetrics(SecurityHeaders(Problems(inner)), openapi.PATHS)
    api.include_router(_state_routes(service, outer))
    api.include_router(_page_routes(api))
    return outer


def _model_routes(service: Service) -> APIRouter:
    """Return the endpoints that use the model."""
    router = APIRouter(default_response_class=Response)  # the media types are those of openapi
    router.post("/v1/annotate", name="annotate", **openapi.ANNOTATE)(
        service.endpoint(requests.annotate)
    )
    router.post("/v1/ask", name="ask", **openapi.ASK)(service.endpoint(requests.ask))
    router.post("/v1/classify", name="classify", **openapi.CLASSIFY)(
        service.endpoint(requests.classify)
    )
    return router


def _state_routes(service: Service, request_metrics: RequestMetrics) -> APIRouter:
    """Return the endpoints about the server itself."""
    router = APIRouter(default_response_class=Response)  # the media types are those of openapi
    model_json = json.dumps({**service.model.plain(), "limits": asdict(service.limits)})

    @router.get("/v1/model", **openapi.MODEL)
    async def model() -> Response:
        return Response(model_json, media_type=_JSON)

    @router.get("/health/live", **openapi.LIVE)
    async def live() -> Response:
        if not service.lanes.is_live:
            raise _no_model("the model has ended; another is begun")
        return Response('{"status": "live"}', media_type=_JSON)

    @router.get("/health/ready", **openapi.READY)
    async def ready() -> Response:
        if not service.lanes.is_ready:
            raise _no_model("the model is not warm, is stuck, or has ended")
        return Response('{"status": "ready"}', media_type=_JSON)

    @router.get("/metrics", **openapi.METRICS)
    async def metrics() -> Response:
        return Response(format_metrics(request_metrics, service.lanes), media_type=MEDIA)

    return router


def _page_routes(api: FastAPI) -> APIRouter:
    """Return the pages for browsers and their icon, which hold no data."""
    router = APIRouter(default_response_class=Response)  # the media types are those of openapi

    @router.get("/", **openapi.PAGE)
    async def index() -> Response:
        return _page()

    @router.get("/docs", **openapi.API_PAGE)
    async def docs() -> Response:
        page, policy = api_page.render(api.openapi())
        headers = {"content-security-policy": f"{policy}; img-src 'self'"}
        return Response(page, headers=headers, media_type="text/html")

    @router.get("/favicon.svg", **openapi.ICON)
    async def icon() -> Response:
        return Response(_site("favicon.svg"), media_type="image/svg+xml")

    return router


@cache
def _site(name: str) -> str:
    """Return a file of the page."""
    return files("spanloom.serve").joinpath("site", name).read_text(encoding="utf-8")


@cache
def _page() -> Response:
    """Return the page for browsers, one file with its own content security policy."""
    css = style() + _site("site.css")
    code = script(PAGE_SCRIPT) + _START_PAGE
    template = Template(_site("site.html"))
    headers = {"content-security-policy": policy(code, css, *_PAGE_POLICY)}
    page = template.substitute(style=css, script=code)
    return Response(page, headers=headers, media_type="text/html")


async def _handle_problem(request: Request, error: Problem) -> Response:
    return error.response()


async def _handle_routing_error(request: Request, error: HTTPException) -> Response:
    """Reply to an unknown path or method."""
    allowed = (error.headers or {}).get("Allow")
    problem = f"expected {allowed}, got {request.method}" if allowed else "nothing is here"
    what = f"{problem}; addresses: {', '.join(openapi.PATHS)}"
    return Problem(error.status_code, what, location="address", headers=error.headers).response()


async def _handle_error(request: Request, error: Exception) -> Response:
    return SERVER_ERROR.response()
