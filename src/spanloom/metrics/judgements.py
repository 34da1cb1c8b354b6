"""What is said of whole texts, or of pairs of texts: classes (accuracy and others) and numbers.

Undefined ratios are 0.0; an undefined correlation (fewer than two texts, or one number throughout)
is nan, as scipy has it.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spanloom.document import Document
from spanloom.errors import LayerError
from spanloom.forms.parts import PARTS, Judgement, judged
from spanloom.metrics.correlation import Numbers, pearson, spearman
from spanloom.metrics.counts import Counts, macro
from spanloom.metrics.report import couples
from spanloom.metrics.tally import Tally, of_scores


@dataclass(frozen=True, slots=True)
class Classes:
    """The scores of one layer of classes: a gold label and a predicted one (or None) a text.

    ``not_annotated`` are gold documents of which the layer says nothing; they count nowhere.
    """

    layer: str
    pairs: tuple[tuple[str, str | None], ...]
    not_annotated: int = 0

    @property
    def accuracy(self) -> float:
        """The share of texts with the right label."""
        return sum(a == b for a, b in self.pairs) / max(1, len(self.pairs))

    @property
    def by_label(self) -> dict[str, Counts]:
        """The counts of each label that is gold or predicted, sorted."""
        gold = Counter(a for a, _ in self.pairs)
        predicted = Counter(b for _, b in self.pairs if b is not None)
        hits = Counter(a for a, b in self.pairs if a == b)
        labels = sorted({*gold, *predicted})
        return {label: Counts(hits[label], predicted[label], gold[label]) for label in labels}

    @property
    def macro(self) -> float:
        """The mean F1 of all labels that are gold or predicted."""
        return macro(self.by_label).f1

    @property
    def matthews(self) -> float:
        """Matthews' correlation for any number of labels (Gorodkin 2004, R_K), from -1 to 1."""
        gold, predicted = Counter(a for a, _ in self.pairs), Counter(b for _, b in self.pairs)
        size, right = len(self.pairs), sum(a == b for a, b in self.pairs)
        both = right * size - sum(gold[label] * predicted[label] for label in gold)
        one = size**2 - sum(n**2 for n in gold.values())
        two = size**2 - sum(n**2 for n in predicted.values())
        return both / math.sqrt(one * two) if one and two else 0.0

    def tallies(self) -> dict[str, Tally]:
        """Return what accuracy is made of: one thing a text, right or wrong."""
        return {"accuracy": of_scores([float(a == b) for a, b in self.pairs])}

    def figures(self) -> dict[str, float]:
        """Return accuracy, macro F1 and Matthews' correlation as numbers from 0 to 1.

        A correlation below 0 is 0; with one label throughout there is none, and it is 1 if all is
        right.
        """
        matthews = 1.0 if self.accuracy == 1 else max(0.0, self.matthews)
        return {"accuracy": self.accuracy, "macro": self.macro, "matthews": matthews}

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""
        return {
            "layer": self.layer,
            "documents": len(self.pairs),
            "not_annotated": self.not_annotated,
            "accuracy": self.accuracy,
            "macro_f1": self.macro,
            "matthews": self.matthews,
            "labels": {label: each.f1 for label, each in self.by_label.items()},
        }

    def to_table(self) -> str:
        """Return aligned text, ratios in percent."""
        width = max([len("macro F1"), *map(len, self.by_label)])
        lines = [
            f"layer {self.layer}: {len(self.pairs)} documents",
            *(f"  {name:{width}}  {100 * value:6.2f}" for name, value in self._averages()),
            f"  {'label':{width}}      F1  hits  predicted   gold",
        ]
        for label, each in self.by_label.items():
            counts = f"{each.hits:4}  {each.predicted:9}  {each.gold:5}"
            lines.append(f"  {label:{width}}  {100 * each.f1:6.2f}  {counts}")
        return "\n".join(lines) + "\n"

    def _averages(self) -> list[tuple[str, float]]:
        return [
            ("accuracy", self.accuracy),
            ("macro F1", self.macro),
            ("Matthews", self.matthews),
        ]


