"""The scorer of SemEval-2010 task 8, version 1.2: relations and their directions."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.counts import (
    PRF,
    Counts,
    format_ratios,
    percent,
    percentages,
    round_as_printed,
    total,
)
from spanloom.scoring._base import Scorer, Scores

Key = TypeVar("Key", bound=Hashable)

_DIRECTION = re.compile(r"\(e[12],e[12]\)$")


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of each (gold, proposed) pair, and of each gold label, answered or not.

    ``turned`` counts, by gold label, answers with the right relation in the wrong direction, if
    these are neither right nor another relation; they are in no cell.
    """

    gold: Counter[str]
    cells: Counter[tuple[str, str]]
    turned: Counter[str] = field(default_factory=Counter)

    @property
    def labels(self) -> list[str]:
        """The gold labels, sorted, then the labels that are only proposed."""
        return [*sorted(self.gold), *sorted({label for _, label in self.cells} - {*self.gold})]

    @property
    def proposed(self) -> Counter[str]:
        """How often each label is proposed; turned answers are left out."""
        return _sum_by_key((label, number) for (_, label), number in self.cells.items())

    @property
    def answered(self) -> int:
        """The number of texts with an answer, right or wrong."""
        return self.cells.total() + self.turned.total()

    @property
    def hits(self) -> int:
        """The number of right answers."""
        return sum(self.cells[label, label] for label in self.gold)

    def skipped(self, label: str) -> int:
        """Return the number of texts of a gold label without an answer."""
        answers = sum(self.cells[label, proposed] for proposed in self.labels)
        return self.gold[label] - answers - self.turned[label]

    def counts(self, outside: str | None = None) -> dict[str, Counts]:
        """Return the counts of each gold label but ``outside``; turned answers are predictions."""
        proposed = self.proposed
        return {
            label: Counts(
                self.cells[label, label], proposed[label] + self.turned[label], self.gold[label]
            )
            for label in sorted(self.gold)
            if label != outside
        }

    def micro(self, outside: str) -> Counts:
        """Return the sum of the gold labels but ``outside``."""
        return total(self.counts(outside).values())

    def macro(self, outside: str) -> PRF:
        """Return the means of the percentages of all gold labels but ``outside``.

        There must be at least one such label.
        """
        ratios = [percentages(counts) for counts in self.counts(outside).values()]
        return PRF(
            sum(prf.precision for prf in ratios) / len(ratios),
            sum(prf.recall for prf in ratios) / len(ratios),
            sum(prf.f1 for prf in ratios) / len(ratios),
        )


def relation(label: str) -> str:
    """Return the label without its direction."""
    return _DIRECTION.sub("", label)


def compare_directed(gold: Mapping[str, str], proposed: Mapping[str, str]) -> Confusion:
    """Compare labels by text with directions; each text in ``proposed`` has a gold label."""
    pairs = Counter(zip(map(gold.__getitem__, proposed), proposed.values(), strict=True))
    return Confusion(Counter(gold.values()), pairs)


def compare_undirected(labels: Confusion) -> Confusion:
    """Compare relations, ignoring directions."""
    cells = (((relation(a), relation(b)), number) for (a, b), number in labels.cells.items())
    gold = _sum_by_key((relation(label), number) for label, number in labels.gold.items())
    return Confusion(gold, _sum_by_key(cells))


def official(labels: Confusion) -> Confusion:
    """Compare relations, ignoring directions; those in the wrong direction are ``turned``."""
    turned = {
        (gold, proposed): number
        for (gold, proposed), number in labels.cells.items()
        if gold != proposed and relation(gold) == relation(proposed)
    }
    others = compare_undirected(Confusion(labels.gold, labels.cells - Counter(turned)))
    turned_counts = _sum_by_key((relation(gold), number) for (gold, _), number in turned.items())
    return Confusion(others.gold, others.cells, turned_counts)


def _sum_by_key(items: Iterable[tuple[Key, int]]) -> Counter[Key]:
    """Return the sum of the numbers of each key."""
    sums: Counter[Key] = Counter()
    for key, number in items:
        sums[key] += number
    return sums


