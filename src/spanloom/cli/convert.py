"""``spanloom convert`` and ``view``: documents in another format, or as a page."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanloom.cli.console import WrongUse, log, write_stdout
from spanloom.cli.inputs import collect, documents, guess_format, read
from spanloom.cli.left_out import LeftOut
from spanloom.cli.options import Encoding, Workers, options_of, pairs, parse_values
from spanloom.cli.output_places import check_is_not_source, check_is_outside
from spanloom.cli.outputs import of_name, save_file, tell, write_configuration
from spanloom.document import Document
from spanloom.errors import DataError
from spanloom.quantity import quantity, shorten_list

if TYPE_CHECKING:
    from spanloom.cli.conversion import Batch
    from spanloom.workers.calls import Mapper

_LINES = "jsonl"


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """The options of ``convert``."""

    source: Annotated[Path, typer.Argument(metavar="IN", help="brat folder, or a file")]
    out: Annotated[Path, typer.Argument(metavar="OUT", help="brat folder, or a file")]
    of: Annotated[
        str | None, typer.Option("--from", metavar="F", help="format of IN; default: guessed")
    ] = None
    to: Annotated[
        str | None, typer.Option("--to", metavar="F", help="format of OUT; default: by name")
    ] = None
    reading: Annotated[
        list[str] | None,
        typer.Option("--reader-option", metavar="KEY=VALUE", help="an option of IN's"),
    ] = None
    writing: Annotated[
        list[str] | None,
        typer.Option("--writer-option", metavar="KEY=VALUE", help="an option of OUT's"),
    ] = None
    strict: Annotated[bool, typer.Option("--strict", help="exit 1 if anything was lost")] = False
    workers: Workers = None
    encoding: Encoding = "utf-8"


@dataclass(frozen=True, slots=True)
class _Target:
    """What is written: path, format, and the options of that."""

    out: Path
    form: str
    options: dict[str, str]


@options_of(ConvertOptions)
def convert(options: ConvertOptions) -> None:
    """Convert between formats, and report which ones were used and what the new one cannot hold.

    Formats: absa, absa_seg, brat, columns, commonsenseqa, compression, conll04, conll2005,
    conll2012, conllu, conllulex, coreference, crossre, docbin, doccano, docred, dygie, e2e,
    framenet, gum_xml, jsonl, knowledgenet, label_lines, labelstudio, oie, opinions, prodigy,
    propbank, pubtator, qamr, qasrl, semcor, semeval2010, squad, streusle_json, table, tacred,
    trees, uner, webanno_tsv, zre (docs/formats.md tells what each is and its options).

    Example: spanloom convert train.conllu train/ --to brat
    """
    from spanloom.cli.document_mapper import open_mapper
    from spanloom.corpora.folder import pause_gc
    from spanloom.termination import terminable

    source, out = options.source, options.out
    if not source.exists():
        raise DataError(f"{source}: no such file or folder")
    name, form = options.of or _of(source, options.encoding), options.to or _to(out)
    _check_paths(source, name, out, form)
    log(f"{source} ({name}) to {out} ({form})")
    _check_names(source, name, form)
    reader_options = pairs("--reader-option", options.reading or ())
    target = _Target(out, form, pairs("--writer-option", options.writing or ()))
    batches = _batches(source, name, reader_options, options.encoding)
    left = LeftOut()
    with terminable(), pause_gc():
        if batches is None:
            typed_options = parse_values("--reader-option", reader_options)
            typed_options = typed_options or _sniff_options(source, name, options.encoding)
            stream = read(source, name, typed_options, reader_options, options.encoding)
            lost = _write(stream, source, target)
        else:
            with open_mapper(options.workers, source) as mapper:
                lost = _convert(mapper, batches, source, target, left)
    left.check(source)
    if options.strict:
        _check_nothing_is_lost(lost, target)


def _sniff_options(source: Path, name: str, encoding: str) -> dict[str, Any]:
    """Return the options that the beginning of a file shows; log them, and how to say others."""
    from spanloom.formats import _files

    options = _files.sniff_options(source, _files.load(name), encoding)
    sniffed = options.model_dump(exclude_unset=True)
    for key, value in sniffed.items():
        seen = f"{key} {_files.shown(value)}, by its looks"
        log(f"{source}: {seen} (--reader-option {key}=… says another)")
    return sniffed


def _check_nothing_is_lost(lost: Counter[str], target: _Target) -> None:
    """Raise ``DataError`` for lines that were not read, and for what OUT cannot hold."""
    from spanloom.cli.conversion import UNREAD

    num_unread = lost[UNREAD]
    num_dropped = lost.total() - num_unread
    problems = []
    if num_unread:
        problems.append(f"{quantity(num_unread, 'line')} of the source not read")
    if num_dropped:
        problems.append(f"{target.form} has no place for {quantity(num_dropped, 'thing')}")
    if problems:
        raise DataError(f"{target.out}: {', '.join(problems)} (--strict)")


def _check_paths(source: Path, name: str, out: Path, form: str) -> None:
    """Raise ``WrongUse`` for a folder that should be a file, or the reverse, or an OUT that is IN.

    Raises it for stdout, too.
    """
    from spanloom.formats._files import BRAT

    if str(out) == "-":
        raise WrongUse("-: expected a file or folder to write; convert does not print to stdout")
    if name == BRAT and source.suffix == ".jsonl" and not source.is_dir():
        raise WrongUse(f"{source}: expected a brat folder or .txt for --from brat")
    if name != BRAT and source.is_dir():
        raise WrongUse(f"{source}: is a folder; expected a file for --from {name}")
    if form != BRAT and out.is_dir():
        raise WrongUse(f"{out}: is a folder; expected a file to write for --to {form}")
    check_is_not_source(out, source)
    if out.resolve() != source.resolve():  # a brat folder may be written anew
        check_is_outside(out, source)


def _check_names(source: Path, name: str, form: str) -> None:
    """Raise ``FormatError`` for two lines that would become one brat file."""
    from spanloom.cli.distinct_names import check_distinct_names
    from spanloom.formats._files import BRAT

    if name == _LINES and form == BRAT:
        check_distinct_names(source)


def _batches(
    source: Path, name: str, options: dict[str, str], encoding: str
) -> "Iterable[Batch] | None":
    """Return the documents of IN in batches; None where they must be read one after the other.

    Raises ``DataError`` for a folder without documents.
    """
    from spanloom.cli.document_batches import BratBatch, brat_batches, line_batches
    from spanloom.formats._files import BRAT

    if name == BRAT:
        encoding = _brat_encoding(options, encoding)
        if source.is_dir():
            return brat_batches(collect(source), encoding)
        return [BratBatch(((source.stem, source.with_suffix(".txt")),), encoding)]
    return line_batches(source) if name == _LINES and source.is_file() and not options else None


def _brat_encoding(options: dict[str, str], encoding: str) -> str:
    """Return the encoding that --reader-option gives, else that of --encoding."""
    from spanloom.config.options import Options, validate_options
    from spanloom.config.yaml import SourceLocation

    class Brat(Options):
        """Options of reading brat files; the command has the same one for all formats."""

        encoding: str = "utf-8"

    location = SourceLocation("--reader-option")
    return validate_options(Brat, {"encoding": encoding} | options, location).encoding


def _convert(
    mapper: "Mapper", batches: "Iterable[Batch]", source: Path, target: _Target, left: LeftOut
) -> Counter[str]:
    """Convert batches, in workers as far as OUT allows it; return what is lost."""
    from spanloom.cli import conversion
    from spanloom.formats._files import BRAT

    if target.form == BRAT:
        _check_no_options(target)
        saved = conversion.save_batches(mapper, batches, source, target.out, left)
        tell(BRAT, saved.lost)
        return saved.lost
    if target.form == _LINES and not target.options:
        return conversion.write_lines(mapper, batches, source, target.out, left)
    lost: Counter[str] = Counter()
    parts = conversion.contents(mapper(conversion.to_documents, batches), source, lost, left)
    return _file(chain.from_iterable(parts), target) + lost


def _write(stream: Iterable[Document], source: Path, target: _Target) -> Counter[str]:
    """Write documents that come one after the other; return what OUT cannot hold."""
    from spanloom.cli.conversion import BratSaver
    from spanloom.formats._files import BRAT

    if target.form != BRAT:
        return _file(stream, target)
    _check_no_options(target)
    saved = BratSaver(target.out).save(stream)
    write_configuration(saved.types.config(), saved.count, target.out, source)
    tell(BRAT, saved.lost)
    return saved.lost


def _check_no_options(target: _Target) -> None:
    """Raise ``RecipeError`` for options of writing brat files, which have none."""
    from spanloom.config.options import Options, validate_options
    from spanloom.config.yaml import SourceLocation

    validate_options(Options, target.options, SourceLocation("--writer-option"))


def _file(stream: Iterable[Document], target: _Target) -> Counter[str]:
    """Write a file, tokenized if the format needs words; return what it cannot hold."""
    from spanloom.formats import _files
    from spanloom.formats._document_builder import with_words
    from spanloom.tokenization import word_tokenizer

    if _files.gives_words(_files.load(target.form)):
        split = word_tokenizer("char-class", "punctuation")
        stream = (with_words(document, split) for document in stream)
    return save_file(stream, target.out, target.form, target.options)


def _of(path: Path, encoding: str) -> str:
    """Return the format of a path; texts of no other format are brat's."""
    from spanloom.formats import _files

    if path.is_dir() or path.suffix == ".ann":
        return _files.BRAT
    if path.suffix == ".txt":
        is_annotated = path.with_suffix(".ann").exists()
        return _files.BRAT if is_annotated else _files.guess(path, encoding) or _files.BRAT
    return guess_format(path, encoding)


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


