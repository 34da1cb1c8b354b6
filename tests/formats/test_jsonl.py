"""JSON lines keep everything but the source, and refuse everything else."""

import json

import pytest
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.document import MAIN, Document, Layer, Span
from spanloom.errors import DocumentError, FormatError
from spanloom.formats import jsonl


@given(st.lists(documents(lines=False, scores=True), max_size=2))
def test_nothing_is_lost_scores_too(many):
    written = jsonl.dumps(many)
    again = list(jsonl.loads(written))
    assert again == many
    assert [_scores(each) for each in again] == [_scores(each) for each in many]
    assert written.count("\n") == len(many)


@pytest.mark.parametrize("text", ["a\u2028b\x85c\r\n", "\ud800 half", '"\\', "\ufeff", "😀"])
def test_any_text_survives_a_file(tmp_path, text):
    document = Document(text, (Layer(MAIN),), text, ((text, text),))
    jsonl.write(tmp_path / "a.jsonl", [document, document])
    assert list(jsonl.read(tmp_path / "a.jsonl")) == [document, document]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text":"Ada\n', r"not JSON: the line ends inside a string \(column 13\)$"),
        ('{"text":"a\tb"}\n', r"not JSON: Invalid control character at column 11$"),
        ('{"text":"Ada', "not JSON: Unterminated string starting at column 9$"),
        ('{"text":}\n', r"not JSON: Expecting value \(column 9\)$"),
    ],
)
def test_where_json_breaks_off_is_told(line, problem):
    with pytest.raises(FormatError, match=problem):
        list(jsonl.read_stream([line.encode()], "x.jsonl"))


def test_the_form_of_a_line():
    span = Span("T1", "Person", ((0, 3), (4, 7)), 0.5)
    line = jsonl.dumps([Document("Ada met", (Layer(MAIN, (span,)), Layer("ner")), "a")])
    assert json.loads(line) == {
        "name": "a",
        "text": "Ada met",
        "layers": [
            {
                "name": MAIN,
                "spans": [
                    {"id": "T1", "label": "Person", "fragments": [[0, 3], [4, 7]], "score": 0.5}
                ],
                "relations": [],
            },
            {"name": "ner", "spans": [], "relations": []},
        ],
    }


def test_blank_lines_and_a_byte_order_mark_are_no_documents(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n\n  \n{"text": "b"}')
    assert [each.text for each in jsonl.read(tmp_path / "a.jsonl")] == ["a", "b"]


HUGE = 10**400
SPAN = '{"id": "T1", "label": "P", "fragments": [[0, 1]]'


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "Expecting property name"),
        ("[]", "expected an object"),
        ("{}", "expected the key 'text', got none"),
        ('{"text": 3}', "expected a string, got 3"),
        ('{"text": "a", "txt": 1}', "unknown key 'txt'; known: name, text, meta, queries, layers"),
        ('{"text": "a", "text": "b"}', "a key stands twice"),
        ('{"text": "a", "meta": {"a": 1}}', "expected a list"),
        ('{"text": "a", "meta": [["a"]]}', "expected two strings"),
        ('{"text": "a", "layers": [{}]}', "expected the key 'name', got none"),
        ('{"text": "a", "layers": [{"name": "m"}, {"name": "m"}]}', "two layers have one name"),
        (SPAN + "}", "unknown key 'id'"),
        (
            f'{{"text": "a", "layers": [{{"name": "m", "spans": [{SPAN}, "score": NaN}}]}}]}}',
            "NaN is no",
        ),
        (
            f'{{"text": "a", "layers": [{{"name": "m", "spans": [{SPAN}, "score": 1e999}}]}}]}}',
            "finite",
        ),
        (
            f'{{"text": "a", "layers": [{{"name": "m", "spans": [{SPAN}, "score": {HUGE}}}]}}]}}',
            "too large",
        ),
        (
            f'{{"text": "a", "layers": [{{"name": "m", "spans": [{SPAN}, "score": true}}]}}]}}',
            "finite",
        ),
        (f'{{"text": "", "layers": [{{"name": "m", "spans": [{SPAN}}}]}}]}}', "the text has 0"),
        (
            '{"text": "a", "layers": [{"name": "m", "spans": [{"id": "T1", "label": "P"}]}]}',
            "missing 1 required",
        ),
        (
            '{"text": "a", "layers": [{"name": "m", "spans": [{"id": "T1", "label": "P", '
            '"fragments": [[0, 1.0]]}]}]}',
            "whole numbers",
        ),
        ("[" * 100_000, "nested too deeply"),
        ('{"text": "a", "layers": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ("1" * 5000, "not JSON"),
    ],
)
def test_a_malformed_line_names_path_and_line(line, problem):
    with pytest.raises(FormatError, match=r"in\.jsonl:3: ") as caught:
        list(jsonl.loads(f'{{"text": "fine"}}\n\n{line}\n', path="in.jsonl"))
    assert problem in caught.value.problem
    assert len(str(caught.value)) < 300


def test_undecodable_bytes_name_line_and_byte(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "a"}\n{"text": "\xff"}\n')
    with pytest.raises(FormatError, match=r"a\.jsonl:2: byte 10 of the line \(0xff\)"):
        list(jsonl.read(tmp_path / "a.jsonl"))
    with pytest.raises(FormatError, match=r"none\.jsonl: cannot be read"):
        list(jsonl.read(tmp_path / "none.jsonl"))


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_not_written(score):
    layer = Layer(MAIN, (Span("T1", "P", ((0, 1),), score),))
    with pytest.raises(DocumentError, match="doc: a score"):
        jsonl.dumps([Document("a", (layer,), "doc")])


def _scores(document):
    every = document.annotations().values()
    return [getattr(each, "score", None) for each in every]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ('{"tokens": ["Ada"], "ner_tags": [1]}', "--from columns"),
        ('{"tokenized_text": ["Ada"], "ner": [[0, 0, "PER"]]}', "--from dygie"),
        ('{"text": "Ada", "entities": [[0, 3, "PER"]]}', "--from doccano"),
        ('{"text": "Ada", "other": 1}', "spanloom convert --from doccano"),
    ],
)
def test_lines_of_other_tools_name_the_nearest_format(line, hint):
    with pytest.raises(FormatError, match=f"unknown key .*{hint}"):
        list(jsonl.loads(line))
