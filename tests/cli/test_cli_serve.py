"""``spanloom serve`` through its door."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest


@pytest.mark.slow
def test_a_model_that_is_none_is_told_as_annotate_tells_it(fails, tmp_path):
    said = ["-m", tmp_path / "none"]
    assert fails("serve", *said, code=1) == fails("annotate", "Ada", *said, code=1)


@pytest.mark.parametrize("token", ["two words", "schlüssel", "line\nline"])
def test_a_token_that_no_head_can_hold_is_refused(fails, token):
    assert "--token" in fails("serve", "--token", token, code=2)


def test_a_port_that_is_taken_is_told_before_a_model_is_loaded(fails, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = fails("serve", "-m", tmp_path / "none", "--port", port, code=1)
    assert f"127.0.0.1:{port}: address already in use; --port 0 takes a free one" in told


def test_a_model_process_that_cannot_start_is_one_line(fails, home, monkeypatch):
    command = [sys.executable, "-c", "raise SystemExit(3)"]
    monkeypatch.setattr("spanloom.serve.worker.Options.command", lambda self: command)
    monkeypatch.setattr("spanloom.serve.engine._PAUSES", (0.0, 0.01, 0.01))
    told = fails("serve", "-m", home / "model", "--port", "0", code=1)
    assert "the model process ended three times while it started" in told


@pytest.fixture
def process(home):
    """The command as users start it, on any free port."""
    command = [sys.executable, "-m", "spanloom", "serve", "-m", str(home / "model"), "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as made:
        yield made
        made.kill()


@pytest.mark.slow
def test_a_model_is_served_until_a_signal(process, home):
    said = [process.stderr.readline(), process.stderr.readline()]
    assert said[0].startswith("model model on cpu")
    url = re.search(r"http://\S+:\d+", said[1])[0]
    body = json.dumps({"text": "add 5 ml cold buffer ."}).encode()
    head = {"Content-Type": "application/json"}
    asked = urllib.request.Request(f"{url}/v1/annotate", body, head)
    with urllib.request.urlopen(asked) as reply:
        (document,) = json.load(reply)["documents"]
    with urllib.request.urlopen(f"{url}/v1/model") as reply:
        told = json.load(reply)
    process.send_signal(signal.SIGTERM)
    assert (process.stderr.read(), process.wait()) == ("", 0)
    assert [layer["name"] for layer in document["layers"]] == ["main"]
    assert document["layers"][0]["spans"]
    assert told["tasks"][0]["kind"] == "relations"
    assert str(home) not in json.dumps(told)


@pytest.mark.slow
def test_several_processes_serve_one_model(home):
    command = [sys.executable, "-m", "spanloom", "serve", "-m", str(home / "model"), "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    many = [*command, "--workers", "2"]
    with subprocess.Popen(many, stderr=subprocess.PIPE, text=True, env=environment) as process:
        said = [process.stderr.readline(), process.stderr.readline()]
        assert "1 thread" in said[0]
        url = re.search(r"http://\S+:\d+", said[1])[0]
        body = json.dumps({"texts": ["add 5 ml cold buffer ."] * 100}).encode()
        head = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{url}/v1/annotate", body, head)
        with urllib.request.urlopen(asked) as reply:
            documents = json.load(reply)["documents"]
        process.send_signal(signal.SIGTERM)
        assert (process.stderr.read(), process.wait()) == ("", 0)
    assert len(documents) == 100
    assert documents[0]["layers"][0]["spans"]
