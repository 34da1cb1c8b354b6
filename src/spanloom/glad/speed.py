"""Speed of annotation compared with the bare encoder, and the cost of training.

Speeds are words a second of CPU time, all threads counted, so one number a core.
"""

import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import torch
from pydantic import PositiveFloat, TypeAdapter, ValidationError
from torch import nn

from spanloom.atomic_io import MANIFEST
from spanloom.config.specs import StageSpec
from spanloom.document import Document
from spanloom.errors import FormatError
from spanloom.model.model import Model
from spanloom.model.precision import cpu_info
from spanloom.model.serialization import WEIGHTS
from spanloom.training import validation
from spanloom.training.checkpoint import Progress, is_better
from spanloom.training.loop import BEST, METRICS, STATE
from spanloom.training.train import run_folder

WORDS, ROUNDS = 20_000, 3  # what is timed of a large set, and how often in turn

_PROGRESS = "progress.json"  # how a checkpoint says where it stands

T = TypeVar("T")
Work = Callable[[], None]
Call = dict[str, Any]  # what an encoder was called with
Curve = tuple[tuple[int, float], ...]  # scores, each after so many updates


@dataclass(frozen=True, slots=True)
class Speeds:
    """The best of several rounds; ``ratios`` are annotation by encoder, one per round, ascending.

    Without a transformer there is no ``encoder`` and no ratio, none where onnxruntime stands for
    it, and none on a GPU, whose work takes no CPU time.
    """

    words: int
    annotated: float
    encoder: float | None
    ratios: tuple[float, ...]

    @property
    def ratio(self) -> float | None:
        """The median of the rounds."""
        return median(self.ratios) if self.ratios else None


def speeds(
    model: Model,
    documents: Sequence[Document],
    names: Iterable[str] | None = None,
    *,
    rounds: int = ROUNDS,
    clock: Callable[[], float] = time.process_time,
) -> Speeds:
    """Annotate bare documents with the named tasks, in turn with the encoder alone.

    The encoder reads the very tensors that annotation hands it, already made and as they were cut
    for it, and keeps no states. One round goes ahead unmeasured.
    """
    task_names = list(names) if names is not None else None
    words = sum(len(model.tokenize(document).words) for document in documents)

    def annotate() -> None:
        for _ in model.annotate(documents, task_names):
            pass

    alone = _alone(model, annotate)
    pairs = [(_seconds(alone, clock), _seconds(annotate, clock)) for _ in range(rounds)]
    annotated = words / min(all_of_it for _, all_of_it in pairs)
    if _encoder(model) is None:
        return Speeds(words, annotated, None, ())
    ratios = sorted(bare / all_of_it for bare, all_of_it in pairs)
    return Speeds(words, annotated, words / min(bare for bare, _ in pairs), tuple(ratios))


def first(model: Model, documents: Iterable[Document], words: int = WORDS) -> list[Document]:
    """Return the first documents, until they have ``words`` words or there are no more."""
    selected: list[Document] = []
    for document in documents:
        if words <= 0:
            break
        selected.append(document)
        words -= len(model.tokenize(document).words)
    return selected


def _seconds(work: Work, clock: Callable[[], float]) -> float:
    """Return the seconds of one call, never 0."""
    began = clock()
    work()
    return max(clock() - began, 1e-9)


def _alone(model: Model, annotate: Work) -> Work:
    """Run ``annotate``; return a function that has the encoder repeat all its calls."""
    encoder = _encoder(model)
    if encoder is None:
        annotate()
        return lambda: None
    with record_calls(encoder) as calls:
        annotate()

    def again() -> None:
        with torch.no_grad(), model.compute.autocast():
            for call in calls:
                encoder(**{**call, "output_hidden_states": False})

    return again


def _encoder(model: Model) -> nn.Module | None:
    transformer = model.network.transformer
    if transformer is None or transformer.runtime is not None or model.compute.device.type != "cpu":
        return None
    return transformer.encoder


@contextmanager
def record_calls(module: nn.Module) -> Iterator[list[Call]]:
    """Yield a list that fills with the keywords of each call of a module, as long as this lasts."""
    calls: list[Call] = []

    def note(module: nn.Module, args: tuple[Any, ...], keywords: Call) -> None:
        calls.append(dict(keywords))

    hook = module.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield calls
    finally:
        hook.remove()


