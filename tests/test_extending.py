"""The package of docs/extending.md: built from the page, found by name, never imported unasked."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from random import Random

import pytest
import torch
from fenced import blocks
from typer.testing import CliRunner

from spanloom import embedders, formats, plugins, scoring, tasks, tokenization
from spanloom.cli.main import app
from spanloom.cli.options import plugin_options
from spanloom.config import recipe as recipes
from spanloom.config.options import validate_options
from spanloom.config.tokenization import TokenizationSpec
from spanloom.config.yaml import SourceLocation
from spanloom.decoding.span_selection import max_weight_disjoint
from spanloom.errors import FormatError, ModelError, NameNotFound, PluginError, RecipeError
from spanloom.formats import jsonl
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.nn.candidates import neighbors
from spanloom.nn.pairs import PairFeatures, PairSizes
from spanloom.nn.spans import SpanInputs
from spanloom.training import samplers
from spanloom.training.samplers import SAMPLERS, Size
from spanloom.training.train import train

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
FILES = re.compile(r"`(labmarks/\w+\.py)`(?:(?!```).)*?```python\n(.*?)^```$", re.M | re.S)
MOST_LINES = {"labmarks/marks.py": 40, "labmarks/marked.py": 65, "labmarks/bilinear.py": 65}
GROUPS = {
    "tasks": ["bilinear_relations", "marks"],
    "embedders": ["numbers"],
    "formats": ["marked"],
    "tokenizers": ["camel-case"],
    "sentence_splitters": ["blank-lines"],
    "samplers": ["smallest-first"],
    "scorers": ["agreement"],
}


def files():
    """The files of the page's package, by name."""
    sections = re.split(r"^## ", PAGE, flags=re.M)[1:]  # without the table of parts
    return dict(pair for section in sections for pair in FILES.findall(section))


