import re
import subprocess
import sys
from typing import Annotated, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from spanloom.config import recipe as recipes
from spanloom.config import specs
from spanloom.config.options import Options, validate_options
from spanloom.config.recipe import Recipe, dumps, load, loads
from spanloom.config.specs import EmbedderSpec, LearningRates, StageSpec, TaskSpec
from spanloom.config.tokenization import TokenizationSpec
from spanloom.config.yaml import SourceLocation
from spanloom.errors import RecipeError
from spanloom.training.auto_recipe import with_comments

TEXT = """\
trunk:
- {transformer: minilm, layers: scalar-mix, dropout: 0.1}
- casing: 16
levels: [{name: context, rnn: lstm, hidden_size: 256}]
tasks:
  wlp: {data: wlp, kind: relations, level: context, max_span_width: 8}
  dep:
    data: ewt
    kind: dependency
tokenization: {tokenizer: char-class, sentence_splitter: newline}
stages:
- {tasks: [wlp, dep], epochs: 8, lr: {encoder: 3e-4, task: 2e-3}}
- tasks: [wlp]
  validation_metric: wlp.relation_f1
seed: 1
"""
NAME = st.text("abcé_-09", min_size=1, max_size=5)
VALUE = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.just(3e-4)
RAW = st.dictionaries(NAME.map("x".__add__), VALUE | st.lists(VALUE, max_size=2), max_size=2)


@st.composite
def any_recipe(draw):
    """A recipe made in Python, its options and names drawn."""
    names = draw(st.lists(NAME, min_size=1, max_size=3, unique=True))
    tasks = {name: TaskSpec(data="d", kind=draw(NAME), options=draw(RAW)) for name in names}
    stage = StageSpec(
        tasks=draw(st.lists(st.sampled_from(names), min_size=1, max_size=3)),
        epochs=draw(st.floats(0.1, 99)),
        lr=LearningRates(encoder=draw(st.floats(0, 1))),
        patience=draw(st.none() | st.integers(1, 9)),
    )
    name = draw(NAME)
    part = EmbedderSpec(name=name, options={name: draw(VALUE), **draw(RAW)})
    return Recipe(trunk=[part], tasks=tasks, stages=[stage], vocabulary=draw(RAW))


def test_the_example_reads_as_it_says():
    recipe = loads(TEXT)
    assert recipe.trunk[0].name == "transformer"
    assert recipe.trunk[0].options == {
        "transformer": "minilm",
        "layers": "scalar-mix",
        "dropout": 0.1,
    }
    assert recipe.trunk[1] == EmbedderSpec(name="casing", options={"casing": 16})
    assert recipe.levels[0].inputs == ("trunk",)
    assert recipe.levels[0].options == {"rnn": "lstm", "hidden_size": 256}
    assert recipe.tasks["wlp"].options == {"max_span_width": 8}
    assert (recipe.tasks["dep"].level, recipe.tasks["dep"].layer) == ("trunk", "main")
    assert recipe.stages[0].lr == LearningRates(encoder=0.0003, task=0.002)
    assert recipe.stages[1].epochs == StageSpec(tasks=["wlp"]).epochs


@settings(max_examples=30)
@given(any_recipe())
def test_commented_and_dumped_recipes_load_back_equal(recipe):
    assert loads(with_comments(recipe, {})) == recipe
    assert loads(dumps(recipe)) == recipe
    assert list(loads(dumps(recipe)).tasks) == list(recipe.tasks)
    assert dumps(loads(dumps(recipe))) == dumps(recipe)


