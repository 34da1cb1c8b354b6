"""The page for browsers as it is served, and those of its modules that need no browser."""

import base64
import hashlib
import io
import json
import re
import subprocess
import zipfile
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from fake_model import MOOD, NAMES, annotated

from spanloom.document import WORDS, Document
from spanloom.serve.app import PAGE_SCRIPT
from spanloom.viewer.data import drawing
from spanloom.viewer.script import modules, script

HERE = Path(__file__).parent
SITE = files("spanloom.serve").joinpath("site")


@pytest.fixture
def page(asked):
    reply = asked("/")
    assert (reply.status_code, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    return reply


def test_the_policy_allows_the_one_style_the_one_script_and_this_server(page):
    rules = dict(rule.split(" ", 1) for rule in page.headers["content-security-policy"].split("; "))
    for kind, pattern in (
        ("style-src", "<style>(.*?)</style>"),
        ("script-src", '<script type="module">(.*?)</script>'),
    ):
        (content,) = re.findall(pattern, page.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules.pop(kind) == f"'sha256-{digest}'"
    nothing = ("default-src", "base-uri", "form-action", "frame-ancestors")
    assert rules == dict.fromkeys(nothing, "'none'") | {
        "connect-src": "'self'",
        "img-src": "'self' blob:",
    }


class Attributes(HTMLParser):
    """The attributes of all elements, and the ids that labels and descriptions point at."""

    def __init__(self, text):
        super().__init__()
        self.names, self.ids, self.pointed = set(), [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        said = dict(attrs)
        self.names |= said.keys()
        self.ids += [said["id"]] if "id" in said else []
        for name in ("for", "aria-describedby", "aria-labelledby"):
            self.pointed |= set(said.get(name, "").split())


def test_nothing_is_handled_or_styled_in_the_markup_and_labels_have_their_elements(page):
    found = Attributes(page.text)
    assert not [name for name in found.names if name == "style" or name.startswith("on")]
    assert len(found.ids) == len(set(found.ids))
    assert found.pointed <= set(found.ids)


def test_nothing_comes_from_elsewhere_and_no_text_becomes_markup():
    code = script(PAGE_SCRIPT).replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://", code)
    assert not re.search(
        r"innerHTML|insertAdjacentHTML|document\.write|\beval\b|localStorage", code
    )
    assert not re.search(r"^(import|export)\b", code, re.MULTILINE)
    style = SITE.joinpath("site.css").read_text(encoding="utf-8")
    assert not re.search(r"url\(|@import", style)


def test_all_modules_are_used():
    there = {path.name for path in SITE.iterdir() if path.name.endswith(".js")}
    used = {f"{name.rpartition('/')[2]}.js" for name in modules(PAGE_SCRIPT) if "/site/" in name}
    assert used == there


def test_the_page_is_shown_without_a_token_and_knows_nothing(asked, page):
    assert asked("/", token="secret").text == page.text
    assert "fake" not in page.text


@pytest.mark.parametrize("text", ["Ada met Bob.\nCarl met Dora!", "", "😀 Ada"])
def test_the_format_of_the_page_is_what_is_drawn(asked, text):
    reply = asked("/v1/annotate", {"text": text, "format": "page"}).json()
    made = annotated(Document(text, name="text"), (NAMES, MOOD), True)
    shown = [layer.name for layer in made.layers if layer.name != WORDS]
    kept = Document(text, tuple(made[name] for name in shown), "text")
    assert reply == {"format": "page", "documents": [drawing([kept], title="text")]}
    assert reply["documents"][0]["documents"][0]["notes"] == []


def test_what_is_drawn_has_the_ids_of_what_is_saved(asked):
    body = {"text": "Ada met Bob.", "tasks": [NAMES]}
    (shown,) = asked("/v1/annotate", {**body, "format": "page"}).json()["documents"]
    (saved,) = asked("/v1/annotate", {**body, "format": "json"}).json()["documents"]
    drawn = shown["documents"][0]["sides"][0]["spans"]
    assert [box["id"] for box in drawn] == [span["id"] for span in saved["layers"][0]["spans"]]


def test_modules_that_need_no_page(node):
    run = subprocess.run(
        [node, "--test", HERE / "site.test.mjs"], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"text.txt": "Ada met Böb 😀", "text.ann": "T1\tName 0 3\tAda\n", "text.words": ""},
        {"größe.txt": "a" * 70_000},
    ],
)
def test_archives_are_read_by_others(node, given):
    command = [node, HERE / "zipped.mjs"]
    made = subprocess.run(
        command, input=json.dumps(given).encode(), capture_output=True, check=True, timeout=60
    )
    with zipfile.ZipFile(io.BytesIO(made.stdout)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name).decode() for name in archive.namelist()} == given
