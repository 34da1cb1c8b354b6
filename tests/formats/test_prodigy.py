"""Prodigy's exports: what was accepted is annotation, what was not is kept."""

import pytest
from door_checks import reads_or_refuses, same_again, writing_time
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.text_pairs import classification_of
from spanloom.document import Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.prodigy import KIND, dumps, loads

# as `prodigy rel.manual` writes it, shortened: spans of the relations that are no spans of the task
RELATIONS = (
    '{"text": "Ada met Bob", "tokens": [{"text": "Ada", "start": 0, "end": 3, "id": 0, "ws": true, '
    '"disabled": false}, {"text": "met", "start": 4, "end": 7, "id": 1, "ws": true}, {"text": "Bob"'
    ', "start": 8, "end": 11, "id": 2, "ws": false}], "spans": [], "relations": [{"child": 0, '
    '"head": 1, "label": "SUBJ", "color": "#c5bdf4"}], "answer": "accept", "_input_hash": -1}\n'
)


def test_spans_relations_and_words():
    document, *_ = loads(KIND.example)
    assert [document.text_of(span) for span in document["words"].spans] == ["Ada", "met", "Bob"]
    ada, bob = document["entities"].spans
    (relation,) = document["entities"].relations
    assert (relation.head, relation.label, relation.tail) == (bob.id, "met by", ada.id)
    assert dict(document.meta) == {"answer": '"accept"', "_task_hash": "7"}


def test_ends_of_relations_may_be_tokens():
    (document,) = loads(RELATIONS)
    (relation,) = document["entities"].relations
    spans = {span.id: span for span in document["entities"].spans}
    ends = [document.text_of(spans[end]) for end in (relation.head, relation.tail)]
    assert ends == ["met", "Ada"]


def test_ends_of_relations_are_told_apart_by_their_labels():
    spans = (
        Span("T1", "PER", ((0, 3),)),
        Span("T2", "ARTIST", ((0, 3),)),
        Span("T3", "X", ((4, 5),)),
    )
    links = [Relation(f"R{n}", "r", "T3", f"T{n}") for n in (1, 2)]
    text = dumps([Document("Ada x", (Layer("entities", spans, tuple(links)),))])
    (document,) = loads(text)
    label_of = {span.id: span.label for span in document["entities"].spans}
    ends = [label_of[relation.tail] for relation in document["entities"].relations]
    assert ends == ["PER", "ARTIST"]
    assert dumps([document]) == text
    (document,) = loads(
        text.replace('"label": "PER"}, "label": "r"', '"label": "Y"}, "label": "r"')
    )
    assert len(document["entities"].spans) == 3  # the bounds alone tell


def test_what_was_not_accepted_is_no_annotation():
    _, first, second, rejected = loads(KIND.example)
    assert classification_of(first, "label").label == "positive"
    assert classification_of(second, "label").label == "calm"
    assert rejected.layers == ()
    text = RELATIONS.replace('"accept"', '"ignore"')
    (ignored,) = loads(text)
    assert [layer.name for layer in ignored.layers] == ["words", "sentences"]
    assert '"spans": [], "relations": [{"child": 0' in dumps([ignored])


def test_the_sample_comes_back():
    assert same_again(KIND, KIND.example)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text": "a", "spans": [{"start": 0, "end": 2, "label": "A"}]}', "bounds in 0..1"),
        ('{"text": "a", "spans": [{"start": 0, "end": 1}]}', "expected the key 'label'"),
        ('{"spans": []}', "expected the key 'text'"),
        ('{"text": "a", "relations": [{"head": 0, "child": 0, "label": "r"}]}', "of 0 tokens"),
        ('{"text": "a", "label": 3}', "expected a string"),
    ],
)
def test_errors_say_where_and_what(line, problem):
    with pytest.raises(FormatError, match=rf"in\.jsonl:2: .*{problem}"):
        list(loads('{"text": "b"}\n' + line + "\n", path="in.jsonl"))


def test_other_lines_are_not_taken_for_prodigys():
    for text in ('{"text": "a"}', '{"text": "a", "spans": []}', '{"text": "a", "label": []}', "x"):
        assert not KIND.sniff(text, "a.jsonl")
    assert KIND.sniff(RELATIONS, "a.jsonl")


def test_many_relations_are_written_in_linear_time():
    assert writing_time(KIND, 6000) < 9 * writing_time(KIND, 1500)


def test_damaged_samples():
    reads_or_refuses(KIND)


@given(st.lists(documents(), max_size=3))
def test_what_is_written_is_read_as_written(drawn):
    text = dumps(drawn)
    assert dumps(loads(text)) == text


def test_spans_of_tools_that_write_as_prodigy_does():
    line = '{"text": "Ada ran.", "spans": [{"start": 0, "end": 3, "label": "PER"}]}\n'
    assert KIND.sniff(line, "x.jsonl")
    assert not KIND.sniff('{"text": "Ada ran.", "spans": [[0, 3, "PER"]]}\n', "x.jsonl")


@pytest.mark.parametrize("value", ['"guess"', "1"])
def test_a_value_of_another_tool_under_a_key_of_the_format_is_no_annotation(value):
    document = Document("Ada met Bob.", meta=(("label", value), ("source", '"web"')))
    (read,) = loads(dumps([document]))
    assert read.layers == ()
    assert dict(read.meta)["source"] == '"web"'
