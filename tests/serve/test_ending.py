"""The end: what was read is answered, what takes too long is told so, and it comes in time."""

import socket
import threading
import time
from contextlib import closing

import pytest
from fake_model import serving, until
from test_request_body import HEAD, answer, connected

from spanloom.serve.server import ShutdownTimes

BODY = b'{"text": "Ada"}'
ASK = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
QUICK = ShutdownTimes(idle=0.3, compute=0.6, replies=1.2, kill=10)


def first(connection):
    """One reply, on a connection that may stay."""
    found = b""
    while b"}]}" not in found:
        piece = connection.recv(65536)
        assert piece, found
        found += piece
    return found


def test_the_last_reply_of_a_kept_connection_says_so():
    with serving() as served, connected(served) as connection:
        connection.sendall(ASK)
        assert b"connection: close" not in first(connection).lower()
        served.fake.door.clear()
        connection.sendall(ASK)
        until(lambda: len(served.fake.texts) == 2)
        served.end()
        time.sleep(0.3)
        served.fake.door.set()
        last = answer(connection)
        assert last.startswith(b"HTTP/1.1 200 ")
        assert last.lower().count(b"connection: close\r\n") == 1


def test_a_request_that_was_on_its_way_is_answered():
    with serving(times=ShutdownTimes(idle=1)) as served, connected(served) as connection:
        connection.sendall(ASK)
        first(connection)
        served.end()
        until(lambda: not refused_nothing(served.port))
        connection.sendall(ASK)
        last = answer(connection)
        assert last.startswith(b"HTTP/1.1 200 ")
        assert b"connection: close\r\n" in last.lower()
        served.thread.join(20)
        assert not served.thread.is_alive()


def refused_nothing(port):
    """Whether the server still takes connections."""
    try:
        with closing(socket.create_connection(("127.0.0.1", port), timeout=1)):
            return True
    except OSError:
        return False


def test_what_takes_too_long_is_told_so():
    with serving(times=QUICK) as served, connected(served) as connection:
        served.fake.door.clear()
        connection.sendall(ASK)
        until(lambda: served.fake.texts)
        began = time.monotonic()
        served.end()
        last = answer(connection)
        assert last.startswith(b"HTTP/1.1 503 ")
        assert b"connection: close\r\n" in last.lower()
        assert 0.5 < time.monotonic() - began < 9
        served.thread.join(20)
        assert not served.thread.is_alive()


def test_nobody_holds_up_the_end_by_a_slow_body():
    with serving(times=QUICK) as served, connected(served) as connection:
        connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        time.sleep(0.1)
        began = time.monotonic()
        served.end()
        served.thread.join(20)
        assert not served.thread.is_alive()
        assert time.monotonic() - began < 9


def test_an_end_that_hangs_is_cut_off():
    with serving(times=ShutdownTimes(idle=0.1, compute=0.2, replies=60, kill=0.5)) as served:
        cut = threading.Event()
        served.server.on_stuck = cut.set
        with connected(served) as connection:
            connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
            time.sleep(0.1)
            served.end()
            assert cut.wait(20)


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "batcher"]
