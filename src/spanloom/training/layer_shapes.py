"""Tell which options a layer's annotations need to be learnt as a whole, and how many need them.

Each option of the kinds ``entities`` and ``relations`` costs something: more labels, or more pairs.
So it is proposed only where a share of the annotations is lost without it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from spanloom.annotation.events import collect, losses, project, with_division
from spanloom.annotation.label_sets import JOINER
from spanloom.annotation.word_index import WordIndex
from spanloom.quantity import quantity
from spanloom.tokenization import Split, words_of
from spanloom.training.layer_kinds import LayerSample, Options, Suggestion, suggest, suggestion

Need = tuple[Options, str]  # options, and why

_SHARE = 0.01  # of annotations that need an option, from which on it is proposed
_SHARE_ACROSS = 0.05  # of relations that cross sentences: these cost many more pairs
_LOOKED = 500  # documents that tell how many relations cross sentences


def with_shapes(
    suggested: Suggestion, sample: LayerSample, split: Split, *, keep_kind: bool
) -> Suggestion:
    """Return a suggestion with the options that the layer needs.

    Spans with gaps need the kind ``relations``, which is not proposed with ``keep_kind``. A kind
    that the options are not of stays as it is.
    """
    if suggested.kind not in ("entities", "relations"):
        return suggested
    options, reasons = dict(suggested.options), [suggested.reason]
    kind = suggested.kind
    gaps = () if keep_kind and kind == "entities" else _gaps(sample)
    needs = [*_labels(sample), *gaps]
    if any("discontinuous" in need for need, _ in needs):
        kind = "relations"
        options = dict(suggestion(kind, "").options) | options
    if kind == "relations":
        needs += [*_across(sample, split), *_events(sample)]
    for need, reason in needs:
        options |= need
        reasons.append(f"{_written(need)}, as {reason}")
    return replace(suggested, kind=kind, options=options, reason="; ".join(reasons))


def proposed_kind(sample: LayerSample) -> str:
    """Return the kind of task that is proposed for a layer, with the options that it needs."""
    kind = suggest(sample).kind
    return "relations" if kind == "entities" and any(_gaps(sample)) else kind


def _written(options: Options) -> str:
    return ", ".join(
        f"{name}: {str(value).lower() if isinstance(value, bool) else value}"
        for name, value in options.items()
    )


def _labels(sample: LayerSample) -> Iterator[Need]:
    """Yield the option of spans with several labels."""
    num_spans = num_more = 0
    for layer in sample.layers:
        labelled = {(tuple(sorted(span.fragments)), span.label) for span in layer.spans}
        num_spans += len(labelled)
        num_more += len(labelled) - len({bounds for bounds, _ in labelled})
    joined = any(JOINER in label for label in sample.span_labels)
    if num_more and num_more >= _SHARE * num_spans and not joined:
        yield (
            {"multi_label": True},
            f"{quantity(num_more, 'span')} of {num_spans} are other labels on the same words",
        )


def _gaps(sample: LayerSample) -> Iterator[Need]:
    """Yield the option of spans with gaps."""
    sizes = Counter(len(span.fragments) > 1 for layer in sample.layers for span in layer.spans)
    if sizes[True] and sizes[True] >= _SHARE * sizes.total():
        yield (
            {"discontinuous": True},
            f"{quantity(sizes[True], 'span')} of {sizes.total()} have gaps",
        )


def _across(sample: LayerSample, split: Split) -> Iterator[Need]:
    """Yield the option of relations across sentences."""
    crossing: Counter[bool] = Counter()
    scheme = collect(sample.layers)
    for document, layer in islice(sample.filled, _LOOKED):
        relations = project(layer, scheme)[1]
        if relations:
            index = WordIndex(words_of(document, split))
            sentence = {span.id: index.locate(span).sentence for span in layer.spans}
            crossing.update(
                sentence[relation.head] != sentence[relation.tail]
                for relation in relations
                if relation.head in sentence and relation.tail in sentence
            )
    if crossing[True] and crossing[True] >= _SHARE_ACROSS * crossing.total():
        yield (
            {"relation_scope": "document"},
            f"{quantity(crossing[True], 'relation')} of {crossing.total()} cross sentences",
        )


def _events(sample: LayerSample) -> Iterator[Need]:
    """Yield the option of several events a trigger, if dividing brings back most that are lost."""
    num_events = sum(len(layer.events) for layer in sample.layers)
    if not num_events:
        return
    scheme = collect(sample.layers)
    divided = with_division(scheme, sample.layers)
    shared, lost = (
        sum(losses(layer, events).shared for layer in sample.layers) for events in (scheme, divided)
    )
    if shared >= _SHARE * num_events and lost < shared / 2:
        yield (
            {"several_events": True},
            f"{quantity(shared, 'event')} of {num_events} are not the first of their trigger",
        )
