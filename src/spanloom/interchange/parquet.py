"""Read and write documents as Parquet: a row per document, in the columns of ``to_dataset``.

See https://parquet.apache.org. Rows come and go in pieces, so files may be larger than memory.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from spanloom.batching import batch_by_size
from spanloom.document import Document
from spanloom.errors import FormatError, PackageMissing
from spanloom.interchange.datasets import STANDOFF, read_rows, storable

_TEXT = "text"
_COLUMNS = ("name", _TEXT, STANDOFF)  # no others are read: images, times that Python has not
_GROUP_ROWS = 1024  # a group of rows is written at once: so many, or fewer if they are large
_GROUP_BYTES = 8 * 2**20  # of lines, with which a group ends
_BATCH_ROWS = 16  # rows that are read at once; files of others may have large ones
_BUFFER = 2**20  # bytes of a column that are read at once


def read_parquet(stream: IO[bytes], path: str) -> Iterator[Document]:
    """Yield the document of each row: what ``parquet_chunks`` wrote, or the column ``text`` alone.

    Documents may have no name. Raises ``FormatError`` with the path and the row,
    ``PackageMissing`` without pyarrow.
    """
    with _opened(stream, path) as file:
        columns = _columns_to_read(file.schema_arrow.names, path)
        rows = _rows(file.iter_batches(_BATCH_ROWS, columns=columns), path)
        yield from (document for _, document in read_rows(rows, _TEXT, path))


def _columns_to_read(names: Sequence[str], path: str) -> list[str]:
    """Return the columns that a document is read from; raises ``FormatError`` if there are none."""
    if _TEXT not in names and STANDOFF not in names:
        problem = f"expected a text in {_TEXT!r}, got the columns {', '.join(names)}"
        raise FormatError(path, None, f"row 0: {problem}")
    return [name for name in _COLUMNS if name in names]


def count_rows(stream: IO[bytes], path: str) -> int:
    """Return how many rows a file has; raises as ``read_parquet`` does."""
    with _opened(stream, path) as file:
        return int(file.metadata.num_rows)


@contextmanager
def _opened(stream: IO[bytes], path: str) -> Iterator[Any]:
    """Open a file that is read piece by piece: its groups of rows may be larger than memory."""
    PackageMissing.check("reading Parquet", "parquet", "pyarrow")
    import pyarrow.parquet

    try:
        yield pyarrow.parquet.ParquetFile(stream, pre_buffer=False, buffer_size=_BUFFER)
    except pyarrow.ArrowException as error:
        raise FormatError(path, None, f"no Parquet: {str(error).splitlines()[0]}") from error


def parquet_chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a Parquet file piece by piece; ``lines`` are documents as JSON lines.

    Groups of rows depend on nothing but the lines. Raises ``PackageMissing`` without pyarrow.
    """
    PackageMissing.check("writing Parquet", "parquet", "pyarrow")
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema([(name, pyarrow.string()) for name in _COLUMNS])
    sink = _Sink()
    with pyarrow.parquet.ParquetWriter(pyarrow.PythonFile(sink, "w"), schema) as writer:
        for group in batch_by_size(lines, len, _GROUP_BYTES, _GROUP_ROWS):
            writer.write_table(pyarrow.table(_columns(group), schema))
            yield sink.take()
    yield sink.take()


def _rows(batches: Iterable[Any], path: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of batches; raises ``FormatError`` for a value that Python cannot hold."""
    number = 0
    for batch in batches:
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for index in range(batch.num_rows):
            try:
                row = {name: column[index].as_py() for name, column in columns.items()}
            except UnicodeDecodeError as error:
                raise FormatError(path, None, f"row {number}: not utf-8: {error.reason}") from error
            except OverflowError as error:  # a time
                raise FormatError(path, None, f"row {number}: {error}") from error
            yield row
            number += 1


def _columns(lines: Iterable[bytes]) -> dict[str, list[str]]:
    texts = [line.decode().rstrip("\n") for line in lines]
    fields: list[dict[str, Any]] = [json.loads(text) for text in texts]
    return {
        "name": [storable(entry["name"]) for entry in fields],
        "text": [storable(entry["text"]) for entry in fields],
        STANDOFF: texts,
    }


class _Sink:
    """A file that keeps what is written until it is taken."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        """Keep some bytes."""
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def close(self) -> None:
        """Do nothing: what was written is still to be taken."""

    def take(self) -> bytes:
        """Return what was written since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
