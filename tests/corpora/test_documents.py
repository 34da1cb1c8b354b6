import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.corpora.folder import fingerprint, hold_out, hold_out_sentences, read
from spanloom.document import MAIN, Document, Layer, Relation, Span
from spanloom.errors import DataError, FormatError

DOCUMENTS = [Document(f"text {i}", name=f"d{i}") for i in range(20)]
ONE = Document("ab", (Layer(MAIN, (Span("T1", "A", ((0, 1),)),)),), "x")


@given(st.permutations(DOCUMENTS), st.integers(0, 9))
def test_hold_out_depends_on_names_and_seed_only(documents, seed):
    kept, held_out = hold_out(documents, seed=seed)
    assert (kept, held_out) == hold_out(DOCUMENTS, seed=seed)
    assert len(held_out) == 2
    assert sorted(document.name for document in kept + held_out) == sorted(
        document.name for document in DOCUMENTS
    )
    assert [document.name for document in held_out] == sorted(
        document.name for document in held_out
    )


def test_hold_out_differs_by_seed_and_refuses_what_it_cannot_do():
    assert hold_out(DOCUMENTS, seed=1) != hold_out(DOCUMENTS, seed=2)
    with pytest.raises(DataError, match="at least 2 documents, got 1"):
        hold_out(DOCUMENTS[:1], seed=1)
    assert [len(part) for part in hold_out(DOCUMENTS[:2], seed=1)] == [1, 1]


def test_of_one_document_the_last_sentences_are_held_out():
    text = "".join(f"Ada {row} met Bob\n" for row in range(20))
    starts = [start for start in range(len(text)) if text.startswith("Ada", start)]
    spans = tuple(Span(f"T{row}", "A", ((at, at + 3),)) for row, at in enumerate(starts, 1))
    links = Relation("R1", "r", "T1", "T2"), Relation("R2", "r", "T18", "T19")
    kept, held_out = hold_out_sentences(Document(text, (Layer("main", spans, links),), "a"))
    assert kept.text + held_out.text == text
    assert [part.text.count("\n") for part in (kept, held_out)] == [18, 2]
    assert kept.name != held_out.name
    for part in (kept, held_out):
        assert {part.text_of(span) for span in part["main"].spans} == {"Ada"}
    assert [len(part["main"].spans) for part in (kept, held_out)] == [18, 2]
    assert [relation.id for relation in kept["main"].relations] == ["R1"]
    assert not held_out["main"].relations  # one end is in the other part
    with pytest.raises(DataError, match="or 10 sentences in one, got 9 in b"):
        hold_out_sentences(Document("Ada\n" * 9, (), "b"))


def test_a_file_in_another_encoding_stops_reading_unless_it_may_be_skipped(tmp_path):
    (tmp_path / "a.txt").write_bytes("au lait\ncafé\n".encode("latin-1"))
    (tmp_path / "b.txt").write_text("Ada\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"a\.txt:2: byte 11 \(0xe9\) is not utf-8"):
        read(tmp_path, "all")
    corpus = read(tmp_path, "all", skip_unreadable=True)
    assert [document.name for document in corpus.documents] == ["b"]
    (problem,) = corpus.problems
    assert (problem.path, problem.line, problem.file) == ("a", 2, ".txt")
    assert "--encoding NAME" in problem.message


@given(st.permutations(DOCUMENTS))
def test_fingerprint_ignores_the_order_of_documents(documents):
    assert fingerprint(documents) == fingerprint(DOCUMENTS)


@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, text="ac"),
        replace(ONE, name="y"),
        replace(ONE, meta=(("a", "b"),)),
        replace(ONE, layers=()),
        replace(ONE, layers=(Layer(MAIN),)),
        replace(ONE, layers=(Layer(MAIN, (Span("T1", "B", ((0, 1),)),)),)),
        replace(ONE, layers=(Layer(MAIN, (Span("T1", "A", ((0, 2),)),)),)),
    ],
)
def test_fingerprint_sees_every_change(other):
    assert fingerprint([other]) != fingerprint([ONE])
    assert fingerprint([ONE, other]) != fingerprint([ONE])
    assert fingerprint([ONE, ONE]) != fingerprint([ONE])


def test_fingerprint_is_the_same_in_another_process():
    code = (
        "from spanloom.corpora.folder import fingerprint\n"
        "from spanloom.document import Document\n"
        "print(fingerprint([Document('text', name='a')]))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert process.strip() == fingerprint([Document("text", name="a")])
