"""Train static word vectors on plain text: word2vec's skip-grams (Mikolov et al. 2013), by gensim.

Words are split as in treebanks and written in lower case, in which the embedder ``static`` looks
them up. The same texts, options and version of gensim give the same file.
"""

import gzip
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanloom.atomic_io import write_file
from spanloom.corpora.bounded_lines import bounded_lines
from spanloom.corpora.files import visible
from spanloom.errors import DataError, PackageMissing
from spanloom.tokenization import treebank_words

_SUFFIXES = (".txt", ".txt.gz")


@dataclass(frozen=True, slots=True)
class VectorOptions:
    """Size of the vectors, occurrences that a word needs, passes over the text, random seed."""

    dim: int = 50
    min_count: int = 5
    epochs: int = 5
    seed: int = 1


@dataclass(frozen=True, slots=True)
class TrainedVectors:
    """What was written: the number of words with a vector, and of words of text read."""

    words: int
    text_words: int


def train_vectors(corpus: Path, out: Path, options: VectorOptions) -> TrainedVectors:
    """Train on a text file, or all below a folder, and write a file in the format of word2vec.

    Raises ``PackageMissing`` without gensim, and ``DataError`` for a text that cannot be read, or
    in which no word is frequent enough.
    """
    PackageMissing.check("vectors train", "vectors", "gensim")
    from gensim.models import Word2Vec

    paths = text_files(corpus)
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder, "lines.txt")
        text_words = _write_lines(paths, lines)
        model = Word2Vec(
            vector_size=options.dim,
            min_count=options.min_count,
            seed=options.seed,
            sg=1,
            workers=1,  # several would race, so that no two runs would be equal
        )
        model.build_vocab(corpus_file=str(lines))
        if not model.wv.index_to_key:
            raise DataError(f"{corpus}: no word comes {options.min_count} times")
        model.train(
            corpus_file=str(lines),
            total_examples=model.corpus_count,
            total_words=model.corpus_total_words,
            epochs=options.epochs,
        )
    write_file(out, "".join(_rows(model.wv, options.dim)).encode())
    return TrainedVectors(len(model.wv.index_to_key), text_words)


def text_files(corpus: Path) -> list[Path]:
    """Return a file, or the texts below a folder that are not hidden, sorted.

    Raises ``DataError`` without any.
    """
    if corpus.is_file():
        return [corpus]
    paths = sorted(path for path in visible(corpus) if path.name.endswith(_SUFFIXES))
    if not paths:
        raise DataError(f"{corpus}: expected texts ({' or '.join(_SUFFIXES)}), found none")
    return paths


def _write_lines(paths: Iterable[Path], out: Path) -> int:
    """Write the words of each line of texts, with blanks between them; return their number."""
    num_words = 0
    with out.open("w", encoding="utf-8") as stream:
        for path in paths:
            for line in _lines(path):
                words = [line[start:end] for start, end in treebank_words(line)]
                num_words += len(words)
                stream.write(" ".join(words) + "\n")
    return num_words


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text in lower case; raises ``DataError`` if it cannot be read."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as stream:
            lines = bounded_lines(stream.readline, str(path)) if path.suffix == ".gz" else stream
            for line in lines:
                yield line.lower()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError(f"{path}: expected a text in UTF-8: {error}") from error


def _rows(vectors: Any, dim: int) -> Iterator[str]:
    """Yield the lines of the file: numbers of words and columns, then a word per line."""
    yield f"{len(vectors.index_to_key)} {dim}\n"
    for word in vectors.index_to_key:
        yield f"{word} {' '.join(f'{number:.6f}' for number in vectors[word])}\n"
