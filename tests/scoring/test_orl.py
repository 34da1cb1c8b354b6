"""Opinion roles: overlaps counted by hand and by loops, expressions that differ, broken files."""

import json
import random
from contextlib import suppress
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import FormatError
from spanloom.scoring import orl as overlap
from spanloom.scoring.orl import KIND

TEXT = "Ada and her friends really like the old view ."


def piece(words):
    """The text and characters of some words of TEXT, as the file has them."""
    if not words:
        return [[], []]
    start = TEXT.index(words)
    return [[words], [f"{start}:{start + len(words)}"]]


def sentence(*opinions, name="a"):
    """Spell opinions: source, target and expression, each words of TEXT."""
    keys = ("Source", "Target", "Polar_expression")
    rest = {"Polarity": "Positive", "Intensity": None}
    said = [
        {**{key: piece(part) for key, part in zip(keys, each, strict=True)}, **rest}
        for each in opinions
    ]
    return {"sent_id": name, "text": TEXT, "opinions": said}


@pytest.fixture
def scored(tmp_path):
    """Score sentences."""

    def run(gold, predicted):
        one, two = tmp_path / "gold.json", tmp_path / "pred.json"
        one.write_text(json.dumps(gold), encoding="utf-8")
        two.write_text(json.dumps(predicted), encoding="utf-8")
        return KIND.score(one, two, {})

    return run


def shares(row):
    return row["right"], row["predicted"], row["found"], row["gold"]


GOLD = ("Ada and her friends", "the old view", "like")


def test_overlaps_by_hand(scored):
    scores = scored([sentence(GOLD)], [sentence(("her friends really", "view", "like"))])
    assert shares(scores["source"]["exact"]) == (0, 1, 0, 1)
    assert shares(scores["source"]["binary"]) == (1, 1, 1, 1)
    assert shares(scores["source"]["proportional"]) == (2 / 3, 1, 2 / 4, 1)
    assert shares(scores["target"]["proportional"]) == (1, 1, 1 / 3, 1)
    both = scores["roles"]["proportional"]
    assert (both["precision"], both["recall"]) == (
        pytest.approx(100 * (2 / 3 + 1) / 2),
        pytest.approx(100 * (1 / 2 + 1 / 3) / 2),
    )
    assert scores["expressions"]["exact"]["f1"] == 100
    assert "proportional" in KIND.table(scores)


def test_roles_of_another_expression_are_wrong(scored):
    scores = scored([sentence(GOLD)], [sentence((*GOLD[:2], "really like"))])
    assert shares(scores["roles"]["binary"]) == (0, 2, 0, 2)
    assert shares(scores["expressions"]["proportional"]) == (1 / 2, 1, 1, 1)


def test_a_role_is_no_other(scored):
    scores = scored([sentence(GOLD)], [sentence((GOLD[1], GOLD[0], "like"))])
    assert shares(scores["roles"]["binary"]) == (0, 2, 0, 2)


def test_polarity_is_not_compared_and_nothing_is_zero(scored):
    other = sentence(GOLD)
    other["opinions"][0]["Polarity"] = "Negative"
    assert scored([sentence(GOLD)], [other])["roles"]["exact"]["f1"] == 100
    scores = scored([sentence(GOLD)], [sentence()])
    assert shares(scores["roles"]["exact"]) == (0, 0, 0, 2)
    assert scores["roles"]["exact"]["f1"] == 0


def test_what_is_refused(scored, tmp_path):
    with pytest.raises(FormatError, match="no document"):
        scored([sentence(GOLD), sentence(name="b")], [sentence(GOLD)])
    bare = {"sent_id": "a", "text": TEXT}
    with pytest.raises(FormatError):
        scored([bare], [bare])


def test_broken_files_are_told(tmp_path):
    rng = random.Random(1)
    one, two = tmp_path / "gold.json", tmp_path / "pred.json"
    whole = json.dumps([sentence(GOLD)])
    one.write_text(whole, encoding="utf-8")
    for _ in range(40):
        letters = list(whole)
        letters[rng.randrange(len(letters))] = rng.choice('[]{}":,0a')
        two.write_text("".join(letters), encoding="utf-8")
        with suppress(FormatError):
            KIND.score(one, two, {})


@given(
    st.lists(st.integers(0, 4), max_size=12),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9))),
)
def test_a_span_has_the_words_that_it_touches(steps, fragments):
    words, end = [], 0
    for gap, width in zip(steps[::2], steps[1::2], strict=False):
        words.append((end + gap, end := end + gap + width + 1))
    bounds = tuple((start, start + width) for start, width in fragments) or ((0, 1),)
    span = SimpleNamespace(fragments=bounds)
    touched = {
        i for i, (s, e) in enumerate(words) for start, end in bounds if s < end and start < e
    }
    assert overlap._word_indices(span, words) == touched


ITEMS = st.lists(st.tuples(st.sampled_from("ab"), st.frozensets(st.integers(0, 5), min_size=1)))


@given(ITEMS, ITEMS)
def test_shares_as_loops_count_them(gold, predicted):
    def of(side, other, whole):
        total = 0
        for key, words in set(side):
            hit = sum(any(key == k and word in w for k, w in other) for word in words)
            total += (hit > 0) if whole else hit / len(words)
        return total

    for count, whole in ((overlap.binary, True), (overlap.proportional, False)):
        found = count(gold, predicted)
        assert found.precision_num == pytest.approx(of(predicted, gold, whole))
        assert found.recall_num == pytest.approx(of(gold, predicted, whole))
        assert (found.precision_den, found.recall_den) == (len({*predicted}), len({*gold}))
    exact, part, binary = (
        count(gold, predicted) for count in (overlap.exact, overlap.proportional, overlap.binary)
    )
    assert exact.precision_num <= part.precision_num + 1e-9 <= binary.precision_num + 2e-9


def test_gold_against_itself_on_a_corpus(data):
    place = data("opener-en") / "dev.json"
    scores = KIND.score(place, place, {})
    for name in ("roles", "source", "target"):
        assert {measure["f1"] for measure in scores[name].values()} == {100}
