"""``spanloom train`` and ``spanloom init`` through their door."""

import os
import re
import shlex
import signal
import subprocess
import sys

import pytest
import tiny

from spanloom.config import recipe as recipes
from spanloom.training.interrupt import Stopped


@pytest.fixture
def small(home, tmp_path):
    """A recipe of one epoch over the home's encoder and corpus."""
    stage = {"tasks": ["steps"], "epochs": 1, "batch_words": 96, "precision": "fp32"}
    tasks = {"steps": {"data": str(home / "corpus"), "kind": "relations", "hidden_size": 16}}
    trunk = [{"transformer": str(home / "encoder")}]
    (tmp_path / "encoder").mkdir()
    (tmp_path / "corpus").mkdir()
    return tiny.recipe(tmp_path, trunk=trunk, tasks=tasks, stages=[stage])


def test_what_a_run_says(home):
    told = (home / "trained.txt").read_text(encoding="utf-8").splitlines()
    assert [line.split(":")[0] for line in told[:3]] == [
        "dev steps.mean_f1",
        "dev steps.span_f1",
        "dev steps.relation_f1",
    ]
    assert "s on the clock" in told[3]
    assert re.search(r"s of CPU, \d+ updates$", told[3])
    assert told[4:] == [
        f"model: {home / 'model'}",
        f'next: spanloom annotate "…" -m {home / "model"}',
    ]


def test_a_dry_run_trains_nothing(home, spanloom, tmp_path):
    recipe = home / "recipe.yaml"
    result = spanloom(
        "train", recipe, "-o", tmp_path / "x", "--dry-run", "--set", "stages.0.epochs=3"
    )
    assert result.exit_code == 0, result.stderr
    assert "stage 0: 3 epochs of 192 words, about 6 updates each, 18 in all" in result.stdout
    assert "16,077 weights" in result.stdout
    assert re.search(r"about \S+ minutes without dev, .* and \d+\.\d GB of memory", result.stdout)
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_counts_updates_per_task(home, spanloom, tmp_path):
    length = ("--set", "stages.0.updates_per_task=9")
    result = spanloom("train", home / "recipe.yaml", "-o", tmp_path / "x", "--dry-run", *length)
    assert "stage 0: 1.5 epochs of 192 words, about 6 updates each, 9 in all" in result.stdout


def test_a_folder_trains_by_a_proposed_recipe(home, spanloom, tmp_path):
    settings = [f"trunk.0.transformer={home / 'encoder'}", "stages.0.epochs=1"]
    told = spanloom(
        "train", home / "corpus", "-o", tmp_path / "m", "--set", settings[0], "--set", settings[1]
    )
    assert told.exit_code == 0, told.stderr
    assert "task corpus: relations (spans with relations and events; 6 documents, " in told.stderr
    used = recipes.load(tmp_path / "m" / "recipe.yaml")
    assert used.tasks["corpus"].kind == "relations"
    assert used.vocabulary["corpus"]["span_labels"] == ["Action", "Modifier", "Place", "Reagent"]


