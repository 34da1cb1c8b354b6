"""Queries in brat folders and JSON lines: nothing lost, old files as they were."""

import json
from dataclasses import replace

import pytest
from drawn_documents import QUERIES, documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.queries import answers
from spanloom.corpora import folder as corpora
from spanloom.document import MAIN, Attribute, Document, Layer, Query, Span
from spanloom.errors import DocumentError, FormatError, StorageError
from spanloom.formats import jsonl
from spanloom.formats.brat import folder, queries, read, write
from spanloom.formats.brat.save import save
from spanloom.model.merge_predictions import merge_predictions

ADA = Layer(
    "qa", (Span("T1", "answer", ((0, 3),)),), attributes=(Attribute("A1", "query", "T1", "Q1"),)
)
ASKED = (Query("Q1", "Who met Bob?"), Query("Q2", "Where\nwas it?\tSay."))
DOCUMENT = Document("Ada met Bob.", (ADA,), "a/d", queries=ASKED)
WRITTEN = "Q1\tWho met Bob?\nQ2\tWhere\\nwas it?\\tSay.\n"


def asked(content):
    """Read; whatever was read must be written back unchanged."""
    reading = read.loads_parts("Ada", {".ann": "", ".queries": content}, name="d")
    assert write.parts(reading.document) == {".ann": "", ".queries": content}
    return reading


def again(document):
    return read.loads_parts(document.text, write.parts(document), name=document.name)


def test_the_file_is_a_line_a_query_beside_the_others():
    assert write.parts(DOCUMENT) == {
        ".ann": "T1\tqa__answer 0 3\tAda\nA1\tquery T1 Q1\n",
        ".queries": WRITTEN,
    }
    assert write.dumps(DOCUMENT) == write.parts(DOCUMENT)[".ann"]
    assert again(DOCUMENT).document == DOCUMENT
    assert answers(again(DOCUMENT).document, "qa") == {"Q1": ADA.spans, "Q2": ()}


def test_a_document_of_queries_alone_has_no_layer():
    document = DOCUMENT.unannotated()
    assert write.parts(document) == {".queries": WRITTEN}
    assert again(document).document == document


@given(st.text(st.characters(exclude_categories=["Cs"])).filter(str.strip))
def test_any_prompt_and_id_stand_on_one_line(text):
    content = queries.format_queries(Document("", queries=(Query(text, text),)))
    assert content.count("\n") == content.count("\t") == 1
    assert "\r" not in content
    assert asked(content).document.queries == (Query(text, text),)


@given(documents(), QUERIES, st.sampled_from(["", "no tab\n", "Q1\tbad \\x\n", "\n"]))
def test_queries_that_change_come_back_too(document, others, broken):
    files = write.parts(document)
    if broken:
        files[".queries"] = broken + files.get(".queries", "")
    reading = read.loads_parts(document.text, files, name=document.name)
    assert reading.document == document
    assert write.parts(reading.document) == files
    changed = replace(reading.document, queries=tuple(others))
    parts = write.parts(changed)
    assert read.loads_parts(changed.text, parts, name=changed.name).document == changed
    assert broken.strip() in parts.get(".queries", "")
    assert {k: v for k, v in parts.items() if k != ".queries"} == {
        k: v for k, v in files.items() if k != ".queries"
    }


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("Q1 Who?", "expected 'Q1', one tab and a prompt"),
        ("Q1\tWho\tis it?", "expected 'Q1', one tab and a prompt"),
        ("Q1\t", "query 'Q1' needs a prompt, got ''"),
        ("\tWho?", "a query needs an id, got '' for 'Who?'"),
        ("Q1\tC:\\dir", r"expected one of \\ \n \r \t \ufeff for a backslash, got '\\d'"),
        ("Q1\tend\\", r"expected one of \\ \n \r \t \ufeff for a backslash, got '\\'"),
        ("Q0\tAgain?", "the id 'Q0' is taken by line 1"),
    ],
)
def test_a_malformed_line_is_kept_and_told(line, problem):
    reading = asked(f"Q0\tWhat?\n\n{line}\r\nQ7\tWhy?")
    assert [str(each) for each in reading.problems] == [f"d.queries:3: {problem}; not read"]
    assert reading.document.queries == (Query("Q0", "What?"), Query("Q7", "Why?"))


def test_a_second_query_of_an_id_does_not_come_to_life():
    reading = asked("\ufeffQ1\tWhat?\nQ1\tOther?\nQ2\tWhy?\n")
    assert [each.line for each in reading.problems] == [2]
    known = reading.document.queries
    fewer = replace(reading.document, queries=known[1:])
    assert write.parts(fewer)[".queries"] == "\ufeffQ2\tWhy?\n"
    turned = replace(reading.document, queries=known[::-1])
    assert write.parts(turned)[".queries"] == "\ufeffQ2\tWhy?\nQ1\tWhat?\nQ1\tOther?\n"
    assert again(turned).document == turned


