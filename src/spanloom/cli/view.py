"""``spanloom view``: documents as a page for people, or gold beside predicted."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from spanloom.cli.console import log, write_stdout
from spanloom.cli.inputs import documents
from spanloom.document import Document


def view(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help=".txt, .ann, .jsonl or brat folders")
    ],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="the page; NAME.spanloom.html if not said")
    ] = None,
) -> None:
    """Draw documents with spans and arcs as one HTML page that loads nothing.

    Two paths that hold the same documents are drawn side by side, gold and predicted, with a list
    of the differences that leads to their places.

    Example: spanloom view protocols/protocol_1.ann -o page.html

    Example: spanloom view gold/ predicted/ -o differences.html
    """
    from spanloom.atomic_io import write_file
    from spanloom.viewer import html

    sides = [list(documents(path)) for path in paths]
    names = " and ".join(path.resolve().name for path in paths[:2])
    if len(sides) == 2 and _are_same(*sides):
        log(f"gold: {paths[0]}, predicted: {paths[1]}")
        page = html.render_pair(sides[0], _named(sides[1], sides[0]), title=names)
    else:
        page = html.render((each for side in sides for each in side), title=names)
    target = out or Path(f"{paths[0].resolve().stem}.spanloom.html")
    write_file(target, page.encode())
    write_stdout(f"{target}: {sum(map(len, sides))} documents; open it in a browser")


def _are_same(one: list[Document], other: list[Document]) -> bool:
    """Whether two sides are of the same documents: by name, or one text each."""
    if {each.name for each in one} == {each.name for each in other}:
        return True
    return len(one) == len(other) == 1 and one[0].text == other[0].text


def _named(side: list[Document], like: list[Document]) -> list[Document]:
    """One side's only document under the name of the other's, or all as they are."""
    return [replace(side[0], name=like[0].name)] if len(side) == 1 else side
