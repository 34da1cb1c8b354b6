"""Official scorers: they read the official file formats and return the official numbers.

Each module is named after its metric. The names below are those that scorers of other packages
build on (docs/extending.md).
"""

from spanloom.scoring._base import Scorer, Scores, find, names

__all__ = ["Scorer", "Scores", "find", "names"]
