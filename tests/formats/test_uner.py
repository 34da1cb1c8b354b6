"""Universal NER: documents by newdoc, words by number, rows that may be short."""

import pytest

from spanloom.errors import FormatError
from spanloom.formats import uner

ROW = "1\tAda\tB-PER\t-\tme\n"


def names(text):
    return [
        [(document.text_of(span), span.label) for span in document["entities"].spans]
        for document in uner.loads(text)
    ]


def test_names_are_spans_and_documents_begin_at_newdoc():
    documents = list(uner.loads(uner.KIND.example))
    assert [document.name for document in documents] == ["sample", "draft"]
    assert documents[0].text == "Ada Lovelace met Bob .\nNo ."
    assert names(uner.KIND.example) == [
        [("Ada Lovelace", "PER"), ("Bob", "PER")],
        [("Ada", "PER"), ("Paris", "LOC")],
    ]


def test_the_text_line_may_be_of_another_sentence():
    text = f"# sent_id = a\n# text = She ran home.\n{ROW}\n"
    (document,) = uner.loads(text)
    assert document.text == "Ada"
    assert uner.dumps([document]) == text


def test_a_file_without_documents_has_one_a_sentence():
    text = f"# sent_id = a\n{ROW}\n# sent_id = b\n{ROW}\n"
    documents = list(uner.loads(text))
    assert [document.name for document in documents] == ["a", "b"]
    assert uner.dumps(documents) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tAda\n", "1: expected a number, a word, a tag"),
        (f"{ROW}# late\n", "2: expected a number, a word, a tag"),
        ("1\t\tO\n", "1: expected a number, a word, a tag"),
        ("1\tAda\tPER\n", "1: expected O, B-LABEL or I-LABEL, got 'PER'"),
        ("1-2\tdon't\tO\n", "1: expected a word's number, got '1-2'"),
        (f"{ROW}{ROW}", "2: expected word 2"),
        ("# text = Ada\n\n", "1: expected word 1"),
    ],
)
def test_broken_rows_are_told_with_their_line(text, message):
    with pytest.raises(FormatError, match=message):
        list(uner.loads(text, path="f"))
