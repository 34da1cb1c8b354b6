"""Reading a study: what is wrong is told with its line."""

import json

import pytest
from made_rows import RECIPES

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.errors import RecipeError
from spanloom.studies.spec import load

STUDY = """\
recipe: RECIPE
tasks: [pos, ner]
designs:
  - {design: single}
  - {design: joint}
"""


def read(tmp_path, text):
    path = tmp_path / "study.yaml"
    path.write_text(text.replace("RECIPE", str(RECIPES / "tiny-joint.yaml")))
    return load(path)


def test_a_study_has_its_recipe_tasks_and_designs(tmp_path):
    study = read(tmp_path, STUDY)
    assert study.name == "study"
    assert study.tasks == ("pos", "ner")
    assert [design.name for design in study.designs] == ["single", "joint"]


def test_without_a_list_all_tasks_of_the_stage_are_measured(tmp_path):
    study = read(tmp_path, STUDY.replace("tasks: [pos, ner]\n", ""))
    assert study.tasks == ("pos", "dep", "tree", "ner", "coref", "steps")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("design: joint", "design: jont", "study.yaml:5: .*no design 'jont'; did you mean 'joint'"),
        ("design: joint", "design: joint, sets: []", "study.yaml:5: .*unknown key"),
        (
            "design: joint",
            "design: chains, orders: [[pos]]",
            "study.yaml:5: .*expected 2 items or more",
        ),
        ("design: joint", "design: chains, orders: [[pos, nor]]", "study.yaml:5: .*no task 'nor'"),
        ("design: joint", "design: subsets, sets: [[nor]]", "study.yaml:5: .*no task 'nor'"),
        ("design: joint", "design: curve, examples: [110%]", "study.yaml:5: "),
        ("tasks: [pos, ner]", "trunks: {'a b!': [{transformer: x}]}", "study.yaml:2: .*a b!"),
        ("design: joint", "design: curve, examples: [1], tasks: [nor]", "study.yaml:5: .*'nor'"),
        (
            "design: joint",
            "design: curve, examples: [1], of: pairs, partners: {ner: [nor]}",
            "study.yaml:5: .*'nor'",
        ),
        (
            "design: joint",
            "design: curve, examples: [1], partners: {ner: [pos]}",
            "study.yaml:5: .*with of: pairs alone, got of: single",
        ),
        (
            "design: joint",
            "design: curve, examples: [1], of: pairs, partners: {ner: [ner]}",
            "study.yaml:5: .*other tasks than 'ner' itself",
        ),
        ("design: joint", "design: pairs-then-single, heads: [new]", "study.yaml:5: .*kept"),
        ("design: joint", "design: oracle", "study.yaml:5: .*needs the design 'pairs'"),
        (
            "design: joint}",
            "design: oracle}\n  - {design: pairs}",
            "study.yaml:5: .*'pairs' without a label before it",
        ),
        ("design: joint", "design: joint, settings: [seed=2]", "study.yaml: .*set seeds, not seed"),
        ("design: joint", "design: grid, options: {seed: [2]}", "study.yaml: .*set seeds"),
        ("tasks:", "settings: [seed=2]\ntasks:", "study.yaml: .*set seeds"),
        ("tasks:", "settings: ['stages.0.tasks=[pos]']\ntasks:", "study.yaml: .*set tasks, not"),
        (
            "design: joint",
            "design: joint, settings: ['stages.0.tasks=[pos]']",
            "study.yaml: .*set tasks, not stages.0.tasks",
        ),
        (
            "tasks:",
            "settings: [stages.0.batch_word=2]\ntasks:",
            "study.yaml:2: stages.0.batch_word: unknown key; did you mean 'batch_words'",
        ),
        ("tasks:", "settings: [stages.0.epochs]\ntasks:", "study.yaml:2: expected KEY.KEY=VALUE"),
        ("design: joint", "design: joint, task_settings: {nor: []}", "study.yaml:5: .*'nor'"),
        *(
            (
                "design: joint",
                f"design: {name}, task_settings: {{ner: [window=32]}}",
                f"study.yaml:5: .*runs of {name.partition(',')[0]} here measure several tasks",
            )
            for name in ("joint", "pairs", "curve, examples: [9], of: joint")
        ),
        ("[pos, ner]", "[pos, nor]", "study.yaml:2: .*no task 'nor'"),
        ("tasks:", "task:", "study.yaml:2: .*unknown key.*tasks"),
        ("tasks:", "single_only: {pos: {}}\ntasks:", "study.yaml:2: .*has a task of this name"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path, old, new, message):
    with pytest.raises(RecipeError, match=message):
        read(tmp_path, STUDY.replace(old, new))


def test_a_recipe_of_two_stages_is_refused(tmp_path):
    text = json.dumps(
        {
            "recipe": str(RECIPES.with_name("tiny") / "spanrel.yaml"),
            "designs": [{"design": "joint"}],
        }
    )
    with pytest.raises(RecipeError, match="expected a recipe of one stage, got 2"):
        read(tmp_path, text)


def test_a_recipe_that_goes_on_from_a_model_is_refused(tmp_path):
    base = yaml.load(RECIPES / "tiny-joint.yaml").data | {"init_from": "models/mine"}
    (tmp_path / "base.yaml").write_text(json.dumps(base))
    text = json.dumps({"recipe": "base.yaml", "designs": [{"design": "joint"}]})
    with pytest.raises(RecipeError, match="base.yaml has init_from; make .* first link of chains"):
        read(tmp_path, text)


def test_what_is_no_mapping_is_refused(tmp_path):
    with pytest.raises(RecipeError, match="expected a mapping"):
        read(tmp_path, "- joint")


def test_a_recipe_and_a_study_are_told_apart(tmp_path):
    with pytest.raises(RecipeError, match=r"tiny-joint\.yaml.*is a recipe, which spanloom train"):
        load(RECIPES / "tiny-joint.yaml")
    (tmp_path / "study.yaml").write_text(STUDY)
    with pytest.raises(RecipeError, match=r"study\.yaml.*is a study, which spanloom study run"):
        recipes.load(tmp_path / "study.yaml")
