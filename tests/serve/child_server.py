"""A server with a slow fake model in a process of its own.

It says its address; when a signal has ended it, how many texts it has annotated.
"""

import sys
import time

from fake_model import ABOUT, Fake, laned

from spanloom.serve.app import application
from spanloom.serve.batcher import QueueLimits
from spanloom.serve.limits import Limits
from spanloom.serve.server import address, listening, run, server

fake, limits = Fake(), Limits()


def slowly(documents, tasks, cuts):
    time.sleep(0.1 * len(documents))
    return fake(documents, tasks, cuts)


with laned(slowly, QueueLimits(texts=4)) as lanes:
    with listening("127.0.0.1", 0) as listener:
        sys.stdout.write(address(listener) + "\n")
        sys.stdout.flush()
        run(server(application(lanes, ABOUT, limits), limits), listener)
sys.stdout.write(str(lanes.tally.texts))
