"""Read the corpora of a plan, infer vocabularies, and encode gold over words."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from spanloom.config.options import did_you_mean
from spanloom.config.recipe import Recipe
from spanloom.config.specs import SPECIAL_IDS, TeacherSpec
from spanloom.corpora import folder
from spanloom.corpora.folder import locate
from spanloom.corpora.prepare import read_prompts
from spanloom.data.foreign_text import KnownLanguage
from spanloom.data.instance_readers import PromptTokenizer
from spanloom.data.instances import TokenizedDocument, tokenize, tokenize_prompt
from spanloom.data.subwords import SubwordTokenizer
from spanloom.data.text_corpus import TextCorpus
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.formats.brat.draft import problems_note
from spanloom.model.plan import Plan, TaskPlan
from spanloom.quantity import quantity
from spanloom.tasks._base import Task
from spanloom.tasks.masked_lm import MaskedLMTask
from spanloom.tokenization import WordTokenizer
from spanloom.training import text_data
from spanloom.training.split_corpus import (
    SplitCorpus,
    identity,
    missing_layer,
    num_examples,
    read_sources,
    sample,
    task_corpus,
)
from spanloom.training.teacher import Teacher
from spanloom.training.text_data import TextData


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

    ``inherited_heads`` are those with the weights of an earlier model. ``teachers`` are the models
    that teach in its stages.
    """

    plan: Plan
    tasks: Mapping[str, Task]
    data: Mapping[str, TaskData]
    words: frozenset[str]
    fingerprint: str
    notes: tuple[str, ...]
    inherited_heads: frozenset[str] = frozenset()
    teachers: Mapping[TeacherSpec, Teacher] = field(default_factory=dict)


@folder.pause_gc()
def prepare(
    plan: Plan, word_tokenizer: WordTokenizer, subword_tokenizer: SubwordTokenizer
) -> PreparedData:
    """Read the corpora, infer vocabularies from train, and encode gold over words.

    The plan of the result has the vocabularies; its notes tell what training will not see. Raises
    ``DataError``, ``FormatError``, ``LayerError`` and ``RecipeError``.
    """
    text_data.check_batches(plan)
    sources = _read_tokenized(plan, word_tokenizer, subword_tokenizer)
    streams = {
        name: text_data.read(plan, task, subword_tokenizer)
        for name, task in text_data.streamed(plan).items()
    }
    corpora = {
        name: sample(task, task_corpus(task, sources), plan.recipe.seed)
        for name, task in plan.tasks.items()
        if name not in streams
    }
    plan = _with_vocabularies(plan, corpora, subword_tokenizer)
    held_out = {name: corpus.held_out for name, corpus in sources.items() if corpus.held_out}
    plan = plan.noting(held_out=held_out)
    tasks = plan.build_tasks()
    _check_metrics(plan.recipe, tasks)
    _check_words(tasks, partial(tokenize_prompt, split=word_tokenizer, pieces=subword_tokenizer))
    data = {
        name: _encode(plan.tasks[name], task, corpora[name])
        if name in corpora
        else _of_stream(plan.tasks[name], task, streams[name])
        for name, task in tasks.items()
    }
    data = {name: _with_unigrams(item, subword_tokenizer) for name, item in data.items()}
    notes = (
        *_language_notes(plan.recipe, sources, subword_tokenizer),
        *_notes(plan, sources, corpora, data),
        *_text_notes(plan, data, subword_tokenizer),
    )
    return PreparedData(
        plan,
        {name: item.task for name, item in data.items()},
        data,
        frozenset(_words({id(corpus.tokenized): corpus for corpus in corpora.values()}.values())),
        identity(sources.values(), [stream.source for stream in streams.values()]),
        notes,
    )


def _read_tokenized(
    plan: Plan, word_tokenizer: WordTokenizer, subword_tokenizer: SubwordTokenizer
) -> dict[str, SplitCorpus]:
    """Return the corpora of a plan with train tokenized."""
    sources = read_sources(plan)
    for name, corpus in sources.items():
        tokenized = (tokenize(doc, word_tokenizer, subword_tokenizer) for doc in corpus.train)
        sources[name] = replace(corpus, tokenized=tuple(tokenized))
    return sources


