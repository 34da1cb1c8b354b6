"""Estimate what the runs of a study take: core-hours, and gigabytes of disk."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import torch

from spanloom.corpora import folder, raw_text
from spanloom.corpora.folder import locate
from spanloom.corpora.places import places
from spanloom.formats.brat.queries import SUFFIX as QUERIES
from spanloom.glad import speed
from spanloom.model.precision import compute
from spanloom.studies.job import Job
from spanloom.studies.row import Row
from spanloom.studies.split_checks import task_sources

WORDS_PER_SECOND = 700.0  # that a core learns from with `minilm`, before any run says better
MINILM_WEIGHTS = 6 * 12 * 384**2  # of its layers; fewer are faster in proportion
WORDS_PER_SECOND_WITHOUT_ENCODER = 3000.0  # the same for a trunk that has no transformer
EPOCHS_PER_PATIENCE = 3  # after which a run with patience has stopped, most often
SCORING = 1.3  # times the time of training, for dev and loading
WORDS_PER_EXAMPLE = 20
MEGABYTES = 150.0  # of an encoder that is no folder here, before any run says better
MEGABYTES_OF_HEADS = 5.0  # of all else in a model
COPIES = 5  # of a model in training: best, checkpoint, optimizer's two, the model itself


@dataclass(frozen=True, slots=True)
class RunSpeed:
    """How many words a second of CPU time a finished run learnt from, its scoring included."""

    tasks: str
    on_gpu: bool
    processor: str
    words_per_second: float


@dataclass(slots=True)
class Estimates:
    """What runs take here, by the rows of finished ones; by rough defaults while there are none.

    Runs on a GPU tell nothing about a CPU, and the reverse; those on the same processor tell more
    than those on another. ``data`` holds the corpora.
    """

    data: Path
    finished: Iterable[Row] = ()
    _speeds: list[RunSpeed] = field(default_factory=list)
    _sizes: list[float] = field(default_factory=list)
    _device: torch.device = field(default_factory=lambda: compute().device)
    _processor: str = field(init=False)

    def __post_init__(self) -> None:
        """Take the finished runs into account."""
        self._processor = speed.processor(self._device)
        for row in self.finished:
            self.add(row)

    def add(self, row: Row) -> None:
        """Take a finished run into account."""
        self._sizes.append(row.model_megabytes)
        minutes = (row.train_cpu_minutes or 0.0) + row.other_cpu_minutes
        words_per_second = _words(row.recipe, self.data) / 60 / max(minutes, 1e-6)
        on_gpu = row.compute.startswith("cuda")
        run_speed = RunSpeed(_tasks(row.recipe), on_gpu, row.processor, words_per_second)
        self._speeds.append(run_speed)

    def core_hours(self, job: Job) -> float:
        """Return the hours of one core that a run takes."""
        speeds = self._comparable_speeds(_tasks(job.recipe))
        words_per_second = median(speeds or [_default_speed(job.recipe, self.data) / SCORING])
        return _words(job.recipe, self.data) / words_per_second / 3600

    def _comparable_speeds(self, tasks: str) -> list[float]:
        """Return the speeds of the finished runs that are most like one of these tasks, here."""
        on_gpu = self._device.type == "cuda"
        comparable = [run for run in self._speeds if run.on_gpu == on_gpu]
        same_tasks = [run for run in comparable if run.tasks == tasks]
        here = [run for run in same_tasks if run.processor == self._processor]
        return [run.words_per_second for run in here or same_tasks or comparable]

    def gigabytes(self, jobs: Sequence[Job], workers: int, *, keep_models: bool) -> float:
        """Return the largest disk space that runs take at once."""
        guesses = (_default_megabytes(job.recipe, self.data) for job in jobs)
        size = (median(self._sizes) if self._sizes else max(guesses, default=0.0)) / 1000
        kept = len(jobs) if keep_models else len({job.before.key for job in jobs if job.before})
        return size * (kept + COPIES * min(workers, len(jobs)))


def _default_speed(recipe: Mapping[str, Any], data: Path) -> float:
    """Return the words per second of a core before any run says better."""
    shapes = [_shape(name, data) for name in _encoders(recipe)]
    weights = sum(shape.layer_weights if shape else MINILM_WEIGHTS for shape in shapes)
    if not weights:
        return WORDS_PER_SECOND_WITHOUT_ENCODER
    return min(WORDS_PER_SECOND * MINILM_WEIGHTS / weights, WORDS_PER_SECOND_WITHOUT_ENCODER)


def _encoders(recipe: Mapping[str, Any]) -> list[str]:
    return [part["transformer"] for part in recipe["trunk"] if "transformer" in part]


def _default_megabytes(recipe: Mapping[str, Any], data: Path) -> float:
    """Return the megabytes of a model before any run says better, by the weights of its encoder."""
    return MEGABYTES_OF_HEADS + sum(_encoder_megabytes(name, data) for name in _encoders(recipe))


def _encoder_megabytes(name: str, data: Path) -> float:
    """Return the megabytes of an encoder's weights, if a folder has or describes them."""
    for path in places(name, data):
        if sizes := [weights.stat().st_size for weights in path.glob("*.safetensors")]:
            return sum(sizes) / 1e6
    shape = _shape(name, data)
    return 4 * (shape.piece_weights + shape.layer_weights) / 1e6 if shape else MEGABYTES


