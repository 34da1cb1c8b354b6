"""Read the corpora of a plan, infer vocabularies, and encode gold over words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from random import Random
from typing import Any

from spanloom.config.options import did_you_mean
from spanloom.config.recipe import SPECIAL_IDS, CorpusPartSpec, Recipe
from spanloom.corpora import folder
from spanloom.corpora.folder import fingerprint, hold_out, hold_out_sentences, locate
from spanloom.corpora.prepare import read_prompts
from spanloom.data.foreign_text import KnownLanguage
from spanloom.data.instance_readers import PromptTokenizer
from spanloom.data.instances import TokenizedDocument, tokenize, tokenize_prompt
from spanloom.data.subwords import SubwordTokenizer
from spanloom.data.text_corpus import TextCorpus
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.model.evaluation import map_to_task_labels
from spanloom.model.plan import Plan, TaskPlan
from spanloom.quantity import quantity
from spanloom.tasks._base import Task
from spanloom.tasks.masked_lm import MaskedLMTask
from spanloom.tokenization import WordTokenizer
from spanloom.training import text_data
from spanloom.training.leaks import DroppedLeaks, HeldOutTexts, drop_leaks


@dataclass(frozen=True, slots=True)
class TaskData:
    """One task's documents: train tokenized, with gold by document, and dev.

    ``corpus`` is its name in the recipe: tasks of one corpus have the same ``tokenized``. A task of
    pre-training reads ``text`` in its place.
    """

    corpus: str
    task: Task
    tokenized: tuple[TokenizedDocument, ...]
    gold: Mapping[int, Any]
    dev: tuple[Document, ...]
    text: TextCorpus | None = None


@dataclass(frozen=True, slots=True)
class PreparedData:
    """All that a run needs besides the network; ``words`` are the distinct words of train.

    ``inherited_heads`` are those with the weights of an earlier model.
    """

    plan: Plan
    tasks: Mapping[str, Task]
    data: Mapping[str, TaskData]
    words: frozenset[str]
    fingerprint: str
    notes: tuple[str, ...]
    inherited_heads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Corpus:
    """Train, also tokenized, and dev of a corpus; the number of unreadable lines in its files.

    ``leaks`` are the documents that train had, but that are in dev or test of other corpora.
    """

    train: tuple[Document, ...]
    dev: tuple[Document, ...]
    tokenized: tuple[TokenizedDocument, ...] = ()
    num_problems: int = 0
    leaks: DroppedLeaks = DroppedLeaks()


@folder.pause_gc()
def prepare(
    plan: Plan, word_tokenizer: WordTokenizer, subword_tokenizer: SubwordTokenizer
) -> PreparedData:
    """Read the corpora, infer vocabularies from train, and encode gold over words.

    The plan of the result has the vocabularies; its notes tell what training will not see. Raises
    ``DataError``, ``FormatError``, ``LayerError`` and ``RecipeError``.
    """
    sources = _read_sources(plan)
    for name, corpus in sources.items():
        tokenized = (tokenize(doc, word_tokenizer, subword_tokenizer) for doc in corpus.train)
        sources[name] = replace(corpus, tokenized=tuple(tokenized))
    streams = {
        name: text_data.read(plan, task, subword_tokenizer)
        for name, task in plan.tasks.items()
        if text_data.is_streamed(plan, task)
    }
    corpora = {
        name: _sample(task, _task_corpus(task, sources), plan.recipe.seed)
        for name, task in plan.tasks.items()
        if name not in streams
    }
    special_ids = {
        "pad": subword_tokenizer.padding,
        "unk": subword_tokenizer.unknown,
        "mask": subword_tokenizer.mask,
    }
    vocabulary = {
        name: _vocabulary(task, corpora[name], plan.recipe_dir) if name in corpora else {}
        for name, task in plan.tasks.items()
    }
    plan = plan.noting(removed_tasks=()).with_vocabulary({**vocabulary, SPECIAL_IDS: special_ids})
    tasks = plan.build_tasks()
    _check_metrics(plan.recipe, tasks)
    _check_words(tasks, partial(tokenize_prompt, split=word_tokenizer, pieces=subword_tokenizer))
    data = {
        name: _encode(plan.tasks[name], task, corpora[name])
        if name in corpora
        else TaskData(plan.tasks[name].spec.data, task, (), {}, *streams[name].parts)
        for name, task in tasks.items()
    }
    tasks, data = _with_unigrams(data, subword_tokenizer)
    notes = (
        *_language_notes(plan.recipe, sources, subword_tokenizer),
        *_notes(plan, sources, corpora, data),
        *_text_notes(plan, data, subword_tokenizer),
    )
    return PreparedData(
        plan,
        tasks,
        data,
        frozenset(_words({id(corpus.tokenized): corpus for corpus in corpora.values()}.values())),
        " ".join([_identity(sources.values()), *(text.key for text in streams.values())]).strip(),
        notes,
    )


def _document_sources(plan: Plan) -> tuple[str, ...]:
    """Return the sources that are read as documents into memory."""
    tasks = [task for task in plan.tasks.values() if not text_data.is_streamed(plan, task)]
    read = {source for task in tasks for source in task.sources}
    return tuple(name for name in plan.recipe.all_sources if name in read)


def _with_unigrams(
    data: Mapping[str, TaskData], pieces: SubwordTokenizer
) -> tuple[dict[str, Task], dict[str, TaskData]]:
    """Return the tasks, and their data; those of pre-training know how often pieces occur."""
    known: dict[str, TaskData] = {}
    for name, task_data in data.items():
        task = task_data.task
        if task_data.text is not None and isinstance(task, MaskedLMTask):
            task = task.with_unigrams(text_data.unigrams(task_data.text, pieces))
        known[name] = replace(task_data, task=task)
    return {name: task_data.task for name, task_data in known.items()}, known


def _text_notes(
    plan: Plan, data: Mapping[str, TaskData], pieces: SubwordTokenizer
) -> Iterator[str]:
    """Yield lines on the blocks and masks of pre-training."""
    for name, task_data in data.items():
        if task_data.text is not None and isinstance(task_data.task, MaskedLMTask):
            for note in text_data.notes(task_data.task, task_data.text, plan.recipe.window, pieces):
                yield f"{name}: {note}"


def read_dev(plan: Plan) -> dict[str, tuple[Document, ...]]:
    """Return the dev documents that each task of a plan is evaluated on, by task.

    Raises ``DataError``, ``FormatError`` and ``RecipeError``.
    """
    sources = {name: _read(_locate(plan, name), plan.recipe) for name in _document_sources(plan)}
    return {
        name: () if text_data.is_streamed(plan, task) else _task_corpus(task, sources).dev
        for name, task in plan.kept_tasks.items()
    }


def data_identity(plan: Plan) -> str:
    """Return the hashes of a recipe's train and dev: ``PreparedData.fingerprint``.

    Raises ``DataError``, ``FormatError`` and ``RecipeError``.
    """
    identity = _identity(_read_sources(plan).values())
    streamed = [task for task in plan.tasks.values() if text_data.is_streamed(plan, task)]
    texts = (text_data.source(plan, task).fingerprint for task in streamed)
    return " ".join([identity, *dict.fromkeys(texts)]).strip()


def _identity(corpora: Iterable[_Corpus]) -> str:
    return " ".join(fingerprint(part) for corpus in corpora for part in (corpus.train, corpus.dev))


def _read_sources(plan: Plan) -> dict[str, _Corpus]:
    """Read train and dev of all corpora; train without the texts that others are scored on."""
    recipe = plan.recipe
    sources = {name: _read(_locate(plan, name), recipe) for name in _document_sources(plan)}
    if not recipe.exclude_texts_of:
        return sources
    scored = {name: _read_scored(plan, name, sources) for name in recipe.exclude_texts_of}
    held_out = HeldOutTexts.of(scored, plan.word_tokenizer)
    for name, corpus in sources.items():
        kept, leaks = drop_leaks(name, corpus.train, held_out)
        if not kept:
            raise DataError(f"{name}: all documents of train are left out by exclude_texts_of")
        sources[name] = replace(corpus, train=kept, leaks=leaks)
    return sources


def _read_scored(plan: Plan, name: str, sources: Mapping[str, _Corpus]) -> tuple[Document, ...]:
    """Return dev and test of a corpus; dev is what training itself takes as dev."""
    path = _locate(plan, name)
    corpus = sources.get(name) or _read(path, plan.recipe)
    if "test" not in folder.splits(path):
        return corpus.dev
    return (*corpus.dev, *folder.read(path, "test", encoding=plan.recipe.encoding).documents)


def _locate(plan: Plan, name: str) -> Path:
    """Return a corpus's path; ``RecipeError`` for what may be a misspelt name of the recipe's."""
    recipe = plan.recipe
    try:
        return locate(name, plan.recipe_dir)
    except DataError as error:
        if not recipe.corpora:
            raise
        raise recipe.at("corpora").error(f"{error}{did_you_mean(name, recipe.corpora)}") from error


def _read(path: Path, recipe: Recipe) -> _Corpus:
    """Read train and dev; a corpus without dev holds out a tenth of train."""
    splits = folder.splits(path)
    first = "train" if "train" in splits else next(iter(splits))
    if first == "test":
        raise DataError(f"{path}: expected train/ to learn from, found test/ alone")
    corpora = [folder.read(path, first, encoding=recipe.encoding)]
    if "dev" in splits and first != "dev":
        corpora.append(folder.read(path, "dev", encoding=recipe.encoding))
        train, dev = corpora[0].documents, corpora[1].documents
    elif len(corpora[0].documents) > 1:
        train, dev = hold_out(corpora[0].documents, seed=recipe.seed)
    else:
        first_part, second_part = hold_out_sentences(corpora[0].documents[0])
        train, dev = (first_part,), (second_part,)
    return _Corpus(train, dev, num_problems=sum(len(corpus.problems) for corpus in corpora))


def _task_corpus(task: TaskPlan, sources: Mapping[str, _Corpus]) -> _Corpus:
    """Return what a task learns from: a corpus as it was read, or layers of several as one."""
    if not task.parts:
        return sources[task.spec.data]
    parts = [_part(task, part, sources[part.data]) for part in task.parts]
    return _Corpus(
        tuple(chain.from_iterable(part.train for part in parts)),
        tuple(chain.from_iterable(part.dev for part in parts)),
        tuple(chain.from_iterable(part.tokenized for part in parts)),
    )


def _sample(task: TaskPlan, corpus: _Corpus, seed: int) -> _Corpus:
    """Keep documents of train until there are as many examples as the task asks for.

    Documents stay whole. Their order depends on the seed alone, so that of two samples with one
    seed the smaller is part of the larger.
    """
    examples = task.spec.examples
    if examples is None:
        return corpus
    sizes = [_num_examples(task, tokenized) for tokenized in corpus.tokenized]
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


def _num_examples(task: TaskPlan, tokenized: TokenizedDocument) -> int:
    """Return how many examples of a task a document holds."""
    if task.type.example_unit == "sentence":
        return len(tokenized.full_sentences)
    return len(tokenized.queries) if task.type.example_unit == "query" else 1


def _part(task: TaskPlan, part: CorpusPartSpec, corpus: _Corpus) -> _Corpus:
    """Return one part of a joined corpus; its documents are named after both corpus and document.

    Raises ``DataError`` where nothing in its train has the layer.
    """
    if not any(document.has_layer(part.layer) for document in corpus.train):
        raise DataError(_missing_layer(part.data, part.layer, corpus.train))
    train, dev = (
        map_to_task_labels(
            task, part, [replace(doc, name=f"{part.data}/{doc.name}") for doc in documents]
        )
        for documents in (corpus.train, corpus.dev)
    )
    tokenized = (replace(document, corpus=part.data) for document in corpus.tokenized)
    return _Corpus(train, dev, tuple(tokenized))


def _vocabulary(task: TaskPlan, corpus: _Corpus, recipe_dir: Path) -> dict[str, Any]:
    """Infer a task's vocabulary from train; ``DataError`` where no document has its layer.

    What the recipe leaves open of how labels are read follows from the card of the data.
    """
    layer = task.spec.layer
    train = [
        (document, tokenized)
        for document, tokenized in zip(corpus.train, corpus.tokenized, strict=True)
        if task.type.needs_no_layer or document.has_layer(layer)
    ]
    if not train:
        problem = _missing_layer(task.spec.data, layer, corpus.train)
        raise DataError(f"task {task.name!r}: {problem}")
    options = task.options
    if task.type.complete is not None and not task.parts:
        prompts = read_prompts(locate(task.spec.data, recipe_dir))
        options = task.type.complete(options, prompts[layer]) if layer in prompts else options
    return task.type.infer_vocabulary(options, layer, train)


def _check_words(tasks: Mapping[str, Task], tokenize_words: PromptTokenizer) -> None:
    """Raise ``DataError`` for words of a recipe or card that tasks cannot find in their prompts."""
    for name, task in tasks.items():
        try:
            task.reader.check(tokenize_words)
        except ValueError as error:
            raise DataError(f"task {name!r}: {error}") from error


def _missing_layer(data: str, layer: str, documents: Sequence[Document]) -> str:
    """Return the message that no document has a layer, with the layers there are."""
    names = sorted({other.name for document in documents for other in document.layers})
    choices = ", ".join(names) or "none"
    return f"no document of {data!r} has layer {layer!r} (layers there: {choices})"


def _check_metrics(recipe: Recipe, tasks: Mapping[str, Task]) -> None:
    """Raise ``RecipeError`` for a stage whose validation metric none of its tasks has."""
    for index, stage in enumerate(recipe.stages):
        names = [f"{name}.{metric}" for name in stage.tasks for metric in tasks[name].metric_names]
        metric = stage.validation_metric
        if metric is not None and metric not in names:
            location = recipe.at("stages", index, "validation_metric")
            raise location.error(f"no figure {metric!r}{did_you_mean(metric, names)}")


def _encode(planned: TaskPlan, task: Task, corpus: _Corpus) -> TaskData:
    """Encode train's gold over words; raises ``DataError`` where train or dev has none."""
    gold = {
        row: task.encode_gold(document, tokenized)
        for row, (document, tokenized) in enumerate(
            zip(corpus.train, corpus.tokenized, strict=True)
        )
        if task.has_gold(document)
    }
    if not any(len(encoded) for encoded in gold.values()):
        raise DataError(
            f"task {task.name!r}: nothing in layer {task.layer!r} can be expressed over words, "
            f"so there is nothing to learn (tokenization.tokenizer: char-class | spacy)"
        )
    if not any(task.has_gold(document) for document in corpus.dev):
        raise DataError(
            f"task {task.name!r}: no dev document has layer {task.layer!r}, so no model can be "
            f"chosen (without dev/ a tenth of train is held out)"
        )
    examples = planned.spec.examples
    name = planned.spec.data if examples is None else f"{planned.spec.data}, {examples} examples"
    text = None
    if isinstance(task, MaskedLMTask):
        rows = list(gold)
        text = TextCorpus.of_tokenized(
            [corpus.tokenized[row] for row in rows], [gold[row].spans for row in rows]
        )
    return TaskData(name, task, corpus.tokenized, gold, corpus.dev, text)


