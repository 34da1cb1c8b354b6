"""Answer queries with a span of the text, or with none (SQuAD; SpEx-BERT, section 3)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from pydantic import Field

from spanloom.annotation.queries import ANSWER, QUERY, answer_layer, answers
from spanloom.data.instance_readers import InstanceReader, QuestionReader
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.decoding.span_selection import best_answer_span, best_independent_ends
from spanloom.document import MAIN, Attribute, Document, Layer, Query, Span
from spanloom.metrics.qa import score
from spanloom.nn.start_end import StartEndScorer
from spanloom.quantity import quantity
from spanloom.tasks._base import Metrics, NewId, TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._span_extraction import (
    FAMILY,
    AnswerTargets,
    ExtractTask,
    SelectionOptions,
    TokenBounds,
    collate_answers,
    iter_scores,
    merge_vocabularies,
)
from spanloom.tensors import Batch, HeadInputs
from spanloom.tokenization import Bounds

AnswerSpan = tuple[
    int, int, float
]  # bounds in the instance's words; how likely, if it is that or no answer
GoldBounds = tuple[Bounds, ...] | None  # right answers, () for "no answer"; None: words cannot say

NO_ANSWER_WORD = "unanswerable"  # as in the paper's data (section 4.1)
_DECISION = "answer"  # whether an answer is given; its bias is added to both ends of it

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


class QuestionOptions(SelectionOptions):
    """Options of questions."""

    no_answer: Literal["cls", "word", "never"] = Field(
        "cls",
        description='cls | word | never: an unanswerable question points to "[CLS]", or to a word '
        "behind the text, or each question is answered",
    )
    max_answer_length: int = Field(30, ge=1, le=1000, description="widest answer, in words")
    no_answer_threshold: float = Field(
        0.0,
        description="by how much an answer's score must beat that of none to be given; the bias "
        "answer, which is chosen on dev, comes on top of it",
    )


@dataclass(frozen=True, slots=True)
class AnswerGold:
    """The gold answers of each query of a document, in words of the document."""

    answers: tuple[GoldBounds, ...]

    def __len__(self) -> int:
        """Return the number of queries to learn from."""
        return sum(answer is not None for answer in self.answers)


@dataclass(frozen=True, slots=True)
class AnswerDecoding:
    """How scores become an answer, or none.

    An answer is given if its score beats that of none by more than ``threshold``, always if
    ``no_answer`` is "never". Of ``is_independent`` ends, each is the best one by itself.
    """

    max_length: int
    threshold: float
    no_answer: str
    is_independent: bool

    def decode(
        self, words: TokenBounds, none: TokenBounds, choices: Sequence[Bounds]
    ) -> AnswerSpan | None:
        """Return the best span and its probability, None if there is none or it is not given.

        ``choices`` has the word that stands for "no answer" where one does; ``none`` has its scores
        by "[CLS]", which are read elsewhere.
        """
        size = choices[0][0] if choices else len(words)
        best = best_independent_ends if self.is_independent else best_answer_span
        answer = best(words[:size, 0], words[:size, 1], self.max_length)
        if answer is None:
            return None
        start, end, score = answer
        if self.no_answer == "never":
            return start, end, math.exp(score - _log_partition(words))
        if choices:
            none_score = float(words[size, 0] + words[choices[0][1] - 1, 1])
        else:
            none_score = float(none.sum())
        margin = score - none_score
        prob = (1 + math.tanh(margin / 2)) / 2  # e^score / (e^score + e^none)
        return (start, end, prob) if margin > self.threshold else None


def _log_partition(words: TokenBounds) -> float:
    """Return the log of the sum over all pairs of a first and a last word."""
    max_scores = words.max(0).astype(np.float64)
    sums = np.exp(words.astype(np.float64) - max_scores).sum(0)
    return float((max_scores + np.log(sums)).sum())


@dataclass(frozen=True, slots=True)
class ExtractiveQATask(ExtractTask):
    """Answer each query with a span of the text, or with none."""

    decoding: AnswerDecoding
    decisions: Mapping[str, str] = field(default_factory=dict)

    measure = Metrics(
        ("f1", "exact_match"), score, lambda report: {"f1": report.f1, "exact_match": report.exact}
    )

    @property
    def has_no_answer(self) -> bool:
        """Whether "no answer" competes with the words, by the "[CLS]" vector."""
        return self.decoding.no_answer == "cls"

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> AnswerGold:
        """Express the answers to each query over words; without any, one may not be learnt."""
        index = _WordLookup(document, tokenized.words)
        bounds = (index.bounds_of(spans) for spans in answers(document, self.layer).values())
        never = self.decoding.no_answer == "never"
        return AnswerGold(tuple(None if never and answer == () else answer for answer in bounds))

    def coverage_notes(
        self,
        train: TrainDocuments,
        full_sentences: Sequence[Sequence[Bounds]],
        gold: Mapping[int, AnswerGold],
    ) -> list[str]:
        """Report the number of queries, and of those that have no answer."""
        query_answers = [answer for document in gold.values() for answer in document.answers]
        num_unanswerable, num_lost = query_answers.count(()), query_answers.count(None)
        missed = f", {num_lost} more with answers that words cannot express" if num_lost else ""
        queries = quantity(len(query_answers) - num_lost, "query", "queries")
        counts = f"{quantity(len(gold), 'document')}, {queries} to learn from"
        return [f"{self.name}: {counts} ({num_unanswerable} without an answer){missed}"]

    def collate_targets(
        self, instances: Sequence[Instance], gold: Mapping[int, AnswerGold]
    ) -> AnswerTargets:
        """Mark the answers to each instance's query that lie within the instance."""
        gold_answers = [gold[instance.document].answers[instance.query] for instance in instances]
        return collate_answers(
            instances,
            [
                _inside(answer, instance)
                for answer, instance in zip(gold_answers, instances, strict=True)
            ],
        )

    def predict(
        self,
        head: StartEndScorer,
        vectors: HeadInputs,
        batch: Batch,
        instances: Sequence[Instance],
        given: Any,
    ) -> Iterator[AnswerSpan | None]:
        """Yield the best span of each instance if it beats "no answer" by the threshold."""
        for instance, (words, none) in zip(
            instances, iter_scores(head, vectors, instances), strict=True
        ):
            yield self.decoding.decode(words, none, instance.choices)

    def to_layer(
        self,
        document: Document,
        predictions: Sequence[tuple[Instance, AnswerSpan | None]],
        new_id: NewId,
    ) -> Layer:
        """Return a layer of the answers."""
        predicted = []
        for instance, prediction in predictions:
            if prediction is not None:
                start, end, score = prediction
                bounds = instance.words[start][0], instance.words[end - 1][1]
                predicted.append((document.queries[instance.query].id, (bounds,), score))
        return answer_layer(self.layer, predicted, new_id)


