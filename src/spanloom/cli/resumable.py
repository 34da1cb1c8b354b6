"""``annotate -o OUT``: finished documents are kept beside OUT until all are; a run may go on.

Whatever the form, documents are appended as JSON lines to ``OUT.part`` (in a brat folder to a
hidden file), behind which the log of ``progress`` stands. Once all are there, OUT is made of them,
whole or not at all. Brat files are also written as they come.
"""

import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING

from spanloom.cli.console import log
from spanloom.cli.outputs import BRAT, JSON, configure, needs_cuts, write
from spanloom.document import Document
from spanloom.progress import Work, open_work

if TYPE_CHECKING:
    from spanloom.model.model import Model

_PART = ".part"
_HIDDEN = ".spanloom.part"  # what stands in a brat folder is hidden from brat


@dataclass(frozen=True, slots=True)
class Wanted:
    """What becomes of documents: form, place, title, and the format's options; what to do next.

    ``work`` says what results depend on beside the form; ``again`` is the line that goes on.
    """

    to: str
    out: Path
    title: str
    said: Mapping[str, str]
    work: Mapping[str, str]
    resume: bool
    again: str


def annotate_into(
    model: "Model", stream: Iterable[Document], names: Iterable[str] | None, wanted: Wanted
) -> None:
    """Annotate documents into OUT; what was finished is kept if that does not end well.

    Raises what the model and ``progress`` raise, ``KeyboardInterrupt`` for SIGTERM too.
    """
    part = _part(wanted)
    work = {**wanted.work, "form": wanted.to}
    with (
        _terminable(),
        open_work(part, work, resume=wanted.resume) as under_way,
        ExitStack() as told,
    ):
        told.callback(_tell_kept, under_way, wanted)
        _tell_begun(under_way, wanted)
        _go_on(model, iter(stream), names, under_way, wanted)
        _end(under_way, wanted)
        told.pop_all()


def check(out: Path, to: str) -> None:
    """Raise ``StorageError`` where OUT can be no such file, before anything is computed."""
    from spanloom.atomic_io import check_replaceable

    if to != BRAT:
        check_replaceable(out)


def _part(wanted: Wanted) -> Path:
    """Where finished documents are kept."""
    if wanted.to != BRAT:
        return wanted.out.with_name(wanted.out.name + _PART)
    from spanloom.formats.brat.save import make_folder

    make_folder(wanted.out)
    return wanted.out / _HIDDEN


def _go_on(
    model: "Model",
    stream: Iterator[Document],
    names: Iterable[str] | None,
    under_way: Work,
    wanted: Wanted,
) -> None:
    """Annotate what is left, and keep each stretch that is finished."""
    from spanloom.formats.brat.save import save

    done = under_way.done
    under_way.repeat(_line(document) for document in islice(stream, done.inputs))
    inputs, to_annotate = tee(stream)
    with_tokens = needs_cuts(wanted.to)
    for stretch in model.stretches(to_annotate, names, with_tokens=with_tokens, done=done.units):
        for predicted in stretch:
            if wanted.to == BRAT:
                save(predicted, wanted.out)
            under_way.add(_line(next(inputs)), _line(predicted))
        under_way.acknowledge()


def _end(under_way: Work, wanted: Wanted) -> None:
    """Make OUT of all documents."""
    from spanloom.formats import jsonl

    if wanted.to == JSON:
        under_way.finish(wanted.out)
        log(f"written to {wanted.out}")
        return
    documents = jsonl.read(under_way.path)
    if wanted.to == BRAT:
        configure(documents, wanted.out)
    else:
        write(documents, wanted.to, wanted.out, title=wanted.title, said=wanted.said)
    under_way.finish()


def _line(document: Document) -> bytes:
    """A document as it is kept."""
    from spanloom.formats import jsonl

    return jsonl.dumps([document]).encode()


def _tell_begun(under_way: Work, wanted: Wanted) -> None:
    """Say what is there already."""
    if under_way.replaced:
        log(
            f"{under_way.path}: {under_way.replaced} documents of a run that was not finished are "
            "done anew (--resume would have kept them)"
        )
    if wanted.resume:
        log(f"{under_way.path}: {under_way.done.inputs} documents are done")


def _tell_kept(under_way: Work, wanted: Wanted) -> None:
    """Say what is there still."""
    count = under_way.done.inputs
    if count:
        log(f"{under_way.path}: {count} documents are kept; to go on: {wanted.again}")


@contextmanager
def _terminable() -> Iterator[None]:
    """Have SIGTERM do what ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals come to the main thread alone
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
