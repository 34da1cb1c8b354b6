"""Python's search for garbage, left out while what stays is made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loaded_to_stay() -> Iterator[None]:
    """Look for no garbage meanwhile, and later not among what was made here.

    Importing torch and loading a model makes half a million objects that stay until the process
    ends. To go through them again and again takes an eighth of the time of a short command.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()