def install(folder, name="labmarks", version="1.0", parts=None):
    """Make a package that is importable from a folder an installed one."""
    (project,) = (tomllib.loads(block) for block in blocks(PAGE, "toml"))
    groups = project["project"]["entry-points"] if parts is None else parts
    metadata = folder / f"{name}-{version}.dist-info"
    metadata.mkdir(parents=True)
    lines = [
        line
        for group, names in groups.items()
        for line in (f"[{group}]", *(f"{part} = {value}" for part, value in names.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A folder with the package, which is not installed."""
    folder = tmp_path_factory.mktemp("source")
    for name, code in files().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(code, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    """A folder with the metadata that says that the package is installed."""
    folder = tmp_path_factory.mktemp("metadata")
    install(folder)
    return folder


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    """Have no plugin of another test."""
    monkeypatch.setattr(plugins, "modules", {})
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "labmarks"]:
        del sys.modules[name]


@pytest.fixture
def importable(source, monkeypatch):
    monkeypatch.syspath_prepend(source)
    return source


@pytest.fixture
def installed(importable, metadata, monkeypatch):
    monkeypatch.syspath_prepend(metadata)


def imported():
    return sorted(name for name in sys.modules if name.partition(".")[0] == "labmarks")


def test_the_page_has_every_file_it_names():
    assert set(files()) == set(re.findall(r"`(labmarks/\w+\.py)`", PAGE))
    for name, most in MOST_LINES.items():
        assert files()[name].count("\n") <= most


# How a part is found


LOADERS = {
    "tasks": tasks.load,
    "embedders": embedders.load,
    "formats": formats.load,
    "tokenizers": lambda name: tokenization.word_tokenizer(name, "newline"),
    "sentence_splitters": lambda name: tokenization.word_tokenizer("whitespace", name),
    "samplers": samplers.load,
    "scorers": scoring.find,
}


def assert_found():
    for group, names in GROUPS.items():
        for name in names:
            assert LOADERS[group](name)
    assert set(GROUPS["tasks"]) <= set(tasks.names())
    assert set(GROUPS["formats"]) <= set(formats.names())
    assert set(GROUPS["scorers"]) <= set(scoring.names())


def test_an_installed_package_is_found(installed):
    assert_found()


def test_a_module_that_the_user_names_is_found(importable):
    plugins.load("labmarks")
    assert imported() == ["labmarks"]
    assert_found()


def test_both_at_once_are_one(installed):
    plugins.load("labmarks")
    assert_found()


def test_what_is_neither_is_not_found(importable):
    for group, names in GROUPS.items():
        with pytest.raises(NameNotFound, match=names[0]):
            LOADERS[group](names[0])
    assert imported() == []


def test_an_installed_part_is_imported_when_its_name_is_asked_for(installed, tmp_path):
    path = tmp_path / "ada.marked"
    path.write_text("Ada|person\n")
    assert "marked" in formats.names()
    assert "numbers" in embedders.names()
    assert formats.guess(path) is None
    with pytest.raises(NameNotFound, match="marked"):
        formats.load("marker")
    with pytest.raises(RecipeError, match=r"camel-case.*got 'camel'"):
        validate_options(TokenizationSpec, {"tokenizer": "camel"}, SourceLocation("recipe.yaml"))
    assert imported() == []
    formats.load("marked")
    assert imported() == ["labmarks", "labmarks.marked"]


def test_a_format_that_the_user_names_is_guessed(importable, tmp_path):
    path = tmp_path / "ada.marked"
    path.write_text("Ada|person\n")
    plugins.load("labmarks")
    assert formats.guess(path) == "marked"


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("tasks", "entities"),
        ("embedders", "casing"),
        ("formats", "conllu"),
        ("tokenizers", "spacy"),
        ("sentence_splitters", "newline"),
        ("samplers", "uniform"),
        ("scorers", "squad-v1.1"),
    ],
)
def test_no_plugin_takes_the_name_of_a_built_in_part(group, name, tmp_path, monkeypatch):
    install(tmp_path, "taker", "2.1", {f"spanloom.{group}": {name: "taker.parts:KIND"}})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match=rf"{name}.*taker\.parts of package taker 2\.1.*built-in"):
        LOADERS[group](name)


def test_no_two_packages_share_a_name(installed, tmp_path, monkeypatch):
    install(tmp_path, "others", "3.0", {"spanloom.tasks": {"marks": "others.marks:KIND"}})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match="marks") as caught:
        tasks.load("marks")
    assert "others 3.0" in str(caught.value)
    assert "labmarks 1.0" in str(caught.value)
    assert imported() == []


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("", "expected a table SPANLOOM"),
        ("SPANLOOM = []", "expected a table SPANLOOM"),
        ("SPANLOOM = {'tasks': []}", "tasks: expected a mapping"),
        ("SPANLOOM = {'task': {'a': 'b:C'}}", "no group 'task'"),
        ("SPANLOOM = {'tasks': {'a': 'b.c'}}", "expected a name and"),
        ("SPANLOOM = {'tasks': {'a': 5}}", "expected a name and"),
        ("import nothing_of_this_name", "nothing_of_this_name"),
    ],
)
def test_a_module_without_a_table_is_refused(code, problem, tmp_path, monkeypatch):
    (tmp_path / "odd_plugin.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "odd_plugin", raising=False)
    with pytest.raises(PluginError, match=problem):
        plugins.load("odd_plugin")


@pytest.mark.parametrize("name", ["", ".x", "no_such_plugin", "a/b.py"])
def test_a_module_that_is_not_there_is_refused(name):
    with pytest.raises(PluginError, match="cannot be imported"):
        plugins.load(name)


@pytest.mark.parametrize("value", ["labmarks.marks:NONE", "labmarks.none:KIND"])
def test_a_part_that_is_not_there_is_told(value, importable, tmp_path, monkeypatch):
    install(tmp_path, "labmarks", "1.0", {"spanloom.tasks": {"odd": value}})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match="'odd'.*cannot be imported"):
        tasks.load("odd")


@pytest.mark.parametrize("value", ["labmarks", "labmarks.marks", "a b", "1:2"])
def test_a_broken_entry_point_is_told(value, tmp_path, monkeypatch):
    install(tmp_path, "labmarks", "1.0", {"spanloom.tasks": {"odd": value}})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match=f"'odd' of package labmarks: expected .*{value}"):
        tasks.load("odd")
    assert tasks.load("pos")


def test_a_part_of_another_type_is_told(importable, tmp_path, monkeypatch):
    install(tmp_path, "labmarks", "1.0", {"spanloom.tasks": {"odd": "labmarks.marked:KIND"}})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match="'odd'.*expected TaskType, got Format"):
        tasks.load("odd")


# Training, saving, loading


@pytest.fixture(scope="module")
def trained(source, metadata, tmp_path_factory):
    """A model of the package's parts, trained on their examples, and the text of its recipe."""
    home = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(source)
        patch.syspath_prepend(metadata)
        for name in GROUPS["tasks"]:
            (home / name).mkdir()
            for split in ("train", "dev"):
                jsonl.write(home / name / f"{split}.jsonl", [tasks.load(name).example])
        trunk = [{"static": str(ROOT / "fixtures/tiny/vectors.txt"), "trainable": True}]
        stage = {
            "precision": "fp32",
            "sampler": "smallest-first",
            "epochs": 100,
            "warmup_updates": 0,
        }
        recipe = {
            "trunk": [*trunk, {"numbers": 8}],
            "levels": [{"name": "context", "rnn": "lstm", "hidden_size": 16}],
            "embedding_dropout": 0,
            "tokenization": {"tokenizer": "camel-case", "sentence_splitter": "newline"},
            "tasks": {
                name: {"data": name, "kind": name, "level": "context"} for name in GROUPS["tasks"]
            },
            "stages": [
                stage
                | {"tasks": GROUPS["tasks"], "eval_every_epochs": 100}
                | {"lr": {"encoder": 0.01, "task": 0.01}}
            ],
        }
        recipe["tasks"]["bilinear_relations"] |= {"hidden_size": 16, "dropout": 0}
        text = json.dumps(recipe)
        progress = train(
            resolve(recipes.loads(text), home), home / "model", lambda line: None, device="cpu"
        )
        assert set(progress.metrics.values()) == {1.0}, progress.metrics
    for name in imported():
        del sys.modules[name]
    return home / "model"


def test_a_model_folder_names_the_plugins_it_needs(trained):
    named = json.loads((trained / "plugins.json").read_text())
    assert {group: sorted(parts) for group, parts in named.items()} == {
        group: GROUPS[group] for group in ("tasks", "embedders", "tokenizers")
    }
    origin = {"module": "labmarks.marks", "package": "labmarks", "version": "1.0"}
    assert named["tasks"]["marks"] == origin


SCRIPT = """
import json, sys
import spanloom
from spanloom.errors import ModelError

def annotate():
    document = spanloom.load(sys.argv[1], device="cpu", precision="fp32")(sys.argv[2])
    return [[span.label, span.start, span.end] for span in document["marks"].spans]

try:
    answers = [annotate()]
except ModelError as error:
    assert "labmarks" not in sys.modules
    from spanloom import plugins
    plugins.load("labmarks")
    answers = [str(error), annotate()]
print(json.dumps(answers))
"""


def run(model, *path):
    """What a new process says of a text, with some folders to import from."""
    paths = os.pathsep.join([str(ROOT / "src"), *map(str, path)])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(model), task_example().text],
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def task_example():
    """The example of the page's kind of task."""
    names = {}
    exec(compile(files()["labmarks/marks.py"], "marks", "exec"), names)
    return names["KIND"].example


def test_a_new_process_loads_a_model_with_its_plugin_alone(trained, source, metadata):
    example = task_example()
    gold = [[span.label, span.start, span.end] for span in example["main"].spans]
    (answer,) = run(trained, source, metadata)
    assert sorted(answer) == sorted(gold)
    refusal, again = run(trained, source)  # importable, and neither installed nor passed
    assert "module labmarks" in refusal
    assert "package labmarks 1.0" in refusal
    assert "--plugin" in refusal
    assert again == answer


def test_commands_take_plugins(trained, importable, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text(task_example().text)
    command = ["annotate", str(text), "-m", str(trained), "--to", "json", "--precision", "fp32"]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 1
    assert "--plugin" in refused.output
    done = CliRunner().invoke(app, [*command, "--plugin", "labmarks"])
    assert done.exit_code == 0, done.output
    assert '"step"' in done.output


def test_a_command_that_goes_on_names_the_plugins_again(importable):
    assert plugin_options() == []
    plugins.load("labmarks")
    assert plugin_options() == ["--plugin", "labmarks"]


def test_a_stage_with_a_sampler_that_no_one_has_is_refused_at_its_line(
    trained, installed, tmp_path
):
    text = (trained / "recipe.yaml").read_text()
    line = 1 + text.splitlines().index("  sampler: smallest-first")
    recipe = text.replace("smallest-first", "largest-first")
    with pytest.raises(RecipeError, match=f"recipe:{line}: .*no sampler 'largest-first'"):
        train(
            resolve(recipes.loads(recipe), tmp_path),
            tmp_path / "out",
            lambda line: None,
            device="cpu",
        )


# Hostile folders


@pytest.fixture
def victim(trained, tmp_path):
    serialization.copy(trained, tmp_path / "victim")
    return tmp_path / "victim"


def change(folder, text):
    """Give a folder another ``plugins.json``, its manifest right again."""
    serialization.rewrite(folder, {"plugins.json": text})


def stated(module="labmarks.marks", package="labmarks", version="1.0"):
    return {"module": module, "package": package, "version": version}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{]",
        "[" * 100_000,
        '{"tasks": 5}',
        '{"tasks": {"marks": 5}}',
        '{"os": {}}',
        '{"formats": {}}',
        json.dumps({"tasks": {"marks": {"module": "labmarks.marks"}}}),
        json.dumps({"tasks": {"marks": stated(module=["os"])}}),
        json.dumps({"tasks": {"marks": stated(module="../evil/module.py")}}),
        json.dumps({"tasks": {"marks": stated(package="labmarks; rm -r .")}}),
        json.dumps({"tasks": {"marks": stated(version="1\n2")}}),
    ],
)
def test_a_broken_list_is_refused(text, victim, installed):
    change(victim, text)
    with pytest.raises(ModelError, match=r"plugins.json: is broken") as caught:
        serialization.load(victim)
    assert "\n" not in str(caught.value)
    assert imported() == []


@pytest.mark.parametrize("module", ["antigravity", "labmarks.evil", "labmarks"])
def test_nothing_is_imported_because_a_folder_names_it(module, victim, importable):
    change(victim, json.dumps({"tasks": {"marks": stated(module=module)}}))
    with pytest.raises(ModelError, match=f"needs 'marks' .*module {module}.*neither installed"):
        serialization.load(victim)
    assert imported() == []
    assert "antigravity" not in sys.modules


def test_a_part_of_another_package_is_no_substitute(victim, installed):
    named = json.loads((victim / "plugins.json").read_text())
    named["tasks"]["marks"] = stated("os", "evil")
    change(victim, json.dumps(named))
    with pytest.raises(ModelError, match=r"module os of package evil 1\.0; here it is .*labmarks"):
        serialization.load(victim)
    assert imported() == []


def test_a_plugin_that_a_folder_does_not_name_is_not_imported(victim, installed):
    change(victim, "{}")
    with pytest.raises(ModelError, match=r"plugins\.json"):
        serialization.load(victim)
    assert imported() == []


def test_a_folder_may_name_more_than_is_used(victim, installed):
    named = json.loads((victim / "plugins.json").read_text())
    named["sentence_splitters"] = {"blank-lines": stated("labmarks.splitting")}
    change(victim, json.dumps(named))
    assert serialization.load(victim, device="cpu", precision="fp32")


# The parts by themselves


def test_the_example_of_a_head_scores_words(importable):
    from labmarks.hidden import Marks

    head = Marks(6, labels=3, hidden_size=8)
    scores = head(torch.randn(5, 6))
    scores.sum().backward()
    assert scores.shape == (5, 3)
    assert all(parameter.grad is not None for parameter in head.parameters())


def test_the_example_of_a_pair_scorer_scores_pairs(importable):
    from labmarks.bilinear import KIND, BilinearPairs

    sizes = PairSizes(
        word_dim=6, num_types=3, num_labels=4, num_width_embeddings=2, hidden_size=8, dropout=0.0
    )
    scorer = BilinearPairs(sizes, PairFeatures())
    bounds, pairs = torch.tensor([[0, 1], [2, 4]]), torch.tensor([[0, 1], [1, 0]])
    runs = torch.tensor([[0, 5]])
    inputs = SpanInputs(torch.randn(5, 6), torch.zeros(5, 1), runs, runs, neighbors(runs))
    scores = scorer.prepare(inputs, bounds, torch.zeros(2, 3))(pairs)
    scores.sum().backward()
    assert scores.shape == (2, 4)
    assert scorer.bilinear.weight.grad is not None
    assert KIND is not tasks.load("relations")


def test_the_example_of_a_decoder_never_beats_the_best(importable):
    from labmarks.greedy import greedy

    rng = Random(1)
    for _ in range(50):
        starts = [rng.randrange(10) for _ in range(8)]
        bounds = [(start, start + rng.randint(1, 4)) for start in starts]
        weights = [rng.random() for _ in bounds]
        kept = greedy(bounds, weights)
        assert kept == sorted(kept)
        assert max_weight_disjoint([bounds[row] for row in kept], [1.0] * len(kept)) == [
            *range(len(kept))
        ]
        assert weights.index(max(weights)) in kept
        best = sum(weights[row] for row in max_weight_disjoint(bounds, weights))
        assert sum(weights[row] for row in kept) <= best + 1e-9


def test_the_example_of_a_sampler_deals_every_batch(installed):
    sizes = {"large": Size(3, 30), "small": Size(1, 10)}
    turns = samplers.load("smallest-first")(sizes, Random(0), 1.0)
    assert turns == [("small",), ("large",), ("large",), ("large",)]
    assert sorted(turns) == sorted(SAMPLERS["proportional"](sizes, Random(0), 1.0))


def test_the_example_of_a_format_keeps_the_contract(installed):
    form = formats.load("marked")
    (document,) = form.loads(form.example, path="a", options=form.options())
    assert [document.text_of(span) for span in document["marks"].spans] == ["Ada", "Bob"]
    assert form.dumps([document], options=form.options()) == form.example
    assert not form.count_lost(document, form.options())
    with pytest.raises(FormatError, match="a.marked:2"):
        list(form.loads("Ada|\nmet\n", path="a.marked"))


@pytest.mark.parametrize("option", [[], ["--plugin", "labmarks"]])
def test_convert_writes_and_reads_the_format(option, importable, metadata, tmp_path, monkeypatch):
    if not option:
        monkeypatch.syspath_prepend(metadata)
    source, out = tmp_path / "ada.marked", tmp_path / "ada.jsonl"
    source.write_text(format_example())
    there = ["convert", str(source), str(out), "--from", "marked", *option]
    done = CliRunner().invoke(app, there)
    assert done.exit_code == 0, done.output
    back = ["convert", str(out), str(tmp_path / "bob.marked"), "--to", "marked", *option]
    done = CliRunner().invoke(app, back)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "bob.marked").read_text() == format_example()


