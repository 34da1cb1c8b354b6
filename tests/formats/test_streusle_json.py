"""STREUSLE's lines of JSON come out as they went in."""

import json
import random

import pytest
from drawn_documents import documents
from hypothesis import given, settings

from spanloom.document import Document, Layer, Span
from spanloom.errors import FormatError
from spanloom.formats.streusle_json import KIND, dumps, loads


def test_the_sample_says_what_its_labels_say():
    first, second = loads(KIND.example)
    assert dumps([first, second]) == KIND.example
    assert (first.name, first.text) == ("a-1", "Have a mechanic check it out for you .")
    assert [(first.text_of(each), each.label) for each in first["mwe"].spans] == [
        ("Have check out", "weak"),
        ("check out", "strong"),
    ]
    assert [(first.text_of(each), each.label) for each in first["supersenses"].spans] == [
        ("Have", "v.social"),
        ("mechanic", "n.PERSON"),
        ("check out", "v.cognition"),
        ("for", "p.Beneficiary|p.Goal"),
    ]
    assert second["mwe"].spans == ()  # annotated, nothing there
    assert KIND.count_lost(first, KIND.options()) == {}


def test_each_sentence_of_a_document_is_a_line():
    spans = (Span("T1", "n.FOOD", ((0, 3),)), Span("T2", "n.FOOD", ((1, 3),)))
    document = Document("Tea now\nOk", (Layer("supersenses", spans),), "d")
    found = [json.loads(line) for line in dumps([document]).splitlines()]
    assert [each["sent_id"] for each in found] == ["d-0001", "d-0002"]
    assert found[0]["lexlabel"] == ["_-n.FOOD", None]
    assert KIND.count_lost(document, KIND.options())["spans of layer supersenses"] == 1


LINE = {"sent_id": "a", "toks": ["a", "b", "c"], "lexlabel": [None] * 3, "smwe": [], "wmwe": []}


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("toks", [], "expected words under 'toks'"),
        ("toks", ["a", "", "c"], "expected words under 'toks'"),
        ("toks", ["a", 1, "c"], "expected a string, got 1"),
        ("lexlabel", [None], "expected 3 labels"),
        ("lexlabel", ["", None, None], "expected CATEGORY-SENSE"),
        ("lexlabel", ["N-", None, None], "expected CATEGORY-SENSE"),
        ("lexlabel", {}, "expected a list"),
        ("smwe", [[0]], "expected two of 3 words"),
        ("smwe", [[0, 3]], "expected two of 3 words"),
        ("smwe", [[0, True]], "expected a whole number"),
        ("wmwe", [[1, 0]], "expected ascending words"),
        ("wmwe", [[0, 1], [1, 2]], "each once"),
        ("wmwe", [[0, 10**30]], "expected two of 3 words"),
        ("more", 1, "unknown key 'more'"),
    ],
)
def test_a_malformed_line_is_named(key, value, problem):
    text = json.dumps(LINE) + "\n" + json.dumps({**LINE, key: value})
    with pytest.raises(FormatError, match="^f:2: ") as caught:
        list(loads(text, path="f"))
    assert problem in caught.value.problem


def test_a_label_stands_at_the_last_word():
    line = json.dumps({**LINE, "smwe": [[0, 1]], "lexlabel": ["N", None, None]})
    with pytest.raises(FormatError, match="expected the label at the last word"):
        list(loads(line))


@given(documents(lines=False))
@settings(max_examples=40)
def test_any_document_is_written_and_read(document):
    text = dumps([document])
    assert dumps(loads(text)) == text
    KIND.count_lost(document, KIND.options())


def test_damaged_lines_are_read_or_refused():
    chance = random.Random(3)
    strange = ["\0", "\ud800", "9" * 30, '"', "\n", "[", "]", "null", "-", "[" * 10**5]
    for _ in range(400):
        damaged = KIND.example
        for _ in range(chance.randint(1, 3)):
            start = chance.randrange(len(damaged))
            end = start + chance.choice([0, 1, 8, len(damaged)])
            damaged = damaged[:start] + chance.choice(["", *strange]) + damaged[end:] or "x"
        try:
            found = list(loads(damaged, path="f"))
        except FormatError:
            continue
        assert list(loads(dumps(found))) == found


def test_it_knows_its_own():
    assert KIND.sniff(KIND.example, "")
    assert not KIND.sniff('{"name": "a", "text": "b", "layers": []}', "a.jsonl")


@pytest.mark.parametrize("limit", [500, pytest.param(None, marks=pytest.mark.slow)])
def test_every_line_of_train_comes_back(data, limit):
    lines = (data("streusle") / "train.jsonl").read_text(encoding="utf-8").splitlines(True)
    text = "".join(lines[:limit])
    assert KIND.sniff(text[:65_536], "train.jsonl")
    assert dumps(loads(text)) == text
