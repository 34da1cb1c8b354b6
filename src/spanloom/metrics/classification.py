"""Score classes (accuracy, F1, Matthews) and numbers (correlations) of whole texts or text pairs.

Undefined ratios are 0.0; an undefined correlation (fewer than two texts, or a constant side) is
nan, as in scipy.
"""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spanloom.annotation.text_pairs import TEXT_PAIR, Classification, classification_of
from spanloom.document import Document
from spanloom.metrics.bootstrap import (
    DocumentCounts,
    counts_per_document,
    numbers_per_document,
    scores_per_document,
)
from spanloom.metrics.counts import Counts, counts_by_label, label_f1, macro, total
from spanloom.metrics.report import annotated_documents
from spanloom.quantity import quantity

Numbers = NDArray[np.float64]
Correlation = tuple[float, float]
"""A correlation from -1 to 1 and its two-sided p-value; both nan if undefined."""


@dataclass(frozen=True, slots=True)
class ClassificationReport:
    """The scores of one layer of classes: per text, a gold label and a predicted one or None.

    ``not_annotated`` is the number of gold documents without a label; they are not scored.
    ``negative_label`` says that none of the other classes holds, so F1 leaves it out. Of each of
    ``label_metrics`` F1 is a metric by itself.
    """

    layer: str
    pairs: tuple[tuple[str, str | None], ...]
    not_annotated: int = 0
    negative_label: str | None = None
    label_metrics: tuple[str, ...] = ()

    @property
    def accuracy(self) -> float:
        """The share of texts with the right label."""
        return sum(a == b for a, b in self.pairs) / max(1, len(self.pairs))

    @property
    def by_label(self) -> dict[str, Counts]:
        """The counts of each gold or predicted label, sorted."""
        gold = Counter(a for a, _ in self.pairs)
        predicted = Counter(b for _, b in self.pairs if b is not None)
        hits = Counter(a for a, b in self.pairs if a == b)
        return counts_by_label(hits, predicted, gold)

    @property
    def positive(self) -> dict[str, Counts]:
        """The counts of each label but the negative one."""
        return {
            name: counts for name, counts in self.by_label.items() if name != self.negative_label
        }

    @property
    def macro(self) -> float:
        """The mean F1 of all gold or predicted labels but the negative one."""
        return macro(self.positive).f1

    @property
    def micro(self) -> float:
        """F1 of all texts together, the negative label neither right nor wrong (TACRED)."""
        return total(self.positive.values()).f1

    @property
    def mcc(self) -> float:
        """Matthews' correlation for any number of labels (Gorodkin 2004, R_K), from -1 to 1."""
        gold, predicted = Counter(a for a, _ in self.pairs), Counter(b for _, b in self.pairs)
        size, num_right = len(self.pairs), sum(a == b for a, b in self.pairs)
        covariance = num_right * size - sum(gold[label] * predicted[label] for label in gold)
        gold_variance = size**2 - sum(n**2 for n in gold.values())
        predicted_variance = size**2 - sum(n**2 for n in predicted.values())
        product = gold_variance * predicted_variance
        return covariance / math.sqrt(product) if product else 0.0

    def per_document_counts(self) -> dict[str, DocumentCounts]:
        """Return the terms of accuracy: each text is one item, right or wrong.

        With a negative label also those of micro F1, to which a text with it adds no item; those of
        F1 of single labels; with two labels those of Matthews' correlation, which is Pearson's of 0
        and 1.
        """
        counts = {"accuracy": scores_per_document([float(a == b) for a, b in self.pairs])}
        if self.negative_label is not None:
            counts["micro_f1"] = self._label_counts(self.positive)
        for label in self.label_metrics:
            counts[label_f1(label)] = self._label_counts({label})
        labels = {label for pair in self.pairs for label in pair}
        if len(labels) <= 2:
            one = max(labels, key=str, default=None)
            codes = [(float(a == one), float(b == one)) for a, b in self.pairs]
            counts["mcc"] = numbers_per_document(codes)
        return counts

    def _label_counts(self, labels: Collection[str]) -> DocumentCounts:
        """Return the counts of some labels in each text."""
        return counts_per_document(
            [
                Counts(int(a == b and a in labels), int(b in labels), int(a in labels))
                for a, b in self.pairs
            ]
        )

    def metrics(self) -> dict[str, float]:
        """Return accuracy, macro and micro F1 and Matthews' correlation as numbers from 0 to 1.

        A correlation below 0 becomes 0; it is 1 if all labels are right, even where it is
        undefined.
        """
        mcc = 1.0 if self.accuracy == 1 else max(0.0, self.mcc)
        return {
            "accuracy": self.accuracy,
            "macro_f1": self.macro,
            "micro_f1": self.micro,
            "mcc": mcc,
            **{label_f1(label): self._f1(label) for label in self.label_metrics},
        }

    def _f1(self, label: str) -> float:
        counts = self.by_label.get(label)
        return 0.0 if counts is None else counts.f1

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""
        return {
            "layer": self.layer,
            "documents": len(self.pairs),
            "not_annotated": self.not_annotated,
            "accuracy": self.accuracy,
            "macro_f1": self.macro,
            "micro_f1": self.micro,
            "mcc": self.mcc,
            "labels": {label: counts.f1 for label, counts in self.by_label.items()},
        }

    def to_table(self) -> str:
        """Return aligned text, ratios in percent."""
        width = max([len("macro F1"), *map(len, self.by_label)])
        lines = [
            f"layer {self.layer}: {quantity(len(self.pairs), 'document')}",
            *(f"  {name:{width}}  {100 * value:6.2f}" for name, value in self._averages()),
            f"  {'label':{width}}      F1  hits  predicted   gold",
        ]
        for label, counts in self.by_label.items():
            numbers = f"{counts.hits:4}  {counts.predicted:9}  {counts.gold:5}"
            lines.append(f"  {label:{width}}  {100 * counts.f1:6.2f}  {numbers}")
        return "\n".join(lines) + "\n"

    def _averages(self) -> list[tuple[str, float]]:
        """Return each average with its name in the table."""
        without = [] if self.negative_label is None else [("micro F1", self.micro)]
        return [
            ("accuracy", self.accuracy),
            ("macro F1", self.macro),
            *without,
            ("Matthews", self.mcc),
        ]


