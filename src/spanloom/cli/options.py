"""Options of commands: fields of a dataclass handed on as one value, KEY=VALUE, and plugins."""

import inspect
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import wraps
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from spanloom import plugins
from spanloom.cli.console import WrongUse

A = TypeVar("A")

Precision = Annotated[
    str,
    typer.Option(
        help="auto | fastest | fp32 | bf16 | int8 | onnx; fastest may choose int8, auto never does"
    ),
]

Encoding = Annotated[
    str, typer.Option(metavar="NAME", help="of text files that are not UTF-8, as latin-1")
]

Workers = Annotated[
    int | None,
    typer.Option(min=1, help="processes for a large corpus; by default free cores"),
]


def options_of(kind: type[A]) -> Callable[[Callable[[A], None]], Callable[..., None]]:
    """Turn a function of one value into a command; its options are the fields of ``kind``."""

    def decorate(run: Callable[[A], None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            run(kind(**given))

        command.__name__, command.__doc__ = run.__name__, run.__doc__
        command.__annotations__ = get_type_hints(kind, include_extras=True)
        vars(command)["__signature__"] = inspect.signature(kind, eval_str=True)
        return command

    return decorate


def line_of(command: str, options: Any) -> str:
    """Return the command line with the same options; ``options`` is a dataclass of options."""
    hints = get_type_hints(type(options), include_extras=True)
    words: list[str] = []
    for field in fields(options):
        value, option = getattr(options, field.name), hints[field.name].__metadata__[0]
        if value == field.default:
            continue
        if not isinstance(option, typer.models.OptionInfo):
            words.append(str(value))
        else:
            name = (option.param_decls or (f"--{field.name}",))[-1]
            values = value if isinstance(value, list) else [value]
            words += [name] if value is True else [w for one in values for w in (name, str(one))]
    return shlex.join(["spanloom", command, *words, *plugin_options()])


_Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", metavar="MODULE", help="use the parts of a module; repeatable"),
]


def with_plugins(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option ``--plugin MODULE`` to a command: modules to load before it runs."""

    @wraps(command)
    def run(*args: Any, plugin: list[str] | None = None, **kwargs: Any) -> None:
        plugins.load(*plugin or ())
        command(*args, **kwargs)

    signature = inspect.signature(command, eval_str=True)
    option = inspect.Parameter(
        "plugin", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_Plugins
    )
    parameters = [*signature.parameters.values(), option]
    vars(run)["__signature__"] = signature.replace(parameters=parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def plugin_options() -> list[str]:
    """Return the options that load the same plugins once more."""
    return [word for module in plugins.modules for word in ("--plugin", module)]


def pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    """Return KEY=VALUE options by key."""
    values = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals:
            raise WrongUse(f"{option}: expected KEY=VALUE, got {item!r:.60}")
        values[key] = value
    return values


def parse_values(option: str, options: Mapping[str, str]) -> dict[str, Any]:
    """Return options with lists and mappings read as YAML: ``columns=[word, entities]``."""
    from spanloom.config.yaml import loads

    return {
        key: loads(value, option).data if value[:1] in ("[", "{") else value
        for key, value in options.items()
    }
