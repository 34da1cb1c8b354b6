"""The page is checked as a browser would read it: by a strict parser of the standard library."""

import base64
import hashlib
import re
import time
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.document import Attribute, Document, Layer, Note, Relation, Span
from spanloom.errors import DataError, DocumentError, LayerError
from spanloom.page.html import render
from spanloom.page.pair import render_pair

NASTY = "</title><script>alert(1)</script>&amp;\"'\x00\u202e"


class Reader(HTMLParser):
    """Collects tags and text, and insists that every element is closed in order."""

    VOID = frozenset({"meta"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.values: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.values += [value for _, value in attrs if value]
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]
        assert len({name for name, _ in attrs}) == len(attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


def document(name: str = "doc", text: str = "add the buffer\nand wait") -> Document:
    layer = Layer(
        "main",
        spans=(
            Span("T1", "Action", ((0, 3),), 0.5),
            Span("T2", "Reagent", ((8, 14),)),
            Span("T3", "Action", ((19, 23),)),
        ),
        relations=(Relation("R1", "acts-on", "T1", "T2"), Relation("R2", "next", "T1", "T3")),
        attributes=(Attribute("A1", "Negated", "T3"),),
        notes=(Note("#1", "Note", "T1", "look"),),
    )
    return Document(text, (layer,), name)


def test_the_page_says_all_there_is():
    page = Reader(render([document()], title="A title"))
    assert sorted(page.texts["title"]) == [
        "A title",
        "R1 acts-on: T1 → T2",
        "R2 next: T1 → T3",
        "R2 next: T1 → T3",
        "T1 Action: add\nscore 0.500\n#1 Note: look",
        "T2 Reagent: buffer",
        "T3 Action: wait\nA1 Negated",
    ]
    shown = page.texts["text"]
    for word in ("add", "the", "buffer", "and", "wait", "Action", "Reagent", "Action [Negated]"):
        assert word in shown
    assert {"acts-on", "next → wait", "add → next"} <= set(shown)


def test_the_legend_counts_labels():
    page = render([document("a"), document("b")], title="")
    legend = page[page.index('class="legend"') : page.index("<h2>")]
    counts = re.findall(r'<span class="(c\d+|r)">([^<]+)</span> <i>(\d+)</i>', legend)
    assert counts == [
        ("c0", "Action", "4"),
        ("c1", "Reagent", "2"),
        ("r", "acts-on", "2"),
        ("r", "next", "2"),
    ]


def test_the_policy_allows_the_one_style_and_nothing_else():
    page = render([document()], title="")
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.split("; ")[:2] == ["default-src 'none'", f"style-src 'sha256-{digest}'"]
    assert "style=" not in page
    assert not re.search(r"url\(|@import|https?:", page)


def test_nothing_an_annotator_writes_becomes_markup():
    layer = Layer(
        NASTY,
        (Span("T1", NASTY, ((0, 4),)), Span("T2", "B", ((4, len(NASTY)),))),
        (Relation("R1", NASTY, "T1", "T2"),),
        attributes=(Attribute("A1", NASTY, "T1", NASTY), Attribute("A2", NASTY, "T9")),
        notes=(Note("#1", NASTY, "T1", NASTY),),
    )
    nasty = Document(NASTY, (layer,), NASTY)
    one = Reader(render([nasty], title=NASTY))
    assert "script" not in one.tags
    assert any("⟨202E⟩" in text for text in one.texts["text"])
    two = Reader(render_pair([nasty], [Document(NASTY, (Layer(NASTY),), NASTY)], title=NASTY))
    assert "script" not in two.tags


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(), max_size=40), st.text(st.characters(), max_size=12))
def test_any_text_gives_well_formed_svg_that_can_be_written(text, label):
    span = Span("T1", label, ((0, len(text)),))
    page = render([Document(text, (Layer("main", (span,)),))], title=text)
    page.encode("utf-8")
    Reader(page)
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        if not re.search("[\ufffe\uffff]", svg):  # HTML knows these two characters, XML does not
            ElementTree.fromstring(svg)


