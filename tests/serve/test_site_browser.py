"""The page of a running server in a real browser, used as a reader would: ``make browser-test``.

Needs node, chromium and playwright-core (``tests/conftest.py``); SPANLOOM_SHOTS is a folder for
pictures.
"""

import json
import os
import struct
import sys
import zipfile
from pathlib import Path

import pytest
from fake_model import CYRILLIC, MOOD, NAMES, annotated, serving
from lxml import etree

from spanloom.annotation.comparable import comparable
from spanloom.document import Document
from spanloom.formats import conllu, jsonl
from spanloom.formats.brat import read as brat
from spanloom.serve.limits import Limits

pytestmark = pytest.mark.browser

DRIVER = Path(__file__).with_name("site_browser.mjs")
SAMPLES = Path(__file__).parents[1] / "viewer"
TEXT = "Ada met Bob in Paris.\nThen Carl, 😀 and Dora came!"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def hostile():
    """The hostile strings that a server takes: those with half a character it refuses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SAMPLES)
        from drawn_samples import HOSTILE
    return [
        text
        for text in HOSTILE
        if "\x00" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)
    ]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return tmp_path_factory.mktemp("saved")


@pytest.fixture(scope="module")
def seen(browser, saved, hostile):
    """What the driver saw on the pages of three servers."""
    strings = saved / "hostile.json"
    strings.write_text(json.dumps(hostile), encoding="utf-8")
    shots = [os.environ["SPANLOOM_SHOTS"]] if "SPANLOOM_SHOTS" in os.environ else []
    with (
        serving() as usual,
        serving(token="secret") as locked,
        serving(Limits(characters=20)) as short,
    ):
        urls = [f"http://127.0.0.1:{server.port}/" for server in (usual, locked, short)]
        found = browser(DRIVER, *urls, saved, strings, *shots)
    return found | {"urls": urls}


def expected():
    return annotated(Document(TEXT, name="text"), (NAMES, MOOD), False)


def test_nothing_goes_wrong_and_nobody_else_is_asked(seen):
    assert seen["errors"] == []
    assert all(url.startswith((*seen["urls"], "blob:")) for url in seen["requests"])


def test_the_page_opens_with_an_example_and_says_what_it_is(seen):
    opening = seen["opening"]
    assert opening["asked"] == [["Ada Lovelace", [NAMES, MOOD]]]
    assert opening["about"] == (
        "shows in a text: relations and classes. The model fake reads English."
    )
    assert (opening["examples"], opening["again"]) == (5, 2)  # one click each
    assert opening["folded"]
    assert (opening["open"], opening["focus"]) == (True, "text")
    assert opening["tabs"] == ["Relations", "Classes", "All together"]
    first, second = opening["known"]
    assert first.startswith("names | things in the text")
    assert first.endswith("| relations | people | f1 99.00")
    assert "extractive classification" in second


def test_what_is_often_wrong_is_off_until_it_is_chosen_and_says_so(seen):
    doubts = seen["doubts"]
    assert doubts["about"].endswith("The model fake reads German.")
    assert (doubts["examples"], doubts["before"]) == (0, 0)
    assert doubts["tabs"] == ["Relations", "Classes often wrong", "All together"]
    said = "moods is often wrong (f1 31.0 on x), so it is off until you choose it."
    assert doubts["said"] == said
    assert doubts["tasks"] == [[NAMES], [NAMES, MOOD], [NAMES, MOOD]]


def test_all_can_be_done_with_the_keyboard_alone(seen):
    keyboard = seen["keyboard"]
    assert keyboard["focus"] == "edit"
    assert keyboard["tab"] == "Classes"
    assert keyboard["text"] == "Ada met Bob!"
    assert keyboard["disabled"]


def test_what_is_drawn_is_pointed_at_and_filtered(seen):
    filters = seen["filters"]
    assert filters["said"] == "7 spans, 5 links"
    assert "\nlayer names, T" in filters["tip"]
    assert filters["all"] > filters["sure"] > filters["none"] == 0
    assert filters["kept"] == ["true", "false"]  # what is switched off stays off for the next text
    assert filters["one"] == "2 spans, 0 links"


def test_saved_json_is_what_the_model_said(seen, saved):
    line = (saved / seen["files"]["JSON"]).read_text(encoding="utf-8")
    assert next(jsonl.loads(line)) == expected()
    assert next(jsonl.loads(seen["copies"])) == expected()


def test_saved_conllu_has_the_words(seen, saved):
    told = (saved / seen["files"]["CoNLL-U"]).read_text(encoding="utf-8")
    (found,) = conllu.loads(told)
    assert [found.text_of(span) for span in found["words"].spans][:3] == ["Ada", "met", "Bob"]


def test_saved_brat_reads_back(seen, saved):
    with zipfile.ZipFile(saved / seen["files"]["brat (.zip)"]) as archive:
        parts = {
            Path(name).suffix: archive.read(name).decode("utf-8") for name in archive.namelist()
        }
    assert parts.pop(".txt") == TEXT
    reading = brat.loads_parts(TEXT, parts, name="text")
    assert not reading.problems
    labels = {item[:2] for item in comparable(reading.document)}
    assert labels
    spans = {
        (s.label, reading.document.text_of(s)) for y in reading.document.layers for s in y.spans
    }
    assert {("Name", "Ada"), ("Name", "Dora")} <= spans


def test_saved_pictures_show_the_words(seen, saved):
    tree = etree.parse(saved / seen["files"]["SVG"]).getroot()
    texts = ["".join(element.itertext()) for element in tree.iter(f"{SVG}text")]
    assert {"Ada", "Dora", "😀"} <= set(texts)
    assert tree.iter(f"{SVG}rect").__next__().get("fill").startswith("rgb(")
    assert not [
        element for element in tree.iter() if {"class", "style", "data-key"} & set(element.attrib)
    ]
    png = (saved / seen["files"]["PNG"]).read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    assert width == pytest.approx(2 * float(tree.get("width")), abs=2)
    assert height == pytest.approx(2 * float(tree.get("height")), abs=2)


def test_a_link_holds_the_text_and_no_server_sees_it(seen):
    links = seen["links"]
    assert links["text"] == TEXT
    assert links["drawn"] == "Ada met Bob in Paris."  # a link draws when it is opened
    assert links["address"].partition("#")[2].startswith("text=d.")
    assert links["broken"] == ["The link holds no whole text; a part of it may be lost.", False]


def test_files_are_opened_and_dropped(seen):
    assert seen["opens"]["chosen"] == "Böb came."
    assert seen["opens"]["wrong"] == ["b.txt: expected a text in UTF-8.", False]


def test_wrong_and_long_texts_are_told(seen):
    wrong = seen["wrong"]
    said = "Unprocessable Entity: text: character 1: lone surrogate U+D800"
    assert wrong["half"] == [said, False]
    assert (wrong["warning"], wrong["warned"]) == (CYRILLIC, False)
    assert wrong["size"] == "23 of 20 characters: 3 too many; send it in parts"
    assert wrong["disabled"]
    assert wrong["asked"] == []


def test_a_server_that_is_away_is_asked_again(seen):
    assert seen["away"] == {"said": ["The server does not answer.", True], "gone": True}


def test_a_busy_server_is_waited_for_until_the_reader_gives_up(seen):
    said = "The server is busy; asking again in 30 s (2 of 4)."
    assert seen["busy"] == {"said": said, "hidden": True, "times": 3}


def test_a_token_is_asked_for_once_and_kept_with_the_tab(seen):
    assert seen["token"] == [0, ""]


def test_hostile_strings_run_nothing(seen, hostile):
    found = seen["hostile"]
    assert (found["hurt"], found["strange"], found["scripts"]) == (None, 0, 1)
    assert found["chips"] == len(hostile) + 2


def test_a_hundred_sentences_are_soon_seen(seen, capsys):
    speed = seen["speed"]
    with capsys.disabled():
        sys.stdout.write(f"\n100 sentences: drawn {speed['milliseconds']:.0f} ms after the reply\n")
    assert speed["milliseconds"] < 1000
    assert speed["waiting"] > 50  # only what is near the view is drawn


def test_nothing_keeps_readers_out(seen):
    found = {page: findings for page, findings in seen["openToAll"].items() if findings is not None}
    if not found:
        pytest.skip("no axe-core beside playwright-core")
    assert found == dict.fromkeys(found, [])


def test_small_screens_have_room_and_no_script_says_what_is_missing(seen):
    assert not seen["wide"]
    assert "/docs describes it" in seen["plain"]
