"""The map of tasks: what t-SNE optimises, neighbours that stay, the command."""

import json

import numpy as np
import pytest
import tiny_judged
import torch
from scipy.optimize import approx_fprime

from spanloom.config import recipe as recipes
from spanloom.errors import DataError
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.studies import task_map
from spanloom.studies.task_map import cosines, divergence, joint_similarities, map_tasks, tsne
from spanloom.training.train import new_model


@pytest.fixture
def vectors():
    """Three clusters of four vectors."""
    rng = np.random.default_rng(0)
    return np.repeat(3 * rng.normal(size=(3, 25)), 4, axis=0) + 0.3 * rng.normal(size=(12, 25))


def test_similarities_have_the_perplexity_that_is_asked_for(vectors):
    p = joint_similarities(vectors, 3.0)
    assert p.sum() == pytest.approx(1)
    assert np.array_equal(p, p.T)
    assert not p.diagonal().any()
    distances = np.square(vectors[:, None] - vectors).sum(2)
    distances /= distances.mean()
    others = np.delete(distances[0], 0)
    row = task_map._conditional(others, 3.0)
    assert np.exp(-(row * np.log(row)).sum()) == pytest.approx(3, rel=1e-4)
    assert (np.argsort(row) == np.argsort(-others)).all()


def test_the_gradient_is_that_of_the_divergence(vectors):
    p = joint_similarities(vectors, 3.0)
    points = np.random.default_rng(1).normal(size=24)
    for factor in (1.0, 4.0):
        numeric = approx_fprime(points, lambda x, f=factor: divergence(x, f * p)[0], 1e-6)
        assert divergence(points, factor * p)[1] == pytest.approx(numeric, abs=1e-4)


def test_neighbours_stay_neighbours_and_the_same_vectors_give_the_same_map(vectors):
    points = tsne(vectors)
    near = np.square(points[:, None] - points).sum(2) + np.diag([np.inf] * 12)
    assert all(set(np.argsort(row)[:3] // 4) == {i // 4} for i, row in enumerate(near))
    assert np.array_equal(points, tsne(vectors))


def test_cosines_are_those_of_each_pair(vectors):
    expected = vectors[1] @ vectors[5] / np.sqrt((vectors[1] ** 2).sum() * (vectors[5] ** 2).sum())
    assert cosines(vectors)[1, 5] == pytest.approx(expected)
    assert cosines(vectors).diagonal() == pytest.approx(np.ones(12))


@pytest.fixture
def model(tmp_path):
    """Return a function that makes an untrained model of four tasks."""
    place = tiny_judged.corpora(tmp_path / "judged")

    def make(sharing, more=True):
        raw = tiny_judged.recipe(place, sharing=sharing)
        if more:
            name = next(iter(raw["tasks"]))
            raw["tasks"] = raw["tasks"] | {f"{name}-again": raw["tasks"][name]}
        return new_model(resolve(recipes.loads(json.dumps(raw)), place), "cpu")[0]

    return make


def test_the_command_draws_every_task(model, tmp_path):
    from typer.testing import CliRunner

    from spanloom.cli.main import app

    made = model("task-embedding")
    serialization.save(made, tmp_path / "model", figures={})
    out = tmp_path / "map.svg"
    result = CliRunner().invoke(
        app, ["study", "embeddings", str(tmp_path / "model"), "-o", str(out)]
    )
    assert result.exit_code == 0, result.stderr
    assert all(f">{task}<" in out.read_text() for task in made.recipe.tasks)
    numbers = json.loads(out.with_suffix(".json").read_text())
    assert numbers["tasks"] == list(made.recipe.tasks)
    assert np.array(numbers["cosines"]).diagonal() == pytest.approx(np.ones(4))


@pytest.mark.parametrize("sharing", ["task-embedding", "task-token"])
def test_models_of_several_seeds_are_one_map(model, sharing):
    first, second = model(sharing), model(sharing)
    both = map_tasks([first, second])
    assert both.agreement == [pytest.approx(1)], "one seed twice"
    with torch.no_grad():
        tables = second.network.task_tokens or [second.network.task_embeddings]
        for table in tables:
            table.weight.normal_(generator=torch.Generator().manual_seed(7))
    other = map_tasks([first, second])
    assert np.array_equal(other.cosines_by_model[0], both.cosines)
    assert other.agreement[0] < 0.99
    assert other.cosines == pytest.approx(np.mean(other.cosines_by_model, axis=0))
    assert other.points.shape == (4, 2)


def test_other_models_are_refused(model):
    with pytest.raises(DataError, match="sharing: task-embedding or task-token"):
        map_tasks([model("separate-heads")])
    with pytest.raises(DataError, match="at least 4 tasks"):
        map_tasks([model("task-embedding", more=False)])
    with pytest.raises(DataError, match="expected models of the tasks"):
        map_tasks([model("task-embedding"), model("task-embedding", more=False)])