def test_a_query_may_have_the_id_of_an_annotation():
    files = {
        ".ann": "T1\tA 0 3\tAda\n",
        ".words": "T2\twords__w 0 3\tAda\n",
        ".queries": "T2\tWho?\n",
    }
    reading = read.loads_parts("Ada", files)
    assert reading.problems == ()
    assert [*reading.document.annotations()] == ["T1", "T2"]
    grown = reading.document.with_layer(Layer("new", (Span("T3", "B", ((0, 1),)),)))
    assert write.parts(grown)[".ann"] == "T1\tA 0 3\tAda\nT3\tnew__B 0 1\tA\n"
    taken = read.loads_parts("Ada", {".queries": "T1\tWho?\n"}).document.with_layer(ADA)
    assert write.dumps(taken).startswith("T1\tqa__answer")


def test_folders_hold_save_and_replace_them(tmp_path):
    assert [path.name for path in save(DOCUMENT, tmp_path)] == ["d.txt", "d.ann", "d.queries"]
    assert save(DOCUMENT, tmp_path) == ()
    (reading,) = folder.read_all(tmp_path)
    assert (reading.document, reading.problems) == (DOCUMENT, ())
    assert save(reading.document, tmp_path) == ()
    assert corpora.read(tmp_path, "all").documents == (DOCUMENT,)
    assert corpora.read(tmp_path, "all").problems == ()
    plain = Document(DOCUMENT.text, DOCUMENT.layers, DOCUMENT.name)
    with pytest.raises(StorageError, match=r"d\.queries: not written"):
        save(plain, tmp_path)
    assert [path.name for path in save(plain, tmp_path, overwrite=True)] == ["d.queries"]
    assert next(folder.read_all(tmp_path)).document == plain
    asking = replace(next(folder.read_all(tmp_path)).document, queries=ASKED)
    save(asking, tmp_path)
    assert (tmp_path / "a" / "d.queries").read_text() == WRITTEN


def test_in_place_leaves_every_byte_of_the_queries(tmp_path):
    (tmp_path / "d.txt").write_text("Ada met Bob.")
    (tmp_path / "d.queries").write_bytes(b"Q1\tWho?\r\nbroken\r\n\r\nQ2\tWhy?")
    before = (tmp_path / "d.queries").read_bytes()
    document = next(folder.read_all(tmp_path)).document
    predicted = document.unannotated().with_layer(ADA)
    assert [path.name for path in save(merge_predictions(document, predicted), tmp_path)] == [
        "d.ann"
    ]
    assert (tmp_path / "d.queries").read_bytes() == before
    grown = next(folder.read_all(tmp_path)).document
    assert answers(grown, "qa") == {"Q1": ADA.spans, "Q2": ()}
    assert save(merge_predictions(grown, predicted), tmp_path) == ()


def test_a_prediction_answers_the_documents_own_queries():
    assert merge_predictions(DOCUMENT, DOCUMENT) == DOCUMENT
    assert merge_predictions(DOCUMENT, Document(DOCUMENT.text)) == DOCUMENT
    for other in (Query("Q1", "Else?"), Query("Q9", "Who?")):
        with pytest.raises(DocumentError, match=f"a/d: expected answers .* got '{other.id}'"):
            merge_predictions(DOCUMENT, Document(DOCUMENT.text, queries=(other,)))


def test_json_lines_have_them_where_there_are_any(tmp_path):
    line = jsonl.dumps([DOCUMENT])
    assert json.loads(line)["queries"] == [
        {"id": "Q1", "prompt": "Who met Bob?"},
        {"id": "Q2", "prompt": "Where\nwas it?\tSay."},
    ]
    (tmp_path / "all.jsonl").write_text(line)
    assert corpora.read(tmp_path / "all.jsonl", "all").documents == (DOCUMENT,)
    assert jsonl.dumps([Document("a", (Layer(MAIN),), "d")]) == (
        '{"name": "d", "text": "a", "layers": [{"name": "main", "spans": [], "relations": []}]}\n'
    )


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ('{"Q1": "Who?"}', "expected a list"),
        ('["Who?"]', "expected an object, got 'Who\\?'"),
        ('[{"id": "Q1", "text": "Who?"}]', "unknown key 'text'; known: id, prompt"),
        ('[{"id": "Q1"}]', "expected the key 'prompt', got 'id'"),
        ('[{"id": 1, "prompt": "Who?"}]', "expected a string, got 1"),
        ('[{"id": "Q1", "prompt": ""}]', "query 'Q1' needs a prompt"),
        ('[{"id": "Q1", "prompt": "a"}, {"id": "Q1", "prompt": "b"}]', "two queries have the id"),
    ],
)
def test_a_malformed_query_names_path_and_line(value, problem):
    with pytest.raises(FormatError, match=rf"in\.jsonl:1: not a document: .*{problem}"):
        list(jsonl.loads(f'{{"text": "a", "queries": {value}}}', path="in.jsonl"))