def test_what_is_not_ours_is_refused_before_training(fails, home, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/thesis.tex").write_text("all", encoding="utf-8")
    (tmp_path / "file").write_text("", encoding="utf-8")
    recipe = home / "recipe.yaml"
    assert "is no model of ours" in fails("train", recipe, "-o", tmp_path / "precious", code=1)
    assert "something else is there" in fails("train", recipe, "-o", tmp_path / "file", code=1)
    assert "Not a directory" in fails("train", recipe, "-o", tmp_path / "file/m", code=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "precious"]


def test_a_model_of_ours_is_replaced(spanloom, small, tmp_path):
    out = tmp_path / "m"
    first, second = (spanloom("train", small, "-o", out) for _ in range(2))
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "is replaced when this run ends" not in first.stderr
    note = r"m: is a model \(steps \w+ \d+\.\d on dev\), which is replaced when this run ends"
    assert re.search(note, second.stderr)
    assert (out / "manifest.json").is_file()


def test_mistakes(fails, home, tmp_path):
    recipe, out = home / "recipe.yaml", ("-o", tmp_path / "m")
    (tmp_path / "broken.yaml").write_text(
        "trunk:\n- {transformer: x}\ntasks: [\n", encoding="utf-8"
    )
    (tmp_path / "wrong.yaml").write_text("trunk: []\nepoch: 3\n", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.pdf").write_text("%PDF-1.4\n", encoding="utf-8")
    assert "broken.yaml:4: not valid YAML" in fails("train", tmp_path / "broken.yaml", *out, code=1)
    assert "wrong.yaml:2: epoch: unknown key" in fails(
        "train", tmp_path / "wrong.yaml", *out, code=1
    )
    assert "cannot be read: No such file" in fails("train", tmp_path / "no.yaml", *out, code=1)
    assert "no such recipe" in fails("train", tmp_path / "no", *out, code=1)
    assert "expected a recipe" in fails("train", tmp_path / "notes.pdf", *out, code=1)
    assert "empty: no documents" in fails("train", tmp_path / "empty", *out, code=1)
    setting = ("--set", "stages.0.epoch=3")
    assert "did you mean 'epochs'?" in fails("train", recipe, *out, *setting, code=2)
    layer = ("--set", "tasks.steps.layer=nosuch")
    assert "layers there: main" in fails("train", recipe, *out, *layer, code=1)
    encoder = ("--set", f"trunk.0.transformer={tmp_path / 'no'}")
    assert fails("train", recipe, *out, *encoder, code=1)
    assert "no device 'abacus'" in fails("train", recipe, *out, "--device", "abacus", code=2)


@pytest.mark.parametrize(
    ("environment", "start"),
    [
        ({}, "spanloom train "),
        (
            {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "RANK": "0"},
            "torchrun --nproc-per-node 2 -m spanloom train ",
        ),
    ],
)
def test_the_command_to_go_on_says_all_that_was_asked_for(
    fails, home, tmp_path, monkeypatch, environment, start
):
    """As a shell reads it, odd names and all; what it says is read by the same command line."""

    def stopped(plan, out, log, **options):
        raise Stopped("the model as it stands: there")

    monkeypatch.setattr("spanloom.training.train.train", stopped)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["/bin/spanloom"])
    out = tmp_path / "it's mine"
    settings = ["--set", "stages.0.epochs=2", "--set", f"trunk.0.transformer={home / 'encoder'}"]
    asked = ["train", home / "corpus", "-o", out, *settings, "--device", "cpu"]
    told = fails(*asked, code=1)
    said, _, again = told.partition("; to go on: ")
    assert said == "spanloom: interrupted; the model as it stands: there"
    assert again.startswith(start)
    words = shlex.split(again.removeprefix(start.removesuffix("train ")))
    assert words == [*map(str, asked), "--resume"]


def test_over_several_machines_it_says_what_it_cannot_know(
    fails, spanloom, home, tmp_path, monkeypatch
):
    def stopped(*args, **options):
        raise Stopped("")

    monkeypatch.setattr("spanloom.training.train.train", stopped)
    for name, value in {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    asked = "train", home / "recipe.yaml", "-o", tmp_path / "m"
    assert fails(*asked, code=1).endswith("--resume, under torchrun on each machine as before")
    monkeypatch.setenv("RANK", "1")
    quiet = spanloom(*asked)
    assert (quiet.exit_code, quiet.stderr) == (1, "")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_and_gone_on_is_the_same_model(small, spanloom, tmp_path, number):
    """What it says to go on is pasted as it stands."""

    def start(out, *more):
        command = [sys.executable, "-m", "spanloom", "train", small, "-o", tmp_path / out, *more]
        setting = ["--set", "stages.0.epochs=20", "--device", "cpu"]
        return run([*command, *setting])

    def run(command, **how):
        one = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=one, **how)

    whole = start("whole")
    whole.communicate()
    assert whole.returncode == 0
    first = start("parts")
    for line in first.stderr:
        if line.startswith("epoch 3."):
            break
    first.send_signal(signal.SIGSTOP)  # so that it lasts until the other has asked
    beside = start("parts").communicate()[1].splitlines()
    first.send_signal(signal.SIGCONT)
    assert f"parts.run: process {first.pid} on " in beside[-1]
    first.send_signal(number)
    told = first.communicate()[1].splitlines()
    assert first.returncode == 1
    said, _, again = told[-1].partition("; to go on: ")
    assert said.startswith("spanloom: interrupted; the best model so far, of epoch ")
    assert said.endswith(str(tmp_path / "parts"))
    made = spanloom("annotate", "Add water.", "-m", tmp_path / "parts", "--to", "json")
    assert made.exit_code == 0
    second = run(again, shell=True)
    assert "epoch 2." not in second.communicate()[1]
    assert second.returncode == 0
    weights = [(tmp_path / out / "model.safetensors").read_bytes() for out in ("whole", "parts")]
    assert weights[0] == weights[1]


def test_init_writes_a_recipe_that_trains(home, spanloom, fails, tmp_path):
    out = tmp_path / "deep" / "recipe.yaml"
    out.parent.mkdir()
    result = spanloom("init", home / "corpus", "-o", out)
    assert result.exit_code == 0, result.stderr
    assert f"next: spanloom train {out}" in result.stdout
    recipe = recipes.load(out)
    assert (out.parent / recipe.tasks["corpus"].data).resolve() == (home / "corpus").resolve()
    assert "# 6 documents, 136 spans of 4 labels" in out.read_text(encoding="utf-8")
    before = out.read_bytes()
    assert "already there" in fails("init", home / "corpus", "-o", out, code=1)
    out.write_text("mine", encoding="utf-8")
    assert spanloom("init", home / "corpus", "-o", out, "--force").exit_code == 0
    assert out.read_bytes() == before
    encoder = ("--set", f"trunk.0.transformer={home / 'encoder'}")
    assert spanloom("train", out, "-o", tmp_path / "m", "--dry-run", *encoder).exit_code == 0


def test_a_layer_can_be_learnt_as_another_kind(home, spanloom, fails, tmp_path):
    out = tmp_path / "recipe.yaml"
    result = spanloom("init", home / "corpus", "-o", out, "--kind", "main=sequence_tagging")
    assert "task corpus: sequence_tagging (as asked; 6 documents" in result.stdout
    assert recipes.load(out).tasks["corpus"].kind == "sequence_tagging"
    assert "no layer 'other' to learn (main)" in fails(
        "init", home / "corpus", "-o", out, "--force", "--kind", "other=pos", code=1
    )
    assert "entities" in fails(
        "init", home / "corpus", "-o", out, "--force", "--kind", "main=entitys", code=2
    )
    assert "is a recipe" in fails(
        "train", out, "-o", tmp_path / "m", "--kind", "main=entities", code=1
    )


def test_init_mistakes(fails, tmp_path):
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare/a.txt").write_text("add", encoding="utf-8")
    assert "without annotations to learn from" in fails(
        "init", tmp_path / "bare", "-o", tmp_path / "r", code=1
    )
    assert "no such file or folder" in fails("init", tmp_path / "no", "-o", tmp_path / "r", code=1)
