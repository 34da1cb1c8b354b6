"""The n-gram models that pre-training is measured against: against plain counting."""

import importlib
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SEQUENCES = [[3, 1, 3, 1, 2], [1, 3, 1], [2, 2]]


@pytest.fixture
def ngrams(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("ngram_baselines")


def arrays(sequences):
    return [np.array(sequence) for sequence in sequences]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_probabilities_are_relative_frequencies(ngrams, order):
    model = ngrams.NGrams(arrays(SEQUENCES), order, 5)
    counts = [
        Counter(tuple(s[i : i + n]) for s in SEQUENCES for i in range(len(s) - n + 1))
        for n in range(1, order + 1)
    ]
    total = sum(counts[0].values())
    text = [1, 3, 1, 4, 2, 2]
    found = model.probabilities(np.array(text))
    for i, piece in enumerate(text):
        assert found[i, 0] == 1 / 5
        assert math.isclose(found[i, 1], counts[0][piece,] / total)
        for n in range(2, order + 1):
            before = tuple(text[i - n + 1 : i]) if i >= n - 1 else None
            starts = counts[n - 2][before] if before else 0
            expected = counts[n - 1][*before, piece] / starts if starts else 0
            assert math.isclose(found[i, n], expected)


def test_weights_sum_to_one_and_longer_models_fit_held_out_text_better(ngrams):
    train = arrays([[1, 2, 3, 4] * 30, [4, 3, 1] * 20])
    held_out = arrays([[1, 2, 3, 4] * 5])
    losses = []
    for order in (1, 2):
        model = ngrams.NGrams(train, order, 9)
        model.fit(held_out)
        assert math.isclose(model.weights.sum(), 1)
        losses.append(model.losses(held_out[0]).mean())
    assert losses[1] < losses[0]
