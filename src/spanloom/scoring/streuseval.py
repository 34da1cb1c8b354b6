"""streuseval (STREUSLE 4): score predicted multiword expressions and supersenses.

It scores tags of words, links between words of expressions, and expressions by shape and kind of
supersense. ``--depth`` makes adposition supersenses coarser. (Schneider et al. 2014; 2018)
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
_GIVEN = "goldid"  # in a file name: its expressions are gold, which the program does not support
_TAGS = {"Full": (0, 1, 2), "-Lexcat": (0, 2), "-SS": (0, 1), "-Lexcat -SS": (0,)}
_NOTHING = Compared(Counts(), Counts(), Counts(), Counts())


class _Ratio(NamedTuple):
    """A fraction as the program keeps it: never reduced, and nan if the denominator is 0."""

    num: float
    den: float

    @property
    def value(self) -> float:
        """The quotient."""
        return self.num / self.den if self.den else nan

    def to_json(self) -> Scores:
        """Return numerator, denominator and quotient."""
        return {"num": _nan_to_text(self.num), "den": self.den, "value": _nan_to_text(self.value)}


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return every count and ratio, including those of ``-x``; 0/0 is "nan".

    Raises ``FormatError`` if a file is malformed, contradicts itself, or has other sentences than
    gold; words are not compared.
    """
    depth = options.get("--depth", _DEPTHS[-1])
    if depth not in _DEPTHS:
        raise DataError(f"--depth: expected one of {', '.join(_DEPTHS)}, got {depth!r:.60}")
    if predicted.name.split(".")[-2:-1] == [_GIVEN]:
        problem = f"expected expressions that a system found, got a file .{_GIVEN}."
        raise FormatError(str(predicted), None, problem)
    gold_sentences, predicted_sentences = (
        [*sentences(path, int(depth))] for path in (gold, predicted)
    )
    _check_sentences(gold_sentences, predicted_sentences, predicted)
    full = {
        "* / Tags": _score_tags(gold_sentences, predicted_sentences),
        **_score_links(gold_sentences, predicted_sentences),
    }
    compared = compare_classes(_expressions(gold_sentences), _expressions(predicted_sentences))
    for shape in SHAPES:
        for kind in KINDS:
            counts = compared.get((shape, kind), _NOTHING)
            full[f"{shape} / {kind}"] = _score_class(counts, roles=kind in BY_ROLE)
    return {"full": full}


def table(scores: Scores) -> str:
    """Format the ratios in percent, one class per row, without classes that do not occur."""
    full = scores["full"]
    tags = ((name, values["Acc"]["value"]) for name, values in full["* / Tags"].items())
    lines = [f"{name:22}{_percent(value)}" for name, value in tags]
    lines += ["", f"{'':22}{'':10}     P      R      F"]
    for name, measures in full.items():
        for measure, values in measures.items():
            if "P" in values and (values["P"]["den"] or values["R"]["den"]):
                ratios = (values["P"]["value"], values["R"]["value"], values["F"])
                lines.append(f"{name:22}{measure:10}{' '.join(map(_percent, ratios))}")
    return "\n".join(lines) + "\n"


def _percent(value: float | str) -> str:
    return f"{'nan':>6}" if isinstance(value, str) else f"{100 * value:6.1f}"


def _check_sentences(gold: Sequence[Sentence], predicted: Sequence[Sentence], path: Path) -> None:
    """Raise ``FormatError`` unless both have the same sentences in the same order."""
    if not gold or len(gold) != len(predicted):
        problem = f"expected as many sentences as gold, {len(gold) or 'some'}, got {len(predicted)}"
        raise FormatError(str(path), None, problem)
    for gold_sentence, predicted_sentence in zip(gold, predicted, strict=True):
        if (gold_sentence.name, len(gold_sentence.tags)) != (
            predicted_sentence.name,
            len(predicted_sentence.tags),
        ):
            problem = (
                f"expected {gold_sentence.name!r:.40} of {len(gold_sentence.tags)} words as in gold"
            )
            got = f"got {predicted_sentence.name!r:.40} of {len(predicted_sentence.tags)}"
            raise FormatError(str(path), predicted_sentence.line, f"{problem}, {got}")


def _expressions(side: Iterable[Sentence]) -> list[Expression]:
    """Return the expressions of all sentences, with word indices over the whole corpus."""
    expressions: list[Expression] = []
    first_word = 0
    for sentence in side:
        expressions += [
            expression._replace(words=tuple(word + first_word for word in expression.words))
            for expression in sentence.expressions
        ]
        first_word += len(sentence.tags)
    return expressions


