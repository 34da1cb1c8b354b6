"""``spanloom quantize``: a model in a smaller file."""

from pathlib import Path
from typing import Annotated

import typer

from spanloom.cli.console import write_stdout


def quantize(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="model folder or hub id")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="MODEL", help="the smaller one")],
    embeddings: Annotated[
        str, typer.Option(help="fp32 | fp16 | int8: vectors of pieces and words")
    ] = "int8",
    weights: Annotated[str, typer.Option(help="fp32 | fp16 | int8: all other matrices")] = "fp16",
) -> None:
    """Store a model's weights smaller; it computes as before, with what was stored.

    What that costs is measured on the file: spanloom evaluate OUT DATA.

    Example: spanloom quantize runs/mine -o runs/mine-small
    """
    from spanloom.model.quantization import StorageDtypes
    from spanloom.model.serialization import WEIGHTS, repack

    repack(model, out, StorageDtypes(embeddings, weights))
    write_stdout(f"{out}: {(out / WEIGHTS).stat().st_size / 1e6:.1f} MB of weights")
