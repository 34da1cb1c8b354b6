"""The hidden file of a brat folder that says with what its files were computed.

Brat files are written as they come and never replaced by others, so a run of another model would
fail at the first document that differs, after the time to compute it.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from spanloom.atomic_io import write_file
from spanloom.corpora.files import visible
from spanloom.errors import StorageError

_RECORD = ".spanloom.run"


def check_same_run(folder: Path, work: Mapping[str, str]) -> None:
    """Raise ``StorageError`` if the annotation in a folder was computed with anything else."""
    recorded = _read(folder)
    changes = [
        "another model"
        if key == "model"
        else f"{key} was {recorded.get(key)!r:.80} and is now {work.get(key)!r:.80}"
        for key in dict.fromkeys((*work, *recorded))
        if recorded.get(key) != work.get(key)
    ]
    if recorded and changes and _has_annotation(folder):
        raise StorageError(
            f"-o {folder}: has the results of another run ({'; '.join(changes)}); choose another "
            f"place, or, if all annotation there may stay, delete {folder / _RECORD}"
        )


def record_run(folder: Path, work: Mapping[str, str]) -> None:
    """Note with what the annotation in a folder is computed; raises ``StorageError``.

    Nothing is noted in a folder that has annotation already, as that may be anyone's.
    """
    recorded = _read(folder)
    if recorded != work and (recorded or not _has_annotation(folder)):
        write_file(folder / _RECORD, json.dumps(dict(work)).encode() + b"\n")


def _has_annotation(folder: Path) -> bool:
    return any(path.suffix == ".ann" for path in visible(folder))


def _read(folder: Path) -> dict[str, str]:
    """Return what a folder's annotation was computed with, {} if no file says it."""
    try:
        recorded = json.loads((folder / _RECORD).read_bytes())
    except (OSError, ValueError):
        return {}
    return recorded if isinstance(recorded, dict) else {}
