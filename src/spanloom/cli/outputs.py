"""Output of annotated documents: text, tables, JSON lines, brat, an HTML page, or any format."""

import os
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from spanloom.annotation.text_pairs import TEXT_PAIR
from spanloom.cli.console import WrongUse, is_terminal, log, write_stdout
from spanloom.cli.options import parse_values
from spanloom.document import SENTENCES, WORDS, Document, Layer
from spanloom.errors import FormatError, NameNotFound
from spanloom.quantity import quantity

if TYPE_CHECKING:
    from spanloom.config.options import Options
    from spanloom.formats._base import Format
    from spanloom.formats.brat.conf_from_documents import Config, LayerTypes

BRAT, JSON, TEXT, TABLE, HTML, PARQUET = "brat", "json", "text", "table", "html", "parquet"
_OWN = (BRAT, JSON, TEXT, TABLE, HTML, PARQUET)
SHOWN = (TEXT, TABLE, HTML)  # forms for eyes, whose layers can be chosen
ALL_LAYERS = "all"
_UNASKED = (WORDS, SENTENCES)  # layers that annotate adds of itself
TXT = ".txt"
_SHARED = (TXT, ".csv")  # endings of several formats, none of which is the usual one
ZIPPED = ".gz"
_BY_SUFFIX = {".json": JSON, ".jsonl": JSON, ".html": HTML, TXT: TEXT, ".parquet": PARQUET}


@dataclass(frozen=True, slots=True)
class ShownLayers:
    """The layers that the forms for eyes show: the named ones, or all but the doubtful ones.

    ``doubts`` says by layer why it is off by default.
    """

    names: Sequence[str] | None = None
    doubts: Mapping[str, str] = field(default_factory=dict)

    def check(self, layers: Collection[str], not_run: Mapping[str, str]) -> None:
        """Raise ``NameNotFound`` for a name that no document will have, ``WrongUse`` for a task's.

        ``layers`` are those that the model writes; ``not_run`` are the tasks that do not run, by
        their layers. So a mistake shows before anything is computed.
        """
        for name in self.names or ():
            if name in (ALL_LAYERS, WORDS, SENTENCES, TEXT_PAIR, *layers):
                continue
            if name in not_run:
                wanted = f"--tasks {not_run[name]} (with the others), or --tasks all"
                raise WrongUse(f"--layers {name}: its task does not run; say {wanted}")
            raise NameNotFound("layer", name, layers)

    def nothing(self, document: Document) -> str:
        """Return the line of a document of which nothing is shown: there may be doubtful layers."""
        layers = (document.layer_or_empty(name) for name in self.doubts if self.names is None)
        is_hidden = any(any(layer.annotations()) for layer in layers)
        return "nothing to show\n" if is_hidden else "nothing found\n"

    def log_doubts(self, form: str) -> None:
        """Log which layers a form leaves out or hides."""
        if self.names is None and form in (TEXT, HTML):
            for layer, why in self.doubts.items():
                log(f"{layer} is off, as it is often wrong ({why}); --layers {layer} shows it")


def form(name: str | None, out: Path | None, *, folder: bool) -> str:
    """Return the requested form, else the one of OUT's suffix, else text.

    OUT without a suffix is a brat collection; where the input is a ``folder``, so is one whose
    suffix no format has. Raises ``NameNotFound`` for a name that is neither ours nor a format.
    """
    if name is not None:
        choices = (*_OWN, *_formats())
        if name not in choices:
            raise NameNotFound("form", name, choices)
        return _BY_SUFFIX.get(f".{name}", name)  # jsonl is json
    if out is None:
        return TEXT
    if (own := _own_form(out)) is not None:
        return own
    formats = of_name(out)
    if not out.suffix or (folder and not formats):
        return BRAT
    if len(formats) != 1:
        forms = "|".join(formats or _OWN)
        raise WrongUse(f"-o {out}: cannot tell the form from its name; say --to {forms}")
    return formats[0]


def is_of_a_file(out: Path) -> bool:
    """Return whether OUT is called as files of some form or format are."""
    return _own_form(out) is not None or bool(of_name(out))


def _own_form(out: Path) -> str | None:
    """Return which of our own forms files are usually called so, None for another name."""
    return JSON if out.name.endswith(f".jsonl{ZIPPED}") else _BY_SUFFIX.get(out.suffix)


def is_format(form: str) -> bool:
    """Return whether a form is a file format, which needs words."""
    return form not in _OWN


def needs_cuts(form: str) -> bool:
    """Return whether a form needs words or sentences; a text or page has a line a sentence."""
    return is_format(form) or form in (TEXT, HTML)


