"""``spanloom annotate``: text in, annotation out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanloom import plugins
from spanloom.cli import in_place as adding
from spanloom.cli.annotator import AnnotationSpec, Annotator
from spanloom.cli.asking import format_replies
from spanloom.cli.console import WrongUse, is_terminal, log, write_stdout
from spanloom.cli.inputs import PipedForm, PipedLines, collect, parse_source
from spanloom.cli.options import Encoding, Precision, line_of, options_of
from spanloom.cli.output_places import check_is_outside
from spanloom.cli.outputs import (
    BRAT,
    JSON,
    PARQUET,
    SHOWN,
    TEXT,
    ShownLayers,
    form,
    is_of_a_file,
    write,
)
from spanloom.cli.stores import is_url
from spanloom.cli.worker_count import default_workers

if TYPE_CHECKING:
    from spanloom.cli.endpoints import Endpoints
    from spanloom.cli.shards import Shard, ShardFolder, Source
    from spanloom.workers.executors import Executor

# texts of one's own have no sentence ids yet, which CoNLL-U asks for
_WRITER_OPTIONS = {"conllu": {"add_sent_metadata": "true"}}
_STDOUT = "-"


@dataclass(frozen=True, slots=True)
class AnnotateOptions:
    """The options of ``annotate``."""

    source: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT|FILE|DIR|-",
            help="a text, .txt, .jsonl, brat folder, folder of .jsonl[.gz] or .parquet, URL, stdin",
        ),
    ] = None
    model: Annotated[
        str | None,
        typer.Option("-m", "--model", help="model folder or hub id; default: the bundled model"),
    ] = None
    tasks: Annotated[str | None, typer.Option(help="only these, with commas: ner,srl; or all")] = (
        None
    )
    to: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="text | table | json | html | brat | conllu | trees …"),
    ] = None
    piped_form: Annotated[
        PipedForm | None, typer.Option("--from", help="what is piped in; default: one text")
    ] = None
    layers: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="what text, table and html show: all, or ner,srl"),
    ] = None
    out: Annotated[
        str | None,
        typer.Option(
            "-o", "--out", help="file or folder, or the URL of one (s3://…); default: stdout"
        ),
    ] = None
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
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="processes of one thread each, with -o; by default free cores"),
    ] = None
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="local, auto, or ray://HOST:PORT")
    ] = None
    device: Annotated[
        str | None, typer.Option(help="cpu | cuda; by default cuda if there is one")
    ] = None
    precision: Precision = "fastest"
    encoding: Encoding = "utf-8"


@options_of(AnnotateOptions)
def annotate(options: AnnotateOptions) -> None:
    """Annotate a text, a file, a brat folder, a folder of shards or what is piped in.

    What is piped in is one text; with --from jsonl, a document in each line of JSON.
    FORMAT follows OUT's name, else it is text; it may be any that convert writes. Text shows at
    most three layers of each document; --layers all shows the others, --to table every number.
    Texts of a folder that cannot be read are left out and named; the exit code is then 1.
    Finished documents are kept in OUT.part until all are, so that --resume goes on after a crash.
    Of a folder of .jsonl, .jsonl.gz or .parquet files OUT has a file for each, and a manifest. Both
    may be URLs of object stores (pip install 'spanloom[stores]').

    Example: spanloom annotate "Ada Lovelace met Charles Babbage in London."

    Example: spanloom annotate protocols/ -m runs/wlp --to brat -o annotated/

    Example: spanloom annotate corpus/ -o annotated/ --workers 8

    Example: spanloom annotate s3://bucket/corpus -o gs://bucket/annotated

    Example: spanloom annotate article.txt -m runs/squad --question "Who built it?"
    """
    from spanloom.cli.endpoints import Endpoints

    if options.out == _STDOUT:
        options = replace(options, out=None)
    if any(text is not None and is_url(text) for text in (options.source, options.out)):
        _annotate_in_stores(options)
        return
    source = parse_source(options.source, options.encoding, options.piped_form)
    if isinstance(source, Path) and source.suffix == ".ann" and not source.is_dir():
        raise WrongUse(f"{source}: expected the text to annotate; did you mean {source.stem}.txt?")
    out = None if options.out is None else Path(options.out)
    output_form = _output_form(options, source, out)
    spec = _spec(options, output_form, out)
    if options.in_place:
        assert isinstance(source, Path)
        collection = collect(source)
        annotator = _load(spec)
        adding.add(annotator.model, collection, annotator.names)
    elif out is None:
        _annotate_to_stdout(options, spec, source)
    else:
        _check_left_out(options, _annotate_into(options, spec, Endpoints(source, out)))


def _annotate_in_stores(options: AnnotateOptions) -> None:
    """Annotate from or into an object store."""
    from spanloom.cli.endpoints import open_endpoints

    if options.in_place:
        raise WrongUse("--in-place needs a DIR of brat files on this machine")
    if options.source is None or options.source == "-" or options.out is None or options.piped_form:
        raise WrongUse("the URL of a store goes with IN and -o OUT")
    with open_endpoints(options.source, options.out) as endpoints:
        output_form = _output_form(options, endpoints.source, endpoints.out)
        if output_form == BRAT and endpoints.destination.is_remote:
            raise WrongUse(f"-o {options.out}: brat files are not written to stores; say --to json")
        spec = _spec(options, output_form, endpoints.out)
        shards = _annotate_into(options, spec, endpoints)
    _check_left_out(options, shards)


def _check_left_out(options: AnnotateOptions, shards: "Iterable[Shard]") -> None:
    """Raise ``DataError`` at the end if documents of a folder could not be read."""
    for shard in shards:
        shard.left.check(str(options.source))


def _annotate_to_stdout(options: AnnotateOptions, spec: AnnotationSpec, source: "Source") -> None:
    """Annotate documents in this process, and print each as it comes."""
    from spanloom.cli.progress_log import ProgressLog
    from spanloom.cli.shards import open_single

    documents = open_single(source, Path(), spec.to, options.encoding)
    documents.begin()
    annotator = _load(spec)
    shown = ShownLayers(_names(options.layers), annotator.doubts())
    shown.check(annotator.layers(), annotator.layers_not_run())
    predicted = annotator.annotate(documents)
    if not is_terminal():
        predicted = ProgressLog(documents.size).watch(predicted, lambda: documents.position)
    asked = spec.parse_asked()
    if asked is not None and spec.to == TEXT:
        for reply in format_replies(predicted, list(annotator.types()), asked):
            write_stdout(reply, end="")
    else:
        title, writer_options = source.name or "spanloom", _WRITER_OPTIONS.get(spec.to, {})
        write(predicted, spec.to, None, title=title, writer_options=writer_options, shown=shown)
    _check_left_out(options, [documents])


def _annotate_into(
    options: AnnotateOptions, spec: AnnotationSpec, endpoints: "Endpoints"
) -> "list[Shard]":
    """Annotate documents into a file or folder, by one process or several; return what was read."""
    from spanloom.cli.finished import OutputJob
    from spanloom.cli.resumable import annotate_into, check

    source, out = endpoints.source, endpoints.out
    folder = _corpus_of(source, out, options.to)
    shards = _shards(options, endpoints, spec.to, folder)
    if folder is None:
        check(source, out, spec.to)
        shards[0].begin()
    job = OutputJob(
        spec.to,
        out,
        source.name or "spanloom",
        _WRITER_OPTIONS.get(spec.to, {}),
        ShownLayers(_names(options.layers)),
        options.resume,
        line_of("annotate", replace(options, resume=True)),
        source if isinstance(source, Path) else None,
        is_corpus=folder is not None,
        destination=endpoints.destination,
        asked=spec.parse_asked(),
    )
    annotate_into(_executor(options, spec, shards), shards, job)
    return shards


def _shards(
    options: AnnotateOptions, endpoints: "Endpoints", to: str, folder: "ShardFolder | None"
) -> "list[Shard]":
    """Return what is read, and what each part of it becomes."""
    from spanloom.cli.shards import ShardFolder, find_shards, open_shards, open_single

    source, out = endpoints.source, endpoints.out
    if folder is not None:
        folder.log_ignored()
        shards = open_shards(folder, out, options.to and to)
        if isinstance(source, Path):
            check_is_outside(out, source, [shard.target for shard in shards])
        return shards
    if isinstance(source, Path):
        check_is_outside(out, source)
    corpus = find_shards(source) if isinstance(source, Path) and source.is_dir() else None
    source = corpus or source
    if isinstance(source, ShardFolder):
        source.log_ignored()
    return [open_single(source, out, to, options.encoding)]


def _corpus_of(source: "Source", out: Path | None, to: str | None) -> "ShardFolder | None":
    """Return the shards of IN if OUT becomes such a folder, too; else None."""
    from spanloom.cli.shards import ShardFolder, find_shards

    if out is None or to == BRAT or (is_of_a_file(out) and not out.is_dir()):
        return None
    if isinstance(source, ShardFolder):
        return source
    return find_shards(source) if isinstance(source, Path) and source.is_dir() else None


def _executor(
    options: AnnotateOptions, spec: AnnotationSpec, shards: "Sequence[Shard]"
) -> "Executor":
    """Return what annotates: this process, workers here, or a cluster's."""
    from spanloom.cli.annotation_worker import make_answerer, worker_command
    from spanloom.workers.executors import InProcess, LocalWorkers

    if options.ray is not None:
        from spanloom.workers.ray_workers import RayWorkers

        cluster = RayWorkers(options.workers, options.ray, partial(make_answerer, spec))
        if options.workers is not None and cluster.size < options.workers:
            log(f"--workers {options.workers}: the cluster has cores for {cluster.size}")
        return cluster
    num_bytes = sum(shard.size for shard in shards)
    size = options.workers or default_workers(num_bytes, options.device)
    if size == 1:
        return InProcess(make_answerer(spec))
    return LocalWorkers(size, worker_command(spec))


