"""Score two or three versions of a corpus in any readable format."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from spanloom.document import GIVEN_WORDS, Document
from spanloom.errors import DataError, FormatError, NameNotFound
from spanloom.formats import _files
from spanloom.formats.brat import folder
from spanloom.formats.brat.draft import problems_note
from spanloom.formats.brat.read import load
from spanloom.metrics import report
from spanloom.metrics.bootstrap import (
    FEW_DOCUMENTS,
    Interval,
    interval_text,
    paired,
    permutation,
)
from spanloom.metrics.counts import PRF, Counts
from spanloom.metrics.report import Report, Score
from spanloom.quantity import shorten_list
from spanloom.scoring._base import Scores

LAYER, AGAINST = "--layer", "--against"
OPTIONS = {LAYER: True, AGAINST: True}

_LOG = logging.getLogger("spanloom.scoring")  # writes to stderr unless a program configures it

DocumentPair = tuple[Document, Document]


def documents(path: Path) -> list[Document]:
    """Return the documents of a file of any recognizable format, of a folder of brat files, or of
    one .ann, whose text lies beside it.

    A file is read with the options that its beginning shows, as ``spanloom check`` reads it.
    Invalid brat lines are not scored; a warning tells how many there are. Raises ``FormatError``.
    """
    if path.is_dir() or path.suffix == ".ann":
        return _brat_documents(path)
    name = _files.guess(path)
    if name is None:
        choices = ", ".join([f"a folder of {_files.BRAT} files", *_files.names()])
        raise FormatError(str(path), None, f"cannot tell its format (known: {choices})")
    file_format = _files.load(name)
    options = _files.sniff_options(path, file_format)
    return list(_files.name_documents(_files.read(path, file_format, options), path.stem))


def _brat_documents(path: Path) -> list[Document]:
    """Return the documents of a folder of brat files, or of one .ann; log how many lines fail."""
    readings = list(folder.read_all(path) if path.is_dir() else [load(path.with_suffix(".txt"))])
    if count := sum(len(reading.problems) for reading in readings):
        _LOG.warning("%s: %s; what cannot be read is not scored", path, problems_note(count))
    return [reading.document for reading in readings]


def sides(gold: Path, predicted: Path) -> tuple[list[Document], list[Document]]:
    """Return gold and predicted documents, in gold order and with gold names.

    They are matched by name, or by order if they have no name in common. Raises ``FormatError`` if
    documents are missing or texts differ.
    """
    return match_documents(documents(gold), documents(predicted), predicted)


def match_documents(
    gold: list[Document], predicted: list[Document], predicted_path: Path
) -> tuple[list[Document], list[Document]]:
    """Return gold and predicted documents as ``sides`` does; ``predicted_path`` is for errors."""
    names = {document.name for document in gold}
    if len(gold) == len(predicted) and names.isdisjoint(document.name for document in predicted):
        predicted = [
            replace(document, name=gold_document.name)
            for gold_document, document in zip(gold, predicted, strict=True)
        ]
    try:
        return gold, [document for _, document in report.matched_documents(gold, predicted)]
    except DataError as error:
        raise FormatError(str(predicted_path), None, str(error)) from error


def annotated_pairs(
    gold: Sequence[Document], predicted: Sequence[Document], layer: str
) -> list[DocumentPair]:
    """Return the pairs whose gold document has that layer."""
    return [pair for pair in zip(gold, predicted, strict=True) if pair[0].has_layer(layer)]


def score_layers(
    gold: Path,
    predicted: Path,
    options: Mapping[str, str],
    pick: Callable[[Report], Score],
) -> Scores:
    """Return a measure of each layer, and its comparison with a second prediction."""
    gold_documents, predicted_documents = sides(gold, predicted)
    second_documents = None
    if AGAINST in options:
        second = Path(options[AGAINST])
        second_documents = match_documents(gold_documents, documents(second), second)[1]
    layers: Scores = {}
    for name in _scored_layers(gold_documents, predicted_documents, options.get(LAYER), predicted):
        _log_lacking(name, gold, gold_documents, predicted_documents, "are not scored")
        _log_lacking(name, predicted, predicted_documents, gold_documents, "count as empty")
        layer_report = report.score(gold_documents, predicted_documents, name)
        layers[name] = {"documents": layer_report.documents, **summarize(pick(layer_report))}
        if layer_report.unscored:
            layers[name]["without_span_ends"] = layer_report.unscored
        if second_documents is not None:
            second_score = pick(report.score(gold_documents, second_documents, name))
            layers[name]["against"] = compare_predictions(pick(layer_report), second_score)
    return {"layers": layers}


def _log_lacking(
    layer: str, path: Path, side: Sequence[Document], other: Sequence[Document], outcome: str
) -> None:
    """Log the documents of one side, read from ``path``, that lack a layer which the other has."""
    pairs = zip(side, other, strict=True)
    names = [a.name for a, b in pairs if b.has_layer(layer) and not a.has_layer(layer)]
    if names:
        listed = shorten_list(names)
        _LOG.warning("%s: without layer %s, so they %s: %s", path, layer, outcome, listed)


def summarize(score: Score) -> Scores:
    """Return counts and ratios in percent, the interval of F1, and the same by label."""
    low, high = 100 * score.interval.low, 100 * score.interval.high
    return {
        **to_row(score.micro),
        "interval": [low, high],
        "macro": to_percent(score.macro),
        "labels": {label: to_row(counts) for label, counts in score.by_label.items()},
    }


def compare_predictions(first: Score, second: Score) -> Scores:
    """Return the first score's F1 minus the second's, and the p-values of that difference.

    That of the bootstrap is None where there are too few documents for it.
    """
    first_counts, second_counts = first.document_counts, second.document_counts
    is_tested = len(first_counts.rows) >= FEW_DOCUMENTS
    return {
        **to_row(second.micro),
        "difference": 100 * (first.micro.f1 - second.micro.f1),
        "p_bootstrap": paired(first_counts, second_counts) if is_tested else None,
        "p_permutation": permutation(first_counts, second_counts),
    }


def to_row(counts: Counts) -> Scores:
    """Return ratios in percent and the counts they are computed from."""
    numbers = {"hits": counts.hits, "predicted": counts.predicted, "gold": counts.gold}
    return {**to_percent(counts.prf), **numbers}


def to_percent(ratios: PRF) -> dict[str, float]:
    """Return three ratios in percent."""
    return {
        "precision": 100 * ratios.precision,
        "recall": 100 * ratios.recall,
        "f1": 100 * ratios.f1,
    }


def table(scores: Scores) -> str:
    """Format each layer's labels, their total, and the comparison with a second prediction."""
    blocks = []
    for name, layer in scores["layers"].items():
        low, high = (bound / 100 for bound in layer["interval"])
        bounds = interval_text(Interval(low, high), layer["documents"])
        rows = {**layer["labels"], "all": layer}
        lines = [f"layer {name}, {layer['documents']} documents", *format_rows(rows)]
        lines.append(f"F1 {layer['f1']:.2f} ({bounds})")
        if "against" in layer:
            against = layer["against"]
            difference = f"against {against['f1']:.2f}: {against['difference']:+.2f}"
            p, p_values = against["p_bootstrap"], f"permutation {against['p_permutation']:.4f}"
            if p is not None:
                p_values = f"bootstrap {p:.4f}, {p_values}"
            lines.append(f"{difference}, p-value by {p_values}")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def format_rows(rows: Mapping[str, Mapping[str, float]]) -> Iterable[str]:
    """Yield a header, and one line of ratios and counts per row."""
    width = max(len("label"), *map(len, rows))
    yield f"{'label':{width}}  precision  recall      F1   hits  predicted   gold"
    for label, row in rows.items():
        ratios = f"{row['precision']:9.2f}  {row['recall']:6.2f}  {row['f1']:6.2f}"
        counts = f"{row['hits']:5}  {row['predicted']:9}  {row['gold']:5}"
        yield f"{label:{width}}  {ratios}  {counts}"


def _scored_layers(
    gold: Iterable[Document], predicted: Iterable[Document], requested: str | None, path: Path
) -> list[str]:
    """Return the layers to score: the requested one, else all common layers but the given words."""
    gold_names, predicted_names = (
        {layer.name for document in side for layer in document.layers} for side in (gold, predicted)
    )
    if requested is not None and requested not in gold_names:
        raise NameNotFound("layer of gold", requested, gold_names)
    names = (
        [requested]
        if requested is not None
        else sorted((gold_names & predicted_names).difference(GIVEN_WORDS))
    )
    if not names:
        expected = ", ".join(sorted(gold_names)) or "none"
        got = ", ".join(sorted(predicted_names)) or "none"
        raise FormatError(str(path), None, f"expected a layer of gold ({expected}), got {got}")
    return names
