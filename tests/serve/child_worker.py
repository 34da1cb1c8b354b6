"""A model process with a fake model that does what the words of a text say.

With an argument there is no model, and that is why.
"""

import os
import sys
import time

from fake_model import ABOUT, POISON, annotated

from spanloom.cancellation import checkpoint
from spanloom.errors import ModelError
from spanloom.serve.worker import pipes, work


class Panic(BaseException):
    """What PyO3 makes of a panic of Rust is no Exception."""


def fake(documents, tasks, cuts):
    sys.stdout.write("a library may print")
    sys.stdout.flush()
    for each in documents:
        if POISON in each.text:
            raise ValueError(f"no pot for {each.text}")
        if "panic" in each.text:
            raise Panic(each.text)
        if "crash" in each.text:
            os._exit(3)
        while "endless" in each.text:
            checkpoint()
            time.sleep(0.001)
        if "stuck" in each.text:
            time.sleep(1000)
        yield annotated(each, tasks, cuts)


def load():
    if len(sys.argv) > 1:
        raise ModelError(sys.argv[1])
    return fake, ABOUT


work(load, *pipes())
