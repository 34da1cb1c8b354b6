"""Queries that a span of the text answers, or none (SQuAD; SpEx-BERT, section 3)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from spanloom.annotation.queries import ANSWER, QUERY, answer_layer, answers
from spanloom.data.instance_readers import InstanceReader, QuestionReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.decoding.span_selection import Answer, best_answer_span
from spanloom.document import MAIN, Attribute, Document, Layer, Query, Span
from spanloom.metrics.qa import Report, score
from spanloom.nn.start_end import StartEndScorer
from spanloom.tasks._base import MetricValues, NewId, TaskType, TrainDocuments
from spanloom.tasks._span_extraction import (
    FAMILY,
    AnswerTargets,
    ExtractOptions,
    ExtractTask,
    classification_report,
    collate_answers,
    merge_vocabularies,
)
from spanloom.tensors import Batch, HeadInputs
from spanloom.tokenization import Bounds

Found = tuple[int, int, float]  # bounds in the unit's words; how likely, if it is that or no answer
Known = tuple[Bounds, ...] | None  # right answers, () for "no answer"; None: words cannot say

_SAMPLE = Document(
    "Ada met Bob in old London .\nShe wrote .",
    (
        Layer(
            MAIN,
            (Span("T1", ANSWER, ((15, 25),)), Span("T2", ANSWER, ((19, 25),))),
            attributes=(Attribute("A1", QUERY, "T1", "Q1"), Attribute("A2", QUERY, "T2", "Q1")),
        ),
    ),
    "sample",
    queries=(Query("Q1", "Where did they meet?"), Query("Q2", "Who is Carol?")),
)


class QuestionOptions(ExtractOptions):
    """Options of questions."""

    max_answer_length: int = Field(30, ge=1, le=1000, description="widest answer, in words")
    no_answer_threshold: float = Field(
        0.0, description="by how much an answer's score must beat that of none to be given"
    )


@dataclass(frozen=True, slots=True)
class AnswerGold:
    """What is right for each query of a document, in words of the document."""

    answers: tuple[Known, ...]

    def __len__(self) -> int:
        """How many queries there are to learn from."""
        return sum(each is not None for each in self.answers)


@dataclass(frozen=True, slots=True)
class ExtractiveQATask(ExtractTask):
    """Queries in, an answer or none to each out."""

    max_answer_length: int
    no_answer_threshold: float

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of ``figures``."""
        return ("f1", "exact_match")

    def encode_gold(self, document: Document, cut: TokenizedDocument) -> AnswerGold:
        """Express the answers to each query over words."""
        place = _Places(document, cut.words)
        every = answers(document, self.layer).values()
        return AnswerGold(tuple(place.known(spans) for spans in every))

    def coverage_notes(
        self,
        train: TrainDocuments,
        whole: Sequence[Sequence[Bounds]],
        gold: Mapping[int, AnswerGold],
    ) -> list[str]:
        """Say how many queries there are, and how many of them teach that there is no answer."""
        every = [each for document in gold.values() for each in document.answers]
        none, lost = every.count(()), every.count(None)
        missed = f", {lost} others have answers that words cannot express" if lost else ""
        counts = f"{len(gold)} documents, {len(every) - lost} queries to learn from"
        return [f"{self.name}: {counts} ({none} without an answer){missed}"]

    def collate_targets(
        self, units: Sequence[Instance], gold: Mapping[int, AnswerGold]
    ) -> AnswerTargets:
        """Mark the answers to each unit's query; one that its words do not hold is none there."""
        known = [gold[unit.document].answers[unit.query] for unit in units]
        return collate_answers(
            units, [_inside(each, unit) for each, unit in zip(known, units, strict=True)]
        )

    def predict(
        self,
        head: StartEndScorer,
        vectors: HeadInputs,
        batch: Batch,
        units: Sequence[Instance],
        given: Any,
    ) -> Iterator[Found | None]:
        """Choose the best span of each unit, where it beats "no answer" by the threshold."""
        for words, none in classification_report(head, vectors, units):
            answer = best_answer_span(words[:, 0], words[:, 1], self.max_answer_length)
            yield self._answer(answer, float(none.sum())) if answer else None

    def _answer(self, found: Answer, none: float) -> Found | None:
        """Give an answer that scores enough above none."""
        start, end, score = found
        chance = (1 + math.tanh((score - none) / 2)) / 2  # e^score / (e^score + e^none)
        return (start, end, chance) if score - none > self.no_answer_threshold else None

    def to_layer(
        self, document: Document, found: Sequence[tuple[Instance, Found | None]], fresh: NewId
    ) -> Layer:
        """Make a layer of the answers; a query without one has none."""
        said = []
        for unit, each in found:
            if each is not None:
                start, end, score = each
                bounds = unit.words[start][0], unit.words[end - 1][1]
                said.append((document.queries[unit.query].id, (bounds,), score))
        return answer_layer(self.layer, said, fresh)

    def compute_metrics(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Report:
        """Score the texts of the answers."""
        return score(gold, predicted, self.layer)

    def metrics(self, report: Report) -> MetricValues:
        """Return the mean F1 of words, and the share of exact answers."""
        return {"f1": report.f1, "exact_match": report.exact}


class _Places:
    """Where spans stand in a document's words."""

    def __init__(self, document: Document, words: Sequence[Bounds]) -> None:
        self.text = document.text
        self.starts = {start: row for row, (start, _) in enumerate(words)}
        self.ends = {end: row for row, (_, end) in enumerate(words, 1)}

    def known(self, spans: Sequence[Span]) -> Known:
        """Return the bounds of the spans that stand on word borders, in one piece."""
        bounds = [each for span in spans if (each := self._bounds(span)) is not None]
        return tuple(bounds) if bounds or not spans else None

    def _bounds(self, span: Span) -> Bounds | None:
        """Word bounds; a span over several lines comes from brat in several fragments."""
        pieces = sorted(span.fragments)
        gaps = [self.text[a:b] for (_, a), (b, _) in zip(pieces, pieces[1:], strict=False)]
        first, last = self.starts.get(span.start), self.ends.get(span.end)
        whole = not any(gap.strip() for gap in gaps)
        return (first, last) if whole and first is not None and last is not None else None


def _inside(known: Known, unit: Instance) -> list[Bounds] | None:
    """Bounds in the unit's words of the answers that it holds whole."""
    if known is None:
        return None
    shifted = [(start - unit.first_word, end - unit.first_word) for start, end in known]
    return [(start, end) for start, end in shifted if start >= 0 and end <= len(unit.tokens)]


def _infer_vocabulary(
    options: QuestionOptions, layer: str, train: TrainDocuments
) -> dict[str, Any]:
    return {}


def _build(
    name: str,
    layer: str,
    options: QuestionOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> ExtractiveQATask:
    reading = InstanceReader(QuestionReader())
    return ExtractiveQATask(
        name,
        layer,
        reading,
        options.dropout,
        options.max_answer_length,
        options.no_answer_threshold,
    )


KIND = TaskType(QuestionOptions, _infer_vocabulary, _build, _SAMPLE, FAMILY, merge_vocabularies)
