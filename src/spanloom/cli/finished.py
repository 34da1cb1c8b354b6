"""The output of ``annotate -o OUT``, made of finished documents that lie in a file beside it."""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from spanloom.atomic_io import write_chunks
from spanloom.cli.asking import Asked, format_replies
from spanloom.cli.console import log
from spanloom.cli.destination import Destination, LocalDestination
from spanloom.cli.outputs import (
    BRAT,
    JSON,
    PARQUET,
    TEXT,
    ZIPPED,
    ShownLayers,
    configure,
    write,
)
from spanloom.formats import jsonl
from spanloom.interchange.parquet import parquet_chunks
from spanloom.progress import Work

if TYPE_CHECKING:
    from spanloom.formats.brat.conf_from_documents import LayerTypes

_CHUNK_BYTES = 2**20
_GZIP_WINDOW = 31  # zlib's name for gzip, whose header then has no time


@dataclass(frozen=True, slots=True)
class OutputJob:
    """The output of a run: form, path, title, options, and the command that resumes it.

    ``again`` is the line that goes on; ``source`` is the path of the documents, if they have one;
    ``is_corpus``: OUT is a folder of shards; ``destination`` is where files go when they are done.
    ``labels`` are those that the predicted layers may have, for the annotation.conf of brat files;
    ``asked`` is what text replies to.
    """

    to: str
    out: Path
    title: str
    writer_options: Mapping[str, str]
    shown: ShownLayers
    resume: bool
    again: str
    source: Path | None = None
    is_corpus: bool = False
    destination: Destination = LocalDestination()
    types: "Mapping[str, LayerTypes]" = field(default_factory=dict)
    asked: Asked | None = None


def write_finished(under_way: Work, output: OutputJob, *, is_logged: bool) -> None:
    """Write OUT from all finished documents of a work, and finish that.

    Raises ``StorageError`` and what writers raise; the documents are then still kept.
    """
    out = output.out
    is_lines = output.to == JSON and out.suffix != ZIPPED
    if is_lines and not output.destination.is_remote:
        under_way.finish(out)
    elif output.to in (JSON, PARQUET):
        convert = _chunks if is_lines else _zip if output.to == JSON else _to_parquet
        write_chunks(out, convert(under_way.path))
        output.destination.publish(out)
        under_way.finish()
    else:
        _write_documents(under_way.path, output)
        output.destination.publish(out)
        under_way.finish()
        return
    if is_logged and not output.destination.is_remote:
        log(f"written to {out}")


def _write_documents(finished: Path, output: OutputJob) -> None:
    """Write finished documents in a form that is not made of their lines."""
    documents = jsonl.read(finished)
    if output.to == BRAT:
        configure(documents, output.out, output.source, output.types)
        return
    if output.to == TEXT and output.asked is not None:
        replies = format_replies(documents, list(output.types), output.asked)
        write_chunks(output.out, (reply.encode(errors="backslashreplace") for reply in replies))
        log(f"written to {output.out}")
        return
    write(
        documents,
        output.to,
        output.out,
        title=output.title,
        writer_options=output.writer_options,
        shown=output.shown,
    )


def _zip(path: Path) -> Iterator[bytes]:
    """Yield a file compressed; the same bytes for the same content."""
    compressor = zlib.compressobj(wbits=_GZIP_WINDOW)
    yield from map(compressor.compress, _chunks(path))
    yield compressor.flush()


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield a file as it is."""
    with path.open("rb") as stream:
        while data := stream.read(_CHUNK_BYTES):
            yield data


def _to_parquet(path: Path) -> Iterator[bytes]:
    with path.open("rb") as lines:
        yield from parquet_chunks(lines)
