"""STREUSLE's files come out as they went in, their tags following from the other columns."""

import random

import pytest
from drawn_documents import documents
from hypothesis import given, settings

from spanloom.document import Document, Layer, Span
from spanloom.errors import FormatError
from spanloom.formats import streusle_json
from spanloom.formats.conllulex import KIND, dumps, loads

NINE = "\t_" * 9


def row(number, form, lexical="_\tN\t_\t_\t_\t_\t_\t_\tO-N"):
    return f"{number}\t{form}{NINE[: 2 * 8]}\t{lexical}\n"


def test_the_sample_says_what_its_columns_say():
    (document,) = loads(KIND.example)
    assert dumps([document]) == KIND.example
    assert [(document.text_of(each), each.label) for each in document["mwe"].spans] == [
        ("Have check out", "weak"),
        ("check out", "strong"),
    ]
    assert ("check out", "v.cognition") in [
        (document.text_of(each), each.label) for each in document["supersenses"].spans
    ]
    assert document["supersenses"].spans[-1].label == "p.Beneficiary|p.Goal"
    labels = {each.label for each in document["words"].attributes}
    assert labels == {"lemma", "feats", "lexcat"}  # all else follows
    assert document.has_layer("dependency")
    assert not KIND.count_lost(document, KIND.options())


def test_the_two_formats_say_the_same():
    (document,) = loads(KIND.example)
    (again,) = streusle_json.loads(streusle_json.dumps([document]))
    for layer in ("mwe", "supersenses"):
        said = [
            [(each.label, one.text_of(each)) for each in one[layer].spans]
            for one in (document, again)
        ]
        assert said[0] == said[1]


def test_what_a_model_says_is_written():
    spans = (Span("T1", "strong", ((0, 3), (7, 10))), Span("T2", "strong", ((4, 6),)))
    senses = (Span("T3", "n.ACT", ((0, 3), (7, 10))), Span("T4", "n.FOOD", ((0, 3),)))
    document = Document("get it off", (Layer("mwe", spans), Layer("supersenses", senses)), "a")
    rows = [line.split("\t") for line in dumps([document]).split("\n")[1:4]]
    assert [each[18] for each in rows] == ["B-_-n.ACT", "o", "I_"]
    assert [each[10] for each in rows] == ["1:1", "_", "1:2"]
    assert KIND.count_lost(document, KIND.options()) == {
        "spans of layer mwe": 1,
        "spans of layer supersenses": 1,
    }


def test_tags_that_do_not_follow_stay():
    text = row(1, "a") + row(2, "b", "_\tP\tbe\tp.X\t_\t_\tw\t_\tX") + "\n"
    (document,) = loads(text)
    said = {each.label: each.value for each in document["words"].attributes[1:]}
    assert said == {"lexlemma": "be", "ss2": None, "wcat": "w", "lextag": "X", "lexcat": "P"}
    assert dumps([document]) == text


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (KIND.example.replace("\t_\t_\to-DET", "\to-DET"), 6, "expected 19 columns"),
        (row(1, "a", "1:2\tN\t_\t_\t_\t_\t_\t_\tO"), 1, "expected GROUP:1 as SMWE"),
        (row(1, "a", "x\tN\t_\t_\t_\t_\t_\t_\tO"), 1, "expected GROUP:1 as SMWE"),
        (row(1, "a", "1:1\tN\t_\t_\t_\t_\t_\t_\tO"), 1, "expected two words or more of SMWE 1"),
        (
            row(1, "a", "1:1\tN\t_\t_\t_\t_\t_\t_\tO") + row(2, "a", "1:2\tN\t_\t_\t_\t_\t_\t_\tO"),
            2,
            "expected _ as LEXCAT",
        ),
        (row("1-1", "a") + row(1, "a"), 1, "expected _ as LEXCAT"),
        (row(1, "a", "_\tP\t_\tp.X|y\t_\t_\t_\t_\tO"), 1, "expected one sense"),
    ],
)
def test_a_malformed_line_is_named(text, line, problem):
    with pytest.raises(FormatError, match=rf"^f:{line}: ") as caught:
        list(loads(text, path="f"))
    assert problem in caught.value.problem


@given(documents(lines=False))
@settings(max_examples=40)
def test_any_document_is_written_and_read(document):
    text = dumps([document])
    assert dumps(loads(text)) == text
    KIND.count_lost(document, KIND.options())


def test_damaged_files_are_read_or_refused():
    chance = random.Random(3)
    strange = ["\0", "\ud800", "9" * 30, "\t", "\n", "|", "_", "1:1", "1:2", "I_"]
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
    assert KIND.sniff(KIND.example, "a.txt")
    assert not KIND.sniff("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", "a.conllulex")
    assert not KIND.sniff("", "a.conllulex")


def assert_comes_back(paths):
    for path in paths:
        text = path.read_bytes().decode()
        documents = list(loads(text, path=str(path)))
        assert dumps(documents) == text
        assert KIND.sniff(text[:65_536], "")
        labels = {attribute.label for doc in documents for attribute in doc["words"].attributes}
        assert "lextag" not in labels


def test_golden_files_come_back(golden):
    paths = [*golden("streuseval").rglob("*.conllulex")]
    assert_comes_back(paths)
    golden.count(len(paths))


@pytest.mark.slow
def test_every_file_of_the_corpus_comes_back(data):
    assert_comes_back(data("streusle").glob("*.conllulex"))
