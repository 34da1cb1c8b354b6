"""Documents made in Python: what is marked is annotated, and mistakes say where they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom import from_markup, from_words
from spanloom.annotation.tag_schemes import SCHEMES
from spanloom.errors import DocumentError


def spans(document, layer="main"):
    return [(document.text_of(span), span.label) for span in document[layer].spans]


def test_marked_spans_nest_and_signs_can_be_escaped():
    document = from_markup(
        r"[The [Ada](name) we know](person) \[sic\] a]b \\ c", layer="ner", name="x"
    )
    assert document.text == r"The Ada we know [sic] a]b \ c"
    assert spans(document, "ner") == [("The Ada we know", "person"), ("Ada", "name")]
    assert document.name == "x"


@given(st.text(st.sampled_from("ab [](\\)\n漢"), max_size=12))
def test_escaped_text_is_itself(text):
    escaped = "".join(f"\\{sign}" if sign in "[]\\" else sign for sign in text)
    assert from_markup(escaped).text == text


@pytest.mark.parametrize(
    ("markup", "message"),
    [
        ("a\n [b", r"line 2, column 2: no \]\(label\) closes this bracket"),
        ("[](x)", "line 1, column 2: expected"),
        ("[a]( )", "line 1, column 3: expected"),
    ],
)
def test_mistakes_say_where_they_are(markup, message):
    with pytest.raises(DocumentError, match=message):
        from_markup(markup)


@pytest.mark.parametrize("scheme", ["BIO", "IOB1", "BIOES", "BILOU"])
@given(data=st.data())
def test_tags_of_any_scheme_are_read(scheme, data):
    gold, position = [], 0
    for gap, length, label in data.draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from("AB")), max_size=5)
    ):
        gold.append((position + gap, position + gap + length, label))
        position += gap + length
    tags = SCHEMES[scheme].encode(gold, position)
    document = from_words([f"w{row}" for row in range(position)], tags)
    words = document.text.split()
    assert spans(document) == [(" ".join(words[a:b]), label) for a, b, label in gold]


def test_words_without_tags_have_no_layer_but_their_own():
    assert [layer.name for layer in from_words(["a", "b"]).layers] == ["words", "sentences"]


def test_wrong_tags_are_refused():
    with pytest.raises(DocumentError, match="expected a tag for each of 2 words, got 1"):
        from_words(["a", "b"], ["O"])
    with pytest.raises(DocumentError, match="got 'PER'"):
        from_words(["a"], ["PER"])
