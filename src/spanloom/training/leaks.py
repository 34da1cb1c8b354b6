"""Leave out of train what stands in dev or test of another corpus of the same recipe or study.

Corpora that are learnt jointly or one after the other may share texts: hundreds of sentences of one
set's test are in another one's train. A document leaks if one of its texts is in dev or test of
another corpus: a text of a pair, the whole text, or a sentence of a longer text. The split of a
corpus by itself stays as its card says.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from unicodedata import category

from spanloom.annotation.text_pairs import text_pair
from spanloom.document import Document
from spanloom.quantity import quantity
from spanloom.tokenization import WordTokenizer, given_words, word_tokenizer

MIN_SENTENCE_WORDS = 8  # of a sentence that is only part of a text; shorter ones occur anywhere
_BRACKETS = re.compile("-[lr][rsc]b-")  # as treebanks write them
_SIGNS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class HeldOutTexts:
    """The texts of dev and test of some corpora: the corpora of each, by normalized text."""

    corpora_of: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, scored: Mapping[str, Iterable[Document]]) -> "HeldOutTexts":
        """Return the texts of the documents that are scored, by corpus."""
        corpora_of: dict[str, frozenset[str]] = {}
        for name, documents in scored.items():
            for document in documents:
                for text in normalized_texts(document):
                    corpora_of[text] = corpora_of.get(text, frozenset()) | {name}
        return cls(corpora_of)

    def leaks(self, corpus: str, document: Document) -> frozenset[str]:
        """Return the other corpora whose dev or test has a text of a document of ``corpus``."""
        corpora = (self.corpora_of.get(text) for text in normalized_texts(document))
        return frozenset().union(*filter(None, corpora)) - {corpus}


@dataclass(frozen=True, slots=True)
class DroppedLeaks:
    """How many documents of train were left out, of how many, and for which corpora."""

    num_documents: int = 0
    num_dropped: int = 0
    num_by_corpus: Mapping[str, int] | None = None

    def note(self, corpus: str) -> str:
        """Return a line for the log."""
        counts = (self.num_by_corpus or {}).items()
        others = ", ".join(f"{name} ({count})" for name, count in counts) or "other corpora"
        dropped = f"{self.num_dropped} of {quantity(self.num_documents, 'document')} of train"
        return f"{corpus}: {dropped} left out, as they have a text of dev or test of {others}"


def drop_leaks(
    corpus: str, documents: Sequence[Document], held_out: HeldOutTexts
) -> tuple[tuple[Document, ...], DroppedLeaks]:
    """Return the documents without leaks, and what was left out."""
    kept, counts = [], Counter[str]()
    for document in documents:
        others = held_out.leaks(corpus, document)
        counts.update(others)
        if not others:
            kept.append(document)
    dropped = len(documents) - len(kept)
    return tuple(kept), DroppedLeaks(len(documents), dropped, dict(sorted(counts.items())))


def normalized_texts(document: Document) -> Iterator[str]:
    """Yield the texts of a document in lower case, letters and digits alone, none twice."""
    pair = text_pair(document)
    parts = [document.text[part.start : part.end] for part in pair] or [document.text]
    seen = {""}
    for text in (*parts, *_sentences(document)):
        normalized = _letters(_BRACKETS.sub(" ", text.lower()))
        if normalized not in seen:
            seen.add(normalized)
            yield normalized


def _letters(text: str) -> str:
    """Return the letters and digits of a text, with the marks that some scripts have on them."""
    if text.isascii():
        return _SIGNS.sub("", text)
    return "".join(char for char in text if char.isalnum() or category(char).startswith("M"))


def _sentences(document: Document) -> Iterator[str]:
    """Yield the sentences of a text that has several, without the short ones.

    They are those that the document gives, and those that its marks tell, however a recipe splits:
    a paragraph of one corpus is one line, and each sentence of it may be a text of another.
    """
    for tokenization in filter(None, (given_words(document), _splitter()(document.text))):
        if len(tokenization.sentences) < 2:
            continue
        for first, end in tokenization.sentences:
            if end - first >= MIN_SENTENCE_WORDS:
                yield document.text[tokenization.words[first][0] : tokenization.words[end - 1][1]]


@cache
def _splitter() -> WordTokenizer:
    return word_tokenizer("treebank", "punctuation")
