"""streuseval (STREUSLE 4): multiword expressions and supersenses, found by a system.

Tags of words, links between words of expressions, and expressions by shape and kind of supersense.
``--depth`` makes adposition supersenses coarser. (Schneider et al. 2014; 2018)
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from pathlib import Path
from typing import NamedTuple

from spanloom.errors import DataError, FormatError
from spanloom.metrics.counts import Counts
from spanloom.metrics.multiword import (
    BY_ROLE,
    KINDS,
    SHAPES,
    Compared,
    Expression,
    Group,
    Links,
    compare_classes,
    count_links,
)
from spanloom.scoring._base import Scorer, Scores
from spanloom.scoring._conllulex import Sentence, sentences

_DEPTHS = ("1", "2", "3", "4")
_GIVEN = "goldid"  # in a file's name: its expressions are gold, which the program cannot print
_TAGS = {"Full": (0, 1, 2), "-Lexcat": (0, 2), "-SS": (0, 1), "-Lexcat -SS": (0,)}
_NOTHING = Compared(Counts(), Counts(), Counts(), Counts())


class _Ratio(NamedTuple):
    """A fraction as the program keeps it: never reduced, and nan where it is over 0."""

    num: float
    den: float

    @property
    def value(self) -> float:
        return self.num / self.den if self.den else nan

    def to_json(self) -> Scores:
        return {"num": _shown(self.num), "den": self.den, "value": _shown(self.value)}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return every count and ratio, those of ``-x`` among them; 0/0 is "nan".

    Raises ``FormatError`` where a file breaks its form, contradicts itself, or has other sentences
    than gold; words are not compared.
    """
    depth = options.get("--depth", _DEPTHS[-1])
    if depth not in _DEPTHS:
        raise DataError(f"--depth: expected one of {', '.join(_DEPTHS)}, got {depth!r:.60}")
    if predicted.name.split(".")[-2:-1] == [_GIVEN]:
        problem = f"expected expressions that a system found, got a file .{_GIVEN}."
        raise FormatError(str(predicted), None, problem)
    mine, theirs = ([*sentences(path, int(depth))] for path in (gold, predicted))
    _check(mine, theirs, predicted)
    full = {"* / Tags": _tags(mine, theirs), **_links(mine, theirs)}
    compared = compare_classes(_expressions(mine), _expressions(theirs))
    for shape in SHAPES:
        for kind in KINDS:
            each = compared.get((shape, kind), _NOTHING)
            full[f"{shape} / {kind}"] = _measures(each, roles=kind in BY_ROLE)
    return {"full": full}


def table(scores: Scores) -> str:
    """Return the ratios in percent, a class a row; of classes that occur nowhere none."""
    full = scores["full"]
    tags = ((name, each["Acc"]["value"]) for name, each in full["* / Tags"].items())
    lines = [f"{name:22}{_percent(value)}" for name, value in tags]
    lines += ["", f"{'':22}{'':10}     P      R      F"]
    for name, measures in full.items():
        for measure, each in measures.items():
            if "P" in each and (each["P"]["den"] or each["R"]["den"]):
                values = (each["P"]["value"], each["R"]["value"], each["F"])
                lines.append(f"{name:22}{measure:10}{' '.join(map(_percent, values))}")
    return "\n".join(lines) + "\n"


def _percent(value: float | str) -> str:
    return f"{'nan':>6}" if isinstance(value, str) else f"{100 * value:6.1f}"


def _check(gold: Sequence[Sentence], predicted: Sequence[Sentence], path: Path) -> None:
    """Have the same sentences in the same order."""
    if not gold or len(gold) != len(predicted):
        problem = f"expected as many sentences as gold, {len(gold) or 'some'}, got {len(predicted)}"
        raise FormatError(str(path), None, problem)
    for one, two in zip(gold, predicted, strict=True):
        if (one.name, len(one.tags)) != (two.name, len(two.tags)):
            problem = f"expected {one.name!r:.40} of {len(one.tags)} words as in gold"
            got = f"got {two.name!r:.40} of {len(two.tags)}"
            raise FormatError(str(path), two.line, f"{problem}, {got}")


def _expressions(side: Iterable[Sentence]) -> list[Expression]:
    """Return the expressions of all sentences, words counted through, gaps between sentences."""
    found: list[Expression] = []
    first = 0
    for sentence in side:
        found += [
            each._replace(words=tuple(word + first for word in each.words))
            for each in sentence.expressions
        ]
        first += len(sentence.tags)
    return found


