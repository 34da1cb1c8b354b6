"""Spans of tags as Changpinyo et al. 2018 count them for all their tasks (section 3.2).

Any tag but O is of a span; their program reads spans from whatever tags a model gives:

    tag        it is read as
    O          outside any span, as is a tag that begins with O-
    I-X E-X    a further word of the span just before, if that is an X; else the first of one
    B-X, V-X   with these or any other letter: the first word of a span
    VERB       without a letter and a hyphen: a span of one word, labelled VERB

So the F1 of parts of speech, and of all tags that each word has, is the accuracy, and plain B and I
are two labels.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from spanloom.forms.tag_schemes import OUTSIDE, Tagged
from spanloom.metrics.chunks import Pair
from spanloom.metrics.counts import Counts

_FURTHER = frozenset("IE")


def spans(tags: Sequence[str]) -> list[Tagged]:
    """Return the spans of a sentence, ascending: bounds ``[start, end)`` in words, and label."""
    found: list[Tagged] = []
    current = ""  # the label that a further word goes on
    for place, tag in enumerate(tags):
        if tag == OUTSIDE:
            current = ""
            continue
        letter, label = (tag[0], tag[2:]) if tag[1:2] == "-" and tag[2:] else ("", tag)
        if letter in _FURTHER and label == current:
            found[-1] = (found[-1][0], place + 1, label)
        elif letter != OUTSIDE:
            found.append((place, place + 1, label))
        current = label if letter not in {"", OUTSIDE} else ""
    return found


def count_tag_spans(pairs: Iterable[Pair | None]) -> dict[str, Counts]:
    """Count spans by label, sorted; None is the end of a sentence, beyond which no span goes on."""
    hits: Counter[str] = Counter()
    sides: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for columns in _sentences(pairs):
        both = [spans(tags) for tags in columns]
        for side, found in zip(sides, both, strict=True):
            side.update(label for _, _, label in found)
        hits.update(label for _, _, label in {*both[0]} & {*both[1]})
    gold, predicted = sides
    return {
        label: Counts(hits[label], predicted[label], gold[label])
        for label in sorted({*gold, *predicted})
    }


def _sentences(pairs: Iterable[Pair | None]) -> Iterator[tuple[Sequence[str], ...]]:
    """Yield the gold and the predicted tags of each sentence."""
    for within, words in groupby(pairs, key=bool):
        if within:
            yield tuple(zip(*filter(None, words), strict=True))
