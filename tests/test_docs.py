"""What the documentation says is true: its tables are computed anew, its examples are run."""

import importlib
import json
import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import torch
from fenced import blocks
from pydantic import TypeAdapter

from spanloom import embedders, tasks
from spanloom.annotation.comparable import comparable
from spanloom.config import recipe as recipes
from spanloom.config import specs, yaml
from spanloom.config.tokenization import TokenizationSpec
from spanloom.data.collate import collate
from spanloom.data.instances import InstanceLimits
from spanloom.model.plan import resolve
from spanloom.nn import recurrent
from spanloom.nn.candidates import ScoredSpans, group_of, text_order
from spanloom.training import pretrain
from spanloom.training.train import new_model

ROOT = Path(__file__).parents[1]
README, CHAPTERS = ROOT / "README.md", ROOT / "docs"
ARCHITECTURE, EXTENDING = CHAPTERS / "architecture.md", CHAPTERS / "extending.md"
BENCHMARKS, RECIPES = CHAPTERS / "benchmarks.md", CHAPTERS / "recipes.md"
EXAMPLES = re.compile(r"labmarks/\w+\.py")  # the files of the package that extending.md shows


def section(page, heading):
    """The text under a heading, up to the next one of its rank or a higher one."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"^(#+) {re.escape(heading)}$\n(.*?)(?=^#{{1,2}} |\Z)", text, re.M | re.S)
    assert found, f"{page.name} has no heading {heading!r}"
    return found[2]


def rows(text):
    """The cells of each row of all tables, heads and rules left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rules = [n for n, row in enumerate(cells) if set("".join(row)) <= set("-")]
    heads = {n - 1 for n in rules} | set(rules)
    return [row for n, row in enumerate(cells) if n not in heads]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def learnt(recipe, near, steps=60):
    """A model that knows all of train by heart, and what it learnt from."""
    model, prepared = new_model(resolve(recipe, near), "cpu")
    model.network.eval()
    optimiser = torch.optim.Adam(model.network.parameters(), lr=0.01)
    for _ in range(steps):
        for name, mine in prepared.data.items():
            units = [unit for row in mine.gold for unit in units_of(model, name, row, mine)]
            batch = collate(units, model.subword_tokenizer, recipe.window)
            targets, vectors = (
                mine.task.collate_targets(units, mine.gold),
                model.network.head_inputs(batch, [name]),
            )
            losses = mine.task.loss(model.network.head(name), vectors[name], batch, targets)
            optimiser.zero_grad()
            sum(each for each in losses.values()).backward()
            optimiser.step()
    return model, prepared


def units_of(model, name, row, data):
    sizes = InstanceLimits(model.recipe.window, model.recipe.window)
    return data.task.reader.instances(row, data.tokenized[row], sizes, model.tokenize_prompt)


# docs/architecture.md


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """The one document of the page, learnt by heart: model, data."""
    home = tmp_path_factory.mktemp("followed")
    said = section(ARCHITECTURE, "One document through all packages")
    text, annotation = blocks(said, "text")
    (recipe,) = blocks(said, "yaml")
    for split in ("train", "dev"):
        place = home / "steps" / split
        place.mkdir(parents=True)
        (place / "add.txt").write_text(text.rstrip("\n"), encoding="utf-8")
        (place / "add.ann").write_text(re.sub(" {2,}", "\t", annotation), encoding="utf-8")
    asked = [f"tasks.steps.data={home / 'steps'}"]
    return learnt(recipes.loads(recipe, settings=asked), ROOT)


def spoken(*sizes):
    return " ".join(map(str, sizes))


def said_of(layer):
    return spoken(len(layer.spans), len(layer.relations), len(layer.events))


