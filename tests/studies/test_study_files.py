"""The recipes and studies that come along can be read."""

from pathlib import Path

import pytest

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.model.plan import resolve
from spanloom.studies.designs import plan
from spanloom.studies.spec import load

ROOT = Path(__file__).parents[2] / "recipes"
ONE_CHOICE = [ROOT / "studies" / name for name in ("ablations.yaml", "crf-against-spans.yaml")]
FILES = sorted([*(ROOT / "papers").rglob("*.yaml"), *(ROOT / "studies").glob("*.yaml")])


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_each_file_is_a_study_or_the_recipe_of_one(path):
    if "designs" in yaml.load(path).data:
        assert load(path).designs
    else:
        assert recipes.load(path).tasks


@pytest.mark.parametrize("path", ONE_CHOICE, ids=lambda path: path.stem)
def test_each_condition_has_its_runs_and_their_recipes_resolve(path, tmp_path):
    study = load(path)
    for corpus in study.base.all_sources:
        (tmp_path / corpus).mkdir()
    study_plan = plan(study, tmp_path, lambda keys: {})
    conditions = {(cell.task, cell.condition) for cell in study_plan.cells}
    assert len(study_plan.cells) == len(study.spec.seeds) * len(conditions)
    assert {task for task, _ in conditions} == set(study.tasks)
    for job in study_plan.jobs.values():
        resolve(recipes.loads(yaml.dump(job.recipe), job.name))


def test_the_tables_of_hmtl_share_their_joint_run(tmp_path):
    keys = []
    for name in ("table-3", "table-4", "table-5", "samplers"):
        study = load(ROOT / "papers/hmtl-sanh2019" / f"{name}.yaml")
        for corpus in (*study.base.all_sources, "wikigold", "litbank-coref"):
            (tmp_path / corpus).mkdir(exist_ok=True)
        keys.append(set(plan(study, tmp_path, lambda keys: {}).jobs))
    assert len(set.intersection(*keys)) == 1
