"""Trees as the layers ``constituency`` and ``xpos`` of a document, and back (``forms.trees``)."""

import re
from collections.abc import Iterable, Iterator, Sequence

from spanloom.errors import DocumentError
from spanloom.formats._laid import Laid
from spanloom.formats._making import Making
from spanloom.formats._word_labels import XPOS, labels
from spanloom.forms.trees import EMPTY, TOP, Bracket, Tree, flat, parse, tree

LAYER = "constituency"

_LABEL = re.compile(r"[^\s()]+", re.ASCII)
_TAG = re.compile(r"[^\s()]+", re.ASCII)
_WRONG = re.compile(r"[\s()]", re.ASCII)
_SPELT = {"(": "-LRB-", ")": "-RRB-"}


def annotate(making: Making, first: int, brackets: Iterable[Bracket]) -> None:
    """Add the spans of a tree whose words begin with ``first``, in the order that ``tree`` asks."""
    for start, end, label in brackets:
        making.over(LAYER, label, first + start, first + end)


def trees(laid: Laid) -> Iterator[Tree]:
    """Yield the tree of each sentence; what has no place in one is left out.

    That are spans that are no whole words of a sentence or cross an earlier one, and labels that
    no bracket can have. Several trees side by side get the root TOP, words without a tag the tag
    ``_``, and words that hold brackets or blanks are spelt without (``-LRB-``).
    """
    tags = labels(laid, XPOS, lambda each: each != EMPTY and _TAG.fullmatch(each))
    bounds = laid.words.sentences
    for (first, end), tagged, spans in zip(bounds, tags, _by_sentence(laid), strict=True):
        words = tuple(_spelt(form) for form in laid.forms[first:end])
        brackets = _nested(spans)
        if _several(len(words), brackets):
            brackets.insert(0, Bracket(0, len(words), TOP))
        yield _made(words, tagged, brackets)


def _by_sentence(laid: Laid) -> list[list[Bracket]]:
    """Return what a layer says of each sentence, in its order, spans of no words among others."""
    found: list[list[Bracket]] = [[] for _ in laid.words.sentences]
    numbers = [n for n, (first, end) in enumerate(laid.words.sentences) for _ in range(first, end)]
    rows = {start: row for row, (start, _) in enumerate(laid.words.words)}
    number = 0
    for span in laid.document[LAYER].spans if laid.document.has(LAYER) else ():
        bounds = laid.covered(span)
        if bounds is not None:
            number = numbers[bounds[0]]
            first = laid.words.sentences[number][0]
            found[number].append(Bracket(bounds[0] - first, bounds[1] - first, span.label))
        elif found and len(span.fragments) == 1 and span.start == span.end:
            first, end = laid.words.sentences[number]
            after = span.start == laid.words.words[end - 1][1]
            place = (end if after else rows.get(span.start, -1)) - first
            if 0 <= place <= end - first:
                found[number].append(Bracket(place, place, span.label))
    return found


def _nested(brackets: Sequence[Bracket]) -> list[Bracket]:
    """Return those that make a tree, in their order."""
    order = sorted(range(len(brackets)), key=lambda at: (brackets[at].start, -brackets[at].end))
    kept: set[int] = set()
    ends: list[int] = []
    for at in order:
        start, end, label = brackets[at]
        if start == end or not _LABEL.fullmatch(label):
            continue
        while ends and ends[-1] <= start:
            ends.pop()
        if not ends or end <= ends[-1]:
            ends.append(end)
            kept.add(at)
    found: list[Bracket] = []
    last: Bracket | None = None  # the span of words that those of none hang from
    for at, each in enumerate(brackets):
        if at in kept:
            last = each
        elif each.start < each.end or not last or not last.start <= each.start <= last.end:
            continue
        elif not _is_empty(each.label):
            continue
        found.append(each)
    return found


def _several(words: int, brackets: Sequence[Bracket]) -> bool:
    """Whether these spans need another one over all of them."""
    return words > 1 and all(end - start < words for start, end, _ in brackets)


def _is_empty(label: str) -> bool:
    """Whether a label is a tree without words, in brackets."""
    try:
        return not flat(parse(label)).words
    except DocumentError:
        return False


def _made(words: Sequence[str], tags: Sequence[str], brackets: Sequence[Bracket]) -> Tree:
    """Return the tree; spans of no words are left out unless they stand in it where they should."""
    made = tree(words, tags, brackets)
    full = [each for each in brackets if each.start < each.end]
    if len(full) < len(brackets) and sorted(flat(made).brackets) != sorted(brackets):
        return tree(words, tags, full)
    return made


def _spelt(word: str) -> str:
    """Return a word as brackets can hold it."""
    return _WRONG.sub(lambda match: _SPELT.get(match[0], "_"), word)
