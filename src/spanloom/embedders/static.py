"""Static word vectors from a text file: GloVe, word2vec or fastText, frozen or trained.

Each line has a word and its numbers, separated by single spaces; word2vec and fastText begin with a
line of the numbers of rows and columns. Files may be compressed (``.gz``).
"""

import gzip
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedIOBase
from itertools import chain, islice
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from spanloom.config.options import Options as _Options
from spanloom.config.yaml import SourceLocation
from spanloom.corpora.places import locate_file
from spanloom.embedders._base import BuildContext, EmbedderType
from spanloom.errors import FormatError, ModelError
from spanloom.nn.gather import gather_rows
from spanloom.tensors import Batch

VOCABULARY = "vocabulary.txt"
MAX_ROWS, MAX_DIM = 10_000_000, 4096
_LONGEST_LINE = 256_000  # bytes; enough for a word and MAX_DIM numbers
_BLOCK = 1 << 22  # numbers by which the table grows
_LARGEST = float(np.finfo(np.float32).max)
_HEADER = re.compile(rb"([0-9]{1,12}) ([0-9]{1,6})")
_ENDS_IN_NUMBER = re.compile(rb".* [-+]?[0-9]*\.[0-9]+(?:[eE][-+]?[0-9]+)?", re.DOTALL)
_SHAPE = re.compile("([0-9]{1,8}) ([0-9]{1,4})(?: ([0-9]{1,8}))?")


class Options(_Options):
    """``{static: vectors/glove.6B.50d.txt, trainable: true}``."""

    static: str = Field(min_length=1, description="text file of vectors, found as corpora are")
    trainable: bool = Field(
        False, description="whether vectors of words of the training data are trained, too"
    )
    max_vectors: int = Field(400_000, ge=1, le=MAX_ROWS, description="rows read at most")
    train_words_only: bool = Field(
        False, description="keep words of the training data only: tuning is quicker, files smaller"
    )


@dataclass(frozen=True, slots=True)
class Vectors:
    """Distinct words and their vectors."""

    words: tuple[str, ...]
    rows: Float[np.ndarray, "row dim"]


class Static(nn.Module):
    """One vector per word of a vocabulary, and a learnt one for all other words.

    A word is looked up unchanged, then in lower case. The last rows may be fixed, those of words
    without training data: their gradient would be 0, and each update would go through them.
    """

    def __init__(
        self,
        words: Iterable[str],
        vectors: Float[Tensor, "row dim"],
        *,
        trainable: bool,
        num_fixed: int = 0,
    ) -> None:
        """``words`` are distinct; the vector of unknown words starts as the mean and is trained.

        The last ``num_fixed`` rows, fewer than all, are never trained.
        """
        super().__init__()
        self.dim = vectors.shape[1]
        self.rows = {word: row for row, word in enumerate(words)}
        self.unknown_vector = nn.Parameter(vectors.mean(0))
        self.fixed_vectors: nn.Parameter | None = None
        if num_fixed:
            self.fixed_vectors = nn.Parameter(vectors[-num_fixed:].clone(), requires_grad=False)
            vectors = vectors[:-num_fixed].clone()
        self.vectors = nn.Parameter(vectors, requires_grad=trainable)

    def forward(self, batch: Batch) -> Float[Tensor, "word dim"]:
        """Return one vector per word."""
        index_of = {word: self._index(word) for word in set(batch.words)}
        indices = [index_of[word] for word in batch.words]
        index = torch.tensor(indices, dtype=torch.long, device=batch.input_ids.device)
        first_fixed = len(self.vectors)
        vectors = gather_rows(self.vectors, index.clamp(min=0, max=first_fixed - 1))
        if self.fixed_vectors is not None:
            fixed = gather_rows(self.fixed_vectors, (index - first_fixed).clamp(min=0))
            vectors = torch.where(index[:, None] < first_fixed, vectors, fixed)
        return torch.where(index[:, None] < 0, self.unknown_vector, vectors)

    def extra_files(self) -> dict[str, str]:
        """Return the vocabulary: a line with rows, columns and fixed rows, then a word a line."""
        fixed = "" if self.fixed_vectors is None else f" {len(self.fixed_vectors)}"
        return {VOCABULARY: "\n".join((f"{len(self.rows)} {self.dim}{fixed}", *self.rows))}

    def _index(self, word: str) -> int:
        """Return the index of a word, -1 for none."""
        index = self.rows.get(word)
        return self.rows.get(word.lower(), -1) if index is None else index


def read_vectors(path: Path, *, max_vectors: int, keep: Container[str] | None = None) -> Vectors:
    """Read the first ``max_vectors`` rows of a file and keep the words in ``keep`` (None: all).

    Words may contain spaces: the last fields of a line are its numbers. The first row of a word
    counts. Memory is that of the kept rows. Raises ``FormatError`` with the line for a wrong number
    of columns, invalid or infinite numbers, an incomplete file, or a header that contradicts the
    rows.
    """
    name = str(path)
    try:
        with _open(path) as stream:
            return _parse(_lines(stream, name), name, max_vectors, keep)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(name, None, f"not a whole gzip file: {error}") from error
    except OSError as error:
        raise FormatError(name, None, f"cannot be read: {error.strerror}") from error


