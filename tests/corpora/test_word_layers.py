"""Layers with a label per word, made of layers of spans: by hand, and back to the expressions."""

import time
from dataclasses import replace

import pytest

from spanloom.annotation.comparable import comparable
from spanloom.annotation.excerpt import clip
from spanloom.annotation.multiword_expressions import groups
from spanloom.corpora.card import Derived
from spanloom.corpora.sources import sentences_with
from spanloom.corpora.word_layers import word_layer
from spanloom.document import Document, Layer, Relation, Span
from spanloom.formats import conllulex

TEXT = "We keep it in mind .\nGo on ."
KEEP = Span("T1", "strong", ((3, 7), (11, 18)))  # keep … in mind
GO_ON = Span("T2", "weak", ((21, 26),))


def labels(document, **rule):
    """The labels of a derived layer, by word."""
    layer = word_layer(document, "new", Derived(**rule), document.id_generator())
    assert layer.name == "new"
    assert not {span.id for span in layer.spans} & document.annotations().keys()
    return [(document.text_of(span), span.label) for span in layer.spans]


@pytest.fixture
def document():
    """A text of two sentences with an expression in each, one with a gap."""
    return Document(TEXT, (Layer("mwe", (KEEP, GO_ON)),), "d")


def test_expressions_have_three_labels_or_all_flags(document):
    paper = labels(document, layer="mwe", words="mwe-tags")
    assert paper == [("keep", "B"), ("in", "I"), ("mind", "I"), ("Go", "B"), ("on", "I")]
    flags = labels(document, layer="mwe", words="mwe-flags")
    assert dict(flags) == {
        **{"keep": "B", "it": "o", "in": "I_", "mind": "I_"},
        **{"Go": "B", "on": "I~"},
    }
    full = [dict(flags).get(word, "O") for word in "We keep it in mind . Go on .".split()]
    assert groups(full[:6]) == ([(1, 3, 4)], [])
    assert groups(full[6:]) == ([], [(0, 1)])


def test_flags_of_a_real_file_lead_back_to_its_expressions():
    """The sample of the format has a weak expression with a gap around a strong one."""
    (document,) = conllulex.loads(conllulex._EXAMPLE)
    flags = dict(labels(document, layer="mwe", words="mwe-flags"))
    words = [document.text_of(span) for span in document["words"].spans]
    strong, weak = groups([flags.get(word, "O") for word in words])
    expected = {
        label: [
            tuple(i for i, word in enumerate(document["words"].spans)
                  if any(a <= word.start and word.end <= b for a, b in span.fragments))
            for span in document["mwe"].spans if span.label == label
        ]
        for label in ("strong", "weak")
    }  # fmt: skip
    assert (strong, weak) == (expected["strong"], expected["weak"])


def test_words_in_spans_and_out_of_them():
    spans = (
        Span("T1", "Motion", ((3, 7), (11, 13))),
        Span("T2", "Place", ((11, 18),)),
        Span("T3", "element", ((0, 2),)),
        Span("T4", "Empty", ((20, 20),)),
        Span("T5", "half", ((22, 26),)),  # "o on": no whole word but the last
    )
    document = Document(TEXT, (Layer("frames", spans),), "d")
    rule = {"layer": "frames", "words": "inside"}
    assert labels(document, **rule, exclude=["element"]) == [
        ("keep", "Motion"),
        ("in", "Motion"),
        ("mind", "Place"),
        ("on", "half"),
    ]
    assert {label for _, label in labels(document, **rule, label="TARGET")} == {"TARGET"}
    kept = labels(document, **rule, label="KEEP", outside="DEL", exclude=["element", "half"])
    assert [label for _, label in kept] == "DEL KEEP DEL KEEP KEEP DEL DEL DEL DEL".split()
    first = labels(document, layer="frames", words="first", exclude=["element"])
    assert first == [("keep", "Motion"), ("in", "Place"), ("on", "half")]


def test_a_rule_chooses_spans_or_words():
    for rule in ({"layer": "a"}, {"layer": "a", "words": "first", "head_upos": ["PROPN"]}):
        with pytest.raises(ValueError, match="either head_upos or words"):
            Derived(**rule)


def test_sentences_with_spans_are_documents(document):
    sentences = (Span("S1", "sentence", ((0, 20),)), Span("S2", "sentence", ((21, 28),)))
    document = document.with_layer(Layer("sentences", sentences))
    both = list(sentences_with(document, "mwe"))
    assert [(part.name, part.text) for part in both] == [
        ("d/00001", TEXT[:20]),
        ("d/00002", TEXT[21:]),
    ]
    assert both[1].text_of(both[1]["mwe"].spans[0]) == "Go on"
    (second,) = sentences_with(document.with_layer(Layer("mwe", (GO_ON,))), "mwe")
    assert comparable(second) == comparable(both[1])
    assert list(sentences_with(document, "")) == [document]


def test_sentences_of_a_long_document_are_its_clips_in_time_that_grows_like_it():
    def long(sentences):
        """Sentences of three words: a span, a relation within it, one into the next sentence."""
        spans, relations, bounds = [], [], []
        for row in range(sentences):
            start = 6 * row
            spans += [
                Span(f"T{2 * row}", "a", ((start, start + 1),)),
                Span(f"T{2 * row + 1}", "b", ((start + 2, start + 3),)),
            ]
            head = f"T{2 * row}"
            relations.append(Relation(f"R{2 * row}", "in", head, f"T{2 * row + 1}"))
            if row:
                relations.append(Relation(f"R{2 * row + 1}", "out", head, f"T{2 * row - 1}"))
            bounds.append(Span(f"S{row}", "sentence", ((start, start + 5),)))
        layers = (Layer("main", tuple(spans), tuple(relations)), Layer("sentences", tuple(bounds)))
        return Document("a b c\n" * sentences, layers, "long")

    document = long(37)
    parts = list(sentences_with(document, "main"))
    assert [replace(part, name="long") for part in parts] == [
        clip(document, 6 * row, 6 * row + 5) for row in range(37)
    ]
    assert all([r.label for r in part["main"].relations] == ["in"] for part in parts)

    def seconds(sentences):
        document, start = long(sentences), time.process_time()
        assert len(list(sentences_with(document, "main"))) == sentences
        return time.process_time() - start

    assert seconds(1600) < 10 * min(seconds(400) for _ in range(3))  # 16 times, were it quadratic
