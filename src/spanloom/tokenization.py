"""Split raw text into words and sentences, as character bounds.

Words are never split at annotation boundaries: what an annotator marked is unknown at test time.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from typing import overload

import numpy as np
import regex
from jaxtyping import Int

from spanloom.columns import Columns
from spanloom.config.registry import Registry
from spanloom.document import SENTENCES, WORDS, Document
from spanloom.english_words import english_words, sentence_enders

Bounds = tuple[int, int]
Splitter = Callable[[str], Sequence[Bounds]]  # a text to the bounds of its words or sentences

# Letters with their combining marks, numbers, or one user-perceived character of anything else; a
# prepended sign (as U+0600, Arabic number sign) is a word by itself, as it may precede a blank
# too. Scripts that are written without blanks have a word per letter, so that any span is in reach.
# Blanks are what str.isspace accepts, including U+001C to U+001F.
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}--\p{N}]"
_CHAR_CLASS_RUN = regex.compile(
    rf"[[\p{{L}}\p{{M}}]--{_UNSPACED}]+|{_UNSPACED}\p{{M}}*"
    r"|\p{N}+|\p{Grapheme_Cluster_Break=Prepend}|(?![\s\x1C-\x1F])\X",
    flags=regex.V1,
)
# Classes of characters below U+3000. Where they alone decide what is a word, all words are found at
# once; a mark after a symbol, and _OTHER (joiners, scripts without blanks), need the
# expression above.
_BLANK, _LETTER, _NUMBER, _SYMBOL, _MARK, _OTHER = range(6)
_CLASSES = {
    _SYMBOL: r"[\p{Grapheme_Cluster_Break=Other}\p{Grapheme_Cluster_Break=Control}]",
    _MARK: r"\p{M}",
    _LETTER: r"\p{L}",
    _OTHER: _UNSPACED,
    _NUMBER: r"\p{N}",
    _BLANK: r"[\s\x1C-\x1F]",
}  # a later one prevails
_NUM_CLASSIFIED = 0x3000
_UNSPACED_LETTER = regex.compile(_UNSPACED, flags=regex.V1)
_NON_BLANK_RUN = regex.compile(r"[^\s\x1C-\x1F]+")
_LINE = regex.compile(r"[^\n\r]+")
_BLANK_LINES = regex.compile(r"\n\s*\n")
# What spaCy splits and treebanks do not; quotes and brackets are separate words in both.
_UNSPLIT = regex.compile(
    r"[!?.]{2,}|([^\w\s'\"()\[\]]|_)\1+|(?<![\w-])\d++(?:-\d++){2,}+(?![\w-])"
    r"|(?i:(?<![\w-])e-\p{L}+)"
)
_ELLIPSIS_OR_SMILEY = regex.compile(r"\.{2,}|…+|[:;=]-?[)(DP]+")
_TRAILING = regex.compile(r"[.!?…)\]}\"'’”»*]+")
_SENTENCE_START = regex.compile(r"\p{Lu}|[(\"“\[<*]")
# spaCy's rules take quadratic time on text without blanks, so longer runs are split finely.
_MAX_RUN = 1000
_LONG_RUN = regex.compile(rf"\S{{{_MAX_RUN},}}")


@dataclass(frozen=True, slots=True, eq=False)
class WordBounds(Columns[Bounds]):
    """Character bounds of words, 8 bytes per word; a slice is one, too, and shares the memory."""

    array: Int[np.ndarray, "word 2"]

    @classmethod
    def of(cls, words: Sequence[Bounds]) -> "WordBounds":
        """Return the bounds as columns."""
        return cls(bounds_array(words))

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.array)

    @overload
    def __getitem__(self, index: int) -> Bounds: ...
    @overload
    def __getitem__(self, index: slice) -> "WordBounds": ...
    def __getitem__(self, index: int | slice) -> "Bounds | WordBounds":
        """Return the bounds of a word, or of some words."""
        if isinstance(index, slice):
            return WordBounds(self.array[index])
        start, end = self.array[index].tolist()
        return start, end

    def items(self, start: int, end: int) -> Iterator[Bounds]:
        """Yield the bounds of the words ``[start, end)``."""
        part = self.array[start:end]
        return zip(part[:, 0].tolist(), part[:, 1].tolist(), strict=True)


def bounds_array(words: Sequence[Bounds]) -> Int[np.ndarray, "word 2"]:
    """Return the bounds of words as an array."""
    if isinstance(words, WordBounds):
        return words.array
    flat = chain.from_iterable(words)
    return np.fromiter(flat, np.int32, 2 * len(words)).reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class Tokenization:
    """Word bounds in characters, and sentences as ``[first word, end word)``."""

    words: Sequence[Bounds]
    sentences: tuple[Bounds, ...]


def fine_words(text: str) -> WordBounds:
    """Split at blanks and where letters, numbers and other characters meet (``50ml``: two).

    Chinese, Japanese, Thai, Lao, Khmer and Burmese have no blanks between words: each letter with
    its marks is a word there.
    """
    words = _simple_words(text)
    if words is None:
        words = WordBounds.of([match.span() for match in _CHAR_CLASS_RUN.finditer(text)])
    return words


def _simple_words(text: str) -> WordBounds | None:
    """Return ``fine_words`` where the classes of characters decide; None where they do not."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    if len(codes) and codes.max() >= _NUM_CLASSIFIED:
        return None
    classes = _char_classes()[codes]
    is_mark = classes == _MARK
    if (classes == _OTHER).any() or (is_mark[1:] & (classes[:-1] == _SYMBOL)).any():
        return None
    classes[is_mark] = _LETTER
    edges = (classes[1:] != classes[:-1]) | (classes[1:] == _SYMBOL)
    starts = np.flatnonzero(np.concatenate([[True], edges]) & (classes != _BLANK))
    ends = np.flatnonzero(np.concatenate([edges, [True]]) & (classes != _BLANK)) + 1
    return WordBounds(np.stack([starts, ends], axis=1).astype(np.int32))


