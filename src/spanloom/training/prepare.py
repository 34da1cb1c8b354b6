"""From a recipe to what the loop needs: tasks with their labels, texts cut, gold over words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from spanloom.config.options import did_you_mean, validate_options
from spanloom.config.recipe import SPECIAL_IDS, CorpusPartSpec, Recipe
from spanloom.corpora import folder
from spanloom.corpora.folder import fingerprint, hold_out, locate
from spanloom.data.instances import TokenizedDocument, tokenize
from spanloom.data.subwords import SubwordTokenizer
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.model import sharing
from spanloom.model.evaluation import map_to_task_labels
from spanloom.tasks import load
from spanloom.tasks._base import Task
from spanloom.tokenization import Bounds, WordTokenizer


@dataclass(frozen=True, slots=True)
class TaskData:
    """One task's documents: train cut into words with gold beside, dev as it is.

    ``corpus`` is what the recipe calls them: tasks of one corpus have the same ``cuts``.
    """

    corpus: str
    task: Task
    tokenized: tuple[TokenizedDocument, ...]
    gold: Mapping[int, Any]
    dev: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class PreparedData:
    """Everything a run needs but the network; ``words`` are all forms of words in train."""

    recipe: Recipe
    tasks: Mapping[str, Task]
    data: Mapping[str, TaskData]
    words: frozenset[str]
    fingerprint: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Corpus:
    """Train and dev of a corpus; train's words, with long sentences cut and whole.

    ``problems`` counts the lines of its files that made no sense.
    """

    train: tuple[Document, ...]
    dev: tuple[Document, ...]
    tokenized: tuple[TokenizedDocument, ...]
    full_sentences: tuple[tuple[Bounds, ...], ...]
    problems: int


@folder.pause_gc()
def prepare(
    recipe: Recipe, near: Path, split: WordTokenizer, pieces: SubwordTokenizer
) -> PreparedData:
    """Read the corpora, collect what recipes leave open, express gold over words.

    ``near`` is the recipe's folder. Raises ``DataError``, ``FormatError``, ``LayerError`` and
    ``RecipeError``. Remarks say in words what training will not see.
    """
    if SPECIAL_IDS in recipe.tasks:
        raise recipe.at("tasks", SPECIAL_IDS).error("this name is taken; choose another")
    read = {
        data: _read(_place(recipe, data, near), recipe.seed, split, pieces)
        for data in recipe.all_sources
    }
    corpora = {name: _corpus(recipe, name, read) for name in recipe.tasks}
    collected = _collect(recipe, corpora)
    special = {"pad": pieces.padding, "unk": pieces.unknown, "mask": pieces.mask}
    found = {"vocabulary": {**collected, SPECIAL_IDS: special}, "removed_tasks": ()}
    recipe = recipe.model_copy(update=found)
    tasks = sharing.tasks(recipe)
    _check_metrics(recipe, tasks)
    data = {
        name: _express(recipe.tasks[name].data, task, corpora[name]) for name, task in tasks.items()
    }
    remarks = [
        f"{name}: {each.problems} lines of its files are unreadable (spanloom check tells which)"
        for name, each in read.items()
        if each.problems
    ]
    for name, task in tasks.items():
        corpus = corpora[name]
        if recipe.tasks[name].data in recipe.corpora:
            remarks += [
                f"{name}: {len(read[source].train)} documents of {source}"
                for source in recipe.sources(name)
            ]
        train = tuple(zip(corpus.train, corpus.tokenized, strict=True))
        remarks += task.coverage_notes(train, corpus.full_sentences, data[name].gold)
    learnt = _identity((each.train, each.dev) for each in read.values())
    words = frozenset(
        form
        for corpus in read.values()
        for cut in corpus.tokenized
        for form in chain(cut.tokens, *(query.tokens for query in cut.queries))
    )
    return PreparedData(recipe, tasks, data, words, learnt, tuple(remarks))


def data_identity(recipe: Recipe, near: Path) -> str:
    """Return what tells train and dev of a recipe from others: ``Prepared.fingerprint``.

    Raises ``DataError`` and ``FormatError``.
    """
    places = (locate(data, near) for data in recipe.all_sources)
    return _identity(_documents(place, recipe.seed)[:2] for place in places)


def _place(recipe: Recipe, data: str, near: Path) -> Path:
    """Where a corpus lies; ``RecipeError`` for what may be a misspelt name of the recipe's own."""
    try:
        return locate(data, near)
    except DataError as error:
        if not recipe.corpora:
            raise
        raise recipe.at("corpora").error(f"{error}{did_you_mean(data, recipe.corpora)}") from error


def _identity(corpora: Iterable[tuple[Sequence[Document], Sequence[Document]]]) -> str:
    return " ".join(fingerprint(part) for both in corpora for part in both)


def _read(path: Path, seed: int, split: WordTokenizer, pieces: SubwordTokenizer) -> _Corpus:
    """Train and dev, train cut into words."""
    train, dev, problems = _documents(path, seed)
    cuts = tuple(tokenize(each, split, pieces) for each in train)
    return _Corpus(train, dev, cuts, tuple(each.full_sentences for each in cuts), problems)