def _tags(gold: Iterable[Sentence], predicted: Iterable[Sentence]) -> Scores:
    """Count words whose tags are the same in some of their parts."""
    pairs = [
        tags
        for one, two in zip(gold, predicted, strict=True)
        for tags in zip(one.tags, two.tags, strict=True)
    ]
    found: Scores = {}
    for name, parts in _TAGS.items():
        right = sum(1 for one, two in pairs if all(one[part] == two[part] for part in parts))
        counts = {"N": len(pairs), "correct": right, "incorrect": len(pairs) - right}
        found[name] = _positive(counts) | {"Acc": _Ratio(right, len(pairs)).to_json()}
    return found


def _links(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> Scores:
    """Count links with weak expressions as if strong, without them, and take the mean of both."""
    found: Scores = {}
    for shape, gaps in (("MWE", False), ("GappyMWE", True)):
        ratios: list[tuple[_Ratio, ...]] = []
        said: Scores = {}
        for name, weak in (("Link+", True), ("Link-", False)):
            links = count_links(_groups(gold, weak), _groups(predicted, weak), gaps=gaps)
            precision = _Ratio(links.held, links.predicted)
            recall = _Ratio(links.found, links.gold)
            ratios.append((precision, recall, _f1(precision, recall)))
            said[name] = _counted(links) | _row(*ratios[-1])
        said["LinkAvg"] = _row(*map(_mean, *ratios))
        found[f"{shape} / Tags"] = said
    return found


def _groups(side: Iterable[Sentence], weak: bool) -> list[Group]:
    """Return the groups of all sentences, words counted through."""
    found: list[Group] = []
    first = 0
    for sentence in side:
        outer = sentence.weak if weak else []
        inside = {word for group in outer for word in group}
        inner = [group for group in sentence.strong if group[0] not in inside]
        found += [tuple(word + first for word in group) for group in (*outer, *inner)]
        first += len(sentence.tags)
    return found


def _counted(links: Links) -> Scores:
    return {
        "PNumer": links.held,
        "PDenom": links.predicted,
        "RNumer": links.found,
        "RDenom": links.gold,
    }


def _measures(compared: Compared, *, roles: bool) -> Scores:
    """Lay out a class; roles and functions are counted for some kinds alone."""
    each = compared if roles else compared._replace(role=Counts(), function=Counts())
    given = {"ID": each.words, "Labeled": each.labelled, "Role": each.role, "Fxn": each.function}
    found: Scores = {}
    for name, counts in given.items():
        precision = _Ratio(counts.hits, counts.predicted)
        recall = _Ratio(counts.hits, counts.gold)
        found[name] = _positive(
            {
                "correct": counts.hits,
                "missed": counts.gold - counts.hits,
                "extra": counts.predicted - counts.hits,
                "Pdenom": counts.predicted,
                "Rdenom": counts.gold,
            }
        ) | _row(precision, recall, _f1(precision, recall))
    return found


def _row(precision: _Ratio, recall: _Ratio, f1: _Ratio) -> Scores:
    return {"P": precision.to_json(), "R": recall.to_json(), "F": _shown(f1.value)}


def _positive(counts: Mapping[str, int]) -> Scores:
    return {name: count for name, count in counts.items() if count}


def _f1(precision: _Ratio, recall: _Ratio) -> _Ratio:
    """Return the harmonic mean, computed in the program's order, over the precision's whole."""
    double = precision.num * 2.0 * recall.value
    return _Ratio(_divided(double, _sum(precision, recall)), precision.den)


def _mean(one: _Ratio, two: _Ratio) -> _Ratio:
    """Return the mean over the mean of both wholes; over their product where they are the same."""
    den = (one.den + two.den) / 2
    if one.den == two.den:
        return _Ratio((one.num + two.num) / 2.0 * den, den * one.den)
    return _Ratio((one.value + two.value) / 2 * den, den)


def _sum(one: _Ratio, two: _Ratio) -> float:
    """Return the sum of two values, as one fraction where they have one whole."""
    if one.den == two.den:
        return _Ratio(one.num + two.num, one.den).value
    return one.value + two.value


def _divided(part: float, whole: float) -> float:
    return part / whole if whole else nan


def _shown(number: float) -> float | str:
    """Return nan as JSON can hold it."""
    return "nan" if isnan(number) else number


KIND = Scorer("streuseval", score, table, {"--depth": True, "-x": False})