@dataclass(frozen=True, slots=True)
class Trained:
    """Cost of a run, all its resumptions together, and the epoch of the selected weights.

    ``minutes`` and ``speed`` (words a second) are of CPU time, of a run of one process; None where
    it was too short to say. ``updates`` and ``epoch`` (passes of the last stage) led to the weights
    that were best on dev, where they had the metrics ``dev``. ``data`` tells train and dev from
    others (``training.prepare.identity``). ``best_updates`` are the updates with batches of a task
    that led to its own best score, by task, and ``dev_curves`` all its scores on dev in the last
    stage, each after so many of these updates; runs of earlier versions have none.
    """

    minutes: float | None
    speed: float | None
    updates: int
    epoch: float
    dev: dict[str, float]
    data: str
    best_updates: dict[str, int] = field(default_factory=dict)
    dev_curves: dict[str, Curve] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Look:
    """A line of a run's metrics: the metrics on dev after so many passes of a stage."""

    step: int
    epoch: float
    dev: dict[str, float]
    task_updates: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Log:
    """A line of a run's metrics: how fast it was so far, resumptions included."""

    step: int
    seconds: float
    words_per_cpu_second: PositiveFloat


_LINE: TypeAdapter[_Look | _Log] = TypeAdapter(_Look | _Log)
_PROGRESS_VALUES = TypeAdapter(Progress)


def read_training_cost(out: Path, last: StageSpec) -> Trained | None:
    """Read what the run of the model at ``out`` left beside it; ``last`` is its last stage.

    None where the run's folder is gone, not whole, or of other weights. Raises ``FormatError``
    where it is damaged.
    """
    run_dir = run_folder(out)
    metrics, state = run_dir / METRICS, run_dir / STATE / _PROGRESS
    if not (metrics.is_file() and state.is_file() and _weights(run_dir / BEST) == _weights(out)):
        return None
    progress, lines = _read(state, _PROGRESS_VALUES), _lines(metrics)
    logs = [line for line in lines if isinstance(line, _Log) and line.step > 1]
    evaluations = [
        line for line in lines if isinstance(line, _Look) and line.step > progress.stage_start_step
    ]
    if not evaluations or not all(
        evaluations[0].dev.keys() == evaluation.dev.keys() != set() for evaluation in evaluations
    ):
        problem = "expected metrics on dev of the last stage, the same each time"
        raise FormatError(str(metrics), None, problem)
    if last.validation_metric is not None and last.validation_metric not in evaluations[0].dev:
        names = ", ".join(evaluations[0].dev)
        raise FormatError(
            str(metrics), None, f"expected {last.validation_metric} on dev, got {names}"
        )
    best, best_score = evaluations[0], None
    for evaluation in evaluations:  # as training chose
        score = validation.selection_score(evaluation.dev, last)
        if is_better(score, best_score):
            best, best_score = evaluation, score
    minutes, speed = _cost(progress, logs, lines[-1].step)
    return Trained(
        *(minutes, speed, best.step, best.epoch, best.dev, progress.data),
        best_updates=dict(progress.best_updates),
        dev_curves=_dev_curves(evaluations),
    )


def _dev_curves(evaluations: Sequence[_Look]) -> dict[str, Curve]:
    """Return each task's main metric on dev, after so many updates with its batches."""
    points: dict[str, list[tuple[int, float]]] = {}
    for evaluation in evaluations:
        for task, score in validation.primary_metrics(evaluation.dev).items():
            if task in evaluation.task_updates:
                points.setdefault(task, []).append((evaluation.task_updates[task], score))
    return {task: tuple(curve) for task, curve in points.items()}


def _cost(
    progress: Progress, logs: Sequence[_Log], updates: int
) -> tuple[float | None, float | None]:
    """Minutes and words a second of CPU time, to the end after so many ``updates``.

    Both speed and words count from the very start through all resumptions. A checkpoint is up to
    two minutes older than the end: the words since are taken to be as many an update as before. A
    run that was over before it wrote one is told by the clock, which is no less than one thread's.
    """
    if not logs:
        return None, None
    timed = logs[-1].step - 1  # a line is written before the time of its own update is added
    speed = logs[-1].words_per_cpu_second * timed / logs[-1].step
    if progress.words and progress.global_step:
        return progress.words * updates / progress.global_step / speed / 60, speed
    return logs[-1].seconds * updates / timed / 60, speed


def _weights(folder: Path) -> str | None:
    """Return the SHA-256 of a model folder's weights, from its manifest."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        return str(manifest["files"][WEIGHTS]["sha256"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _lines(path: Path) -> list[_Look | _Log]:
    raw = path.read_bytes().splitlines()
    return [_parse(line, path, number, _LINE) for number, line in enumerate(raw, 1)]


def _read(path: Path, kind: TypeAdapter[T]) -> T:
    return _parse(path.read_bytes(), path, None, kind)


def _parse(text: bytes, path: Path, line: int | None, kind: TypeAdapter[T]) -> T:
    try:
        return kind.validate_json(text)
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"]
        problem = f"expected what training writes: {message}, got {text!r:.60}"
        raise FormatError(str(path), line, problem) from error


def processor(device: torch.device = torch.device("cpu")) -> str:
    """Return the name of a GPU, or of the processor or its architecture."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return cpu_info().get("model name", platform.processor() or platform.machine())