@cache
def _char_classes() -> Int[np.ndarray, " character"]:
    """Return the class of each character below ``_NUM_CLASSIFIED``."""
    characters = "".join(map(chr, range(_NUM_CLASSIFIED)))
    classes = np.full(_NUM_CLASSIFIED, _OTHER, np.uint8)
    for number, pattern in _CLASSES.items():
        for match in regex.finditer(f"{pattern}+", characters, flags=regex.V1):
            classes[slice(*match.span())] = number
    return classes


def blank_words(text: str) -> list[Bounds]:
    """Split at blanks alone, for texts that were joined from words."""
    return [match.span() for match in _NON_BLANK_RUN.finditer(text)]


def spacy_words(text: str) -> list[Bounds]:
    """Split by the rules of spaCy's English tokenizer.

    Runs of 1,000 or more characters, and words in scripts without blanks, are split finely.
    """
    return list(_spacy_words(text))


@lru_cache(maxsize=1)  # the sentence splitter asks for the same words again
def _spacy_words(text: str) -> WordBounds:
    """Return ``spacy_words`` as columns, cached for the last text."""
    words: list[Bounds] = []
    position = 0
    for run in _LONG_RUN.finditer(text):
        words += _english_bounds(text, position, run.start())
        words += [
            (run.start() + start, run.start() + end) for start, end in fine_words(run.group())
        ]
        position = run.end()
    words += _english_bounds(text, position, len(text))
    if _UNSPACED_LETTER.search(text):
        words = [part for word in words for part in _split_unspaced(text, *word)]
    return WordBounds.of(words)


def _split_unspaced(text: str, start: int, end: int) -> list[Bounds]:
    """Return the letters of a word in a script without blanks, any other word as it is."""
    if not _UNSPACED_LETTER.search(text, start, end):
        return [(start, end)]
    return [match.span() for match in _CHAR_CLASS_RUN.finditer(text, start, end)]


def treebank_words(text: str) -> list[Bounds]:
    """Split as Universal Dependencies treebanks do: spaCy's words, some of them merged.

    Merged are runs of one character (``====``), of closing punctuation (``?!``), telephone numbers,
    and words like ``e-mail``.
    """
    words, merged, next_word = spacy_words(text), [], 0
    starts = [start for start, _ in words]
    for match in _UNSPLIT.finditer(text):
        first = bisect_left(starts, match.start(), lo=next_word)
        end = bisect_left(starts, match.end(), lo=first)
        is_aligned = first < end and (words[first][0], words[end - 1][1]) == match.span()
        if is_aligned:
            merged += [*words[next_word:first], match.span()]
            next_word = end
    return merged + words[next_word:]


def line_sentences(text: str) -> list[Bounds]:
    """Split at line breaks: every line is a sentence."""
    return [match.span() for match in _LINE.finditer(text)]


def rule_sentences(text: str) -> list[Bounds]:
    """End sentences at closing punctuation that is a word by itself, and at blank lines.

    Brackets and quotes that close directly after it belong to the sentence. After dots (``...``)
    and smileys a sentence continues, unless a capital, a quote or a bracket follows.
    """
    words = treebank_words(text)
    starts = [start for start, _ in words]
    breaks = {bisect_left(starts, blank.end()) for blank in _BLANK_LINES.finditer(text)}
    breaks.add(len(words))
    sentences, first, index = [], 0, 0
    while index < len(words):
        index, ends_sentence = _scan_word(text, words, index)
        if ends_sentence or index in breaks:
            sentences.append((words[first][0], words[index - 1][1]))
            first = index
    return sentences