def of_name(path: Path) -> list[str]:
    """Return the format that is called as the file ends, else those whose files usually end so.

    Files of several formats end in ``.txt`` or ``.csv``, and these are all returned: none is the
    usual one.
    """
    from spanloom.formats import _files

    if path.suffix.removeprefix(".") in _formats():
        return [path.suffix.removeprefix(".")]
    formats = _files.detectable_formats().items()
    if (suffix := path.suffix.lower()) in _SHARED:
        return [name for name, form in formats if suffix in form.suffixes]
    return [name for name, form in formats if path.name.lower().endswith(form.suffixes[0])]


def _formats() -> list[str]:
    from spanloom.formats import _files

    return _files.names()


def write(
    documents: Iterable[Document],
    to: str,
    out: Path | None,
    *,
    title: str,
    writer_options: Mapping[str, str],
    shown: ShownLayers = ShownLayers(),
) -> None:
    """Write documents as they come; an HTML page and files of formats need all of them at once.

    ``writer_options`` are those of a format; ``shown`` is for the forms for eyes.
    """
    shown.log_doubts(to)
    if to == BRAT and out is not None:
        save_collection(documents, out)
        return
    if is_format(to) and out is not None:
        save_file(documents, out, to, writer_options, unasked=_UNASKED)
        return
    if to in SHOWN:
        pieces = _shown(documents, to, title, shown, to_terminal=out is None and is_terminal())
    else:
        pieces = _pieces(documents, to, writer_options)
    if out is None:
        for piece in pieces:
            write_stdout(piece, end="")
        return
    from spanloom.atomic_io import write_chunks

    write_chunks(out, (piece.encode(errors="backslashreplace") for piece in pieces))
    log(f"written to {out}")


def save_collection(documents: Iterable[Document], out: Path) -> None:
    """Save documents as brat files below ``out``, and annotation.conf if it is missing."""
    from spanloom.formats.brat.save import save

    def save_documents() -> Iterator[Document]:
        for document in documents:
            save(document, out, list_layers=True)
            yield document

    configure(save_documents(), out)


def configure(
    documents: Iterable[Document],
    out: Path,
    source: Path | None = None,
    types: "Mapping[str, LayerTypes]" = MappingProxyType({}),
) -> None:
    """Write the annotation.conf of the documents below ``out``, unless it exists.

    It is that of the folder ``source``, if it has one, with the types that it lacks. ``types``
    are those that documents might have, by layer.
    """
    from spanloom.formats.brat.conf_from_documents import TypeCollector

    collector = TypeCollector()
    for layer, of_layer in types.items():
        collector.add_types(layer, of_layer)
    count = sum(1 for _ in map(collector.add, documents))
    write_configuration(collector.config(), count, out, source)


def write_configuration(config: "Config", count: int, out: Path, source: Path | None) -> None:
    """Write an annotation.conf for ``count`` documents below ``out``, as ``configure`` does."""
    from spanloom.atomic_io import write_file
    from spanloom.formats.brat import conf

    text = _configuration(config, source)
    out.mkdir(parents=True, exist_ok=True)
    if (out / conf.NAME).exists():
        log(f"{out / conf.NAME}: kept as it was")
    else:
        write_file(out / conf.NAME, text.encode())
    log(f"written to {out}/: {quantity(count, 'document')}")


def _configuration(needed: "Config", source: Path | None) -> str:
    """Return the text of an annotation.conf: that of a folder with more types, or a new one."""
    from spanloom.formats.brat import conf
    from spanloom.formats.brat.conf_extension import extend
    from spanloom.formats.brat.read import read_text_file

    path = None if source is None or not source.is_dir() else source / conf.NAME
    if path is None or not path.is_file():
        return conf.dumps(needed)
    try:
        return extend(read_text_file(path), needed)
    except FormatError as error:
        log(f"{error}; a new {conf.NAME} is written")
        return conf.dumps(needed)


def save_file(
    stream: Iterable[Document],
    out: Path,
    name: str,
    raw_options: Mapping[str, str],
    *,
    unasked: Collection[str] = (),
) -> Counter[str]:
    """Write one file of a format; log and return what that cannot hold.

    Layers that nobody asked for, ``unasked``, may be lost without a word.
    """
    from spanloom.formats import _files

    form, options = _format_and_options(name, raw_options)
    if not raw_options:
        stream, options = _with_inferred_options(stream, form, str(out))
    lost: Counter[str] = Counter()
    counted = _counting(stream, form, options, lost, unasked)
    written = _files.write(out, counted, form, options, raw_options)
    tell(name, lost)
    log(f"written to {', '.join(map(str, written))}")
    return lost


