"""Pages in a real browser, used as a reader would: ``make browser-test``.

Needs node, chromium and playwright-core (``tests/conftest.py``); SPANLOOM_SHOTS is a folder for
pictures.
"""

import os
from pathlib import Path

import drawn_samples as drawn
import pytest

from spanloom.glad import leaderboard
from spanloom.glad.result import load_results
from spanloom.viewer.html import render, render_pair

pytestmark = pytest.mark.browser

DRIVER = Path(__file__).with_name("browser.mjs")
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "glad"
SECONDS = 2.0  # of the page's main thread, for 500 sentences


@pytest.fixture(scope="module")
def seen(browser, tmp_path_factory):
    """What the driver saw on all pages."""
    folder = tmp_path_factory.mktemp("pages")
    for name, page in pages().items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    shots = [os.environ["SPANLOOM_SHOTS"]] if "SPANLOOM_SHOTS" in os.environ else []
    return browser(DRIVER, folder, *shots)


def pages():
    samples = {
        "every": drawn.every(),
        "coreference": [drawn.coreference()],
        "nested": [drawn.nested()],
        "many": [drawn.many()],
        "crowded": [drawn.crowded()],
    }
    made = {name: render(documents, title=name) for name, documents in samples.items()}
    wrong = drawn.crowded((*drawn.HEADS[:7], 4, *drawn.HEADS[8:]))
    return made | {
        "hostile": render(drawn.hostile(), title=drawn.HOSTILE[0]),
        "pair": render_pair(*drawn.compared(), title="pair"),
        "unlike": render_pair([drawn.crowded()], [wrong], title="unlike"),
        "board": leaderboard.page(load_results(RESULTS)),
    }


def test_nothing_goes_wrong_and_nothing_is_asked_for(seen):
    assert seen["errors"] == []
    assert all(url.startswith("file://") and url.endswith(".html") for url in seen["requests"])


def test_all_shapes_are_drawn_and_no_text_covers_another(seen):
    every = seen["every"]
    assert every["waiting"] == 0
    assert (every["trees"], every["tables"], every["backward"]) == (1, 2, 2)
    for width in (every, every["narrow"]):
        assert width["covered"] == []
        assert not width["wide"]


def test_a_cluster_lights_up_and_entities_are_listed(seen):
    entities = seen["entities"]
    assert entities["before"] == 8
    assert entities["lit"] == ["2", "2", "2", "2"]
    assert entities["tip"] == ("mention (words for a person or thing): Bob\nlayer coreference, m2")
    assert entities["names"] == ["Bob 4 mentions", "Ada 2 mentions", "his sister 2 mentions"]
    assert (entities["pinned"], entities["after"]) == (2, 0)
    assert entities["said"] == "nothing else is said of it"


def test_a_page_of_many_layers_shows_one_analysis_at_a_time(seen):
    crowded = seen["crowded"]
    assert crowded["tabs"] == ["Names", "Who did what", "Grammar", "Tree", "All together"]
    assert crowded["first"] == [["names"], 2, 0]
    assert crowded["tree"] == 1
    assert crowded["grammar"] == [["tags", "dependency"], ["tags 17", "dependency 17"]]
    assert crowded["sources"] == ["tags", "dependency"]  # rows name their layers
    assert crowded["untagged"] == ["dependency"]
    assert crowded["all"] == ["dependency", "constituency", "names", "relations"]


def test_tabs_are_walked_with_keys_and_trees_fold_and_fit(seen):
    trees = seen["trees"]
    tabs = seen["crowded"]["tabs"]
    assert trees["walked"] == [tabs[at] for at in (-1, 0, -1, 0, 1, 2, 3)]
    fits, folded = trees["narrow"]
    assert fits
    assert folded
    assert trees["kept"]
    assert folded[0] not in trees["opened"]
    assert trees["closed"] == folded


