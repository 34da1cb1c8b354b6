"""QAMR: rows and sentences come back, answers may have gaps, errors have their line."""

import pytest
from damaged_texts import reads_or_tells, written_and_read
from drawn_documents import documents
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.annotation.queries import answers
from spanloom.config.options import Options
from spanloom.document import Attribute, Document, Layer, Query, Span
from spanloom.errors import FormatError
from spanloom.formats import qamr

SENTENCES = qamr.KIND.example["sentences"]
ROWS = qamr.KIND.example[""]


def _loads(rows, sentences=SENTENCES):
    return list(qamr.loads(rows, sentences=sentences, path="in.tsv"))


def test_the_sample_says_what_it_means():
    first, second = _loads(ROWS)
    assert (first.name, second.name) == ("Wiki1k:a:0", "Wiki1k:a:1")
    assert first.text == "On Monday Ada met , by chance , Bob and Eve ."
    assert len(first["words"].spans) == 12
    found = {
        query: [first.text_of(s) for s in got] for query, got in answers(first, "answers").items()
    }
    assert found == {
        "2-3-8:76:0": ["Ada", "Ada", "Ada"],
        "2-3-8:76:2": ["Bob Eve", "Bob and Eve", "Bob Eve"],
        "2-3-8:162:0": ["On Monday", "Monday"],
    }
    gap = answers(first, "answers")["2-3-8:76:2"][0]
    assert gap.fragments == ((32, 35), (40, 43))
    whose = {(a.label, a.value) for a in first["answers"].attributes if a.target == gap.id}
    assert whose == {("query", "2-3-8:76:2"), ("writer", "76")}
    targets = [first.text_of(span) for span in first["targets"].spans]
    assert targets == ["Ada", "Bob", "met"]
    said = [a.value for a in first["targets"].attributes if a.label == "validator 1"]
    assert said == ["100:Redundant-1"]
    assert [first.queries[0].prompt, len(second.queries)] == ["Who met Bob by chance?", 1]
    assert qamr.dumps([first, second]) == qamr.KIND.example
    assert qamr.KIND.count_lost(first, Options()) == qamr.KIND.count_lost(second, Options()) == {}
    assert qamr.sniff(ROWS, "dev.tsv")
    assert not qamr.sniff(SENTENCES, "dev.tsv")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("dev", 18_908), ("test", 18_770)])
def test_the_real_files_come_back(data, name, count):
    folder = data("qamr")
    sentences = (folder / "wiki-sentences.tsv").read_bytes().decode()
    rows = (folder / f"{name}.tsv").read_bytes().decode()
    found = _loads(rows, sentences)
    written = qamr.dumps(found)
    assert written[""] == rows
    assert sum(len(each.queries) for each in found) == count == rows.count("\n")
    known = set(sentences.split("\n"))
    assert all(line in known for line in written["sentences"].splitlines())
    assert qamr.sniff(rows[:65_536], name)
    spoken = {row.split("\t")[0]: row.split("\t") for row in rows.splitlines()}
    forms = dict(line.split("\t") for line in sentences.split("\n"))
    for document in found[::10]:
        assert qamr.KIND.count_lost(document, Options()) == {}
        row = spoken[document.name]
        query = f"{row[1].replace(' ', '-')}:{row[2]}:{row[3]}"
        words = [forms[row[0]].split(" ")[int(number)] for number in row[6].split()]
        assert document.text_of(answers(document, "answers")[query][0]) == " ".join(words)


@pytest.mark.parametrize(
    "row",
    [
        "Wiki1k:a:1\t\t\t0\t\tWho?\t",
        "Wiki1k:a:1\t0\ta:b\t0\t\tWho?\t0",
        "Wiki1k:a:1\t0\t7\t0\t1\tWho?\t\t1:Invalid\t\t3:0 2",
        "Wiki1k:a:1\t0\t7\t0\t1\tWho?\t2 1 0",
        "Wiki1k:a:1\t0\t7\t0\t1\tWho?\t0\t5:\t5:Redundant-x\tnobody",
        "Wiki1k:a:1\t0\t7\t0\t1\tWho?\t0\t" + "\t".join(f"{n}:1" for n in range(12)),
    ],
)
def test_rows_of_the_full_version_come_back(row):
    (document,) = _loads(row + "\n")
    assert qamr.dumps([document])[""] == row + "\n"
    assert qamr.KIND.count_lost(document, Options()) == {}


