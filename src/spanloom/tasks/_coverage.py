"""Report gold annotations that cannot be learnt, and why."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from spanloom.document import Layer
from spanloom.quantity import quantity
from spanloom.tasks._base import TrainDocuments
from spanloom.tasks._spans import SpanGold
from spanloom.tokenization import Bounds


class PartialGold(Protocol):
    """A document's gold that counts what it leaves out, by reason."""

    @property
    def skipped(self) -> Counter[str]:
        """The number of annotations that are left out, by reason: "across sentences"."""

    def __len__(self) -> int:
        """Return the number of annotations to learn from."""


def _same(layer: Layer) -> Layer:
    return layer


def span_coverage_notes(
    name: str,
    layer: str,
    train: TrainDocuments,
    full_sentences: Sequence[Sequence[Bounds]],
    gold: Mapping[int, SpanGold],
    prepare: Callable[[Layer], Layer] = _same,
    *,
    across_sentences: bool = False,
    max_span_width: int | None = None,
) -> list[str]:
    """Return a line on a task's gold, and more lines on what of it cannot be learnt.

    ``full_sentences`` are each document's sentences before long ones were divided; ``train`` has
    them after. ``prepare`` is what the task does to a layer before it is expressed over words. With
    ``across_sentences`` relations may cross sentences. Spans of more than ``max_span_width`` words
    are not looked at; None if all are.
    """
    spans = sum(len(document.spans) for document in gold.values())
    pairs = sum(len(document.pairs) for document in gold.values())
    layers = [train[index][0][layer] for index in gold]
    all_spans = sum(_num_distinct(prepare(annotated)) for annotated in layers)
    missed = (
        f" ({all_spans - spans} more cannot be expressed over words)" if all_spans > spans else ""
    )
    documents, learnt = quantity(len(gold), "document"), quantity(spans, "span")
    relations = quantity(pairs, "relation")
    lines = [f"{name}: {documents}, {learnt}{missed}, {relations} to learn from"]
    if unlearnt := _unlearnt(layers):
        lines.append(f"{name}: not learnt: {', '.join(unlearnt)}")
    if max_span_width is not None and any(wide := _wider(gold.values(), max_span_width)):
        width = quantity(max_span_width, "word")
        lines.append(f"{name}: not learnt, as they are wider than {width}: {_format(wide)}")
    before, after = (0, 0), (0, 0)
    for index, document in gold.items():
        before = _add(before, cross_sentence_gold(full_sentences[index], document))
        after = _add(after, cross_sentence_gold(train[index][1].sentences, document))
    if across_sentences:
        before, after = (before[0], 0), (after[0], 0)
    if any(before):
        lines.append(f"{name}: not learnt, as they reach across sentences: {_format(before)}")
    if num_divided := _num_divided(train, full_sentences, gold):
        cost = _format((after[0] - before[0], after[1] - before[1]))
        divided = quantity(num_divided, "document")
        lines.append(f"{name}: long sentences of {divided} are cut; that costs {cost}")
    return lines


def partial_coverage_notes(
    name: str,
    noun: str,
    train: TrainDocuments,
    full_sentences: Sequence[Sequence[Bounds]],
    gold: Mapping[int, PartialGold],
) -> list[str]:
    """Return a line on a task's gold, and one per reason why annotations are left out.

    ``full_sentences`` are each document's sentences before long ones were divided; ``train`` has
    them after.
    """
    learnt = sum(map(len, gold.values()))
    lines = [f"{name}: {quantity(len(gold), 'document')}, {quantity(learnt, noun)} to learn from"]
    skipped: Counter[str] = sum((document.skipped for document in gold.values()), Counter())
    lines += [
        f"{name}: not learnt: {quantity(count, noun)} {why}" for why, count in skipped.items()
    ]
    if num_divided := _num_divided(train, full_sentences, gold):
        lines.append(
            f"{name}: long sentences of {quantity(num_divided, 'document')} are cut, "
            "and count as several"
        )
    return lines


def cross_sentence_gold(sentences: Sequence[Bounds], gold: SpanGold) -> tuple[int, int]:
    """Count the spans that cross sentences, and the relations whose two spans are in several."""
    starts = [start for start, _ in sentences]
    homes = [
        {bisect_right(starts, start), bisect_right(starts, end - 1)} for start, end, _ in gold.spans
    ]
    pairs = sum(len(homes[head] | homes[tail]) > 1 for head, tail, _ in gold.pairs)
    return sum(len(home) > 1 for home in homes), pairs


def _num_distinct(layer: Layer) -> int:
    """Return the number of spans; equal ones are one to learn from."""
    return len({(span.fragments, span.label) for span in layer.spans})


def _unlearnt(layers: Sequence[Layer]) -> list[str]:
    """Return how many annotations there are of kinds that no task for spans learns."""
    equivalences = sum(len(layer.equivalences) for layer in layers)
    normalizations = sum(len(layer.normalizations) for layer in layers)
    lines = []
    if equivalences:
        lines.append(f"{quantity(equivalences, 'equivalence')} (a task of kind coreference does)")
    if normalizations:
        lines.append(quantity(normalizations, "normalization"))
    if notes := sum(len(layer.notes) for layer in layers):
        lines.append(quantity(notes, "note"))
    return lines


def _wider(gold: Iterable[SpanGold], width: int) -> tuple[int, int]:
    """Count the spans of more than ``width`` words, and the relations that have such an end."""
    spans = pairs = 0
    for document in gold:
        is_wide = [end - start > width for start, end, _ in document.spans]
        spans += sum(is_wide)
        pairs += sum(is_wide[head] or is_wide[tail] for head, tail, _ in document.pairs)
    return spans, pairs


def _num_divided(
    train: TrainDocuments,
    full_sentences: Sequence[Sequence[Bounds]],
    gold: Mapping[int, object],
) -> int:
    """Return the number of documents with a sentence that is read in parts."""
    return sum(len(train[index][1].sentences) > len(full_sentences[index]) for index in gold)


def _add(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return a[0] + b[0], a[1] + b[1]


def _format(counts: tuple[int, int]) -> str:
    return f"{quantity(counts[0], 'span')} and {quantity(counts[1], 'relation')}"
