"""A recipe trained, scored on a test set and told as rows; and a model that is there already."""

import json
import re
import shutil

import pytest
import tiny
import torch

from spanloom.config import recipe as recipes
from spanloom.errors import DataError
from spanloom.glad import speed
from spanloom.glad.run import run
from spanloom.metrics.bootstrap import loads
from spanloom.model.plan import resolve
from spanloom.model.serialization import load
from spanloom.training import train
from spanloom.training.progress_line import LogIntervals

TASKS = {
    "steps": {"data": "corpus", "kind": "relations", "hidden_size": 16},
    "names": {"data": "corpus", "kind": "entities", "hidden_size": 16},
}
STAGE = {"batch_words": 32, "ema_decay": 0.9, "precision": "fp32"}
STAGES = [
    {"tasks": ["names"], "epochs": 1, **STAGE},
    {"tasks": ["steps"], "remove_tasks": ["names"], "epochs": 3, "eval_every_epochs": 0.5, **STAGE},
]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("run")
    tiny.recipe(place, tasks=TASKS, stages=STAGES)
    shutil.copytree(place / "corpus/dev", place / "corpus/test")
    return place


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Looks at test sets are noted where the command runs."""
    monkeypatch.chdir(tmp_path)


def ran(home, out, *settings, recipe="recipe.yaml"):
    """The rows of a run, and what was said."""
    said = []
    return list(run(home / recipe, home, out, said.append, settings, resume=False)), said


@pytest.fixture(scope="module")
def made(home, tmp_path_factory):
    """A model, its row and what was said; trained with a setting and a seed of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("made"))
        (row,), said = ran(home, home / "model", "seed=3", "embedding_dropout=0.2")
    return row, said


def card_figures(out):
    """The dev figures that the model card tells."""
    said = re.findall(r"^\| (\w+\.\w+) \| ([\d.]+) \|$", (out / "README.md").read_text(), re.M)
    return {name: float(value) for name, value in said}


def test_a_row_says_how_it_was_made(home, made):
    row, said = made
    assert (row.dataset, row.task, row.kind, row.gold_inputs) == (
        "corpus",
        "steps",
        "relations",
        (),
    )
    assert (row.recipe, row.seed, row.settings) == ("recipe", 3, ("embedding_dropout=0.2",))
    assert "--set seed=3 --set embedding_dropout=0.2" in row.command
    assert row.compute.startswith("cpu, 1 thread")
    assert not any("unknown" in line for line in said)


def test_a_row_says_what_it_was_chosen_for(home, made):
    row, said = made
    dev = {name: round(100 * value, 2) for name, value in row.dev.items()}
    assert dev == card_figures(home / "model")
    best = [each for each in said if each.startswith("epoch ") and each.endswith("best")][-1]
    assert f"epoch {row.epoch:.2f}/3" in best


def test_a_row_has_the_intervals_of_its_figures(made):
    row, _ = made
    assert set(row.intervals) == {"span_f1", "relation_f1"}  # the mean of both has none
    for name, (low, high) in row.intervals.items():
        told = row.report[f"{name.removesuffix('_f1')}s"]
        assert (low, high) == (told["f1_interval"]["low"], told["f1_interval"]["high"])
        assert row.metrics[name] == told["micro"]["f1"]
        assert loads(row.per_document_counts[name]).value == pytest.approx(row.metrics[name])


def test_a_row_says_how_fast(made):
    row, _ = made
    assert row.annotate_words_per_s > 0
    assert row.encoder_words_per_s > 0
    assert 0 < row.relative_speed < 1.5


def test_a_model_that_is_there_is_scored_and_its_training_told(home, made):
    row, _ = made
    before = (home / "model/manifest.json").stat().st_mtime_ns
    ((again,), said) = ran(home, home / "model", "embedding_dropout=0.2", "seed=3")
    assert (home / "model/manifest.json").stat().st_mtime_ns == before
    told = ("updates", "epoch", "train_cpu_minutes", "train_words_per_s")
    for name in ("metrics", "intervals", "dev", *told, "file"):
        assert getattr(again, name) == getattr(row, name)
    assert not any("epoch" in line for line in said)


