"""Spans and relations between documents and batches: what span tasks of all kinds share."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from spanloom.annotation.attributes import Values
from spanloom.data.instances import Instance
from spanloom.document import Fragment, Layer, Relation, Span
from spanloom.tasks._base import NewId
from spanloom.tensors import PredictedRelations, PredictedSpans, SpanTargets
from spanloom.tokenization import Bounds


@dataclass(frozen=True, slots=True)
class SpanGold:
    """A document's gold annotation over its words: ``(start, end, label)`` and ``(i, j, label)``.

    Sorted by start; labels are rows of the inventory plus one. What words or inventory cannot
    express is not in it, and so is missed; label 0 is of spans nobody knows what they are.
    ``values`` are attributes' (``forms.attributes.rows``) of each span and of each pair, where
    there are any. ``looked`` says of "none" and each label whether it was looked for, None: all.
    """

    spans: tuple[tuple[int, int, int], ...] = ()
    pairs: tuple[tuple[int, int, int], ...] = ()
    attribute_values: tuple[tuple[int, ...], ...] | None = None
    pair_attribute_values: tuple[tuple[int, ...], ...] | None = None
    annotated_labels: tuple[bool, ...] | None = None

    def __len__(self) -> int:
        """How many spans there are to learn from."""
        return len(self.spans)


def number_spans(*spans: tuple[str, int, int]) -> tuple[Span, ...]:
    """Return spans of one fragment, numbered T1, T2, …: what samples are made of."""
    return tuple(
        Span(f"T{row}", label, ((start, end),)) for row, (label, start, end) in enumerate(spans, 1)
    )


@dataclass(slots=True)
class InstancePrediction:
    """What was predicted in one unit: spans in its words, links between their rows.

    Marks are attributes: the row of a span or of a link, name, value, probability.
    """

    spans: list[tuple[int, int, str, float]] = field(default_factory=list)
    relations: list[tuple[int, int, str, float]] = field(default_factory=list)
    attributes: list[tuple[int, str, str, float]] = field(default_factory=list)
    relation_attributes: list[tuple[int, str, str, float]] = field(default_factory=list)


def word_bounds(layer: Layer, words: Sequence[Bounds]) -> dict[str, Bounds]:
    """Return word bounds of the spans that stand on word borders in one piece, by id."""
    starts = {start: row for row, (start, _) in enumerate(words)}
    ends = {end: row for row, (_, end) in enumerate(words, 1)}
    found = {}
    for span in layer.spans:
        if len(span.fragments) == 1:
            a, b = starts.get(span.start), ends.get(span.end)
            if a is not None and b is not None and a < b:
                found[span.id] = (a, b)
    return found


def collate_gold(units: Sequence[Instance], gold: Mapping[int, SpanGold]) -> SpanTargets:
    """Lay the gold of some units flat, as ``collate`` lays their words.

    A span that leaves its unit is left out, with its relations.
    """
    bounds: list[tuple[int, int]] = []
    labels: list[int] = []
    pairs: list[tuple[int, int, int]] = []
    values: list[tuple[int, ...]] = []
    pair_values: list[tuple[int, ...]] = []
    bases = accumulate((len(unit.tokens) for unit in units), initial=0)
    for base, unit in zip(bases, units, strict=False):
        mine, end = gold[unit.document], unit.first_word + len(unit.tokens)
        first = bisect_left(mine.spans, (unit.first_word,))
        last = bisect_left(mine.spans, (end,))
        whole = [row for row in range(first, last) if mine.spans[row][1] <= end]
        place = {row: len(bounds) + n for n, row in enumerate(whole)}
        shift = base - unit.first_word
        bounds += [(mine.spans[row][0] + shift, mine.spans[row][1] + shift) for row in whole]
        labels += [mine.spans[row][2] for row in whole]
        inside = [row for row, (i, j, _) in enumerate(mine.pairs) if i in place and j in place]
        pairs += [(place[i], place[j], k) for i, j, k in (mine.pairs[row] for row in inside)]
        values += [mine.attribute_values[row] for row in whole] if mine.attribute_values else []
        pair_values += (
            [mine.pair_attribute_values[row] for row in inside]
            if mine.pair_attribute_values
            else []
        )
    return SpanTargets(
        torch.tensor(bounds, dtype=torch.long).reshape(-1, 2),
        torch.tensor(labels, dtype=torch.long),
        torch.tensor(pairs, dtype=torch.long).reshape(-1, 3),
        torch.tensor(values) if values else None,
        torch.tensor(pair_values) if pair_values else None,
        _label_mask(units, gold),
    )


def _label_mask(
    units: Sequence[Instance], gold: Mapping[int, SpanGold]
) -> Bool[Tensor, "word label"] | None:
    """Which labels were looked for in the text of each word; None where all were."""
    said = [gold[unit.document].annotated_labels for unit in units]
    size = max((len(each) for each in said if each is not None), default=0)
    if not size:
        return None
    rows = torch.tensor([(True,) * size if each is None else each for each in said])
    return rows.repeat_interleave(torch.tensor([len(unit.tokens) for unit in units]), dim=0)


@dataclass(frozen=True, slots=True)
class Labels:
    """What rows of labels mean, counted from 1, and which values attributes have."""

    spans: Sequence[str]
    relations: Sequence[str] = ()
    attributes: Values = field(default_factory=dict)
    relation_attributes: Values = field(default_factory=dict)


def split_by_instance(
    units: Sequence[Instance], chosen: PredictedSpans, linked: PredictedRelations, labels: Labels
) -> Iterator[InstancePrediction]:
    """Give each unit its spans and links; spans stand in the order of the text."""
    bases = list(accumulate((len(unit.tokens) for unit in units), initial=0))
    first = chosen.bounds[:, 0].contiguous().cpu()
    owner = torch.bucketize(first, torch.tensor(bases[1:]), right=True).tolist()
    found = [InstancePrediction() for _ in units]
    place: list[int] = []
    columns = chosen.bounds.tolist(), chosen.labels.tolist(), chosen.scores.tolist()
    for (start, end), label, score, which in zip(*columns, owner, strict=True):
        mine, base = found[which].spans, bases[which]
        place.append(len(mine))
        mine.append((start - base, end - base, labels.spans[label - 1], score))
    for row, *mark in _predicted_attributes(chosen, labels.attributes):
        found[owner[row]].attributes.append((place[row], *mark))
    links: list[int] = []
    columns = linked.pairs.tolist(), linked.labels.tolist(), linked.scores.tolist()
    for (head, tail), label, score in zip(*columns, strict=True):
        theirs = found[owner[head]].relations
        links.append(len(theirs))
        theirs.append((place[head], place[tail], labels.relations[label - 1], score))
    for row, *mark in _predicted_attributes(linked, labels.relation_attributes):
        found[owner[int(linked.pairs[row, 0])]].relation_attributes.append((links[row], *mark))
    yield from found


def _predicted_attributes(
    kept: PredictedSpans | PredictedRelations, known: Values
) -> Iterator[tuple[int, str, str, float]]:
    """The attributes that are there: the row of what has them, name, value, probability."""
    if kept.attribute_values is None or kept.value_probs is None:
        return
    values, sure, names = kept.attribute_values.tolist(), kept.value_probs.tolist(), list(known)
    for row, column in kept.attribute_values.nonzero().tolist():
        name = names[column]
        yield row, name, known[name][values[row][column] - 1], sure[row][column]


def fragments_of_long_sentences(found: Sequence[tuple[Instance, Any]]) -> list[list[Fragment]]:
    """The characters of the parts of each long sentence, of a document's units in their order."""
    every: list[list[Fragment]] = []
    for unit, _ in found:
        for first, end in unit.sentences:
            if first not in unit.sentence_splits:
                every.append([])
            every[-1].append((unit.words[first][0], unit.words[end - 1][1]))
    return [parts for parts in every if len(parts) > 1]