@dataclass(frozen=True, slots=True)
class EncoderShape:
    """How many weights an encoder has in its embeddings of pieces, and in its layers."""

    piece_weights: int
    layer_weights: int


def _shape(name: str, data: Path) -> EncoderShape | None:
    """Return the shape of an encoder in a folder; nothing where no folder here describes it."""
    for path in places(name, data):
        if (path / "config.json").is_file():
            return _described_shape(json.loads((path / "config.json").read_bytes()))
    return None


def _described_shape(config: Mapping[str, Any]) -> EncoderShape | None:
    try:
        width, layers, pieces = (
            config[key] for key in ("hidden_size", "num_hidden_layers", "vocab_size")
        )
    except KeyError:  # architectures have names of their own
        return None
    layer = 4 * width**2 + 2 * width * config.get("intermediate_size", 4 * width)
    return EncoderShape(pieces * width, layers * layer)


def _tasks(recipe: Mapping[str, Any]) -> str:
    return "+".join(recipe["stages"][0]["tasks"])


def _words(recipe: Mapping[str, Any], data: Path) -> float:
    """Return how many words a run learns from, all its epochs together."""
    (stage,) = recipe["stages"]
    if stage.get("updates_per_task") is not None:
        return float(stage["updates_per_task"] * _update_words(stage))
    sizes = [_task_words(recipe, name, data) for name in stage["tasks"]]
    epoch = min(sizes) * len(sizes) if stage.get("epoch_size") == "smallest-task" else sum(sizes)
    epochs = stage["epochs"]
    if stage.get("patience") is not None:
        epochs = min(epochs, EPOCHS_PER_PATIENCE * stage["patience"])
    return float(epochs * epoch)


def _update_words(stage: Mapping[str, Any]) -> float:
    """Return the words of a batch of each task, all together."""
    if stage.get("batch_sentences") is not None:
        return float(stage["batch_sentences"] * WORDS_PER_EXAMPLE)
    return float(stage["batch_words"] * len(stage["tasks"]))


def _task_words(recipe: Mapping[str, Any], name: str, data: Path) -> float:
    """Return the words of a task's training data."""
    task = recipe["tasks"][name]
    sizes = [corpus_size(locate(source, data)) for source in task_sources(recipe, name)]
    words, queries = (float(sum(column)) for column in zip(*sizes, strict=True))
    examples = task.get("examples")
    if isinstance(examples, str):
        return words * float(examples[:-1]) / 100
    words_per_example = words / queries if queries else WORDS_PER_EXAMPLE
    return min(words, examples * words_per_example) if examples else words


@cache
def corpus_size(path: Path) -> tuple[float, int]:
    """Return the words of a corpus's train split, about, and its queries.

    Words are what spaces separate; a text is read once for each of its queries.
    """
    if raw_text.is_raw_text(path):
        return float(sum(len(doc.text.split()) for doc in raw_text.stream([path]))), 0
    splits = folder.splits(path)
    first = "train" if "train" in splits else next(iter(splits))
    folder_of_split = splits[first]
    texts = list(folder_of_split.rglob("*.txt")) if folder_of_split.is_dir() else []
    if texts and not any(folder_of_split.rglob(f"*{QUERIES}")):
        # brat without queries: the annotation need not be read
        return float(sum(len(text.read_bytes().split()) for text in texts)), 0
    documents = folder.read(path, first).documents
    words = sum(len(doc.text.split()) * max(1, len(doc.queries)) for doc in documents)
    return float(words), sum(len(doc.queries) for doc in documents)


def format_hours(hours: float) -> str:
    """Return a time as people say it: 40 s, 12 min, 3.5 h."""
    if hours < 1 / 60:
        return f"{3600 * hours:.0f} s"
    return f"{60 * hours:.0f} min" if hours < 1 else f"{hours:.1f} h"
