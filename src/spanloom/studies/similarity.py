"""How alike tasks are, measured without training them together: three predictors of gain."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import ClassVar

from pydantic import ConfigDict, TypeAdapter

from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.model.model import Model
from spanloom.model.serialization import load
from spanloom.studies import values_file
from spanloom.studies.attention import head_similarities
from spanloom.studies.span_overlap import span_overlap
from spanloom.studies.task_gradients import gradient_cosines
from spanloom.training.split_corpus import read_dev

ATTENTION, COSINE, OVERLAP = "attention", "gradient_cosine", "span_overlap"
SENTENCES, BATCHES = 200, 16  # of a target, and of train for a gradient, unless others are given
Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PairSimilarity:
    """A source beside a target. ``source`` and ``target`` are tasks, the others model folders.

    ``heads`` are the attention similarities by layer and head, ``attention`` is their mean; None
    for models without a transformer. Where both tasks are the same, they are two models of other
    seeds, and the cosine is what two halves of the batches let expect: the ceiling of each measure.
    """

    source: str
    target: str
    source_model: str
    target_model: str
    attention: float | None
    heads: tuple[tuple[float, ...], ...]
    span_overlap: float | None
    gradient_cosine: float | None

    @property
    def is_ceiling(self) -> bool:
        """Whether both models learnt the same task."""
        return self.source == self.target

    @property
    def predictors(self) -> dict[str, float]:
        """What was measured, by name."""
        values = {
            ATTENTION: self.attention,
            COSINE: self.gradient_cosine,
            OVERLAP: self.span_overlap,
        }
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Similarity:
    """All pairs, and the number of sentences of each target."""

    sentences: dict[str, int]
    pairs: tuple[PairSimilarity, ...]
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    @property
    def targets(self) -> list[str]:
        """The targets, in the order of the models."""
        return list(dict.fromkeys(pair.target for pair in self.pairs))

    def to_json(self) -> str:
        """Return the values as JSON."""
        return values_file.to_json(self)


_SIMILARITY = TypeAdapter(Similarity)


def read(path: Path) -> Similarity:
    """Read what ``to_json`` wrote; raises ``FormatError``, and ``DataError`` for a missing file."""
    return values_file.read(path, _SIMILARITY, "similarity of tasks", "spanloom study similarity")


@dataclass(frozen=True, slots=True)
class SingleTaskModel:
    """A model of one task, and some dev documents of it."""

    path: str
    task: str
    model: Model
    documents: tuple[Document, ...]

    @property
    def layer(self) -> str:
        """The layer of the documents that it learnt."""
        return self.model.tasks[self.task].layer


def open_model(path: Path, data: Path, num_sentences: int) -> SingleTaskModel:
    """Load a model of one task and a sample of its dev documents from ``data``.

    Raises ``DataError`` for a model of several tasks, and what reading does.
    """
    model = load(path, device="cpu", precision="fp32")
    if len(model.tasks) != 1:
        names = ", ".join(model.tasks)
        raise DataError(f"{path}: expected a model of one task, got one of {names}")
    (task,) = model.tasks
    plan = replace(model.plan, recipe_dir=data)
    gold = [doc for doc in read_dev(plan, [task])[task] if model.tasks[task].has_gold(doc)]
    return SingleTaskModel(str(path), task, model, sample(model, gold, num_sentences))


def sample(model: Model, documents: Iterable[Document], num_sentences: int) -> tuple[Document, ...]:
    """Return whole documents, in an order that is always the same, that have so many sentences."""
    shuffled = list(documents)
    Random("similarity").shuffle(shuffled)
    chosen = []
    for document in shuffled:
        if num_sentences <= 0:
            break
        chosen.append(document)
        num_sentences -= len(model.tokenize(document).full_sentences)
    return tuple(chosen)


def compare_tasks(
    models: Sequence[SingleTaskModel],
    cosines: Mapping[tuple[str, str], float],
    num_sentences: int,
    log: Log,
) -> Similarity:
    """Compare every model with the first model of every other task, on that task's sentences.

    A second model of one task (another seed) is compared with the first, too. ``cosines`` are of
    the gradients of tasks (``gradient_cosines``). Raises ``ModelError`` where encoders differ.
    """
    targets: dict[str, SingleTaskModel] = {}
    for model in models:
        targets.setdefault(model.task, model)
    sentences, pairs = {}, []
    for task, target in targets.items():
        sources = [model for model in models if model is not target]
        log(f"{task}: {len(sources)} models read its sentences")
        sentences[task], compared = _compare(target, sources, cosines, num_sentences)
        pairs += compared
    return Similarity(sentences, tuple(pairs))


def _compare(
    target: SingleTaskModel,
    sources: Sequence[SingleTaskModel],
    cosines: Mapping[tuple[str, str], float],
    num_sentences: int,
) -> tuple[int, list[PairSimilarity]]:
    """Return the number of sentences read, and the pairs of one target."""
    num_read = 0
    maps: list[tuple[tuple[float, ...], ...]] = [()] * len(sources)
    if target.model.network.transformer is not None:
        values, num_read = head_similarities(
            target.model, [source.model for source in sources], target.documents, num_sentences
        )
        maps = [tuple(map(tuple, heads.tolist())) for heads in values]
    pairs = [
        PairSimilarity(
            source.task,
            target.task,
            source.path,
            target.path,
            _mean(heads),
            heads,
            span_overlap(source.model, source.task, target.documents, target.layer),
            cosines.get((source.task, target.task)),
        )
        for source, heads in zip(sources, maps, strict=True)
    ]
    return num_read, pairs


def _mean(heads: Sequence[Sequence[float]]) -> float | None:
    values = [value for layer in heads for value in layer]
    return sum(values) / len(values) if values else None


def measure(
    paths: Sequence[Path],
    data: Path,
    common: Path | None,
    num_sentences: int,
    num_batches: int,
    log: Log,
) -> Similarity:
    """Load models of single tasks, and a common model for gradients if there is one; compare them.

    Raises ``DataError`` for fewer than two models and for models of several tasks.
    """
    if len(paths) < 2:
        raise DataError(f"expected two models at least, got {len(paths)}")
    models = list(_open_all(paths, data, num_sentences, log))
    cosines: Mapping[tuple[str, str], float] = {}
    if common is not None:
        names = dict.fromkeys(model.task for model in models)
        log(f"{common}: gradients of {num_batches} batches of each task")
        joint = load(common, device="cpu", precision="fp32")
        cosines = gradient_cosines(joint, data, names, num_batches)
    return compare_tasks(models, cosines, num_sentences, log)


def _open_all(
    paths: Iterable[Path], data: Path, num_sentences: int, log: Log
) -> Iterator[SingleTaskModel]:
    for path in paths:
        model = open_model(path, data, num_sentences)
        log(f"{path}: {model.task}, {len(model.documents)} documents of dev")
        yield model
