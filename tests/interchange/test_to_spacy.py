"""What spaCy reads of a document, and what comes back."""

from dataclasses import replace

import pytest
import spacy
from spacy import displacy

from spanloom import Document, Layer, Relation, Span
from spanloom.errors import DocumentError, LayerError, LossWarning
from spanloom.interchange.spacy import (
    displacy_arcs,
    displacy_entities,
    from_spacy,
    to_spacy,
)

TEXT = "Ada met  Bob.\n\nHe left. "
WORDS = [(0, 3), (4, 7), (9, 12), (12, 13), (15, 17), (18, 22), (22, 23)]
HEADS = [1, 1, 1, 1, 5, 5, 5]
LABELS = ["nsubj", "root", "obj", "punct", "nsubj", "root", "punct"]
HALF = [(0, 3), (5, 6)]  # the second inside a word
TAGS = ["PROPN", "VERB", "PROPN", "PUNCT", "PRON", "VERB", "PUNCT"]


def spans(prefix, labels, bounds):
    pairs = enumerate(zip(labels, bounds, strict=True))
    return tuple(Span(f"{prefix}{row}", label, (pair,)) for row, (label, pair) in pairs)


@pytest.fixture
def document():
    tree = tuple(
        Relation(f"R{row}", label, f"D{head}", f"D{row}")
        for row, (label, head) in enumerate(zip(LABELS, HEADS, strict=True))
    )
    return Document(
        TEXT,
        (
            Layer("words", spans("W", ["word"] * 7, WORDS)),
            Layer("sentences", spans("S", ["sentence"] * 2, [(0, 13), (15, 23)])),
            Layer("upos", spans("U", TAGS, WORDS)),
            Layer("dependency", spans("D", ["word"] * 7, WORDS), tree),
            Layer("ner", spans("N", ["person", "person"], [(0, 3), (9, 12)])),
            Layer("entities", spans("E", ["person", "event"], [(0, 3), (0, 12)])),
        ),
        "meeting",
    )


def test_everything_that_has_a_place_is_there(document):
    doc = to_spacy(document)
    assert doc.text == TEXT
    words = [token for token in doc if not token.is_space]
    assert [(token.idx, token.idx + len(token)) for token in words] == WORDS
    assert [token.pos_ for token in words] == TAGS
    assert [token.dep_ for token in words] == [{"root": "ROOT"}.get(dep, dep) for dep in LABELS]
    assert [sentence.root.dep_ for sentence in doc.sents] == ["ROOT", "ROOT"]
    assert [words.index(token.head) for token in words] == HEADS
    assert [sentence.text.strip() for sentence in doc.sents] == ["Ada met  Bob.", "He left."]
    assert [(entity.text, entity.label_) for entity in doc.ents] == [
        ("Ada", "person"),
        ("Bob", "person"),
    ]
    group = {(span.text, span.label_) for span in doc.spans["entities"]}
    assert group == {("Ada", "person"), ("Ada met  Bob", "event")}
    assert doc._.spanloom is document


def test_what_comes_back_is_what_went(document):
    back = from_spacy(to_spacy(document), name="meeting")
    assert back.text == TEXT
    assert back.name == "meeting"
    for layer, other in [("upos", "upos"), ("ner", "entities"), ("words", "words")]:
        went = {(span.label, span.fragments) for span in document[layer].spans}
        assert {(span.label, span.fragments) for span in back[other].spans} == went
    words_by_id = {span.id: span for span in back["dependency"].spans}
    pairs = {
        (relation.label, words_by_id[relation.head].start, words_by_id[relation.tail].start)
        for relation in back["dependency"].relations
    }
    starts = [start for start, _ in WORDS]
    assert pairs == {
        (label, starts[head], starts[row])
        for row, (label, head) in enumerate(zip(LABELS, HEADS, strict=True))
    }


def test_entities_are_the_layer_asked_for(document):
    nested = to_spacy(document, entities="entities")  # overlapping: stays a group
    assert not nested.ents
    assert set(nested.spans) == {"entities", "ner"}
    with pytest.raises(LayerError, match="nobody.*ner"):
        to_spacy(document, entities="nobody")


def test_the_only_layer_of_spans_becomes_the_entities():
    main = Layer("main", (Span("T1", "Person", ((0, 3),)),))
    doc = to_spacy(Document("Ada left.", (main,)))
    assert [(entity.text, entity.label_) for entity in doc.ents] == [("Ada", "Person")]
    other = Layer("other", (Span("T2", "Place", ((4, 8),)),))
    assert not to_spacy(Document("Ada left.", (main, other))).ents, "which one?"