def test_without_the_folder_of_its_run_a_model_has_no_minutes(home, made, tmp_path):
    shutil.copytree(home / "model", tmp_path / "moved")
    ((row,), said) = ran(home, tmp_path / "moved", "seed=3", "embedding_dropout=0.2")
    assert (row.train_cpu_minutes, row.train_words_per_s, row.updates, row.epoch) == (None,) * 4
    assert row.dev == {}
    assert row.metrics == made[0].metrics
    assert any("what training took is unknown" in line for line in said)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (("embedding_dropout=0.2",), "its seed is 3, asked for is 1"),
        (("seed=3",), "its embedding_dropout is 0.2, asked for is 0.3"),
        (
            ("seed=3", "embedding_dropout=0.2", "stages.1.epochs=4"),
            "its stages.1.epochs is 3.0, asked",
        ),
        (
            ("seed=3", "embedding_dropout=0.2", "tasks.steps.spans_per_word=0.7"),
            "its tasks.steps.spans_per_word is nothing",
        ),
        (
            ("seed=3", "embedding_dropout=0.2", "stages.1.remove_tasks=[]"),
            r"its stages.1.remove_tasks is \['names'\]",
        ),
    ],
)
def test_a_model_of_another_recipe_is_refused(home, made, settings, told):
    with pytest.raises(DataError, match=rf"model: a model of another recipe: {told}"):
        ran(home, home / "model", *settings)


def test_a_model_of_other_data_is_refused(home, made, tmp_path):
    place = shutil.copytree(home, tmp_path / "home")
    first = min((place / "corpus/train").glob("*.ann"))
    first.write_text(re.sub(r"^(T\d+\t)\w+", r"\1Other", first.read_text(), flags=re.M))
    with pytest.raises(DataError, match="are not what this model learnt from"):
        ran(place, place / "model", "seed=3", "embedding_dropout=0.2")


def test_a_look_at_a_test_set_is_noted(home, made, tmp_path):
    ran(home, home / "model", "seed=3", "embedding_dropout=0.2")
    (look,) = (tmp_path / "test-evaluations.jsonl").read_text().splitlines()
    assert json.loads(look)["seed"] == 3


def test_a_run_that_was_stopped_counts_all_its_time(home, tmp_path):
    chosen = recipes.load(home / "recipe.yaml", ["stages.1.epochs=2"])
    out, pace = tmp_path / "stopped", LogIntervals(checkpoint=0)

    def stopped(line):
        if line.startswith("epoch 1.00/2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train.train(resolve(chosen, home), out, stopped, pace=pace, device="cpu")
    done = train.train(
        resolve(chosen, home), out, lambda line: None, resume=True, pace=pace, device="cpu"
    )
    found = speed.read_training_cost(out, load(str(out)).recipe.stages[-1])
    # but for what the last update took, which is taken to be as much as others
    assert found.minutes == pytest.approx(done.cpu_seconds / 60, rel=0.2)
    assert found.speed == pytest.approx(done.words / done.cpu_seconds, rel=0.2)
    assert found.epoch == pytest.approx(done.best_epoch, abs=5e-4)  # as the log rounds it
    assert found.dev == pytest.approx(done.metrics)


def test_without_a_test_set_there_is_no_row(home, tmp_path):
    shutil.copytree(home / "corpus", tmp_path / "corpus")
    shutil.rmtree(tmp_path / "corpus/test")
    shutil.copy(home / "recipe.yaml", tmp_path / "recipe.yaml")
    with pytest.raises(DataError, match="has a test split"):
        ran(tmp_path, home / "model", "seed=3", "embedding_dropout=0.2")
