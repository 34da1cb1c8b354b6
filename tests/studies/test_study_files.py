"""The recipes and studies that come along can be read."""

from pathlib import Path

import pytest

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.model.plan import resolve
from spanloom.studies import job
from spanloom.studies.designs import plan
from spanloom.studies.spec import load

ROOT = Path(__file__).parents[2] / "recipes"
ONE_CHOICE = [ROOT / "studies" / name for name in ("ablations.yaml", "crf-against-spans.yaml")]
FILES = sorted(
    path
    for folder in ("papers", "studies", "pretraining")
    for path in (ROOT / folder).rglob("*.yaml")
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_each_file_is_a_study_that_can_be_planned_or_the_recipe_of_one(path, monkeypatch, tmp_path):
    if "designs" in yaml.load(path).data:
        monkeypatch.setattr(job, "data_hash", str)
        monkeypatch.setattr(job, "locate", lambda name, data: tmp_path / name)
        assert plan(load(path), tmp_path, lambda keys: {}).cells
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
    for planned in study_plan.jobs.values():
        resolve(recipes.loads(yaml.dump(planned.recipe), planned.name))


def test_the_models_of_figure_2_are_those_that_table_6_goes_on_from(tmp_path):
    studies = [
        load(ROOT / "papers/spanrel-jiang2020" / f"{n}.yaml") for n in ("figure-2", "table-6")
    ]
    for corpus in {name for study in studies for name in study.base.all_sources}:
        (tmp_path / corpus).mkdir()
    first, second = (plan(study, tmp_path, lambda keys: {}) for study in studies)
    seed_1 = {c.job.key for c in first.cells if c.design == "single" and c.variant.seed == 1}
    assert len(seed_1) == 8
    assert seed_1 == {c.job.key for c in second.cells if c.design == "single"}


def test_a_curve_of_all_tasks_is_scored_on_its_target_alone(tmp_path):
    study = load(ROOT / "papers/spanrel-jiang2020/figure-3.yaml")
    for corpus in study.base.all_sources:
        (tmp_path / corpus).mkdir()
    jobs = plan(study, tmp_path, lambda keys: {}).jobs.values()
    assert len(jobs) == 45
    assert {len(planned.tasks) for planned in jobs} == {1}


def test_the_tables_of_hmtl_share_their_joint_run(tmp_path):
    keys = []
    for name in ("table-3", "table-4", "table-5", "samplers"):
        study = load(ROOT / "papers/hmtl-sanh2019" / f"{name}.yaml")
        for corpus in (*study.base.all_sources, "wikigold", "litbank-coref"):
            (tmp_path / corpus).mkdir(exist_ok=True)
        keys.append(set(plan(study, tmp_path, lambda keys: {}).jobs))
    assert len(set.intersection(*keys)) == 1


def runs(folder, name, data):
    """The keys of a study's runs by what they learn, all its corpora and vectors being there."""
    study = load(ROOT / "papers" / folder / f"{name}.yaml")
    for corpus in study.base.all_sources:
        (data / corpus).mkdir(exist_ok=True)
    (data / "vectors").mkdir(exist_ok=True)
    (data / "vectors/en.50.txt").touch()
    cells = plan(study, data, lambda keys: {}).cells
    return {(cell.condition, cell.task, cell.variant.seed): cell.job.key for cell in cells}


def test_the_studies_of_tagging_share_their_single_runs(tmp_path):
    names = ["figure-2", *(f"table-{number}" for number in range(3, 7)), "oracle-all-but-one"]
    alone = set(runs("mtl-tagging-changpinyo2018", "singles", tmp_path).values())
    assert len(alone) == 33
    for name in names:
        keys = runs("mtl-tagging-changpinyo2018", name, tmp_path).items()
        assert {key for (condition, *_), key in keys if condition == "single"} == alone


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("table-4a", {("single", "rte"), ("after sick", "rte")}),
        ("section-3", {("single", "rte"), ("single", "sick"), ("single", "stsb")}),
        ("stages", {("single", "rte"), ("after sick", "rte")}),
        ("table-2-squad", {("single", "rte"), ("single", "mrpc")}),
    ],
)
def test_the_studies_of_extraction_take_runs_of_table_2(name, shared, tmp_path):
    table_2 = runs("spex-bert-keskar2019", "table-2", tmp_path)
    keys = runs("spex-bert-keskar2019", name, tmp_path)
    for condition, task in shared:
        assert keys[condition, task, 1] == table_2[condition, task, 1]


def test_the_class_without_a_relation_is_left_out_where_the_model_is_chosen():
    negative = {}
    for name, settings in (("relations", ["stages.0.tasks=[semeval2010]"]), ("originals", [])):
        recipe = recipes.load(ROOT / f"papers/spanbert-joshi2020/{name}.yaml", settings)
        tasks = resolve(recipe, ROOT).tasks.items()
        classes = {name: task.options for name, task in tasks if task.spec.layer == "relation"}
        negative |= {name: options.negative_label for name, options in classes.items()}
    none = "no_relation"
    assert negative == {"semeval2010": "Other(e1,e2)", "conll04": none, "tacred": none}


def test_table_5_with_an_encoder_trained_on_takes_minilms_rows_of_table_5(tmp_path):
    new, old = (
        load(ROOT / "papers" / name)
        for name in ("spanbert-joshi2020/spanrel-table-5.yaml", "spanrel-jiang2020/table-5.yaml")
    )
    for corpus in old.base.all_sources:
        (tmp_path / corpus).mkdir()
    (tmp_path / "encoders/minilm-spans").mkdir(parents=True)
    cells = plan(new, tmp_path, lambda keys: {}).cells
    keys = {
        trunk: {cell.job.key for cell in cells if cell.variant.trunk == trunk}
        for trunk in new.spec.trunks
    }
    before = plan(old, tmp_path, lambda keys: {}).cells
    assert keys["minilm"] == {c.job.key for c in before if c.design in ("single", "joint")}
    assert len(keys["minilm"]) == len(keys["minilm-spans"])
    assert not keys["minilm"] & keys["minilm-spans"]
