"""Aspects: accuracy and F1 counted by hand, conflicts left out, other formats, broken files."""

import random
import re
from contextlib import suppress

import pytest

from spanloom.errors import FormatError
from spanloom.scoring.absa import KIND

TEXT = "The soup and the old wine were cold ."


def sentence(*terms, name="1"):
    """Spell a sentence whose terms are "WORDS=POLARITY"."""
    rows = []
    for each in terms:
        words, polarity = each.split("=")
        at = TEXT.index(words)
        said = f'term="{words}" polarity="{polarity}" from="{at}" to="{at + len(words)}"'
        rows.append(f"            <aspectTerm {said}/>\n")
    inside = "        <aspectTerms>\n" + "".join(rows) + "        </aspectTerms>\n" if rows else ""
    text = f'    <sentence id="{name}">\n        <text>{TEXT}</text>\n{inside}    </sentence>\n'
    return text


@pytest.fixture
def scored(tmp_path):
    """Score sentences."""

    def run(gold, predicted):
        head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<sentences>\n'
        one, two = tmp_path / "gold.xml", tmp_path / "pred.xml"
        one.write_text(f"{head}{gold}</sentences>\n", encoding="utf-8")
        two.write_text(f"{head}{predicted}</sentences>\n", encoding="utf-8")
        return KIND.score(one, two, {})

    return run


def counts(row):
    return row["hits"], row["predicted"], row["gold"]


def test_by_hand(scored):
    gold = sentence("soup=negative", "old wine=positive") + sentence("soup=neutral", name="2")
    other = sentence("soup=negative", "wine=positive") + sentence("soup=positive", name="2")
    scores = scored(gold, other)
    given = scores["with_gold_terms"]
    assert (given["right"], given["gold"], given["accuracy"]) == (1, 3, 100 / 3)
    # negative 1 of 1, positive 0 of 1 (one is said of another term), neutral 0 of 1
    assert given["macro_f1"] == pytest.approx(100 / 3)
    assert counts(scores["terms"]) == (2, 3, 3)
    assert counts(scores["terms_with_polarity"]) == (1, 3, 3)
    assert counts(scores["terms_with_polarity"]["labels"]["positive"]) == (0, 2, 1)
    assert "accuracy 33.33 (1 of 3)" in KIND.table(scores)


def test_conflicts_are_left_out_with_what_is_said_of_them(scored):
    gold = sentence("soup=conflict", "wine=positive")
    scores = scored(gold, sentence("soup=positive", "wine=positive"))
    assert scores["with_gold_terms"]["accuracy"] == 100
    assert counts(scores["terms"]) == (1, 1, 1)
    scores = scored(sentence("wine=positive"), sentence("wine=conflict"))  # only predicted: wrong
    assert counts(scores["terms_with_polarity"]) == (0, 1, 1)


def test_a_term_of_two_polarities_is_right_if_one_is(scored):
    both = sentence("wine=positive", "wine=negative"), sentence("wine=negative", "wine=positive")
    for polarity, right in (("negative", 1), ("positive", 1), ("neutral", 0)):
        for other in both:
            assert scored(sentence(f"wine={polarity}"), other)["with_gold_terms"]["right"] == right


def test_gold_against_itself_is_right(scored):
    gold = sentence("soup=negative", "old wine=positive") + sentence(name="2")
    scores = scored(gold, gold)
    assert scores["with_gold_terms"]["macro_f1"] == scores["terms_with_polarity"]["f1"] == 100


def test_what_is_refused(scored, tmp_path):
    with pytest.raises(FormatError):
        scored(sentence("soup=negative") + sentence(name="2"), sentence("soup=negative"))
    (tmp_path / "a.conll").write_text("Ada B-PER\nslept O\n", encoding="utf-8")
    with pytest.raises(FormatError, match="aspects"):
        KIND.score(tmp_path / "a.conll", tmp_path / "a.conll", {})


def test_broken_files_are_told(scored):
    rng = random.Random(4)
    gold = sentence("soup=negative", "old wine=positive")
    for _ in range(40):
        letters = list(gold)
        letters[rng.randrange(len(letters))] = rng.choice('<>"/= 0a&')
        with suppress(FormatError):
            scored(gold, "".join(letters))


@pytest.mark.slow
def test_one_polarity_for_all_on_a_corpus(data, tmp_path):
    place = data("semeval2014-absa") / "Laptop_Train_v2.xml"
    text = place.read_text(encoding="utf-8")
    every = [each.partition('"')[0] for each in re.split('<aspectTerm .*?polarity="', text)[1:]]
    for label in ("negative", "neutral", "conflict"):
        text = text.replace(f'polarity="{label}"', 'polarity="positive"')
    other = tmp_path / "pred.xml"
    other.write_text(text, encoding="utf-8")
    given = KIND.score(place, other, {})["with_gold_terms"]
    kept = [each for each in every if each != "conflict"]
    assert (given["right"], given["gold"]) == (kept.count("positive"), len(kept))