@torch.no_grad()
def doors(model, prepared):
    """The numbers at each door, by the name of what passes it."""
    data, network = prepared.data["steps"], model.network
    document, tokenized, gold = data.dev[0], data.tokenized[0], data.gold[0]
    task, head = data.task, network.head("steps")
    units = list(units_of(model, "steps", 0, data))
    batch = collate(units, model.subword_tokenizer, model.recipe.window)
    levels = network.encode(batch, ["context"])
    words = levels["context"].word_vectors
    view = head.span_inputs(words, batch.sentences)
    bounds, scores = head.candidates.bounds(batch.sentences), head.score_spans(view)
    kept = bounds[
        text_order(bounds, head.pruner.keep(ScoredSpans(scores, bounds, view.pair_groups)))
    ]
    selected = task.decoder.predict_spans(head, view)
    chosen = selected.spans
    pairs = head.pair_generator.all_pairs(group_of(chosen.bounds, view.pair_groups))
    _, linked = task.decoder.relate(head, view, selected)
    (found,) = task.predict(head, levels["context"], batch, units, None)
    (answer,) = model.annotate([document])
    return {
        "Document": said_of(document["main"]),
        "TokenizedDocument": spoken(
            len(tokenized.words), sum(map(len, tokenized.pieces)), len(tokenized.sentences)
        ),
        "SpanGold": spoken(len(gold.spans), len(gold.pairs)),
        "Instance": spoken(len(units[0].tokens), len(units[0].windows)),
        "Batch.input_ids": spoken(*batch.input_ids.shape),
        "Batch.piece_index": spoken(*batch.piece_index.shape),
        "Batch.piece_to_word": spoken(*batch.piece_to_word.shape),
        "Batch.sentences": spoken(*batch.sentences.shape),
        "Batch.windows": spoken(*batch.windows.shape),
        "Batch.instances": spoken(*batch.instances.shape),
        "transformer": spoken(*network.trunk[0](batch).shape),
        "casing": spoken(*network.trunk[1](batch).shape),
        "trunk": spoken(*levels["trunk"].word_vectors.shape),
        "context": spoken(*words.shape),
        "HeadInputs.word_vectors": spoken(
            *network.head_inputs(batch, ["steps"])["steps"].word_vectors.shape
        ),
        "candidates": spoken(*bounds.shape),
        "span scores": spoken(*scores.shape),
        "kept": spoken(*kept.shape),
        "PredictedSpans.bounds": spoken(*chosen.bounds.shape),
        "pairs": spoken(*pairs.shape),
        "pair scores": spoken(*head.pair_scorer(view, chosen.bounds, selected.types)(pairs).shape),
        "PredictedRelations.pairs": spoken(*linked.pairs.shape),
        "InstancePrediction": spoken(len(found.spans), len(found.relations)),
        "Layer": said_of(answer["main"]),
    }


def test_the_shapes_at_each_door_are_those_of_a_run(followed):
    said = rows(section(ARCHITECTURE, "One document through all packages"))
    assert {row[1].split(" (")[0].strip("`"): row[3] for row in said} == doors(*followed)


def test_what_went_in_comes_out(followed):
    model, prepared = followed
    document = prepared.data["steps"].dev[0]
    (answer,) = model.annotate([document.unannotated()])
    assert comparable(answer) == comparable(document.unannotated(["main"]))


def test_packages_stand_in_the_order_that_is_checked():
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = checked["contracts"][0]["layers"][1:]  # all but python -m
    said = rows(section(ARCHITECTURE, "Which package may import which"))
    assert [row[1].replace("`", "").replace(", ", " | ") for row in said] == layers


@pytest.mark.parametrize(
    "page", [ARCHITECTURE, EXTENDING, README, RECIPES], ids=lambda page: page.stem
)
def test_files_that_are_named_are_there(page):
    named = set(re.findall(r"`((?:\w+/)+\w+\.(?:py|yaml|md))`", page.read_text()))
    places = ROOT, ROOT / "src" / "spanloom"
    lost = [name for name in named if not any((each / name).exists() for each in places)]
    assert not [name for name in lost if page != EXTENDING or not EXAMPLES.fullmatch(name)]