def _corpus(recipe: Recipe, task: str, read: Mapping[str, _Corpus]) -> _Corpus:
    """What a task learns from: a corpus as it was read, or layers of several as one."""
    spec = recipe.tasks[task]
    if spec.data not in recipe.corpora:
        return read[spec.data]
    if recipe.has_partial_labels(spec.data) and not load(spec.kind).supports_partial_labels:
        raise recipe.at("tasks", task, "data").error(
            f"a corpus whose parts have different labels needs a kind that learns where not all "
            f"were looked for, as entities do; got {spec.kind}"
        )
    made = [_part(recipe, task, each, read[each.data]) for each in recipe.corpora[spec.data]]
    return _Corpus(
        tuple(chain.from_iterable(each.train for each in made)),
        tuple(chain.from_iterable(each.dev for each in made)),
        tuple(chain.from_iterable(each.tokenized for each in made)),
        tuple(chain.from_iterable(each.full_sentences for each in made)),
        0,
    )


def _part(recipe: Recipe, task: str, source: CorpusPartSpec, corpus: _Corpus) -> _Corpus:
    """A corpus as a part of the larger one that a task learns; documents are called by both names.

    Raises ``DataError`` where nothing in its train has the layer.
    """
    if not any(each.has_layer(source.layer) for each in corpus.train):
        raise DataError(_lacking(source.data, source.layer, corpus.train))
    train, dev = (
        map_to_task_labels(
            recipe,
            task,
            source,
            [replace(each, name=f"{source.data}/{each.name}") for each in part],
        )
        for part in (corpus.train, corpus.dev)
    )
    return replace(corpus, train=train, dev=dev)


def _documents(path: Path, seed: int) -> tuple[tuple[Document, ...], tuple[Document, ...], int]:
    """Train and dev, and unreadable lines; a corpus without dev gives a tenth of train for it."""
    known = folder.splits(path)
    first = "train" if "train" in known else next(iter(known))
    if first == "test":
        raise DataError(f"{path}: expected train/ to learn from, found test/ alone")
    read = [folder.read(path, first)]
    if "dev" in known and first != "dev":
        read.append(folder.read(path, "dev"))
        train, dev = read[0].documents, read[1].documents
    elif len(read[0].documents) > 1:
        train, dev = hold_out(read[0].documents, seed=seed)
    else:
        raise DataError(f"{path}: expected dev/ or at least 2 documents, got 1")
    return train, dev, sum(len(each.problems) for each in read)


def _collect(recipe: Recipe, corpora: Mapping[str, _Corpus]) -> dict[str, object]:
    collected: dict[str, object] = {}
    for name, spec in recipe.tasks.items():
        kind = load(spec.kind)
        chosen = validate_options(kind.options, spec.options, recipe.at("tasks", name))
        corpus = corpora[name]
        train = [
            (document, whole)
            for document, whole in zip(corpus.train, corpus.tokenized, strict=True)
            if kind.needs_no_layer or document.has_layer(spec.layer)
        ]
        if not train:
            raise DataError(f"task {name!r}: {_lacking(spec.data, spec.layer, corpus.train)}")
        collected[name] = kind.infer_vocabulary(chosen, spec.layer, train)
    return collected


def _lacking(data: str, layer: str, documents: Sequence[Document]) -> str:
    """Say that no document has a layer, and which layers there are."""
    there = sorted({each.name for document in documents for each in document.layers})
    names = ", ".join(there) or "none"
    return f"no document of {data!r} has layer {layer!r} (layers there: {names})"


def _check_metrics(recipe: Recipe, tasks: Mapping[str, Task]) -> None:
    """Raise ``RecipeError`` for a stage that watches a figure which its tasks do not have."""
    for index, stage in enumerate(recipe.stages):
        known = [f"{name}.{each}" for name in stage.tasks for each in tasks[name].metric_names]
        if stage.validation_metric is not None and stage.validation_metric not in known:
            where = recipe.at("stages", index, "validation_metric")
            metric = stage.validation_metric
            raise where.error(f"no figure {metric!r}{did_you_mean(metric, known)}")


def _express(data: str, task: Task, corpus: _Corpus) -> TaskData:
    """Express train's gold over words; raises ``DataError`` where train or dev has none."""
    gold = {
        row: task.encode_gold(document, whole)
        for row, (document, whole) in enumerate(zip(corpus.train, corpus.tokenized, strict=True))
        if task.has_gold(document)
    }
    if not any(len(each) for each in gold.values()):
        raise DataError(
            f"task {task.name!r}: nothing in layer {task.layer!r} can be expressed over words, "
            f"so there is nothing to learn (words.splitter: fine | spacy | blank)"
        )
    if not any(task.has_gold(document) for document in corpus.dev):
        raise DataError(
            f"task {task.name!r}: no dev document has layer {task.layer!r}, so no model can be "
            f"chosen (without dev/ a tenth of train is held out)"
        )
    return TaskData(data, task, corpus.tokenized, gold, corpus.dev)