@dataclass(frozen=True, slots=True)
class RegressionReport:
    """The scores of one layer of numbers: one pair per text, gold and predicted.

    ``missing`` is the number of texts without a prediction, which the correlations leave out and
    ``metrics`` counts; ``not_annotated`` is that of gold documents without a number.
    """

    layer: str
    pairs: tuple[tuple[float, float], ...]
    missing: int = 0
    not_annotated: int = 0

    @property
    def pearson(self) -> float:
        """Pearson's correlation, from -1 to 1, or nan."""
        gold, predicted = self._columns()
        return pearson(gold, predicted)[0]

    @property
    def spearman(self) -> float:
        """Pearson's correlation of ranks, or nan; ties share the mean of their ranks."""
        gold, predicted = self._columns()
        return spearman(gold, predicted)[0]

    @property
    def squared_error(self) -> float:
        """The mean squared error; nan without texts."""
        gold, predicted = self._columns()
        return float(np.mean((gold - predicted) ** 2)) if len(gold) else math.nan

    def per_document_counts(self) -> dict[str, DocumentCounts]:
        """Return the terms of Pearson's correlation; nothing where predictions are missing.

        A rank correlation is no function of sums over texts.
        """
        return {} if self.missing else {"pearson": numbers_per_document(self.pairs)}

    def metrics(self) -> dict[str, float]:
        """Return both correlations as numbers from 0 to 1, times the share of predicted texts.

        A correlation below 0 becomes 0; an undefined one is 1 if every number is right, else 0.
        """
        all_right = bool(self.pairs) and all(a == b for a, b in self.pairs)
        correlations = {"pearson": self.pearson, "spearman": self.spearman}
        share = len(self.pairs) / max(1, len(self.pairs) + self.missing)
        return {
            name: share * (float(all_right) if math.isnan(value) else min(1.0, max(0.0, value)))
            for name, value in correlations.items()
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
        documents = quantity(len(self.pairs) + self.missing, "document")
        header = f"layer {self.layer}: {documents}{missing}"
        lines = [header, *(f"  {name:18}  {value:8.4f}" for name, value in self._scores())]
        return "\n".join(lines) + "\n"

    def _columns(self) -> tuple[Numbers, Numbers]:
        """Return gold and predicted numbers."""
        table = np.array(self.pairs, dtype=np.float64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def _scores(self) -> list[tuple[str, float]]:
        """Return each score with its name."""
        return [
            ("pearson", self.pearson),
            ("spearman", self.spearman),
            ("mean_squared_error", self.squared_error),
        ]


def pearson(x: Numbers, y: Numbers) -> Correlation:
    """Return Pearson's correlation and its p-value, for independent normal numbers."""
    from scipy.stats import pearsonr  # its import takes half a second

    return _correlate(pearsonr, x, y)


def spearman(x: Numbers, y: Numbers) -> Correlation:
    """Return Pearson's correlation of ranks and its p-value, by Student's t; ties share a rank."""
    from scipy.stats import spearmanr

    return _correlate(spearmanr, x, y)


def _correlate(correlation: Callable[..., Any], x: Numbers, y: Numbers) -> Correlation:
    """Return scipy's result; nan of fewer than two points, or if a side is constant."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan, math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about sides that are nearly constant
        result = correlation(x, y)
    return float(result.statistic), float(result.pvalue)


def score_classes(
    gold: Sequence[Document],
    predicted: Sequence[Document],
    layer: str,
    negative_label: str | None = None,
    label_metrics: tuple[str, ...] = (),
) -> ClassificationReport:
    """Score the labels of whole texts against those of the gold documents of the same name.

    F1 leaves ``negative_label`` out; that of each of ``label_metrics`` is a metric by itself. A
    text without a prediction is wrong. Raises ``DataError`` where names do not match one to one,
    texts differ or a layer is malformed, and ``LayerError`` where no gold document has the layer.
    """
    pairs = _classifications(gold, predicted, layer)
    labeled = [
        (gold_class.label, predicted_class.label if predicted_class else None)
        for gold_class, predicted_class in pairs
        if gold_class
    ]
    not_annotated = len(gold) - len(labeled)
    return ClassificationReport(layer, tuple(labeled), not_annotated, negative_label, label_metrics)


def score_values(
    gold: Sequence[Document], predicted: Sequence[Document], layer: str
) -> RegressionReport:
    """Score the numbers of whole texts against those of the gold documents of the same name.

    Raises as ``score_classes`` does.
    """
    pairs = _classifications(gold, predicted, layer)
    annotated = [(a.value, b) for a, b in pairs if a and a.value is not None]
    scored = [(a, b.value) for a, b in annotated if b and b.value is not None]
    missing, not_annotated = len(annotated) - len(scored), len(gold) - len(annotated)
    return RegressionReport(layer, tuple(scored), missing, not_annotated)


def _classifications(
    gold: Sequence[Document], predicted: Sequence[Document], layer: str
) -> list[tuple[Classification | None, Classification | None]]:
    """Return the gold and predicted classification of each gold document with the layer."""
    pairs = annotated_documents(gold, predicted, layer)
    return [(classification_of(a, layer), _predicted_classification(a, b, layer)) for a, b in pairs]


def _predicted_classification(
    gold: Document, predicted: Document, layer: str
) -> Classification | None:
    """Return the predicted classification; the text pair may be in the gold document alone."""
    if not predicted.has_layer(layer):
        return None
    if gold.has_layer(TEXT_PAIR) and not predicted.has_layer(TEXT_PAIR):
        predicted = predicted.unannotated([layer]).with_layer(gold[TEXT_PAIR])
    return classification_of(predicted, layer)
