"""Score spans and relations of predicted documents against gold ones, with confidence intervals.

Relations match if label, direction and the bounds of both ends do, "typed" ones if the labels of
both ends do, too ("strict"; the former is what SpanRel, Jiang et al. 2020, reports). Both sides are
sets: equal relations count once on each side. Events are compared as the relations that
``annotation.events.project`` makes of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

from spanloom.annotation.events import EventScheme, collect, project
from spanloom.annotation.partial_labels import annotated_labels, scorable
from spanloom.document import Document, Layer
from spanloom.errors import DataError, LayerError
from spanloom.metrics import spans
from spanloom.metrics.bootstrap import (
    DocumentCounts,
    Interval,
    counts_per_document,
    interval,
    interval_text,
)
from spanloom.metrics.counts import PRF, Counts, macro, total, total_by_label
from spanloom.metrics.spans import Triple
from spanloom.quantity import quantity


@dataclass(frozen=True, slots=True)
class Score:
    """One measure: counts over all documents and by label, and a 95 % interval of micro F1.

    ``document_counts`` are in the order of the gold documents, so that two systems can be compared
    with ``bootstrap.paired``.
    """

    micro: Counts
    macro: PRF
    by_label: dict[str, Counts]
    document_counts: DocumentCounts
    interval: Interval

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``, without counts per document."""
        return {
            "micro": _numbers(self.micro),
            "macro": asdict(self.macro),
            "f1_interval": asdict(self.interval),
            "labels": {label: _numbers(counts) for label, counts in self.by_label.items()},
        }


@dataclass(frozen=True, slots=True)
class LayerReport:
    """The scores of one layer; a subclass has a ``Score`` for each field that ``MEASURES`` names.

    ``not_annotated`` is the number of gold documents without the layer, which are not scored;
    ``unscored`` that of gold and predicted relations with an end that is no span. ``MEASURES`` maps
    fields to metric names and titles.
    """

    MEASURES: ClassVar[Mapping[str, tuple[str, str]]] = {}
    UNSCORED: ClassVar[str] = "unscored_relations"

    layer: str
    documents: int
    not_annotated: int
    unscored: int

    def measures(self) -> dict[str, Score]:
        """Return the score of each field."""
        return {name: getattr(self, name) for name in self.MEASURES}

    def per_document_counts(self) -> dict[str, DocumentCounts]:
        """Return the counts behind each metric."""
        return {self.MEASURES[name][0]: s.document_counts for name, s in self.measures().items()}

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""
        unscored = {self.UNSCORED: self.unscored} if self.UNSCORED else {}
        return {
            "layer": self.layer,
            "documents": self.documents,
            "not_annotated": self.not_annotated,
            **unscored,
            **{name: score.to_json() for name, score in self.measures().items()},
        }

    def to_table(self) -> str:
        """Return aligned text: one section per measure, ratios in percent."""
        header = heading(self.layer, self.documents, self.not_annotated, self.unscored)
        names = self.shown_measures()
        sections = [section(self.MEASURES[name][1], getattr(self, name)) for name in names]
        return "\n\n".join([header, *sections]) + "\n"

    def shown_measures(self) -> Sequence[str]:
        """Return the fields that the table shows."""
        return list(self.MEASURES)


@dataclass(frozen=True, slots=True)
class Report(LayerReport):
    """The scores of one layer of spans and relations.

    ``relations`` compares label and bounds of both ends, ``relations_typed`` also the labels of
    both ends; events count as relations from their triggers.
    """

    MEASURES: ClassVar[Mapping[str, tuple[str, str]]] = {
        "spans": ("span_f1", "spans (bounds and label)"),
        "relations": ("relation_f1", "relations (bounds and label)"),
        "relations_typed": ("relation_f1_typed", "relations (and labels of both ends)"),
    }

    spans: Score
    relations: Score
    relations_typed: Score

    def shown_measures(self) -> Sequence[str]:
        """Return all fields, or spans alone if there are no relations."""
        return list(self.MEASURES) if self.relations.by_label else ["spans"]


