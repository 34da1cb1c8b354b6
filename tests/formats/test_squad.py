"""SQuAD: what the JSON says comes back, and what is wrong is told with its place."""

import json

import pytest
from damaged_texts import reads_or_tells
from drawn_documents import documents
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.annotation.queries import answers
from spanloom.document import Attribute, Document, Layer, Query, Span
from spanloom.errors import FormatError
from spanloom.formats import line_at, squad


def _loads(value, **how):
    return list(squad.loads(json.dumps(value, **how), path="in.json"))


def _file(*qas, context="Ada met Bob in Rome.", **further):
    return {"version": "v2.0", "data": [_article({"context": context, "qas": [*qas], **further})]}


def _article(*paragraphs, title="People"):
    return {"title": title, "paragraphs": [*paragraphs]}


def _qa(query="q1", *found, **further):
    said = [{"text": text, "answer_start": start} for text, start in found]
    return {"id": query, "question": f"Who is {query}?", "answers": said, **further}


def test_the_sample_says_what_it_means():
    first, second = squad.loads(squad.KIND.example)
    assert (first.name, second.name) == ("Po (river)/001", "Po (river)/002")
    assert [query.id for query in first.queries] == ["q1", "q2"]
    found = {
        query: [first.text_of(s) for s in got] for query, got in answers(first, "answers").items()
    }
    river, longer = "the Adriatic Sea", "in the Adriatic Sea, near Venice"
    assert found == {"q1": [river, longer, river], "q2": []}
    plausible = answers(first, "plausible")
    assert [first.text_of(span) for span in plausible["q2"]] == ["near Venice"]
    assert second.has_layer("answers")
    assert not second.has_layer("plausible")
    assert squad.dumps([first, second]) == squad.KIND.example
    assert squad.count_lost(first) == squad.count_lost(second) == {}


@pytest.mark.slow
def test_the_real_files_come_back(data):
    folder = data("squad-dev")
    for name, version, questions in (("dev-1.1", "1.1", 10_570), ("dev-2.0", "v2.0", 11_873)):
        text = (folder / f"{name}.json").read_bytes().decode()
        assert squad.sniff(text[:65_536], name)
        found = list(squad.loads(text))
        assert sum(len(each.queries) for each in found) == questions
        assert {dict(each.meta)["version"] for each in found} == {version}
        assert squad.dumps(found) == text
        assert not any(squad.count_lost(each) for each in found[::100])


def test_a_paragraph_alone_keeps_its_name():
    first, second = squad.loads(squad.KIND.example)
    assert squad.count_lost(second) == {}
    assert [each.name for each in squad.loads(squad.dumps([second]))] == ["Po (river)/001"]


OFFICIAL = {
    "version": "v2.0",
    "licence": ["any", 1],
    "data": [
        {
            "title": "AC/DC",
            "wiki": None,
            "paragraphs": [
                {
                    "qas": [
                        _qa("q1", ("Ada", 0), is_impossible=False),
                        _qa("q2", is_impossible=True, plausible_answers=[], note={"by": "x"}),
                        _qa("q3", ("Ada", 0), is_impossible=True),
                        {"id": "q4", "question": "Why?", "is_impossible": False},
                        {"id": "q5", "question": "Why?", "answers": [], "further": None},
                    ],
                    "context": "Ada met Bob.",
                    "document_id": 7,
                },
                {"context": "Nobody asks."},
            ],
        },
        _article({"context": "a", "qas": []}, title="AC/DC"),
        _article({"context": "", "qas": []}, title="AC/DC"),
        _article({"context": "b", "qas": []}, title=".."),
    ],
}


@pytest.mark.parametrize("version", [None, "1.1", "v2.0", "2.0", "x"])
@pytest.mark.parametrize("indent", [None, 2])
def test_whatever_else_there_is_comes_back(version, indent):
    said = {**OFFICIAL, "version": version}
    if version is None:
        del said["version"]
    found = _loads(said, indent=indent)
    assert [each.name for each in found] == [
        "AC_DC/001",
        "AC_DC/002",
        "AC_DC~2/001",
        "AC_DC~3/001",
        "__/001",
    ]
    assert not found[1].has_layer("answers")
    assert json.loads(squad.dumps(found)) == said
    assert list(squad.loads(squad.dumps(found))) == found


def test_further_keys_of_an_answer_are_kept():
    answer = {"text": "Bob", "answer_start": 8, "by": "A7", "sure": 0.5}
    said = _file({"id": "q", "question": "?", "answers": [answer], "is_impossible": False})
    assert json.loads(squad.dumps(_loads(said))) == said


def test_answers_that_came_since_are_written():
    (document,) = _loads(_file({"id": "q1", "question": "Who?"}, _qa("q2", ("Bob", 8))))
    assert dict(document.meta)["question q1"] == '{"answers": null, "is_impossible": null}'
    added = Span("T9", "answer", ((0, 3),)), Attribute("A9", "query", "T9", "q1")
    layer = document["answers"]
    layer = Layer("answers", (*layer.spans, added[0]), attributes=(*layer.attributes, added[1]))
    (again,) = squad.loads(squad.dumps([document.with_layer(layer)]))
    assert [again.text_of(span) for span in answers(again, "answers")["q1"]] == ["Ada"]