@dataclass(frozen=True, slots=True)
class DocumentPrediction:
    """What was found in a document, in characters.

    Spans have ids, relations the number of the link as an id, for the time being; marks say the id
    of what an attribute is of, its name, value and probability.
    """

    spans: list[Span]
    relations: list[Relation]
    attributes: list[tuple[str, str, str, float]]


def to_characters(
    found: Sequence[tuple[Instance, InstancePrediction]],
    fresh: NewId,
    name: Callable[[int], str] = str,
) -> DocumentPrediction:
    """Return the spans in text order, relations by their ends; ``name`` makes an id of a link."""
    spans: list[tuple[Fragment, str, float]] = []
    links: list[tuple[int, int, str, float]] = []
    marks: list[tuple[int, str, str, float]] = []
    link_marks: list[tuple[int, str, str, float]] = []
    for unit, mine in found:
        base, first = len(spans), len(links)
        for start, end, label, score in mine.spans:
            # a single word's place is kept once, however many layers have a span there
            one = unit.words[start]
            place = one if end - start == 1 else (one[0], unit.words[end - 1][1])
            spans.append((place, label, score))
        links += [(base + i, base + j, label, score) for i, j, label, score in mine.relations]
        marks += [(base + row, name, value, sure) for row, name, value, sure in mine.attributes]
        link_marks += [
            (first + row, name, value, p) for row, name, value, p in mine.relation_attributes
        ]
    order = sorted(range(len(spans)), key=lambda row: spans[row][:2])
    ids = {row: fresh("T") for row in order}
    made = [
        Span(ids[row], label, (place,), score)
        for row in order
        for place, label, score in (spans[row],)
    ]
    by_ends = sorted(range(len(links)), key=lambda row: tuple(spans[end] for end in links[row][:2]))
    relations = [
        Relation(name(row), label, ids[i], ids[j], score=score)
        for row in by_ends
        for i, j, label, score in (links[row],)
    ]
    said = [(ids[row], name, value, sure) for row, name, value, sure in marks]
    said += [(str(row), name, value, sure) for row, name, value, sure in link_marks]
    return DocumentPrediction(made, relations, said)


def spans_and_relations(
    found: Sequence[tuple[Instance, InstancePrediction]], fresh: NewId
) -> tuple[list[Span], list[Relation]]:
    """Return what ``written`` does, for tasks without attributes; relations have ids too."""
    all_of_it = to_characters(found, fresh, lambda _: fresh("R"))
    return all_of_it.spans, all_of_it.relations
