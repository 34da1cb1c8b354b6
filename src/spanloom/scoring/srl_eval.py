"""srl-eval (Carreras and Màrquez, version of 2005-04-21): arguments in columns of CoNLL-2005."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.forms.props import NONE, Argument, PropsError
from spanloom.metrics.arguments import VERB, Matches, by_label, match
from spanloom.metrics.counts import Counts, total
from spanloom.metrics.percentages import percent, percentages, rounded
from spanloom.scoring._base import Scorer, Scores

_NOBODY = "-NONE-"  # in the confusion matrix: missed, or in excess
_PLAIN = "*"
_HEAD = f"{'':13} corr.  excess  missed    prec.    rec.      F1"

_CELL = re.compile(r"[^ \t\n\r\f\v]+")
_OPENING = re.compile(r"\(((?:\\\*|[^*(])++)")  # a label may hold "\*"
_OPENINGS = re.compile(rf"((?:{_OPENING.pattern})*+)\*")
_CLOSING = re.compile(r"([^)]*)\)")
_CLOSINGS = re.compile(r"(?:[^)]*\))*+")


class _Block(NamedTuple):
    """A sentence: its columns, and the line on which it begins."""

    line: int
    columns: list[Sequence[str]]


class _Predicate(NamedTuple):
    """A lemma and what its column says."""

    lemma: str
    arguments: list[Argument]


@dataclass(slots=True)
class _Sums:
    """What is counted over all sentences."""

    sentences: int = 0
    labelled: list[Matches] = field(default_factory=list)
    confused: Counter[tuple[str, str]] | None = None  # labels, gold and predicted


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return what the program prints; with ``-C`` what that option adds, alone.

    Raises ``FormatError`` where sentences are not of the same length or columns break their form;
    with ``-C`` also where no argument is found, as the program divides by their number.
    """
    sums = _Sums(confused=Counter() if "-C" in options else None)
    theirs = _blocks(predicted)
    for block in _blocks(gold):
        other = next(theirs, None)
        if other is None or len(other.columns[0]) != len(block.columns[0]):
            came = len(other.columns[0]) if other else 0
            problem = f"expected {len(block.columns[0])} words as in {gold.name}, got {came}"
            raise FormatError(str(predicted), other.line if other else None, problem)
        _add(sums, _predicates(block, gold), _predicates(other, predicted))
    if sums.confused is None:
        return _printed(sums)
    return _confused(sums.confused, predicted)


def table(scores: Scores) -> str:
    """Return the rows that the program prints."""
    if "confusion" in scores:
        return _confusion_table(scores)
    shown = [
        f"Number of Sentences    : {scores['sentences']:11d}",
        f"Number of Propositions : {scores['propositions']:11d}",
        f"Percentage of perfect props : {scores['perfect_props']:6.2f}",
        "",
        _HEAD,
        *(_row(label, each) for label, each in scores["rows"].items()),
    ]
    return "\n".join(shown) + "\n"


def _blocks(path: Path) -> Iterator[_Block]:
    """Yield the sentences up to the first blank line that ends none: there the program stops."""
    first, rows = 1, list[list[str]]()
    for number, line in enumerate(text_of(path).split("\n"), 1):
        cells = _CELL.findall(line)
        if cells:
            rows.append(cells)
            continue
        if not rows:
            return
        yield _Block(first, _columns(rows))
        first, rows = number + 1, []
    if rows:
        yield _Block(first, _columns(rows))