def _scan_word(text: str, words: Sequence[Bounds], index: int) -> tuple[int, bool]:
    """Return the index after a word and its closing quotes, and whether a sentence ends there."""
    start, end = words[index]
    index += 1
    is_closing = text[start] in sentence_enders()
    if not is_closing and text[start] not in ":;=…":
        return index, False
    is_doubtful = _ELLIPSIS_OR_SMILEY.fullmatch(text, start, end)
    if not is_doubtful and not (is_closing and sentence_enders().issuperset(text[start:end])):
        return index, False
    while index < len(words) and words[index][0] == words[index - 1][1]:
        if not _TRAILING.fullmatch(text, *words[index]):
            break
        index += 1
    continues = index < len(words) and not _SENTENCE_START.match(text, words[index][0])
    return index, not (is_doubtful and continues)


TOKENIZERS: dict[str, Splitter] = {
    "char-class": fine_words,
    "spacy": spacy_words,
    "treebank": treebank_words,
    "whitespace": blank_words,
}
SENTENCE_SPLITTERS: dict[str, Splitter] = {
    "newline": line_sentences,
    "punctuation": rule_sentences,
}
_TOKENIZERS: Registry[Splitter] = Registry(
    "tokenizers", "word splitter", Callable, lambda: TOKENIZERS, TOKENIZERS.__getitem__
)
_SENTENCE_SPLITTERS: Registry[Splitter] = Registry(
    "sentence_splitters",
    "sentence splitter",
    Callable,
    lambda: SENTENCE_SPLITTERS,
    SENTENCE_SPLITTERS.__getitem__,
)


Split = Callable[[str], Tokenization]  # of a text into words and sentences


@dataclass(frozen=True, slots=True)
class WordTokenizer:
    """Tokenize raw text with a word splitter and a sentence splitter."""

    words: Splitter
    sentences: Splitter

    def __call__(self, text: str) -> Tokenization:
        """Return the words and sentences of ``text``; sentences without words are dropped."""
        words = self.words(text)
        words = words if isinstance(words, WordBounds) else tuple(words)
        return Tokenization(words, tuple(_group_words(words, self.sentences(text))))


def given_words(document: Document) -> Tokenization | None:
    """Return the words and sentences of a document's own layers; None without a layer of words.

    They come in text order; a word of several fragments extends from its first character to its
    last. Without a layer of sentences, each line is one. Words of no width, and words that overlap
    an earlier one, are left out: no model could distinguish them.
    """
    if not document.has_layer(WORDS):
        return None
    words: list[Bounds] = []
    for start, end in sorted((span.start, span.end) for span in document[WORDS].spans):
        if start < end and (not words or start >= words[-1][1]):
            words.append((start, end))
    sentences = line_sentences(document.text)
    if document.has_layer(SENTENCES):
        sentences = sorted((span.start, span.end) for span in document[SENTENCES].spans)
    return Tokenization(tuple(words), tuple(_group_words(words, sentences)))


def replace_surrogates(text: str) -> str:
    """Return a text with ``?`` for each half of a character (lone surrogate), which UTF-8 lacks."""
    return text.encode("utf-8", "replace").decode()


def words_of(document: Document, split: Split) -> Tokenization:
    """Return the words that a document gives, else the result of ``split`` on its text."""
    return given_words(document) or split(document.text)


def word_tokenizer(words: str, sentences: str) -> WordTokenizer:
    """Return the tokenizer with these splitters; raises ``NameNotFound`` and ``PluginError``."""
    return WordTokenizer(_TOKENIZERS.load(words), _SENTENCE_SPLITTERS.load(sentences))


def _group_words(words: Sequence[Bounds], sentences: Sequence[Bounds]) -> list[Bounds]:
    """Return sentences as runs of words; a sentence extends to the start of the next one."""
    starts = np.fromiter((start for start, _ in sentences[1:]), np.int64)
    inner = np.searchsorted(bounds_array(words)[:, 0], starts).tolist()
    bounds = [0, *inner, len(words)]
    return [(first, end) for first, end in zip(bounds, bounds[1:], strict=False) if first < end]


def _english_bounds(text: str, start: int, end: int) -> list[Bounds]:
    """Return the bounds of English words in ``text[start:end]``; a lone surrogate is as a ``?``."""
    words = english_words(replace_surrogates(text[start:end]))
    return [(start + first, start + last) for first, last in words]
