"""Score predicted documents against gold ones: spans, relations, and how sure that is."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from spanloom.document import Document, Layer
from spanloom.errors import DataError, LayerError
from spanloom.forms.events import EventScheme, collect, project
from spanloom.forms.looked_for import judged, looked_for
from spanloom.metrics import relations, spans
from spanloom.metrics.bootstrap import Interval, interval
from spanloom.metrics.counts import PRF, Counts, macro, total, total_by_label
from spanloom.metrics.relations import Triple
from spanloom.metrics.tally import Tally, of_counts


@dataclass(frozen=True, slots=True)
class Score:
    """One measure: counts over all documents, by label, a 95 % interval of micro F1.

    ``tally`` stands in the order of the gold documents, so that two systems can be compared with
    ``bootstrap.paired``.
    """

    micro: Counts
    macro: PRF
    by_label: dict[str, Counts]
    tally: Tally
    interval: Interval

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``; documents left out."""
        return {
            "micro": _numbers(self.micro),
            "macro": asdict(self.macro),
            "f1_interval": asdict(self.interval),
            "labels": {label: _numbers(each) for label, each in self.by_label.items()},
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The scores of one layer.

    ``relations`` asks for label and both bounds, ``relations_typed`` for the labels of both ends as
    well; events are in them as relations from their trigger. ``not_annotated`` are gold documents
    without the layer, which count nowhere; ``unscored`` gold and predicted relations with an end
    that is no span.
    """

    layer: str
    documents: int
    spans: Score
    relations: Score
    relations_typed: Score
    not_annotated: int = 0
    unscored: int = 0

    def tallies(self) -> dict[str, Tally]:
        """Return what each F1 is made of."""
        return {
            "spans": self.spans.tally,
            "relations": self.relations.tally,
            "relations_typed": self.relations_typed.tally,
        }

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""
        return {
            "layer": self.layer,
            "documents": self.documents,
            "not_annotated": self.not_annotated,
            "unscored_relations": self.unscored,
            "spans": self.spans.to_json(),
            "relations": self.relations.to_json(),
            "relations_typed": self.relations_typed.to_json(),
        }

    def to_table(self) -> str:
        """Return aligned text: one section a measure, ratios in percent."""
        head = heading(self.layer, self.documents, self.not_annotated, self.unscored)
        sections = [("spans (bounds and label)", self.spans)]
        if self.relations.by_label:
            sections.append(("relations (bounds and label)", self.relations))
            sections.append(("relations (and labels of both ends)", self.relations_typed))
        parts = [head, *(section(title, score) for title, score in sections)]
        return "\n\n".join(parts) + "\n"


def heading(layer: str, documents: int, not_annotated: int, unscored: int = 0) -> str:
    """Say what was scored, and what was not."""
    lines = [f"layer {layer}: {documents} documents"]
    if not_annotated:
        lines.append(f"without this layer, not scored: {not_annotated} documents")
    if unscored:
        lines.append(f"with an end that is no span, not scored: {unscored} relations")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Pair:
    """One text, gold and predicted; the relations with their ends at hand."""

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
    predicts nothing. Labels that nobody looked for in a gold document are not scored in it
    (``forms.looked_for``). Raises ``DataError`` where names do not match one to one or texts
    differ, and ``LayerError`` where no gold document has the layer.
    """
    matched = [_judgeable(*both, layer) for both in annotated(gold, predicted, layer)]
    sides = [(_layer(a, layer), _layer(b, layer)) for a, b in matched]
    scheme = collect(side for pair in sides for side in pair)
    pairs = [_pair(a, b, layer, scheme) for a, b in matched]

    def related(*, typed: bool) -> Score:
        tables = [
            relations.count_by_label(each.gold_triples, each.predicted_triples, typed=typed)
            for each in pairs
        ]
        return summed(tables, seed, resamples)

    found = [spans.count_by_label(each.gold.spans, each.predicted.spans) for each in pairs]
    return Report(
        layer=layer,
        documents=len(pairs),
        spans=summed(found, seed, resamples),
        relations=related(typed=False),
        relations_typed=related(typed=True),
        not_annotated=len(gold) - len(pairs),
        unscored=sum(each.unscored for each in pairs),
    )


def _judgeable(gold: Document, predicted: Document, layer: str) -> tuple[Document, Document]:
    """Both documents without what cannot be judged in the gold one."""
    if looked_for(gold, layer) is None:
        return gold, predicted
    mine, theirs = (judged(gold, _layer(each, layer)) for each in (gold, predicted))
    return gold.with_layer(mine), predicted.with_layer(theirs)


def _layer(document: Document, name: str) -> Layer:
    """The document's layer, or an empty one."""
    return document[name] if document.has(name) else Layer(name)


def annotated(
    gold: Sequence[Document], predicted: Sequence[Document], layer: str
) -> list[tuple[Document, Document]]:
    """Return ``couples`` of gold documents that have a layer; ``LayerError`` where none has it."""
    matched = [couple for couple in couples(gold, predicted) if couple[0].has(layer)]
    if not matched:
        known = sorted({each.name for document in gold for each in document.layers})
        raise LayerError("gold documents", layer, known)
    return matched


def couples(
    gold: Sequence[Document], predicted: Sequence[Document]
) -> list[tuple[Document, Document]]:
    """Gold and predicted documents of one name, in gold order."""
    by_name = _by_name("predicted", predicted)
    missing = sorted(_by_name("gold", gold).keys() - by_name.keys())
    if missing:
        raise DataError(f"predicted: no document {missing[0]!r} ({len(missing)} of gold missing)")
    extra = sorted(by_name.keys() - {each.name for each in gold})
    if extra:
        raise DataError(f"gold: no document {extra[0]!r} ({len(extra)} of predicted missing)")
    for each in gold:
        _same_text(each, by_name[each.name])
    return [(each, by_name[each.name]) for each in gold]


def _by_name(side: str, documents: Iterable[Document]) -> dict[str, Document]:
    """Documents by name; one name twice is a ``DataError``."""
    known: dict[str, Document] = {}
    for document in documents:
        if document.name in known:
            raise DataError(f"{side}: expected one document {document.name!r}, got two")
        known[document.name] = document
    return known


def _same_text(gold: Document, predicted: Document) -> None:
    """Offsets of two documents can only be compared over one text."""
    if gold.text == predicted.text:
        return
    both = zip(gold.text, predicted.text, strict=False)
    shorter = min(len(gold.text), len(predicted.text))
    place = next((i for i, (a, b) in enumerate(both) if a != b), shorter)
    raise DataError(
        f"{gold.name}: expected the same text in gold and predicted, they differ at character "
        f"{place} (lengths {len(gold.text)} and {len(predicted.text)})"
    )


def _pair(gold: Document, predicted: Document, layer: str, scheme: EventScheme) -> _Pair:
    """Project both sides with one scheme and look up the ends of their relations."""
    sides = _layer(gold, layer), _layer(predicted, layer)
    found = [
        relations.triples(project(side, scheme)[1], document.annotations())
        for document, side in zip((gold, predicted), sides, strict=True)
    ]
    (first, lost), (second, lost_too) = found
    return _Pair(*sides, first, second, lost + lost_too)


def summed(tables: Sequence[dict[str, Counts]], seed: int = 0, resamples: int = 1000) -> Score:
    """Add up one table of counts a document, by label."""
    by_document = [total(table.values()) for table in tables]
    by_label, tally = total_by_label(tables), of_counts(by_document)
    sure = interval(tally, seed=seed, resamples=resamples)
    return Score(total(by_document), macro(by_label), by_label, tally, sure)


def _numbers(counts: Counts) -> dict[str, float]:
    """Counts and their ratios under one roof."""
    return {**asdict(counts), **asdict(counts.prf)}


def section(title: str, score: Score) -> str:
    """A title, the averages, then a line a label."""
    width = max([len("label"), *map(len, score.by_label)])
    low, high = 100 * score.interval.low, 100 * score.interval.high
    lines = [
        f"{title}: F1 {100 * score.micro.f1:.2f} (95 % interval {low:.2f} to {high:.2f})",
        f"  {'label':{width}}  precision  recall      F1  hits  predicted   gold",
        *(_row(label, each.prf, each, width) for label, each in score.by_label.items()),
        _row("micro", score.micro.prf, score.micro, width),
        _row("macro", score.macro, None, width),
    ]
    return "\n".join(lines)


def _row(label: str, ratios: PRF, counts: Counts | None, width: int) -> str:
    """One line of a section."""
    left = f"  {label:{width}}  {100 * ratios.precision:9.2f}  {100 * ratios.recall:6.2f}  "
    line = f"{left}{100 * ratios.f1:6.2f}"
    if counts is None:
        return line
    return f"{line}  {counts.hits:4}  {counts.predicted:9}  {counts.gold:5}"
