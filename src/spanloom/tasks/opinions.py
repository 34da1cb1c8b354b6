"""Opinion role labelling: expressions of opinions, who holds them, and of what (SpanRel, table 2).

A layer has expressions, of any labels (their polarity), and relations ``source`` and ``target``
from them to spans of the same names. With ``gold_predicates`` the expressions are gold, as in
Marasović and Frank (2018); holders and targets never are.
"""

from typing import Any

from spanloom.document import MAIN, Document, Layer, Relation
from spanloom.formats.opinions import SOURCE, TARGET
from spanloom.tasks._base import TaskSetup, TaskType, TrainDocuments
from spanloom.tasks._predicates import build, infer_vocabulary
from spanloom.tasks._span_relation import SpanRelationTask
from spanloom.tasks._spans import number_spans
from spanloom.tasks._vocabulary import PredicateOptions

_SAMPLE = Document(
    "We love the view .\nThe staff hated us .",
    (
        Layer(
            MAIN,
            number_spans(
                (SOURCE, 0, 2),
                ("Positive", 3, 7),
                (TARGET, 8, 16),
                (SOURCE, 19, 28),
                ("Negative", 29, 34),
                (TARGET, 35, 37),
            ),
            (
                Relation("R1", SOURCE, "T2", "T1"),
                Relation("R2", TARGET, "T2", "T3"),
                Relation("R3", SOURCE, "T5", "T4"),
                Relation("R4", TARGET, "T5", "T6"),
            ),
        ),
    ),
    "sample",
)


def _infer_vocabulary(
    options: PredicateOptions, layer: str, train: TrainDocuments
) -> dict[str, Any]:
    return infer_vocabulary(options, layer, train, str, [SOURCE, TARGET])


def _build(setup: TaskSetup[PredicateOptions]) -> SpanRelationTask:
    return build(setup, str)


KIND = TaskType(PredicateOptions, _infer_vocabulary, _build, _SAMPLE, scores_spans=True)
