"""``spanloom init``: a recipe to start from, made from what the data shows."""

import os
from pathlib import Path
from typing import Annotated

import typer

from spanloom.cli.console import write_stdout
from spanloom.errors import StorageError


def init(
    data: Annotated[Path, typer.Argument(metavar="DIR", help="corpus folder or .jsonl")],
    out: Annotated[Path, typer.Option("-o", "--out", help="the recipe")] = Path("recipe.yaml"),
    force: Annotated[bool, typer.Option("--force", help="replace a recipe that is there")] = False,
) -> None:
    """Write a commented recipe with one task for each layer that has spans.

    Example: spanloom init protocols/ -o recipe.yaml
    """
    from spanloom.atomic_io import write_file
    from spanloom.config.recipe_comments import with_comments
    from spanloom.training.auto_recipe import propose_recipe

    if os.path.lexists(out) and not force:
        raise StorageError(f"{out}: already there; choose another -o, or --force replaces it")
    proposal = propose_recipe(data, os.path.relpath(data, out.parent))
    write_file(out, with_comments(proposal.recipe, proposal.notes).encode())
    write_stdout(f"{out}: {len(proposal.recipe.tasks)} tasks from {data}")
    write_stdout(f"next: spanloom train {out} -o MODEL")
