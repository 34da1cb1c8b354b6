"""Semantic roles: predicates, and who did what to whom (SpanRel, table 2; He et al. 2018).

A layer has predicates, labelled with whatever sense, spans ``argument`` and relations to them, R-
and C- roles as they are. A role is right when predicate, span and label are; the predicate itself
("V") is none. All predicates are called alike unless ``predict_senses`` asks for their labels.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from spanloom.document import MAIN, Document, Layer, Relation
from spanloom.formats._propositions import ARGUMENT
from spanloom.tasks._base import TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._predicates import build, infer_vocabulary
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import number_spans
from spanloom.tasks._vocabulary import PredicateOptions

PREDICATE = "predicate"

_SAMPLE = Document(
    "Ada wanted to read letters .\nBob slept here .",
    (
        Layer(
            MAIN,
            number_spans(
                (ARGUMENT, 0, 3),
                (PREDICATE, 4, 10),
                (ARGUMENT, 11, 26),
                (PREDICATE, 14, 18),
                (ARGUMENT, 19, 26),
                (ARGUMENT, 29, 32),
                (PREDICATE, 33, 38),
            ),
            (
                Relation("R1", "ARG0", "T2", "T1"),
                Relation("R2", "ARG1", "T2", "T3"),
                Relation("R3", "ARG0", "T4", "T1"),
                Relation("R4", "ARG1", "T4", "T5"),
                Relation("R5", "ARG0", "T7", "T6"),
            ),
        ),
    ),
    "sample",
)


class RoleOptions(PredicateOptions):
    """Options of semantic roles."""

    spanrel_limits: ClassVar[Mapping[str, float]] = {
        "max_span_width": 30,
        "argument_spans_per_word": 1.0,
    }

    predict_senses: bool = Field(
        False, description="whether predicates are labelled with their senses"
    )


def _name(label: str) -> str:
    return ARGUMENT if label == ARGUMENT else PREDICATE


def _infer_vocabulary(options: RoleOptions, layer: str, train: TrainDocuments) -> dict[str, Any]:
    return infer_vocabulary(
        options, layer, train, str if options.predict_senses else _name, [ARGUMENT]
    )


def _build(setup: TaskSetup[RoleOptions]) -> SpanRelationTask:
    return build(setup, str if setup.options.predict_senses else _name)


KIND = TaskType(RoleOptions, _infer_vocabulary, _build, _SAMPLE, scores_spans=True)
