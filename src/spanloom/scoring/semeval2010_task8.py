"""The scorer of SemEval-2010 task 8, version 1.2: relations and their directions."""

from collections.abc import Mapping
from pathlib import Path

from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.directed_relations import Confusion, directed, official, relation, undirected
from spanloom.metrics.percentages import percent, percentages, printed, rounded
from spanloom.scoring._base import Scorer, Scores

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

    A line is a number, a tab and one of 19 labels. Raises ``FormatError`` for any other, for a
    number that comes twice or has no gold label, for a key of Other alone and for no answers.
    """
    key, answers = _labels(gold), _labels(predicted)
    _check(key, answers, gold, predicted)
    labels = directed(key, answers)
    main = official(labels)
    return {
        "way19_directional": _evaluation(labels, turned=False),
        "way10_no_direction": _evaluation(undirected(labels), turned=False),
        "way10_official": _evaluation(main, turned=True),
        "official_macro_f1": rounded(main.macro(_OTHER).f1),
        "warnings": _warnings(labels),
    }


def table(scores: Scores) -> str:
    """Return the official evaluation, relation by relation, and the official score."""
    told = scores["way10_official"]
    rows = [*told["relations"].items(), ("micro", told["micro"]), ("macro", told["macro"])]
    width = max(len(name) for name, _ in rows)
    lines = [
        f"{name:{width}}  P: {row['precision']:6.2f}%  R: {row['recall']:6.2f}%"
        f"  F1: {row['f1']:6.2f}%"
        for name, row in rows
    ]
    warnings = [f"warning: {text}" for text in scores["warnings"]]
    last = f"official score, macro-averaged F1: {scores['official_macro_f1']:.2f}%"
    return "\n".join([*warnings, *lines, last]) + "\n"


def _labels(path: Path) -> dict[str, str]:
    """Return the label of each number, in the order of the file; the last line ends too."""
    lines = text_of(path).split("\n")
    labels: dict[str, str] = {}
    for place, line in enumerate(lines[:-1], 1):
        number, tab, label = line.removesuffix("\r").partition("\t")
        if not (tab and number.isascii() and number.isdigit() and label in _LABELS):
            choices = ", ".join((*_RELATIONS, "Other"))
            problem = (
                f"expected a number, a tab and a label, got {line!r:.60}; labels are {choices}"
            )
            raise FormatError(str(path), place, f"{problem}, all but Other with (e1,e2) or (e2,e1)")
        if number in labels:
            raise FormatError(str(path), place, f"number {number:.20} has a label already")
        labels[number] = _LABELS[label]
    if lines[-1]:
        problem = f"expected the last line to end as the others do, got {lines[-1]!r:.60}"
        raise FormatError(str(path), len(lines), problem)
    return labels


def _check(key: dict[str, str], answers: dict[str, str], gold: Path, predicted: Path) -> None:
    """Refuse what the program cannot divide by, and answers to what was not asked."""
    if not {*key.values()} - {_OTHER}:
        raise FormatError(str(gold), None, "expected a label that is not Other")
    if not answers:
        raise FormatError(str(predicted), None, "expected at least one label")
    for place, number in enumerate(answers, 1):
        if number not in key:
            problem = f"number {number:.20} has no label in {gold.name}"
            raise FormatError(str(predicted), place, problem)


def _warnings(confusion: Confusion) -> list[str]:
    proposed = confusion.proposed
    return [
        f"The proposed file contains {proposed[label]} label(s) of type '{label}', "
        "which is NOT present in the key file."
        for label in sorted(proposed)
        if label not in confusion.gold
    ]


def _evaluation(confusion: Confusion, *, turned: bool) -> Scores:
    """Return one evaluation; ``turned`` says whether answers can be in the wrong direction."""
    hits, answered, asked = confusion.hits, confusion.answered, confusion.gold.total()
    others = confusion.skipped(_OTHER)
    micro = confusion.micro(_OTHER)
    return {
        **_matrix(confusion, turned=turned),
        "coverage": _share(answered, asked),
        "accuracy": _share(hits, answered),
        "accuracy_skipped_wrong": _share(hits, asked),
        "accuracy_skipped_other": _share(hits + others, asked),
        "relations": _relations(confusion, turned=turned),
        "micro": {
            "correct": micro.hits,
            "proposed": micro.predicted,
            "gold": micro.gold,
            **printed(percentages(micro)),
        },
        "macro": printed(confusion.macro(_OTHER)),
    }


def _matrix(confusion: Confusion, *, turned: bool) -> Scores:
    """Return the confusion matrix: a row a gold label, a column a label, and sums of both."""
    labels = confusion.labels
    names = {label: _short(label, known=label in confusion.gold) for label in labels}
    rows = {}
    for label in sorted(confusion.gold):
        cells = [confusion.cells[label, other] for other in labels]
        beside = [confusion.turned[label]] * turned
        tail = [confusion.skipped(label), confusion.gold[label]]
        rows[names[label]] = {"counts": cells, "sums": [sum(cells), *beside, *tail]}
    proposed = confusion.proposed
    asked = confusion.gold.total()
    last = [confusion.cells.total(), *[confusion.turned.total()] * turned]
    return {
        "columns": list(names.values()),
        "confusion": rows,
        "sum_row": [
            *(proposed[label] for label in labels),
            *last,
            asked - confusion.answered,
            asked,
        ],
    }


def _relations(confusion: Confusion, *, turned: bool) -> dict[str, dict[str, float]]:
    """Return the ratios of each gold label; what is turned is told apart from what is proposed."""
    rows: dict[str, dict[str, float]] = {}
    for label, counts in confusion.counts().items():
        wrong = confusion.turned[label]
        rows[label] = {
            "correct": counts.hits,
            "gold": counts.gold,
            **printed(percentages(counts)),
            "proposed": counts.predicted - wrong,
            **({"wrong_direction": wrong} if turned else {}),
        }
    return rows


def _short(label: str, *, known: bool) -> str:
    """Return the program's abbreviation, with a star where the key has no such label."""
    if label == _OTHER:
        return "_O_"
    one, two = (word[0] for word in relation(label).split("-"))
    way = label[len(relation(label)) :][2:3]
    return f"{one}-{two}{way}" if known else f"*{one}{two}{way}"


def _share(part: int, whole: int) -> list[float]:
    return [part, whole, rounded(percent(part, whole))]


KIND = Scorer(name="semeval2010-task8", score=score, table=table)
