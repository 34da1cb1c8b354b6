"""F1 of tags as Changpinyo et al. (2018, section 3.2) count them, beside that of spans."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import ClassVar

from spanloom.annotation.tag_schemes import OUTSIDE, Plain, Scheme, Tagged
from spanloom.document import WORDS, Document, Span
from spanloom.formats._document_builder import with_words
from spanloom.formats._word_view import WordView, encodable_spans
from spanloom.metrics import report as reports
from spanloom.metrics.bootstrap import DocumentCounts, counts_per_document
from spanloom.metrics.chunks import Pair, count_tag_spans
from spanloom.metrics.counts import Counts, label_f1
from spanloom.metrics.report import Report, Score, annotated_documents, sum_counts
from spanloom.metrics.spans import count_by_label
from spanloom.tasks._base import MetricValues
from spanloom.tokenization import Bounds, WordTokenizer, blank_words, line_sentences

_NONE = Counts(0, 0, 0)


@dataclass(frozen=True, slots=True)
class TagReport(Report):
    """The scores of a layer's spans, and those of the tags that encode them.

    ``label_counts`` are the counts per document of tags of single labels, by metric.
    """

    MEASURES: ClassVar[Mapping[str, tuple[str, str]]] = {
        "tags": ("changpinyo", "tags as Changpinyo et al. (2018) count them"),
        **Report.MEASURES,
    }

    tags: Score
    label_counts: Mapping[str, DocumentCounts]

    def per_document_counts(self) -> dict[str, DocumentCounts]:
        """Return the counts behind each metric, those of single labels last."""
        return {**Report.per_document_counts(self), **self.label_counts}

    def shown_measures(self) -> Sequence[str]:
        """Return the fields that the table shows."""
        return ["tags", "spans"]


@dataclass(frozen=True, slots=True)
class TagMeasure:
    """Measure tags of a scheme, and the F1 of some ``labels`` apart.

    With tags that have a prefix this is the F1 of the spans that tags can encode; with others it is
    that of single words. Balanced accuracy is the mean recall of all labels.
    """

    scheme: Scheme
    labels: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the metrics, the main one first."""
        return ("changpinyo", "span_f1", "balanced_accuracy", *map(label_f1, self.labels))

    def compute(
        self, gold: Sequence[Document], predicted: Sequence[Document], layer: str
    ) -> TagReport:
        """Score a layer."""
        base = reports.score(gold, predicted, layer)
        tables = [
            self._count(*documents, layer)
            for documents in annotated_documents(gold, predicted, layer)
        ]
        return TagReport(
            layer=layer,
            documents=base.documents,
            not_annotated=base.not_annotated,
            unscored=base.unscored,
            spans=base.spans,
            relations=base.relations,
            relations_typed=base.relations_typed,
            tags=sum_counts(tables),
            label_counts={
                label_f1(label): counts_per_document([table.get(label, _NONE) for table in tables])
                for label in self.labels
            },
        )

    def values(self, report: TagReport) -> MetricValues:
        """Return the metrics of a report."""
        by_label = {
            label_f1(label): report.tags.by_label.get(label, _NONE).f1 for label in self.labels
        }
        recalls = [tag.recall for tag in report.tags.by_label.values() if tag.gold]
        return {
            "changpinyo": report.tags.micro.f1,
            "span_f1": report.spans.micro.f1,
            "balanced_accuracy": fmean(recalls) if recalls else 0.0,
            **by_label,
        }

    def _count(self, gold: Document, predicted: Document, layer: str) -> dict[str, Counts]:
        """Count tags by label; where gold gives no words, the spans that tags can encode."""
        if gold.has_layer(WORDS):
            return count_tag_spans(self._pairs(gold, predicted, layer))
        return count_by_label(self._encodable(gold, layer), self._encodable(predicted, layer))

    def _encodable(self, document: Document, layer: str) -> list[Span]:
        """Return the spans that tags can encode, of words that end where spans do."""
        view = WordView(_with_words_of_spans(document, layer))
        by_sentence = encodable_spans(view, layer, self._is_writable)
        return [span for placed in by_sentence for _, _, span in placed]

    def _pairs(self, gold: Document, predicted: Document, layer: str) -> Iterator[Pair | None]:
        """Yield the gold and the predicted tag of each word, and None after each sentence."""
        sides = [self._tags(WordView(document), layer) for document in (gold, predicted)]
        for gold_tags, predicted_tags in zip(*sides, strict=True):
            yield from zip(gold_tags, predicted_tags, strict=True)
            yield None

    def _tags(self, view: WordView, layer: str) -> Iterator[list[str]]:
        """Yield the tags of a document's layer, sentence by sentence."""
        by_sentence = encodable_spans(view, layer, self._is_writable)
        for (first, end), placed in zip(view.words.sentences, by_sentence, strict=True):
            spans = [(start, stop, span.label) for start, stop, span in placed]
            yield self.scheme.encode(spans, end - first)

    def _is_writable(self, span: Tagged) -> bool:
        """Whether the scheme has tags for a span."""
        start, end, label = span
        return not isinstance(self.scheme, Plain) or (end - start == 1 and label != OUTSIDE)


def _with_words_of_spans(document: Document, layer: str) -> Document:
    """Return a document with words; if it gives none, they end at blanks and at bounds of spans."""
    spans = document.layer_or_empty(layer).spans
    cuts = sorted({bound for span in spans for ends in span.fragments for bound in ends})
    return with_words(document, WordTokenizer(partial(_words_cut_at, cuts), line_sentences))


def _words_cut_at(cuts: Sequence[int], text: str) -> list[Bounds]:
    """Return what stands between blanks, cut at some characters, which are in order."""
    words: list[Bounds] = []
    for start, end in blank_words(text):
        inner = cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]
        words += pairwise((start, *inner, end))
    return words