class _WordLookup:
    """Look up spans in a document's words."""

    def __init__(self, document: Document, words: Sequence[Bounds]) -> None:
        self.text = document.text
        self.starts = {start: row for row, (start, _) in enumerate(words)}
        self.ends = {end: row for row, (_, end) in enumerate(words, 1)}

    def bounds_of(self, spans: Sequence[Span]) -> GoldBounds:
        """Return the word bounds of the contiguous spans whose ends are word ends."""
        bounds = [span_bounds for span in spans if (span_bounds := self._bounds(span)) is not None]
        return tuple(bounds) if bounds or not spans else None

    def _bounds(self, span: Span) -> Bounds | None:
        """Return word bounds; brat has a span over several lines in several fragments."""
        pieces = sorted(span.fragments)
        gaps = [self.text[a:b] for (_, a), (b, _) in zip(pieces, pieces[1:], strict=False)]
        first, last = self.starts.get(span.start), self.ends.get(span.end)
        is_contiguous = not any(gap.strip() for gap in gaps)
        return (first, last) if is_contiguous and first is not None and last is not None else None


def _inside(answer: GoldBounds, instance: Instance) -> list[Bounds] | None:
    """Return bounds, in the instance's words, of the answers that lie within it.

    Without any it is the word that stands for "no answer", where there is one.
    """
    if answer is None:
        return None
    shifted = [(start - instance.first_word, end - instance.first_word) for start, end in answer]
    size = instance.choices[0][0] if instance.choices else len(instance.tokens)
    inside = [(start, end) for start, end in shifted if start >= 0 and end <= size]
    return inside or list(instance.choices)


def _infer_vocabulary(
    options: QuestionOptions, layer: str, train: TrainDocuments
) -> dict[str, Any]:
    unanswered = any(not spans for doc, _ in train for spans in answers(doc, layer).values())
    return {"unanswerable": int(unanswered)}


def _build(setup: TaskSetup[QuestionOptions]) -> ExtractiveQATask:
    options = setup.options
    word = NO_ANSWER_WORD if options.no_answer == "word" else ""
    can_abstain = options.no_answer != "never" and bool(setup.vocabulary["unanswerable"])
    decoding = AnswerDecoding(
        options.max_answer_length,
        options.no_answer_threshold - 2 * setup.bias(_DECISION),  # of the start and of the end
        options.no_answer,
        options.span_selection == "independent",
    )
    return ExtractiveQATask(
        setup.name,
        setup.layer,
        InstanceReader(QuestionReader(options.source_first, word)),
        options.dropout,
        decoding,
        {_DECISION: "f1"} if can_abstain else {},
    )


KIND = TaskType(
    QuestionOptions,
    _infer_vocabulary,
    _build,
    _SAMPLE,
    FAMILY,
    merge_vocabularies,
    example_unit="query",
)