def _names(option: str | None) -> list[str] | None:
    """Return the names of an option that takes several, with commas; None where it is not used."""
    return None if option is None else [name.strip() for name in option.split(",")]


def _spec(options: AnnotateOptions, output_form: str, out: Path | None) -> AnnotationSpec:
    """Return what annotations depend on; raises ``WrongUse`` for questions that make no sense."""
    is_saved = output_form == BRAT and not options.in_place
    spec = AnnotationSpec(
        options.model,
        options.device,
        options.precision,
        _names(options.tasks),
        options.question,
        options.labels,
        options.range,
        output_form,
        str(out) if is_saved and out is not None else None,
        list(plugins.modules),
    )
    if spec.parse_asked() is not None and options.in_place:
        raise WrongUse("--in-place goes with no --question, --labels or --range")
    return spec


def _output_form(options: AnnotateOptions, source: "Source", out: Path | None) -> str:
    """Return the form of the output; raises ``WrongUse`` for options that exclude each other."""
    from spanloom.cli.shards import is_folder

    if options.resume and (options.out is None or options.in_place):
        raise WrongUse("--resume goes on with a run into -o OUT; say which")
    if options.in_place:
        return _in_place_form(options, source)
    output_form = form(options.to, out, folder=is_folder(source))
    if options.to is None and _corpus_of(source, out, options.to) is not None:
        output_form = JSON
    if options.layers is not None and output_form not in SHOWN:
        raise WrongUse(f"--layers goes with --to {'|'.join(SHOWN)}, not with {output_form}")
    if options.out is None:
        _check_stdout(options, output_form, source)
    return output_form