_RELATIONS = (
    "Cause-Effect",
    "Component-Whole",
    "Content-Container",
    "Entity-Destination",
    "Entity-Origin",
    "Instrument-Agency",
    "Member-Collection",
    "Message-Topic",
    "Product-Producer",
)
_OTHER = "_Other"  # as the program calls it
_DIRECTED = [f"{name}({way})" for name in _RELATIONS for way in ("e1,e2", "e2,e1")]
_LABELS = {"Other": _OTHER, **{label: label for label in _DIRECTED}}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the three evaluations, the official score and the warnings.

    Each line is a number, a tab and one of 19 labels. Raises ``FormatError`` for any other line,
    for a number that occurs twice or has no gold label, for a key with Other only, and for no
    answers.
    """
    key, answers = _read_labels(gold), _read_labels(predicted)
    _check_answers(key, answers, gold, predicted)
    labels = compare_directed(key, answers)
    main = official(labels)
    return {
        "way19_directional": _evaluation(labels, count_turned=False),
        "way10_no_direction": _evaluation(compare_undirected(labels), count_turned=False),
        "way10_official": _evaluation(main, count_turned=True),
        "official_macro_f1": round_as_printed(main.macro(_OTHER).f1),
        "warnings": _warnings(labels),
    }


def table(scores: Scores) -> str:
    """Format the official evaluation, relation by relation, and the official score."""
    official_scores = scores["way10_official"]
    rows = [
        *official_scores["relations"].items(),
        ("micro", official_scores["micro"]),
        ("macro", official_scores["macro"]),
    ]
    width = max(len(name) for name, _ in rows)
    lines = [
        f"{name:{width}}  P: {row['precision']:6.2f}%  R: {row['recall']:6.2f}%"
        f"  F1: {row['f1']:6.2f}%"
        for name, row in rows
    ]
    warnings = [f"warning: {text}" for text in scores["warnings"]]
    official_line = f"official score, macro-averaged F1: {scores['official_macro_f1']:.2f}%"
    return "\n".join([*warnings, *lines, official_line]) + "\n"


def _read_labels(path: Path) -> dict[str, str]:
    """Return the label of each number, in the order of the file; the last line must end too."""
    lines = text_of(path).split("\n")
    labels: dict[str, str] = {}
    for line_number, line in enumerate(lines[:-1], 1):
        number, tab, label = line.removesuffix("\r").partition("\t")
        if not (tab and number.isascii() and number.isdigit() and label in _LABELS):
            choices = ", ".join((*_RELATIONS, "Other"))
            problem = (
                f"expected a number, a tab and a label, got {line!r:.60}; labels are {choices}"
            )
            raise FormatError(
                str(path), line_number, f"{problem}, all but Other with (e1,e2) or (e2,e1)"
            )
        if number in labels:
            raise FormatError(str(path), line_number, f"number {number:.20} has a label already")
        labels[number] = _LABELS[label]
    if lines[-1]:
        problem = f"expected the last line to end as the others do, got {lines[-1]!r:.60}"
        raise FormatError(str(path), len(lines), problem)
    return labels


def _check_answers(
    key: dict[str, str], answers: dict[str, str], gold: Path, predicted: Path
) -> None:
    """Refuse input that the program cannot divide by, and answers without a gold label."""
    if not {*key.values()} - {_OTHER}:
        raise FormatError(str(gold), None, "expected a label that is not Other")
    if not answers:
        raise FormatError(str(predicted), None, "expected at least one label")
    for line_number, number in enumerate(answers, 1):
        if number not in key:
            problem = f"number {number:.20} has no label in {gold.name}"
            raise FormatError(str(predicted), line_number, problem)


def _warnings(confusion: Confusion) -> list[str]:
    """Return the program's warnings about labels that the key does not have."""
    proposed = confusion.proposed
    return [
        f"The proposed file contains {proposed[label]} label(s) of type '{label}', "
        "which is NOT present in the key file."
        for label in sorted(proposed)
        if label not in confusion.gold
    ]


def _evaluation(confusion: Confusion, *, count_turned: bool) -> Scores:
    """Return one evaluation; ``count_turned``: whether answers can have the wrong direction."""
    hits, answered, num_gold = confusion.hits, confusion.answered, confusion.gold.total()
    num_skipped = confusion.skipped(_OTHER)
    micro = confusion.micro(_OTHER)
    return {
        **_confusion_matrix(confusion, count_turned=count_turned),
        "coverage": _ratio(answered, num_gold),
        "accuracy": _ratio(hits, answered),
        "accuracy_skipped_wrong": _ratio(hits, num_gold),
        "accuracy_skipped_other": _ratio(hits + num_skipped, num_gold),
        "relations": _relations(confusion, count_turned=count_turned),
        "micro": {
            "correct": micro.hits,
            "proposed": micro.predicted,
            "gold": micro.gold,
            **format_ratios(percentages(micro)),
        },
        "macro": format_ratios(confusion.macro(_OTHER)),
    }


def _confusion_matrix(confusion: Confusion, *, count_turned: bool) -> Scores:
    """Return the confusion matrix: rows are gold labels, columns all labels, with sums of both."""
    labels = confusion.labels
    names = {label: _abbreviation(label, in_key=label in confusion.gold) for label in labels}
    rows = {}
    for label in sorted(confusion.gold):
        cells = [confusion.cells[label, predicted_label] for predicted_label in labels]
        turned_cell = [confusion.turned[label]] * count_turned
        last_cells = [confusion.skipped(label), confusion.gold[label]]
        rows[names[label]] = {"counts": cells, "sums": [sum(cells), *turned_cell, *last_cells]}
    proposed = confusion.proposed
    num_gold = confusion.gold.total()
    turned_sums = [confusion.cells.total(), *[confusion.turned.total()] * count_turned]
    return {
        "columns": list(names.values()),
        "confusion": rows,
        "sum_row": [
            *(proposed[label] for label in labels),
            *turned_sums,
            num_gold - confusion.answered,
            num_gold,
        ],
    }


def _relations(confusion: Confusion, *, count_turned: bool) -> dict[str, dict[str, float]]:
    """Return the ratios of each gold label; turned answers are counted apart from other ones."""
    rows: dict[str, dict[str, float]] = {}
    for label, counts in confusion.counts().items():
        turned = confusion.turned[label]
        rows[label] = {
            "correct": counts.hits,
            "gold": counts.gold,
            **format_ratios(percentages(counts)),
            "proposed": counts.predicted - turned,
            **({"wrong_direction": turned} if count_turned else {}),
        }
    return rows


def _abbreviation(label: str, *, in_key: bool) -> str:
    """Return the program's abbreviation of a label, with a star if the key does not have it."""
    if label == _OTHER:
        return "_O_"
    first_letter, second_letter = (word[0] for word in relation(label).split("-"))
    direction = label[len(relation(label)) :][2:3]
    return (
        f"{first_letter}-{second_letter}{direction}"
        if in_key
        else f"*{first_letter}{second_letter}{direction}"
    )


def _ratio(part: int, total: int) -> list[float]:
    """Return a part, its total, and their ratio in percent."""
    return [part, total, round_as_printed(percent(part, total))]


KIND = Scorer(name="semeval2010-task8", score=score, table=table)