@pytest.mark.parametrize(
    ("layers", "version"),
    [((), "1.1"), ((Layer("answers"),), "v2.0"), ((Layer("plausible"),), "v2.0")],
)
def test_documents_from_elsewhere_get_a_title_and_a_version(layers, version):
    document = Document("Ada.", layers, "a", (), (Query("Q1", "Who?"),))
    made = json.loads(squad.dumps([document]))
    assert made["version"] == version
    assert made["data"][0]["title"] == "a"
    qa = {"id": "Q1", "question": "Who?"}
    qa |= {"answers": [], "is_impossible": True} if document.has_layer("answers") else {}
    assert made["data"][0]["paragraphs"][0]["qas"] == [qa]


def test_what_is_no_answer_is_counted():
    layer = Layer(
        "answers",
        (Span("T1", "answer", ((0, 1), (2, 3))), Span("T2", "answer", ((0, 1),), 0.5)),
        attributes=(Attribute("A1", "query", "T1", "Q1"), Attribute("A2", "query", "T2", "Q1")),
    )
    other = Layer("main", (Span("T3", "Person", ((0, 1),)),))
    document = Document("a b c", (layer, other), "t/001", (("k", "v"),), (Query("Q1", "?"),))
    assert squad.count_lost(document) == {
        "values of the document": 1,
        "spans of layer answers": 1,
        "attributes of layer answers": 1,
        "spans of layer main": 1,
        "scores": 1,
    }


@given(st.lists(documents(lines=False, scores=True), max_size=3))
@settings(max_examples=40)
def test_any_document_is_written_and_read_again(many):
    written = squad.dumps(many)
    found = list(squad.loads(written))
    assert [each.text for each in found] == [each.text for each in many]
    assert [each.queries for each in found] == [each.queries for each in many]
    again = list(squad.loads(squad.dumps(found)))
    assert again == found
    for each in many:
        squad.count_lost(each)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ([], "expected an object, got []"),
        ({}, "expected the key 'data', got none"),
        ({"data": {}}, "expected a list, got {}"),
        ({"data": [], "version": 2}, "expected a string, got 2"),
        ({"data": [3]}, "data[0]: expected an object, got 3"),
        ({"data": [{"paragraphs": []}]}, "data[0]: expected the key 'title', got 'paragraphs'"),
        (_file({"question": "?"}), "data[0].paragraphs[0].qas[0]: expected the key 'id'"),
        (_file(_qa("")), "qas[0]: a query needs an id"),
        (_file({"id": "a", "question": " "}), "qas[0]: query 'a' needs a prompt"),
        (_file(_qa(), _qa()), "two queries have the id 'q1'"),
        (
            _file(_qa("q0"), _qa("q1", ("Bob", 9))),
            "qas[1]: expected the answer 'Bob' at 9, got 'ob ' (it stands at 8)",
        ),
        (_file(_qa("q1", ("Eve", -1))), "expected the answer 'Eve' at -1, got 'Ad'"),
        (_file(_qa("q1", ("", 99))), "expected the answer '' at 99"),
        (_file(_qa(is_impossible="no")), "expected true or false for 'is_impossible', got 'no'"),
        (_file(_qa(answers=None)), "expected a list, got None"),
        (_file(context=None), "data[0].paragraphs[0]: context: expected a string, got None"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(said, problem):
    with pytest.raises(FormatError) as caught:
        _loads(said, indent=1)
    assert problem in caught.value.problem
    lines = json.dumps(said, indent=1).split("\n")
    assert 1 <= caught.value.line <= len(lines)


def test_the_line_is_that_of_the_question():
    said = _file(_qa("q0"), _qa("q1", ("Bob", 9)))
    with pytest.raises(FormatError) as caught:
        _loads(said, indent=1)
    lines = json.dumps(said, indent=1).split("\n")
    assert lines[caught.value.line].strip() == '"id": "q1",'


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=12,
)


def _addresses(value, above=()):
    yield above, value
    pairs = enumerate(value) if isinstance(value, list) else ()
    for key, inner in value.items() if isinstance(value, dict) else pairs:
        yield from _addresses(inner, (*above, key))


@given(JSON, st.sampled_from([None, 0, 3]))
def test_every_address_leads_to_the_line_of_its_value(value, indent):
    text = "\n" + json.dumps(value, indent=indent)
    lines = text.split("\n")
    numbers = [line_at(text, keys) for keys, _ in _addresses(value)]
    assert numbers == sorted(numbers)
    for (_, inner), number in zip(_addresses(value), numbers, strict=True):
        begins = json.dumps(inner, indent=indent).split("\n")[0]
        assert begins in lines[number - 1]


def test_an_address_that_is_not_there_leads_to_what_is_above_it():
    assert line_at('{"a":\n[1]}', ["a", 5, "b"]) == 2


def test_damaged_files_are_read_or_refused():
    reads_or_tells(squad.KIND, 400)


@pytest.mark.slow
def test_twenty_thousand_damaged_files_are_read_or_refused():
    reads_or_tells(squad.KIND, 20_000, seed=2)