def test_words_belong_to_the_pipeline_asked_for(document):
    nlp = spacy.blank("en")
    assert to_spacy(document, vocab=nlp.vocab).vocab is nlp.vocab


@pytest.mark.parametrize("text", ["", " ", "\n\n", "a", "é👍🏽 b"])
def test_texts_of_nothing_much(text):
    assert to_spacy(Document(text)).text == text


def test_displacy_draws_entities_and_arcs(document):
    data = displacy_entities(document, "entities")
    assert [(entity["start"], entity["end"], entity["label"]) for entity in data["ents"]] == [
        (0, 3, "person"),
        (0, 12, "event"),
    ]
    tree = displacy_arcs(document, "dependency", tags="upos")
    assert [word["tag"] for word in tree["words"]] == TAGS
    assert {"start": 0, "end": 1, "label": "nsubj", "dir": "left"} in tree["arcs"]
    assert {"start": 1, "end": 2, "label": "obj", "dir": "right"} in tree["arcs"]
    assert len(tree["arcs"]) == 5  # the two roots are not drawn
    drawn = displacy.render(tree, style="dep", manual=True)
    assert "nsubj" in drawn
    assert "person" in displacy.render(displacy_entities(document, "ner"), style="ent", manual=True)
    with pytest.raises(LayerError):
        displacy_entities(document, "nobody")


def test_arcs_before_punctuation_are_drawn():
    text, tags = "Ada met Bob, fast.", ["PROPN", "VERB", "PROPN", "PUNCT", "ADV", "PUNCT"]
    bounds = [(0, 3), (4, 7), (8, 11), (11, 12), (13, 17), (17, 18)]
    words = tuple(
        Span(f"T{n}", tag, (bound,))
        for n, (tag, bound) in enumerate(zip(tags, bounds, strict=True))
    )
    arcs = [(1, 0, "nsubj"), (1, 2, "obj"), (1, 3, "punct"), (1, 4, "advmod"), (1, 5, "punct")]
    relations = tuple(
        Relation(f"R{n}", label, f"T{head}", f"T{tail}")
        for n, (head, tail, label) in enumerate(arcs)
    )
    document = Document(text, (Layer("upos", words), Layer("dependency", (), relations)))
    tree = displacy_arcs(document, "dependency", tags="upos")
    assert [(word["text"], word["tag"]) for word in tree["words"]] == [
        (text[start:end], tag) for (start, end), tag in zip(bounds, tags, strict=True)
    ]
    assert len(tree["arcs"]) == 5


def told_of(document, **options):
    with pytest.warns(LossWarning) as warnings:
        doc = to_spacy(document, **options)
    assert len(warnings) == 1
    return doc, str(warnings[0].message)


def test_a_span_inside_a_token_is_told(document):
    inside = replace(document, layers=(document["words"], Layer("ner", spans("N", "ab", HALF))))
    doc, message = told_of(inside)
    assert message == (
        "meeting: 1 span of no whole tokens, which a spaCy Doc has no place for, "
        "as N1 'b' of layer 'ner': 'e'; doc._.spanloom has all"
    )
    assert [span.text for span in doc.spans["ner" if "ner" in doc.spans else "entities"]] == ["Ada"]
    assert doc._.spanloom is inside
    with pytest.raises(DocumentError, match="1 span of no whole tokens"):
        to_spacy(inside, strict=True)


def test_a_span_with_a_gap_is_told(document):
    gap = Layer("ner", (Span("N0", "x", ((0, 3), (9, 12))),))
    assert "N0 'x' of layer 'ner': 'Ada Bob'" in told_of(document.with_layer(gap))[1]


def test_without_words_tokens_are_those_of_spacy_or_of_the_tags():
    bare = Document("Ada met Bob. Don't!", (Layer("ner", spans("N", "pp", [(0, 3), (8, 11)])),))
    doc = to_spacy(bare, strict=True)
    assert [entity.text for entity in doc.ents] == ["Ada", "Bob"]
    assert [token.text for token in doc] == ["Ada", "met", "Bob", ".", "Do", "n't", "!"]
    bounds = [(0, 3), (4, 7), (8, 12), (13, 18), (18, 19)]
    tagged = bare.with_layer(Layer("upos", spans("U", ["NOUN"] * 5, bounds)))
    doc, message = told_of(tagged)
    assert [token.text for token in doc] == ["Ada", "met", "Bob.", "Don't", "!"]
    assert "1 span of no whole tokens" in message
