"""Find the corpus of a recipe's ``data``: a path, or the name of a folder in ``SPANLOOM_DATA``."""

import os
from pathlib import Path

from spanloom.errors import DataError

VARIABLE = "SPANLOOM_DATA"


def locate(data: str, recipe_dir: Path) -> Path:
    """Return the first existing path, below: recipe's folder, working folder, ``$SPANLOOM_DATA``.

    Raises ``DataError`` with all paths that were tried.
    """
    candidates = [recipe_dir / data, Path(data)]
    if VARIABLE in os.environ:
        candidates.append(Path(os.environ[VARIABLE]) / data)
    for path in candidates:
        if path.exists():
            return path
    tried = ", ".join(str(path) for path in dict.fromkeys(candidates))
    raise DataError(f"no corpus {data!r}; looked at {tried} (set {VARIABLE} to where corpora lie)")
