"""Tokens over words that contract, and the treebank's own as their oracle."""

import pytest

from spanloom.document import Document, Layer, Span
from spanloom.formats import conllu
from spanloom.formats._conllu_layers import contracted


def made(*words):
    """A text of words; one that begins with ``+`` stands without a blank before it."""
    text, spans = "", []
    for row, word in enumerate(words):
        glued = word.startswith("+")
        text += "" if glued or not text else " "
        form = word.removeprefix("+")
        spans.append(Span(f"T{row}", "word", ((len(text), len(text) + len(form)),)))
        text += form
    return Document(text, (Layer("words", tuple(spans)),))


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        (("I", "do", "+n't", "know", "+."), ["don't"]),
        (("Ada", "+'s", "tea", "+,", "I", "+’ve", "+."), ["Ada's", "I’ve"]),
        (("can", "+not", "gon", "+na"), ["cannot", "gonna"]),
        (("I", "+'d", "+n't", "+'ve"), ["I'dn't've"]),
        (("'", "+s", "5", "+km", "a", "+-", "+b", "(", "+it", "+)"), []),
        (("the", "cats", "+'", "food"), []),
        (("Rust", "+'ll", "+?"), ["Rust'll"]),
    ],
)
def test_which_words_are_one_token(words, tokens):
    document = contracted(made(*words))
    said = document["tokens"].spans if document.has_layer("tokens") else ()
    assert [document.text_of(each) for each in said] == tokens


def test_a_file_has_them_on_request():
    document = made("I", "do", "+n't")
    assert "2-3\tdon't\t" in conllu.dumps([document], options=conllu.Columns(infer_mwt=True))
    assert "2-3" not in conllu.dumps([document])


def test_tokens_that_are_said_stay():
    document = made("do", "+n't").with_layer(Layer("tokens"))
    assert contracted(document) is document


def test_nearly_all_tokens_of_a_treebank_are_found(data):
    """Without its own tokens, those of EWT's dev are found: few are missed, fewer made up."""
    place = data("ewt") / "en_ewt-ud-dev.conllu"
    hits = missed = wrong = 0
    for document in conllu.loads(place.read_text(encoding="utf-8")):
        gold = (
            {each.fragments for each in document["tokens"].spans}
            if document.has_layer("tokens")
            else set()
        )
        bare = Document(document.text, tuple(e for e in document.layers if e.name != "tokens"))
        again = contracted(bare)
        found = {e.fragments for e in again["tokens"].spans} if again.has_layer("tokens") else set()
        hits, missed, wrong = (
            hits + len(gold & found),
            missed + len(gold - found),
            wrong + len(found - gold),
        )
    assert hits > 300
    assert missed < 0.05 * hits, (hits, missed, wrong)
    assert wrong < 0.05 * hits, (hits, missed, wrong)