def _score_tags(gold: Iterable[Sentence], predicted: Iterable[Sentence]) -> Scores:
    """Count words whose tags agree in the given parts."""
    pairs = [
        tags
        for gold_sentence, predicted_sentence in zip(gold, predicted, strict=True)
        for tags in zip(gold_sentence.tags, predicted_sentence.tags, strict=True)
    ]
    scores: Scores = {}
    for name, tag_parts in _TAGS.items():
        num_right = sum(
            1
            for gold_tag, predicted_tag in pairs
            if all(gold_tag[part] == predicted_tag[part] for part in tag_parts)
        )
        counts = {"N": len(pairs), "correct": num_right, "incorrect": len(pairs) - num_right}
        scores[name] = _nonzero(counts) | {"Acc": _Ratio(num_right, len(pairs)).to_json()}
    return scores


def _score_links(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> Scores:
    """Score links with weak expressions counted as strong, without them, and the mean of both."""
    scores: Scores = {}
    for shape, gaps in (("MWE", False), ("GappyMWE", True)):
        ratios: list[tuple[_Ratio, ...]] = []
        by_name: Scores = {}
        for name, weak in (("Link+", True), ("Link-", False)):
            links = count_links(_groups(gold, weak), _groups(predicted, weak), gaps=gaps)
            precision = _Ratio(links.predicted_in_gold, links.predicted)
            recall = _Ratio(links.gold_in_predicted, links.gold)
            ratios.append((precision, recall, _f1(precision, recall)))
            by_name[name] = _link_counts(links) | _ratios_json(*ratios[-1])
        by_name["LinkAvg"] = _ratios_json(*map(_mean_ratio, *ratios))
        scores[f"{shape} / Tags"] = by_name
    return scores


def _groups(side: Iterable[Sentence], with_weak: bool) -> list[Group]:
    """Return the groups of all sentences, with word indices over the whole corpus."""
    groups: list[Group] = []
    first_word = 0
    for sentence in side:
        weak_groups = sentence.weak if with_weak else []
        in_weak = {word for group in weak_groups for word in group}
        strong_groups = [group for group in sentence.strong if group[0] not in in_weak]
        groups += [
            tuple(word + first_word for word in group) for group in (*weak_groups, *strong_groups)
        ]
        first_word += len(sentence.tags)
    return groups


def _link_counts(links: Links) -> Scores:
    """Return the numerators and denominators of links."""
    return {
        "PNumer": links.predicted_in_gold,
        "PDenom": links.predicted,
        "RNumer": links.gold_in_predicted,
        "RDenom": links.gold,
    }


def _score_class(compared: Compared, *, roles: bool) -> Scores:
    """Score a class; roles and functions only count for some kinds."""
    counted = compared if roles else compared._replace(role=Counts(), function=Counts())
    counts_by_name = {
        "ID": counted.words,
        "Labeled": counted.senses,
        "Role": counted.role,
        "Fxn": counted.function,
    }
    scores: Scores = {}
    for name, counts in counts_by_name.items():
        precision = _Ratio(counts.hits, counts.predicted)
        recall = _Ratio(counts.hits, counts.gold)
        scores[name] = _nonzero(
            {
                "correct": counts.hits,
                "missed": counts.gold - counts.hits,
                "extra": counts.predicted - counts.hits,
                "Pdenom": counts.predicted,
                "Rdenom": counts.gold,
            }
        ) | _ratios_json(precision, recall, _f1(precision, recall))
    return scores


def _ratios_json(precision: _Ratio, recall: _Ratio, f1: _Ratio) -> Scores:
    """Return precision, recall and F1."""
    return {"P": precision.to_json(), "R": recall.to_json(), "F": _nan_to_text(f1.value)}


def _nonzero(counts: Mapping[str, int]) -> Scores:
    """Return the counts that are not zero."""
    return {name: count for name, count in counts.items() if count}


def _f1(precision: _Ratio, recall: _Ratio) -> _Ratio:
    """Return the harmonic mean in the program's order, over the precision's denominator."""
    numerator = precision.num * 2.0 * recall.value
    return _Ratio(_divide(numerator, _sum_ratios(precision, recall)), precision.den)


def _mean_ratio(first: _Ratio, second: _Ratio) -> _Ratio:
    """Return the mean over the mean of both denominators, over their product if they are equal."""
    den = (first.den + second.den) / 2
    if first.den == second.den:
        return _Ratio((first.num + second.num) / 2.0 * den, den * first.den)
    return _Ratio((first.value + second.value) / 2 * den, den)


def _sum_ratios(first: _Ratio, second: _Ratio) -> float:
    """Return the sum of two values, as one fraction if they have the same denominator."""
    if first.den == second.den:
        return _Ratio(first.num + second.num, first.den).value
    return first.value + second.value


def _divide(num: float, den: float) -> float:
    """Return a quotient, nan if the denominator is 0."""
    return num / den if den else nan


def _nan_to_text(number: float) -> float | str:
    """Return the number, or "nan", as JSON has no such number."""
    return "nan" if isnan(number) else number


KIND = Scorer("streuseval", score, table, {"--depth": True, "-x": False})
