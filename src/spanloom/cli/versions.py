"""``spanloom --version``: the versions that results depend on."""

import platform

import typer

from spanloom.cli.console import write_stdout

_PACKAGES = ("spanloom", "torch", "transformers", "tokenizers")


def print_versions(is_asked: bool) -> None:
    """Print the versions of Spanloom, Python and what computes, then exit; nothing is imported."""
    if not is_asked:
        return
    from importlib.metadata import version

    for package in _PACKAGES:
        write_stdout(f"{package} {version(package)}")
    write_stdout(f"python {platform.python_version()}")
    raise typer.Exit
