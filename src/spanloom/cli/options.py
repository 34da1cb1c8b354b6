"""Commands whose options are the fields of a dataclass, so that they are handed on as one value."""

import inspect
import shlex
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar, get_type_hints

import typer

A = TypeVar("A")


def options_of(kind: type[A]) -> Callable[[Callable[[A], None]], Callable[..., None]]:
    """Make a command of a function of one value: its options are the fields of ``kind``."""

    def made(run: Callable[[A], None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            run(kind(**given))

        command.__name__, command.__doc__ = run.__name__, run.__doc__
        command.__annotations__ = get_type_hints(kind, include_extras=True)
        vars(command)["__signature__"] = inspect.signature(kind, eval_str=True)
        return command

    return made


def line_of(command: str, asked: Any) -> str:
    """Return the line that asks for the same once more; ``asked`` is a dataclass of options."""
    hints = get_type_hints(type(asked), include_extras=True)
    words: list[str] = []
    for each in fields(asked):
        value, option = getattr(asked, each.name), hints[each.name].__metadata__[0]
        if value == each.default:
            continue
        if not isinstance(option, typer.models.OptionInfo):
            words.append(str(value))
        else:
            name = (option.param_decls or (f"--{each.name}",))[-1]
            words += [name] if value is True else [name, str(value)]
    return shlex.join(["spanloom", command, *words])
