"""DocRED's documents: chains of names, relations between entities, what mentions say besides."""

import json

import pytest
from door_checks import reads_or_refuses, same_again, written_and_read
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.document import Document, Layer, Note, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.docred import KIND, DocREDOptions, dumps, loads


def arrows(found, layer):
    cover = {span.id: found.text_of(span) for span in found[layer].spans}
    return [(cover[each.head], each.label, cover[each.tail]) for each in found[layer].relations]


def test_layers_of_a_document():
    found, second = loads(KIND.example)
    assert (found.name, found.text) == (
        "Ada (poet)",
        "Ada Byron left for London .\nShe stayed .",
    )
    spans = [(each.label, found.text_of(each)) for each in found["entities"].spans]
    assert spans == [
        ("PER", "She"),
        ("PER", "Ada Byron"),
        ("LOC", "London"),
        ("MISC", "London"),
    ]
    assert {each.label for each in found["coreference"].spans} == {"mention"}
    assert arrows(found, "coreference") == [("She", "coref", "Ada Byron")]
    assert arrows(found, "entities") == [("She", "P551", "London"), ("London", "P17", "She")]
    (_, _, place, other) = found["entities"].spans
    first, back = found["entities"].relations
    assert (first.tail, back.head) == (place.id, other.id)
    notes = [(note.label, note.text) for note in found["entities"].notes]
    assert notes == [("name", 'Ada " A " Byron'), ("index", "3_0"), ("evidence", "0 1")]
    assert (second.name, dict(second.meta)) == ("A/B", {"labels": "absent"})
    assert not second["entities"].spans


def test_relations_may_connect_the_nearest_mentions():
    options = DocREDOptions(relation_ends="nearest")
    found, _ = loads(KIND.example, options=options)
    assert arrows(found, "entities") == [
        ("Ada Byron", "P551", "London"),
        ("London", "P17", "Ada Byron"),
    ]
    assert same_again(KIND, KIND.example, options=options)


def test_positions_in_the_document_may_be_left_out_as_in_docred():
    said = json.loads(KIND.example)[:1]
    for entity in said[0]["vertexSet"]:
        for mention in entity:
            del mention["global_pos"], mention["index"]
    options = DocREDOptions(**KIND.sniff_options(json.dumps(said)))
    assert not options.positions
    assert DocREDOptions(**KIND.sniff_options(KIND.example)).positions
    assert same_again(KIND, json.dumps(said), options=options)


def test_a_title_with_a_dot_in_front_is_no_hidden_name():
    text = KIND.example.replace("Ada (poet)", "...And Justice")
    first = next(loads(text))
    assert (first.name, dict(first.meta)["id"]) == ("_..And Justice", "...And Justice")
    assert same_again(KIND, text)


MENTION = {"name": "a", "pos": [0, 1], "sent_id": 0, "type": "X"}


