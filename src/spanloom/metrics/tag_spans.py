"""Count spans of tags as Changpinyo et al. 2018 do for all their tasks (section 3.2).

Any tag but O belongs to a span; their program reads spans from whatever tags a model predicts:

    tag        it is read as
    O          outside any span, as is a tag that begins with O-
    I-X E-X    a further word of the span just before, if that is an X; else the first of one
    B-X, V-X   with these or any other letter: the first word of a span
    VERB       without a letter and a hyphen: a span of one word, labelled VERB

So the F1 of parts of speech, and of all tags that each word has, is the accuracy, and bare B and I
are two labels.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from spanloom.annotation.tag_schemes import OUTSIDE, Tagged
from spanloom.metrics.chunks import Pair
from spanloom.metrics.counts import Counts

_CONTINUING = frozenset("IE")


def spans(tags: Sequence[str]) -> list[Tagged]:
    """Return the spans of a sentence, ascending: bounds ``[start, end)`` in words, and label."""
    spans: list[Tagged] = []
    current = ""  # the label that a continuing tag would extend
    for word, tag in enumerate(tags):
        if tag == OUTSIDE:
            current = ""
            continue
        letter, label = (tag[0], tag[2:]) if tag[1:2] == "-" and tag[2:] else ("", tag)
        if letter in _CONTINUING and label == current:
            spans[-1] = (spans[-1][0], word + 1, label)
        elif letter != OUTSIDE:
            spans.append((word, word + 1, label))
        current = label if letter not in {"", OUTSIDE} else ""
    return spans


def count_tag_spans(pairs: Iterable[Pair | None]) -> dict[str, Counts]:
    """Count spans by label, sorted; None is the end of a sentence, where every span ends."""
    hits: Counter[str] = Counter()
    sides: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for columns in _sentences(pairs):
        side_spans = [spans(tags) for tags in columns]
        for counts, sentence_spans in zip(sides, side_spans, strict=True):
            counts.update(label for _, _, label in sentence_spans)
        hits.update(label for _, _, label in {*side_spans[0]} & {*side_spans[1]})
    gold, predicted = sides
    return {
        label: Counts(hits[label], predicted[label], gold[label])
        for label in sorted({*gold, *predicted})
    }


def _sentences(pairs: Iterable[Pair | None]) -> Iterator[tuple[Sequence[str], ...]]:
    """Yield the gold and the predicted tags of each sentence."""
    for is_sentence, words in groupby(pairs, key=bool):
        if is_sentence:
            yield tuple(zip(*filter(None, words), strict=True))
