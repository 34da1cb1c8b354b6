"""Span F1 of tagging tasks: hand-made files, conlleval where both must agree, and accuracy."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.tag_schemes import SCHEMES
from spanloom.errors import FormatError
from spanloom.metrics.chunks import count_chunks, count_right, count_tag_spans, spans
from spanloom.metrics.counts import total
from spanloom.scoring import conlleval
from spanloom.scoring.changpinyo import KIND

IOB2 = ["case01", "case02", "case03", "case05", "case08", "case10"]  # in both columns
PLAIN = st.sampled_from(["NOUN", "VERB", "-LRB-", "X", "B", "I", "ADD-UP"])
BIO = st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"]), max_size=10)


@pytest.mark.parametrize("case", IOB2)
def test_iob_tags_count_as_conlleval_has_them(case, golden):
    path = golden("conlleval") / case / "input.txt"
    expected = json.loads(path.with_name("scores.json").read_text(encoding="utf-8"))["scores"]
    del expected["accuracy"]
    assert KIND.score(path, path, {}) == expected
    golden.count(1)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B-X I-X I-Y O I-Y", [(0, 2, "X"), (2, 3, "Y"), (4, 5, "Y")]),
        ("B-X E-X S-X I-X", [(0, 2, "X"), (2, 4, "X")]),
        ("B I O B", [(0, 1, "B"), (1, 2, "I"), (3, 4, "B")]),
        ("NOUN NOUN -LRB-", [(0, 1, "NOUN"), (1, 2, "NOUN"), (2, 3, "-LRB-")]),
        ("X I-X I-X", [(0, 1, "X"), (1, 3, "X")]),
        ("B-X O-X I-X", [(0, 1, "X"), (2, 3, "X")]),
        ("b-X I-X b- i-X", [(0, 2, "X"), (2, 3, "b-"), (3, 4, "X")]),
        ("B-noun.act I-noun.act", [(0, 2, "noun.act")]),
        ("B-X-Y I-X-Y", [(0, 2, "X-Y")]),
    ],
)
def test_spans_of_tags(tags, expected):
    assert spans(tags.split()) == expected


def test_a_file_a_side(tmp_path):
    (tmp_path / "gold").write_text("a\tB\nb\tI\n\nc\tO\nd\tB\n")
    (tmp_path / "pred").write_text("a\tB\nb\tO\n\nc\tB\nd\tB\n")
    scores = KIND.score(tmp_path / "gold", tmp_path / "pred", {})
    assert scores == {
        "tokens": 4,
        "gold_phrases": 3,
        "found_phrases": 3,
        "correct_phrases": 2,
        "precision": 66.67,
        "recall": 66.67,
        "f1": 66.67,
        "per_type": {
            "B": {"precision": 66.67, "recall": 100.0, "f1": 80.0, "found": 3},
            "I": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "found": 0},
        },
    }
    assert "FB1:  66.67" in KIND.table(scores)
    with pytest.raises(FormatError):
        KIND.score(tmp_path / "gold", tmp_path / "none", {})


def test_no_span_goes_on_in_the_next_sentence():
    assert total(count_tag_spans([("B-X", "B-X"), None, ("I-X", "I-X")]).values()).gold == 2


@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=12))
def test_the_f1_of_plain_tags_is_the_accuracy(pairs):
    counts = total(count_tag_spans(pairs).values())
    assert (counts.hits, counts.gold) == (sum(a == b for a, b in pairs), len(pairs))
    assert counts.f1 == counts.precision == counts.recall == counts.hits / len(pairs)


@given(BIO, BIO)
def test_iob_tags_count_as_chunks(gold, predicted):
    pairs = list(zip(gold, predicted, strict=False))
    assert count_tag_spans(pairs) == count_chunks(pairs)
    assert spans(gold) == SCHEMES["BIO"].decode(gold)
    assert count_right(pairs).gold == len(pairs)


def test_both_programs_read_the_same_files(tmp_path):
    path = tmp_path / "input.txt"
    path.write_text("a:B-X:B-X\nb:I-X:O\n")
    one, two = (kind.score(path, path, {"-d": ":"}) for kind in (KIND, conlleval.KIND))
    assert {**two, **one} == two
