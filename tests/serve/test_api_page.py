"""``/docs``: all endpoints on one page that loads nothing from elsewhere."""

import re

import pytest
from fake_model import ABOUT
from lxml import html

from spanloom.serve import api_page, openapi


def test_every_endpoint_is_a_section_that_a_link_leads_to(asked):
    page = html.fromstring(asked("/docs").text)
    headings = {heading.text_content().split()[1] for heading in page.iter("h2")}
    assert headings | {"/openapi.json"} == set(openapi.PATHS)
    anchors = {heading.get("id") for heading in page.iter("h2")}
    links = {link.get("href") for link in page.findall(".//nav/a")}
    assert links == {f"#{anchor}" for anchor in anchors}
    assert len(anchors) == len(headings)


def test_nothing_is_loaded_from_elsewhere_and_no_script_runs(asked):
    reply = asked("/docs")
    page = html.fromstring(reply.text)
    loaded = [value for _, attribute, value, _ in page.iterlinks() if not value.startswith("#")]
    assert loaded == ["/favicon.svg", "/openapi.json"]
    assert not list(page.iter("script"))
    rules = dict(
        rule.split(" ", 1) for rule in reply.headers["content-security-policy"].split("; ")
    )
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in str(rules)


def test_what_a_request_takes_is_told_in_words(asked):
    text = html.fromstring(asked("/docs").text).text_content()
    assert "list of strings, up to 256" in text
    assert "one of json, brat, conllu, page; default json" in text
    assert 'curl --json \'{"text": "Ada met Bob."}\'' in text


def test_marks_of_html_are_text():
    endpoint = {"summary": "<b>&", "responses": {"200": {"description": "done"}}}
    info = {"title": "<i>", "description": "<u>"}
    page, _ = api_page.render({"info": info, "paths": {"/<x>": {"get": endpoint}}})
    assert not re.search("<(b|i|u|x)>", page)


@pytest.mark.parametrize("path", openapi.OPEN_PATHS)
def test_pages_and_their_icon_are_shown_without_the_token(asked, path):
    assert asked(path, token="secret").status_code == 200
    assert asked("/openapi.json", token="secret").status_code == 401


def test_the_icon_is_a_picture_that_the_page_names(asked):
    icon = asked("/favicon.svg")
    assert icon.headers["content-type"] == "image/svg+xml"
    assert html.fromstring(icon.content).tag == "svg"
    assert '<link rel="icon" href="/favicon.svg"' in asked("/", about=ABOUT).text
