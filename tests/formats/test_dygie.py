"""DyGIE's lines: nested and crossing mentions, relations between them, clusters."""

import json

import pytest
from door_checks import reads_or_refuses, same_again, written_and_read
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.connected_spans import connected_spans
from spanloom.errors import FormatError
from spanloom.formats.dygie import KIND, dumps, loads


def test_layers_of_a_line():
    (found,) = loads(KIND.example)
    assert (found.name, found.text) == ("a", "Ada Byron ran .\nHer dog won .")
    assert len(found["words"].spans) == 8
    cover = {span.id: found.text_of(span) for layer in found.layers for span in layer.spans}
    spans = [(each.label, cover[each.id]) for each in found["entities"].spans]
    assert spans == [
        ("Person", "Ada Byron"),
        ("Name", "Ada"),
        ("Person", "Her"),
        ("Animal", "Her dog"),
    ]
    arrows = [(cover[e.head], e.label, cover[e.tail]) for e in found["entities"].relations]
    assert arrows == [("Ada Byron", "Owns", "Her dog"), ("Her dog", "Part", "Her")]
    arrows = [(cover[e.head], e.label, cover[e.tail]) for e in found["coreference"].relations]
    assert arrows == [("Her", "coref", "Ada Byron"), ("won", "coref", "Her")]
    assert [cover[each.id] for each in found["coreference"].spans] == [
        "Her",
        "Ada Byron",
        "won",
        "Her dog",
    ]


def test_what_is_not_annotated_has_no_layer():
    text = '{"sentences": [["a"]], "doc_key": "k"}\n'
    (found,) = loads(text)
    assert [layer.name for layer in found.layers] == ["words", "sentences"]
    assert dumps([found]) == text
    (found,) = loads('{"sentences": [["a"]], "ner": [[]], "clusters": [], "doc_key": "k"}')
    assert [layer.name for layer in found.layers[2:]] == ["entities", "coreference"]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"sentences": None}, "expected a list, got None"),
        ({"sentences": [[]]}, "expected words in every sentence"),
        ({"sentences": [[""]]}, "expected a word, got ''"),
        ({"ner": []}, "ner: expected a list for each of 2 sentences, got 0"),
        ({"ner": [[[0, 0]], []]}, "ner: expected 2 numbers and a label, got [0, 0]"),
        ({"ner": [[[0, 2, "X"]], []]}, "ner: expected words of their sentence, (0, 2)"),
        ({"ner": [[[0.0, 0, "X"]], []]}, "expected a whole number, got 0.0"),
        ({"ner": [[[-1, 0, "X"]], []]}, "ner: expected words of their sentence"),
        ({"relations": [[[0, 0, 1, 1, "R"]], []]}, "relations: expected two mentions of ner"),
        ({"relations": [[], [[0, 0, 2, 2, "R"]]]}, "the first in this sentence"),
        ({"clusters": [[[0, 10**30]]]}, "clusters: expected words in [0, 4)"),
        ({"clusters": [[]]}, "clusters: expected mentions in every cluster"),
        ({"events": []}, "unknown key 'events'; known: clusters, sentences"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(changed, problem):
    said = {
        "sentences": [["a", "b"], ["c", "d"]],
        "ner": [[[0, 0, "X"]], [[2, 2, "X"]]],
        "relations": [[], []],
        "doc_key": "k",
    }
    text = "\n" + json.dumps(said | changed)
    with pytest.raises(FormatError, match=r"^in\.json:2: ") as caught:
        list(loads(text, path="in.json"))
    assert problem in caught.value.problem


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    assert 0 < reads_or_refuses(KIND) < 300


@pytest.mark.parametrize("name", ["dev", "test", pytest.param("train", marks=pytest.mark.slow)])
def test_the_release_is_written_as_it_stands(data, name):
    text = (data("scierc") / f"{name}.json").read_bytes().decode()
    assert not text.endswith("\n")  # its last line has no end; nothing else differs
    assert same_again(KIND, text + "\n")


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    written_and_read(KIND, [document])


PLACE = st.integers(0, 5)
PAIR = st.tuples(PLACE, PLACE).map(sorted)


@given(st.lists(st.lists(PAIR, min_size=1, max_size=4), max_size=4))
def test_clusters_go_and_come_back(clusters):
    said = {"clusters": clusters, "sentences": [["a"] * 6], "doc_key": "k"}
    (found,) = loads(json.dumps(said))
    assert json.loads(dumps([found])) == said
    assert sorted(map(len, connected_spans(found["coreference"]))) == sorted(
        n for n in map(len, clusters) if n > 1
    )
