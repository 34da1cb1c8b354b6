"""The text of pre-training: streamed from files through a cache, with notes on blocks and masks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random

import numpy as np
import torch
from torch import Tensor

from spanloom.corpora import raw_text
from spanloom.corpora.folder import locate
from spanloom.data import text_cache
from spanloom.data.blocks import FULL, Blocks
from spanloom.data.collate import collate
from spanloom.data.instances import Instance
from spanloom.data.subwords import SubwordTokenizer, num_ids
from spanloom.data.text_cache import TextSource, layer_spans
from spanloom.data.text_corpus import TextCorpus
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.model.plan import Plan, TaskPlan
from spanloom.quantity import quantity
from spanloom.tasks.masked_lm import MaskedLMTask, MaskingOptions, PretrainingTargets

_SAMPLE = 200  # blocks whose masks are measured
_EXCHANGING = 8  # documents of dev that exchange second segments, if there are as many


@dataclass(frozen=True, slots=True)
class TextData:
    """The text of a task, its dev documents, and the files that both are from."""

    source: TextSource
    text: TextCorpus
    dev: tuple[Document, ...]


def streamed(plan: Plan) -> dict[str, TaskPlan]:
    """Return the tasks of pre-training on raw text, which is never in memory as a whole.

    Raises ``DataError`` where some sources of a task are raw text and others are not.
    """
    return {name: task for name, task in plan.tasks.items() if _is_streamed(plan, task)}


def check_batches(plan: Plan) -> None:
    """Raise ``RecipeError`` for a stage on raw text alone whose batches count sentences."""
    texts = streamed(plan).keys()
    for row, stage in enumerate(plan.recipe.stages):
        if stage.batch_sentences is not None and texts >= {*stage.tasks}:
            problem = "is not for raw text, whose blocks are counted in words; say batch_words"
            raise plan.recipe.at("stages", row, "batch_sentences").error(problem)


def _is_streamed(plan: Plan, task: TaskPlan) -> bool:
    """Whether all sources of a task of pre-training are raw text; ``DataError`` if only some."""
    if not isinstance(task.options, MaskingOptions):
        return False
    kinds = {name: _is_raw(plan, name) for name in task.sources}
    if len(set(kinds.values())) > 1:
        raw, other = (
            [name for name, is_raw in kinds.items() if is_raw is kind] for kind in (True, False)
        )
        raise DataError(
            f"task {task.name!r}: expected raw text alone or documents alone, got raw text "
            f"({', '.join(raw)}) and documents ({', '.join(other)})"
        )
    return any(kinds.values())


def _is_raw(plan: Plan, name: str) -> bool:
    """Whether a source is raw text; ``DataError`` where it is partly that."""
    try:
        path = locate(name, plan.recipe_dir)
        is_raw = raw_text.is_raw_text(path)
    except DataError:
        return False  # whoever reads the documents reports it
    if not is_raw:
        raw_text.check_alone(path)
    return is_raw


def source(plan: Plan, task: TaskPlan) -> TextSource:
    """Return the files of a task's text, and what of them it uses."""
    options = task.options
    assert isinstance(options, MaskingOptions), "pre-training has its options"
    paths = tuple(locate(name, plan.recipe_dir) for name in task.sources)
    return TextSource(paths, options.exclude, options.mask_layer, options.mask_labels)


def read(plan: Plan, task: TaskPlan, pieces: SubwordTokenizer) -> TextData:
    """Map a task's text from its cache, which is built first if it is not there.

    Raises ``DataError``, ``FormatError``, ``StorageError`` and ``ModelError``.
    """
    text_source = source(plan, task)
    layer, labels = text_source.layer, text_source.labels
    check_mask_layer(task.name, layer, labels, text_source.documents())
    corpus, _ = text_cache.read_text(text_source, plan.recipe.tokenization, pieces)
    assert isinstance(task.options, MaskingOptions), "pre-training has its options"
    at_least = _EXCHANGING if task.options.sequences == "next-sentence" else 1
    train, dev = text_cache.hold_out(text_source, corpus, seed=plan.recipe.seed, at_least=at_least)
    return TextData(text_source, _sample(train, task, plan.recipe.seed), dev)


def check_documents(task: TaskPlan, documents: Iterable[Document]) -> None:
    """Raise ``DataError`` for options of a task that documents in memory cannot follow."""
    options = task.options
    assert isinstance(options, MaskingOptions), "pre-training has its options"
    if options.exclude:
        raise DataError(
            f"task {task.name!r}: exclude: expected raw text (*.txt, *.txt.gz, one .jsonl file), "
            f"of which alone files are left out, got documents ({', '.join(task.sources)})"
        )
    check_mask_layer(task.name, options.mask_layer, options.mask_labels, documents)


