"""View a document as words and sentences, and map its annotations to them."""

from dataclasses import dataclass
from functools import cached_property

from spanloom.annotation.word_index import WordIndex
from spanloom.document import SENTENCES, WORDS, Attribute, Document, Span
from spanloom.tokenization import Bounds, Tokenization, word_tokenizer, words_of


@dataclass(frozen=True)
class WordView:
    """A document as words and sentences, split at blanks and line breaks if it gives no words."""

    document: Document

    @cached_property
    def words(self) -> Tokenization:
        """Word bounds in characters and sentence bounds in words."""
        return words_of(self.document, word_tokenizer("whitespace", "newline"))

    @cached_property
    def tokens(self) -> list[str]:
        """The text of each word."""
        return [self.document.text[start:end] for start, end in self.words.words]

    @cached_property
    def word_of_span(self) -> dict[str, int]:
        """The row of each word, by the id of its span in the layer of words."""
        if not self.document.has_layer(WORDS):
            return {}
        row_of_start = {start: row for row, (start, _) in enumerate(self.words.words)}
        spans = self.document[WORDS].spans
        return {span.id: row_of_start[span.start] for span in spans if span.start in row_of_start}

    @cached_property
    def sentence_of_span(self) -> dict[str, int]:
        """The number of each sentence by the id of its span; sentences without words are absent."""
        if not self.document.has_layer(SENTENCES):
            return {}
        word_spans = {
            span.id: self._word_index.locate(span) for span in self.document[SENTENCES].spans
        }
        return {
            span_id: word_span.sentence
            for span_id, word_span in word_spans.items()
            if word_span.width
        }

    def values(self, layer: str) -> dict[int, list[Attribute]]:
        """Return the attributes of words by their row, or those of sentences by their number."""
        row_of_target = self.word_of_span if layer == WORDS else self.sentence_of_span
        by_row: dict[int, list[Attribute]] = {}
        for attribute in self.document[layer].attributes if self.document.has_layer(layer) else ():
            if attribute.target in row_of_target:
                by_row.setdefault(row_of_target[attribute.target], []).append(attribute)
        return by_row

    def spaces(self, sentence: Bounds) -> list[bool]:
        """Return for each word of a sentence whether text stands between it and the next one."""
        first, end = sentence
        bounds = self.words.words[first:end]
        is_apart = [
            previous[1] < word[0] for previous, word in zip(bounds, bounds[1:], strict=False)
        ]
        return [*is_apart, False] if bounds else []

    def exact_words(self, span: Span) -> Bounds | None:
        """Return the words of one sentence that a contiguous span covers exactly, else None."""
        word_span = self._word_index.locate(span)
        if (
            len(span.fragments) > 1
            or not word_span.aligned
            or word_span.sentence != word_span.last_sentence
        ):
            return None
        return word_span.first, word_span.end

    def by_sentence(self, layer: str) -> tuple[list[list[tuple[int, int, Span]]], list[Span]]:
        """Return a layer's spans by sentence, and those that are not whole words of one sentence.

        Bounds are in words of the sentence; spans keep the order of the layer. A missing layer has
        none.
        """
        by_sentence: list[list[tuple[int, int, Span]]] = [[] for _ in self.words.sentences]
        unaligned: list[Span] = []
        for span in self.document[layer].spans if self.document.has_layer(layer) else ():
            bounds = self.exact_words(span)
            if bounds is None:
                unaligned.append(span)
                continue
            sentence = self._word_index.locate(span).sentence
            first = self.words.sentences[sentence][0]
            by_sentence[sentence].append((bounds[0] - first, bounds[1] - first, span))
        return by_sentence, unaligned

    @cached_property
    def _word_index(self) -> WordIndex:
        return WordIndex(self.words)
