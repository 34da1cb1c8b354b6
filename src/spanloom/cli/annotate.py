"""``spanloom annotate``: text in, annotation out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanloom.cli import in_place as adding
from spanloom.cli.asking import Asked, format_replies, parse_asked
from spanloom.cli.console import WrongUse, join_names, log, write_stdout
from spanloom.cli.inputs import documents, parse_source
from spanloom.cli.options import Encoding, Precision, line_of, options_of
from spanloom.cli.outputs import BRAT, SHOWN, TEXT, ShownLayers, form, needs_cuts, write
from spanloom.cli.resumable import OutputJob, annotate_into, check
from spanloom.document import Document

if TYPE_CHECKING:
    from spanloom.model.model import Model

# texts of one's own have no sentence ids yet, which CoNLL-U asks for
_WRITER_OPTIONS = {"conllu": {"add_sent_metadata": "true"}}


@dataclass(frozen=True, slots=True)
class AnnotateOptions:
    """The options of ``annotate``."""

    source: Annotated[
        str | None,
        typer.Argument(metavar="TEXT|FILE|DIR|-", help="a text, .txt, .jsonl, brat folder, stdin"),
    ] = None
    model: Annotated[
        str | None,
        typer.Option("-m", "--model", help="model folder or hub id; default: the bundled model"),
    ] = None
    tasks: Annotated[str | None, typer.Option(help="only these, with commas: ner,srl")] = None
    to: Annotated[
        str | None,
        typer.Option(metavar="FORM", help="text | table | json | html | brat | conllu | trees …"),
    ] = None
    layers: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="what text, table and html show: all, or ner,srl"),
    ] = None
    out: Annotated[Path | None, typer.Option("-o", "--out", help="file or folder")] = None
    question: Annotated[
        list[str] | None,
        typer.Option("--question", metavar="TEXT", help="answer it from each text; repeatable"),
    ] = None
    labels: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="choose one for each text: positive,negative"),
    ] = None
    range: Annotated[
        str | None,
        typer.Option("--range", metavar="LOW:HIGH", help="choose a number for each text"),
    ] = None
    in_place: Annotated[
        bool, typer.Option("--in-place", help="add to the brat files of DIR, changing no byte")
    ] = False
    resume: Annotated[
        bool, typer.Option("--resume", help="go on with a run into OUT that was not finished")
    ] = False
    device: Annotated[str | None, typer.Option(help="cpu | cuda; where it is fastest")] = None
    precision: Precision = "fastest"
    encoding: Encoding = "utf-8"


@options_of(AnnotateOptions)
def annotate(options: AnnotateOptions) -> None:
    """Annotate a text, a file, a brat folder or what is piped in.

    FORM is by OUT's name, else text; it may be any format that convert writes. Text shows at most
    three layers of each document; --layers all shows the others, --to table every number. Finished
    documents are kept in OUT.part until all are, so that --resume goes on after a crash.

    Example: spanloom annotate "Ada Lovelace met Charles Babbage in London."

    Example: spanloom annotate protocols/ -m runs/wlp --to brat -o annotated/

    Example: spanloom annotate article.txt -m runs/squad --question "Who built it?"
    """
    asked = parse_asked(options.question, options.labels, options.range)
    source = parse_source(options.source)
    layers = None if options.layers is None else _names(options.layers)
    is_folder = isinstance(source, Path) and source.is_dir()
    out = options.out
    output_form = _output_form(options, folder=is_folder)
    if output_form == BRAT and out is None and not options.in_place and isinstance(source, Path):
        if is_folder or source.suffix == ".jsonl":
            raise WrongUse(f"{source}: --to brat needs -o OUT (or, for a brat folder, --in-place)")
    if out is not None:
        check(out, output_form)
    names: Sequence[str] | None = None if options.tasks is None else _names(options.tasks)
    if options.in_place and asked is not None:
        raise WrongUse("--in-place goes with no --question, --labels or --range")
    if options.in_place and isinstance(source, Path):
        collection = adding.list_documents(source)
        model = _load_model(options, names)
        adding.add(model, collection, names)
        return
    stream = iter([source]) if isinstance(source, Document) else _readable(source, options.encoding)
    model = _load_model(options, names, asked)
    stream = _warned(model, stream)
    if asked is not None:
        model, names = asked.prepare(model, names)
        stream = asked.ask(stream)
    title, writer_options = source.name or "spanloom", _WRITER_OPTIONS.get(output_form, {})
    doubts = _doubts(model, options.model) if names is None and output_form in SHOWN else {}
    shown = ShownLayers(layers, doubts)
    if out is None:
        predicted = model.annotate(stream, names, with_tokens=needs_cuts(output_form))
        if asked is not None and output_form == TEXT:
            _write_replies(predicted, [model.layers[name] for name in names or ()])
            return
        write(predicted, output_form, None, title=title, writer_options=writer_options, shown=shown)
        return
    again = line_of("annotate", replace(options, resume=True))
    work = _work(model, options.model, names) | ({} if asked is None else asked.work())
    path = source if isinstance(source, Path) else None
    job = OutputJob(
        output_form, out, title, writer_options, shown, work, options.resume, again, path
    )
    annotate_into(model, stream, names, job)


def _write_replies(predicted: Iterable[Document], layers: Sequence[str]) -> None:
    """Print what was asked about each document."""
    for document in predicted:
        write_stdout(f"# {document.name}\n{format_replies(document, layers)}", end="")


def _names(option: str) -> list[str]:
    """Return the names of an option that takes several, with commas."""
    return [name.strip() for name in option.split(",")]


def _doubts(model: "Model", model_path: str | None) -> dict[str, str]:
    """Return the layers that are wrong more often than right by the model's card, with scores."""
    from spanloom.model.card_scores import doubtful_layers
    from spanloom.model.serialization import card_of

    on_request = {name for name, task in model.recipe.tasks.items() if task.on_request}
    layers = {task: layer for task, layer in model.layers.items() if task not in on_request}
    return doubtful_layers(card_of(model_path), layers)