def _words(corpora: Iterable[_Corpus]) -> Iterator[str]:
    """Yield the words of all texts and queries of train."""
    for corpus in corpora:
        for document in corpus.tokenized:
            yield from chain(document.tokens, *(query.tokens for query in document.queries))


def _language_notes(
    recipe: Recipe, sources: Mapping[str, _Corpus], pieces: SubwordTokenizer
) -> Iterator[str]:
    """Yield a line for each corpus whose language the encoder hardly knows."""
    if recipe.has_encoder:
        known = KnownLanguage.of(pieces)
        for name, corpus in sources.items():
            if warning := known.warning(corpus.tokenized):
                yield f"{name}: {warning}"


def _notes(
    plan: Plan,
    sources: Mapping[str, _Corpus],
    corpora: Mapping[str, _Corpus],
    data: Mapping[str, TaskData],
) -> Iterator[str]:
    """Yield lines on what training will see, and what it will not."""
    for name, corpus in sources.items():
        if corpus.num_problems:
            unreadable = f"unreadable in its files: {quantity(corpus.num_problems, 'line')}"
            yield f"{name}: {unreadable} (spanloom check tells which)"
        if corpus.leaks.num_documents:
            yield corpus.leaks.note(name)
    for name, task_data in data.items():
        if name not in corpora:
            continue
        for part in plan.tasks[name].parts:
            yield f"{name}: {quantity(len(sources[part.data].train), 'document')} of {part.data}"
        corpus = corpora[name]
        if plan.tasks[name].spec.examples is not None:
            total = sum(_num_examples(plan.tasks[name], document) for document in corpus.tokenized)
            documents = quantity(len(corpus.train), "document")
            yield f"{name}: {quantity(total, 'example')} in {documents} of train"
        train = tuple(zip(corpus.train, corpus.tokenized, strict=True))
        sentences = tuple(document.full_sentences for document in corpus.tokenized)
        yield from task_data.task.coverage_notes(train, sentences, task_data.gold)
