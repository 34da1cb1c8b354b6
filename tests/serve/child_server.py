"""A server with a slow fake model in a process of its own.

It says its address; when a signal has ended it, how many texts it has annotated.
"""

import sys
import time

from fake_model import ABOUT, Fake

from spanloom.serve.app import application
from spanloom.serve.batcher import Batcher, Room
from spanloom.serve.limits import Limits
from spanloom.serve.server import address, listening, run, server
from spanloom.serve.start import first

fake, limits = Fake(), Limits()


def slowly(documents, tasks, cuts):
    time.sleep(0.1 * len(documents))
    return fake(documents, tasks, cuts)


with Batcher(slowly, Room(texts=4), warm=first(ABOUT)) as batcher:
    with listening("127.0.0.1", 0) as listener:
        sys.stdout.write(address(listener) + "\n")
        sys.stdout.flush()
        run(server(application(batcher, ABOUT, limits), limits), listener)
sys.stdout.write(str(batcher.tally.texts))
