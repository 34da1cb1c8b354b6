"""Say how a stage goes while it goes: loss, speed, time left, the figure on dev and its trend."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import fmean

from torch import Tensor

from spanloom.training.checkpoint import Progress
from spanloom.training.stage_length import StageLength
from spanloom.training.validation import primary_metrics

_BAR = 20  # signs
_FIRST, _LATER = 10.0, 30.0  # seconds before a line that stays, and between two

Show = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Status:
    """Where lines go that the next one may replace, and how many seconds they stand at least."""

    show: Show
    seconds: float


@dataclass(frozen=True, slots=True)
class LogIntervals:
    """Intervals between checkpoints (seconds; 0: every update) and events in the log (updates).

    ``look`` is when dev is looked at first, in seconds; ``status`` is None where lines stay.
    """

    checkpoint: float = 120.0
    log: int = 20
    look: float = 30.0
    status: Status | None = None


@dataclass(slots=True)
class ProgressLine:
    """The lines of one stage of some length; ``log`` gets those that stay."""

    log: Show
    pace: LogIntervals
    progress: Progress
    length: StageLength
    _began: float = field(default_factory=lambda: time.monotonic())
    _shown: float = 0.0  # when the last line was shown
    _share_at_start: float | None = None
    _scores: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The seconds since the stage began or was resumed."""
        return time.monotonic() - self._began

    def update(self, losses: Mapping[str, Tensor]) -> None:
        """Show how it goes after an update, if the last line is old enough."""
        now = time.monotonic()
        if self._share_at_start is None:
            self._share_at_start = self.length.share_done(self.progress)
        status = self.pace.status
        wait = status.seconds if status else _LATER if self._shown else _FIRST
        if now - (self._shown or self._began) < wait:
            return
        self._shown = now
        (status.show if status else self.log)(self._text(losses))

    @property
    def is_look_due(self) -> bool:
        """Whether it is time for a first look at dev."""
        return not self._scores and self.seconds >= self.pace.look

    def show_look(self, metrics: Mapping[str, float]) -> None:
        """Show metrics of part of dev that nothing depends on."""
        self._scores.append(fmean(primary_metrics(metrics).values()))
        self.log(f"first look, at part of dev:  {_percent(metrics)}")

    def show_scores(self, metrics: Mapping[str, float], length: str, *, better: bool) -> None:
        """Show the metrics on dev; ``length`` is that of the stage."""
        progress = self.progress
        self._scores.append(fmean(primary_metrics(metrics).values()))
        speed = progress.words / max(progress.seconds, 1e-9)
        self.log(
            f"epoch {progress.epochs_done:.2f}/{length}  {_percent(metrics)}  "
            f"({progress.seconds:.0f} s, {speed:.0f} words/s){'  best' if better else ''}"
        )

    def _text(self, losses: Mapping[str, Tensor]) -> str:
        """Return the line."""
        share, progress = self.length.share_done(self.progress), self.progress
        done = round(share * _BAR)
        loss = sum(float(value) for value in losses.values())
        parts = [
            f"{'█' * done}{'░' * (_BAR - done)} {share:.0%}",
            f"loss {loss:.3f}",
            f"{progress.words / max(progress.seconds, 1e-9):.0f} words/s",
            f"{'at most ' * self.length.may_end_early}{_duration(self._seconds_left(share))} left",
        ]
        if self._scores:
            parts.append(f"dev {100 * self._scores[-1]:.1f}{self._trend()}")
        return "  ".join(parts)

    def _seconds_left(self, share: float) -> float:
        """Return the seconds that the rest of the stage takes at the speed so far."""
        done = share - (self._share_at_start or 0.0)
        return self.seconds / done * (1 - share) if done > 0 else 0.0

    def _trend(self) -> str:
        """Return an arrow for how dev changed."""
        if len(self._scores) < 2 or self._scores[-1] == self._scores[-2]:
            return ""
        return " ↑" if self._scores[-1] > self._scores[-2] else " ↓"


def _percent(metrics: Mapping[str, float]) -> str:
    """Return metrics by name."""
    return "  ".join(f"{name} {100 * value:.2f}" for name, value in metrics.items())


def _duration(seconds: float) -> str:
    """Return seconds as a person would say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"
