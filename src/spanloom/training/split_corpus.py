"""Read train and dev of each corpus of a plan from disk, and what each task learns from."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from pathlib import Path
from random import Random

from spanloom.config.options import did_you_mean
from spanloom.config.recipe import Recipe
from spanloom.config.specs import CorpusPartSpec
from spanloom.corpora import document_cache, folder
from spanloom.corpora.folder import fingerprint, hold_out_dev, locate
from spanloom.data.instances import TokenizedDocument
from spanloom.data.text_cache import TextSource
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.model.evaluation import map_to_task_labels
from spanloom.model.plan import Plan, TaskPlan
from spanloom.training import text_data
from spanloom.training.leaks import DroppedLeaks, HeldOutTexts, drop_leaks


@dataclass(frozen=True, slots=True)
class SplitCorpus:
    """Train, also tokenized, and dev of a corpus; the number of problems in its files.

    ``leaks`` are the documents that train had, but that are in dev or test of other corpora.
    ``held_out`` is the last hash of documents of train that became dev (``folder.last_held_out``),
    "" where dev is a split of its own or of one document.
    """

    train: tuple[Document, ...]
    dev: tuple[Document, ...]
    tokenized: tuple[TokenizedDocument, ...] = ()
    num_problems: int = 0
    leaks: DroppedLeaks = DroppedLeaks()
    held_out: str = ""


def _document_sources(plan: Plan) -> tuple[str, ...]:
    """Return the sources that are read as documents into memory."""
    streamed = text_data.streamed(plan)
    tasks = [task for name, task in plan.tasks.items() if name not in streamed]
    read = {source for task in tasks for source in task.sources}
    return tuple(name for name in plan.recipe.all_sources if name in read)


def read_dev(plan: Plan, names: Iterable[str] | None = None) -> dict[str, tuple[Document, ...]]:
    """Return the dev documents that tasks of a plan are evaluated on, by task.

    Without names: those of all tasks that a model keeps. Train is read only where a part of it is
    dev. Raises ``DataError``, ``FormatError`` and ``RecipeError``.
    """
    streamed = text_data.streamed(plan)
    tasks = {name: plan.tasks[name] for name in (plan.kept_tasks if names is None else names)}
    read = {name: task for name, task in tasks.items() if name not in streamed}
    sources = dict.fromkeys(chain.from_iterable(task.sources for task in read.values()))
    dev = {name: _read_dev(_locate(plan, name), plan.recipe) for name in sources}
    return {name: _task_dev(task, dev) if name in read else () for name, task in tasks.items()}


def data_identity(plan: Plan) -> str:
    """Return the hashes of a recipe's train and dev: ``PreparedData.fingerprint``.

    Raises ``DataError``, ``FormatError`` and ``RecipeError``.
    """
    texts = [text_data.source(plan, task) for task in text_data.streamed(plan).values()]
    return identity(read_sources(plan).values(), texts)


def identity(corpora: Iterable[SplitCorpus], texts: Iterable[TextSource]) -> str:
    """Return the hashes of the train and dev of some corpora, and of texts that are streamed."""
    hashes = [fingerprint(part) for corpus in corpora for part in (corpus.train, corpus.dev)]
    return " ".join([*hashes, *(text.fingerprint for text in dict.fromkeys(texts))])


def read_sources(plan: Plan) -> dict[str, SplitCorpus]:
    """Read train and dev of all corpora; train without the texts that others are scored on."""
    recipe = plan.recipe
    sources = {name: _read(_locate(plan, name), recipe) for name in _document_sources(plan)}
    if not recipe.exclude_texts_of:
        return sources
    if streamed := text_data.streamed(plan):
        raise DataError(
            f"exclude_texts_of: expected corpora of documents, got raw text (task "
            f"{next(iter(streamed))!r}), of which no text is left out; `exclude` of that task does"
        )
    scored = {name: _read_scored(plan, name, sources) for name in recipe.exclude_texts_of}
    held_out = HeldOutTexts.of(scored)
    for name, corpus in sources.items():
        kept, leaks = drop_leaks(name, corpus.train, held_out)
        if not kept:
            raise DataError(f"{name}: all documents of train are left out by exclude_texts_of")
        sources[name] = replace(corpus, train=kept, leaks=leaks)
    return sources


def _read_scored(plan: Plan, name: str, sources: Mapping[str, SplitCorpus]) -> tuple[Document, ...]:
    """Return dev and test of a corpus; dev is what training itself takes as dev."""
    path = _locate(plan, name)
    dev = sources[name].dev if name in sources else _read_dev(path, plan.recipe)
    if "test" not in folder.splits(path, plan.recipe.encoding):
        return dev
    test, _ = document_cache.read(path, "test", encoding=plan.recipe.encoding)
    return (*dev, *test)


def _locate(plan: Plan, name: str) -> Path:
    """Return a corpus's path; ``RecipeError`` for what may be a misspelt name of the recipe's."""
    recipe = plan.recipe
    try:
        return locate(name, plan.recipe_dir)
    except DataError as error:
        if not recipe.corpora:
            raise
        raise recipe.at("corpora").error(f"{error}{did_you_mean(name, recipe.corpora)}") from error


def _read(path: Path, recipe: Recipe) -> SplitCorpus:
    """Read train and dev; a corpus without dev holds out a tenth of train."""
    splits = folder.splits(path, recipe.encoding)
    first = "train" if "train" in splits else next(iter(splits))
    if first == "test":
        raise DataError(f"{path}: expected train/ to learn from, found test/ alone")
    train, num_problems = document_cache.read(path, first, encoding=recipe.encoding)
    if _has_own_dev(splits):
        dev, more_problems = document_cache.read(path, "dev", encoding=recipe.encoding)
        return SplitCorpus(train, dev, num_problems=num_problems + more_problems)
    is_divided = len(train) == 1
    train, dev = hold_out_dev(train, seed=recipe.seed)
    held_out = "" if is_divided else folder.last_held_out(dev, seed=recipe.seed)
    return SplitCorpus(train, dev, num_problems=num_problems, held_out=held_out)


def _has_own_dev(splits: Collection[str]) -> bool:
    """Whether a corpus has both train and dev; where there is but one, dev is a part of it."""
    return "train" in splits and "dev" in splits


def _read_dev(path: Path, recipe: Recipe) -> tuple[Document, ...]:
    """Read dev alone if it is a split of its own."""
    if _has_own_dev(folder.splits(path, recipe.encoding)):
        return document_cache.read(path, "dev", encoding=recipe.encoding)[0]
    return _read(path, recipe).dev


def task_corpus(task: TaskPlan, sources: Mapping[str, SplitCorpus]) -> SplitCorpus:
    """Return what a task learns from: a corpus as it was read, or layers of several as one."""
    if not task.parts:
        return sources[task.spec.data]
    parts = [_part(task, part, sources[part.data]) for part in task.parts]
    return SplitCorpus(
        tuple(chain.from_iterable(part.train for part in parts)),
        tuple(chain.from_iterable(part.dev for part in parts)),
        tuple(chain.from_iterable(part.tokenized for part in parts)),
    )


def sample(task: TaskPlan, corpus: SplitCorpus, seed: int) -> SplitCorpus:
    """Keep documents of train until there are as many examples as the task asks for.

    Documents stay whole. Their order depends on the seed alone, so that of two samples with one
    seed the smaller is part of the larger.
    """
    examples = task.spec.examples
    if examples is None:
        return corpus
    sizes = [num_examples(task, tokenized) for tokenized in corpus.tokenized]
    wanted = sum(sizes) * float(examples[:-1]) / 100 if isinstance(examples, str) else examples
    rows = list(range(len(sizes)))
    Random(f"{seed}/examples/{task.spec.data}").shuffle(rows)
    before = accumulate((sizes[row] for row in rows), initial=0)
    kept = sorted(row for row, total in zip(rows, before, strict=False) if total < wanted)
    return replace(
        corpus,
        train=tuple(corpus.train[row] for row in kept),
        tokenized=tuple(corpus.tokenized[row] for row in kept),
    )


def num_examples(task: TaskPlan, tokenized: TokenizedDocument) -> int:
    """Return how many examples of a task a document holds."""
    if task.type.example_unit == "sentence":
        return len(tokenized.full_sentences)
    return len(tokenized.queries) if task.type.example_unit == "query" else 1


def _part(task: TaskPlan, part: CorpusPartSpec, corpus: SplitCorpus) -> SplitCorpus:
    """Return one part of a joined corpus; its documents are named after both corpus and document.

    Raises ``DataError`` where nothing in its train has the layer.
    """
    if not any(document.has_layer(part.layer) for document in corpus.train):
        raise DataError(missing_layer(part.data, part.layer, corpus.train))
    train, dev = (part_documents(task, part, half) for half in (corpus.train, corpus.dev))
    tokenized = (replace(document, corpus=part.data) for document in corpus.tokenized)
    return SplitCorpus(train, dev, tuple(tokenized))


def part_documents(
    task: TaskPlan, part: CorpusPartSpec, documents: Sequence[Document]
) -> tuple[Document, ...]:
    """Return the documents as a joined corpus has them: with its labels, named after the part."""
    named = [replace(document, name=f"{part.data}/{document.name}") for document in documents]
    return map_to_task_labels(task, part, named)


def _task_dev(task: TaskPlan, dev: Mapping[str, tuple[Document, ...]]) -> tuple[Document, ...]:
    """Return the dev documents of a task from those of its sources."""
    if not task.parts:
        return dev[task.spec.data]
    parts = (part_documents(task, part, dev[part.data]) for part in task.parts)
    return tuple(chain.from_iterable(parts))


def missing_layer(data: str, layer: str, documents: Sequence[Document]) -> str:
    """Return the message that no document has a layer, with the layers there are."""
    names = sorted({other.name for document in documents for other in document.layers})
    choices = ", ".join(names) or "none"
    return f"no document of {data!r} has layer {layer!r} (layers there: {choices})"
