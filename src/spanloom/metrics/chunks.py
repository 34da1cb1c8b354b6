"""Count chunks in two columns of tags, as conlleval does and as Changpinyo et al. (2018) do.

conlleval (Tjong Kim Sang and Buchholz, 2000): a tag is a letter, a hyphen and a type, which may
contain hyphens. Chunks are implicit: a chunk starts and ends between two tags, by rules for the
letters of several schemes:

    before  after   between them, for tags of one type
    B I     B       one chunk ends, the next starts
    E       E I     likewise
    O       B I E   a chunk starts
    B I E   O       a chunk ends
    [ ]     any     a chunk ends: brackets are chunks of one word, and each starts one

A change of type ends the previous chunk (unless O or .) and starts the next (unless O or .). A
chunk is right if it starts and ends in both columns at once and its types agree word by word.

Changpinyo et al. (2018, section 3.2): any tag but O belongs to a span, and their program reads
spans from whatever tags a model predicts:

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
from itertools import groupby, pairwise
from typing import NamedTuple

from spanloom.annotation.tag_schemes import OUTSIDE, Tagged
from spanloom.metrics.counts import Counts, counts_by_label

Pair = tuple[str, str]
"""The gold tag of a word and its predicted one."""

_BREAK = ("O", "O")
_PARTS = frozenset({("B", "B"), ("I", "B"), ("E", "E"), ("E", "I")})
_STARTS = _PARTS | {("O", "B"), ("O", "I"), ("O", "E")}
_ENDS = _PARTS | {("B", "O"), ("I", "O"), ("E", "O")}
_BRACKETS = frozenset("[]")
_NEUTRAL = frozenset("O.")


class _Step(NamedTuple):
    """What happens between two words: the types of starting chunks, and how a right chunk ends.

    ``ended`` is its type if it ends in both columns; ``fails`` is whether it ends in only one, or
    the types differ from here on.
    """

    gold: str | None
    predicted: str | None
    ended: str | None
    fails: bool


_NO_CHANGE = _Step(None, None, None, False)


class _Steps(dict[tuple[Pair, Pair], _Step | None]):
    """Cache of steps, as a text has few distinct ones; None where nothing happens."""

    def __missing__(self, key: tuple[Pair, Pair]) -> _Step | None:
        step = _step(*key)
        self[key] = None if step == _NO_CHANGE else step
        return self[key]


def count_chunks(pairs: Iterable[Pair | None]) -> dict[str, Counts]:
    """Count chunks by type, sorted; None is the end of a sentence, where every chunk ends."""
    padded = [_BREAK, *(pair or _BREAK for pair in pairs)]
    steps = [step for step in map(_Steps().__getitem__, pairwise(padded)) if step]
    gold = Counter(step.gold for step in steps if step.gold is not None)
    predicted = Counter(step.predicted for step in steps if step.predicted is not None)
    hits = _hits(steps, split(padded[-1][0])[1])
    return counts_by_label(hits, predicted, gold)


def count_right(pairs: Iterable[Pair | None]) -> Counts:
    """Count words with equal letters and types; gold and predicted are the number of words."""
    words = Counter(pair for pair in pairs if pair)
    num_right = sum(
        number for (gold, predicted), number in words.items() if split(gold) == split(predicted)
    )
    return Counts(num_right, words.total(), words.total())


def split(tag: str) -> tuple[str, str]:
    """Return letter and type of a tag; the types "" and "0" are none, as they are false in Perl."""
    letter, hyphen, label = tag.partition("-")
    return letter, label if hyphen and label != "0" else ""


def _hits(steps: Iterable[_Step], last_type: str) -> Counter[str]:
    """Count right chunks by type; a chunk open at the end of the text has type ``last_type``."""
    hits: Counter[str] = Counter()
    is_open = False
    for step in steps:
        if is_open and step.ended is not None:
            hits[step.ended] += 1
        if step.ended is not None or step.fails:
            is_open = False
        if step.gold is not None and step.gold == step.predicted:
            is_open = True
    hits[last_type] += is_open
    return hits


def _step(pair: Pair, next_pair: Pair) -> _Step:
    """Return what happens between two words, each with its gold and predicted tag."""
    (gold, predicted), (next_gold, next_predicted) = map(split, pair), map(split, next_pair)
    ends = _ends(gold, next_gold), _ends(predicted, next_predicted)
    return _Step(
        next_gold[1] if _starts(gold, next_gold) else None,
        next_predicted[1] if _starts(predicted, next_predicted) else None,
        gold[1] if all(ends) else None,
        ends[0] != ends[1] or next_gold[1] != next_predicted[1],
    )


def _starts(tag: tuple[str, str], next_tag: tuple[str, str]) -> bool:
    """Return whether a chunk starts with the second tag."""
    (letter, label), (next_letter, next_label) = tag, next_tag
    changed = next_letter not in _NEUTRAL and label != next_label
    return (letter, next_letter) in _STARTS or changed or next_letter in _BRACKETS


def _ends(tag: tuple[str, str], next_tag: tuple[str, str]) -> bool:
    """Return whether a chunk ends with the first tag."""
    (letter, label), (next_letter, next_label) = tag, next_tag
    changed = letter not in _NEUTRAL and label != next_label
    return (letter, next_letter) in _ENDS or changed or letter in _BRACKETS


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
    return counts_by_label(hits, predicted, gold)


def _sentences(pairs: Iterable[Pair | None]) -> Iterator[tuple[Sequence[str], ...]]:
    """Yield the gold and the predicted tags of each sentence."""
    for is_sentence, words in groupby(pairs, key=bool):
        if is_sentence:
            yield tuple(zip(*filter(None, words), strict=True))
