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
from spanloom.cli.outputs import BRAT, JSON, ShownLayers, configure, needs_cuts, write
from spanloom.document import Document
from spanloom.progress import Work, open_work
from spanloom.quantity import quantity

if TYPE_CHECKING:
    from spanloom.model.model import Model

_PART = ".part"
_HIDDEN = ".spanloom.part"  # what stands in a brat folder is hidden from brat


@dataclass(frozen=True, slots=True)
class OutputJob:
    """The output of a run: form, path, title, options, and the command that resumes it.

    ``work`` says what results depend on beside the form; ``again`` is the line that goes on.
    ``source`` is the path of the documents, if they have one.
    """

    to: str
    out: Path
    title: str
    writer_options: Mapping[str, str]
    shown: ShownLayers
    work: Mapping[str, str]
    resume: bool
    again: str
    source: Path | None = None


def annotate_into(
    model: "Model", stream: Iterable[Document], names: Iterable[str] | None, output: OutputJob
) -> None:
    """Annotate documents into OUT; finished ones are kept if the run fails.

    Raises what the model and ``progress`` raise, and ``KeyboardInterrupt`` for SIGTERM.
    """
    part = _part(output)
    work = {**output.work, "form": output.to}
    with (
        _terminable(),
        open_work(part, work, resume=output.resume) as under_way,
        ExitStack() as on_failure,
    ):
        on_failure.callback(_tell_kept, under_way, output)
        _tell_begun(under_way, output)
        _go_on(model, iter(stream), names, under_way, output)
        _end(under_way, output)
        on_failure.pop_all()


def check(out: Path, to: str) -> None:
    """Raise ``StorageError`` if OUT cannot be written, before anything is computed."""
    from spanloom.atomic_io import check_replaceable

    if to != BRAT:
        check_replaceable(out)


def _part(output: OutputJob) -> Path:
    """Return the path where finished documents are kept."""
    if output.to != BRAT:
        return output.out.with_name(output.out.name + _PART)
    from spanloom.formats.brat.save import make_folder

    make_folder(output.out)
    return output.out / _HIDDEN


def _go_on(
    model: "Model",
    stream: Iterator[Document],
    names: Iterable[str] | None,
    under_way: Work,
    output: OutputJob,
) -> None:
    """Annotate the remaining documents, and keep each stretch that is finished."""
    from spanloom.formats.brat.save import save

    done = under_way.done
    under_way.repeat(_line(document) for document in islice(stream, done.inputs))
    inputs, to_annotate = tee(stream)
    with_tokens = needs_cuts(output.to)
    for stretch in model.stretches(to_annotate, names, with_tokens=with_tokens, done=done.units):
        for predicted in stretch:
            if output.to == BRAT:
                save(predicted, output.out)
            under_way.add(_line(next(inputs)), _line(predicted))
        under_way.acknowledge()


def _end(under_way: Work, output: OutputJob) -> None:
    """Write OUT from all finished documents."""
    from spanloom.formats import jsonl

    if output.to == JSON:
        under_way.finish(output.out)
        log(f"written to {output.out}")
        return
    documents = jsonl.read(under_way.path)
    if output.to == BRAT:
        configure(documents, output.out, output.source)
    else:
        write(
            documents,
            output.to,
            output.out,
            title=output.title,
            writer_options=output.writer_options,
            shown=output.shown,
        )
    under_way.finish()


def _line(document: Document) -> bytes:
    """Return a document as it is kept."""
    from spanloom.formats import jsonl

    return jsonl.dumps([document]).encode()


def _tell_begun(under_way: Work, output: OutputJob) -> None:
    """Log which documents are already done."""
    if under_way.replaced:
        log(
            f"{under_way.path}: {under_way.replaced} documents of a run that was not finished are "
            "done anew (--resume would have kept them)"
        )
    if output.resume:
        log(f"{under_way.path}: {quantity(under_way.done.inputs, 'document')} done")


def _tell_kept(under_way: Work, output: OutputJob) -> None:
    """Log how many documents are kept."""
    count = under_way.done.inputs
    if count:
        log(f"{under_way.path}: {quantity(count, 'document')} kept; to go on: {output.again}")


@contextmanager
def _terminable() -> Iterator[None]:
    """Context manager: SIGTERM acts as ctrl-C."""
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