def test_commented_explains_every_key_of_the_frame():
    notes = {("tasks", "wlp", "max_span_width"): "longest span in words"}
    lines = with_comments(loads(TEXT), notes).splitlines()
    bare = {line.split(":")[0].strip() for line in lines if "  # " not in line}
    assert bare == {
        "- transformer",
        "layers",
        "dropout",
        "- casing",
        "rnn",
        "hidden_size",
        "wlp",
        "dep",
    }
    assert "    max_span_width: 8  # longest span in words" in lines
    assert all(len(line) <= 100 for line in lines)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("seed: 1", "sead: 1", "r.yaml:15: sead: unknown key; did you mean 'seed'?"),
        ("seed: 1", "epochs: 3", "r.yaml:15: epochs: unknown key; stages have it: stages.0.epochs"),
        ("epochs: 8", "epoch: 8", "r.yaml:12: stages.0.epoch: unknown key; did you mean 'epochs'?"),
        ("task: 2e-3", "tsak: 1", "r.yaml:12: stages.0.lr.tsak: unknown key; .* 'task'"),
        (
            "{tokenizer",
            "{tokenzer",
            "r.yaml:10: tokenization.tokenzer: unknown key; .* 'tokenizer'",
        ),
        ("epochs: 8", "epochs: 0", "r.yaml:12: stages.0.epochs: expected greater than 0, got 0"),
        ("epochs: 8", "epochs: .inf", "stages.0.epochs: expected a finite number, got inf"),
        ("epochs: 8", "epochs: soon", "stages.0.epochs: expected a valid number.*, got 'soon'"),
        (
            "epochs: 8",
            "batch_words: 1.5",
            "stages.0.batch_words: expected a valid integer.*, got 1.5",
        ),
        ("epochs: 8", "optimizer: sgd", "expected 'adamw' or 'adam', got 'sgd'"),
        (
            "- tasks: [wlp]\n  validation_metric",
            "- validation_metric",
            "r.yaml:13: stages.1: the key 'tasks' is missing",
        ),
        ("tasks: [wlp]\n", "tasks: wlp\n", "r.yaml:13: stages.1.tasks: expected a list, got 'wlp'"),
        ("tasks: [wlp]\n", "tasks: [wpl]\n", "r.yaml:13: stages.1.tasks: no task 'wpl'; .* 'wlp'"),
        (
            "validation_metric: wlp",
            "validation_metric: dep",
            "r.yaml:14: stages.1.validation_metric: no task of this stage 'dep'",
        ),
        ("level: context", "level: contxt", "r.yaml:6: tasks.wlp.level: no level 'contxt'; did"),
        (
            "hidden_size: 256",
            "inputs: [context]",
            "r.yaml:4: levels.0.inputs: no level below 'context'",
        ),
        ("name: context", "name: trunk", "r.yaml:4: levels.0.name: 'trunk' is taken"),
        ("    data: ewt\n", "", "r.yaml:7: tasks.dep: the key 'data' is missing"),
        ("wlp: {data", "w.lp: {data", "r.yaml:6: tasks.w.lp: expected a text that matches"),
        ("- casing: 16", "- casing", "r.yaml:3: trunk.1: expected a mapping"),
        ("- casing: 16", "- {}", "r.yaml:3: trunk.1.name: expected a text"),
        (
            "tokenization: {tokenizer: char-class, sentence_splitter: newline}",
            "tokenization: fine",
            "r.yaml:10: tokenization: expected a",
        ),
        ("seed: 1", "stages: []", "r.yaml:15: key 'stages' stands twice"),
        (TEXT, "", "r.yaml: expected a mapping with the keys trunk"),
        (TEXT, "[]", "r.yaml: expected a mapping with the keys trunk"),
        (TEXT, "a: 1", r"r.yaml:1: a: unknown key .* \(and 3 more\)"),
        ("epochs: 8", "epoch: 8", r"unknown key; did you mean 'epochs'\? \(known: [^)]*\)$"),
    ],
)
def test_what_is_wrong_is_told_with_line_and_choices(old, new, told):
    assert old in TEXT
    with pytest.raises(RecipeError) as error:
        loads(TEXT.replace(old, new, 1), "r.yaml")
    message = str(error.value)
    assert re.search(told, message), message
    assert "\n" not in message


def test_a_model_whose_tasks_all_run_on_request_is_refused():
    said = TEXT.replace("data: ewt\n", "data: ewt\n    on_request: true\n", 1)
    assert loads(said).tasks["dep"].on_request
    with pytest.raises(RecipeError, match="tasks: each is on_request"):
        loads(said.replace("wlp: {", "wlp: {on_request: true, "))


class Casing(Options):
    casing: int = Field(ge=1)
    dropout: float = 0.0


def test_the_owner_of_a_kind_checks_its_options_at_their_line():
    def read(new):
        recipe = loads(TEXT.replace("- casing: 16", f"- casing: 16\n  {new}"), "r.yaml")
        return validate_options(Casing, recipe.trunk[1].options, recipe.at("trunk", 1))

    assert read("dropout: 0.5") == Casing(casing=16, dropout=0.5)
    with pytest.raises(RecipeError, match="r.yaml:4: trunk.1.dropuot: unknown key; .* 'dropout'"):
        read("dropuot: 0.5")
    with pytest.raises(RecipeError, match="r.yaml:4: trunk.1.dropout: expected a valid number"):
        read("dropout: [1]")


