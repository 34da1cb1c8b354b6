"""srl-eval (Carreras and Màrquez, version of 2005-04-21): score arguments in CoNLL-2005 columns.

An argument in several pieces is right only if all pieces are. Two rules that surprise: of arguments
on the same words the innermost counts, and an argument that contains others is right only if these
are the same too.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from spanloom.annotation.props import NONE, Argument, PropsError
from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.counts import (
    Counts,
    counts_by_label,
    percent,
    percentages,
    round_as_printed,
    total,
)
from spanloom.scoring._base import Scorer, Scores

VERB = "V"  # the predicate itself: it is given, so it does not count as an argument
_CONTINUATION = "C-"  # continues the latest argument of the label after the prefix


class Matches(NamedTuple):
    """Gold and predicted label of each matched argument; labels of missed and of excess ones."""

    hits: list[tuple[str, str]]
    missed: list[str]
    excess: list[str]

    @property
    def perfect(self) -> bool:
        """Whether nothing but the predicate itself is missed or in excess."""
        return not {*self.missed, *self.excess} - {VERB}


def match(
    gold: Iterable[Argument], predicted: Iterable[Argument], with_labels: bool = True
) -> Matches:
    """Match the arguments of one predicate by their words, if ``with_labels`` by labels too."""
    unmatched = {(argument.start, argument.end): argument for argument in _join_pieces(gold)}
    hits: list[tuple[str, str]] = []
    excess: list[str] = []
    for argument in _join_pieces(predicted):
        bounds = argument.start, argument.end
        candidate = unmatched.get(bounds)
        if (
            candidate is not None
            and candidate.same_pieces(argument)
            and with_labels <= (candidate.label == argument.label)
        ):
            hits.append((candidate.label, argument.label))
            del unmatched[bounds]
        else:
            excess.append(argument.label)
    return Matches(hits, [argument.label for argument in unmatched.values()], excess)


def by_label(matches: Iterable[Matches]) -> dict[str, Counts]:
    """Return counts per label, of hits the gold label; labels in sorted order."""
    hits: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    excess: Counter[str] = Counter()
    for matched in matches:
        hits.update(label for label, _ in matched.hits)
        missed.update(matched.missed)
        excess.update(matched.excess)
    return counts_by_label(hits, hits + excess, hits + missed)


@dataclass(slots=True)
class _Argument:
    """An argument; ``pieces`` are its continued pieces or the arguments within it, else empty."""

    start: int
    end: int
    label: str
    pieces: list["_Argument"] = field(default_factory=list)

    def same_pieces(self, other: "_Argument") -> bool:
        """Return whether both have pieces with the same bounds; ``other`` has none twice."""
        bounds = {(piece.start, piece.end) for piece in self.pieces}
        return len(bounds) == len(other.pieces) and bounds == {
            (piece.start, piece.end) for piece in other.pieces
        }

    def add_piece(self, piece: "_Argument") -> None:
        """Append a piece; without pieces, the argument so far becomes the first."""
        if not self.pieces:
            self.pieces.append(_Argument(self.start, self.end, self.label))
        self.pieces.append(piece)
        self.end = piece.end


def _join_pieces(arguments: Iterable[Argument]) -> list[_Argument]:
    """Join pieces to arguments; a piece whose label no argument has is an argument itself."""
    joined: list[_Argument] = []
    latest: dict[str, _Argument] = {}
    for piece in _nest(arguments):
        label = piece.label.removeprefix(_CONTINUATION)
        if piece.label != label and label in latest:
            latest[label].add_piece(piece)
            continue
        piece.label = label
        latest[label] = piece
        joined.append(piece)
    return joined


def _nest(arguments: Iterable[Argument]) -> list[_Argument]:
    """Add arguments to those around them; of arguments on the same words keep the innermost."""
    innermost: dict[tuple[int, int], _Argument] = {}
    stack: list[_Argument] = []
    for start, end, label in sorted(
        arguments, key=lambda argument: (argument.start, -argument.end)
    ):
        while stack and stack[-1].end <= start:
            stack.pop()
        nested = _Argument(start, end, label)
        if stack:
            stack[-1].pieces.append(nested)
        stack.append(nested)
        innermost[start, end] = nested
    return list(innermost.values())


_NO_ARGUMENT = "-NONE-"  # in the confusion matrix: label of missed and of excess arguments
_EMPTY_CELL = "*"
_HEAD = f"{'':13} corr.  excess  missed    prec.    rec.      F1"

_CELL = re.compile(r"[^ \t\n\r\f\v]+")
_OPENING = re.compile(r"\(((?:\\\*|[^*(])++)")  # a label may hold "\*"
_OPENINGS = re.compile(rf"((?:{_OPENING.pattern})*+)\*")
_CLOSING = re.compile(r"([^)]*)\)")
_CLOSINGS = re.compile(r"(?:[^)]*\))*+")


class _Block(NamedTuple):
    """A sentence: its columns, and the number of its first line."""

    line: int
    columns: list[Sequence[str]]


class _Predicate(NamedTuple):
    """A lemma and the arguments of its column."""

    lemma: str
    arguments: list[Argument]


@dataclass(slots=True)
class _Totals:
    """Counts over all sentences."""

    sentences: int = 0
    matches: list[Matches] = field(default_factory=list)
    confusion: Counter[tuple[str, str]] | None = None  # labels, gold and predicted


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return what the program prints; with ``-C`` only what that option adds.

    Raises ``FormatError`` if sentences differ in length or columns are malformed; with ``-C`` also
    if no argument is found, as the program divides by that number.
    """
    totals = _Totals(confusion=Counter() if "-C" in options else None)
    predicted_blocks = _read_blocks(predicted)
    for gold_block in _read_blocks(gold):
        predicted_block = next(predicted_blocks, None)
        if predicted_block is None or len(predicted_block.columns[0]) != len(gold_block.columns[0]):
            num_words = len(predicted_block.columns[0]) if predicted_block else 0
            problem = (
                f"expected {len(gold_block.columns[0])} words as in {gold.name}, got {num_words}"
            )
            raise FormatError(
                str(predicted), predicted_block.line if predicted_block else None, problem
            )
        _add_sentence(
            totals, _read_predicates(gold_block, gold), _read_predicates(predicted_block, predicted)
        )
    if totals.confusion is None:
        return _to_json(totals)
    return _confusion_json(totals.confusion, predicted)


