"""Corpus vectors in recipes: trained, saved, chosen by a document or by the recipe."""

import json
import re
import shutil

import pytest
import torch
from typer.testing import CliRunner

from spanloom.annotation.comparable import comparable
from spanloom.cli.main import app
from spanloom.document import Document
from spanloom.errors import RecipeError
from spanloom.model import serialization
from spanloom.training.loop import BEST
from spanloom.training.progress_line import LogIntervals
from spanloom.training.warm_start import inherit, remove_tasks, reset_head

TASK = {"data": "both", "kind": "entities", "layer": "names", "hidden_size": 16}
TASK |= {"corpus_vectors": True}
STAGE = {"tasks": ["names"], "epochs": 1, "batch_words": 40, "precision": "fp32"}
TEXT = "add warm buffer ."


@pytest.fixture(scope="module", autouse=True)
def other(bench):
    """A second corpus of the same texts, whose names of labels differ."""
    folder = bench.home / "other"
    shutil.copytree(bench.home / "corpus", folder)
    for path in folder.rglob("*.ann"):
        path.write_text(re.sub(r"^(T\d+\t)(\w+)", r"\1Other\2", path.read_text(), flags=re.M))
    yield
    shutil.rmtree(folder)


def recipe(stage=STAGE, parts=("corpus", "other"), **task):
    corpora = {"both": [{"data": name} for name in parts]}
    return {"corpora": corpora, "tasks": {"names": TASK | task}, "stages": [stage]}


def spread(model):
    """Make the vectors of the corpora so different that every answer shows which was read."""
    torch.manual_seed(3)
    torch.nn.init.normal_(model.network.corpus_vectors["names"].vectors.weight, std=20)
    return model


def names(model, text=TEXT):
    return comparable(model(text))


def test_training_reads_each_corpus_by_its_own_vector(bench, tmp_path):
    run = bench.run(tmp_path / "run", **recipe())
    data = run.prepared.data["names"]
    assert [tokens.corpus for tokens in data.tokenized] == [
        name for name in ("corpus", "other") for _ in range(len(data.tokenized) // 2)
    ]
    run.train(LogIntervals(0.0), resume=False)
    table = run.model.network.corpus_vectors["names"].vectors.weight
    assert (table.abs().sum(1) > 0).all()
    assert not torch.equal(table[0], table[1])
    loaded = serialization.load(tmp_path / "run" / BEST, device="cpu")
    assert torch.equal(loaded.network.corpus_vectors["names"].vectors.weight, table)


def test_a_model_in_use_follows_the_guidelines_of_its_recipe(bench):
    first = spread(bench.fresh(**recipe())[0])
    named = spread(bench.fresh(**recipe(guidelines="corpus"))[0])
    second = spread(bench.fresh(**recipe(guidelines="other"))[0])
    assert names(first) == names(named)
    assert names(first) != names(second)


def test_evaluation_on_a_corpus_reads_its_own_vector(bench, tmp_path):
    models = [spread(bench.fresh(**recipe(guidelines=name))[0]) for name in ("corpus", "other")]
    reports = []
    for row, model in enumerate(models):
        serialization.save(model, tmp_path / str(row), figures={})
        for corpus in ("corpus", "other"):
            asked = ["evaluate", str(tmp_path / str(row)), str(bench.home / corpus), "--json"]
            result = CliRunner().invoke(app, asked)
            reports.append(json.loads(result.stdout)["tasks"]["names"])
    assert reports[0] == reports[2]
    assert reports[1] == reports[3]


def test_a_reset_head_forgets_its_corpora_and_a_removed_one_takes_them_along(bench):
    model, _ = bench.fresh(**recipe())
    spread(model)
    reset_head(model, "names", "0/0")
    assert not model.network.corpus_vectors["names"].vectors.weight.any()
    assert not remove_tasks(model, ["names"]).network.corpus_vectors


def test_vectors_are_inherited_by_the_names_of_corpora(bench):
    earlier = spread(bench.fresh(**recipe())[0])
    model, _ = bench.fresh(**recipe(parts=("other", "corpus")))
    assert inherit(model, earlier) == []
    before, after = (
        part.network.corpus_vectors["names"].vectors.weight for part in (earlier, model)
    )
    assert torch.equal(after, before.flip(0))
    without, _ = bench.fresh(**recipe(corpus_vectors=False))
    assert inherit(model, without) == ["vector of other of names", "vector of corpus of names"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": "corpus", "layer": "main"}, "tasks.names.corpus_vectors: needs data that joins"),
        ({"guidelines": "othr"}, "tasks.names.guidelines: no joined corpus 'othr'"),
        (
            {"corpus_vectors": False, "guidelines": "other"},
            "tasks.names.guidelines: needs corpus_vectors: true",
        ),
    ],
)
def test_vectors_without_corpora_are_refused(bench, changes, message):
    asked = recipe(**changes)
    if asked["tasks"]["names"]["data"] == "corpus":
        del asked["corpora"]
    with pytest.raises(RecipeError, match=re.escape(message)):
        bench.fresh(**asked)


def test_a_shared_head_has_no_corpus_vectors(bench):
    asked = recipe(kind="sequence_tagging") | {"sharing": "shared-head"}
    del asked["tasks"]["names"]["hidden_size"]
    with pytest.raises(RecipeError, match="needs a head of its own"):
        bench.fresh(**asked)


def test_a_document_may_be_of_no_corpus(bench):
    model, _ = bench.fresh(**recipe())
    assert [layer.name for layer in next(model.annotate([Document(TEXT)])).layers] == ["names"]
