"""``check`` limits each layer by the tasks that learn it, or by the kind that fits it."""

import json

import pytest

from spanloom import tasks
from spanloom.document import Document, Layer, Relation, Span
from spanloom.formats import jsonl

CONLLU = """\
# text = She wrote letters .
1\tShe\tshe\tPRON\tPRP\t_\t2\tnsubj\t_\t_
2\twrote\twrite\tVERB\tVBD\t_\t0\troot\t_\t_
3\tletters\tletter\tNOUN\tNNS\t_\t2\tobj\t_\t_
4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

"""
TREES = """\
( (S (NP (PRP She)) (VP (VBD wrote) (NP (NNS letters))) (. .)) )
( (TOP (S (VP (VB Go)))) )
"""
CITY = "the New York city hall is old"
RECIPE = """\
trunk: [{transformer: minilm}]
tasks:
TASKS
stages: [{tasks: [NAMES]}]
"""


def spans(first_id, *labelled):
    return tuple(
        Span(f"T{number}", label, bounds)
        for number, (label, *bounds) in enumerate(labelled, first_id)
    )


@pytest.fixture
def city(tmp_path):
    """A file with two layers of wide spans, and one with a gap."""
    wide = ("hall", (0, 22))
    layers = (
        Layer("ner", spans(1, ("place", (4, 12)), ("org", (4, 12)), wide)),
        Layer("long", spans(4, wide)),
        Layer("gaps", spans(5, ("hall", (0, 3), (13, 17)))),
    )
    path = tmp_path / "city.jsonl"
    jsonl.write(path, [Document(CITY, layers, "a")])
    return path


@pytest.fixture
def recipe(tmp_path):
    """Write a recipe with tasks, as ``ner="kind: entities"``; returns its path."""

    def write(**options):
        path = tmp_path / "recipe.yaml"
        lines = "\n".join(f"  {name}: {{data: x, {text}}}" for name, text in options.items())
        text = RECIPE.replace("TASKS", lines).replace("NAMES", ", ".join(options))
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def oracles(spanloom):
    """Return the oracle scores of the layers of a file, by name, and the assumed limits."""

    def run(*args):
        report = json.loads(spanloom("check", *args, "--json").stdout)
        (split,) = report["splits"].values()
        layers = split["layers"].items()
        return {name: layer["oracle"] for name, layer in layers}, report["model"]

    return run


def test_a_root_is_no_loss(spanloom, oracles, tmp_path):
    path = tmp_path / "x.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    scores, limits = oracles(path)
    assert scores["dependency"]["relations"]["reachable"] == 4
    assert limits["dependency"]["self_pairs"]
    assert limits["upos"] == {"kinds": ["pos"], "width": 1, "nested": False}
    text = spanloom("check", path).stdout
    head = "(kind dependency) of flat spans of up to 1 word, relations from a span to itself"
    assert f"{head}, one head per span:\n" in text
    assert "layer tokens: 1 document annotated\n\n" in text  # nothing to predict, so no ceiling


