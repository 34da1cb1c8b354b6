"""What the drawing is handed."""

import json

import drawn_samples as drawn
import pytest

from spanloom.document import SENTENCES, Document, Layer, Query, Relation, Span
from spanloom.errors import DataError, DocumentError, LayerError
from spanloom.viewer.data import comparison, drawing
from spanloom.viewer.palette import number


def only(document):
    """The one side of one document."""
    (shown,) = drawing([document], title="t")["documents"]
    (side,) = shown["sides"]
    return side


def test_spans_and_links_are_handed_over_by_their_places():
    side = only(drawn.nested())
    assert side["spans"][0] == {
        "id": "T1",
        "layer": 0,
        "label": "Organization",
        "score": 0.91,
        "about": ["#1 AnnotatorNotes: founded 1791"],
        "fragments": [[4, 40]],
        "color": number("organization"),
    }
    assert side["links"][1] == {"id": "R2", "layer": 0, "label": "in", "source": 0, "target": 1}
    assert side["links"][0]["score"] == 0.8


def test_attributes_stand_in_captions_and_events_are_links():
    side = only(drawn.discontinuous())
    assert [span.get("caption") for span in side["spans"]] == [
        "Symptom [Side=left]",
        "Symptom [Negated]",
        None,
        None,
    ]
    assert side["spans"][0]["fragments"] == [[0, 17], [28, 31]]
    assert [(link["label"], link["source"], link["target"]) for link in side["links"]] == [
        ("Theme", 2, 3)
    ]


def test_offsets_are_code_points():
    document = drawn.letters()
    span = only(document)["spans"][1]
    ((start, end),) = span["fragments"]
    assert (start, document.text[start:end]) == (8, "👨‍👩‍👧‍👦")


def test_words_of_a_tree_are_bare_and_constituents_know_what_is_above_them():
    shown = drawing([drawn.parsed()], title="t")
    assert [(layer["name"], layer["shape"]) for layer in shown["layers"]] == [
        ("dependency", "dependency"),
        ("constituency", "constituents"),
    ]
    spans = shown["documents"][0]["sides"][0]["spans"]
    words = [span for span in spans if span["layer"] == 0]
    brackets = [span for span in spans if span["layer"] == 1]
    assert all(word["bare"] for word in words)
    first = len(words)
    above = [b["parent"] - first if "parent" in b else None for b in brackets]
    assert above == [None, 0, 1, 1, 3, 4, 3, 6, 7, 7, 9, 0, 11, 11, 13]


def test_mentions_of_a_cluster_have_its_number_and_colour():
    spans = only(drawn.coreference())["spans"]
    assert [span.get("cluster") for span in spans] == [1, 2, 2, 1, 2, 3, 2, 3]
    assert [span["caption"] for span in spans[:2]] == ["1", "2"]
    assert spans[0]["color"] == spans[3]["color"] != spans[1]["color"]


def test_lines_end_where_the_text_says_and_where_sentences_begin():
    sentences = Layer(SENTENCES, (Span("s1", "sentence", ((0, 4),)), Span("s2", "x", ((5, 9),))))
    shown = drawing([Document("a b. c d.\r\ne\n\nf", (sentences,))], title="t")
    assert shown["documents"][0]["lines"] == [[0, 5], [5, 9], [11, 12], [13, 13], [14, 15]]
    indented = Layer(SENTENCES, (Span("s1", "x", ((2, 6),)), Span("s2", "x", ((7, 11),))))
    shown = drawing([Document("  a b. c d.", (indented,))], title="t")
    assert shown["documents"][0]["lines"] == [[0, 7], [7, 11]]
    assert drawing([Document("")], title="t")["documents"][0]["lines"] == [[0, 0]]


def test_layers_are_chosen_and_those_left_out_are_named_queries_too():
    words = Layer("words", (Span("w1", "word", ((0, 3),)),))
    given = Document("add", (words, Layer("main")), queries=(Query("Q1", "Who?"),))
    (shown,) = drawing([given], title="t")["documents"]
    assert shown["notes"] == ["Q1: Who?", "layers not drawn: words"]
    assert drawing([given], title="t", layers=["words"])["layers"][0]["name"] == "words"
    with pytest.raises(LayerError, match="no layer 'pos'"):
        drawing([given], title="t", layers=["pos"])


def test_a_score_that_is_no_number_is_left_out():
    span = Span("T1", "A", ((0, 1),), float("nan"))
    assert "score" not in only(Document("a", (Layer("main", (span,)),)))["spans"][0]