@pytest.mark.parametrize("package", ["studies", "training", "serve"])
def test_the_modules_of_a_package_are_named(package):
    files = (ROOT / "src/spanloom" / package).glob("*.py")
    names = {path.stem for path in files} - {"__init__"}
    page = ARCHITECTURE.read_text()
    assert not [name for name in names if not re.search(rf"`(?:{package}\.)?{name}\b", page)]


def test_code_that_the_page_names_is_in_the_source():
    """Names such as `HeadParts`, `HeadParts.build` and `nn.span_relation`."""
    source = ROOT / "src" / "spanloom"
    files = [path for path in source.rglob("*.py") if path.is_file()]
    words = {word for path in files for word in re.findall(r"\w+", path.read_text())}
    words |= {path.stem for path in files} | {path.parent.name for path in files}
    prose = re.sub(r"```.*?```|^\|.*?$", "", ARCHITECTURE.read_text(), flags=re.M | re.S)
    names = re.findall(r"`([A-Za-z_]\w*(?:\.\w+)*)`", prose)
    parts = {part for name in names for part in name.split(".")}
    assert parts - words == {"pyproject", "toml"}


@pytest.mark.parametrize("page", [README, *CHAPTERS.glob("*.md")], ids=lambda page: page.stem)
def test_rows_of_a_table_have_as_many_cells_as_its_head(page):
    prose = re.sub(r"^```.*?^```|^<!--.*?-->\n", "", page.read_text(), flags=re.M | re.S)
    for table in re.findall(r"(?:^\|.*\n)+", prose, flags=re.M):
        cells = [re.sub(r"\\\||`[^`]*`", "", row).count("|") for row in table.splitlines()]
        wrong = [row for row, n in zip(table.splitlines(), cells, strict=True) if n != cells[0]]
        assert not wrong


# docs/kind_pages.py


KINDS = {f"tasks/{name}": tasks.load(name).options for name in tasks.names()}
EMBEDDERS = {f"embedders/{name}": embedders.load(name).options for name in embedders.names()}
PARTS = (
    *(recipes.Recipe, specs.LevelSpec, recurrent.Options, specs.SpanLayerSpec, specs.TaskSpec),
    *(specs.CorpusPartSpec, TokenizationSpec, specs.StageSpec, specs.LearningRates),
    *(specs.TeacherSpec, specs.CardSpec),
)


@pytest.fixture
def kind_pages(monkeypatch):
    monkeypatch.syspath_prepend(CHAPTERS)
    return importlib.import_module("kind_pages")


@pytest.mark.parametrize("model", [*KINDS.values(), *EMBEDDERS.values(), *PARTS])
def test_defaults_are_written_as_a_recipe_has_them(model, kind_pages):
    fields = {
        key: field for key, field in model.model_fields.items() if field.annotation != specs.Raw
    }
    for row in rows(kind_pages.table(fields, kind_pages.LINKS)):
        field, default = fields[row[0].strip("`")], row[2].strip("`")
        assert field.is_required() == (default == "required")
        if not field.is_required():
            read = yaml.loads(default, "page").data
            assert TypeAdapter(field.annotation).validate_python(read) == field.get_default()


def test_the_recipe_of_each_kind_is_one_that_its_command_takes(kind_pages, tmp_path):
    for folder in ("mydata", "texts"):
        (tmp_path / folder).mkdir()
    for name in tasks.names():
        text = kind_pages.page(name, tasks.load(name).example)
        plan = resolve(recipes.loads(text.split("```yaml\n")[1].split("```")[0]), tmp_path)
        if "spanloom pretrain" in text:
            pretrain.check(plan)


def test_values_of_options_are_told_in_words(kind_pages):
    names = "boundary_context", "hard_negatives_per_word", "limits", "entity_pair_labels", "nested"
    fields = {name: tasks.load("relations").options.model_fields[name] for name in names}
    assert [row[1] for row in rows(kind_pages.table(fields, {}))] == [
        "`true`, `false`",
        "`all` or number > 0",
        "`train`, `spanrel`",
        "list (list (text)) or `null`",
        "`true`, `false` or `null`",
    ]