def test_keys_read_elsewhere_are_suggested_too():
    recipe = loads(TEXT.replace("level: context", "levle: context"), "r.yaml")
    task = recipe.tasks["wlp"]
    with pytest.raises(
        RecipeError,
        match=r"r.yaml:6: tasks.wlp.levle: .* 'level'\? \(known: casing, corpus_vectors, data",
    ):
        validate_options(Casing, task.options, recipe.at("tasks", "wlp"), TaskSpec.model_fields)


@pytest.mark.parametrize(
    ("setting", "get", "value"),
    [
        ("stages.0.epochs=3", lambda r: r.stages[0].epochs, 3.0),
        ("stages.1.lr.encoder=1e-5", lambda r: r.stages[1].lr, LearningRates(encoder=1e-5)),
        ("tokenization.tokenizer=spacy", lambda r: r.tokenization.tokenizer, "spacy"),
        ("tasks.wlp.max_span_width=3", lambda r: r.tasks["wlp"].options, {"max_span_width": 3}),
        ("trunk.1.casing=a=b", lambda r: r.trunk[1].options, {"casing": "a=b"}),
        ("levels.0.inputs=[trunk, trunk]", lambda r: r.levels[0].inputs, ("trunk",) * 2),
        ("tasks.new={data: x, kind: y}", lambda r: r.tasks["new"].kind, "y"),
    ],
)
def test_a_setting_changes_one_value(tmp_path, setting, get, value):
    path = tmp_path / "r.yaml"
    path.write_text(TEXT)
    changed, before = load(path, [setting]), load(path)
    assert get(changed) == value
    assert load(path, [setting, setting]) == changed != before


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("stages.0.epochs=x", "--set stages.0.epochs=x: stages.0.epochs: expected a valid number"),
        ("stages.2.epochs=3", "stages: expected an index from 0 to 1, got '2'"),
        ("stages.-1.epochs=3", "stages: expected an index from 0 to 1, got '-1'"),
        ("stages.0.epoch=3", "stages.0.epoch: unknown key; did you mean 'epochs'"),
        ("stages.0.lrs.trunk=3", "stages.0.lrs: unknown key; did you mean 'lr'"),
        ("tasks.wpl.level=trunk", "tasks.wpl: unknown key; did you mean 'wlp'"),
        (
            "tasks.wlp.max_span_widht.x=1",
            "tasks.wlp.max_span_widht: unknown key; did you mean 'max_span_width'",
        ),
        ("sed.x=1", "sed: unknown key; did you mean 'seed'"),
        ("seed.x=1", "seed: expected a mapping or a list, got 1"),
        ("seed", "expected KEY.KEY=VALUE"),
        ("=3", "expected KEY.KEY=VALUE"),
        ("stages..epochs=3", "expected KEY.KEY=VALUE"),
        ("seed=[", "not valid YAML"),
        ("tasks=3", "--set tasks=3: tasks: expected a mapping"),
    ],
)
def test_a_wrong_setting_is_told_as_such(setting, told):
    with pytest.raises(RecipeError) as error:
        loads(TEXT, "r.yaml", [setting])
    assert told in str(error.value)
    assert str(error.value).startswith(f"--set {setting}")


def test_recipes_are_frozen_and_equal_apart_from_their_place():
    recipe = loads(TEXT, "a.yaml")
    assert recipe == loads("\n" + TEXT, "b.yaml")
    assert recipe != loads(TEXT.replace("seed: 1", "seed: 2"))
    with pytest.raises(ValidationError):
        recipe.seed = 2
    assert recipe.at("seed").file_line() == ("a.yaml", 15)


def test_reading_a_recipe_needs_no_heavy_import():
    script = "import sys, spanloom.config.recipe; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not {"torch", "transformers", "spacy", "numpy", "typer"} & set(done.stdout.split())


def test_the_frame_describes_every_key():
    for model in (
        recipes.Recipe,
        specs.StageSpec,
        specs.LearningRates,
        TokenizationSpec,
    ):
        assert all(field.description for field in model.model_fields.values()), model


def test_a_value_of_several_types_is_one_problem_with_all_of_them():
    class Budget(Options):
        spans: Literal["all"] | Annotated[float, Field(gt=0)] = "all"

    with pytest.raises(RecipeError) as error:
        validate_options(Budget, {"spans": "none"}, SourceLocation("r.yaml"))
    assert str(error.value) == "r.yaml: spans: expected 'all' or a valid number, got 'none'"