def view(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help=".txt, .ann, .jsonl or brat folders")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="the page, .html; default: NAME.spanloom.html"
        ),
    ] = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Draw documents with spans and arcs as one HTML page that loads nothing.

    Two paths are compared, as gold and predicted or as two annotators: documents that both have are
    drawn side by side, with a list of the differences that leads to their places. Paths without a
    document in common are drawn one after the other, and so are three or more.

    Example: spanloom view protocols/protocol_1.ann -o page.html

    Example: spanloom view gold/ predicted/ -o differences.html
    """
    from spanloom.atomic_io import write_file
    from spanloom.viewer import html

    target = out or Path(f"{paths[0].resolve().stem}.spanloom.html")
    _check_page(target, paths)
    sides = [list(documents(path, encoding)) for path in paths]
    names = " and ".join(path.resolve().name for path in paths[:2])
    if len(sides) == 2 and (common := _common(paths, sides)):
        log(f"gold: {paths[0]}, predicted: {paths[1]}")
        page = html.render_pair(*common, title=names)
        drawn = f"{quantity(len(common[0]), 'document')}, compared"
    else:
        page = html.render((document for side in sides for document in side), title=names)
        drawn = quantity(sum(map(len, sides)), "document")
    write_file(target, page.encode())
    write_stdout(f"{target}: {drawn}; open it in a browser")


def _check_page(target: Path, paths: Iterable[Path]) -> None:
    """Raise ``WrongUse`` for a page that would replace what is drawn, or is called otherwise."""
    if target.suffix != ".html":  # so no text or annotation of a folder that is drawn is replaced
        raise WrongUse(f"-o {target}: expected a name that ends in .html")
    for path in paths:
        check_is_not_source(target, path)


def _common(paths: list[Path], sides: list[list[Document]]) -> list[list[Document]] | None:
    """Return the documents of the names that both sides have; log the others. None for no common.

    One document on each side is the same under another name if its text is the same.
    """
    gold, predicted = sides
    if len(gold) == len(predicted) == 1 and gold[0].text == predicted[0].text:
        return [gold, [replace(predicted[0], name=gold[0].name)]]
    common = {document.name for document in gold} & {document.name for document in predicted}
    if not common:
        log(f"{paths[0]} and {paths[1]} have no document in common: nothing is compared")
        return None
    for path, side in zip(paths, sides, strict=True):
        lone = [document.name for document in side if document.name not in common]
        if lone:
            log(f"{path}: {quantity(len(lone), 'document')} not compared: {shorten_list(lone)}")
    return [[document for document in side if document.name in common] for side in sides]
