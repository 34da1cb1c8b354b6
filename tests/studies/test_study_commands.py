"""``spanloom study similarity``, ``correlate`` and ``advise``, from models and rows to advice."""

import json
import re
import shutil

import pytest
import tiny
from made_rows import RECIPES, make_row
from typer.testing import CliRunner

from spanloom.cli.main import app
from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.studies import row as rows
from spanloom.studies.designs import plan
from spanloom.studies.spec import load
from spanloom.training import train

ANALYSES = RECIPES.parents[1] / "fixtures/tiny/analyses"


def spanloom(*args, code=0):
    """Run a command; return what it printed, or its last line of stderr where it must fail."""
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == code, result.stderr
    return result.stderr.splitlines()[-1] if code else result.stdout


@pytest.fixture
def pairs_study(tmp_path):
    """A study of pairs with its single and joint models, untrained, and made rows."""
    path = tmp_path / "pairs.yaml"
    designs = [{"design": name} for name in ("single", "joint", "pairs")]
    plain = {"recipe": str(RECIPES / "tiny-joint.yaml"), "tasks": ["pos", "ner", "steps"]}
    path.write_text(json.dumps(plain | {"designs": designs}))
    (tmp_path / "runs").mkdir()
    for number, (key, job) in enumerate(plan(load(path), RECIPES, lambda keys: {}).jobs.items()):
        score = {task: 0.4 + 0.01 * number for task in job.tasks}
        rows.save(make_row(job, score), tmp_path / "rows")
        if len(job.tasks) != 2:
            resolved = resolve(recipes.loads(yaml.dump(job.recipe)), RECIPES)
            model, _ = train.new_model(resolved, "cpu")
            serialization.save(model, tmp_path / "runs" / key, figures={})
    return path


@pytest.mark.slow
def test_from_models_and_rows_to_advice(pairs_study, tmp_path):
    page = tmp_path / "similarity.html"
    models = "--study", pairs_study, "--runs", tmp_path / "runs", "--batches", 2
    spanloom("study", "similarity", *models, "--data", RECIPES, "-o", page)
    pairs = json.loads(page.with_suffix(".json").read_text())["pairs"]
    assert len(pairs) == 6
    assert all(pair["gradient_cosine"] is not None for pair in pairs)
    known = tmp_path / "gain.html"
    options = "--data", RECIPES, "--results", tmp_path / "rows", "-o", known
    spanloom("study", "correlate", pairs_study, page.with_suffix(".json"), *options)
    assert "<svg" in known.read_text()
    corpus = tiny.corpus(tmp_path / "corpus")
    said = spanloom("study", "advise", corpus, "--known", known.with_suffix(".json"))
    assert {line.split()[1] for line in said.splitlines()[3:]} <= {"pos", "ner", "steps"}
    assert "rank correlation with gain" in said


def test_a_dry_run_counts_the_runs_that_are_chosen(tmp_path):
    path = tmp_path / "singles.yaml"
    plain = {"recipe": str(RECIPES / "tiny-joint.yaml"), "tasks": ["pos", "ner"], "seeds": [1, 2]}
    path.write_text(json.dumps(plain | {"designs": [{"design": "single"}]}))
    command = ["study", "run", path, "--data", RECIPES, "-o", tmp_path / "runs", "--dry-run"]
    command += ["--results", tmp_path / "rows"]
    assert "4 of 4 runs to do" in spanloom(*command)
    printed = spanloom(*command, "--only", "pos, seed 1", "--only", "ner, seed 2")
    assert "2 of 2 runs to do" in printed
    assert "  pos, seed 1\n" in printed
    assert "  ner, seed 2\n" in printed
    key = printed.split()[0]
    assert "1 of 1 runs to do" in spanloom(*command, "--only", key)
    assert "--only chunks: expected the key of a run" in spanloom(
        *command, "--only", key, "--only", "chunks", code=2
    )


