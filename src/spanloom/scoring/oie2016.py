"""Score Open IE by spans and relations, as SpanRel does for OIE2016 (Jiang et al. 2020, table 5).

Files have one block of word lines per extraction (``formats.oie``). Predicates and arguments of a
sentence are spans, with several fragments if they have gaps, and an argument's role is a relation
to its predicate: it is right if the words of both and the role are. SpanRel itself drops all but
the first fragment of a span.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from spanloom.annotation.openie_tuples import PREDICATE
from spanloom.config.options import Options
from spanloom.document import Document, Layer
from spanloom.formats import _files, oie
from spanloom.metrics import report
from spanloom.metrics.counts import Counts
from spanloom.metrics.spans import bounds
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._documents import (
    DocumentPair,
    format_rows,
    match_documents,
    summarize,
    to_row,
)


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return ratios in percent of roles, of spans, and of whole extractions.

    ``relations`` is the measure of SpanRel. A sentence that only one of the files has is one
    without extractions in the other. Raises ``FormatError``.
    """
    gold_documents, predicted_documents = _sides(gold, predicted)
    report_of_layer = report.score(gold_documents, predicted_documents, oie.LAYER)
    extractions = sum(
        map(_count_extractions, zip(gold_documents, predicted_documents, strict=True)), Counts()
    )
    return {
        "sentences": len(gold_documents),
        "relations": summarize(report_of_layer.relations),
        "spans": summarize(report_of_layer.spans),
        "extractions": to_row(extractions),
    }


def table(scores: Scores) -> str:
    """Format a row for each role, for each label of spans, and for whole extractions."""
    relations, spans = scores["relations"], scores["spans"]
    rows = {
        **relations["labels"],
        "relations": relations,
        **spans["labels"],
        "spans": spans,
        "extractions": scores["extractions"],
    }
    low, high = relations["interval"]
    f1 = f"F1 of relations {relations['f1']:.2f} (95 % interval {low:.2f} to {high:.2f})"
    return "\n".join([f"{scores['sentences']} sentences", *format_rows(rows), f1]) + "\n"


def _sides(gold: Path, predicted: Path) -> tuple[list[Document], list[Document]]:
    """Return gold and predicted documents, where both have the sentences of either."""
    gold_documents, predicted_documents = _read(gold), _read(predicted)
    return match_documents(
        gold_documents + _missing_sentences(gold_documents, predicted_documents),
        predicted_documents + _missing_sentences(predicted_documents, gold_documents),
        predicted,
    )


def _read(path: Path) -> list[Document]:
    """Return the sentences of a file as documents."""
    return list(_files.read(path, oie.KIND, Options()))


def _missing_sentences(
    documents: Iterable[Document], other_side: Iterable[Document]
) -> list[Document]:
    """Return the documents that only ``other_side`` has, without extractions."""
    names = {document.name for document in documents}
    unannotated = (document.unannotated() for document in other_side if document.name not in names)
    return [
        replace(document, layers=(*document.layers, Layer(oie.LAYER))) for document in unannotated
    ]


def _count_extractions(pair: DocumentPair) -> Counts:
    """Count the extractions of a sentence whose predicate and arguments are all right."""
    gold_extractions, predicted_extractions = (_extractions(document) for document in pair)
    return Counts(
        len(gold_extractions & predicted_extractions),
        len(predicted_extractions),
        len(gold_extractions),
    )


def _extractions(document: Document) -> set[object]:
    """Return the bounds of each predicate, and the roles and bounds of its arguments."""
    layer = document[oie.LAYER]
    bounds_of = {span.id: bounds(span) for span in layer.spans}
    arguments: dict[str, set[object]] = {relation.head: set() for relation in layer.relations}
    for relation in layer.relations:
        arguments[relation.head].add((relation.label, bounds_of[relation.tail]))
    return {
        (bounds_of[span.id], frozenset(arguments.get(span.id, ())))
        for span in layer.spans
        if span.label == PREDICATE
    }


KIND = Scorer("oie2016", score, table)
