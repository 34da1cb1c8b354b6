"""Convert trees (``annotation.trees``) to the layers ``constituency`` and ``xpos`` and back."""

import re
from collections.abc import Iterable, Iterator, Sequence

from spanloom.annotation.trees import EMPTY, TOP, Bracket, Tree, build_tree, flatten, parse
from spanloom.errors import DocumentError
from spanloom.formats._document_builder import DocumentBuilder
from spanloom.formats._word_view import XPOS, WordView, labels

LAYER = "constituency"

_LABEL = re.compile(r"[^\s()]+", re.ASCII)
_TAG = re.compile(r"[^\s()]+", re.ASCII)
_WRONG = re.compile(r"[\s()]", re.ASCII)
_ESCAPES = {"(": "-LRB-", ")": "-RRB-"}


def annotate(builder: DocumentBuilder, first: int, brackets: Iterable[Bracket]) -> None:
    """Add the spans of a tree whose first word is ``first``, in the order of ``build_tree``."""
    for start, end, label in brackets:
        builder.add_word_span(LAYER, label, first + start, first + end)


def trees(view: WordView) -> Iterator[Tree]:
    """Yield the tree of each sentence, leaving out what has no place in one.

    These are spans that are not whole words of a sentence or that cross an earlier one, and labels
    that cannot stand in brackets. Several trees in a sentence get the root TOP, words without a tag
    get the tag ``_``, and brackets and blanks in words are replaced (``-LRB-``).
    """
    tags = labels(view, XPOS, lambda tag: tag != EMPTY and _TAG.fullmatch(tag))
    bounds = view.words.sentences
    for (first, end), sentence_tags, spans in zip(
        bounds, tags, _brackets_by_sentence(view), strict=True
    ):
        words = tuple(_escape_brackets(form) for form in view.tokens[first:end])
        brackets = _select_nested(spans)
        if _needs_root(len(words), brackets):
            brackets.insert(0, Bracket(0, len(words), TOP))
        yield _build_tree(words, sentence_tags, brackets)


def _brackets_by_sentence(view: WordView) -> list[list[Bracket]]:
    """Return the layer's brackets per sentence, in its order, including those of no words."""
    brackets_by_sentence: list[list[Bracket]] = [[] for _ in view.words.sentences]
    sentence_of_row = [
        number
        for number, (first, end) in enumerate(view.words.sentences)
        for _ in range(first, end)
    ]
    rows = {start: row for row, (start, _) in enumerate(view.words.words)}
    number = 0
    for span in view.document.layer_or_empty(LAYER).spans:
        bounds = view.exact_words(span)
        if bounds is not None:
            number = sentence_of_row[bounds[0]]
            first = view.words.sentences[number][0]
            brackets_by_sentence[number].append(
                Bracket(bounds[0] - first, bounds[1] - first, span.label)
            )
        elif brackets_by_sentence and len(span.fragments) == 1 and span.start == span.end:
            first, end = view.words.sentences[number]
            is_at_end = span.start == view.words.words[end - 1][1]
            position = (end if is_at_end else rows.get(span.start, -1)) - first
            if 0 <= position <= end - first:
                brackets_by_sentence[number].append(Bracket(position, position, span.label))
    return brackets_by_sentence


def _select_nested(brackets: Sequence[Bracket]) -> list[Bracket]:
    """Return the brackets that form a tree, in their order."""
    order = sorted(
        range(len(brackets)), key=lambda index: (brackets[index].start, -brackets[index].end)
    )
    nested_indices: set[int] = set()
    ends: list[int] = []
    for index in order:
        start, end, label = brackets[index]
        if start == end or not _LABEL.fullmatch(label):
            continue
        while ends and ends[-1] <= start:
            ends.pop()
        if not ends or end <= ends[-1]:
            ends.append(end)
            nested_indices.add(index)
    nested: list[Bracket] = []
    last_constituent: Bracket | None = None  # the constituent that empty ones attach to
    for index, bracket in enumerate(brackets):
        if index in nested_indices:
            last_constituent = bracket
        elif (
            bracket.start < bracket.end
            or not last_constituent
            or not last_constituent.start <= bracket.start <= last_constituent.end
        ):
            continue
        elif not _is_empty_tree(bracket.label):
            continue
        nested.append(bracket)
    return nested


def _needs_root(num_words: int, brackets: Sequence[Bracket]) -> bool:
    """Whether no bracket covers the whole sentence."""
    return num_words > 1 and all(end - start < num_words for start, end, _ in brackets)


def _is_empty_tree(label: str) -> bool:
    """Whether a label is a bracketed tree without words."""
    try:
        return not flatten(parse(label)).words
    except DocumentError:
        return False


def _build_tree(words: Sequence[str], tags: Sequence[str], brackets: Sequence[Bracket]) -> Tree:
    """Return the tree; empty constituents are left out unless they all keep their positions."""
    tree = build_tree(words, tags, brackets)
    nonempty = [bracket for bracket in brackets if bracket.start < bracket.end]
    if len(nonempty) < len(brackets) and sorted(flatten(tree).brackets) != sorted(brackets):
        return build_tree(words, tags, nonempty)
    return tree


def _escape_brackets(word: str) -> str:
    """Return a word without brackets and blanks."""
    return _WRONG.sub(lambda match: _ESCAPES.get(match[0], "_"), word)
