"""Console output: results on stdout, everything else on stderr, wrong use as an error."""

import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

_CLEAR = "\x1b[K"  # to the end of the line
MAX_LOGGED = 10  # problems of one input that are logged; the rest is counted


class WrongUse(Exception):
    """The command line requests something that no command does; the message is one line."""


def log(text: str) -> None:
    """Write one line of progress to stderr."""
    typer.echo(text, err=True)


def write_stdout(text: str, *, end: str = "\n") -> None:
    """Write a piece of the result."""
    typer.echo(text + end, nl=False)


def warn(problems: Sequence[object], root: Path) -> None:
    """Log the first problems of files below ``root``, and the number of the others."""
    for problem in problems[:MAX_LOGGED]:
        log(f"{root}/{problem}")
    if len(problems) > MAX_LOGGED:
        log(f"{root}: {len(problems) - MAX_LOGGED} more problems (spanloom check shows them)")


def join_names(names: Iterable[str]) -> str:
    """Return names with commas, ``none`` for none."""
    return ", ".join(names) or "none"


class StatusLine:
    """A last line on the terminal that the next one replaces; other lines stay above it."""

    def __init__(self) -> None:
        self._is_shown = False

    def show(self, text: str) -> None:
        """Show a line in place of the one before, cut to fit."""
        width = shutil.get_terminal_size().columns - 1
        typer.echo(f"\r{text[:width]}{_CLEAR}", err=True, nl=False)
        self._is_shown = True

    def log(self, text: str) -> None:
        """Write a line that stays."""
        log(f"\r{_CLEAR}{text}" if self._is_shown else text)
        self._is_shown = False


def is_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return sys.stdout.isatty()