@pytest.mark.parametrize(
    ("changed", "path", "problem"),
    [
        ({"sents": None}, "[1]", "expected a list, got None"),
        ({"sents": [["a"], []]}, "[1].sents[1]", "expected words, got []"),
        ({"sents": [["a", ""]]}, "[1].sents[0]", "expected words, got ['a', '']"),
        ({"vertexSet": [[]]}, "[1].vertexSet[0]", "expected mentions in every entity"),
        ({"vertexSet": [[MENTION, 7]]}, "[1].vertexSet[0][1]", "expected an object, got 7"),
        ({"vertexSet": [[MENTION | {"sent_id": 2}]]}, "[1].vertexSet[0][0]", "in [0, 2), got 2"),
        ({"vertexSet": [[MENTION | {"pos": [0, 3]}]]}, "[1].vertexSet[0][0]", "words [start, end)"),
        ({"vertexSet": [[MENTION | {"pos": [1, 1]}]]}, "[1].vertexSet[0][0]", "got [1, 1]"),
        ({"vertexSet": [[MENTION | {"pos": [0]}]]}, "[1].vertexSet[0][0]", "got [0]"),
        ({"vertexSet": [[MENTION | {"type": " "}]]}, "[1].vertexSet[0][0]", "needs a label"),
        ({"vertexSet": [[MENTION | {"global_pos": [-1]}]]}, "[1].vertexSet[0][0]", "from 0"),
        ({"labels": [{"h": 2}]}, "[1].labels[0]", "h: expected an entity in [0, 2), got 2"),
        ({"labels": [{"h": 0, "t": -1}]}, "[1].labels[0]", "t: expected an entity"),
        ({"labels": [{"h": 0, "t": 1, "r": "P", "evidence": [2]}]}, "[1].labels[0]", "evidence"),
        ({"labels": [{"h": 0, "t": 1, "r": "P"}]}, "[1].labels[0]", "the key 'evidence'"),
        ({"ner": []}, "[1]", "unknown key 'ner'; known: title, vertexSet, labels, sents"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_path(changed, path, problem):
    said = {
        "title": "k",
        "vertexSet": [[MENTION], [MENTION | {"sent_id": 1, "name": "b", "pos": [0, 2]}]],
        "labels": [{"h": 0, "t": 1, "r": "P", "evidence": [1]}],
        "sents": [["a", "b"], ["c", "d"]],
    }
    assert len(list(loads(json.dumps([said])))) == 1
    text = "[" + json.dumps(said) + ",\n" + json.dumps(said | changed) + "]"
    with pytest.raises(FormatError, match=r"^in\.json:2: ") as caught:
        list(loads(text, path="in.json"))
    assert caught.value.problem.startswith(f"{path}: ")
    assert problem in caught.value.problem


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    assert 0 < reads_or_refuses(KIND) < 300


@pytest.mark.parametrize("name", ["dev", pytest.param("test", marks=pytest.mark.slow)])
@pytest.mark.parametrize("ends", ["nearest", pytest.param("first", marks=pytest.mark.slow)])
def test_the_release_says_the_same_when_written(data, name, ends):
    text = (data("re-docred") / f"{name}_revised.json").read_text(encoding="utf-8")
    options = DocREDOptions(relation_ends=ends)
    assert not same_again(KIND, text, options=options)  # the order of keys differs
    assert json.loads(dumps(loads(text, options=options), options=options)) == json.loads(text)


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    written_and_read(KIND, [document])


def test_a_relation_of_later_mentions_becomes_one_of_the_first():
    spans = tuple(Span(f"T{at}", "X", ((at, at + 1),)) for at in (0, 2, 4))
    mentions = tuple(Span(f"T{at + 5}", "mention", ((at, at + 1),)) for at in (0, 2))
    layers = (
        Layer(
            "entities",
            spans,
            (Relation("R1", "P", "T2", "T4"),),
            notes=(Note("#1", "evidence", "R1", "9"), Note("#2", "global_pos", "T4", "x")),
        ),
        Layer("coreference", mentions, (Relation("R2", "coref", "T7", "T5"),)),
    )
    (found,), (lost,) = written_and_read(KIND, [Document("a b c", layers, "k")])
    assert arrows(found, "entities") == [("a", "P", "c")]
    assert lost == {"relations of layer entities": 1, "notes of layer entities": 2}


PLACE = st.integers(0, 5)
MENTIONS = st.lists(
    st.tuples(PLACE, PLACE, st.booleans()).map(
        lambda drawn: {
            "name": " ".join("a" * (max(drawn[:2]) + 1 - min(drawn[:2]))),
            "pos": [min(drawn[:2]), max(drawn[:2]) + 1],
            "sent_id": int(drawn[2]),
            "type": "X",
        }
    ),
    min_size=1,
    max_size=4,
)


@given(st.lists(MENTIONS, min_size=1, max_size=4), st.data())
def test_entities_and_their_relations_go_and_come_back(entities, data):
    end = st.integers(0, len(entities) - 1)
    ends = data.draw(st.lists(st.tuples(end, end), max_size=5))
    labels = [{"h": head, "t": tail, "r": "P", "evidence": [0]} for head, tail in ends]
    sentences = [["a"] * 6] * 2
    said = [{"title": "k", "vertexSet": entities, "labels": labels, "sents": sentences}]
    for relation_ends in ("first", "nearest"):
        options = DocREDOptions(relation_ends=relation_ends, positions=False)
        assert same_again(KIND, json.dumps(said), options=options)
