"""How bodies are received and replies read, through a real server: how large, how slow."""

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest
from fake_model import serving, until

from spanloom.serve.limits import Limits

SMALL = Limits(body=1000, receipt=0.4)
HEAD = b"POST /v1/annotate HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def strict():
    """A server that takes little, and does not wait long."""
    with serving(SMALL) as running:
        yield running


def in_chunks(body, size=400):
    """The body in pieces, of which httpx makes a chunked body."""
    for start in range(0, len(body), size):
        yield body[start : start + size]


def whole(body):
    return body


def padded(size):
    """A request of that many bytes."""
    return b'{"text": "Ada!"' + b" " * (size - 16) + b"}"


def posted(served, content):
    headers = {"content-type": "application/json"}
    return served.client.post("/v1/annotate", content=content, headers=headers)


@pytest.mark.parametrize("sent", [whole, in_chunks])
def test_a_body_may_be_as_large_as_the_limit(strict, sent):
    assert posted(strict, sent(padded(1000))).status_code == 200
    assert posted(strict, sent(padded(1001))).status_code == 413


@pytest.mark.parametrize("sent", [whole, in_chunks])
def test_the_answer_to_a_far_too_large_body_arrives(strict, sent):
    reply = posted(strict, sent(padded(1_000_000)))
    assert (reply.status_code, reply.json()["where"]) == (413, "body")
    assert reply.headers["connection"] == "close"
    assert reply.headers["x-content-type-options"] == "nosniff"


def connected(served):
    return closing(socket.create_connection(("127.0.0.1", served.port), timeout=10))


def answer(connection):
    """All that comes until the connection ends."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_body_that_says_its_size_is_refused_before_it_comes(strict):
    with connected(strict) as connection:
        connection.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: 3000000\r\n\r\n")
        first = connection.recv(65536)
    assert first.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "begun",
    [b'Content-Length: 50\r\n\r\n{"text": ', b'Transfer-Encoding: chunked\r\n\r\n5\r\n{"tex\r\n'],
)
def test_a_late_body_is_given_up(strict, begun):
    with connected(strict) as connection:
        started = time.monotonic()
        connection.sendall(HEAD + begun)
        found = answer(connection)
    assert found.startswith(b"HTTP/1.1 408 ")
    assert json.loads(found.split(b"\r\n\r\n")[1])["where"] == "body"
    assert 0.3 < time.monotonic() - started < 9


def test_a_body_that_trickles_is_late_as_well(strict):
    with connected(strict) as connection:
        connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
        for _ in range(8):
            connection.sendall(b" ")
            time.sleep(0.1)
        assert connection.recv(65536).startswith(b"HTTP/1.1 408 ")


def test_a_late_head_ends_the_connection(strict):
    with connected(strict) as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\nHost")
        assert answer(connection) == b""


def test_a_late_second_head_ends_the_connection(strict):
    with connected(strict) as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: h\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        started = time.monotonic()
        connection.sendall(b"GET /hea")
        assert answer(connection).count(b"live") <= 1  # what was left of the first answer
        assert time.monotonic() - started < 9


def test_two_requests_at_once_are_both_answered(strict):
    ask = b"GET /health/live HTTP/1.1\r\nHost: h\r\n\r\n"
    with connected(strict) as connection:
        connection.sendall(ask + ask.replace(b"h\r\n\r\n", b"h\r\nConnection: close\r\n\r\n"))
        assert answer(connection).count(b'{"status": "live"}') == 2


def test_what_is_no_http_is_refused(strict):
    for noise in (b"\x16\x03\x01\x02\x00\r\n\r\n", b"GET /\r\n\r\n", b"\x00" * 200 + b"\r\n\r\n"):
        with connected(strict) as connection:
            connection.sendall(noise)
            assert answer(connection)[:13] in (b"HTTP/1.1 400 ", b"")


def test_slow_clients_do_not_keep_others_out():
    with serving(Limits(receipt=5)) as served, ExitStack() as slow:
        for n in range(100):
            connection = slow.enter_context(connected(served))
            connection.sendall(HEAD + b"Content-Length: 90\r\n\r\n{" if n % 2 else b"GET / HT")
        started = time.monotonic()
        assert served.client.get("/health/ready").status_code == 200
        assert time.monotonic() - started < 4
        slow.close()


PAGES = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * 99  # 19 MB of replies, more than the system buffers
LAST_PAGE = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


def connections_of(served):
    return len(served.server.server_state.connections)


def test_a_client_that_does_not_read_its_replies_is_let_go():
    with serving(Limits(receipt=0.3)) as served, connected(served) as connection:
        connection.sendall(PAGES + LAST_PAGE)
        until(lambda: connections_of(served) == 1)
        until(lambda: connections_of(served) == 0, seconds=9)
        assert served.client.get("/health/ready").status_code == 200
        assert answer(connection).count(b"HTTP/1.1 200 ") < 100, "what the system held"


@pytest.mark.slow
def test_a_client_that_reads_its_replies_slowly_gets_them():
    with serving(Limits(receipt=1)) as served, connected(served) as connection:
        connection.sendall(PAGES + LAST_PAGE)
        started, received = time.monotonic(), b""
        while time.monotonic() - started < 2.2:
            received += connection.recv(100_000)
            time.sleep(0.05)
        received += answer(connection)
        assert received.count(b"HTTP/1.1 200 ") == 100
        assert len(received) > 100 * len(served.client.get("/").content)


def test_who_goes_away_is_not_computed(served):
    served.fake.door.clear()
    body = json.dumps({"texts": ["gone", "away"]}).encode()
    with ThreadPoolExecutor() as pool:
        busy = pool.submit(posted, served, b'{"text": "busy"}')
        until(lambda: served.fake.texts == ["busy"])
        with connected(served) as connection:
            connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            until(lambda: served.lanes.waiting == 1)
        gone = 'spanloom_requests_total{path="/v1/annotate",status="499"} 1'
        until(lambda: gone in served.client.get("/metrics").text)
        served.fake.door.set()
        assert busy.result().status_code == 200
    assert posted(served, b'{"text": "next"}').status_code == 200
    assert served.fake.texts == ["busy", "next"]
