"""The command ``spanloom``: one module per subcommand; an error is one line and an exit code.

Exit codes: 0 all is well, 1 the data or the run failed, 2 wrong use. Nothing of the engine is
imported here, so that ``--help`` answers at once.
"""

import errno
import io
import os
import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from spanloom.cli.annotate import annotate
from spanloom.cli.check import check
from spanloom.cli.console import WrongUse, log
from spanloom.cli.convert import convert, view
from spanloom.cli.evaluate import evaluate, score
from spanloom.cli.glad import app as glad
from spanloom.cli.options import with_plugins
from spanloom.cli.pretrain import pretrain
from spanloom.cli.serve import serve
from spanloom.cli.study import app as study
from spanloom.cli.train import init, quantize, train
from spanloom.cli.tune import tune
from spanloom.cli.vectors import app as vectors
from spanloom.cli.versions import print_versions
from spanloom.errors import NameNotFound, RecipeError, SpanloomError


class _ErrorReporter(TyperGroup):
    """Reports every expected error in one line."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that lacks a character goes on
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            done = super().invoke(ctx)
            sys.stdout.flush()
        except WrongUse as error:
            _end(str(error), code=2)
        except SpanloomError as error:
            _end(str(error), code=2 if _is_wrong_use(error) else 1)
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever read our results has seen enough
                raise
            _end(_system_error(error), code=1)
        except MemoryError:
            _end("out of memory", code=1)
        except KeyboardInterrupt:
            _end("interrupted", code=1)
        return done


app = typer.Typer(
    name="spanloom",
    cls=_ErrorReporter,
    help="Train and run one model for every kind of text annotation, brat in and out.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=print_versions, is_eager=True, help="print versions"),
    ] = False,
) -> None:
    """Train and run one model for every kind of text annotation, brat in and out."""


_COMMANDS = (
    *(annotate, view, serve, init, train, pretrain, evaluate, check, convert, tune, quantize),
)
for _command in _COMMANDS:
    app.command()(with_plugins(_command))
# an official program has options of its own, which its scorer knows
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
    with_plugins(score)
)
for _name, _group in (("glad", glad), ("study", study), ("vectors", vectors)):
    for _info in _group.registered_commands:
        if _info.callback is not None:
            _info.callback = with_plugins(_info.callback)
    app.add_typer(_group, name=_name)


def main() -> None:
    """Run the command line and exit.

    Threads that wait for each other sleep, which must be settled before torch is imported: where
    other programs are busy, spinning takes most of the time.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    app()


def _is_wrong_use(error: SpanloomError) -> bool:
    """Return whether an error is about the command line itself.

    Names in files become errors of those files, so a name that is reported as such was an option;
    errors of ``--set`` and ``--reader-option`` have the option where others have a file.
    """
    is_of_option = isinstance(error, RecipeError) and error.path.startswith("--")
    return is_of_option or isinstance(error, NameNotFound)


def _end(text: str, *, code: int) -> NoReturn:
    """Log an error on one line, and exit."""
    log("spanloom: " + " ".join(text.split("\n")))
    try:
        sys.stdout.flush()
    except OSError:  # results that cannot be written must not fail once more at the exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(code)


def _system_error(error: OSError) -> str:
    """Return an error of the operating system in one line."""
    if error.strerror is None:
        return next(iter(str(error).splitlines()), type(error).__name__)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
