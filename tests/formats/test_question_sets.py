"""QA-SRL, ZRE and CommonsenseQA: what their files say, and the errors with their lines."""

import json

import pytest

from spanloom.annotation.queries import answers
from spanloom.config.options import Options
from spanloom.errors import FormatError
from spanloom.formats import commonsenseqa, qasrl, zre

SENTENCES, ROWS = qasrl.KIND.example["sentences"], qasrl.KIND.example[""]


def said(document):
    """The prompt of each query, and the texts that answer it."""
    texts = {
        query: [document.text_of(span) for span in spans]
        for query, spans in answers(document, "answers").items()
    }
    return [(query.id, query.prompt, texts[query.id]) for query in document.queries]


def test_qasrl_rows_are_questions_about_verbs():
    first, second = qasrl.loads(ROWS, sentences=SENTENCES)
    assert first.text == "Ada met , by chance , Bob ."
    assert said(first) == [
        ("1:0", "Who met someone?", ["Ada"]),
        ("1:1", "How did someone meet someone?", ["by chance", "chance"]),
    ]
    assert said(second) == [("2:0", "Who talked, then?", ["They"])]
    assert qasrl.dumps([first, second]) == qasrl.KIND.example
    assert qasrl.KIND.count_lost(first, Options()) == {}


@pytest.mark.slow
@pytest.mark.parametrize("split", ["dev", "test"])
@pytest.mark.parametrize("domain", ["wikinews", "wikipedia"])
def test_the_real_qasrl_files_come_back(data, domain, split):
    folder = data("qasrl-gs")
    rows, sentences = (
        (folder / f"{domain}.{split}.{kind}.csv").read_bytes().decode() for kind in ("gold", "full")
    )
    found = list(qasrl.loads(rows, sentences=sentences))
    written = qasrl.dumps(found)
    assert written[""] == rows
    assert set(written["sentences"].splitlines()) <= set(sentences.splitlines())
    assert sum(len(document.queries) for document in found) == rows.count("\n") - 1


def _cells(row, **changes):
    header = ROWS.split("\n")[0].split(",")
    cells = dict(zip(header, ROWS.split("\n")[row].split(","), strict=True)) | changes
    return f"{','.join(header)}\n{','.join(cells.values())}\n"


@pytest.mark.parametrize(
    ("rows", "line", "message"),
    [
        ("a,b\n", 1, "expected the columns qasrl_id, verb_idx"),
        (_cells(1, qasrl_id="Wiki1k:b"), 2, "expected the id of a sentence in sentences.csv"),
        (_cells(1, verb_idx="99"), 2, "verb_idx to be a word's number from 0 to 7, got '99'"),
        (_cells(1, answer_range="1:0"), 2, "answer_range to have words from 0 to 8, as 0:2"),
        (_cells(1, answer_range="0:9"), 2, "answer_range"),
        (_cells(1, question=" "), 2, ""),
        (ROWS.split("\n")[0] + "\nx,y\n", 2, "expected 20 cells, got 2"),
    ],
)
def test_qasrl_errors_have_their_line(rows, line, message):
    with pytest.raises(FormatError) as caught:
        list(qasrl.loads(rows, sentences=SENTENCES, path="in.csv"))
    assert (caught.value.path, caught.value.line) == ("in.csv", line)
    assert message in str(caught.value)


def test_zre_fills_the_subject_in_and_may_have_no_answer():
    first, second = zre.loads(zre.KIND.example)
    assert said(first) == [("Q1", "Where did Ada study?", ["Bath", "York"])]
    assert said(second) == [("Q1", "What is Bob's school?", [])]
    assert zre.dumps([first, second]) == zre.KIND.example
    assert zre.sniff(zre.KIND.example, "train.0")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("r\tWho is XXX?\tAda", "expected 4 cells or more"),
        ("r\tWho is XXX?\tAda\tAda ran .\tBob", "an answer in the sentence, got 'Bob'"),
    ],
)
def test_zre_errors_have_their_line(row, message):
    with pytest.raises(FormatError, match=message) as caught:
        list(zre.loads(f"\n{row}\n", path="train.0"))
    assert caught.value.line == 2


def test_commonsenseqa_has_a_choice_a_line_and_the_right_one_answers():
    first, second = commonsenseqa.loads(commonsenseqa.KIND.example)
    assert first.text == "desk\na wide valley"
    assert said(first) == [("Q1", "Where does a river run?", ["a wide valley"])]
    assert not second.has_layer("answers")  # as in the test data
    assert commonsenseqa.dumps([first, second]) == commonsenseqa.KIND.example


def test_commonsenseqa_tells_choices_of_the_same_text_apart():
    text = commonsenseqa.KIND.example.replace('"desk"', '"a wide valley"', 1)
    first, _ = commonsenseqa.loads(text)
    assert [span.start for span in first["answers"].spans] == [14]
    assert commonsenseqa.dumps(commonsenseqa.loads(text)) == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answerKey": "C"}, "answerKey: expected one of A, B, got 'C'"),
        ({"question": {"choices": [], "stem": "?"}}, "choices with labels of their own"),
        ({"question": {"choices": [{"label": "A", "text": "a\nb"}], "stem": "?"}}, "of one line"),
        ({"other": 1}, "other"),
    ],
)
def test_commonsenseqa_errors_have_their_line(change, message):
    record = json.loads(commonsenseqa.KIND.example.split("\n")[0]) | change
    with pytest.raises(FormatError, match=message) as caught:
        list(commonsenseqa.loads(f"\n{json.dumps(record)}\n", path="in.jsonl"))
    assert caught.value.line == 2
