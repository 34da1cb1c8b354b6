"""``spanloom annotate``: text in, annotation out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanloom.cli import in_place as adding
from spanloom.cli.console import WrongUse, join_names, log
from spanloom.cli.inputs import documents, parse_source
from spanloom.cli.options import line_of, options_of
from spanloom.cli.outputs import BRAT, form, needs_cuts, write
from spanloom.cli.resumable import Wanted, annotate_into, check
from spanloom.document import Document

if TYPE_CHECKING:
    from spanloom.model.model import Model

# texts of one's own have no sentence ids yet, which CoNLL-U asks for
_WHOLE = {"conllu": {"add_sent_metadata": "true"}}


@dataclass(frozen=True, slots=True)
class Asked:
    """What ``annotate`` is asked for."""

    source: Annotated[
        str | None,
        typer.Argument(metavar="TEXT|FILE|DIR|-", help="a text, .txt, .jsonl, brat folder, stdin"),
    ] = None
    model: Annotated[
        str | None,
        typer.Option("-m", "--model", help="model folder or hub id; else the one that comes along"),
    ] = None
    tasks: Annotated[str | None, typer.Option(help="only these, with commas: ner,dep")] = None
    to: Annotated[
        str | None,
        typer.Option(metavar="FORM", help="text | json | html | brat | conllu | trees …"),
    ] = None
    out: Annotated[Path | None, typer.Option("-o", "--out", help="file or folder")] = None
    in_place: Annotated[
        bool, typer.Option("--in-place", help="add to the brat files of DIR, changing no byte")
    ] = False
    resume: Annotated[
        bool, typer.Option("--resume", help="go on with a run into OUT that was not finished")
    ] = False
    device: Annotated[str | None, typer.Option(help="cpu | cuda; where it is fastest")] = None
    precision: Annotated[str, typer.Option(help="fastest | fp32 | bf16 | int8 | onnx")] = "fastest"


@options_of(Asked)
def annotate(asked: Asked) -> None:
    """Annotate a text, a file, a brat folder or what is piped in.

    FORM is by OUT's name, else text; it may be any format that convert writes. Finished documents
    are kept in OUT.part until all are, so that --resume goes on after a crash.

    Example: spanloom annotate "Ada Lovelace met Charles Babbage in London."

    Example: spanloom annotate protocols/ -m runs/wlp --to brat -o annotated/
    """
    found = parse_source(asked.source)
    is_folder = isinstance(found, Path) and found.is_dir()
    out = asked.out
    chosen = _chosen(asked, folder=is_folder)
    if chosen == BRAT and out is None and not asked.in_place and isinstance(found, Path):
        if is_folder or found.suffix == ".jsonl":
            raise WrongUse(f"{found}: --to brat needs -o OUT (or, for a brat folder, --in-place)")
    if out is not None:
        check(out, chosen)
    names = None if asked.tasks is None else [each.strip() for each in asked.tasks.split(",")]
    if asked.in_place and isinstance(found, Path):
        there = adding.collected(found)
        adding.add(_loaded(asked.model, asked.device, asked.precision, names), there, names)
        return
    stream = iter([found]) if isinstance(found, Document) else _readable(found)
    model = _loaded(asked.model, asked.device, asked.precision, names)
    title, said = found.name or "spanloom", _WHOLE.get(chosen, {})
    if out is None:
        predicted = model.annotate(stream, names, with_tokens=needs_cuts(chosen))
        write(predicted, chosen, None, title=title, said=said)
        return
    again = line_of("annotate", replace(asked, resume=True))
    work = _work(model, asked.model, names)
    wanted = Wanted(chosen, out, title, said, work, asked.resume, again)
    annotate_into(model, stream, names, wanted)


def _work(model: "Model", place: str | None, names: Iterable[str] | None) -> dict[str, str]:
    """All that predictions depend on beside the documents."""
    import torch

    from spanloom.model.serialization import digest_of

    wanted = (name for group in model.encoder_passes(names) for name in group)
    return {
        "model": digest_of(place),
        "tasks": join_names(wanted),
        "compute": f"{model.compute}, torch {torch.__version__}",
    }


def _chosen(asked: Asked, *, folder: bool) -> str:
    """The form of the output; raises ``WrongUse`` for what cannot go together."""
    if asked.resume and (asked.out is None or asked.in_place):
        raise WrongUse("--resume goes on with a run into -o OUT; say which")
    if not asked.in_place:
        return form(asked.to, asked.out, folder=folder)
    if not folder:
        raise WrongUse("--in-place needs a DIR of brat files")
    if asked.out is not None or asked.to not in (None, BRAT):
        raise WrongUse("--in-place writes brat into DIR itself; it goes with no -o or other --to")
    return BRAT


def _readable(path: Path) -> Iterator[Document]:
    """The documents of a path; the first is read now, so that mistakes show before all else."""
    if path.suffix == ".ann" and not path.is_dir():
        raise WrongUse(f"{path}: expected the text to annotate; did you mean {path.stem}.txt?")
    stream = documents(path)
    first = next(stream, None)
    return iter(()) if first is None else _chained(first, stream)


def _chained(first: Document, rest: Iterable[Document]) -> Iterator[Document]:
    yield first
    yield from rest


def _loaded(
    place: str | None, device: str | None, precision: str, names: Iterable[str] | None
) -> "Model":
    """Load a model and say what will be used."""
    from spanloom.model.serialization import DEFAULT, load

    model = load(place, device=device, precision=precision)
    passes = model.encoder_passes(names)
    wanted = [name for group in passes for name in group]
    apart = f" ({' | '.join(map(join_names, passes))})" if len(passes) > 1 else ""
    log(
        f"model {place or DEFAULT} on {model.compute}; tasks: {join_names(wanted)}; "
        f"encoder passes: {len(passes)}{apart}"
    )
    return model
