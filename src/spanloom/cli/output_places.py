"""Refuse places for output where it would replace or join what is read."""

from collections.abc import Iterable
from pathlib import Path

from spanloom.cli.console import WrongUse


def check_is_not_source(out: Path, source: Path) -> None:
    """Raise ``WrongUse`` if OUT is the file IN, of which no other copy may exist."""
    if source.is_file() and out.exists() and source.samefile(out):
        raise WrongUse(f"{out}: is IN, which would be replaced; expected another file as OUT")


def check_is_not_model(out: Path, model: str) -> None:
    """Raise ``WrongUse`` if OUT is the folder MODEL, or lies in it, which would make it invalid."""
    if Path(model).is_dir() and out.resolve().is_relative_to(Path(model).resolve()):
        problem = f"is the model {model} or lies in it, which would be replaced or made invalid"
        raise WrongUse(f"-o {out}: {problem}; expected another folder")


def check_is_outside(out: Path, source: Path, targets: Iterable[Path] = ()) -> None:
    """Raise ``WrongUse`` where OUT, or one of its files, would lie in the folder that is read.

    A later run, or a resumed one, would read it or could not tell what is input, and inputs of that
    name would be lost. Hidden files are never read.
    """
    from spanloom.corpora.files import is_hidden

    if not source.is_dir():
        return
    corpus = source.resolve()
    for target in (path.resolve() for path in (out, *targets)):
        if target.is_relative_to(corpus) and not is_hidden(target.relative_to(corpus)):
            raise WrongUse(f"{out}: expected a place outside of the corpus {source}")