def check_mask_layer(
    task: str, layer: str, labels: Sequence[str], documents: Iterable[Document]
) -> None:
    """Raise ``DataError`` where no document has a span that is masked at once, of a named layer.

    Documents are read up to the first one that has. Without spans all portions would be words.
    """
    if not layer:
        return
    labels_by_layer: dict[str, set[str]] = {}
    for document in documents:
        if layer_spans(document, layer, labels):
            return
        for other in document.layers:
            spans = other.spans
            labels_by_layer.setdefault(other.name, set()).update(span.label for span in spans)
    expected = f"expected spans of layer {layer!r}"
    if labels:
        expected += f" with a label of mask_labels ({', '.join(labels)})"
    there = sorted(labels_by_layer.get(layer, ()))
    kind, names = ("labels", there) if there else ("layers", sorted(labels_by_layer))
    raise DataError(
        f"task {task!r}: mask_layer: {expected}, got none in any document ({kind} there: "
        f"{', '.join(names) or 'none'})"
    )


def _sample(corpus: TextCorpus, task: TaskPlan, seed: int) -> TextCorpus:
    """Return random documents, as many as ``examples`` asks for, all without."""
    examples = task.spec.examples
    if examples is None:
        return corpus
    share = float(examples[:-1]) / 100 if isinstance(examples, str) else examples / len(corpus)
    rows = np.random.Generator(np.random.PCG64(seed)).permutation(len(corpus))
    return corpus.select(np.sort(rows[: max(1, round(share * len(corpus)))]))


def unigrams(text: TextCorpus, pieces: SubwordTokenizer) -> Tensor:
    """Return how often each piece of the vocabulary occurs."""
    return torch.from_numpy(text.unigrams(num_ids(pieces.tokenizer))).double()


def notes(
    task: MaskedLMTask, text: TextCorpus, window: int, pieces: SubwordTokenizer
) -> Iterator[str]:
    """Yield lines on the text, on how full its blocks are, and on what is masked.

    The masks of some blocks are measured, as spans that would pass the budget are drawn again,
    which shortens them. Raises ``DataError`` where nothing can be learnt from the text.
    """
    blocks = task.blocks.draw(text, window, Random(0))
    sizes = blocks.num_pieces
    full = sizes[sizes >= FULL * (window - 1)].sum() / max(1, sizes.sum())
    yield (
        f"{quantity(len(text), 'document')}, {text.num_pieces:,} pieces in "
        f"{quantity(len(blocks), 'block')}, {full:.1%} of them in blocks filled to {FULL:.0%}"
    )
    if not len(blocks):
        raise DataError(
            f"task {task.name!r}: expected a text of which blocks of two segments can be made, got "
            "documents of one word"
        )
    is_exchanging = task.blocks.sequences == "next-sentence"
    if is_exchanging and not blocks.share_exchanged:
        raise DataError(
            f"task {task.name!r}: sequences: next-sentence needs several documents to learn from, "
            "whose segments are exchanged; a blank line ends a document"
        )
    yield _mask_note(task, blocks, pieces, window)
    if is_exchanging:
        yield f"{blocks.share_exchanged:.0%} of second segments are from other documents"


def _mask_note(task: MaskedLMTask, blocks: Blocks, pieces: SubwordTokenizer, window: int) -> str:
    """Return the share of masked pieces and the mean length of spans in some blocks."""
    rows = np.linspace(0, len(blocks) - 1, min(len(blocks), _SAMPLE)).astype(int)
    sample = list(blocks.select(rows))
    num_masked = num_pieces = num_words = num_spans = num_annotated = 0
    for instance in sample:
        batch = collate([instance], pieces, window)
        _, targets = task.mask_inputs(batch, [instance], pieces, 0)
        assert isinstance(targets, PretrainingTargets), "it masks its inputs"
        masked = targets.masked
        words = batch.position_to_word.flatten()[masked.rows]
        num_masked += len(masked.rows)
        num_pieces += instance.num_pieces
        num_spans += len(masked.left.unique())
        num_words += len(words.unique())
        num_annotated += int(_in_masked_spans(instance, words).sum())
    note = f"{num_masked / num_pieces:.1%} of pieces are masked"
    if task.masking.scheme == "span":
        note += (
            f", in spans of {num_words / num_spans:.2f} words on average "
            f"({task.masking.mean_length:.2f} as they are drawn; those over the budget are drawn "
            f"again)"
        )
    if task.masking.scheme == "layer":
        share = num_annotated / max(1, num_masked)
        note += f", {share:.1%} of these in whole spans of {task.mask_layer}"
    return note


def _in_masked_spans(instance: Instance, words: Tensor) -> Tensor:
    """Return which masked words of a block lie in an annotated span that is masked as a whole."""
    masked = set(words.tolist())
    whole = [range(*span) for span in instance.maskable if masked.issuperset(range(*span))]
    return torch.isin(words, torch.tensor([*chain.from_iterable(whole)], dtype=words.dtype))