def test_the_same_documents_give_the_same_page():
    assert render([document()], title="t") == render([document()], title="t")


def test_layers_are_chosen_and_those_left_out_are_named():
    words = Layer("words", (Span("w1", "word", ((0, 3),)),))
    given = document().with_layer(words)
    page = Reader(render([given], title=""))
    assert "word" not in page.texts["text"]
    assert "Layers not drawn: words" in page.texts["p"]
    assert "word" in Reader(render([given], title="", layers=["words"])).texts["text"]
    with pytest.raises(LayerError, match="no layer 'pos'"):
        render([given], title="", layers=["pos"])


def test_no_documents_and_empty_documents_are_pages_too():
    Reader(render([], title="none"))
    Reader(render([Document("")], title="empty"))


def test_five_hundred_sentences_take_less_than_two_seconds():
    text = "Add 250 ml of Genomic Lysis Buffer to the tube and invert it 10 times\n" * 50
    bounds = [(at, at + 3) for at in range(0, len(text) - 4, 12)]
    spans = tuple(Span(f"T{i}", f"L{i % 9}", (each,)) for i, each in enumerate(bounds))
    links = tuple(Relation(f"R{i}", "r", f"T{i}", f"T{i + 2}") for i in range(len(spans) - 2))
    documents = [Document(text, (Layer("main", spans, links),), str(at)) for at in range(10)]
    started = time.process_time()
    render(documents, title="many")
    assert time.process_time() - started < 2


def predicted() -> Document:
    layer = Layer(
        "main",
        spans=(
            Span("P1", "Action", ((0, 3),)),
            Span("P2", "Device", ((8, 14),)),
            Span("P3", "Time", ((15, 18),)),
        ),
        relations=(Relation("Q1", "acts-on", "P1", "P2"),),
    )
    return Document(document().text, (layer,), "doc")


def test_differences_are_listed_and_marked():
    page = render_pair([document()], [predicted()], title="")
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)]
    assert rows[1:] == [
        ["label", "main", "Reagent “buffer” 8–14", "Device “buffer” 8–14"],
        ["missed", "main", "Action “wait” 19–23", ""],
        ["spurious", "main", "", "Time “and” 15–18"],
        ["missed", "main", "acts-on: “add” → “buffer”", ""],
        ["missed", "main", "next: “add” → “wait”", ""],
        ["spurious", "main", "", "acts-on: “add” → “buffer”"],
    ]
    assert "differences: 1 equal, 1 label, 3 missed, 2 spurious" in page
    assert len(re.findall(r'class="b c\d+ label"', page)) == 2


def test_a_line_without_difference_is_drawn_once():
    page = Reader(render_pair([document()], [document()], title=""))
    assert page.tags["svg"] == 2
    assert page.tags["table"] == 0
    other = render_pair([document()], [predicted()], title="")
    assert Reader(other).tags["svg"] == 4


def test_layers_on_one_side_are_named_and_not_compared():
    gold = document().with_layer(Layer("pos", (Span("p1", "VERB", ((0, 3),)),)))
    page = render_pair([gold], [document()], title="")
    assert "Layers on one side only: pos" in page
    assert "VERB" not in page


def test_documents_belong_together_by_name():
    one, other = document("a"), document("b")
    page = render_pair([one, other], [other, one], title="")
    assert "missed" not in Reader(page).texts.get("td", [])
    with pytest.raises(DataError, match="predicted: no document named 'b'"):
        render_pair([one, other], [one], title="")
    with pytest.raises(DataError, match="gold: no document named 'b'"):
        render_pair([one], [one, other], title="")
    with pytest.raises(DataError, match="gold: expected one document of each name, got two of 'a'"):
        render_pair([one, one], [one], title="")
    with pytest.raises(DocumentError, match="a: gold and predicted have different texts"):
        render_pair([one], [Document("other", one.layers[:0], "a")], title="")