def format_example():
    """The example of the page's format."""
    return re.search(r'^EXAMPLE = "(.*)"$', PAGE, re.M)[1].replace("\\n", "\n")


def test_score_takes_the_metric(importable, tmp_path):
    for name, text in (("gold", "a\nb\n"), ("pred", "a\nc\n")):
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in ("gold", "pred")]
    command = ["score", *paths, "--metric", "agreement"]
    assert "no metric 'agreement'" in CliRunner().invoke(app, command).output
    done = CliRunner().invoke(app, [*command, "--plugin", "labmarks"])
    assert done.output == "agreement 50.00\n"


def test_the_examples_of_splitters_split(installed):
    text = "Mix 5ml coldBuffer.\nStir.\n\nWash."
    split = tokenization.word_tokenizer("camel-case", "blank-lines")(text)
    words = [text[start:end] for start, end in split.words]
    assert words == ["Mix", "5", "ml", "cold", "Buffer", ".", "Stir", ".", "Wash", "."]
    assert split.sentences == ((0, 8), (8, 10))


@pytest.mark.slow
def test_the_parts_keep_the_contracts_of_built_in_ones(source):
    script = "import sys, pytest\nfrom spanloom import plugins\nplugins.load('labmarks')\n"
    script += "sys.exit(pytest.main(sys.argv[1:]))"
    paths = os.pathsep.join(map(str, (ROOT / "src", source)))
    tests = ["tests/tasks/test_every_task.py", "tests/formats/test_every_format.py"]
    done = subprocess.run(
        [sys.executable, "-c", script, "-n", "0", "-q", *tests, "-k", "marks or marked"],
        env=os.environ | {"PYTHONPATH": paths},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_processes_of_a_server_load_the_plugins(trained, importable, monkeypatch):
    from spanloom.serve.engine import Process
    from spanloom.serve.worker import Options

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (ROOT / "src", importable))))
    process = Process(Options(str(trained), "cpu", "fp32", False, ("labmarks",)).command())
    try:
        hello = process.begin()
        assert {task.name for task in hello.model.tasks} == set(GROUPS["tasks"])
    finally:
        process.end()


def test_check_compares_the_plugins_of_a_model(victim, installed, tmp_path):
    path = tmp_path / "data" / "train.jsonl"
    path.parent.mkdir()
    jsonl.write(path, [task_example()])
    command = ["check", str(path.parent), "-m", str(victim)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "camel-case" in done.output
    change(victim, "{}")
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    assert "which plugins.json does not name" in done.output


def test_the_card_names_the_plugins(trained):
    card = (trained / "README.md").read_text(encoding="utf-8")
    assert "- `marks` (tasks): module labmarks.marks of package labmarks 1.0\n" in card