def test_an_encoder_that_is_not_here_is_refused_before_any_run(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    path = tmp_path / "trunks.yaml"
    names = {"a": "minilm", "b": "encoders/spans", "c": "ada/bert"}
    trunks = {key: [{"transformer": name}] for key, name in names.items()}
    plain = {"recipe": str(RECIPES / "tiny-joint.yaml"), "tasks": ["pos"], "trunks": trunks}
    path.write_text(json.dumps(plain | {"designs": [{"design": "single"}]}))
    data = tmp_path / "data"
    command = ["study", "run", path, "--data", data, "-o", tmp_path / "runs"]
    command += ["--results", tmp_path / "rows", "--set", f"tasks.pos.data={ANALYSES}"]
    for options in (["--dry-run"], []):
        assert spanloom(*command, *options, code=1).endswith("got encoders/spans")
    (data / "encoders/spans").mkdir(parents=True)
    assert spanloom(*command, "--dry-run", code=1).endswith("got ada/bert")
    cached = tmp_path / "hub" / "models--ada--bert"
    (cached / "snapshots/0").mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs/main").write_text("0")
    (cached / "snapshots/0/config.json").write_text("{}")
    assert "3 of 3 runs to do" in spanloom(*command, "--dry-run")


def test_a_task_without_a_test_split_is_refused_before_any_run(tmp_path):
    path = tmp_path / "scored.yaml"
    plain = {"recipe": str(RECIPES / "tiny-joint.yaml"), "tasks": ["pos", "steps"], "score": "test"}
    path.write_text(json.dumps(plain | {"designs": [{"design": "joint"}]}))
    command = ["study", "run", path, "--data", RECIPES, "-o", tmp_path / "runs"]
    command += ["--results", tmp_path / "rows"]
    for options in (["--dry-run"], []):
        told = spanloom(*command, *options, code=1)
        assert "got none of pos (" in told
        assert "steps (" in told
    tested = tmp_path / "tested"
    shutil.copytree(ANALYSES, tested)
    shutil.copy(tested / "dev.jsonl", tested / "test.jsonl")
    told = spanloom(*command, "--set", f"tasks.pos.data={tested}", "--dry-run", code=1)
    assert "pos" not in told.partition("got none of")[2]
    settings = [
        part for task in plain["tasks"] for part in ("--set", f"tasks.{task}.data={tested}")
    ]
    assert "1 of 1 runs to do" in spanloom(*command, *settings, "--dry-run")


def test_a_metric_that_a_task_lacks_is_refused_before_any_run(tmp_path):
    path = tmp_path / "reported.yaml"
    plain = {"recipe": str(RECIPES / "tiny-joint.yaml"), "tasks": ["ner", "coref"]}
    given = {"gold_inputs": ["coref"], "designs": [{"design": "joint"}]}

    def run(metrics, *options, code=1):
        path.write_text(json.dumps(plain | given | {"metrics": metrics}))
        command = ["study", "run", path, "--data", RECIPES, "-o", tmp_path / "runs", *options]
        return spanloom(*command, "--results", tmp_path / "rows", code=code)

    for options in (["--dry-run"], []):
        told = run({"ner": ["spanf1"]}, *options)
        assert "reported.yaml:1: " in told
        assert "task 'ner' has no metric 'spanf1'; did you mean 'span_f1'?" in told
    assert "no metric 'cnll_f1'" in run({"coref, gold inputs": ["cnll_f1"]})
    right = {"ner": ["span_f1"], "coref": ["muc"], "coref, gold inputs": ["conll_f1"]}
    assert "1 of 1 runs to do" in run(right, "--dry-run", code=0)


TEXT = {"data": str(ANALYSES), "kind": "masked_lm"}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"designs": [{"design": "single", "task_settings": {"ner": ["tasks.ner.hidden=3"]}}]},
            "settings.yaml: ner, seed 1 tasks.ner.hidden=3: tasks.ner.hidden: unknown key",
        ),
        (
            {"single_only": {"x": {"data": str(ANALYSES), "kind": "chunksx", "layer": "pos"}}},
            "settings.yaml: x, seed 1: .*no kind of task 'chunksx'",
        ),
        ({"sharing": ["shared-head"]}, "settings.yaml: .*'pos' cannot share its head"),
        ({"single_only": {"text": TEXT}}, "task 'text' .kind masked_lm. predicts nothing that can"),
        ({"gold_inputs": ["pos"]}, "settings.yaml:1: gold_inputs: task 'pos' cannot be given"),
    ],
)
def test_runs_that_would_fail_or_say_nothing_are_refused_before_any(tmp_path, changes, problem):
    path = tmp_path / "settings.yaml"
    plain = {"recipe": str(RECIPES / "tiny-joint.yaml"), "tasks": ["pos", "ner"]}
    path.write_text(json.dumps(plain | {"designs": [{"design": "single"}]} | changes))
    command = ["study", "run", path, "--data", RECIPES, "-o", tmp_path / "runs"]
    command += ["--results", tmp_path / "rows"]
    for options in (["--dry-run"], []):
        assert re.search(problem, spanloom(*command, *options, code=1))
    assert not (tmp_path / "runs").exists()


def test_a_setting_of_a_design_is_named_with_its_study_and_run(tmp_path):
    path = tmp_path / "settings.yaml"
    grid = {"design": "grid", "options": {"stages.0.lrr.task": [1e-3]}}
    plain = {"recipe": str(RECIPES / "tiny-joint.yaml"), "tasks": ["pos"], "designs": [grid]}
    path.write_text(json.dumps(plain))
    told = spanloom("study", "run", path, "--data", RECIPES, "--dry-run", code=1)
    assert re.search(r"settings\.yaml: pos: stages\.0\.lrr\.task=0\.001: .*unknown key", told)


def test_a_chain_passes_through_tasks_without_a_test_split(tmp_path):
    tested = tmp_path / "tested"
    shutil.copytree(ANALYSES, tested)
    shutil.copy(tested / "dev.jsonl", tested / "test.jsonl")
    path = tmp_path / "chain.yaml"
    plain = {"recipe": str(RECIPES / "tiny-joint.yaml"), "tasks": ["pos", "steps"], "score": "test"}
    path.write_text(
        json.dumps(plain | {"designs": [{"design": "chains", "orders": [["steps", "pos"]]}]})
    )
    command = ["study", "run", path, "--data", RECIPES, "--set", f"tasks.pos.data={tested}"]
    assert "2 of 2 runs to do" in spanloom(*command, "--results", tmp_path / "rows", "--dry-run")


def test_a_page_ends_in_html(tmp_path):
    assert "expected a name that ends in .html" in spanloom(
        "study", "similarity", "a", "b", "-o", tmp_path / "page.txt", code=2
    )


def test_advice_without_results_says_so(tmp_path, monkeypatch):
    from spanloom.studies import advice

    monkeypatch.setattr(advice, "KNOWN", tmp_path / "none.json")
    corpus = tiny.corpus(tmp_path / "corpus")
    assert "not known yet" in spanloom("study", "advise", corpus, code=1)
