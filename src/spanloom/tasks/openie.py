"""Open information extraction: predicates and their ordered arguments (SpanRel, table 2).

A layer has spans ``predicate`` and ``argument``; relations from one to the other are labelled with
the argument's place, A0, A1 and so on.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from spanloom.document import MAIN, Document, Layer, Relation
from spanloom.forms.tuples import ARGUMENT, PREDICATE
from spanloom.tasks._base import Kind, Train
from spanloom.tasks._predicates import PredicateOptions, PredicateTask, collected, make
from spanloom.tasks._spans import labelled

_SAMPLE = Document(
    "Ada wrote long letters to Bob .\nBob read some .",
    (
        Layer(
            MAIN,
            labelled(
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

    paper: ClassVar[Mapping[str, float]] = {"width": 30, "prune": 0.8}

    prune: float = Field(0.8, gt=0, description="spans looked at as arguments, times n words")


def _collect(options: TupleOptions, layer: str, train: Train) -> dict[str, Any]:
    return collected(options, layer, train, str, [ARGUMENT])


def _make(
    name: str,
    layer: str,
    options: TupleOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> PredicateTask:
    return make(name, layer, options, collected, str)


KIND = Kind(TupleOptions, _collect, _make, _SAMPLE)