def table(scores: Scores) -> str:
    """Format the rows that the program prints."""
    if "confusion" in scores:
        return _confusion_table(scores)
    lines = [
        f"Number of Sentences    : {scores['sentences']:11d}",
        f"Number of Propositions : {scores['propositions']:11d}",
        f"Percentage of perfect props : {scores['perfect_props']:6.2f}",
        "",
        _HEAD,
        *(_format_row(label, counts) for label, counts in scores["rows"].items()),
    ]
    return "\n".join(lines) + "\n"


def _read_blocks(path: Path) -> Iterator[_Block]:
    """Yield the sentences, up to two blank lines in a row: there the program stops."""
    first_line, rows = 1, list[list[str]]()
    for line_number, line in enumerate(text_of(path).split("\n"), 1):
        cells = _CELL.findall(line)
        if cells:
            rows.append(cells)
            continue
        if not rows:
            return
        yield _Block(first_line, _to_columns(rows))
        first_line, rows = line_number + 1, []
    if rows:
        yield _Block(first_line, _to_columns(rows))


def _to_columns(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Transpose rows; where a row lacks cells, those below move up, as in the program."""
    if len(set(map(len, rows))) == 1:
        return list(zip(*rows, strict=True))
    columns: list[list[str]] = [[] for _ in range(max(map(len, rows)))]
    for row in rows:
        for column, cell in zip(columns, row, strict=False):
            column.append(cell)
    return [*columns]


def _read_predicates(block: _Block, path: Path) -> dict[int, _Predicate]:
    """Return each predicate by its word; one without a column has no arguments."""
    lemmas, *columns = block.columns
    word_indices = [word for word, lemma in enumerate(lemmas) if lemma != NONE]
    predicates: dict[int, _Predicate] = {}
    columns += [[] for _ in word_indices[len(columns) :]]
    for word, cells in zip(word_indices, columns, strict=False):
        try:
            predicates[word] = _Predicate(lemmas[word], _read_arguments(cells))
        except PropsError as error:
            raise FormatError(str(path), block.line + error.word, error.problem) from error
    return predicates


def _read_arguments(cells: Sequence[str]) -> list[Argument]:
    """Parse a column as leniently as the program does: ``*A0)`` closes an A0."""
    arguments: list[Argument] = []
    open_arguments: list[int] = []
    for word, cell in enumerate(cells):
        if cell == _EMPTY_CELL:
            continue
        opened_and_closed = _parse_cell(cell)
        if not opened_and_closed:
            raise PropsError(word, f"expected (LABEL*, *, *) or (LABEL*), got {cell!r:.60}")
        opened, closed = opened_and_closed
        for label in opened:
            open_arguments.append(len(arguments))
            arguments.append(Argument(word, word, label))
        for label in closed:
            if not open_arguments or label not in {"", "0", arguments[open_arguments[-1]].label}:
                raise PropsError(word, f"expected a span to close, got {cell!r:.60}")
            index = open_arguments.pop()
            arguments[index] = arguments[index]._replace(end=word + 1)
    if open_arguments:
        unclosed = arguments[open_arguments[-1]]
        raise PropsError(unclosed.start, f"expected a ) for the span {unclosed.label!r:.60}")
    return arguments


@lru_cache(maxsize=10_000)
def _parse_cell(cell: str) -> tuple[list[str], list[str]] | None:
    """Return the labels that a cell opens and closes (mostly ""), None if it is malformed."""
    openings = _OPENINGS.match(cell)
    closings = _CLOSINGS.fullmatch(cell, openings.end()) if openings else None
    if not openings or not closings:
        return None
    return _OPENING.findall(openings[1]), _CLOSING.findall(closings[0])


def _add_sentence(
    totals: _Totals, gold: dict[int, _Predicate], predicted: dict[int, _Predicate]
) -> None:
    """Compare the arguments of gold predicates; where the lemma differs all are missed."""
    totals.sentences += 1
    for word, (lemma, arguments) in gold.items():
        predicate = predicted.get(word)
        predicted_arguments = predicate.arguments if predicate and predicate.lemma == lemma else []
        totals.matches.append(match(arguments, predicted_arguments))
        if totals.confusion is None:
            continue
        unlabelled = match(arguments, predicted_arguments, with_labels=False)
        totals.confusion.update(unlabelled.hits)
        totals.confusion.update((label, _NO_ARGUMENT) for label in unlabelled.missed)
        totals.confusion.update((_NO_ARGUMENT, label) for label in unlabelled.excess)


def _to_json(totals: _Totals) -> Scores:
    """Return the numbers that the program prints."""
    labels = by_label(totals.matches)
    verb = {VERB: labels.pop(VERB)} if VERB in labels else {}
    rows = {"Overall": total(labels.values()), **labels, **verb}
    perfect = sum(1 for sentence_matches in totals.matches if sentence_matches.perfect)
    return {
        "sentences": totals.sentences,
        "propositions": len(totals.matches),
        "perfect_props": round_as_printed(percent(perfect, len(totals.matches))),
        "rows": {label: _counts_json(counts) for label, counts in rows.items()},
    }


def _confusion_json(confusion: Counter[tuple[str, str]], path: Path) -> Scores:
    """Return the number of arguments of each gold label that got each predicted label."""
    ignored = {_NO_ARGUMENT, VERB}
    hits = missed = excess = same_label = 0
    for (gold_label, predicted_label), count in confusion.items():
        if gold_label not in ignored:
            missed += count * (predicted_label == _NO_ARGUMENT)
            hits += count * (predicted_label not in ignored)
            same_label += count * (gold_label == predicted_label)
        elif gold_label == _NO_ARGUMENT:
            excess += count * (predicted_label not in ignored)
    if not hits:
        raise FormatError(str(path), None, "expected an argument that is right but for its label")
    labels = sorted({_NO_ARGUMENT, *(label for pair in confusion for label in pair)})
    return {
        "unlabeled": {
            **_counts_json(Counts(hits, hits + excess, hits + missed)),
            "label_accuracy": round_as_printed(percent(same_label, hits)),
        },
        "confusion": {
            "labels": labels,
            "rows": [
                [confusion[gold_label, predicted_label] for predicted_label in labels]
                for gold_label in labels
            ],
        },
    }


def _counts_json(counts: Counts) -> dict[str, float]:
    """Return counts and ratios in percent."""
    ratios = percentages(counts)
    return {
        "correct": counts.hits,
        "excess": counts.predicted - counts.hits,
        "missed": counts.gold - counts.hits,
        "precision": round_as_printed(ratios.precision),
        "recall": round_as_printed(ratios.recall),
        "f1": round_as_printed(ratios.f1),
    }


def _format_row(label: str, numbers: Mapping[str, float]) -> str:
    """Return one aligned line."""
    counts = "  ".join(f"{numbers[name]:>6}" for name in ("correct", "excess", "missed"))
    ratios = "  ".join(f"{numbers[name]:6.2f}" for name in ("precision", "recall", "f1"))
    return f"{label:>10}   {counts}   {ratios}"


def _confusion_table(scores: Scores) -> str:
    """Format one row per gold label, with a column for each label in the same order."""
    labels, rows = scores["confusion"]["labels"], scores["confusion"]["rows"]
    unlabeled = scores["unlabeled"]
    lines = [
        _HEAD,
        f"{_format_row('Unlabeled', unlabeled)}  {unlabeled['label_accuracy']:6.2f} (labels)",
        "",
    ]
    for index, (label, row) in enumerate(zip(labels, rows, strict=True), -1):
        lines.append(f"{index:2d}: {label:<12}" + "".join(f"{count:5d}" for count in row))
    return "\n".join(lines) + "\n"


KIND = Scorer(name="srl-eval", score=score, table=table, options={"-C": False})
