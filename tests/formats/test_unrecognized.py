"""Files whose format cannot be told: one bad row, a truncated end, nothing at all."""

import pytest

from spanloom.errors import FormatError
from spanloom.formats import _files
from spanloom.formats._unrecognized import problem_of

SENTENCES = "Ada\tB-PER\nLovelace\tI-PER\nsang\tO\n\n" * 20
REVIEWS = "text,label\n" + "A fine film,good\nA dull film,bad\n" * 20


@pytest.mark.parametrize(
    ("name", "text", "line", "problem"),
    [
        ("a.tsv", SENTENCES + "Bob\nran\tO\n\n" + SENTENCES, 81, "expected 2 columns"),
        ("a.tsv", SENTENCES + "Bob\tO\tx\n\n" + SENTENCES, 81, "got 3: 'Bob"),
        ("a.tsv", SENTENCES + "Bob B-PER\n\n" + SENTENCES, 81, "got 1: 'Bob B-PER'"),
        ("a.tsv", SENTENCES + "Bob\tBPER\n\n" + SENTENCES, 81, "got 'BPER'"),
        ("a.csv", REVIEWS + "only a text\n" + REVIEWS, 42, "expected 2 cells"),
        ("a.conllu", "# text = Ada\n1 Ada Ada PROPN _ _ 0 root _ _\n\n", 2, "10 columns"),
        ("a.json", '[{"text": "Ada",\n "x": ', 2, "not JSON"),
        ("a.json", '{"a": 1}\n{"a": 2\n', 2, "not JSON"),
        ("a.conllu", "", None, "is empty"),
    ],
)
def test_the_bad_line_is_told(tmp_path, name, text, line, problem):
    path = tmp_path / name
    path.write_text(text)
    assert _files.guess(path) is None
    error = problem_of(path)
    assert error is not None
    assert error.line == line
    assert problem in str(error)


@pytest.mark.parametrize("text", ["Once upon a time.\nThe end.\n", "[1, 2]\n", '{"a":\n 1}\n'])
def test_a_file_of_no_format_has_no_problem_to_tell(tmp_path, text):
    path = tmp_path / "a.xyz"
    path.write_text(text)
    assert problem_of(path) is None


def test_an_older_webanno_file_is_told_as_such(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("#FORMAT=WebAnno TSV 2\n")
    name = _files.guess(path)
    assert name == "webanno_tsv"
    file_format = _files.load(name)
    with pytest.raises(FormatError, match="expected #FORMAT=WebAnno TSV 3"):
        list(_files.read(path, file_format, file_format.options()))