def test_a_sentence_that_comes_again_is_another_document():
    lines = ROWS.splitlines(keepends=True)
    rows = lines[0] + lines[3] + lines[1]
    found = _loads(rows)
    assert [each.name for each in found] == ["Wiki1k:a:0", "Wiki1k:a:1", "Wiki1k:a:0~2"]
    written = qamr.dumps(found)
    assert written == {"": rows, "sentences": SENTENCES}
    apart = qamr.dumps([found[0], found[2]])
    assert _loads(apart[""], apart["sentences"])[1].name == "Wiki1k:a:0~"


def test_answers_of_others_take_free_places():
    spans = Span("T1", "answer", ((0, 3),)), Span("T2", "answer", ((4, 7), (8, 11)))
    asked = [Attribute(f"A{n}", "query", f"T{n}", "Q1") for n in (1, 2)]
    document = Document(
        "Ada met Bob",
        (Layer("answers", spans, attributes=tuple(asked)),),
        "a",
        queries=(Query("Q1", "Who\tmet?"),),
    )
    made = qamr.dumps([document])
    assert made == {"": "a\t\t\t0\t\tWho met?\t0\t:1 2\n", "sentences": "a\tAda met Bob\n"}
    (again,) = _loads(made[""], made["sentences"])
    assert [again.text_of(span) for span in answers(again, "answers")["::0"]] == ["Ada", "met Bob"]
    assert qamr.KIND.count_lost(document, Options()) == {
        "spans of layer answers": 1,  # words that follow each other are one fragment
        "attributes of layer answers": 2,  # the query has another id
    }
    cut = Document(
        "Ada met Bob",
        (Layer("answers", (Span("T1", "answer", ((0, 2),)),), attributes=(asked[0],)),),
        "a",
        queries=document.queries,
    )
    assert qamr.dumps([cut])[""] == "a\t\t\t0\t\tWho met?\t\n"
    assert qamr.KIND.count_lost(cut, Options())["spans of layer answers"] == 1


@given(st.lists(documents(lines=False, scores=True), max_size=3))
@settings(max_examples=40)
def test_any_document_is_written_and_read_again(many):
    found = written_and_read(qamr.KIND, many, Options())
    assert written_and_read(qamr.KIND, found, Options()) == found
    kept = [each for each in many if each.text.split() and each.queries]
    asked = [[query.prompt.split() for query in each.queries] for each in kept]
    if not any(each.has_layer("words") for each in many):
        assert [[query.prompt.split() for query in each.queries] for each in found] == asked
    for each in many:
        qamr.KIND.count_lost(each, Options())


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("Wiki1k:a:1\t0\t7\t0\t1\tWho?", "expected 7 columns or more (sentence, target words"),
        ("Wiki1k:a:9\t0\t7\t0\t1\tWho?\t0", "expected the id of a sentence in wiki-sentences.tsv"),
        ("Wiki1k:a:1\t0\t7\t0\t1\tWho?\t0 3", "expected numbers of words from 0 to 2, got '0 3'"),
        ("Wiki1k:a:1\tx\t7\t0\t1\tWho?\t0", "expected numbers of words with one blank between"),
        ("Wiki1k:a:1\t0\t7\t0\t1\tWho?\t0  1", "with one blank between, got '0  1'"),
        ("Wiki1k:a:1\t0\t7\t0\t1\tWho?\t0 0", "fragments that overlap"),
        ("Wiki1k:a:1\t0\t7\t0\t\tWho?\t0\t5:Invalid", "expected a target word, for the judgement"),
        ("Wiki1k:a:1\t0\t7\ta:b\t1\tWho?\t0\r\n" * 2, "two queries have the id"),
        ("Wiki1k:a:1\t0\t7\t0\t1\t \t0", "needs a prompt"),
        ("Wiki1k:a:1\t0\t7\t0\t1\tWho?\t" + "9" * 5000, "expected numbers of words"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(row, problem):
    fine = ROWS.splitlines(keepends=True)[0]
    with pytest.raises(FormatError, match=r"in\.tsv:[34]: ") as caught:
        _loads(f"{fine}\n{row}\n")
    assert problem in caught.value.problem
    assert len(caught.value.problem) < 300


@pytest.mark.parametrize("line", ["x", "x\ta  b", "x\t", "Wiki1k:a:0\tother words"])
def test_wrong_sentences_are_told_with_their_line(line):
    with pytest.raises(FormatError, match=r"wiki-sentences\.tsv:4: expected an id that is new"):
        _loads(ROWS, f"{SENTENCES}\n{line}\n")


def test_damaged_files_are_read_or_refused():
    reads_or_tells(qamr.KIND, 300, sentences=SENTENCES)


@pytest.mark.slow
def test_twenty_thousand_damaged_files_are_read_or_refused():
    reads_or_tells(qamr.KIND, 20_000, seed=2, sentences=SENTENCES)
