"""Where the files and folders that a recipe names may lie."""

import os
from pathlib import Path

VARIABLE = "SPANLOOM_DATA"  # the folder of corpora, and of what else a recipe names without a path


def places(name: str, recipe_dir: Path) -> list[Path]:
    """Return the paths of a name below the recipe's folder, the working folder, ``$SPANLOOM_DATA``.

    They need not exist; the first one that does counts.
    """
    folders = [recipe_dir, Path()]
    if VARIABLE in os.environ:
        folders.append(Path(os.environ[VARIABLE]))
    return list(dict.fromkeys(folder / name for folder in folders))


def locate_file(name: str, recipe_dir: Path) -> Path:
    """Return the first place where a file is, else the first place."""
    paths = places(name, recipe_dir)
    return next((path for path in paths if path.is_file()), paths[0])
