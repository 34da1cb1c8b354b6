"""The output of ``annotate -o OUT``, made of finished documents that lie in a file beside it."""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from spanloom.atomic_io import write_chunks
from spanloom.cli.console import log
from spanloom.cli.outputs import BRAT, JSON, PARQUET, ZIPPED, ShownLayers, configure, write
from spanloom.formats import jsonl
from spanloom.interchange.parquet import parquet_chunks
from spanloom.progress import Work

_CHUNK_BYTES = 2**20
_GZIP_WINDOW = 31  # zlib's name for gzip, whose header then has no time


@dataclass(frozen=True, slots=True)
class OutputJob:
    """The output of a run: form, path, title, options, and the command that resumes it.

    ``again`` is the line that goes on; ``source`` is the path of the documents, if they have one;
    ``is_corpus``: OUT is a folder of shards.
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


def write_finished(under_way: Work, output: OutputJob, *, is_logged: bool) -> None:
    """Write OUT from all finished documents of a work, and finish that.

    Raises ``StorageError`` and what writers raise; the documents are then still kept.
    """
    out = output.out
    if output.to == JSON and out.suffix != ZIPPED:
        under_way.finish(out)
    elif output.to in (JSON, PARQUET):
        write_chunks(out, (_zip if output.to == JSON else _to_parquet)(under_way.path))
        under_way.finish()
    else:
        _write_documents(under_way.path, output)
        under_way.finish()
        return
    if is_logged:
        log(f"written to {out}")


def _write_documents(finished: Path, output: OutputJob) -> None:
    """Write finished documents in a form that is not made of their lines."""
    documents = jsonl.read(finished)
    if output.to == BRAT:
        configure(documents, output.out, output.source)
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
    with path.open("rb") as stream:
        while data := stream.read(_CHUNK_BYTES):
            yield compressor.compress(data)
    yield compressor.flush()


def _to_parquet(path: Path) -> Iterator[bytes]:
    with path.open("rb") as lines:
        yield from parquet_chunks(lines)
