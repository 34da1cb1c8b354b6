"""``spanloom pack``: a model in a smaller file."""

from pathlib import Path
from typing import Annotated

import typer

from spanloom.cli.say import put


def pack(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="model folder or hub id")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="MODEL", help="the smaller one")],
    tables: Annotated[
        str, typer.Option(help="fp32 | fp16 | int8: vectors of pieces and words")
    ] = "int8",
    matrices: Annotated[str, typer.Option(help="fp32 | fp16 | int8: all other matrices")] = "fp16",
) -> None:
    """Store a model's weights smaller; it computes as before, with what was stored.

    What that costs is measured on the file: spanloom evaluate OUT DATA.

    Example: spanloom pack runs/mine -o runs/mine-small
    """
    from spanloom.model.folder import WEIGHTS, repack
    from spanloom.model.packing import Store

    repack(model, out, Store(tables, matrices))
    put(f"{out}: {(out / WEIGHTS).stat().st_size / 1e6:.1f} MB of weights")