def test_differences_are_listed_with_their_places_on_both_sides():
    gold, predicted = drawn.compared()
    shown = comparison(gold, predicted, title="t")
    assert shown["sides"] == ["gold", "predicted"]
    found = [
        (difference["kind"], difference["what"], difference["items"])
        for difference in shown["differences"]
    ]
    assert found == [
        ("label", "spans", [1, 1]),
        ("boundary", "spans", [2, 2]),
        ("missed", "spans", [5, None]),
        ("spurious", "spans", [None, 5]),
        ("label", "links", [1, 1]),
        ("attachment", "links", [9, 9]),
        ("missed", "links", [0, None]),
        ("spurious", "links", [None, 0]),
    ]
    sides = shown["documents"][0]["sides"]
    assert [sides[at]["links"][9]["state"] for at in (0, 1)] == ["attachment", "attachment"]
    assert [sides[at]["links"][9]["label"] for at in (0, 1)] == ["obl", "nmod"]
    assert shown["documents"][1]["equal"] == 10


def test_layers_belong_to_analyses_and_say_what_they_and_their_labels_mean():
    shown = drawing([drawn.parsed(), drawn.coreference(), drawn.tuples()], title="t")
    assert [analysis["title"] for analysis in shown["analyses"]] == [
        *("Who did what", "Coreference", "Grammar", "Tree")
    ]
    roles = shown["layers"][-1]
    assert (roles["name"], roles["analysis"]) == ("srl", "roles")
    assert roles["about"] == "who did what to whom, when and where"
    assert roles["labels"]["ARGM-TMP"] == "when"
    assert "sell.01" not in roles["labels"]  # nothing explains it


def test_a_label_has_one_colour_whatever_stands_beside_it():
    alone = Document("Ada", (Layer("one", (Span("T1", "Seal", ((0, 3),)),)),))
    crowd = tuple(Span(f"U{at}", f"L{at}", ((0, 3),)) for at in range(40))
    among = Document("Ada", (Layer("two", (*crowd, Span("T1", "Seal", ((0, 3),)))),))
    assert only(alone)["spans"][0]["color"] == only(among)["spans"][-1]["color"]


def test_a_doubtful_layer_says_why_and_is_shown_where_it_is_asked_for():
    doubts = {"coreference": "conll_f1 38.4 on x", "other": "f1 1.0"}
    (layer,) = drawing([drawn.coreference()], title="t", doubts=doubts)["layers"]
    assert layer["doubt"] == "conll_f1 38.4 on x"
    asked = drawing([drawn.coreference()], title="t", layers=["coreference"], doubts=doubts)
    assert "doubt" not in asked["layers"][0]


def test_agreement_is_counted_by_layer_and_label():
    shown = comparison(*drawn.compared(), title="t")
    names = [(shown["layers"][part["layer"]]["name"], part["what"]) for part in shown["agreement"]]
    assert names == [("main", "spans"), ("main", "links"), ("dependency", "links")]
    spans = shown["agreement"][0]
    assert ["Place", 3, 4, 2, 1] in spans["labels"]  # one has other bounds
    assert ["Group", "Place", 1] in spans["confusions"]
    assert ["Action", None, 1] in spans["confusions"]
    assert [None, "Time", 1] in spans["confusions"]
    equal = sum(document["equal"] for document in shown["documents"])
    words = len(drawn.SENTENCE.split())  # equal, but no annotation
    assert equal - words == sum(row[3] for part in shown["agreement"] for row in part["labels"])


def document(name: str, *layers: Layer) -> Document:
    return Document("add the buffer", layers, name)


def test_layers_on_one_side_are_named_and_not_compared():
    pos = Layer("pos", (Span("p1", "VERB", ((0, 3),)),))
    (shown,) = comparison(
        [document("a", pos, Layer("main"))], [document("a", Layer("main"))], title=""
    )["documents"]
    assert shown["notes"] == ["layers on one side only: pos"]
    assert [side["spans"] for side in shown["sides"]] == [[], []]


def test_documents_belong_together_by_name():
    one, other = document("a"), document("b")
    shown = comparison([one, other], [other, one], title="t")
    assert [item["name"] for item in shown["documents"]] == ["a", "b"]
    with pytest.raises(DataError, match="predicted: no document named 'b'"):
        comparison([one, other], [one], title="")
    with pytest.raises(DataError, match="gold: no document named 'b'"):
        comparison([one], [one, other], title="")
    with pytest.raises(DataError, match="gold: expected one document of each name, got two of 'a'"):
        comparison([one, one], [one], title="")
    with pytest.raises(DocumentError, match="a: gold and predicted have different texts"):
        comparison([one], [Document("other", (), "a")], title="")


def test_it_is_plain_json():
    shown = drawing(drawn.every(), title="t")
    assert json.loads(json.dumps(shown)) == shown


def test_a_relation_across_layers_is_a_link_of_its_own_layer():
    spans = Layer("spans", (Span("T1", "A", ((0, 3),)), Span("T2", "B", ((4, 7),))))
    links = Layer("links", (), (Relation("R1", "r", "T1", "T2"),))
    shown = drawing([document("a", spans, links)], title="t")
    assert [layer["name"] for layer in shown["layers"]] == ["spans", "links"]
    assert shown["documents"][0]["sides"][0]["links"][0]["layer"] == 1
