"""A cache on disk of the pieces of text, for corpora larger than memory.

Documents are tokenized in chunks by several processes. Each finished chunk is a file of its own, so
a build that was killed goes on where it stood. The whole is a folder of arrays under a name that
follows from the text, the splitter and the tokenizer; it is written completely or not at all, and
mapped into memory when it is read.
"""

import hashlib
import io
import json
import os
import shutil
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from tokenizers import Tokenizer

from spanloom.annotation.excerpt import clip
from spanloom.atomic_io import recover, verify_folder, write_file, write_folder
from spanloom.batching import batch_by_size
from spanloom.config.tokenization import TokenizationSpec
from spanloom.corpora import raw_text
from spanloom.corpora.cache_dir import cache_dir
from spanloom.corpora.call_worker import open_calls
from spanloom.data.subwords import SubwordTokenizer, num_ids, subword_tokenizer
from spanloom.data.text_corpus import TextCorpus, concatenate, encode
from spanloom.document import Document
from spanloom.errors import DataError, ModelError
from spanloom.file_lock import open_locked
from spanloom.tokenization import WordTokenizer, word_tokenizer
from spanloom.workers.calls import Mapper, map_here

_VERSION = 1  # of what is stored; a change makes new caches
_CHUNK = 1_000_000  # characters that are tokenized at a time
_DEV_PIECES = 50_000
_DEV_CHARACTERS = 20_000  # of each document of dev
_ARRAYS = ("pieces", "flags", "documents", "spans")


@dataclass(frozen=True)
class TextSource:
    """Files of text, what of them is left out, and the annotated spans to keep.

    ``layer`` is the layer of these spans, "" for none; ``labels`` are those that count, all if it
    is empty.
    """

    paths: tuple[Path, ...]
    exclude: tuple[str, ...] = ()
    layer: str = ""
    labels: tuple[str, ...] = ()

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 (hex) of its files, and what is used of them; they are read once."""
        used = repr((sorted(self.exclude), self.layer, sorted(self.labels)))
        return hashlib.sha256((raw_text.fingerprint(self.paths) + used).encode()).hexdigest()

    @property
    def names(self) -> str:
        """Its paths, for messages."""
        return ", ".join(map(str, self.paths))

    def documents(self) -> Iterator[Document]:
        """Yield the documents; raises ``DataError`` and ``FormatError``."""
        return raw_text.stream(self.paths, self.exclude)

    def spans(self, document: Document) -> list[tuple[int, int]]:
        """Return the character bounds of the annotated spans of a document."""
        return layer_spans(document, self.layer, self.labels)


def layer_spans(document: Document, layer: str, labels: Sequence[str]) -> list[tuple[int, int]]:
    """Return the character bounds of a layer's spans with some labels, all if there are none."""
    if not layer or not document.has_layer(layer):
        return []
    return [
        (span.start, span.end)
        for span in document[layer].spans
        if len(span.fragments) == 1 and (not labels or span.label in labels)
    ]


def read_text(
    source: TextSource,
    spec: TokenizationSpec,
    pieces: SubwordTokenizer,
    *,
    num_processes: int | None = None,
) -> tuple[TextCorpus, str]:
    """Return the corpus of some text, mapped from its cache, and the cache's name.

    It is built first if it is not there; other processes that want it wait meanwhile. Raises
    ``DataError``, ``FormatError``, ``StorageError`` and ``ModelError``.
    """
    key = _key(source, spec, pieces)
    folder = cache_dir() / "text" / key
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = folder.with_name(f"{key}.lock")
    with open_locked(lock, os.O_WRONLY | os.O_CREAT):
        recover(folder)
        if not folder.exists():
            encoder = _Encoder(source, spec, _State.of(pieces))
            _build(folder, encoder, num_processes or len(os.sched_getaffinity(0)))
    return open_cache(folder), key


def open_cache(folder: Path) -> TextCorpus:
    """Map a cache into memory; raises ``ModelError`` where a file was altered."""
    verify_folder(folder)
    mapped = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS)
    return TextCorpus(*map(np.asarray, mapped))  # plain arrays are several times as fast to slice


def _key(source: TextSource, spec: TokenizationSpec, pieces: SubwordTokenizer) -> str:
    """Return the name of a cache: a hash of all that its content depends on."""
    state = _State.of(pieces)
    content = {
        "version": _VERSION,
        "text": source.fingerprint,
        "words": [spec.tokenizer, spec.sentence_splitter],
        "tokenizer": hashlib.sha256(state.tokenizer.encode()).hexdigest(),
        "special": state.special,
    }
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class _State:
    """A tokenizer as it is sent to another process."""

    tokenizer: str
    special: tuple[int, int, int]

    @classmethod
    def of(cls, pieces: SubwordTokenizer) -> "_State":
        special = pieces.padding, pieces.unknown, pieces.mask
        return cls(pieces.tokenizer.to_str(), special)

    def load(self) -> SubwordTokenizer:
        padding, unknown, mask = self.special
        tokenizer = Tokenizer.from_str(self.tokenizer)
        return subword_tokenizer(tokenizer, padding=padding, unknown=unknown, mask=mask)


