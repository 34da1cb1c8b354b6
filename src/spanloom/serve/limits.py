"""How much a request may ask for, and how long it may take."""

from dataclasses import asdict, dataclass, replace

from spanloom.errors import DataError


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits per request (bytes, seconds, texts, characters) and of the queue.

    Raises ``DataError`` for a limit that is not positive.
    """

    body: int = 2_000_000  # bytes
    receipt: float = 10.0  # seconds for a request's head, its body, and a piece of the reply
    compute: float = 30.0  # seconds from the queue to the reply
    texts: int = 256  # per request
    characters: int = 100_000  # per text
    request: int = 1_000_000  # characters of all texts, each with its questions or labels
    waiting: int = 64  # requests in the queue
    queued: int = 1_000_000  # characters in the queue; an empty one takes any request

    def within(self, speed: float, *, processes: int = 1) -> "Limits":
        """Return the limits for a model that annotates ``speed`` characters per second.

        A request gets half of ``compute``, because another request may be computed before it or the
        machine may be busy; the queue gets all of it, once for each process that empties it.
        """
        most = max(1, round(speed * self.compute))
        half = max(1, most // 2)
        return replace(
            self,
            characters=min(self.characters, half),
            request=min(self.request, half),
            queued=min(self.queued, most * processes),
        )

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value > 0:
                raise DataError(f"limits: {name}: expected more than 0, got {value!r}")
