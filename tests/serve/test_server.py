"""A real server under stress: too much work, bad texts, a dead model, an end in the midst of it."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from fake_model import DEADLY, POISON, client_of, serving, until

from spanloom.serve.limits import Limits

dies = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def annotated(served, *texts):
    return served.client.post("/v1/annotate", json={"texts": texts})


def together(served, texts):
    """Ask for each text by a client of its own; the futures of the replies."""
    pool = ThreadPoolExecutor(len(texts))
    futures = [pool.submit(annotated, served, text) for text in texts]
    pool.shutdown(wait=False)
    return futures


def test_a_full_queue_says_when_to_come_again():
    with serving(Limits(waiting=3)) as served:
        served.fake.door.clear()
        first = together(served, ["busy"])
        until(lambda: served.fake.texts == ["busy"])
        waiting = together(served, ["a", "b", "c"])
        until(lambda: served.lanes.waiting == 3)
        started = time.monotonic()
        refused = annotated(served, "d")
        assert time.monotonic() - started < 10
        assert refused.status_code == 503
        assert refused.headers["retry-after"] in {"1", "2", "3"}
        assert refused.headers.get("connection") != "close"
        assert served.client.get("/health/ready").status_code == 200
        served.fake.door.set()
        assert [future.result().status_code for future in first + waiting] == [200] * 4
        assert annotated(served, "d").status_code == 200


def test_what_takes_too_long_is_given_up():
    with serving(Limits(compute=0.3)) as served:
        served.fake.door.clear()
        busy = together(served, ["busy"])
        until(lambda: served.fake.texts == ["busy"])
        late = annotated(served, "late")
        assert late.status_code == 504
        assert "0.3 seconds" in late.json()["detail"]
        assert busy[0].result().status_code == 504
        served.fake.door.set()
        assert annotated(served, "next").status_code == 200
        assert served.fake.texts == ["busy", "next"]


def test_only_the_guilty_text_fails(served, caplog):
    served.fake.door.clear()
    first = together(served, ["busy"])
    until(lambda: served.fake.texts == ["busy"])
    texts = ["a", f"{POISON} secret", "b"]
    futures = together(served, texts)
    until(lambda: served.lanes.waiting == 3)
    served.fake.door.set()
    replies = [future.result() for future in futures]
    assert [reply.status_code for reply in replies] == [200, 500, 200]
    said = replies[1].json()
    assert said["where"] == "texts[0]"
    assert said["detail"] == "texts[0]: the model failed on this text"
    assert first[0].result().status_code == 200
    assert "secret" not in caplog.text


@dies
def test_a_dead_model_is_not_ready(served):
    assert served.client.get("/health/ready").status_code == 200
    started = time.monotonic()
    assert annotated(served, DEADLY).status_code == 503
    ready = served.client.get("/health/ready")
    assert (ready.status_code, ready.headers["retry-after"]) == (503, "1")
    assert time.monotonic() - started < 10
    assert annotated(served, "a").status_code == 503
    assert served.client.get("/health/live").status_code == 503
    assert "spanloom_ready 0" in served.client.get("/metrics").text


def test_the_end_waits_for_what_was_taken(served):
    served.fake.door.clear()
    futures = together(served, ["busy"])
    until(lambda: served.fake.texts == ["busy"])
    futures += together(served, ["a", "b", "c"])
    until(lambda: served.lanes.waiting == 3)
    served.end()
    time.sleep(0.2)
    assert served.thread.is_alive()
    served.fake.door.set()
    assert [future.result().status_code for future in futures] == [200] * 4
    served.thread.join(20)
    assert not served.thread.is_alive()
    with pytest.raises(httpx.ConnectError):
        annotated(served, "late")


@pytest.fixture
def child():
    """A server in a process of its own, which takes its time; its address."""
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), *sys.path])
    made = subprocess.Popen(
        [sys.executable, str(here / "child_server.py")],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
        text=True,
    )
    with made:
        made.url = made.stdout.readline().strip()
        yield made
        made.kill()


@pytest.mark.slow
@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_under_load_loses_nothing(child, which):
    def ask(number):
        try:
            return client.post("/v1/annotate", json={"text": f"A {number}"}).status_code
        except httpx.TransportError:
            return None  # the server was gone before it took this request

    with client_of(child.url) as client, ThreadPoolExecutor(40) as pool:
        until(lambda: client.get("/health/ready").status_code == 200)
        statuses = [pool.submit(ask, number) for number in range(40)]
        until(lambda: waiting(client) > 20)
        child.send_signal(which)
        found = [statuse.result() for statuse in statuses]
        assert child.wait(20) == 0
    taken = int(child.stdout.read())
    assert taken > 20
    assert found.count(200) == taken
    assert set(found) <= {200, None}


def waiting(client):
    rows = client.get("/metrics").text.splitlines()
    return int(next(row.split()[1] for row in rows if row.startswith("spanloom_waiting")))


def test_a_reply_is_json_in_utf_8(served):
    reply = annotated(served, "Böb 😀")
    assert reply.headers["content-type"] == "application/json"
    assert json.loads(reply.content.decode("utf-8"))["documents"][0]["text"] == "Böb 😀"
