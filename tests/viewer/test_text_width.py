import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.viewer.text_width import columns, elide, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\tb\nc", "a⇥b⏎c"),
        ("\x00\x7f", "⟨00⟩⟨7F⟩"),
        ("a\u202eb\ufeff", "a⟨202E⟩b⟨FEFF⟩"),
        ("\ud800", "⟨D800⟩"),
        ("👩\u200d🔬 می\u200cخواهم", "👩\u200d🔬 می\u200cخواهم"),
    ],
)
def test_hidden_characters_are_shown_and_joiners_left_alone(text, shown):
    assert visible(text) == shown


@given(st.text(st.characters()))
def test_visible_text_has_nothing_hidden_and_can_be_written(text):
    shown = visible(text)
    shown.encode("utf-8")
    assert visible(shown) == shown
    assert all(unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp") for char in shown)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("漢字", 4),
        ("e\u0301", 1),
        ("👍🏽", 2),
        ("👩\u200d🔬", 2),
        ("", 0),
        ("🇩🇪", 2),
        ("각", 2),
    ],
)
def test_columns_are_those_of_a_terminal(text, width):
    assert columns(text) == width


@given(st.text(), st.integers(1, 30))
def test_elided_text_fits_and_begins_as_the_text(text, width):
    cut = elide(text, width)
    assert columns(cut) <= width
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))


def test_text_that_fits_is_not_elided():
    assert elide("four", 4) == "four"
    assert elide("fours", 4) == "fou…"