@dataclass(frozen=True, slots=True)
class Values:
    """The scores of one layer of numbers: gold and predicted a text.

    ``missing`` are texts without a prediction, which no score but this sees; ``not_annotated`` gold
    documents without a number.
    """

    layer: str
    pairs: tuple[tuple[float, float], ...]
    missing: int = 0
    not_annotated: int = 0

    @property
    def pearson(self) -> float:
        """Pearson's correlation, from -1 to 1, or nan."""
        gold, predicted = self._columns()
        return pearson(gold, predicted)

    @property
    def spearman(self) -> float:
        """Pearson's correlation of ranks; equal numbers share the mean of their ranks."""
        gold, predicted = self._columns()
        return spearman(gold, predicted)

    @property
    def squared_error(self) -> float:
        """The mean squared difference; nan without texts."""
        gold, predicted = self._columns()
        return float(np.mean((gold - predicted) ** 2)) if len(gold) else math.nan

    def tallies(self) -> dict[str, Tally]:
        """Return nothing: no sums over texts make a rank correlation."""
        return {}

    def figures(self) -> dict[str, float]:
        """Return both correlations as numbers from 0 to 1.

        One below 0 is 0; one that is undefined is 1 if every number is right, else 0.
        """
        right = bool(self.pairs) and not self.missing and all(a == b for a, b in self.pairs)
        both = {"pearson": self.pearson, "spearman": self.spearman}
        return {
            name: float(right) if math.isnan(value) else min(1.0, max(0.0, value))
            for name, value in both.items()
        }

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``; None for what is undefined."""
        scores = {name: None if math.isnan(value) else value for name, value in self._scores()}
        return {
            "layer": self.layer,
            "documents": len(self.pairs) + self.missing,
            "missing": self.missing,
            "not_annotated": self.not_annotated,
            **scores,
        }

    def to_table(self) -> str:
        """Return aligned text."""
        missing = f", {self.missing} without a prediction" if self.missing else ""
        head = f"layer {self.layer}: {len(self.pairs) + self.missing} documents{missing}"
        lines = [head, *(f"  {name:18}  {value:8.4f}" for name, value in self._scores())]
        return "\n".join(lines) + "\n"

    def _columns(self) -> tuple[Numbers, Numbers]:
        table = np.array(self.pairs, dtype=np.float64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def _scores(self) -> list[tuple[str, float]]:
        return [
            ("pearson", self.pearson),
            ("spearman", self.spearman),
            ("mean_squared_error", self.squared_error),
        ]


def score_classes(gold: Sequence[Document], predicted: Sequence[Document], layer: str) -> Classes:
    """Score the labels of whole texts against those of the gold documents of the same name.

    A text without a prediction is wrong. Raises ``DataError`` where names do not match one to one,
    texts differ or a layer says no such thing, and ``LayerError`` where no gold document has it.
    """
    pairs = _said(gold, predicted, layer)
    known = [(one.label, two.label if two else None) for one, two in pairs if one]
    return Classes(layer, tuple(known), len(gold) - len(known))


def score_values(gold: Sequence[Document], predicted: Sequence[Document], layer: str) -> Values:
    """Score the numbers of whole texts against those of the gold documents of the same name.

    Raises as ``score_classes`` does.
    """
    pairs = _said(gold, predicted, layer)
    known = [(one.value, two) for one, two in pairs if one and one.value is not None]
    both = [(a, two.value) for a, two in known if two and two.value is not None]
    return Values(layer, tuple(both), len(known) - len(both), len(gold) - len(known))


def _said(
    gold: Sequence[Document], predicted: Sequence[Document], layer: str
) -> list[tuple[Judgement | None, Judgement | None]]:
    """What the layer says of each text that has it, gold and predicted."""
    pairs = [pair for pair in couples(gold, predicted) if pair[0].has(layer)]
    if not pairs:
        known = sorted({each.name for document in gold for each in document.layers})
        raise LayerError("gold documents", layer, known)
    return [(judged(one, layer), _predicted(one, two, layer)) for one, two in pairs]


def _predicted(gold: Document, predicted: Document, layer: str) -> Judgement | None:
    """What the predicted layer says; the parts it speaks of may stand in the gold one alone."""
    if not predicted.has(layer):
        return None
    if gold.has(PARTS) and not predicted.has(PARTS):
        predicted = predicted.bare([layer]).with_layer(gold[PARTS])
    return judged(predicted, layer)
