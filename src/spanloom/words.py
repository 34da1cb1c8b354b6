"""Words and sentences of raw text, as character bounds. spaCy is imported only where needed.

Words are never split at annotation boundaries: what an annotator marked is unknown at test time.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
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
_HALF = regex.compile("[\\ud800-\\udfff]")
_RUN = regex.compile(r"[^\s\x1C-\x1F]+")
_LINE = regex.compile(r"[^\n\r]+")
_BLANK_LINES = regex.compile(r"\n\s*\n")
# What spaCy splits and treebanks do not; quotes and brackets stand alone in both.
_WHOLE = regex.compile(
    r"[!?.]{2,}|([^\w\s'\"()\[\]]|_)\1+|(?<![\w-])\d++(?:-\d++){2,}+(?![\w-])"
    r"|(?i:(?<![\w-])e-\p{L}+)"
)
_DOUBTFUL = regex.compile(r"\.{2,}|…+|[:;=]-?[)(DP]+")
_BEHIND = regex.compile(r"[.!?…)\]}\"'’”»*]+")
_STARTS = regex.compile(r"\p{Lu}|[(\"“\[<*]")
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
    return list(_spacy_words(text))


@lru_cache(maxsize=1)  # words and sentences of a text are asked for one after the other
def _spacy_words(text: str) -> tuple[Bounds, ...]:
    found: list[Bounds] = []
    done = 0
    for run in _LONG_RUN.finditer(text):
        found += _spacy_piece(text, done, run.start())
        found += [(run.start() + a, run.start() + b) for a, b in fine_words(run.group())]
        done = run.end()
    return (*found, *_spacy_piece(text, done, len(text)))


def treebank_words(text: str) -> list[Bounds]:
    """Split as treebanks of Universal Dependencies do: spaCy's words, but some of them as one.

    These are runs of one sign (``====``), of closing signs (``?!``), numbers of telephones, and
    ``e-mail``.
    """
    words, found, done = spacy_words(text), [], 0
    starts = [start for start, _ in words]
    for whole in _WHOLE.finditer(text):
        first = bisect_left(starts, whole.start(), lo=done)
        last = bisect_left(starts, whole.end(), lo=first)
        exact = first < last and (words[first][0], words[last - 1][1]) == whole.span()
        if exact:
            found += [*words[done:first], whole.span()]
            done = last
    return found + words[done:]


def line_sentences(text: str) -> list[Bounds]:
    """Every line is a sentence."""
    return [match.span() for match in _LINE.finditer(text)]


def rule_sentences(text: str) -> list[Bounds]:
    """Sentences end at closing signs that are words by themselves, and at blank lines.

    Brackets and quotes that close right behind belong to the sentence. After dots (``...``) and
    smileys a sentence goes on, unless a capital, a quote or a bracket follows.
    """
    words = treebank_words(text)
    starts = [start for start, _ in words]
    breaks = {bisect_left(starts, blank.end()) for blank in _BLANK_LINES.finditer(text)}
    breaks.add(len(words))
    found, first, row = [], 0, 0
    while row < len(words):
        row, over = _closed(text, words, row)
        if over or row in breaks:
            found.append((words[first][0], words[row - 1][1]))
            first = row
    return found


def _closed(text: str, words: Sequence[Bounds], row: int) -> tuple[int, bool]:
    """Return the row behind a word and what closes with it, and whether they end a sentence."""
    start, end = words[row]
    row += 1
    closing = text[start] in _closing()
    if not closing and text[start] not in ":;=…":
        return row, False
    doubtful = _DOUBTFUL.fullmatch(text, start, end)
    if not doubtful and not (closing and _closing().issuperset(text[start:end])):
        return row, False
    while row < len(words) and words[row][0] == words[row - 1][1]:
        if not _BEHIND.fullmatch(text, *words[row]):
            break
        row += 1
    goes_on = row < len(words) and not _STARTS.match(text, words[row][0])
    return row, not (doubtful and goes_on)


SPLITTERS: dict[str, Callable[[str], list[Bounds]]] = {
    "fine": fine_words,
    "spacy": spacy_words,
    "treebank": treebank_words,
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
    doc = _tokenizer()(_HALF.sub("?", text[start:end]))  # half a character has no UTF-8
    return [
        (start + token.idx, start + token.idx + len(token)) for token in doc if not token.is_space
    ]


@cache
def _closing() -> frozenset[str]:
    """The signs that end sentences in any script, as spaCy lists them."""
    from spacy.pipeline import Sentencizer

    return frozenset(Sentencizer.default_punct_chars)


@cache
def _tokenizer() -> Any:
    import spacy

    return spacy.blank("en").tokenizer
