"""Where caches lie."""

import os
from pathlib import Path

from spanloom.errors import StorageError

VARIABLE = "SPANLOOM_CACHE"  # the folder of caches


def cache_dir() -> Path:
    """Return the folder of caches: ``$SPANLOOM_CACHE``, else the user's.

    Raises ``StorageError`` for a user without a home.
    """
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spanloom"
    except RuntimeError as error:
        raise StorageError(f"caches: expected a home folder, or {VARIABLE} to be set") from error
