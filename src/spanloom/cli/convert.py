"""``spanloom convert`` and ``view``: documents in another format, or as a page."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from spanloom.cli.console import WrongUse, log, write_stdout
from spanloom.cli.inputs import documents, guess_format, read
from spanloom.cli.options import Encoding
from spanloom.cli.outputs import of_name, pairs, parse_values, save_collection, save_file, tell
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.quantity import quantity


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="brat folder, or a file")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="brat folder, or a file")],
    of: Annotated[
        str | None, typer.Option("--from", metavar="F", help="format of IN; default: guessed")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="F", help="format of OUT; default: by name")
    ] = None,
    reading: Annotated[
        list[str] | None,
        typer.Option("--reader-option", metavar="KEY=VALUE", help="an option of IN's"),
    ] = None,
    writing: Annotated[
        list[str] | None,
        typer.Option("--writer-option", metavar="KEY=VALUE", help="an option of OUT's"),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="exit 1 if anything was lost")] = False,
    encoding: Encoding = "utf-8",
) -> None:
    """Convert between formats, and report which ones were used and what the new one cannot hold.

    Formats: absa, absa_seg, brat, columns, compression, conll04, conll2005, conll2012, conllu,
    conllulex, coreference, crossre, docbin, doccano, docred, dygie, e2e, framenet, gum_xml, jsonl,
    knowledgenet, label_lines, labelstudio, oie, opinions, prodigy, pubtator, qamr, semcor,
    semeval2010, squad, streusle_json, table, tacred, trees, uner, webanno_tsv (docs/formats.md
    tells what each is and its options).

    Example: spanloom convert train.conllu train/ --to brat
    """
    from spanloom.formats._files import BRAT

    if not source.exists():
        raise DataError(f"{source}: no such file or folder")
    name, target_form = of or _of(source), to or _to(out)
    if name == BRAT and source.suffix == ".jsonl" and not source.is_dir():
        raise WrongUse(f"{source}: expected a brat folder or .txt for --from brat")
    if name != BRAT and source.is_dir():
        raise WrongUse(f"{source}: is a folder; expected a file for --from {name}")
    if target_form != BRAT and out.is_dir():
        raise WrongUse(f"{out}: is a folder; expected a file to write for --to {target_form}")
    log(f"{source} ({name}) to {out} ({target_form})")
    stream = _read(source, name, pairs("--reader-option", reading or ()), encoding)
    writer_options = pairs("--writer-option", writing or ())
    lost = (
        _save(stream, out, writer_options, source)
        if target_form == BRAT
        else _file(stream, out, target_form, writer_options)
    )
    if strict and lost:
        things = quantity(lost.total(), "thing")
        raise DataError(f"{out}: {target_form} has no place for {things} (--strict)")


def _read(source: Path, name: str, options: dict[str, str], encoding: str) -> Iterator[Document]:
    """Read the documents of IN."""
    from spanloom.config.options import Options, validate_options
    from spanloom.config.yaml import SourceLocation
    from spanloom.formats._files import BRAT

    class Brat(Options):
        """Options of reading brat files; the command has the same one for all formats."""

        encoding: str = "utf-8"

    if name != BRAT:
        return read(source, name, parse_values("--reader-option", options), options, encoding)
    given = validate_options(
        Brat, {"encoding": encoding} | options, SourceLocation("--reader-option")
    )
    return documents(source, given.encoding)


def _save(
    stream: Iterable[Document], out: Path, options: dict[str, str], source: Path
) -> Counter[str]:
    """Write brat files, which have no options; return what they cannot hold."""
    from spanloom.config.options import Options, validate_options
    from spanloom.config.yaml import SourceLocation
    from spanloom.formats._files import BRAT

    validate_options(Options, options, SourceLocation("--writer-option"))
    lost: Counter[str] = Counter()
    save_collection(_count_brat_losses(stream, lost), out, source)
    tell(BRAT, lost)
    return lost


def _file(
    stream: Iterable[Document], out: Path, name: str, options: dict[str, str]
) -> Counter[str]:
    """Write a file, tokenized if the format needs words; return what it cannot hold."""
    from spanloom.formats import _files
    from spanloom.formats._document_builder import with_words
    from spanloom.tokenization import word_tokenizer

    if _files.gives_words(_files.load(name)):
        split = word_tokenizer("char-class", "punctuation")
        stream = (with_words(document, split) for document in stream)
    return save_file(stream, out, name, options)


def _of(path: Path) -> str:
    """Return the format of a path; texts of no other format are brat's."""
    from spanloom.formats import _files

    if path.is_dir() or path.suffix == ".ann" or path.with_suffix(".ann").exists():
        return _files.BRAT
    if path.suffix == ".txt":
        return _files.guess(path) or _files.BRAT
    return guess_format(path)


def _to(path: Path) -> str:
    """The format that is called as the file ends, else the only one whose files end so.

    What has no ending is a brat folder.
    """
    from spanloom.formats import _files

    if not path.suffix or path.is_dir():
        return _files.BRAT
    formats = of_name(path)
    if len(formats) != 1:
        choices = ", ".join(formats or [_files.BRAT, *_files.names()])
        raise WrongUse(f"{path}: its name does not tell the format; say --to {choices}")
    return formats[0]


def _count_brat_losses(stream: Iterable[Document], lost: Counter[str]) -> Iterator[Document]:
    """Yield the documents, and count what brat drops: scores, and line breaks that split spans."""
    from spanloom.formats._base import count_queries_and_scores

    for document in stream:
        lost.update(what for what in count_queries_and_scores(document) if what == "scores")
        for layer in document.layers:
            breaks = (
                f"spans over line breaks, which are parted there, of layer {layer.name}"
                for span in layer.spans
                if any({"\n", "\r"} & {*document.text[a:b]} for a, b in span.fragments)
            )
            lost.update(breaks)
        yield document


def view(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help=".txt, .ann, .jsonl or brat folders")
    ],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="the page; NAME.spanloom.html if not said")
    ] = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Draw documents with spans and arcs as one HTML page that loads nothing.

    Two paths that hold the same documents are drawn side by side, gold and predicted, with a list
    of the differences that leads to their places.

    Example: spanloom view protocols/protocol_1.ann -o page.html

    Example: spanloom view gold/ predicted/ -o differences.html
    """
    from spanloom.atomic_io import write_file
    from spanloom.viewer import html

    sides = [list(documents(path, encoding)) for path in paths]
    names = " and ".join(path.resolve().name for path in paths[:2])
    if len(sides) == 2 and _are_same(*sides):
        log(f"gold: {paths[0]}, predicted: {paths[1]}")
        page = html.render_pair(sides[0], _with_name_of(sides[1], sides[0]), title=names)
    else:
        page = html.render((document for side in sides for document in side), title=names)
    target = out or Path(f"{paths[0].resolve().stem}.spanloom.html")
    write_file(target, page.encode())
    write_stdout(f"{target}: {sum(map(len, sides))} documents; open it in a browser")


def _are_same(a: list[Document], b: list[Document]) -> bool:
    """Return whether two sides have the same documents: by name, or one document each by text."""
    if {document.name for document in a} == {document.name for document in b}:
        return True
    return len(a) == len(b) == 1 and a[0].text == b[0].text


def _with_name_of(side: list[Document], like: list[Document]) -> list[Document]:
    """Return a side's only document under the name of the other's, or all as they are."""
    return [replace(side[0], name=like[0].name)] if len(side) == 1 else side
