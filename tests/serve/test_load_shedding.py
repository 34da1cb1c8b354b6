"""A full queue, through a real server: who is refused, who is not, and how cheaply."""

from contextlib import contextmanager

import pytest
from fake_model import NAMES, serving, until

from spanloom.document import Document
from spanloom.serve.jobs import AnnotateRequest
from spanloom.serve.limits import Limits

HEADS = {"content-type": "application/json"}


@contextmanager
def full(**how):
    """A server whose model is busy and whose queue has no room."""
    with serving(Limits(waiting=1, body=1000), **how) as served:
        served.fake.door.clear()
        wish = AnnotateRequest((Document("a"),), (NAMES,), str)
        served.lanes.submit(wish)
        until(lambda: not served.lanes.waiting)
        kept = served.lanes.submit(wish)
        yield served, kept


@pytest.mark.parametrize("path", ["/v1/annotate", "/v1/ask", "/v1/classify"])
def test_a_full_queue_refuses_before_it_parses(path):
    with full() as (served, kept):
        reply = served.client.post(path, content=b"no JSON", headers=HEADS)
        assert (reply.status_code, reply.json()["title"]) == (503, "Service Unavailable")
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.headers["x-content-type-options"] == "nosniff"
        kept.cancel()
        assert served.client.post(path, content=b"no JSON", headers=HEADS).status_code == 400


def test_who_is_refused_together_does_not_come_back_together():
    with full() as (served, _):
        replies = [served.client.post("/v1/annotate", content=b"", headers=HEADS) for _ in "abc"]
    assert {reply.headers["retry-after"] for reply in replies} == {"1", "2", "3"}


def test_the_connection_of_the_refused_stays():
    with full() as (served, _):
        for _ in range(2):
            reply = served.client.post("/v1/annotate", content=b"{}" * 100, headers=HEADS)
            assert "connection" not in reply.headers
        assert len(served.server.server_state.connections) == 1


def test_a_full_queue_answers_all_else_as_ever():
    with full() as (served, _):
        statuses = [
            served.client.get("/health/ready").status_code,
            served.client.get("/v1/model").status_code,
            served.client.get("/v1/annotate").status_code,
            served.client.post("/v1/annotate", content=b" " * 1001, headers=HEADS).status_code,
        ]
        refused = 'spanloom_requests_total{path="/v1/annotate",status="503"}'
        assert refused not in served.client.get("/metrics").text
        served.client.post("/v1/annotate", content=b"", headers=HEADS)
        assert f"{refused} 1" in served.client.get("/metrics").text
    assert statuses == [200, 200, 405, 413]


def test_without_the_token_nobody_hears_that_it_is_full():
    with full(token="secret") as (served, _):
        assert served.client.post("/v1/annotate", content=b"", headers=HEADS).status_code == 401
