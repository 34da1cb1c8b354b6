"""A model process with a fake model that does what the words of a text say.

With an argument it has no model, for that reason.
"""

import os
import sys
import time

from fake_model import ABOUT, POISON, TWINS, annotated

from spanloom.cancellation import checkpoint
from spanloom.errors import ModelError
from spanloom.serve.jobs import ChoicesRefused
from spanloom.serve.worker import pipes, work


class Panic(BaseException):
    """What PyO3 makes of a panic of Rust is no Exception."""


def fake(documents, tasks, with_tokens, choices=None):
    sys.stdout.write("a library may print")
    sys.stdout.flush()
    if choices in TWINS:
        raise ChoicesRefused("the choices are alike")
    for document in documents:
        if POISON in document.text:
            raise ValueError(f"no pot for {document.text}")
        if "panic" in document.text:
            raise Panic(document.text)
        if "crash" in document.text:
            os._exit(3)
        while "endless" in document.text:
            checkpoint()
            time.sleep(0.001)
        if "stuck" in document.text:
            time.sleep(1000)
        yield annotated(document, tasks, with_tokens)


def load():
    if len(sys.argv) > 1:
        raise ModelError(sys.argv[1])
    return fake, ABOUT


work(load, *pipes())
