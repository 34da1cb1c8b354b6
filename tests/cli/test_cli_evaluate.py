"""``spanloom evaluate`` through its door."""

import json
import shutil
from hashlib import sha256

import pytest
import tiny

from spanloom.corpora import folder as corpora
from spanloom.metrics.report import score
from spanloom.model.serialization import load, load_recipe


@pytest.fixture
def evaluate(home, spanloom):
    def run(*args):
        return spanloom("evaluate", home / "model", *args, "--precision", "fp32")

    return run


def test_figures_are_those_of_the_metric(evaluate, home):
    gold = corpora.read(home / "corpus", "dev").documents
    model = load(home / "model", precision="fp32")
    expected = score(gold, list(model.annotate(each.unannotated() for each in gold)), "main")
    told = json.loads(evaluate(home / "corpus", "--json").stdout)
    steps = told["tasks"]["steps"]
    assert told["split"] == "dev"
    assert steps["spans"] == json.loads(json.dumps(expected.spans.to_json()))
    assert steps["relations"] == json.loads(json.dumps(expected.relations.to_json()))
    assert steps["metrics"]["span_f1"] == expected.spans.micro.f1
    text = evaluate(home / "corpus").stdout
    assert text == f"task steps\n{expected.to_table()}\n"


def test_gold_spans_are_given_when_asked_and_only_then(evaluate, home):
    plain = json.loads(evaluate(home / "corpus", "--json").stdout)["tasks"]["steps"]["metrics"]
    result = evaluate(home / "corpus", "--json", "--gold-inputs")
    given = json.loads(result.stdout)["tasks"]["steps"]["metrics"]
    assert "tasks that are given gold: steps" in result.stderr
    assert given["span_f1"] == 1.0 > plain["span_f1"]


def test_biases_tuned_for_spans_that_the_model_finds_are_not_those_for_given_ones(home):
    biased = load(home / "model", precision="fp32").with_biases({"steps": {"relation": 2.0}})
    given = biased.with_gold_inputs()
    assert (dict(biased.recipe.biases), dict(given.recipe.biases)) == (
        {"steps": {"relation": 2.0}},
        {},
    )
    documents = corpora.read(home / "corpus", "dev").documents
    bare = [given.tasks["steps"].without_gold(document) for document in documents]
    plain = load(home / "model", precision="fp32").with_gold_inputs()
    assert list(given.predict(bare, "steps")) == list(plain.predict(bare, "steps"))


def test_splits(evaluate, home):
    assert json.loads(evaluate(home / "corpus/dev", "--json").stdout)["split"] == "all"
    assert json.loads(evaluate(home / "corpus", "--split", "train", "--json").stdout)
    assert evaluate(home / "corpus", "--split", "foo").exit_code == 2
    told = evaluate(home / "corpus", "--split", "test")
    assert (told.exit_code, "TEST set" in told.stderr) == (1, False)
    assert "no split 'test' (splits there: train, dev)" in told.stderr
    told = evaluate(home / "corpus", "--split", "all")
    assert (told.exit_code, "has no splits" in told.stderr) == (1, False)
    assert "no split 'all' (splits there: train, dev)" in told.stderr


def test_a_dev_that_is_not_there_is_what_training_held_out(spanloom, tmp_path):
    """Without splits, ``--split dev`` gives the scores that training printed at its end."""
    recipe, data, model = tiny.recipe(tmp_path, epochs=12), tmp_path / "flat", tmp_path / "model"
    shutil.copytree(tmp_path / "corpus/train", data)
    trained = spanloom("train", recipe, "-o", model, "--set", "tasks.steps.data=flat").stdout
    options = "--precision", "fp32", "--json"
    result = spanloom("evaluate", model, data, "--split", "dev", *options)
    assert "has no dev; scored is what training held out, 1 of 6 documents" in result.stderr
    metrics = json.loads(result.stdout)["tasks"]["steps"]["metrics"]
    assert metrics["span_f1"] > 0
    for name in ("span_f1", "relation_f1"):
        assert f"dev steps.{name}: {100 * metrics[name]:.2f}" in trained
    whole = spanloom("evaluate", model, data, *options)
    assert json.loads(whole.stdout)["split"] == "all"
    assert "has no splits, all documents are scored" in whole.stderr
    (held_out,) = corpora.hold_out_dev(
        corpora.read(data, "all").documents, seed=load_recipe(model).seed
    )[1]
    for path in data.glob(f"{held_out.name}.*"):
        path.unlink()
    nothing = spanloom("evaluate", model, data, "--split", "dev", *options)
    assert nothing.exit_code == 1
    assert "training held out none of its 5 documents; --split all scores" in nothing.stderr


@pytest.mark.parametrize("inside", [True, False])
def test_each_look_at_a_test_set_is_noted(evaluate, home, tmp_path, inside):
    shutil.copytree(home / "corpus/dev", tmp_path / "c/Test")
    log = tmp_path / "log.jsonl"
    line = [tmp_path / "c", "--split", "test"] if inside else [tmp_path / "c/Test"]
    for _ in range(2):
        result = evaluate(*line, "--log", log)
        assert "this is the TEST set" in result.stderr
    first, second = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    manifest = (home / "model/manifest.json").read_bytes()
    assert first["model"] == sha256(manifest).hexdigest()
    assert first["date"].endswith("+00:00")
    assert first["data"] == ("c" if inside else "Test")
    assert first["metrics"].keys() == {"steps"}
    assert {k: v for k, v in first.items() if k != "date"} == {
        k: v for k, v in second.items() if k != "date"
    }


def test_dev_is_not_noted(evaluate, home, tmp_path):
    evaluate(home / "corpus", "--log", tmp_path / "log.jsonl")
    assert not (tmp_path / "log.jsonl").exists()


def test_labels_and_layers_the_model_lacks_are_told(evaluate, fails, home, tmp_path):
    (tmp_path / "a.txt").write_text("add water", encoding="utf-8")
    (tmp_path / "a.ann").write_text("T1\tDrink 4 9\twater\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("add water", encoding="utf-8")
    result = evaluate(tmp_path, "--json")
    assert "labels unknown to the model, counted as missed: Drink" in result.stderr
    assert "without layer 'main', unscored: 1 of 2 documents" in result.stderr
    counts = json.loads(result.stdout)["tasks"]["steps"]["spans"]["labels"]["Drink"]
    assert (counts["gold"], counts["hits"]) == (1, 0)
    (tmp_path / "a.ann").unlink()
    assert "has a layer that the model predicts" in fails(
        "evaluate", home / "model", tmp_path, code=1
    )
