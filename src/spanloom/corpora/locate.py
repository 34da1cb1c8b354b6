"""Where a recipe's ``data`` lies: a path, or the name of a corpus below ``SPANLOOM_DATA``."""

import os
from pathlib import Path

from spanloom.errors import DataError

VARIABLE = "SPANLOOM_DATA"


def locate(data: str, near: Path) -> Path:
    """Return the first of: ``data`` beside the recipe, from here, below ``$SPANLOOM_DATA``.

    Raises ``DataError`` that names every place that was looked at.
    """
    places = [near / data, Path(data)]
    if VARIABLE in os.environ:
        places.append(Path(os.environ[VARIABLE]) / data)
    for place in places:
        if place.exists():
            return place
    looked = ", ".join(str(place) for place in dict.fromkeys(places))
    raise DataError(f"no corpus {data!r}; looked at {looked} (set {VARIABLE} to where corpora lie)")
