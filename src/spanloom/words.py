"""Words and sentences of raw text, as character bounds. spaCy is imported only where needed.

Words are never split at annotation boundaries: what an annotator marked is unknown at test time.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import regex

from spanloom.document import SENTENCES, WORDS, Document
from spanloom.errors import NameNotFound

Bounds = tuple[int, int]

# Letters with their combining marks, numbers, or one user-perceived character of anything else; a
# sign put before a number stands alone, as it may be put before a blank. Blank is what str.isspace
# says, so U+001C to U+001F are.
_FINE = regex.compile(
    r"[\p{L}\p{M}]+|\p{N}+|\p{Grapheme_Cluster_Break=Prepend}|(?![\s\x1C-\x1F])\X"
)
_RUN = regex.compile(r"[^\s\x1C-\x1F]+")
_LINE = regex.compile(r"[^\n\r]+")
_BLANK_LINES = regex.compile(r"\n\s*\n")
# spaCy's tokenizer takes quadratic time on text without blanks, so longer runs are split finely.
_LONGEST_RUN = 1000
_LONG_RUN = regex.compile(rf"\S{{{_LONGEST_RUN},}}")


@dataclass(frozen=True, slots=True)
class Words:
    """Word bounds in characters, and sentences as ``[first word, one past the last)``."""

    words: tuple[Bounds, ...]
    sentences: tuple[Bounds, ...]


def fine_words(text: str) -> list[Bounds]:
    """Split at blanks and wherever letters, numbers and other characters meet (``50ml``: two)."""
    return [match.span() for match in _FINE.finditer(text)]


def blank_words(text: str) -> list[Bounds]:
    """Split at blanks alone, as texts that were made from words want it."""
    return [match.span() for match in _RUN.finditer(text)]


def spacy_words(text: str) -> list[Bounds]:
    """Split with spaCy's English tokenizer; runs of over 1,000 characters are split finely."""
    found: list[Bounds] = []
    done = 0
    for run in _LONG_RUN.finditer(text):
        found += _spacy_piece(text, done, run.start())
        found += [(run.start() + a, run.start() + b) for a, b in fine_words(run.group())]
        done = run.end()
    return found + _spacy_piece(text, done, len(text))


def line_sentences(text: str) -> list[Bounds]:
    """Every line is a sentence."""
    return [match.span() for match in _LINE.finditer(text)]


def rule_sentences(text: str) -> list[Bounds]:
    """Sentences end at closing punctuation (spaCy's sentencizer) and at blank lines."""
    found: list[Bounds] = []
    start = 0
    for end in [*(blank.end() for blank in _BLANK_LINES.finditer(text)), len(text)]:
        found += [(start + a, start + b) for a, b in _ruled(text[start:end])]
        start = end
    return found


SPLITTERS: dict[str, Callable[[str], list[Bounds]]] = {
    "fine": fine_words,
    "spacy": spacy_words,
    "blank": blank_words,
}
SENTENCE_SPLITTERS: dict[str, Callable[[str], list[Bounds]]] = {
    "line": line_sentences,
    "rule": rule_sentences,
}


@dataclass(frozen=True, slots=True)
class Splitter:
    """Split raw text as a recipe says; both choices are functions handed in."""

    words: Callable[[str], list[Bounds]]
    sentences: Callable[[str], list[Bounds]]

    def __call__(self, text: str) -> Words:
        """Return the words of ``text`` and its sentences; a sentence without words is none."""
        words = self.words(text)
        return Words(tuple(words), tuple(_group(words, self.sentences(text))))


def given(document: Document) -> Words | None:
    """Return the words and sentences that a document's own layers say; None without words.

    They come in text order; a word of several fragments goes from its first character to its last.
    Without a layer of sentences each line is one. Words of no width, and those that overlap an
    earlier one, are left out: no model could tell them apart.
    """
    if not document.has(WORDS):
        return None
    words: list[Bounds] = []
    for start, end in sorted((span.start, span.end) for span in document[WORDS].spans):
        if start < end and (not words or start >= words[-1][1]):
            words.append((start, end))
    lines = line_sentences(document.text)
    if document.has(SENTENCES):
        lines = sorted((span.start, span.end) for span in document[SENTENCES].spans)
    return Words(tuple(words), tuple(_group(words, lines)))


def words_of(document: Document, split: Callable[[str], Words]) -> Words:
    """Return the words that a document gives, else those that ``split`` finds in its text."""
    return given(document) or split(document.text)


def splitter(words: str, sentences: str) -> Splitter:
    """Look the two choices up by name; raises ``NameNotFound``."""
    if words not in SPLITTERS:
        raise NameNotFound("word splitter", words, SPLITTERS)
    if sentences not in SENTENCE_SPLITTERS:
        raise NameNotFound("sentence splitter", sentences, SENTENCE_SPLITTERS)
    return Splitter(SPLITTERS[words], SENTENCE_SPLITTERS[sentences])


def _group(words: Sequence[Bounds], sentences: Sequence[Bounds]) -> list[Bounds]:
    """Give each word to the last sentence that starts at or before it."""
    starts = [start for start, _ in words]
    cuts = [0, *(bisect_left(starts, start) for start, _ in sentences[1:]), len(words)]
    return [(a, b) for a, b in zip(cuts, cuts[1:], strict=False) if a < b]


def _spacy_piece(text: str, start: int, end: int) -> list[Bounds]:
    if start == end:
        return []
    doc = _pipeline().tokenizer(text[start:end])
    return [
        (start + token.idx, start + token.idx + len(token)) for token in doc if not token.is_space
    ]


def _ruled(text: str) -> list[Bounds]:
    """Sentences by spaCy's sentencizer; words are handed to it where its tokenizer would stall."""
    from spacy.tokens import Doc

    pipeline = _pipeline()
    if _LONG_RUN.search(text) is None:
        return [(each.start_char, each.end_char) for each in pipeline(text).sents]
    words = spacy_words(text)
    doc = Doc(pipeline.vocab, [text[a:b] for a, b in words])
    pipeline.get_pipe("sentencizer")(doc)
    return [(words[each.start][0], words[each.end - 1][1]) for each in doc.sents]


@cache
def _pipeline() -> Any:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 2**31
    return pipeline
