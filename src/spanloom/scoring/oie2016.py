"""Open IE by spans and relations, as SpanRel reports it for OIE2016 (Jiang et al. 2020, table 5).

Files are blocks of words, a block an extraction (``formats.oie``). In each sentence predicates and
arguments are spans, of several fragments where they have gaps, and an argument's role is a relation
to its predicate: it is right when both have the right words and the role is right. SpanRel itself
drops all but the first fragment of a span.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from spanloom.config.options import Options
from spanloom.document import Document, Layer
from spanloom.formats import _files, oie
from spanloom.forms.tuples import PREDICATE
from spanloom.metrics import report
from spanloom.metrics.counts import Counts
from spanloom.metrics.spans import bounds
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._documents import Couple, matched, measured, row, rows_of


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return ratios in percent of roles, of spans, and of whole extractions.

    ``relations`` is what SpanRel reports. A sentence of one file alone has no extraction in the
    other. Raises ``FormatError``.
    """
    mine, theirs = _sides(gold, predicted)
    found = report.score(mine, theirs, oie.LAYER)
    whole = sum(map(_whole, zip(mine, theirs, strict=True)), Counts())
    return {
        "sentences": len(mine),
        "relations": measured(found.relations),
        "spans": measured(found.spans),
        "extractions": row(whole),
    }


def table(scores: Scores) -> str:
    """Return a row for each role, for each label of spans, and for whole extractions."""
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
    return "\n".join([f"{scores['sentences']} sentences", *rows_of(rows), f1]) + "\n"


def _sides(gold: Path, predicted: Path) -> tuple[list[Document], list[Document]]:
    """Return both sides, each with the sentences of the other too."""
    mine, theirs = _read(gold), _read(predicted)
    return matched(mine + _lacking(mine, theirs), theirs + _lacking(theirs, mine), predicted)


def _read(path: Path) -> list[Document]:
    return list(_files.read(path, oie.KIND, Options()))


def _lacking(side: Iterable[Document], other: Iterable[Document]) -> list[Document]:
    """Return the documents of the other side that this one has not, without extractions."""
    names = {each.name for each in side}
    bare = (each.bare() for each in other if each.name not in names)
    return [replace(each, layers=(*each.layers, Layer(oie.LAYER))) for each in bare]


def _whole(couple: Couple) -> Counts:
    """Count the extractions of a sentence whose predicate and arguments are all right."""
    mine, theirs = (_extractions(each) for each in couple)
    return Counts(len(mine & theirs), len(theirs), len(mine))


def _extractions(document: Document) -> set[object]:
    """Return the bounds of each predicate, and the roles and bounds of its arguments."""
    layer = document[oie.LAYER]
    places = {span.id: bounds(span) for span in layer.spans}
    arguments: dict[str, set[object]] = {each.head: set() for each in layer.relations}
    for each in layer.relations:
        arguments[each.head].add((each.label, places[each.tail]))
    return {
        (places[span.id], frozenset(arguments.get(span.id, ())))
        for span in layer.spans
        if span.label == PREDICATE
    }


KIND = Scorer("oie2016", score, table)
