"""Corpora of different labels learnt as one task: through a map, what nobody looked for masked."""

import json
import re
import shutil

import pytest
from typer.testing import CliRunner

from spanloom.cli.main import app
from spanloom.config import recipe as recipes
from spanloom.corpora import document_cache
from spanloom.errors import DataError, FormatError, RecipeError
from spanloom.glad.run import run
from spanloom.metrics.bootstrap import loads
from spanloom.model import evaluation, serialization
from spanloom.model.plan import resolve
from spanloom.studies.designs import plan
from spanloom.studies.execute import Folders, execute
from spanloom.studies.spec import load
from spanloom.training.split_corpus import read_dev
from spanloom.training.train import new_model

FIRST = {"Action": "act", "Reagent": "thing", "Place": "thing", "Modifier": None}
JOINED = [{"data": "corpus", "label_map": FIRST}, {"data": "acts", "label_map": {"Action": "act"}}]
TASKS = {"names": {"data": "joined", "kind": "entities", "layer": "names", "hidden_size": 16}}
STAGE = {"tasks": ["names"], "epochs": 1, "batch_words": 40, "precision": "fp32"}


@pytest.fixture(scope="module")
def home(bench):
    """Beside the usual corpus one whose annotators looked for actions alone."""
    acts = bench.home / "acts"
    if not acts.exists():
        shutil.copytree(bench.home / "corpus", acts)
        for path in acts.rglob("*.ann"):
            kept = [line for line in path.read_text().splitlines(True) if "\tAction " in line]
            path.write_text("".join(line for line in kept if line.startswith("T")))
        for name in ("corpus", "acts"):
            shutil.copytree(bench.home / name / "dev", bench.home / name / "test")
    yield bench.home
    shutil.rmtree(acts)
    shutil.rmtree(bench.home / "corpus" / "test")


def joined(**changes):
    return {"corpora": {"joined": JOINED}, "tasks": TASKS, "stages": [STAGE], **changes}


def test_labels_are_those_of_the_map_and_what_was_looked_for_is_known(bench, home):
    prepared = bench.fresh(**joined())[1]
    task, data = prepared.tasks["names"], prepared.data["names"]
    assert task.vocabulary.spans == ("act", "thing")
    half = len(data.tokenized) // 2
    gold = [data.gold[row] for row in range(2 * half)]
    assert {each.annotated_labels for each in gold[:half]} == {(True, True, True)}
    assert {each.annotated_labels for each in gold[half:]} == {(True, True, False)}
    assert {label for each in gold[:half] for _, _, label in each.spans} == {0, 1, 2}
    assert {label for each in gold[half:] for _, _, label in each.spans} == {1}
    looked = task.collate_targets(
        [unit for row in (0, half) for unit in units(task, data, row)], dict(enumerate(gold))
    ).label_mask
    words = len(data.tokenized[0].words)
    assert looked[:words].all()
    assert looked[words:, :2].all()
    assert not looked[words:, 2].any()


def test_a_study_scores_tests_of_equal_names(bench, home, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "LOG", tmp_path / "test-evaluations.jsonl")
    bench.write("joined.yaml", **joined())
    study = home / "study.yaml"
    study.write_text(
        '{"recipe": "joined.yaml", "score": "test", "designs": [{"design": "single"}]}'
    )
    folders = Folders(home, tmp_path / "runs", tmp_path / "rows")
    (job,) = plan(load(study), home, lambda keys: {}).jobs.values()
    counts = execute(job, folders, print).scores["names"]["test"].per_document_counts["span_f1"]
    assert len(loads(counts).rows) == 2 * len([*(home / "acts" / "test").rglob("*.ann")])


def test_dev_by_itself_is_the_dev_of_training_and_needs_no_train(bench, home):
    """A corpus without a dev of its own gives a tenth of train, here as there."""
    whole = home / "whole"
    shutil.copytree(home / "corpus" / "train", whole / "train")
    tasks = {**TASKS, "whole": {"data": "whole", "kind": "entities", "hidden_size": 16}}
    stage = {**STAGE, "tasks": [*tasks]}
    path = bench.write("dev.yaml", **joined(tasks=tasks, stages=[stage]))
    plan = resolve(recipes.load(path), home)
    corpora = {name: data.dev for name, data in new_model(plan, "cpu")[1].data.items()}
    assert read_dev(plan) == corpora
    shutil.rmtree(whole)
    not_utf8 = home / "acts" / "train" / "odd.txt"
    not_utf8.write_bytes(b"\xff")
    try:
        with pytest.raises(FormatError, match=not_utf8.name):
            document_cache.read(home / "acts", "train")
        assert read_dev(plan, ["names"]) == {"names": corpora["names"]}
    finally:
        not_utf8.unlink()