def _work(model: "Model", model_path: str | None, names: Iterable[str] | None) -> dict[str, str]:
    """Return what predictions depend on besides the documents."""
    import torch

    from spanloom.model.serialization import digest_of

    task_names = (name for group in model.encoder_passes(names) for name in group)
    return {
        "model": digest_of(model_path),
        "tasks": join_names(task_names),
        "compute": f"{model.compute}, torch {torch.__version__}",
    }


def _output_form(options: AnnotateOptions, *, folder: bool) -> str:
    """Return the form of the output; raises ``WrongUse`` for options that exclude each other."""
    if options.resume and (options.out is None or options.in_place):
        raise WrongUse("--resume goes on with a run into -o OUT; say which")
    if not options.in_place:
        output_form = form(options.to, options.out, folder=folder)
        if options.layers is not None and output_form not in SHOWN:
            raise WrongUse(f"--layers goes with --to {'|'.join(SHOWN)}, not with {output_form}")
        return output_form
    if not folder:
        raise WrongUse("--in-place needs a DIR of brat files")
    if options.encoding != "utf-8":
        raise WrongUse("--in-place adds to files in UTF-8; it goes with no --encoding")
    if options.out is not None or options.to not in (None, BRAT):
        raise WrongUse("--in-place writes brat into DIR itself; it goes with no -o or other --to")
    return BRAT


def _readable(path: Path, encoding: str) -> Iterator[Document]:
    """Yield the documents of a path; the first is read now, so that mistakes show early."""
    if path.suffix == ".ann" and not path.is_dir():
        raise WrongUse(f"{path}: expected the text to annotate; did you mean {path.stem}.txt?")
    stream = documents(path, encoding)
    first = next(stream, None)
    return iter(()) if first is None else _chain(first, stream)


def _warned(model: "Model", stream: Iterator[Document]) -> Iterator[Document]:
    """Yield the documents; log it if the encoder hardly knows the language of the first."""
    first = next(stream, None)
    if first is None:
        return iter(())
    known = model.known_language()
    if known and (warning := known.warning([model.tokenize(first)])):
        log(f"{first.name or 'text'}: {warning}")
    return _chain(first, stream)


def _chain(first: Document, others: Iterable[Document]) -> Iterator[Document]:
    yield first
    yield from others


def _load_model(
    options: AnnotateOptions, names: Iterable[str] | None, asked: Asked | None = None
) -> "Model":
    """Load a model and log what will be used."""
    from spanloom.model.serialization import DEFAULT, load

    model = load(options.model, device=options.device, precision=options.precision)
    passes = model.encoder_passes(names if asked is None else asked.prepare(model, names)[1])
    task_names = [name for group in passes for name in group]
    groups = f" ({' | '.join(map(join_names, passes))})" if len(passes) > 1 else ""
    log(
        f"model {options.model or DEFAULT} on {model.compute}; tasks: {join_names(task_names)}; "
        f"encoder passes: {len(passes)}{groups}"
    )
    return model
