"""Labels and ranges of a user's own: what may be asked for."""

import pytest

from spanloom.annotation.choices import MAX_LABELS, Choices
from spanloom.annotation.queries import ask_query
from spanloom.errors import DocumentError


@pytest.mark.parametrize(
    ("labels", "bounds", "message"),
    [
        ((), None, "labels or a range"),
        (("a", "b"), (0.0, 1.0), "labels or a range"),
        (("a",), None, f"2 to {MAX_LABELS} labels, got 1"),
        (("a", " "), None, "a blank one"),
        (("a", "\u200b"), None, "a blank one"),
        (("a", "\u3164 \ufe0f"), None, "a blank one"),
        (("a", "A"), None, "different labels, got a, A"),
        (("a", 1), None, "labels that are texts, got 1"),
        ((), (1.0, 1.0), "from low to high, got 1 and 1"),
        ((), (0.0, float("inf")), "from low to high"),
        ((), (-1.5e308, 1.5e308), "steps"),
    ],
)
def test_what_makes_no_sense_is_refused(labels, bounds, message):
    with pytest.raises(ValueError, match=message):
        Choices(labels, bounds)


@pytest.mark.parametrize("prompt", ["", " ", "\u200b", "\u2060\n\ufeff"])
def test_a_question_without_a_character_to_see_is_refused(prompt):
    with pytest.raises(DocumentError, match="needs a prompt"):
        ask_query("Q1", prompt)


def test_what_does_is_kept():
    assert Choices(("a", "b")).labels == ("a", "b")
    assert Choices(("😀", "می\u200cخواهم")).labels
    assert Choices(bounds=(0.0, 5.0)).bounds == (0.0, 5.0)
