"""Metrics of the server for Prometheus (text exposition format 0.0.4)."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spanloom.serve.batcher import Lanes
from spanloom.serve.middleware import HttpMiddleware
from spanloom.serve.problem import CLIENT_GONE

MEDIA = "text/plain; version=0.0.4"
_BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds
_OTHER = "other"  # all unknown paths: strangers must not add rows


@dataclass(slots=True)
class _Histogram:
    """Counts of request times up to each bound and above the last, and their sum in seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(_BOUNDS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(_BOUNDS, seconds)] += 1
        self.total += seconds


class RequestMetrics(HttpMiddleware):
    """Counts replies by path and status, and measures request times in seconds."""

    def __init__(
        self, app: ASGIApp, paths: Iterable[str], clock: Callable[[], float] = perf_counter
    ) -> None:
        """``paths`` are counted separately, all others together."""
        super().__init__(app)
        self.paths, self.clock = frozenset(paths), clock
        self.replies: Counter[tuple[str, int]] = Counter()
        self.times: dict[str, _Histogram] = {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one HTTP request."""
        path = scope["path"] if scope["path"] in self.paths else _OTHER
        start, status = self.clock(), CLIENT_GONE

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            self.replies[path, status] += 1
            self.times.setdefault(path, _Histogram()).add(self.clock() - start)

    def lines(self) -> Iterator[str]:
        """Yield the lines of request counts and times."""
        yield from _head("spanloom_requests_total", "counter", "replies by address and status")
        for (path, status), count in sorted(self.replies.items()):
            yield _row("spanloom_requests_total", count, {"path": path, "status": status})
        name = "spanloom_request_seconds"
        yield from _head(name, "histogram", "from the head of a request to the end of its reply")
        for path, times in sorted(self.times.items()):
            cumulative = 0
            for bound, count in zip((*_BOUNDS, "+Inf"), times.counts, strict=True):
                cumulative += count
                yield _row(f"{name}_bucket", cumulative, {"path": path, "le": bound})
            yield _row(f"{name}_sum", times.total, {"path": path})
            yield _row(f"{name}_count", cumulative, {"path": path})


def format_metrics(requests: RequestMetrics, lanes: Lanes) -> str:
    """Return all metrics as text."""
    tally = lanes.tally
    metrics = (
        ("spanloom_ready", "gauge", "whether the model takes requests", int(lanes.is_ready)),
        ("spanloom_long_ready", "gauge", "whether long ones are, too", int(lanes.long.is_ready)),
        ("spanloom_waiting_requests", "gauge", "requests in the queue", lanes.waiting),
        ("spanloom_batches_total", "counter", "batches annotated", tally.batches),
        ("spanloom_texts_total", "counter", "texts annotated", tally.texts),
        ("spanloom_failed_texts_total", "counter", "texts the model failed on", tally.failed),
        ("spanloom_stopped_batches_total", "counter", "batches given up", tally.stopped),
        ("spanloom_lost_processes_total", "counter", "model processes replaced", tally.lost),
        ("spanloom_model_seconds_total", "counter", "seconds of the model's work", tally.seconds),
    )
    lines = list(requests.lines())
    for name, kind, what, value in metrics:
        lines += [*_head(name, kind, what), _row(name, value, {})]
    return "\n".join(lines) + "\n"


def _head(name: str, kind: str, what: str) -> tuple[str, str]:
    return f"# HELP {name} {what}", f"# TYPE {name} {kind}"


def _row(name: str, value: float, labels: Mapping[str, object]) -> str:
    """Return a sample; our own label values need no escaping."""
    formatted = ",".join(f'{key}="{label}"' for key, label in labels.items())
    return f"{name}{{{formatted}}} {value}" if formatted else f"{name} {value}"