def test_unary_chains_are_no_loss(spanloom, oracles, tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text(TREES, encoding="utf-8")
    scores, limits = oracles(path)
    assert scores["constituency"]["spans"]["missed"] == {}
    constituency = {"kinds": ["constituency"], "width": None, "nested": True, "multi_label": True}
    assert limits["constituency"] == constituency
    assert not limits["xpos"]["nested"]  # what another layer does is no matter
    assert "learnt with" not in spanloom("check", path).stdout


def test_coreference_crosses_sentences(spanloom, oracles, recipe, tmp_path):
    path = tmp_path / "coref.jsonl"
    jsonl.write(path, [tasks.load("coreference").example])
    line = "a CoNLL average of at most 100.0"
    for options in ((), ("--recipe", recipe(coref="kind: coreference, max_span_width: 12"))):
        scores, limits = oracles(path, *options)
        assert scores["main"]["relations"]["reachable"] == 3
        assert limits["main"]["width"] == (12 if options else None)
        text = spanloom("check", path, *options).stdout
        assert "learnt with" not in text
        assert (line in text) == bool(options)


def test_only_relations_are_told_of_their_keys(spanloom, recipe, tmp_path):
    people = spans(1, ("person", (0, 3)), ("person", (14, 18)), ("person", (14, 18), (20, 25)))
    layer = Layer("main", people, (Relation("R1", "knows", "T1", "T2"),))
    path = tmp_path / "a.jsonl"
    jsonl.write(path, [Document("Ada met Bob .\nCleo slept .", (layer,), "a")])
    hint = "1  ends in different sentences (learnt with relation_scope: document)\n"
    assert hint in spanloom("check", path).stdout
    text = spanloom("check", path, "--recipe", recipe(re="kind: word_relations")).stdout
    assert "1  ends in different sentences\n" in text
    text = spanloom(
        "check", path, "--recipe", recipe(re="kind: relations, relation_scope: document")
    ).stdout
    assert "ends in different" not in text
    assert "1  discontinuous (learnt with discontinuous: true)\n" in text


def test_texts_of_several_sentences_are_no_loss(oracles, tmp_path):
    path = tmp_path / "texts.jsonl"
    labelled = {"It is old .\nIt is bad .": "negative", "It is new .\nIt is good .": "positive"}
    jsonl.write(
        path,
        [
            Document(text, (Layer("main", spans(1, (label, (0, len(text))))),), label)
            for text, label in labelled.items()
        ],
    )
    scores, limits = oracles(path)
    assert limits["main"]["kinds"] == ["text_classification"]
    assert scores["main"]["spans"]["missed"] == {}


def test_a_width_is_that_of_its_task_alone(spanloom, oracles, city, recipe):
    two = recipe(
        ner="kind: entities, layer: ner, max_span_width: 2", long="kind: entities, layer: long"
    )
    scores, limits = oracles(city, "--recipe", two)
    assert [limits[name]["width"] for name in ("ner", "long")] == [2, None]
    assert scores["ner"]["spans"]["missed"]["wider than the model looks"]["count"] == 1
    assert scores["long"]["spans"]["missed"] == {}
    assert limits["gaps"] == {"kinds": ["relations"], "task": False, "width": None, "nested": False}
    text = spanloom("check", city, "--recipe", two).stdout
    assert "another label on the same bounds (learnt with multi_label: true)\n" in text
    assert text.count("no task learns this layer; ceiling of a model (kind relations)") == 1


def test_options_are_those_of_their_task_alone(oracles, city, recipe):
    path = recipe(
        ner="kind: entities, layer: ner",
        long="kind: entities, layer: long, multi_label: true",
        gaps="kind: relations, layer: gaps, discontinuous: true",
    )
    scores, limits = oracles(city, "--recipe", path)
    assert list(scores["ner"]["spans"]["missed"]) == ["another label on the same bounds"]
    assert [name for name in limits if limits[name].get("multi_label")] == ["long"]
    assert scores["gaps"]["spans"]["reachable"] == 1
    assert limits["gaps"]["discontinuous"]


def test_of_several_tasks_of_a_layer_the_most_permissive_counts(spanloom, oracles, city, recipe):
    path = recipe(
        narrow="kind: sequence_tagging, layer: long",
        ner="kind: entities, layer: ner, max_span_width: 2, nested: false",
        wide="kind: entities, layer: ner, max_span_width: 9, nested: true, multi_label: true",
        masked="kind: masked_lm, layer: gaps",
    )
    scores, limits = oracles(city, "--recipe", path)
    both = {"kinds": ["entities"], "width": 9, "nested": True, "multi_label": True}
    assert limits["ner"] == both
    assert scores["ner"]["spans"]["missed"] == {}
    assert limits["gaps"]["task"] is False  # a masked language model learns no layer
    assert "(kind sequence_tagging) of flat" in spanloom("check", city, "--recipe", path).stdout
