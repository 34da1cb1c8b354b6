"""View a document as words and sentences; convert spans to tags and labels of words and back."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from spanloom.annotation.tag_schemes import OUTSIDE, Scheme, Tagged
from spanloom.annotation.word_index import WordIndex
from spanloom.document import SENTENCES, WORDS, Attribute, Document, Span
from spanloom.formats._document_builder import DocumentBuilder
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
        for attribute in self.document.layer_or_empty(layer).attributes:
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

    def covered_words(self, span: Span) -> tuple[int, ...]:
        """Return the words that the fragments of a span cover, none if one covers a part."""
        return self._word_index.covered_words(span.fragments)

    def by_sentence(self, layer: str) -> tuple[list[list[tuple[int, int, Span]]], list[Span]]:
        """Return a layer's spans by sentence, and those that are not whole words of one sentence.

        Bounds are in words of the sentence; spans keep the order of the layer. A missing layer has
        none.
        """
        by_sentence: list[list[tuple[int, int, Span]]] = [[] for _ in self.words.sentences]
        unaligned: list[Span] = []
        for span in self.document.layer_or_empty(layer).spans:
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


Placed = tuple[int, int, Span]  # bounds in words of a sentence


def encodable_spans(
    view: WordView, layer: str, is_writable: Callable[[Tagged], bool]
) -> list[list[Placed]]:
    """Return the spans of a layer that tags can encode, by sentence.

    Left out are spans that ``is_writable`` refuses, spans that are not whole words of one sentence,
    and of overlapping spans all but the one that starts first (of several, the widest).
    """
    return [list(_select_disjoint(spans, is_writable)) for spans in view.by_sentence(layer)[0]]


def format_cell(form: str, separator: re.Pattern[str]) -> str:
    """Return a word as a cell, with ``_`` for characters that would end it and for blank words."""
    cell = separator.sub("_", form)
    return cell if cell.strip() else "_" * len(cell)


def tag_prefixes(scheme: Scheme) -> tuple[str, ...]:
    """Return the prefixes that a scheme's tags have before their labels."""
    return tuple(tag[:-1] for tag in scheme.tags(("x",)) if tag != OUTSIDE)


def is_tag(tag: str, prefixes: Iterable[str]) -> bool:
    """Whether a text is the outside tag, or a prefix and a label."""
    return tag == OUTSIDE or any(tag.startswith(prefix) and tag != prefix for prefix in prefixes)


def annotate(
    builder: DocumentBuilder, layer: str, scheme: Scheme, first: int, tags: Sequence[str]
) -> list[str]:
    """Add the spans of tags, from word ``first`` on, and return their ids.

    A tag that the scheme would not produce for these spans becomes an attribute of its word,
    labelled with the layer's name.
    """
    spans = scheme.decode(tags)
    ids = [
        builder.add_word_span(layer, label, first + start, first + end)
        for start, end, label in spans
    ]
    for word, (tag, expected_tag) in enumerate(
        zip(tags, scheme.encode(spans, len(tags)), strict=True)
    ):
        if tag != expected_tag:
            builder.attribute(WORDS, layer, builder.words[first + word], tag)
    return ids


def format_tags(
    scheme: Scheme, placed: Iterable[Placed], stated_tags: Sequence[str | None]
) -> list[str]:
    """Return a sentence's tags: those that words state, if they encode the same spans."""
    spans = [(start, end, span.label) for start, end, span in placed]
    default_tags, prefixes = scheme.encode(spans, len(stated_tags)), tag_prefixes(scheme)
    tags = [
        tag if stated_tag is None else stated_tag
        for stated_tag, tag in zip(stated_tags, default_tags, strict=True)
    ]
    is_equivalent = all(is_tag(tag, prefixes) for tag in tags) and scheme.decode(tags) == spans
    return tags if is_equivalent else default_tags


def _select_disjoint(
    placed_spans: list[Placed], is_writable: Callable[[Tagged], bool]
) -> Iterator[Placed]:
    covered = 0
    for start, end, span in sorted(placed_spans, key=lambda placed: (placed[0], -placed[1])):
        if start >= covered and is_writable((start, end, span.label)):
            yield start, end, span
            covered = end


XPOS = "xpos"
NONE = "_"


def label(
    builder: DocumentBuilder,
    layer: str,
    first: int,
    labels: Iterable[str],
    missing_label: str = NONE,
) -> list[str | None]:
    """Add a span for each labelled word from ``first`` on; return the span ids by word.

    If no word has a label, the layer is not created.
    """
    return [
        None
        if word_label == missing_label
        else builder.add_word_span(layer, word_label, word, word + 1)
        for word, word_label in enumerate(labels, first)
    ]


def labels(
    view: WordView, layer: str, is_writable: Callable[[str], object], missing_label: str = NONE
) -> list[list[str]]:
    """Return the word labels by sentence; of several on a word the first that is writable."""
    labels_by_sentence = [[missing_label] * (end - first) for first, end in view.words.sentences]
    for sentence_labels, spans in zip(labels_by_sentence, view.by_sentence(layer)[0], strict=True):
        for start, end, span in spans:
            if (
                end - start == 1
                and sentence_labels[start] == missing_label
                and is_writable(span.label)
            ):
                sentence_labels[start] = span.label
    return labels_by_sentence