def build(options: Options, context: BuildContext, location: SourceLocation) -> Static:
    """Read the file of a recipe; raises ``RecipeError`` if that fails."""
    path, location = locate_file(options.static, context.recipe_dir), location.location_of("static")
    train_words = context.train_vocab | {word.lower() for word in context.train_vocab}
    keep = train_words if options.train_words_only else None
    try:
        vectors = read_vectors(path, max_vectors=options.max_vectors, keep=keep)
    except FormatError as error:
        raise location.error(str(error)) from error
    if not vectors.words:
        raise location.error(
            f"{path}: no word of the training data among its first {options.max_vectors}"
        )
    if not options.trainable:
        return Static(vectors.words, torch.from_numpy(vectors.rows), trainable=False)
    is_fixed = np.array([word not in train_words for word in vectors.words])
    order = np.argsort(is_fixed, kind="stable")
    return Static(
        [vectors.words[row] for row in order],
        torch.from_numpy(vectors.rows[order]),
        trainable=True,
        num_fixed=0 if is_fixed.all() else int(is_fixed.sum()),
    )


def restore(options: Options, files: Mapping[str, str]) -> Static:
    """Build from a saved vocabulary, all zero; raises ``ModelError`` for an invalid one."""
    text = files.get(VOCABULARY)
    if text is None or text.count("\n") > MAX_ROWS:
        raise ModelError(f"{VOCABULARY}: expected a text of at most {MAX_ROWS} words")
    head, *words = text.split("\n")
    shape = _SHAPE.fullmatch(head)
    rows, dim, num_fixed = map(int, shape.groups("0")) if shape else (0, 0, 0)
    if not num_fixed < rows == len(words) or not 0 < dim <= MAX_DIM:
        raise ModelError(
            f"{VOCABULARY}: expected rows, columns (1 to {MAX_DIM}) and perhaps how many of the "
            f"last rows are fixed, then a word for each row; "
            f"got {head!r:.40} and {len(words)} words"
        )
    if len(set(words)) < rows:
        raise ModelError(f"{VOCABULARY}: a word stands twice")
    vectors = torch.zeros(rows, dim)
    return Static(words, vectors, trainable=options.trainable, num_fixed=num_fixed)


class _GrowingTable:
    """A table that grows with its rows."""

    def __init__(self, dim: int) -> None:
        self.step = -(-_BLOCK // dim)
        self.table = np.empty((0, dim), dtype=np.float32)
        self.used = 0

    def add(self, row: Float[np.ndarray, " dim"]) -> None:
        """Append a row."""
        if self.used == len(self.table):
            self._resize(self.used + self.step)
        self.table[self.used] = row
        self.used += 1

    def finish(self) -> Float[np.ndarray, "row dim"]:
        """Return the rows; none can be added afterwards."""
        self._resize(self.used)
        return self.table

    def _resize(self, rows: int) -> None:
        # in place: joining a list of blocks would need twice the memory; there are no views
        self.table.resize((rows, self.table.shape[1]), refcheck=False)


def _open(path: Path) -> BufferedIOBase:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def _lines(stream: BufferedIOBase, name: str) -> Iterator[bytes]:
    """Yield lines without their ends, one in memory at a time."""
    number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE:
            raise FormatError(name, number, f"over {_LONGEST_LINE} bytes in a line: is it text?")
        yield line.rstrip(b" \r\n")  # word2vec and fastText end lines with a space


def _parse(
    lines: Iterator[bytes], name: str, max_vectors: int, keep: Container[str] | None
) -> Vectors:
    """Return the vectors of a file's lines."""
    first = next(lines, b"").removeprefix(BOM_UTF8)
    num_rows, dim = _header(first, name)
    body = chain([first], lines) if num_rows is None else lines
    header_lines = 0 if num_rows is None else 1
    table, words = _GrowingTable(dim), dict[str, None]()
    count = 0
    for count, line in enumerate(islice(body, max_vectors), 1):
        try:
            word, fields = _split(line, dim)
            if word not in words and (keep is None or word in keep):
                table.add(_numbers(fields))
                words[word] = None
        except ValueError as error:
            raise FormatError(name, header_lines + count, str(error)) from error
    if num_rows is not None and count != min(num_rows, max_vectors):
        raise FormatError(name, 1, f"a header that promises {num_rows} rows, but {count} came")
    return Vectors(tuple(words), table.finish())


def _header(first: bytes, name: str) -> tuple[int | None, int]:
    """Return the numbers of rows (None: no header) and columns, from the first line."""
    header = _HEADER.fullmatch(first)
    rows, dim = map(int, header.groups()) if header else (None, first.count(b" "))
    if rows == 0 or not 0 < dim <= MAX_DIM:
        problem = f"expected a word and 1 to {MAX_DIM} numbers, or rows and columns"
        raise FormatError(name, 1, f"{problem}; got {first[:40]!r}")
    return rows, dim


def _split(line: bytes, dim: int) -> tuple[str, list[bytes]]:
    """Return the word and the number fields of a line; raises ``ValueError``."""
    word, *fields = line.rsplit(b" ", dim)
    if len(fields) < dim:
        raise ValueError(f"expected a word and {dim} numbers, got {len(fields)} numbers at most")
    if b" " in word and _ENDS_IN_NUMBER.fullmatch(word):
        raise ValueError(f"expected {dim} numbers after a word, got more: {line[:60]!r}")
    if b"\r" in word:  # it would end a line of the saved vocabulary
        raise ValueError(f"expected a word without carriage returns, got {word[:60]!r}")
    return word.decode(), fields


def _numbers(fields: list[bytes]) -> Float[np.ndarray, " dim"]:
    """Return the numbers; raises ``ValueError`` unless 32 bits can hold them."""
    row = np.array([float(field) for field in fields])
    if not np.abs(row).max() <= _LARGEST:  # also true for nan
        raise ValueError("expected finite numbers of 32 bits")
    return row


KIND = EmbedderType(Options, build, restore, file_options=("static",))