def _columns(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Turn rows to columns; where a row lacks cells, those below move up, as in the program."""
    if len(set(map(len, rows))) == 1:
        return list(zip(*rows, strict=True))
    columns: list[list[str]] = [[] for _ in range(max(map(len, rows)))]
    for row in rows:
        for column, cell in zip(columns, row, strict=False):
            column.append(cell)
    return [*columns]


def _predicates(block: _Block, path: Path) -> dict[int, _Predicate]:
    """Return each predicate by its word; one without a column has no arguments."""
    lemmas, *columns = block.columns
    places = [place for place, lemma in enumerate(lemmas) if lemma != NONE]
    found: dict[int, _Predicate] = {}
    columns += [[] for _ in places[len(columns) :]]
    for place, cells in zip(places, columns, strict=False):
        try:
            found[place] = _Predicate(lemmas[place], _arguments(cells))
        except PropsError as error:
            raise FormatError(str(path), block.line + error.word, error.problem) from error
    return found


def _arguments(cells: Sequence[str]) -> list[Argument]:
    """Read a column, with the liberties that the program takes: ``*A0)`` closes an A0."""
    found: list[Argument] = []
    stack: list[int] = []
    for word, cell in enumerate(cells):
        if cell == _PLAIN:
            continue
        parts = _parts(cell)
        if not parts:
            raise PropsError(word, f"expected (LABEL*, *, *) or (LABEL*), got {cell!r:.60}")
        labels, closing = parts
        for label in labels:
            stack.append(len(found))
            found.append(Argument(word, word, label))
        for label in closing:
            if not stack or label not in {"", "0", found[stack[-1]].label}:
                raise PropsError(word, f"expected a span to close, got {cell!r:.60}")
            row = stack.pop()
            found[row] = found[row]._replace(end=word + 1)
    if stack:
        left = found[stack[-1]]
        raise PropsError(left.start, f"expected a ) for the span {left.label!r:.60}")
    return found


@lru_cache(maxsize=10_000)
def _parts(cell: str) -> tuple[list[str], list[str]] | None:
    """Return the labels that a cell opens and those that it closes, mostly ""; None: no cell."""
    opening = _OPENINGS.match(cell)
    closing = _CLOSINGS.fullmatch(cell, opening.end()) if opening else None
    if not opening or not closing:
        return None
    return _OPENING.findall(opening[1]), _CLOSING.findall(closing[0])


def _add(sums: _Sums, gold: dict[int, _Predicate], predicted: dict[int, _Predicate]) -> None:
    """Compare the arguments of gold predicates; where the lemma differs all are missed."""
    sums.sentences += 1
    for place, (lemma, arguments) in gold.items():
        other = predicted.get(place)
        theirs = other.arguments if other and other.lemma == lemma else []
        sums.labelled.append(match(arguments, theirs))
        if sums.confused is None:
            continue
        free = match(arguments, theirs, labelled=False)
        sums.confused.update(free.hits)
        sums.confused.update((label, _NOBODY) for label in free.missed)
        sums.confused.update((_NOBODY, label) for label in free.excess)


def _printed(sums: _Sums) -> Scores:
    labels = by_label(sums.labelled)
    verb = {VERB: labels.pop(VERB)} if VERB in labels else {}
    rows = {"Overall": total(labels.values()), **labels, **verb}
    perfect = sum(1 for each in sums.labelled if each.perfect)
    return {
        "sentences": sums.sentences,
        "propositions": len(sums.labelled),
        "perfect_props": rounded(percent(perfect, len(sums.labelled))),
        "rows": {label: _figures(counts) for label, counts in rows.items()},
    }


def _confused(confused: Counter[tuple[str, str]], path: Path) -> Scores:
    """Return how many arguments of each label were found as which."""
    outside = {_NOBODY, VERB}
    hits = missed = excess = right = 0
    for (one, two), many in confused.items():
        if one not in outside:
            missed += many * (two == _NOBODY)
            hits += many * (two not in outside)
            right += many * (one == two)
        elif one == _NOBODY:
            excess += many * (two not in outside)
    if not hits:
        raise FormatError(str(path), None, "expected an argument that is right but for its label")
    labels = sorted({_NOBODY, *(label for pair in confused for label in pair)})
    return {
        "unlabeled": {
            **_figures(Counts(hits, hits + excess, hits + missed)),
            "label_accuracy": rounded(percent(right, hits)),
        },
        "confusion": {
            "labels": labels,
            "rows": [[confused[one, two] for two in labels] for one in labels],
        },
    }


def _figures(counts: Counts) -> dict[str, float]:
    each = percentages(counts)
    return {
        "correct": counts.hits,
        "excess": counts.predicted - counts.hits,
        "missed": counts.gold - counts.hits,
        "precision": rounded(each.precision),
        "recall": rounded(each.recall),
        "f1": rounded(each.f1),
    }


def _row(label: str, figures: Mapping[str, float]) -> str:
    counts = "  ".join(f"{figures[name]:>6}" for name in ("correct", "excess", "missed"))
    ratios = "  ".join(f"{figures[name]:6.2f}" for name in ("precision", "recall", "f1"))
    return f"{label:>10}   {counts}   {ratios}"


def _confusion_table(scores: Scores) -> str:
    """One row for each gold label, with a column for each in the same order."""
    labels, rows = scores["confusion"]["labels"], scores["confusion"]["rows"]
    figures = scores["unlabeled"]
    lines = [_HEAD, f"{_row('Unlabeled', figures)}  {figures['label_accuracy']:6.2f} (labels)", ""]
    for number, (label, row) in enumerate(zip(labels, rows, strict=True), -1):
        lines.append(f"{number:2d}: {label:<12}" + "".join(f"{many:5d}" for many in row))
    return "\n".join(lines) + "\n"


KIND = Scorer(name="srl-eval", score=score, table=table, options={"-C": False})
