"""Open information extraction: predicates and their ordered arguments (SpanRel, table 2).

A layer has spans ``predicate`` and ``argument``; relations from one to the other are labelled with
the argument's place, A0, A1 and so on.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from spanloom.annotation.openie_tuples import ARGUMENT, PREDICATE
from spanloom.document import MAIN, Document, Layer, Relation
from spanloom.tasks._base import TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._predicates import build, infer_vocabulary
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import number_spans
from spanloom.tasks._vocabulary import PredicateOptions

_SAMPLE = Document(
    "Ada wrote long letters to Bob .\nBob read some .",
    (
        Layer(
            MAIN,
            number_spans(
                (ARGUMENT, 0, 3),
                (PREDICATE, 4, 9),
                (ARGUMENT, 10, 22),
                (ARGUMENT, 23, 29),
                (ARGUMENT, 32, 35),
                (PREDICATE, 36, 40),
                (ARGUMENT, 41, 45),
            ),
            (
                Relation("R1", "A0", "T2", "T1"),
                Relation("R2", "A1", "T2", "T3"),
                Relation("R3", "A2", "T2", "T4"),
                Relation("R4", "A0", "T6", "T5"),
                Relation("R5", "A1", "T6", "T7"),
            ),
        ),
    ),
    "sample",
)


class TupleOptions(PredicateOptions):
    """Options of open information extraction."""

    spanrel_limits: ClassVar[Mapping[str, float]] = {
        "max_span_width": 30,
        "argument_spans_per_word": 0.8,
    }

    argument_spans_per_word: float = Field(
        0.8, gt=0, description="spans looked at as arguments, times n words"
    )


def _infer_vocabulary(options: TupleOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    return infer_vocabulary(options, layer, train, str, [ARGUMENT])


def _build(setup: TaskSetup[TupleOptions]) -> SpanRelationTask:
    return build(setup, str)


KIND = TaskType(TupleOptions, _infer_vocabulary, _build, _SAMPLE, scores_spans=True)
