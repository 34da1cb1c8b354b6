"""A model process: what it is told and tells, what it survives, how it is replaced."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fake_model import ABOUT, MOOD, NAMES, POISON, TWINS, WHO, annotated, until

from spanloom.annotation.text_pairs import join_texts
from spanloom.cancellation import Cancelled
from spanloom.document import Document, Query
from spanloom.errors import ModelError
from spanloom.serve.engine import BatchFailed, Process, ProcessLost
from spanloom.serve.jobs import AnnotateRequest, ChoicesRefused
from spanloom.serve.messages import format_batch, parse_batch
from spanloom.serve.replies import FORMATS, WARNING, ReplyFormat

JSON = ReplyFormat("json")
HERE = Path(__file__).parent
ASKING = Document("Ada met\nBob.\u2028 😀", name="a", queries=(Query("Q1", "Who met Bob?"),))


@pytest.fixture(scope="module")
def command():
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *sys.path])
    yield [sys.executable, str(HERE / "child_worker.py")]
    del os.environ["PYTHONPATH"]
    if before is not None:
        os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="module")
def warm(command):
    made = Process(command, grace=1.5)
    made.begin()
    yield made
    made.end()


@pytest.fixture
def started(monkeypatch):
    """The processes that are started in a test."""
    processes = []

    class Recorded(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            processes.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return processes


@pytest.fixture
def process(warm):
    warm.begin()
    return warm


def asked(process, *texts, is_over=lambda: False, tasks=(NAMES,), reply_format=JSON):
    documents = [Document(text) for text in texts]
    return process.annotate(
        AnnotateRequest(tuple(documents), tasks, reply_format), documents, is_over
    )


@pytest.mark.parametrize(
    "reply_format",
    [
        *map(ReplyFormat, FORMATS),
        ReplyFormat("answers", ((WHO, "answers"),)),
        ReplyFormat("classifications", ((MOOD, "moods"),)),
    ],
)
def test_a_wish_comes_through_as_it_is(reply_format):
    for document in (ASKING, join_texts("pair", "Ada met Bob.", "She did.")):
        wish = AnnotateRequest((document,), (NAMES, MOOD), reply_format, True)
        assert parse_batch(format_batch(1, wish, wish.documents)) == wish


@pytest.mark.slow
def test_it_tells_the_model_and_its_speed(process):
    hello = process.begin()
    assert hello.model == ABOUT
    assert hello.speed > 100


@pytest.mark.slow
def test_what_is_annotated_is_as_without_a_process(process):
    expected = [JSON(annotated(Document(text), (NAMES,), False)) for text in ("Ada", "Bob 😀")]
    assert asked(process, "Ada", "Bob 😀") == expected


@pytest.mark.slow
def test_long_texts_go_through_pipes(process):
    text = "ada met bob. " * 50_000
    assert len(asked(process, text)[0]) > len(text)


@pytest.mark.slow
@pytest.mark.parametrize("what", [POISON, "panic"])
def test_it_survives_what_a_model_raises(process, started, what):
    with pytest.raises(BatchFailed, match=r"^(ValueError|Panic) at child_worker.py:\d+$"):
        asked(process, f"{what} secret")
    assert asked(process, "Ada")
    assert not started


@pytest.mark.slow
def test_choices_that_the_model_refuses_are_no_failure(process, started):
    document = Document("Ada")
    request = AnnotateRequest((document,), (MOOD,), JSON, choices=TWINS[0])
    with pytest.raises(ChoicesRefused, match="^the choices are alike$"):
        process.annotate(request, [document], lambda: False)
    assert asked(process, "Ada")
    assert not started


@pytest.mark.slow
def test_it_stops_at_a_checkpoint_when_it_is_over(process, started):
    end = time.monotonic() + 0.1
    with pytest.raises(Cancelled):
        asked(process, "endless", is_over=lambda: time.monotonic() > end)
    assert time.monotonic() < end + 1.5
    assert asked(process, "Ada")
    assert not started


@pytest.mark.slow
def test_a_process_that_is_stuck_is_ended_and_replaced(process):
    with pytest.raises(ProcessLost):
        asked(process, "stuck", is_over=lambda: True)
    with pytest.raises(ProcessLost):
        asked(process, "Ada")
    process.begin()
    assert asked(process, "Ada")


@pytest.mark.slow
def test_a_process_that_crashes_is_replaced(process):
    with pytest.raises(ProcessLost):
        asked(process, "crash")
    process.begin()
    assert asked(process, "Ada")


@pytest.mark.slow
def test_why_there_is_no_model_is_told(command):
    made = Process([*command, "runs/x: no recipe.yaml"])
    with pytest.raises(ModelError, match=r"^runs/x: no recipe.yaml$"):
        made.begin()
    made.end()


@pytest.mark.slow
def test_what_never_begins_is_given_up(monkeypatch):
    monkeypatch.setattr("spanloom.serve.engine._PAUSES", (0.0, 0.01, 0.01))
    made = Process([sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(ProcessLost):
        made.begin()


@pytest.mark.slow
def test_it_does_not_outlive_the_server(command, started):
    made = Process(command)
    made.begin()
    (child,) = started
    child.stdin.close()  # as the end of the server does
    until(lambda: child.poll() is not None)
    made.end()
    with pytest.raises(ProcessLost):
        made.begin()


def test_a_warning_of_a_document_is_in_its_json_and_in_the_data_of_its_page():
    document = Document("Ada", name="a", meta=((WARNING, "not English"),))
    assert json.loads(ReplyFormat("json")(document))["meta"] == [["warning", "not English"]]
    assert json.loads(ReplyFormat("page")(document))["warnings"] == ["not English"]
    assert "warnings" not in json.loads(ReplyFormat("page")(Document("Ada", name="a")))