def heading(layer: str, documents: int, not_annotated: int, unscored: int = 0) -> str:
    """Return lines that say what was scored and what was not."""
    lines = [f"layer {layer}: {quantity(documents, 'document')}"]
    if not_annotated:
        lines.append(f"without this layer, not scored: {quantity(not_annotated, 'document')}")
    if unscored:
        lines.append(f"with an end that is no span, not scored: {quantity(unscored, 'relation')}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Pair:
    """One text, gold and predicted, with the relations' spans."""

    gold: Layer
    predicted: Layer
    gold_triples: tuple[Triple, ...]
    predicted_triples: tuple[Triple, ...]
    unscored: int


def score(
    gold: Sequence[Document],
    predicted: Sequence[Document],
    layer: str,
    *,
    seed: int = 0,
    resamples: int = 1000,
) -> Report:
    """Score a layer of the predicted documents against the gold ones of the same name.

    A gold document without the layer is not annotated and not scored; a predicted one without it
    predicts nothing. Labels that were not annotated in a gold document are not scored in it
    (``annotation.partial_labels``). Raises ``DataError`` where names do not match one to one or
    texts differ, and ``LayerError`` where no gold document has the layer.
    """
    matched = [_scorable_pair(*pair, layer) for pair in annotated_documents(gold, predicted, layer)]
    sides = [(a.layer_or_empty(layer), b.layer_or_empty(layer)) for a, b in matched]
    scheme = collect(side for pair in sides for side in pair)
    pairs = [_pair(a, b, layer, scheme) for a, b in matched]

    def score_relations(*, typed: bool) -> Score:
        tables = [
            spans.count_relations_by_label(pair.gold_triples, pair.predicted_triples, typed=typed)
            for pair in pairs
        ]
        return sum_counts(tables, seed, resamples)

    span_tables = [spans.count_by_label(pair.gold.spans, pair.predicted.spans) for pair in pairs]
    return Report(
        layer=layer,
        documents=len(pairs),
        spans=sum_counts(span_tables, seed, resamples),
        relations=score_relations(typed=False),
        relations_typed=score_relations(typed=True),
        not_annotated=len(gold) - len(pairs),
        unscored=sum(pair.unscored for pair in pairs),
    )


def _scorable_pair(gold: Document, predicted: Document, layer: str) -> tuple[Document, Document]:
    """Return both documents without spans that the gold annotation cannot judge."""
    if annotated_labels(gold, layer) is None:
        return gold, predicted
    gold_layer = scorable(gold, gold.layer_or_empty(layer))
    predicted_layer = scorable(gold, predicted.layer_or_empty(layer))
    return gold.with_layer(gold_layer), predicted.with_layer(predicted_layer)


def annotated_documents(
    gold: Sequence[Document], predicted: Sequence[Document], layer: str
) -> list[tuple[Document, Document]]:
    """Return ``matched_documents`` whose gold has the layer; ``LayerError`` if none has it."""
    matched = [pair for pair in matched_documents(gold, predicted) if pair[0].has_layer(layer)]
    if not matched:
        names = sorted({source.name for document in gold for source in document.layers})
        raise LayerError("gold documents", layer, names)
    return matched


def matched_documents(
    gold: Sequence[Document], predicted: Sequence[Document]
) -> list[tuple[Document, Document]]:
    """Return pairs of gold and predicted documents of one name, in gold order.

    Raises ``DataError`` where names do not match one to one or texts differ.
    """
    predicted_by_name = _by_name("predicted", predicted)
    missing = sorted(_by_name("gold", gold).keys() - predicted_by_name.keys())
    if missing:
        raise DataError(f"predicted: no document {missing[0]!r} ({len(missing)} of gold missing)")
    extra = sorted(predicted_by_name.keys() - {document.name for document in gold})
    if extra:
        raise DataError(f"gold: no document {extra[0]!r} ({len(extra)} of predicted missing)")
    pairs = [(document, predicted_by_name[document.name]) for document in gold]
    for gold_document, predicted_document in pairs:
        _check_same_text(gold_document, predicted_document)
    return pairs


def _by_name(side: str, documents: Iterable[Document]) -> dict[str, Document]:
    """Return documents by name; raises ``DataError`` for a duplicate name."""
    by_name: dict[str, Document] = {}
    for document in documents:
        if document.name in by_name:
            raise DataError(f"{side}: expected one document {document.name!r}, got two")
        by_name[document.name] = document
    return by_name


def _check_same_text(gold: Document, predicted: Document) -> None:
    """Raise ``DataError`` unless the texts are equal: offsets need a common text."""
    if gold.text == predicted.text:
        return
    characters = zip(gold.text, predicted.text, strict=False)
    shorter = min(len(gold.text), len(predicted.text))
    offset = next((i for i, (a, b) in enumerate(characters) if a != b), shorter)
    raise DataError(
        f"{gold.name}: expected the same text in gold and predicted, they differ at character "
        f"{offset} (lengths {len(gold.text)} and {len(predicted.text)})"
    )


def _pair(gold: Document, predicted: Document, layer: str, scheme: EventScheme) -> _Pair:
    """Project both sides with one scheme and look up the ends of their relations."""
    sides = gold.layer_or_empty(layer), predicted.layer_or_empty(layer)
    side_triples = [
        spans.triples(project(side, scheme)[1], document.annotations())
        for document, side in zip((gold, predicted), sides, strict=True)
    ]
    (gold_triples, gold_lost), (predicted_triples, predicted_lost) = side_triples
    return _Pair(*sides, gold_triples, predicted_triples, gold_lost + predicted_lost)


def sum_counts(tables: Sequence[dict[str, Counts]], seed: int = 0, resamples: int = 1000) -> Score:
    """Add up one table of counts by label per document."""
    by_document = [total(table.values()) for table in tables]
    by_label, document_counts = total_by_label(tables), counts_per_document(by_document)
    f1_interval = interval(document_counts, seed=seed, resamples=resamples)
    return Score(total(by_document), macro(by_label), by_label, document_counts, f1_interval)


def _numbers(counts: Counts) -> dict[str, float]:
    """Return counts and their ratios by name."""
    return {**asdict(counts), **asdict(counts.prf)}


def section(title: str, score: Score) -> str:
    """Return a title, the averages, then one line per label."""
    width = max([len("label"), *map(len, score.by_label)])
    bounds = interval_text(score.interval, len(score.document_counts.rows))
    lines = [
        f"{title}: F1 {100 * score.micro.f1:.2f} ({bounds})",
        f"  {'label':{width}}  precision  recall      F1  hits  predicted   gold",
        *(_row(label, counts.prf, counts, width) for label, counts in score.by_label.items()),
        _row("micro", score.micro.prf, score.micro, width),
        _row("macro", score.macro, None, width),
    ]
    return "\n".join(lines)


def _row(label: str, ratios: PRF, counts: Counts | None, width: int) -> str:
    """Return one line of a section."""
    cells = f"  {label:{width}}  {100 * ratios.precision:9.2f}  {100 * ratios.recall:6.2f}  "
    line = f"{cells}{100 * ratios.f1:6.2f}"
    if counts is None:
        return line
    return f"{line}  {counts.hits:4}  {counts.predicted:9}  {counts.gold:5}"


@dataclass(frozen=True, slots=True)
class TripleReport(LayerReport):
    """The scores of one layer's relations, compared by the last words of their ends."""

    MEASURES: ClassVar[Mapping[str, tuple[str, str]]] = {
        "relations": ("relation_f1", "relations (last words and label)")
    }

    relations: Score


def score_triples(
    gold: Sequence[Document], predicted: Sequence[Document], layer: str
) -> TripleReport:
    """Score a layer's relations; raises as ``metrics.report.score`` does."""
    gold = [_document_with_ends(document) for document in gold]
    predicted = [_document_with_ends(document) for document in predicted]
    report = score(gold, predicted, layer)
    return TripleReport(
        report.layer, report.documents, report.not_annotated, report.unscored, report.relations
    )


def _document_with_ends(document: Document) -> Document:
    """Return the document with each span reduced to its end, a span of no width."""
    return replace(document, layers=tuple(_layer_with_ends(layer) for layer in document.layers))


def _layer_with_ends(layer: Layer) -> Layer:
    """Return the layer with each span reduced to its end."""
    spans = (replace(span, fragments=((span.end, span.end),)) for span in layer.spans)
    return replace(layer, spans=tuple(spans))
