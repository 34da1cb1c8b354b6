"""Whatever is sent, the answer is no failure of ours, and a wrong request is told its place."""

import asyncio
import json

import httpx
import pytest
from fake_model import ABOUT
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from spanloom.serve.app import application
from spanloom.serve.limits import Limits

ANNOTATE = "/v1/annotate"
LONG = Limits().characters + 1


@pytest.mark.parametrize(
    ("body", "status", "where"),
    [
        (b"", 400, "body: line 1, column 1"),
        (b'{"text": "a"', 400, "body: line 1, column 13"),
        (b'{"text":\n "a\tb"}', 400, "body: line 2, column 4"),
        (b'\xef\xbb\xbf{"text": "a"}', 400, "body: line 1, column 1"),
        (b'{"text": "a\xff"}', 400, "body: byte 11"),
        (b'{"text": "\xed\xa0\x80"}', 400, "body: byte 10"),
        (b'{"text": "a", "text": "b"}', 400, "body"),
        (b"[" * 100_000, 400, "body: character 8"),
        (b'{"text": ' * 100_000, 400, "body: character 72"),
        (b'{"[[": "]]", "text": ' + b"[" * 100_000, 400, "body: character 28"),
        (b"[]", 422, "body"),
        (b"NaN", 422, "body"),
        (b"{}", 422, "body"),
        (b'{"text": NaN}', 422, "text"),
        (b'{"text": ' + b"9" * 5000 + b"}", 422, "text"),
        (b'{"texts": ["a", -Infinity]}', 422, "texts[1]"),
        (b'{"texts": [["a"]]}', 422, "texts[0]"),
        (b'{"texts": []}', 422, "texts"),
        (b'{"text": "a", "texts": ["b"]}', 422, "body"),
        (b'{"text": "a", "model": "b"}', 422, "body"),
        (rb'{"text": "ab\u0000"}', 422, "text: character 2"),
        (rb'{"texts": ["a", "\ud83d\ude00 123\ud800"]}', 422, "texts[1]: character 5"),
        (b'{"text": "a", "tasks": "names"}', 422, "tasks"),
        (b'{"text": "a", "tasks": ["names", "x"]}', 422, "tasks[1]"),
        (b'{"text": "a", "tasks": ["who"]}', 422, "tasks[0]"),
        (b'{"text": "a", "format": "xml"}', 422, "format"),
        (json.dumps({"texts": ["a"] * 257}).encode(), 422, "texts"),
        (json.dumps({"texts": ["a", "b" * LONG]}).encode(), 413, "texts[1]"),
        (json.dumps({"text": "a", "tasks": ["n" * 1_000_000]}).encode(), 422, "tasks[0]"),
        (json.dumps({"k" * 1_000_000: 1}).encode(), 422, "body"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(asked, body, status, where):
    reply = asked(ANNOTATE, body)
    said = reply.json()
    assert (reply.status_code, said["status"], said["where"]) == (status, status, where)
    assert said["detail"].startswith(where + ": ")
    assert len(reply.content) < 1000
    assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("/v1/ask", {"text": "a"}, "body"),
        ("/v1/ask", {"question": "a"}, "text"),
        ("/v1/ask", {"text": "a", "questions": ["b", " \n"]}, "questions[1]"),
        ("/v1/ask", {"text": "a", "question": "\ud800"}, "question: character 0"),
        ("/v1/classify", {"text": "a", "text_pair": None}, "text_pair"),
        ("/v1/classify", {"texts": ["a"], "text_pair": "b"}, "text_pair"),
        ("/v1/classify", {"text": "a", "labels": ["b"]}, "labels"),
        ("/v1/classify", {"text": "a", "labels": ["b", "B"]}, "labels"),
        ("/v1/classify", {"text": "a", "labels": ["b", " "]}, "labels"),
        ("/v1/classify", {"text": "a", "labels": ["b", 3]}, "labels[1]"),
        ("/v1/classify", {"text": "a", "labels": ["b", "c"], "range": [0, 1]}, "body"),
        ("/v1/classify", {"text": "a", "range": [1, 0]}, "range"),
        ("/v1/classify", {"text": "a", "range": [0, "1"]}, "range"),
        ("/v1/classify", {"text": "a", "range": [-1.5e308, 1.5e308]}, "range"),
    ],
)
def test_other_addresses_check_as_well(asked, path, body, where):
    reply = asked(path, body)
    assert (reply.status_code, reply.json()["where"]) == (422, where)


def test_what_is_no_json_by_its_head_is_refused(asked):
    for said in ("text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"):
        reply = asked(ANNOTATE, b'{"text": "a"}', headers={"content-type": said})
        assert (reply.status_code, reply.json()["where"]) == (415, "header content-type")
    kind = {"content-type": "Application/JSON; charset=utf-8"}
    assert asked(ANNOTATE, b'{"text": "a"}', headers=kind).status_code == 200


def test_other_addresses_and_methods_are_told_which_there_are(asked):
    assert asked("/nowhere").status_code == 404
    assert asked("/redoc").status_code == 404
    reply = asked(ANNOTATE)
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")
    assert reply.json()["detail"].startswith("address: expected POST, got GET; addresses: ")
    reply = asked(f"{ANNOTATE}/", b'{"text": "a"}')
    assert (reply.status_code, "/v1/annotate," in reply.json()["detail"]) == (404, True)


async def _status_of_head(app, path):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as to:
        return (await to.head(path)).status_code


def test_head_is_answered_where_get_is(lanes):
    paths = ("/", "/health/live", "/v1/model", ANNOTATE)
    statuses = [asyncio.run(_status_of_head(application(lanes, ABOUT), path)) for path in paths]
    assert statuses == [200, 200, 200, 405]


def test_labels_are_as_many_as_can_be_chosen_among(asked):
    for labels in (["a"], [str(number) for number in range(70)]):
        reply = asked("/v1/classify", {"text": "a", "labels": labels})
        assert reply.status_code == 422
        assert "expected 2 to 64" in reply.json()["detail"]


KEYS = st.sampled_from(["text", "texts", "tasks", "format", "question", "questions", "text_pair"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
TEXT = st.text(st.characters(), max_size=12)
REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "text": TEXT | VALUES,
        "texts": st.lists(TEXT, max_size=4) | VALUES,
        "tasks": st.lists(st.sampled_from(["names", "mood", "who", "alike"]) | VALUES, max_size=3),
        "format": st.sampled_from(["json", "brat", "conllu"]) | VALUES,
        "question": TEXT,
        "questions": st.lists(TEXT, max_size=3),
        "text_pair": TEXT,
        "labels": st.lists(TEXT | VALUES, max_size=4) | VALUES,
        "range": st.lists(st.floats() | VALUES, max_size=3) | VALUES,
    },
)
BODIES = (
    st.binary(max_size=60)
    | VALUES.map(lambda value: json.dumps(value).encode())
    | REQUESTS.map(lambda value: json.dumps(value).encode())
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([ANNOTATE, "/v1/ask", "/v1/classify"]), BODIES)
@example(ANNOTATE, b'{"text": "\xef\xbb\xbf A", "format": "brat"}')
@example(ANNOTATE, rb'{"text": "A\r\nB\rC\u2028D \u0085 E", "format": "brat"}')
@example(ANNOTATE, rb'{"text": "A\r\nB\rC\u2028D \u0085 E\t_\f", "format": "conllu"}')
def test_no_request_fails(asked, path, body):
    reply = asked(path, body)
    assert reply.status_code < 500, reply.text
    assert isinstance(reply.json(), dict)