def test_every_key_of_a_recipe_is_on_the_page_of_keys(kind_pages):
    written = {row[0].strip("`") for row in rows(kind_pages.keys())}
    keys = {key for model in (*PARTS, *EMBEDDERS.values()) for key in model.model_fields}
    assert written == keys


# docs/formats.md


def test_the_page_of_formats_is_what_its_command_makes(monkeypatch):
    monkeypatch.syspath_prepend(CHAPTERS)
    pages = importlib.import_module("formats")
    assert (CHAPTERS / "formats.md").read_text(encoding="utf-8") == pages.page()


# README.md


def test_the_table_of_layers_is_what_its_command_makes(monkeypatch):
    monkeypatch.syspath_prepend(CHAPTERS)
    said = README.read_text(encoding="utf-8")
    assert importlib.import_module("layers").written(said) == said


# docs/recipes.md


def test_every_kind_of_task_and_embedder_is_told():
    said = section(RECIPES, "Tasks").partition("| option |")[0]
    told = list(chain.from_iterable(re.findall(r"`(\w+)`", row[0]) for row in rows(said)))
    assert sorted(told) == tasks.names()
    parts = section(RECIPES, "Trunk, levels, sharing, stages")
    assert set(embedders.names()) <= set(re.findall(r"`(\w+)`", parts))


def test_the_tiny_recipes_are_those_that_are_there():
    told = re.findall(r"recipes/tiny/(\w+)\.yaml", section(RECIPES, "Five papers, five recipes"))
    assert sorted(set(told)) == sorted(each.stem for each in (ROOT / "recipes/tiny").glob("*.yaml"))


def test_the_example_of_several_corpora_is_part_of_a_recipe():
    (said,) = blocks(section(RECIPES, "Several corpora as one"), "yaml")
    made = recipes.loads(said + "trunk: [{casing: 4}]\nstages: [{tasks: [ner]}]\n")
    assert [each.data for each in made.corpora[made.tasks["ner"].data]] == ["wnut17", "wikigold"]


def test_the_example_of_a_span_layer_is_part_of_a_recipe():
    (said,) = blocks(section(RECIPES, "A span layer"), "yaml")
    made = recipes.loads(said + "trunk: [{casing: 4}]\nstages: [{tasks: [ner, srl]}]\n")
    assert [task.route.span_layer for task in resolve(made).tasks.values()] == ["spans", "spans"]


def test_the_recipe_with_a_span_layer_differs_from_the_other_in_nothing_else():
    plain, shared = (
        recipes.to_plain(recipes.load(ROOT / "recipes" / f"{name}.yaml"))
        for name in ("ten-layers", "ten-layers-shared")
    )
    (layer,) = shared.pop("span_layers")
    for name, task in plain["tasks"].items():
        on_layer = shared["tasks"][name]
        if on_layer["span_layer"] is not None:
            task["span_layer"] = layer["name"]
            task.pop("hidden_size"), task.pop("boundary_context", None)
    assert shared == plain


# docs/benchmarks.md


def recorded(name):
    return json.loads((ROOT / "benchmarks" / "results" / name).read_text())


def test_crf_times_are_those_recorded():
    said = [
        [float(cell) for cell in row] for row in rows(section(BENCHMARKS, "CRF beside pytorch-crf"))
    ]
    assert said == [list(each.values()) for each in recorded("crf.json")["shapes"]]


def test_tree_rates_are_those_recorded():
    said = {
        (row[0], row[1].strip("`")): [int(cell.replace(",", "")) for cell in row[2:]]
        for row in rows(section(BENCHMARKS, "Trees and spans decoded a second"))
    }
    known = recorded("structs.json")
    assert said == {
        (kind, name): list(rates.values()) for kind in known for name, rates in known[kind].items()
    }
