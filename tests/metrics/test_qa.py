"""Answers by what they say: the official program's scores, and layers of documents."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.queries import answer_layer
from spanloom.annotation_ids import IdGenerator
from spanloom.document import Document, Layer, Query
from spanloom.errors import DataError, LayerError
from spanloom.metrics.qa import Answered, Report, normalize_answer, score, score_answer

CLOSE = {"rel": 1e-12, "abs": 1e-12}
TEXTS = st.text("aA the.-'é ", max_size=12)


def cases(golden, name):
    """Folders of cases that the official program scores."""
    for place in sorted(golden(name).glob("case*")):
        told = json.loads((place / "scores.json").read_text())
        if told["exit_code"] == 0:
            data = json.loads((place / "dataset.json").read_text())["data"]
            asked = [qa for each in data for part in each["paragraphs"] for qa in part["qas"]]
            predicted = json.loads((place / "predictions.json").read_text())
            for query, chance in _unanswered(place).items():
                if chance > _threshold(told["command"]):
                    predicted[query] = ""
            yield told["scores"], asked, predicted


def _unanswered(place):
    """How likely no answer is, where a case says so."""
    path = place / "na_prob.json"
    return json.loads(path.read_text()) if path.exists() else {}


def _threshold(command):
    """From what chance on the official program takes an answer back."""
    words = command.split()
    return float(words[words.index("--na-prob-thresh") + 1]) if "--na-prob-thresh" in words else 1


def texts(asked):
    return [answer["text"] for answer in asked["answers"]]


def test_scores_are_those_of_squads_second_program(golden):
    done = 0
    for scores, asked, predicted in cases(golden, "squad-v2.0"):
        judged = [
            score_answer(texts(qa), predicted[qa["id"]]) for qa in asked if qa["id"] in predicted
        ]
        report = Report("x", 1, tuple(judged))
        parts = {"": report, "HasAns_": report.part(answerable=True)}
        parts["NoAns_"] = report.part(answerable=False)
        for prefix, part in parts.items():
            if f"{prefix}total" in scores:
                assert len(part.queries) == scores[f"{prefix}total"]
                assert 100 * part.exact == pytest.approx(scores[f"{prefix}exact"], **CLOSE)
                assert 100 * part.f1 == pytest.approx(scores[f"{prefix}f1"], **CLOSE)
        done += 1
    golden.count(done)
    assert done == 10


def test_scores_are_those_of_squads_first_program_where_gold_has_words(golden):
    done = 0
    for scores, asked, predicted in cases(golden, "squad-v1.1"):
        if not all(map(normalize_answer, (text for qa in asked for text in texts(qa)))):
            continue  # the first program keeps gold answers of no word
        judged = [score_answer(texts(qa), predicted.get(qa["id"], "")) for qa in asked]
        report = Report("x", 1, tuple(judged))
        assert 100 * report.exact == pytest.approx(scores["exact_match"], **CLOSE)
        assert 100 * report.f1 == pytest.approx(scores["f1"], **CLOSE)
        done += 1
    golden.count(done)
    assert done > 3


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The  Cat,", "cat"),
        ("a.b. the-end", "ab theend"),  # marks go first, so no article is left in theend
        ("an A the", ""),
        ("then another", "then another"),
        ("«Été»", "«été»"),  # ASCII marks alone
        ("", ""),
    ],
)
def test_case_marks_articles_and_blanks_count_for_nothing(text, plain):
    assert normalize_answer(text) == plain


@given(TEXTS, TEXTS)
def test_overlap_is_the_f1_of_bags_of_words(one, two):
    a, b = normalize_answer(one).split(), normalize_answer(two).split()
    left = list(b)
    same = sum(1 for word in a if word in left and (left.remove(word) is None))
    wanted = float(a == b) if not a or not b else 2 * same / (len(a) + len(b))
    assert score_answer([one], two).f1 == pytest.approx(wanted)
    assert score_answer([two], one).f1 == pytest.approx(wanted)
    assert score_answer([one], one).f1 == 1


@given(st.lists(TEXTS, max_size=3), TEXTS)
def test_exact_never_beats_overlap_and_more_alternatives_never_cost(gold, predicted):
    got = score_answer(gold, predicted)
    assert got.exact <= got.f1
    if any(map(normalize_answer, gold)):
        more = score_answer([*gold, "a new one"], predicted)
        assert (more.exact, more.f1) >= (got.exact, got.f1)


def document(*said, text="Ada met Bob in London", name="d"):
    """A document with a query an entry: what answers it, by the texts of spans."""
    queries = tuple(Query(f"Q{row}", "who ?") for row in range(len(said)))
    found = [
        (f"Q{row}", ((text.index(each), text.index(each) + len(each)),), None)
        for row, alternatives in enumerate(said)
        for each in alternatives
    ]
    return Document(text, (answer_layer("x", found, IdGenerator(())),), name, queries=queries)


def test_the_best_of_alternatives_counts_and_none_is_right_where_there_is_none():
    gold = document(["Bob", "met Bob"], [], ["Ada"], [])
    found = document(["met Bob"], [], ["Ada met"], ["London"])
    report = score([gold], [found], "x")
    assert [each.exact for each in report.queries] == [1, 1, 0, 0]
    assert [each.f1 for each in report.queries] == [1, 1, pytest.approx(2 / 3), 0]
    assert (report.exact, report.part(answerable=False).exact) == (0.5, 0.5)
    told = report.to_json()
    assert told["answerable"] == {"exact_match": 0.5, "f1": pytest.approx(5 / 6), "number": 2}
    assert json.loads(json.dumps(told)) == told
    assert "unanswerable  50.00   50.00       2" in report.to_table()


def test_a_layer_that_is_absent_says_nothing_of_any_query():
    gold = document(["Bob"], [])
    silent = gold.unannotated()
    assert score([gold], [silent], "x").f1 == 0
    empty = silent.with_layer(Layer("x"))
    assert score([gold], [empty], "x").f1 == 0.5


def test_documents_without_the_layer_are_not_scored():
    gold, other = document(["Bob"]), document(["Ada"], name="e").unannotated()
    report = score([gold, other], [gold, other], "x")
    assert (report.documents, report.not_annotated, report.f1) == (1, 1, 1.0)
    with pytest.raises(LayerError, match="no layer 'y'"):
        score([gold], [gold], "y")
    with pytest.raises(DataError, match="no document 'd'"):
        score([gold], [other], "x")


def test_documents_without_queries_score_nothing():
    assert score([document()], [document()], "x").f1 == 0


@given(st.lists(st.lists(st.booleans(), max_size=3), min_size=1, max_size=4))
def test_sums_per_document_give_the_means_of_all_queries(documents):
    queries = [Answered(True, float(right), (1 + right) / 2) for doc in documents for right in doc]
    report = Report("qa", len(documents), tuple(queries), 0, tuple(map(len, documents)))
    counts = report.per_document_counts()
    assert counts["f1"].value == pytest.approx(report.f1)
    assert counts["exact_match"].value == pytest.approx(report.exact)
    assert len(counts["f1"].rows) == len(documents)