def test_texts_are_searched_and_have_an_index(seen):
    search = seen["search"]
    assert search["said"] == "2 of 500"
    assert 1 < search["hits"] < 500  # only what is near the view is drawn
    assert (search["last"], search["seen"]) == ("500 of 500", 1)
    assert search["none"] == 0
    assert search["lines"] == 500
    in_view, bar_top = search["there"]
    assert in_view
    assert bar_top == 0  # the controls stay in sight


def test_a_difference_switches_on_its_layer(seen):
    unlike = seen["unlike"]
    assert unlike["sides"] == 1  # what differs is not shown yet
    assert unlike["after"] == 2
    assert unlike["place"].startswith("item arc c0 attachment")
    assert unlike["tab"] == "Grammar"


def test_the_slider_hides_what_is_less_sure(seen):
    said, shown = seen["scores"]["all"]
    assert (said, len(shown)) == ("0.00: 5 of 5 left", 6)
    said, shown = seen["scores"]["few"]
    # R1 (0.8) goes with its end T4 (0.55); R2 has no score and both its ends.
    assert (said, sorted(shown)) == ("0.60: 2 of 5 left", ["l1", "s0", "s1"])


def test_keys_walk_through_a_row_and_escape_leaves(seen):
    keys = seen["keys"]
    assert (keys["first"], keys["second"], keys["left"]) == ("s0", "s2", None)
    label = "Organization: Bank of the United States of America. layer main, T1, score 0.910"
    assert keys["label"].startswith(label)
    assert keys["tip"]
    assert keys["hidden"]


def test_differences_are_listed_by_kind_and_lead_to_their_places(seen):
    pair = seen["pair"]
    assert pair["kinds"] == ["2 missed", "2 spurious", "1 boundary", "2 label", "1 attachment"]
    last = ["attachment", "one", "dependency", "obl: “works” → “town”", "nmod: “Orbis” → “town”"]
    assert pair["rows"][-1][:-1] == last
    assert pair["rows"][-1][-1] == drawn.SENTENCE  # the sentence around it
    assert pair["around"] == ["works", "town"]
    assert pair["place"].startswith("item arc c0 attachment")
    assert pair["sides"] == [2, 1, 1, 1, 1]  # a line without difference is drawn once
    assert pair["rates"] == [
        "main, spans precision 75.0, recall 75.0, F1 75.0",
        "main, links precision 66.7, recall 66.7, F1 66.7",
        "dependency, links precision 94.1, recall 94.1, F1 94.1",
    ]
    assert "Group\t\t\t1" in pair["confused"]
    assert pair["shown"] == len(pair["rows"]) - 2


def test_hostile_strings_run_nothing(seen):
    hostile = seen["hostile"]
    assert (hostile["hurt"], hostile["images"], hostile["scripts"]) == (None, 0, 2)
    assert hostile["sections"] == len(drawn.HOSTILE)
    assert hostile["heading"] == drawn.HOSTILE[0]


def test_five_hundred_sentences_are_quick(seen):
    speed = seen["speed"]
    assert speed["lines"] == 500
    assert speed["waiting"] > 400  # only what is near the view is drawn
    assert speed["first"] < SECONDS


def test_nothing_keeps_readers_out(seen):
    found = {page: findings for page, findings in seen["openToAll"].items() if findings is not None}
    if not found:
        pytest.skip("no axe-core beside playwright-core")
    assert found == dict.fromkeys(found, [])


def test_the_leaderboard_fits_wide_and_narrow_pages(seen):
    for width, (used, findings) in seen["board"].items():
        assert used <= int(width)
        assert findings in ([], None)


def test_without_scripts_text_and_table_are_shown(seen):
    assert "The Bank of the United States of America said no ." in seen["plain"]
    assert "T4  Speech        41;46  45;48  0.550  said no" in seen["plain"]


def test_lines_are_drawn_where_nobody_says_which_are_in_view_and_the_scheme_is_switched(seen):
    assert seen["fallback"] == "dark"