def _check_stdout(options: AnnotateOptions, output_form: str, source: "Source") -> None:
    """Raise ``WrongUse`` for what cannot be printed."""
    if options.workers is not None or options.ray is not None:
        raise WrongUse("--workers and --ray go with -o OUT")
    if output_form == PARQUET:
        raise WrongUse("--to parquet makes no text; say -o OUT")
    if output_form == BRAT and isinstance(source, Path | PipedLines):
        if isinstance(source, PipedLines) or source.is_dir() or source.suffix == ".jsonl":
            shown = source.name if isinstance(source, PipedLines) else source
            raise WrongUse(f"{shown}: --to brat needs -o OUT (or, for a brat folder, --in-place)")


def _in_place_form(options: AnnotateOptions, source: "Source") -> str:
    """Return brat; raises ``WrongUse`` for options that exclude ``--in-place``."""
    if not (isinstance(source, Path) and source.is_dir()):
        raise WrongUse("--in-place needs a DIR of brat files")
    if options.encoding != "utf-8":
        raise WrongUse("--in-place adds to files in UTF-8; it goes with no --encoding")
    if options.out is not None or options.to not in (None, BRAT):
        raise WrongUse("--in-place writes brat into DIR itself; it goes with no -o or other --to")
    if options.workers is not None or options.ray is not None:
        raise WrongUse("--workers and --ray go with -o OUT, not with --in-place")
    return BRAT


def _load(spec: AnnotationSpec) -> Annotator:
    """Load a model and log what will be used."""
    annotator = Annotator(spec)
    log(annotator.describe())
    return annotator
