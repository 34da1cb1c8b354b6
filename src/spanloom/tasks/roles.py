"""Semantic roles: predicates, and who did what to whom (SpanRel, table 2; He et al. 2018).

A layer has predicates, labelled with whatever sense, spans ``argument`` and relations to them, R-
and C- roles as they are. A role is right when predicate, span and label are; the predicate itself
("V") is none. All predicates are called alike unless ``rolesets`` asks for their labels.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from spanloom.document import MAIN, Document, Layer, Relation
from spanloom.formats._propositions import ARGUMENT
from spanloom.tasks._base import Kind, Train
from spanloom.tasks._predicates import PredicateOptions, PredicateTask, collected, make
from spanloom.tasks._spans import labelled

PREDICATE = "predicate"

_SAMPLE = Document(
    "Ada wanted to read letters .\nBob slept here .",
    (
        Layer(
            MAIN,
            labelled(
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

    paper: ClassVar[Mapping[str, float]] = {"width": 30, "prune": 1.0}

    rolesets: bool = Field(False, description="whether predicates are labelled with their senses")


def _name(label: str) -> str:
    return ARGUMENT if label == ARGUMENT else PREDICATE


def _collect(options: RoleOptions, layer: str, train: Train) -> dict[str, Any]:
    return collected(options, layer, train, str if options.rolesets else _name, [ARGUMENT])


def _make(
    name: str,
    layer: str,
    options: RoleOptions,
    collected: Mapping[str, Any],
    united: Mapping[str, Any],
) -> PredicateTask:
    return make(name, layer, options, collected, str if options.rolesets else _name)


KIND = Kind(RoleOptions, _collect, _make, _SAMPLE)