@dataclass(frozen=True, slots=True)
class _Encoder:
    """Turns chunks of documents into arrays."""

    source: TextSource
    spec: TokenizationSpec
    state: _State

    @property
    def dtype(self) -> type[np.integer]:
        """The smallest type that holds all pieces."""
        return (
            np.uint16 if num_ids(Tokenizer.from_str(self.state.tokenizer)) <= 1 << 16 else np.int32
        )

    def encode(self, documents: Sequence[Document]) -> bytes:
        """Return the arrays of a chunk as a file."""
        split, pieces = _tools(self.spec, self.state)
        parts = [
            encode(document, split, pieces, self.source.spans(document)) for document in documents
        ]
        corpus = concatenate(parts)
        stream = io.BytesIO()
        np.savez(stream, **{name: getattr(corpus, name) for name in _ARRAYS})
        return stream.getvalue()

    def write(self, chunk: tuple[Path, Sequence[Document]]) -> None:
        """Write the arrays of a chunk to its file."""
        path, documents = chunk
        write_file(path, self.encode(documents))


@lru_cache(maxsize=1)
def _tools(spec: TokenizationSpec, state: _State) -> tuple[WordTokenizer, SubwordTokenizer]:
    """Return the splitter and the tokenizer."""
    return word_tokenizer(spec.tokenizer, spec.sentence_splitter), state.load()


def _chunks(documents: Iterable[Document]) -> Iterator[list[Document]]:
    return batch_by_size(documents, lambda document: len(document.text), _CHUNK)


def _build(folder: Path, encoder: _Encoder, num_processes: int) -> None:
    """Write the cache; the files of finished chunks lie beside it until it is there."""
    parts = folder.with_name(f"{folder.name}.parts")
    parts.mkdir(exist_ok=True)
    if num_processes == 1:
        _write_missing(parts, encoder, map_here)
    else:
        with open_calls(num_processes) as calls:
            _write_missing(parts, encoder, calls)
    _merge(folder, sorted(parts.glob("*.npz")), encoder)
    shutil.rmtree(parts)


def _write_missing(parts: Path, encoder: _Encoder, mapper: Mapper) -> None:
    """Write the files of all chunks that are not there; only a few chunks are in memory."""
    chunks = enumerate(_chunks(encoder.source.documents()))
    paths = ((parts / f"{number:08}.npz", chunk) for number, chunk in chunks)
    missing = ((path, chunk) for path, chunk in paths if not path.exists())
    deque(mapper(encoder.write, missing), maxlen=0)


def _merge(folder: Path, parts: Sequence[Path], encoder: _Encoder) -> None:
    """Write the arrays of all chunks, one after the other, as those of one corpus."""
    dtypes: dict[str, type[np.integer]] = {
        "pieces": encoder.dtype,
        "flags": np.uint8,
        "documents": np.int64,
        "spans": np.int64,
    }
    sizes = {name: [_shape(part, name)[0] for part in parts] for name in _ARRAYS}
    if not sum(sizes["pieces"]):
        raise DataError(f"{encoder.source.names}: expected some words, found none")
    with write_folder(folder) as staging:
        for name in _ARRAYS:
            shape = (sum(sizes[name]), *((2,) if name in ("documents", "spans") else ()))
            merged = open_memmap(staging / f"{name}.npy", "w+", dtypes[name], shape)
            rows = accumulate(sizes[name], initial=0)
            offsets = accumulate(sizes["pieces"], initial=0)
            for part, row, offset in zip(parts, rows, offsets, strict=False):
                array = _load(part, name)
                shifted = array + offset if name in ("documents", "spans") else array
                merged[row : row + len(array)] = shifted
            merged.flush()
            del merged


def _load(part: Path, name: str) -> np.ndarray:
    try:
        with np.load(part) as arrays:
            array: np.ndarray = arrays[name]
            return array
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{part}: cannot be read ({error}); delete it and try again") from error


def _shape(part: Path, name: str) -> tuple[int, ...]:
    return _load(part, name).shape


def hold_out(
    source: TextSource, corpus: TextCorpus, *, seed: int, at_least: int = 1
) -> tuple[TextCorpus, tuple[Document, ...]]:
    """Return the corpus without some documents, and the beginnings of these, for dev.

    They are drawn until they hold a fiftieth of all pieces, or until ``_DEV_PIECES`` are measured:
    of each at most ``_DEV_CHARACTERS`` are. There are ``at_least`` so many, or a quarter of a small
    corpus. Raises ``DataError`` for a corpus of one document.
    """
    if len(corpus) < 2:
        raise DataError(
            f"{source.names}: expected two documents at least, one to learn from and one to "
            "measure; a blank line ends a document"
        )
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(corpus))
    sizes = corpus.documents[order, 1] - corpus.documents[order, 0]
    measured = np.minimum(sizes, _DEV_CHARACTERS // 4).cumsum()
    counts = (
        int(np.searchsorted(measured, _DEV_PIECES)),
        int(np.searchsorted(sizes.cumsum(), corpus.num_pieces // 50)),
    )
    count = min(max(min(counts) + 1, min(at_least, len(corpus) // 4)), len(corpus) - 1)
    dev = tuple(_dev_documents(source, set(order[:count].tolist())))
    return corpus.select(np.sort(order[count:])), dev


def _dev_documents(source: TextSource, rows: set[int]) -> Iterator[Document]:
    """Yield the first paragraphs of the documents in some rows, of a long one its first words."""
    for row, document in enumerate(source.documents()):
        if row in rows:
            text, limit = document.text, _DEV_CHARACTERS
            ends = text.rfind("\n", 0, limit), text.rfind(" ", 0, limit), limit
            cut = next(end for end in ends if end > limit // 2)
            yield document if len(text) <= limit else clip(document, 0, cut)
