"""Which requests go where, what a machine's speed allows, and what a lost model comes to."""

import os
import subprocess
import sys
import threading

import pytest
from fake_model import ABOUT, NAMES, Direct, Fake, client_of, laned, serving, until

from spanloom.annotation.choices import Choices
from spanloom.document import Document, Query
from spanloom.errors import ModelError
from spanloom.serve.batcher import MAX_SHORT, Lanes
from spanloom.serve.engine import ProcessLost
from spanloom.serve.jobs import AnnotateRequest, Job
from spanloom.serve.limits import Limits
from spanloom.serve.messages import Hello
from spanloom.serve.server import ShutdownTimes, listen, queue_limits, start, url_of

LONG = "a" * (MAX_SHORT + 1)


def request_for(*texts):
    return AnnotateRequest(tuple(map(Document, texts)), (NAMES,), str)


@pytest.mark.parametrize("many", [(LONG,), ("a", LONG), ("a" * 1000,) * 9])
def test_what_is_long_does_not_keep_the_short(many):
    slow, quick = Fake(), Fake()
    slow.door.clear()
    with Lanes([Direct(quick)], Direct(slow), queue_limits(Limits())) as lanes:
        late = lanes.submit(request_for(*many))
        until(lambda: slow.batches)
        assert len(lanes.submit(request_for("a" * MAX_SHORT)).result(30)) == 1
        assert lanes.is_ready
        assert not late.done()
        slow.door.set()
        assert len(late.result(30)) == len(many)
        assert (lanes.tally.texts, lanes.waiting) == (len(many) + 1, 0)
    assert quick.texts == ["a" * MAX_SHORT]


def test_questions_count_as_their_texts_do():
    prompts = "a" * 9_000, "b?"
    long, short = (Document("a", queries=(Query("Q1", prompt),)) for prompt in prompts)
    request = AnnotateRequest((short, long, short), (NAMES,), str)
    assert (request.size, request.longest) == (9_007, 9_001)
    job = Job(request, request.size)
    while job.has_more:
        job.take()
    assert job.left == 0
    fake = Fake()
    with Lanes([Direct(Fake())], Direct(fake), queue_limits(Limits())) as lanes:
        assert len(lanes.submit(request).result(30)) == 3
    assert len(fake.batches) == 3  # the long one is a batch of its own


def test_a_server_answers_short_texts_while_a_long_one_is_computed():
    def annotate(documents, tasks, with_tokens, choices=None):
        if len(documents[0].text) > MAX_SHORT:
            door.wait()
        return fake(documents, tasks, with_tokens)

    fake, door = Fake(), threading.Event()
    with serving(Limits(compute=0.5), annotate=annotate) as served:
        late = served.lanes.submit(request_for(LONG))
        reply = served.client.post("/v1/annotate", json={"text": LONG})
        assert (reply.status_code, reply.json()["title"]) == (504, "Gateway Timeout")
        for _ in range(3):
            assert served.client.post("/v1/annotate", json={"text": "Ada"}).status_code == 200
            assert served.client.get("/health/ready").status_code == 200
        assert not late.done()
        door.set()


def test_limits_are_what_a_machine_can_do_in_time():
    limits = Limits(compute=10).within(1000)
    assert (limits.characters, limits.request, limits.queued) == (5000, 5000, 10_000)
    assert Limits().within(1e9) == Limits()
    assert Limits().within(1e-9).characters == 1


def test_what_is_too_much_for_the_machine_is_refused_with_the_number():
    with serving(Limits(compute=1).within(100)) as served:
        told = served.client.get("/v1/model").json()["limits"]
        assert (told["characters"], told["request"]) == (50, 50)
        for said, where in (({"text": "a" * 51}, "text"), ({"texts": ["a" * 17] * 3}, "body")):
            reply = served.client.post("/v1/annotate", json=said)
            assert (reply.status_code, reply.json()["where"]) == (413, where)
            assert "50 characters" in reply.json()["detail"]
        asked = {"text": "a" * 20, "questions": ["who", "what", "why"]}
        assert served.client.post("/v1/ask", json=asked).status_code == 413
        assert served.client.post("/v1/annotate", json={"text": "a" * 50}).status_code == 200
        assert served.fake.texts == ["a" * 50]


class Mortal(Direct):
    """A model that is lost at the first text, and cannot be begun anew."""

    is_dead = False

    def begin(self):
        if self.is_dead:
            raise ProcessLost
        return super().begin()

    def annotate(self, request, documents, is_over):
        self.is_dead = True
        raise ProcessLost


def test_a_server_whose_model_is_gone_for_good_ends_with_an_error():
    statuses = []

    def ask(url):
        with client_of(url) as client:
            until(lambda: client.get("/health/ready").status_code == 200)
            statuses.append(client.post("/v1/annotate", json={"text": "a"}).status_code)

    with listen("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=ask, args=(url_of(listener),))
        thread.start()
        engines = ([Mortal(None)], Direct(None))
        with pytest.raises(ModelError, match="cannot be begun anew"):
            start(engines, Hello(ABOUT, 1e9), listener, times=ShutdownTimes(idle=0.2))
        thread.join()
    assert statuses == [503]


def test_lanes_are_ready_when_their_models_are(fake):
    with laned(fake) as lanes:
        until(lambda: lanes.is_ready and lanes.long.is_ready)
        assert lanes.is_live
        assert not lanes.is_full
    assert not lanes.is_ready


@pytest.mark.slow
def test_the_process_that_listens_holds_no_model():
    code = "import spanloom.serve.server, sys; print({'torch', 'spacy'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert run.stdout.strip() == "set()"


def test_labels_to_choose_among_count_with_each_text():
    choices = Choices(("good " * 10, "bad"))
    request = AnnotateRequest((Document("ab"), Document("c")), (NAMES,), str, choices=choices)
    assert (request.size, request.longest) == (109, 55)
