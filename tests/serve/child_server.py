"""A server with a slow fake model in a process of its own.

It prints its URL, and after a signal has ended it, the number of texts that it annotated.
"""

import sys
import time

from fake_model import ABOUT, Fake, laned

from spanloom.serve.app import application
from spanloom.serve.limits import Limits
from spanloom.serve.request_queue import QueueLimits
from spanloom.serve.server import create_server, listen, run, url_of

fake, limits = Fake(), Limits()


def slowly(documents, tasks, with_tokens, choices=None):
    time.sleep(0.1 * len(documents))
    return fake(documents, tasks, with_tokens)


with laned(slowly, QueueLimits(texts=4)) as lanes:
    with listen("127.0.0.1", 0) as listener:
        sys.stdout.write(url_of(listener) + "\n")
        sys.stdout.flush()
        run(create_server(application(lanes, ABOUT, limits), limits), listener)
sys.stdout.write(str(lanes.tally.texts))
