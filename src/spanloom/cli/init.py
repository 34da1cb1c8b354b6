"""``spanloom init``: a recipe to start from, made from what the data shows."""

import os
from pathlib import Path
from typing import Annotated

import typer

from spanloom.cli.say import put
from spanloom.errors import StorageError


def init(
    data: Annotated[Path, typer.Argument(metavar="DIR", help="corpus folder or .jsonl")],
    out: Annotated[Path, typer.Option("-o", "--out", help="the recipe")] = Path("recipe.yaml"),
    force: Annotated[bool, typer.Option("--force", help="replace a recipe that is there")] = False,
) -> None:
    """Write a commented recipe with one task for each layer that has spans.

    Example: spanloom init protocols/ -o recipe.yaml
    """
    from spanloom.config.commented import commented
    from spanloom.storage import write_file
    from spanloom.training.propose import propose

    if os.path.lexists(out) and not force:
        raise StorageError(f"{out}: already there; choose another -o, or --force replaces it")
    proposal = propose(data, os.path.relpath(data, out.parent))
    write_file(out, commented(proposal.recipe, proposal.notes).encode())
    put(f"{out}: {len(proposal.recipe.tasks)} tasks from {data}")
    put(f"next: spanloom train {out} -o MODEL")
