"""How annotated documents leave: tables, JSON lines, brat files or an HTML page."""

import shutil
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from spanloom.cli.say import WrongUse, is_terminal, put, say
from spanloom.document import Document


class Form(StrEnum):
    """What ``--to`` may say."""

    BRAT = "brat"
    JSON = "json"
    TEXT = "text"
    HTML = "html"


_BY_SUFFIX = {".json": Form.JSON, ".jsonl": Form.JSON, ".html": Form.HTML, ".txt": Form.TEXT}


def form(asked: Form | None, out: Path | None, *, folder: bool) -> Form:
    """Return the form asked for, else the one that OUT's suffix names, else text.

    ``folder``: the input is one, and OUT without a suffix is then a brat collection.
    """
    if asked is not None or out is None:
        return asked or Form.TEXT
    if out.suffix in _BY_SUFFIX:
        return _BY_SUFFIX[out.suffix]
    if folder or not out.suffix:
        return Form.BRAT
    raise WrongUse(f"-o {out}: cannot tell the form from its name; say --to brat|json|text|html")


def write(documents: Iterable[Document], to: Form, out: Path | None, *, title: str) -> None:
    """Write documents as they come; nothing but an HTML page needs all of them at once."""
    if to is Form.BRAT and out is not None:
        save_collection(documents, out)
        return
    pieces = _page(documents, title) if to is Form.HTML else _pieces(documents, to, out)
    if out is None:
        for piece in pieces:
            put(piece, end="")
        return
    from spanloom.storage import write_chunks

    write_chunks(out, (piece.encode(errors="backslashreplace") for piece in pieces))
    say(f"written to {out}")


def save_collection(documents: Iterable[Document], out: Path) -> None:
    """Save documents as brat files below ``out``, with an annotation.conf where there is none."""
    from spanloom.formats.brat import conf
    from spanloom.formats.brat.save import save
    from spanloom.storage import write_file

    count = 0

    def saved() -> Iterator[Document]:
        nonlocal count
        for document in documents:
            save(document, out)
            count += 1
            yield document

    config = conf.dumps(conf.from_documents(saved()))
    out.mkdir(parents=True, exist_ok=True)
    if (out / conf.NAME).exists():
        say(f"{out / conf.NAME}: kept as it was")
    else:
        write_file(out / conf.NAME, config.encode())
    say(f"written to {out}/: {count} documents")


def _page(documents: Iterable[Document], title: str) -> Iterator[str]:
    from spanloom.page import html

    yield html.render(documents, title=title)


def _pieces(documents: Iterable[Document], to: Form, out: Path | None) -> Iterator[str]:
    """Each document by itself."""
    from spanloom.formats import jsonl
    from spanloom.formats.brat import write as brat
    from spanloom.page.table import table

    wide = shutil.get_terminal_size().columns if out is None and is_terminal() else None
    for number, document in enumerate(documents):
        if to is Form.JSON:
            yield jsonl.dumps([document])
        elif to is Form.BRAT:
            yield brat.dumps(document)
        else:
            head = "\n" * (number > 0) + f"# {document.name}\n"
            yield head + (table(document, width=wide) or "nothing found\n")
