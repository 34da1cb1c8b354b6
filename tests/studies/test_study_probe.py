"""Probing: vectors against one sentence at a time, what a classifier finds, tables, pictures."""

import csv
import io
import json
from random import Random

import numpy as np
import pytest
import torch
from made_rows import RECIPES
from scipy.stats import binomtest
from typer.testing import CliRunner

from spanloom.cli.study import app as study_app
from spanloom.config import recipe as recipes
from spanloom.corpora.probing_sets import Example, ProbingSet
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.studies import probing
from spanloom.studies.probing import BAG, POOLINGS, as_document, encode, probe, wilson
from spanloom.studies.report import write_probing
from spanloom.tokenization import given_words
from spanloom.training.train import new_model

WORDS = "add mix spin wash water buffer cells tube the and".split()
TINY = RECIPES.parent / "tiny"


@pytest.fixture(scope="module")
def model():
    """The tiny hierarchy with random weights."""
    made, _ = new_model(resolve(recipes.load(TINY / "hmtl.yaml"), TINY), "cpu")
    return made


def _sentences(count, longest=9):
    rng = Random(0)
    made = {tuple(rng.choices(WORDS, k=rng.randint(2, longest))) for _ in range(count)}
    return sorted(made)


def test_a_sentence_gives_its_words():
    document = as_document(("a", "bc", "d"))
    assert document.text == "a bc d"
    tokens = given_words(document)
    assert [tuple(bound) for bound in tokens.words] == [(0, 1), (2, 4), (5, 6)]
    assert [tuple(bound) for bound in tokens.sentences] == [(0, 3)]


def test_vectors_are_those_of_each_sentence_alone(model):
    sentences = [*_sentences(7), tuple(WORDS) * 14]  # the last is longer than a window
    source = probing._word_vectors(model, None, sentences)
    pooled = encode(model, sentences, source)
    levels = ["trunk", "entities", "mentions", "chains", "facts"]
    names = [BAG, *levels, *(f"untrained {level}" for level in levels[1:])]
    assert list(pooled) == [(name, pooling) for name in names for pooling in POOLINGS]
    for row, words in enumerate(sentences[:-1]):
        alone = encode(model, [words], source)
        for key, matrix in pooled.items():
            np.testing.assert_allclose(matrix[row], alone[key][0], rtol=1e-3, atol=1e-5)
    static = model.network.trunk[0]
    ids = [static.rows.get(word, len(static.rows)) for word in sentences[0]]
    expected = torch.stack([source_row(static, i) for i in ids])
    np.testing.assert_allclose(pooled[BAG, "mean"][0], expected.mean(0).numpy(), rtol=1e-4)
    np.testing.assert_allclose(pooled[BAG, "max"][0], expected.amax(0).numpy(), rtol=1e-4)
    whole = pooled["trunk", "max"][-1], pooled["trunk", "mean"][-1]
    assert (whole[0] >= whole[1] - 1e-5).all()


def source_row(static, row):
    """The vector of one word of the tiny file, as the embedder gives it for a batch of one."""
    word = next(word for word, number in static.rows.items() if number == row)
    lines = (TINY.parents[1] / "fixtures/tiny/vectors.txt").read_text("utf-8").splitlines()
    found = next(line for line in lines if line.split(" ")[0] == word)
    return torch.tensor([float(number) for number in found.split(" ")[1:]])


@pytest.mark.parametrize(("right", "total"), [(0, 7), (7, 7), (31, 60), (1, 1000)])
def test_intervals_are_wilsons(right, total):
    expected = binomtest(right, total).proportion_ci(0.95, method="wilson")
    assert wilson(right, total) == pytest.approx((expected.low, expected.high), abs=1e-6)


def _planted(count=240):
    """A task that one word tells, and one that nothing tells."""
    rng, sentences = Random(1), _sentences(count, 12)
    rng.shuffle(sentences)
    splits = ["tr", "va", "te"]
    seen = [
        Example(splits[n % 3], "yn"["water" in words], words) for n, words in enumerate(sentences)
    ]
    noise = [Example(splits[n % 3], rng.choice("yn"), words) for n, words in enumerate(sentences)]
    return [ProbingSet("WC", tuple(seen)), ProbingSet("Noise", tuple(noise))]


@pytest.mark.slow
def test_what_words_tell_is_found_and_what_nothing_tells_is_not(model, tmp_path):
    pytest.importorskip("sklearn")
    said = []
    found = probe(model, _planted(), None, said.append)
    best = {(a.task, a.vectors): a for a in found if a.pooling == "max"}
    bag, noise = best["WC", BAG], best["Noise", BAG]
    assert bag.low > bag.majority
    assert noise.low < 0.5 + 0.1
    assert all(a.low <= a.accuracy <= a.high for a in found)
    assert sum(bag.sizes) == len(_planted()[0].examples)
    assert [(a.vectors, a.accuracy) for a in probe(model, _planted(), None, said.append)] == [
        (a.vectors, a.accuracy) for a in found
    ]
    paths = write_probing(found, tmp_path / "out")
    assert {"probing.csv", "trunk.svg", "untrained-chains.svg", "bag-of-vectors.svg"} <= {
        path.name for path in paths
    }
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out/probing.csv").read_text("utf-8"))))
    assert len(rows) == len(found) == len(json.loads(probing.to_json(found)))
    table = probing.to_text(found).splitlines()
    assert table[0].split() == ["WC", "Noise"]
    assert len(table) == 1 + len(found) // 2 + 2


@pytest.mark.slow
def test_the_command_reads_sentevals_files_and_probes_a_saved_model(model, tmp_path):
    pytest.importorskip("sklearn")
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/word_content.txt").write_text(_planted()[0].dumps(), "utf-8")
    serialization.save(model, tmp_path / "model", figures={})
    line = ["probe", str(tmp_path / "model"), "--tasks", str(tmp_path / "tasks")]
    result = CliRunner().invoke(study_app, [*line, "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out/entities.svg").read_text("utf-8").startswith("<svg")
