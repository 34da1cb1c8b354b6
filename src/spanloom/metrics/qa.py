"""Score answers to queries by their text: exact match and F1 of words, as SQuAD 2.0's program does.

Texts are compared without case, ASCII punctuation, the articles a, an, the, and outer blanks. The
most similar of several gold answers counts. A query without a gold answer scores 1 if nothing was
predicted, else 0.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING

from spanloom.annotation.queries import answers
from spanloom.document import Document
from spanloom.quantity import quantity

if TYPE_CHECKING:
    from spanloom.metrics.bootstrap import DocumentCounts

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(a|an|the)\b")


def normalize_answer(text: str) -> str:
    """Return the text in lower case without punctuation and articles, words one blank apart."""
    lowered = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", lowered).split())


def shared_words(gold: str, predicted: str) -> float:
    """Return the F1 of the words of two normalised texts; 0.0 if they share none."""
    if gold == predicted:
        return float(bool(gold))
    gold_words, predicted_words = gold.split(), predicted.split()
    if set(gold_words).isdisjoint(predicted_words):
        return 0.0
    num_shared = (Counter(gold_words) & Counter(predicted_words)).total()
    precision, recall = num_shared / len(predicted_words), num_shared / len(gold_words)
    return 2 * precision * recall / (precision + recall)


def _overlap(gold: str, predicted: str) -> float:
    """Return the F1 of the words of two normalised texts; 1.0 if both are empty."""
    return shared_words(gold, predicted) if gold and predicted else float(gold == predicted)


@dataclass(frozen=True, slots=True)
class Answered:
    """Scores of the answer to one query; ``answerable`` is whether the gold layer has answers."""

    answerable: bool
    exact: float
    f1: float


def score_answer(gold: Sequence[str], predicted: str) -> Answered:
    """Compare an answer ("" for none) with the alternatives, ignoring those without words."""
    alternatives = list(filter(None, map(normalize_answer, gold))) or [""]
    answer = normalize_answer(predicted)
    best = max(_overlap(text, answer) for text in alternatives)
    return Answered(bool(gold), float(answer in alternatives), best)


@dataclass(frozen=True, slots=True)
class Report:
    """The scores of one layer, per query.

    ``not_annotated`` is the number of gold documents without the layer; they are not scored.
    ``num_queries`` are those of each document, in order; empty where that is unknown.
    """

    layer: str
    documents: int
    queries: tuple[Answered, ...]
    not_annotated: int = 0
    num_queries: tuple[int, ...] = ()

    @property
    def exact(self) -> float:
        """The share of queries answered exactly; 0.0 without queries."""
        return _mean([answered.exact for answered in self.queries])

    @property
    def f1(self) -> float:
        """The mean F1 over queries; 0.0 without queries."""
        return _mean([answered.f1 for answered in self.queries])

    def part(self, *, answerable: bool) -> "Report":
        """Return the report of only the answerable or only the unanswerable queries."""
        queries = tuple(query for query in self.queries if query.answerable == answerable)
        return Report(self.layer, self.documents, queries, self.not_annotated)

    def per_document_counts(self) -> dict[str, "DocumentCounts"]:
        """Return the terms of F1 and exact match; queries of one document are drawn together."""
        from spanloom.metrics.bootstrap import means_per_document

        if not self.num_queries:
            return {}
        ends = list(accumulate(self.num_queries, initial=0))
        groups = [self.queries[start:end] for start, end in pairwise(ends)]
        return {
            "f1": means_per_document([[query.f1 for query in group] for group in groups]),
            "exact_match": means_per_document([[query.exact for query in g] for g in groups]),
        }

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""
        return {
            "layer": self.layer,
            "documents": self.documents,
            "not_annotated": self.not_annotated,
            **{title: _numbers(part) for title, part in self._parts()},
        }

    def to_table(self) -> str:
        """Return aligned text, ratios in percent."""
        queries = quantity(len(self.queries), "query", "queries")
        header = f"layer {self.layer}: {quantity(self.documents, 'document')}, {queries}"
        lines = [header, f"  {'queries':12}  exact      F1  number"]
        for title, part in self._parts():
            scores = f"{100 * part.exact:5.2f}  {100 * part.f1:6.2f}"
            lines.append(f"  {title:12}  {scores}  {len(part.queries):6}")
        return "\n".join(lines) + "\n"

    def _parts(self) -> list[tuple[str, "Report"]]:
        """Return the report of all, of answerable and of unanswerable queries, by title."""
        parts = self.part(answerable=True), self.part(answerable=False)
        return [("all", self), ("answerable", parts[0]), ("unanswerable", parts[1])]


def score(gold: Sequence[Document], predicted: Sequence[Document], layer: str) -> Report:
    """Score the answers of the predicted documents against the gold ones of the same name.

    A predicted document without the layer has no answers, not even empty ones: its queries score 0.
    Of several answers to a query the first counts. Raises ``DataError`` where names do not match
    one to one or texts differ, and ``LayerError`` where no gold document has the layer.
    """
    from spanloom.metrics.report import (
        annotated_documents,
    )  # numpy, which the measures above do without

    pairs = annotated_documents(gold, predicted, layer)
    scored = [_score_document(*pair, layer) for pair in pairs]
    queries = tuple(chain.from_iterable(scored))
    return Report(layer, len(pairs), queries, len(gold) - len(pairs), tuple(map(len, scored)))


def _score_document(gold: Document, predicted: Document, layer: str) -> list[Answered]:
    """Score the queries of one text."""
    gold_answers = _answer_texts(gold, layer)
    if not predicted.has_layer(layer):
        return [Answered(bool(texts), 0.0, 0.0) for texts in gold_answers.values()]
    predicted_answers = _answer_texts(predicted, layer)
    return [
        score_answer(texts, (predicted_answers.get(query) or [""])[0])
        for query, texts in gold_answers.items()
    ]


def _answer_texts(document: Document, layer: str) -> dict[str, list[str]]:
    """Return the texts of the answers to each query."""
    return {
        query: [document.text_of(span) for span in spans]
        for query, spans in answers(document, layer).items()
    }


def _mean(values: Sequence[float]) -> float:
    """Return the mean; 0.0 without values."""
    return sum(values) / len(values) if values else 0.0


def _numbers(report: Report) -> dict[str, float]:
    """Return the report's numbers by name."""
    return {"exact_match": report.exact, "f1": report.f1, "number": len(report.queries)}
