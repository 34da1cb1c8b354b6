"""The head of a span is its word whose own head lies outside."""

from dataclasses import replace

import pytest

from spanloom.annotation.syntactic_heads import head_words, spans_headed_by
from spanloom.document import Layer, Relation, Span
from spanloom.formats import conllu

ROWS = (
    *("the DET 3 det", "old ADJ 3 amod", "mayor NOUN 6 nsubj", "of ADP 5 case"),
    *("Paris PROPN 3 nmod", "met VERB 0 root", "the DET 8 det", "Ada PROPN 9 compound"),
    "fans NOUN 6 obj",
)


def document(mentions):
    """A sentence with spans of these words (first and last of each fragment) in a layer."""
    lines = (
        "\t".join((str(number), form, "_", tag, "_", "_", head, label, "_", "_"))
        for number, (form, tag, head, label) in enumerate((row.split() for row in ROWS), 1)
    )
    (parsed,) = conllu.loads("\n".join(lines) + "\n\n")
    bounds = [word.fragments[0] for word in parsed["words"].spans]
    spans = tuple(
        Span(name, "x", tuple((bounds[first][0], bounds[last][1]) for first, last in fragments))
        for name, fragments in mentions.items()
    )
    return parsed.with_layer(Layer("named", spans))


@pytest.mark.parametrize(
    ("fragments", "is_name"),
    [
        ([(4, 4)], True),  # Paris
        ([(0, 4)], False),  # the old mayor of Paris: a description
        ([(0, 8)], False),  # the sentence, whose root is its own head
        ([(6, 7)], True),  # no subtree: the and Ada have their heads outside
        ([(0, 0), (4, 4)], True),  # the … Paris
        ([(1, 2), (4, 4)], False),  # mayor … Paris: the head is in the other fragment
        ([(5, 5)], False),
    ],
)
def test_a_name_has_a_head_that_is_a_proper_noun(fragments, is_name):
    named = document({"T101": fragments})
    assert spans_headed_by(named, "named", ("PROPN",)) == (frozenset({"T101"} if is_name else ()))


def test_half_a_word_is_none_and_other_tags_may_be_asked_for():
    named = document({"T101": [(2, 2)], "T102": [(0, 4)], "T103": [(4, 4)]})
    half = Span("T104", "x", ((named["words"].spans[2].start, named["words"].spans[2].end - 1),))
    named = named.with_layer(Layer("named", (*named["named"].spans, half)))
    assert spans_headed_by(named, "named", ("NOUN", "VERB")) == {"T101", "T102"}
    assert spans_headed_by(named, "named", ()) == frozenset()


def heads_of(mentions, labels=None, relations=()):
    """The head words of a document's mentions, and the relations between them, as words."""
    parsed = document(mentions)
    layer = replace(
        parsed["named"],
        spans=tuple(replace(s, label=(labels or {}).get(s.id, "x")) for s in parsed["named"].spans),
        relations=tuple(Relation(f"R10{n}", *relation) for n, relation in enumerate(relations, 1)),
    )
    found = head_words(layer, parsed["dependency"], "heads", parsed.id_generator())
    with_heads = parsed.with_layer(layer).with_layer(found.layer)  # ids are new ones
    text_of = {span.id: parsed.text[span.start : span.end] for span in found.layer.spans}
    assert with_heads["heads"].name == "heads"
    linked = [(r.label, text_of[r.head], text_of[r.tail]) for r in found.layer.relations]
    return found, [(s.label, text_of[s.id]) for s in found.layer.spans], linked


@pytest.mark.parametrize(
    ("fragments", "head"),
    [
        ([(4, 4)], "Paris"),
        ([(0, 4)], "mayor"),
        ([(0, 8)], "met"),
        ([(6, 7)], "Ada"),  # both heads lie two below the root's child: the last
        ([(1, 2), (4, 4)], "mayor"),
        ([(3, 4), (8, 8)], "fans"),  # of a span in pieces, the one nearest to the root
    ],
)
def test_a_span_is_cut_to_its_head_nearest_to_the_root(fragments, head):
    assert heads_of({"T101": fragments})[1] == [("x", head)]


def test_spans_with_one_head_become_one_and_their_relations_follow():
    mentions = {"T101": [(0, 4)], "T102": [(2, 2)], "T103": [(4, 4)], "T104": [(1, 2)]}
    relations = [("r", "T101", "T103"), ("r", "T102", "T103"), ("s", "T101", "T102"),
                 ("s", "T103", "T104"), ("r", "T104", "T103")]  # fmt: skip
    found, spans, linked = heads_of(mentions, {"T104": "y"}, relations)
    assert spans == [("x", "mayor"), ("x", "Paris"), ("y", "mayor")]
    assert linked == [("r", "mayor", "Paris"), ("s", "Paris", "mayor"), ("r", "mayor", "Paris")]
    assert (found.shared, found.clashing, found.without_words, found.lost_relations) == (1, 1, 0, 2)


def test_a_tree_with_a_cycle_ends_and_half_a_word_has_no_head():
    parsed = document({"T101": [(0, 4)]})
    tree = parsed["dependency"]
    words = [span.id for span in tree.spans]
    around = tuple(
        replace(relation, head=words[(words.index(relation.tail) + 1) % len(words)])
        for relation in tree.relations
    )
    half = Span("T102", "x", ((1, 3),))
    layer = replace(parsed["named"], spans=(*parsed["named"].spans, half))
    found = head_words(layer, replace(tree, relations=around), "heads", parsed.id_generator())
    assert len(found.layer.spans) == 1
    assert found.without_words == 1
