"""Answers to queries, by what they say: exact match and F1 of words (SQuAD 2.0's official program).

Texts are compared without case, ASCII punctuation, the articles a, an, the, and outer blanks. Of
several gold answers the most like one counts. A query without a gold answer scores 1 where nothing
was predicted, else 0.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanloom.document import Document
from spanloom.errors import LayerError
from spanloom.forms.queries import answers

if TYPE_CHECKING:
    from spanloom.metrics.tally import Tally

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> str:
    """Return lower case without punctuation and articles, words one blank apart."""
    plain = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", plain).split())


def overlap(gold: str, predicted: str) -> float:
    """Return the F1 of both bags of words; where one is empty, 1 if the other is too."""
    return _overlap(normalised(gold), normalised(predicted))


def shared_words(gold: str, predicted: str) -> float:
    """Return the F1 of the words of two normalised texts; 0.0 where they share none."""
    if gold == predicted:
        return float(bool(gold))
    ours, theirs = gold.split(), predicted.split()
    if set(ours).isdisjoint(theirs):
        return 0.0
    same = (Counter(ours) & Counter(theirs)).total()
    precision, recall = same / len(theirs), same / len(ours)
    return 2 * precision * recall / (precision + recall)


def _overlap(gold: str, predicted: str) -> float:
    """The same where both may say nothing, of normalised texts."""
    return shared_words(gold, predicted) if gold and predicted else float(gold == predicted)


@dataclass(frozen=True, slots=True)
class Answered:
    """How good the answer to one query is; ``answerable`` is that the gold layer has answers."""

    answerable: bool
    exact: float
    f1: float


def judge(gold: Sequence[str], predicted: str) -> Answered:
    """Compare an answer ("" for none) with the alternatives; those of no word are left out."""
    wanted = list(filter(None, map(normalised, gold))) or [""]
    said = normalised(predicted)
    best = max(_overlap(text, said) for text in wanted)
    return Answered(bool(gold), float(said in wanted), best)


@dataclass(frozen=True, slots=True)
class Report:
    """The scores of one layer, a query at a time.

    ``not_annotated`` are gold documents without the layer, which count nowhere.
    """

    layer: str
    documents: int
    queries: tuple[Answered, ...]
    not_annotated: int = 0

    @property
    def exact(self) -> float:
        """The share of queries answered exactly; 0.0 without queries."""
        return _mean([each.exact for each in self.queries])

    @property
    def f1(self) -> float:
        """The mean F1 over queries; 0.0 without queries."""
        return _mean([each.f1 for each in self.queries])

    def part(self, *, answerable: bool) -> "Report":
        """Return the report of only those queries that have an answer, or that have none."""
        kept = tuple(each for each in self.queries if each.answerable == answerable)
        return Report(self.layer, self.documents, kept, self.not_annotated)

    def tallies(self) -> dict[str, "Tally"]:
        """Return nothing: scores are kept a query, and those of one document depend on another."""
        return {}

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
        head = f"layer {self.layer}: {self.documents} documents, {len(self.queries)} queries"
        lines = [head, f"  {'queries':12}  exact      F1  number"]
        for title, part in self._parts():
            scores = f"{100 * part.exact:5.2f}  {100 * part.f1:6.2f}"
            lines.append(f"  {title:12}  {scores}  {len(part.queries):6}")
        return "\n".join(lines) + "\n"

    def _parts(self) -> list[tuple[str, "Report"]]:
        parts = self.part(answerable=True), self.part(answerable=False)
        return [("all", self), ("answerable", parts[0]), ("unanswerable", parts[1])]


def score(gold: Sequence[Document], predicted: Sequence[Document], layer: str) -> Report:
    """Score the answers of the predicted documents against the gold ones of the same name.

    A predicted document without the layer says nothing, not even that there is no answer: its
    queries score 0. Of several answers to a query the first counts. Raises ``DataError`` where
    names do not match one to one or texts differ, and ``LayerError`` where no gold document has
    the layer.
    """
    from spanloom.metrics.report import couples  # numpy, which the measures above do without

    pairs = [pair for pair in couples(gold, predicted) if pair[0].has(layer)]
    if not pairs:
        known = sorted({each.name for document in gold for each in document.layers})
        raise LayerError("gold documents", layer, known)
    found = [each for one, two in pairs for each in _judged(one, two, layer)]
    return Report(layer, len(pairs), tuple(found), len(gold) - len(pairs))


def _judged(gold: Document, predicted: Document, layer: str) -> list[Answered]:
    """Judge the queries of one text."""
    wanted = _texts(gold, layer)
    if not predicted.has(layer):
        return [Answered(bool(texts), 0.0, 0.0) for texts in wanted.values()]
    found = _texts(predicted, layer)
    return [judge(texts, (found.get(query) or [""])[0]) for query, texts in wanted.items()]


def _texts(document: Document, layer: str) -> dict[str, list[str]]:
    """What the answers to each query say."""
    return {
        query: [document.cover(span) for span in spans]
        for query, spans in answers(document, layer).items()
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _numbers(report: Report) -> dict[str, float]:
    return {"exact": report.exact, "f1": report.f1, "number": len(report.queries)}
