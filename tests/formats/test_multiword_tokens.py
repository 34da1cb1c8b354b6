"""Tokens over words that contract, and the treebank's own as their oracle."""

import re
from dataclasses import replace

import pytest

from spanloom.document import Document, Layer, Span
from spanloom.formats import conllu

INFERRED = conllu.Columns(infer_mwt=True)
TOKEN = re.compile(r"^(\d+)-(\d+)\t([^\t]*)", re.M)


def tokens_of(document):
    """The tokens over several words in the file of a document: first and last word, and form."""
    text = conllu.dumps([document], options=INFERRED)
    return [(int(first), int(last), form) for first, last, form in TOKEN.findall(text)]


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
    assert [form for _, _, form in tokens_of(made(*words))] == tokens


def test_a_file_has_them_on_request():
    document = made("I", "do", "+n't")
    assert tokens_of(document) == [(2, 3, "don't")]
    assert "2-3" not in conllu.dumps([document])


def test_tokens_that_are_said_stay():
    assert tokens_of(made("do", "+n't").with_layer(Layer("tokens"))) == []


@pytest.mark.slow
def test_nearly_all_tokens_of_a_treebank_are_found(data):
    """Without its own tokens, those of EWT's dev are found: few are missed, fewer made up."""
    path = data("ewt") / "en_ewt-ud-dev.conllu"
    hits = missed = wrong = 0
    for document in conllu.loads(path.read_text(encoding="utf-8")):
        bare = replace(document, layers=tuple(x for x in document.layers if x.name != "tokens"))
        gold = set(TOKEN.findall(conllu.dumps([document])))
        predicted = set(TOKEN.findall(conllu.dumps([bare], options=INFERRED)))
        hits += len(gold & predicted)
        missed += len(gold - predicted)
        wrong += len(predicted - gold)
    assert hits > 300
    assert missed < 0.05 * hits, (hits, missed, wrong)
    assert wrong < 0.05 * hits, (hits, missed, wrong)
