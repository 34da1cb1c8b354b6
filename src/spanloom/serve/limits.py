"""How much a request may ask for, and how long it may take."""

from dataclasses import asdict, dataclass, replace

from spanloom.errors import DataError


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes and seconds of a request, texts and characters in it, requests that may wait."""

    body: int = 2_000_000  # bytes
    receipt: float = 10.0  # seconds for the head of a request, and for its body
    compute: float = 30.0  # seconds from the queue to the answer
    texts: int = 256  # in one request
    characters: int = 100_000  # of one text
    request: int = 1_000_000  # characters of all its texts, each question with its own
    waiting: int = 64  # requests in the queue
    queued: int = 1_000_000  # characters in the queue; an empty one takes any request

    def within(self, speed: float) -> "Limits":
        """Return the limits that hold where ``speed`` characters a second are annotated.

        A request gets half of the time there is, so that another may be under way before it, or
        the machine busy; what waits gets all of it.
        """
        most = max(1, round(speed * self.compute))
        half = max(1, most // 2)
        return replace(
            self,
            characters=min(self.characters, half),
            request=min(self.request, half),
            queued=min(self.queued, most),
        )

    def __post_init__(self) -> None:
        """Refuse what would let nothing through."""
        for name, value in asdict(self).items():
            if not value > 0:
                raise DataError(f"limits: {name}: expected more than 0, got {value!r}")
