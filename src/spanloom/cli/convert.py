"""``spanloom convert``: the same documents in another format."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from spanloom.cli.inputs import documents, guessed, read
from spanloom.cli.outputs import of_name, pairs, save_collection, save_file, tell, valued
from spanloom.cli.say import WrongUse, say
from spanloom.document import Document
from spanloom.errors import DataError


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="brat folder, or a file")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="brat folder, or a file")],
    of: Annotated[str | None, typer.Option("--from", metavar="F", help="guessed if unsaid")] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="F", help="by OUT's name")] = None,
    reading: Annotated[
        list[str] | None, typer.Option("--read", metavar="KEY=VALUE", help="an option of IN's")
    ] = None,
    writing: Annotated[
        list[str] | None, typer.Option("--write", metavar="KEY=VALUE", help="an option of OUT's")
    ] = None,
) -> None:
    """Convert between formats, and say which were taken and what the new one has no place for.

    Formats: absa, absa_seg, brat, columns, compression, conll04, conll2005, conll2012, conllu,
    conllulex, coreference, docbin, dygie, e2e, framenet, gum_xml, jsonl, label_lines, oie,
    opinions, qamr, semcor, semeval2010, squad, streusle_json, table, tacred, trees
    (docs/formats.md tells what each is and its options).

    Example: spanloom convert train.conllu train/ --to brat
    """
    from spanloom.formats._files import BRAT

    if not source.exists():
        raise DataError(f"{source}: no such file or folder")
    name, wanted = of or _of(source), to or _to(out)
    if name == BRAT and source.suffix == ".jsonl" and not source.is_dir():
        raise WrongUse(f"{source}: expected a brat folder or .txt for --from brat")
    if name != BRAT and source.is_dir():
        raise WrongUse(f"{source}: is a folder; expected a file for --from {name}")
    if wanted != BRAT and out.is_dir():
        raise WrongUse(f"{out}: is a folder; expected a file to write for --to {wanted}")
    say(f"{source} ({name}) to {out} ({wanted})")
    said = pairs("--read", reading or ())
    stream = documents(source) if name == BRAT else read(source, name, valued("--read", said), said)
    if wanted == BRAT:
        lost: Counter[str] = Counter()
        save_collection(_cut(stream, lost), out)
        tell(BRAT, lost)
    else:
        save_file(stream, out, wanted, pairs("--write", writing or ()))


def _of(path: Path) -> str:
    """The format of what is there; texts that look like nothing else are brat's."""
    from spanloom.formats import _files

    if path.is_dir() or path.suffix == ".ann" or path.with_suffix(".ann").exists():
        return _files.BRAT
    if path.suffix == ".txt":
        return _files.guess(path) or _files.BRAT
    return guessed(path)


def _to(path: Path) -> str:
    """The format that is called as the file ends, else the only one whose files end so.

    What has no ending is a brat folder.
    """
    from spanloom.formats import _files

    if not path.suffix or path.is_dir():
        return _files.BRAT
    found = of_name(path)
    if len(found) != 1:
        choices = ", ".join(found or [_files.BRAT, *_files.names()])
        raise WrongUse(f"{path}: its name does not tell the format; say --to {choices}")
    return found[0]


def _cut(stream: Iterable[Document], lost: Counter[str]) -> Iterator[Document]:
    """Yield the documents, and count what brat drops: scores, and breaks, where it parts spans."""
    from spanloom.formats._base import aside

    for document in stream:
        lost.update(what for what in aside(document) if what == "scores")
        for layer in document.layers:
            breaks = (
                f"spans over line breaks, which are parted there, of layer {layer.name}"
                for span in layer.spans
                if any({"\n", "\r"} & {*document.text[a:b]} for a, b in span.fragments)
            )
            lost.update(breaks)
        yield document