def _with_inferred_options(
    stream: Iterable[Document], form: "Format", target: str
) -> "tuple[list[Document], Options]":
    """Return all documents and the options that hold them; log these options."""
    documents = list(stream)
    inferred = {
        **form.options_of_suffix.get(Path(target).suffix.lower(), {}),
        **form.holding(documents),
    }
    for key, value in inferred.items():
        log(f"{target}: {key} {value}, by what there is (convert has --writer-option {key}=…)")
    return documents, form.options(**inferred)


def tell(name: str, lost: Mapping[str, int]) -> None:
    """Log what a format could not hold."""
    from spanloom.formats._base import describe_losses

    for line in describe_losses(name, lost):
        log(line)


def _format_and_options(name: str, raw_options: Mapping[str, str]) -> "tuple[Format, Options]":
    """Return a format and its options."""
    from spanloom.config.yaml import SourceLocation
    from spanloom.formats import _files

    form = _files.load(name)
    return form, _files.validate_format_options(
        form, parse_values("--writer-option", raw_options), SourceLocation("--writer-option")
    )


def _counting(
    stream: Iterable[Document],
    form: "Format",
    options: "Options",
    lost: Counter[str],
    unasked: Collection[str],
) -> Iterator[Document]:
    """Yield the documents as the format names their layers, and count what it will drop."""
    from spanloom.formats._base import without_layers

    renamed: set[str] = set()
    for document in stream:
        name = form.layer_to_rename(document)
        if name is not None:
            document = form.with_fixed_layer(document, name)
            if name not in renamed:
                renamed.add(name)
                log(f"layer {name} is written as {form.layers[0]}, the only one with spans")
        lost.update(without_layers(form.count_lost(document, options), unasked))
        yield document


def _shown(
    documents: Iterable[Document],
    to: str,
    title: str,
    shown: ShownLayers,
    *,
    to_terminal: bool,
) -> Iterator[str]:
    """Yield what a reader sees: a page, or each document as text or table."""
    from spanloom.viewer import html
    from spanloom.viewer.marks import drawn_layers
    from spanloom.viewer.table import table
    from spanloom.viewer.terminal import default_layers, draw

    layers = shown.names
    chosen = None if layers == [ALL_LAYERS] else layers
    documents = (_with_layers(document, chosen or ()) for document in documents)
    if to == HTML:
        doubts = shown.doubts if layers is None else {}
        drawn = map(_without_words, documents)
        yield html.render(drawn, title=title, layers=chosen, doubts=doubts)
        return
    width = shutil.get_terminal_size().columns if to_terminal else None
    for number, document in enumerate(documents):
        if to == TABLE:
            text = table(document, width=width, layers=chosen)
        else:
            names = (
                [layer.name for layer in drawn_layers(document, chosen)]
                if layers
                else default_layers(document, shown.doubts)
            )
            colored = to_terminal and "NO_COLOR" not in os.environ
            text = draw(document, width=width, colored=colored, layers=names)
        yield "\n" * (number > 0) + f"# {document.name}\n" + (text or shown.nothing(document))


def _with_layers(document: Document, names: Iterable[str]) -> Document:
    """Return a document with empty layers of those names that it lacks, as a task left it out."""
    missing = tuple(Layer(name) for name in names if not document.has_layer(name))
    return replace(document, layers=(*document.layers, *missing)) if missing else document


def _without_words(document: Document) -> Document:
    """Return what a page draws, which leaves out words without a message."""
    kept = tuple(layer for layer in document.layers if layer.name != WORDS)
    return replace(document, layers=kept)


def _pieces(documents: Iterable[Document], to: str, options: Mapping[str, str]) -> Iterator[str]:
    """Yield the output of each document."""
    from spanloom.formats import jsonl
    from spanloom.formats.brat import write as brat

    if is_format(to):
        yield from _format_text(documents, to, options)
        return
    for document in documents:
        yield jsonl.dumps([document]) if to == JSON else brat.dumps(document)


def _format_text(
    documents: Iterable[Document], name: str, raw_options: Mapping[str, str]
) -> Iterator[str]:
    """Yield all documents as one text of a format; what it cannot hold is logged afterwards."""
    form, options = _format_and_options(name, raw_options)
    if form.binary or form.sidecars:
        what = "several files" if form.sidecars else "no text"
        raise WrongUse(f"--to {name} makes {what}; say -o OUT")
    if not raw_options:
        documents, options = _with_inferred_options(documents, form, f"--to {name}")
    lost: Counter[str] = Counter()
    yield form.dumps(_counting(documents, form, options, lost, _UNASKED), options=options)
    tell(name, lost)
