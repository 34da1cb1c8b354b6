"""The component of a spaCy pipeline says what the model says."""

import pytest
import spacy
from spacy.tokens import Doc

from spanloom.errors import ModelError, NameNotFound

TEXTS = ["Add 5 ml of buffer.\n\nMix  well.", "", "  Spin it down. "]


@pytest.fixture(scope="module")
def nlp(saved):
    made = spacy.blank("en")
    made.add_pipe("spanloom", config={"model": str(saved), "tasks": ["names"]})
    return made


def test_it_says_what_the_model_says(nlp, model):
    doc = nlp(TEXTS[0])
    document = doc._.spanloom
    again = next(model.annotate([document.unannotated()], ["names"]))
    found = {(each.label, each.fragments) for each in document["names"].spans}
    assert found
    assert found == {(each.label, each.fragments) for each in again["names"].spans}
    groups = {(each.label_, each.start_char, each.end_char) for each in doc.ents}
    assert groups == {(each.label, each.start, each.end) for each in document["names"].spans}


def test_many_at_once_are_each_alone(nlp):
    for one, other in zip(nlp.pipe(TEXTS * 3, batch_size=4), TEXTS * 3, strict=True):
        alone = nlp(other)
        assert one.text == other
        assert one._.spanloom["names"] == alone._.spanloom["names"]


def test_words_stay_those_of_the_pipeline(nlp):
    doc = Doc(
        nlp.vocab, words=["Add", "\n", " ", "5", "ml"], spaces=[True, False, False, True, False]
    )
    made = nlp.get_pipe("spanloom")(doc)
    assert made is doc
    assert [token.text for token in doc] == ["Add", "\n", " ", "5", "ml"]
    words = [each for each in doc._.spanloom["words"].spans]
    assert [doc._.spanloom.text_of(each) for each in words] == ["Add", "5", "ml"]


def test_what_is_not_there_is_named(saved):
    with pytest.raises(NameNotFound, match="steps"):
        spacy.blank("en").add_pipe("spanloom", config={"model": str(saved), "tasks": ["nobody"]})
    with pytest.raises(ModelError):
        spacy.blank("en").add_pipe("spanloom", config={"model": str(saved / "nowhere")})