def units(task, data, row):
    from spanloom.data.instances import InstanceLimits

    return task.reader.instances(row, data.tokenized[row], InstanceLimits(64, 64), None)


def test_a_model_of_joined_corpora_has_a_row_a_corpus(bench, home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = bench.write("joined.yaml", **joined())
    rows = list(run(recipe, home, tmp_path / "model", print, resume=False))
    assert [(row.dataset, row.task) for row in rows] == [("corpus", "names"), ("acts", "names")]
    assert set(rows[1].report["spans"]["labels"]) <= {"act"}
    assert set(rows[0].report["spans"]["labels"]) <= {"act", "thing"}
    model = serialization.load(tmp_path / "model", device="cpu")
    assert [layer.name for layer in model("add warm buffer .").layers] == ["names"]
    assert "`names` of `corpus`, `acts`" in (tmp_path / "model" / "README.md").read_text()
    asked = ["evaluate", str(tmp_path / "model"), str(home / "acts"), "--split", "test", "--json"]
    result = CliRunner().invoke(app, asked)
    assert "layer 'main' of acts as it learnt it" in result.stderr
    assert json.loads(result.stdout)["tasks"]["names"]["metrics"] == rows[1].metrics


def test_a_label_without_a_name_is_an_error(bench, home):
    part = {"data": "corpus", "label_map": {"Action": "act"}}
    with pytest.raises(DataError, match=r"has a span 'Modifier' that its map of labels does not"):
        bench.fresh(**joined(corpora={"joined": [part]}))


def test_without_maps_any_kind_learns_from_several(bench, home):
    """A layer is whole then, and all of its labels were looked for."""
    parts = [{"data": "corpus"}, {"data": "acts"}]
    steps = {"steps": {"data": "joined", "kind": "relations", "layer": "steps", "hidden_size": 16}}
    stage = STAGE | {"tasks": ["steps"]}
    changes = {"tasks": steps, "stages": [stage]}
    both = bench.fresh(**joined(corpora={"joined": parts}, **changes))[1].data["steps"]
    alone = {"steps": steps["steps"] | {"data": "corpus", "layer": "main"}}
    one = bench.fresh(tasks=alone, stages=[stage])[1].data["steps"]
    half = len(both.tokenized) // 2
    assert [both.gold[row] for row in range(half)] == [one.gold[row] for row in range(half)]
    assert any(each.pairs for each in one.gold.values())
    assert both.gold[half].annotated_labels is None
    assert both.dev[0].name == "corpus/dev0"


@pytest.mark.parametrize("kind", ["sequence_tagging", "relations"])
def test_a_kind_that_cannot_mask_is_refused(bench, home, kind):
    tags = {"names": {"data": "joined", "kind": kind, "layer": "names", "hidden_size": 16}}
    said = "tasks.names.data: a corpus whose parts have different labels needs a kind"
    with pytest.raises(RecipeError, match=re.escape(said)):
        bench.fresh(**joined(tasks=tags))


@pytest.mark.parametrize(
    ("corpora", "said"),
    [
        ({"joined": [JOINED[0], JOINED[0]]}, "corpora.joined: names 'corpus' twice"),
        ({"joined": JOINED, "idle": JOINED}, "corpora.idle: no task has it as its data"),
        ({"joined": [{"data": "corpus", "label_map": {"a": ""}}]}, "corpora.joined.0.label_map.a:"),
        (
            {"joined": [{"data": "corpus", "label_map": {"a": "b\nc"}}]},
            "corpora.joined.0.label_map.a:",
        ),
    ],
)
def test_what_makes_no_corpus_is_told_with_its_place(bench, home, corpora, said):
    with pytest.raises(RecipeError, match=re.escape(said)):
        bench.fresh(**joined(corpora=corpora))


def test_a_layer_that_a_source_lacks_is_an_error(bench, home):
    part = {"data": "corpus", "layer": "mian", "label_map": FIRST}
    with pytest.raises(DataError, match=r"no document of 'corpus' has layer 'mian' .*: main"):
        bench.fresh(**joined(corpora={"joined": [part]}))


def test_a_misspelt_corpus_is_told_with_its_like(bench, home):
    tasks = {"names": TASKS["names"] | {"data": "joind"}, "more": TASKS["names"]}
    stage = STAGE | {"tasks": ["names", "more"]}
    with pytest.raises(RecipeError, match=r"no corpus 'joind'.* did you mean 'joined'"):
        bench.fresh(**joined(tasks=tasks, stages=[stage]))
