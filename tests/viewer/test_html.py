"""The page is checked as a browser would read it: by strict parsers, without running anything."""

import base64
import hashlib
import json
import re
from collections import Counter
from html.parser import HTMLParser
from importlib.resources import files

import drawn_samples as drawn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html as lxml

from spanloom.document import Document, Layer, Note, Span
from spanloom.viewer.data import drawing
from spanloom.viewer.html import render, render_pair
from spanloom.viewer.script import DRAWING, modules, script

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "main", "noscript", "p"),
    *("h2", "pre", "script", "header"),
}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "id", "type"}


class Reader(HTMLParser):
    """Collects tags, attributes and what scripts hold; every element has to be closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.names: set[str] = set()
        self.scripts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.names |= {name for name, _ in attrs}
        assert len({name for name, _ in attrs}) == len(attrs)
        if tag == "script":
            self.scripts.append("")
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


def read(page: str) -> tuple[dict, Reader]:
    """Return the data of a page of ours: nothing in it may come from anywhere else."""
    page.encode("utf-8")
    found = Reader(page)
    assert set(found.tags) <= TAGS
    assert found.names <= ATTRIBUTES
    assert found.tags["script"] == 2
    data, code = found.scripts
    assert code.startswith(script(DRAWING))
    other = lxml.document_fromstring(page).xpath("//script")
    assert [element.text for element in other] == [data, code]
    return json.loads(data), found


def hostile_page() -> str:
    return render(drawn.hostile(), title=drawn.HOSTILE[0])


def test_hostile_strings_come_back_as_they_were_and_nothing_becomes_markup():
    data, _ = read(hostile_page())
    assert data == drawing(drawn.hostile(), title=drawn.HOSTILE[0])
    for at, (nasty, document) in enumerate(zip(drawn.HOSTILE, data["documents"], strict=True)):
        (side,) = document["sides"]
        assert document["text"] == nasty
        assert document["name"] == f"{nasty} {at}"
        assert side["spans"][0]["label"] == side["links"][0]["id"] == nasty
        assert nasty in side["spans"][1]["about"][1]
        assert data["layers"][at]["name"] == f"layer {at} {nasty}"


def test_hostile_strings_beside_one_another():
    page = render_pair(drawn.hostile(), drawn.hostile(), title="</title>")
    data, _ = read(page)
    assert [document["text"] for document in data["documents"]] == list(drawn.HOSTILE)


@settings(max_examples=100, deadline=None)
@given(
    st.text(st.characters(), max_size=40),
    st.text(st.characters(), max_size=12).map(lambda drawn: f"x{drawn}"),
)
def test_any_strings_come_back_as_they_were(text, label):
    # Two halves of a pair, one behind the other, are one character to JSON.
    text, label = (
        re.sub("[\ud800-\udbff](?=[\udc00-\udfff])", "", value) for value in (text, label)
    )
    layer = Layer(
        "main", (Span("T1", label, ((0, len(text)),)),), notes=(Note("#1", "n", "T1", text),)
    )
    data, _ = read(render([Document(text, (layer,), label)], title=text))
    (document,) = data["documents"]
    assert (document["text"], document["name"], data["title"]) == (text, label, text)
    assert document["sides"][0]["spans"][0]["label"] == label


@pytest.mark.parametrize("page", [hostile_page(), render_pair(*drawn.compared(), title="t")])
def test_the_policy_allows_the_one_style_and_the_one_script(page):
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules.pop("default-src") == "'none'"
    for kind, pattern in (
        ("style-src", "<style>(.*?)</style>"),
        ("script-src", 'module">(.*?)</script>'),
    ):
        (content,) = re.findall(pattern, page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules.pop(kind) == f"'sha256-{digest}'"
    assert rules == {"base-uri": "'none'", "form-action": "'none'"}


def test_style_and_script_ask_nothing_of_any_network():
    page = render([], title="none")
    bare = re.sub(r"/\*.*?\*/", "", page, flags=re.DOTALL)
    bare = bare.replace("http://www.w3.org/2000/svg", "")  # the name of SVG, asked of nobody
    assert not re.search(r"https?:|url\(|@import|\bfetch\b|XMLHttpRequest|import\(|innerHTML", bare)
    assert not re.search(r"\bsrc\b|href|eval|insertAdjacentHTML|document\.write", script(DRAWING))


def test_modules_stand_behind_what_they_import_and_all_files_are_used():
    folder = files("spanloom.viewer").joinpath("draw")
    assert sorted(modules(DRAWING)) == sorted(
        f"viewer/draw/{file.name.removesuffix('.js')}"
        for file in folder.iterdir()
        if file.name.endswith(".js")
    )
    assert modules(DRAWING)[-1] == DRAWING
    assert not re.search(r"^(import|export)\b", script(DRAWING), re.MULTILINE)


def test_texts_and_tables_stand_where_no_script_is_run():
    page = render([drawn.nested()], title="t")
    (plain,) = re.findall("<noscript>(.*?)</noscript>", page, re.DOTALL)
    assert "The Bank of the United States of America said no ." in plain
    assert re.search(r"T2 +Country +16 +40 +0\.720 +United States of America", plain)
    both = render_pair(*drawn.compared(), title="t")
    assert re.findall("<h2>(.*?)</h2>", both) == [
        *("gold: one", "gold: right to left", "predicted: one", "predicted: right to left")
    ]


def test_the_same_documents_give_the_same_page():
    assert render(drawn.every(), title="t") == render(drawn.every(), title="t")


def test_no_documents_and_empty_documents_are_pages_too():
    assert read(render([], title="none"))[0]["documents"] == []
    read(render([drawn.empty(), Document("")], title="empty"))
