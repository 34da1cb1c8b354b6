"""Two or three sides of one corpus, in any format that the package reads, and their scores."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from spanloom.config.yaml import Where
from spanloom.document import GIVEN, Document
from spanloom.errors import DataError, FormatError
from spanloom.formats import _files
from spanloom.formats.brat import folder
from spanloom.metrics import report
from spanloom.metrics.bootstrap import paired, permutation
from spanloom.metrics.counts import PRF, Counts
from spanloom.metrics.report import Report, Score
from spanloom.scoring._base import Scores

LAYER, AGAINST = "--layer", "--against"
OPTIONS = {LAYER: True, AGAINST: True}

Couple = tuple[Document, Document]


def documents(path: Path) -> list[Document]:
    """Return the documents of a file, whose format is guessed, or of a folder of brat files.

    A brat line that makes no annotation is not scored (``spanloom check`` tells of it). Raises
    ``FormatError``.
    """
    if not path.is_dir():
        name = _files.guess(path)
        if name is None:
            choices = ", ".join(_files.names())
            raise FormatError(str(path), None, f"cannot tell its format (known: {choices})")
        form = _files.load(name)
        options = _files.chosen(form, {}, Where(str(path)))
        return list(_files.named(_files.read(path, form, options), path))
    return [reading.document for reading in folder.read_all(path)]


def sides(gold: Path, predicted: Path) -> tuple[list[Document], list[Document]]:
    """Return gold and predicted documents, in gold order and with gold names.

    They go together by name; where the names are others, by their order. Raises ``FormatError``
    where documents are missing or texts differ.
    """
    return matched(documents(gold), documents(predicted), predicted)


def matched(
    mine: list[Document], theirs: list[Document], predicted: Path
) -> tuple[list[Document], list[Document]]:
    """Return both as ``sides`` does."""
    names = {each.name for each in mine}
    if len(mine) == len(theirs) and names.isdisjoint(each.name for each in theirs):
        theirs = [replace(b, name=a.name) for a, b in zip(mine, theirs, strict=True)]
    try:
        return mine, [other for _, other in report.couples(mine, theirs)]
    except DataError as error:
        raise FormatError(str(predicted), None, str(error)) from error


def annotated(gold: Sequence[Document], predicted: Sequence[Document], layer: str) -> list[Couple]:
    """Return the couples whose gold document has that layer."""
    return [pair for pair in zip(gold, predicted, strict=True) if pair[0].has(layer)]


def scored(
    gold: Path,
    predicted: Path,
    options: Mapping[str, str],
    pick: Callable[[Report], Score],
) -> Scores:
    """Return a measure of each layer, and what a second prediction has of it."""
    mine, theirs = sides(gold, predicted)
    others = sides(gold, Path(options[AGAINST]))[1] if AGAINST in options else None
    layers: Scores = {}
    for name in _layers(mine, theirs, options.get(LAYER), predicted):
        found = report.score(mine, theirs, name)
        layers[name] = {"documents": found.documents, **measured(pick(found))}
        if found.unscored:
            layers[name]["without_span_ends"] = found.unscored
        if others is not None:
            second = pick(report.score(mine, others, name))
            layers[name]["against"] = differing(pick(found), second)
    return {"layers": layers}


def measured(score: Score) -> Scores:
    """Return counts and ratios in percent, the interval of F1, and the same by label."""
    low, high = 100 * score.interval.low, 100 * score.interval.high
    return {
        **row(score.micro),
        "interval": [low, high],
        "macro": percents(score.macro),
        "labels": {label: row(each) for label, each in score.by_label.items()},
    }


def differing(first: Score, second: Score) -> Scores:
    """Return how far F1 of the first lies above the second's, and how likely by chance."""
    mine, theirs = first.tally, second.tally
    return {
        **row(second.micro),
        "difference": 100 * (first.micro.f1 - second.micro.f1),
        "p_bootstrap": paired(mine, theirs),
        "p_permutation": permutation(mine, theirs),
    }


def row(counts: Counts) -> Scores:
    """Return ratios in percent and the counts that they are of."""
    whole = {"hits": counts.hits, "predicted": counts.predicted, "gold": counts.gold}
    return {**percents(counts.prf), **whole}


def percents(ratios: PRF) -> dict[str, float]:
    """Return three ratios in percent."""
    return {
        "precision": 100 * ratios.precision,
        "recall": 100 * ratios.recall,
        "f1": 100 * ratios.f1,
    }


def table(scores: Scores) -> str:
    """Return the rows of each layer: its labels, all of them, and the second prediction."""
    blocks = []
    for name, each in scores["layers"].items():
        low, high = each["interval"]
        rows = {**each["labels"], "all": each}
        lines = [f"layer {name}, {each['documents']} documents", *rows_of(rows)]
        lines.append(f"F1 {each['f1']:.2f} (95 % interval {low:.2f} to {high:.2f})")
        if "against" in each:
            other = each["against"]
            said = f"against {other['f1']:.2f}: {other['difference']:+.2f}"
            chances = f"bootstrap {other['p_bootstrap']:.4f}"
            chances += f", permutation {other['p_permutation']:.4f}"
            lines.append(f"{said}, p-value by {chances}")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def rows_of(rows: Mapping[str, Mapping[str, float]]) -> Iterable[str]:
    """Yield a head, then a line a row of ratios and counts."""
    width = max(len("label"), *map(len, rows))
    yield f"{'label':{width}}  precision  recall      F1   hits  predicted   gold"
    for label, each in rows.items():
        ratios = f"{each['precision']:9.2f}  {each['recall']:6.2f}  {each['f1']:6.2f}"
        counts = f"{each['hits']:5}  {each['predicted']:9}  {each['gold']:5}"
        yield f"{label:{width}}  {ratios}  {counts}"


def _layers(
    gold: Iterable[Document], predicted: Iterable[Document], asked: str | None, path: Path
) -> list[str]:
    """Return the layers to score: the one asked for, else those of both but given words."""
    mine, theirs = (
        {each.name for document in side for each in document.layers} for side in (gold, predicted)
    )
    if asked is not None and asked not in mine:
        choices = ", ".join(sorted(mine)) or "none"
        raise DataError(f"{LAYER}: expected a layer of gold ({choices}), got {asked!r:.60}")
    found = [asked] if asked is not None else sorted((mine & theirs).difference(GIVEN))
    if not found:
        known = ", ".join(sorted(mine)) or "none"
        got = ", ".join(sorted(theirs)) or "none"
        raise FormatError(str(path), None, f"expected a layer of gold ({known}), got {got}")
    return found
