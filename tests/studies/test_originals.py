"""The studies of licensed corpora run on made files of their formats, from the card to the row."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from licensed_samples import SAMPLES, write_raw

from spanloom.config import recipe as recipes
from spanloom.corpora.prepare import prepare
from spanloom.glad.heads import HEADS, Parser, prepare_heads
from spanloom.model import evaluation
from spanloom.model.plan import resolve
from spanloom.model.serialization import load
from spanloom.studies.designs import plan
from spanloom.studies.execute import Folders, execute
from spanloom.studies.row import Rows, own_name
from spanloom.studies.spec import Design, DesignSpec
from spanloom.studies.spec import load as load_study
from spanloom.training.train import new_model

ROOT = Path(__file__).parents[2]
STUDIES = sorted((ROOT / "recipes/papers").rglob("*-originals.yaml"))
TASKS = {path.stem: path for path in (ROOT / "recipes/papers").rglob("tasks/*.yaml")}
SMALL = (
    "window=64",
    "stages.0.updates_per_task=2",
    "stages.0.batch_words=64",
    "stages.0.eval_every_epochs=1",
    "stages.0.sampler=uniform",
    "stages.0.share_batches=false",
    "stages.0.epoch_size=all-tasks",
    "exclude_texts_of=[]",  # of corpora that are not made here
)


@pytest.mark.slow
@pytest.mark.parametrize("path", STUDIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_study_of_licensed_corpora_runs_on_made_files(path, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "LOG", tmp_path / "test-evaluations.jsonl")
    tiny = f"trunk=[{{transformer: {ROOT / 'fixtures/tiny/encoder'}, init: random}}]"
    study = load_study(path, (tiny, *SMALL))
    licensed = {
        name: corpus
        for name in study.joint_tasks
        if (corpus := study.base.tasks[name].data).removesuffix(f"-{HEADS}") in SAMPLES
    }
    assert licensed
    data = tmp_path / "data"
    for name in {corpus.removesuffix(f"-{HEADS}") for corpus in licensed.values()}:
        write_raw(name, tmp_path / "raw")
        prepare(name, tmp_path / "raw", data)
        if f"{name}-{HEADS}" in licensed.values():
            prepare_heads(data / name, data / f"{name}-{HEADS}", "entities", Parser(load(), None))
    spec = study.spec.model_copy(update={"tasks": tuple(licensed), "seeds": (1,)})
    joint = replace(study, spec=spec, designs=(Design("joint", DesignSpec()),))
    folders = Folders(data, tmp_path / "runs", tmp_path / "rows")
    (job,) = plan(joint, folders.data, Rows(folders.results).read).jobs.values()
    row = execute(job, folders, print)
    assert {own_name(task) for task in row.scores} == licensed.keys()
    assert all("dev" in splits for splits in row.scores.values())
    assert json.loads((folders.results / f"{job.key}.json").read_bytes())["key"] == job.key


def test_every_paper_has_one():
    assert len({path.parent for path in STUDIES}) == 5


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*TASKS} & {*SAMPLES}))
def test_the_recipe_of_a_licensed_task_learns_made_files(name, tmp_path):
    write_raw(name, tmp_path / "raw")
    recipe = recipes.load(TASKS[name])
    (corpus,) = {task.data for task in recipe.tasks.values()}
    prepare(corpus, tmp_path / "raw", tmp_path)
    settings = (
        f"trunk.0={{transformer: {ROOT / 'fixtures/tiny/encoder'}, init: random, layers: last}}",
        "window=64",
    )
    recipe_plan = resolve(recipes.load(TASKS[name], settings), tmp_path)
    _, prepared = new_model(recipe_plan, "cpu")
    for task in recipe.tasks:
        data = prepared.data[task]
        assert data.gold
        assert data.dev
