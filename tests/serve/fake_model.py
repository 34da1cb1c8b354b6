"""A model without torch that knows capitals by heart, and is as slow or broken as a test wants."""

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace

import httpx

from spanloom.annotation.queries import answer_layer
from spanloom.annotation.text_pairs import TEXT_PAIR, classify
from spanloom.document import SENTENCE, SENTENCES, WORD, WORDS, Layer, Relation, Span
from spanloom.serve.app import application
from spanloom.serve.batcher import QueueLimits
from spanloom.serve.engine import Unable
from spanloom.serve.lanes import Lanes
from spanloom.serve.limits import Limits
from spanloom.serve.messages import Hello
from spanloom.serve.model_info import ModelInfo, TaskInfo
from spanloom.serve.problem import told
from spanloom.serve.server import Ending, Server, address, listening, server
from spanloom.serve.start import queue_limits
from spanloom.tokenization import fine_words

POISON, DEADLY = "poison", "deadly"
NAMES, MOOD, WHO, ALIKE = "names", "mood", "who", "alike"
ABOUT = ModelInfo(
    "fake",
    "nothing",
    (
        TaskInfo(NAMES, "relations", NAMES, {"spans": ("Name",)}),
        TaskInfo(MOOD, "choice", "moods", {"labels": ("calm", "loud")}),
        TaskInfo(WHO, "question", "answers", {}),
        TaskInfo(ALIKE, "number", "likeness", {}, (TEXT_PAIR,)),
    ),
    "cc-by-4.0",
    ({"task": NAMES, "dataset": "people", "license": "cc-by-4.0", "test": "f1 99.00"},),
)


class Ids:
    """Fresh ids above those that are there."""

    def __init__(self, document):
        self.taken = set(document.annotations())

    def __call__(self, letter):
        number = 1
        while f"{letter}{number}" in self.taken:
            number += 1
        self.taken.add(f"{letter}{number}")
        return f"{letter}{number}"


def names(document, fresh):
    """Words that begin with a capital; each knows the one before."""
    found = [each for each in fine_words(document.text) if document.text[each[0]].isupper()]
    spans = tuple(Span(fresh("T"), "Name", (each,), 0.5) for each in found)
    pairs = zip(spans[1:], spans, strict=False)
    return Layer(NAMES, spans, tuple(Relation(fresh("R"), "knows", a.id, b.id) for a, b in pairs))


def moods(document, fresh):
    """Loud is what ends in a bang; of no text nothing is said."""
    if not document.text.strip():
        return Layer("moods")
    loud = document.text.rstrip().endswith("!")
    return classify(document, "moods", "loud" if loud else "calm", None, fresh, 0.75)


def answers(document, fresh):
    """The first word, unless the text has none."""
    bounds = fine_words(document.text)[:1]
    found = [(each.id, (bounds[0],), 0.25) for each in document.queries if bounds]
    return answer_layer("answers", found, fresh)


def likeness(document, fresh):
    return classify(document, "likeness", "alike", 2.5, fresh, 0.5)


def cuts_of(document, fresh):
    """Words, and all of them as one sentence a line."""
    words = fine_words(document.text)
    yield Layer(WORDS, tuple(Span(fresh("T"), WORD, (each,)) for each in words))
    lines, start = [], 0
    for line in document.text.splitlines(keepends=True):
        inside = [each for each in words if start <= each[0] < start + len(line)]
        if inside:
            lines.append((inside[0][0], inside[-1][1]))
        start += len(line)
    yield Layer(SENTENCES, tuple(Span(fresh("T"), SENTENCE, (each,)) for each in lines))


WRITERS = {NAMES: names, MOOD: moods, WHO: answers, ALIKE: likeness}


def annotated(document, tasks, cuts):
    fresh = Ids(document)
    layers = [WRITERS[task](document, fresh) for task in tasks]
    bounds = cuts_of(document, fresh) if cuts else ()
    return replace(document, layers=(*bounds, *layers))


class Fake:
    """The model as the queue calls it; while ``door`` is closed it does not come back."""

    def __init__(self):
        self.door, self.batches = threading.Event(), []
        self.door.set()

    def __call__(self, documents, tasks, cuts):
        self.batches.append([each.text for each in documents])
        self.door.wait()
        for each in documents:
            if POISON in each.text:
                raise ValueError(f"no pot for {each.text}")
            if DEADLY in each.text:
                raise SystemExit
        return [annotated(each, tasks, cuts) for each in documents]

    @property
    def texts(self):
        """What was computed."""
        return [text for batch in self.batches for text in batch]


class Direct:
    """A model in the thread that asks, where the server has a process."""

    def __init__(self, annotate):
        self.annotate_all = annotate

    def begin(self):
        return Hello(ABOUT, 1e9)

    def annotate(self, wish, documents, is_over):
        try:
            found = self.annotate_all(documents, wish.tasks, wish.cuts)
        except Exception as error:
            raise Unable(told(error)) from error
        return [wish.format(each) for each in found]

    def end(self):
        pass


@dataclass
class Served:
    """A server that runs, what it is made of, and a client of it for any number of threads."""

    client: httpx.Client
    port: int
    fake: Fake
    lanes: Lanes
    server: Server
    thread: threading.Thread

    def end(self):
        """Have the server end as a signal would, without waiting for it."""
        self.server.should_exit = True


def until(condition, seconds=30.0):
    """Wait for a condition; a test fails that waits too long."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def laned(annotate, room=QueueLimits()):
    """Both lanes, which have one model."""
    return Lanes(Direct(annotate), Direct(annotate), room)


def client_of(url):
    """A client that does not take the time to make ready for encryption."""
    return httpx.Client(base_url=url, verify=False, timeout=60, trust_env=False)


@contextmanager
def serving(limits=Limits(), ending=Ending(), annotate=None, **how):
    """Run a real server on a free port of this machine, in a thread."""
    fake = Fake()
    with (
        laned(annotate or fake, queue_limits(limits)) as lanes,
        listening("127.0.0.1", 0) as listener,
    ):
        made = server(application(lanes, ABOUT, limits, **how), limits, ending)
        made.on_late = lanes.cut
        port = listener.getsockname()[1]
        thread = threading.Thread(target=made.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until(lambda: made.started and lanes.is_ready)
            with client_of(address(listener)) as client:
                yield Served(client, port, fake, lanes, made, thread)
        finally:
            fake.door.set()
            made.should_exit = True
            thread.join()