def _with_vocabularies(
    plan: Plan, corpora: Mapping[str, SplitCorpus], pieces: SubwordTokenizer
) -> Plan:
    """Return the plan with what its tasks infer from train; those on streamed text infer nothing.

    No task is noted as removed.
    """
    vocabularies = {
        name: _vocabulary(task, corpora[name], plan.recipe_dir) if name in corpora else {}
        for name, task in plan.tasks.items()
    }
    special_ids = {"pad": pieces.padding, "unk": pieces.unknown, "mask": pieces.mask}
    plan = plan.noting(removed_tasks=())
    return plan.with_vocabulary({**vocabularies, SPECIAL_IDS: special_ids})


def _of_stream(planned: TaskPlan, task: Task, stream: TextData) -> TaskData:
    """Return the data of a task of pre-training on raw text."""
    return TaskData(planned.spec.data, task, (), {}, stream.dev, stream.text)


def _with_unigrams(item: TaskData, pieces: SubwordTokenizer) -> TaskData:
    """Return a task's data; a task of pre-training then knows how often pieces occur."""
    if item.text is None or not isinstance(item.task, MaskedLMTask):
        return item
    return replace(item, task=item.task.with_unigrams(text_data.unigrams(item.text, pieces)))


def _vocabulary(task: TaskPlan, corpus: SplitCorpus, recipe_dir: Path) -> dict[str, Any]:
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
        problem = missing_layer(task.spec.data, layer, corpus.train)
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


def _check_metrics(recipe: Recipe, tasks: Mapping[str, Task]) -> None:
    """Raise ``RecipeError`` for a stage whose validation metric none of its tasks has."""
    for index, stage in enumerate(recipe.stages):
        names = [f"{name}.{metric}" for name in stage.tasks for metric in tasks[name].metric_names]
        metric = stage.validation_metric
        if metric is not None and metric not in names:
            location = recipe.at("stages", index, "validation_metric")
            raise location.error(f"no metric {metric!r}{did_you_mean(metric, names)}")


def _encode(planned: TaskPlan, task: Task, corpus: SplitCorpus) -> TaskData:
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
        text_data.check_documents(planned, corpus.train)
        rows = list(gold)
        text = TextCorpus.of_tokenized(
            [corpus.tokenized[row] for row in rows], [gold[row].spans for row in rows]
        )
    return TaskData(name, task, corpus.tokenized, gold, corpus.dev, text)


def _words(corpora: Iterable[SplitCorpus]) -> Iterator[str]:
    """Yield the words of all texts and queries of train."""
    for corpus in corpora:
        for document in corpus.tokenized:
            yield from chain(document.tokens, *(query.tokens for query in document.queries))


def _language_notes(
    recipe: Recipe, sources: Mapping[str, SplitCorpus], pieces: SubwordTokenizer
) -> Iterator[str]:
    """Yield a line for each corpus whose language the encoder hardly knows."""
    if recipe.has_encoder:
        known = KnownLanguage.of(pieces)
        for name, corpus in sources.items():
            if warning := known.warning(corpus.tokenized):
                yield f"{name}: {warning}"


def _text_notes(
    plan: Plan, data: Mapping[str, TaskData], pieces: SubwordTokenizer
) -> Iterator[str]:
    """Yield lines on the blocks and masks of pre-training."""
    for name, task_data in data.items():
        if task_data.text is not None and isinstance(task_data.task, MaskedLMTask):
            for note in text_data.notes(task_data.task, task_data.text, plan.recipe.window, pieces):
                yield f"{name}: {note}"


def _notes(
    plan: Plan,
    sources: Mapping[str, SplitCorpus],
    corpora: Mapping[str, SplitCorpus],
    data: Mapping[str, TaskData],
) -> Iterator[str]:
    """Yield lines on what training will see, and what it will not."""
    for name, corpus in sources.items():
        if corpus.num_problems:
            yield f"{name}: {problems_note(corpus.num_problems)}"
        if corpus.leaks.num_documents:
            yield corpus.leaks.note(name)
    for name, task_data in data.items():
        if name not in corpora:
            continue
        for part in plan.tasks[name].parts:
            yield f"{name}: {quantity(len(sources[part.data].train), 'document')} of {part.data}"
        corpus = corpora[name]
        if plan.tasks[name].spec.examples is not None:
            total = sum(num_examples(plan.tasks[name], document) for document in corpus.tokenized)
            documents = quantity(len(corpus.train), "document")
            yield f"{name}: {quantity(total, 'example')} in {documents} of train"
        train = tuple(zip(corpus.train, corpus.tokenized, strict=True))
        sentences = tuple(document.full_sentences for document in corpus.tokenized)
        yield from task_data.task.coverage_notes(train, sentences, task_data.gold)
