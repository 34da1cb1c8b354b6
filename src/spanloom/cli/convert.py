"""``spanloom convert``: the same documents in another format."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from spanloom.cli.inputs import documents
from spanloom.cli.outputs import save_collection
from spanloom.cli.say import WrongUse, say
from spanloom.document import Document
from spanloom.errors import DataError


class Format(StrEnum):
    """What ``--from`` and ``--to`` may say."""

    BRAT = "brat"
    JSONL = "jsonl"


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="brat folder or file, or .jsonl")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="brat folder, or .jsonl")],
    of: Annotated[Format | None, typer.Option("--from", help="by IN's name if not said")] = None,
    to: Annotated[Format | None, typer.Option("--to", help="by OUT's name if not said")] = None,
) -> None:
    """Convert between brat standoff and JSON lines; nothing but scores and raw lines is lost.

    Example: spanloom convert protocols/ protocols.jsonl
    """
    from spanloom.formats import jsonl
    from spanloom.storage import write_chunks

    if not source.exists():
        raise DataError(f"{source}: no such file or folder")
    read, written = of or _guess(source), to or _guess(out)
    say(f"{source} ({read}) to {out} ({written})")
    stream = _read(source, read)
    if written is Format.BRAT:
        save_collection(stream, out)
        return
    if out.is_dir():
        raise WrongUse(f"{out}: is a folder; expected a .jsonl file to write")
    write_chunks(out, (jsonl.dumps([document]).encode() for document in stream))
    say(f"written to {out}")


def _guess(path: Path) -> Format:
    """The format that a name tells; what is no file of JSON lines is brat."""
    lines = path.suffix in (".jsonl", ".json") and not path.is_dir()
    return Format.JSONL if lines else Format.BRAT


def _read(path: Path, of: Format) -> Iterator[Document]:
    """The documents of a path; its name need not tell the format of JSON lines."""
    from spanloom.formats import jsonl

    if of is Format.BRAT and path.suffix == ".jsonl" and not path.is_dir():
        raise WrongUse(f"{path}: expected a brat folder or .txt for --from brat")
    if of is Format.JSONL and path.is_dir():
        raise WrongUse(f"{path}: is a folder; expected a .jsonl file for --from jsonl")
    if of is Format.JSONL and path.suffix != ".jsonl":
        return jsonl.read(path)
    return documents(path)
