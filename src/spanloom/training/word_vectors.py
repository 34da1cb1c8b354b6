"""Train static word vectors on plain text: word2vec's skip-grams (Mikolov et al. 2013), by gensim.

Words are split as in treebanks and written in lower case, in which the embedder ``static`` looks
them up. The same texts, options and version of gensim give the same file.
"""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanloom.atomic_io import write_file
from spanloom.corpora.raw_text import SUFFIXES, text_files, text_lines
from spanloom.errors import DataError, PackageMissing
from spanloom.tokenization import treebank_words


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
    if not paths:
        raise DataError(f"{corpus}: expected texts ({' or '.join(SUFFIXES)}), found none")
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


def _write_lines(paths: Iterable[Path], out: Path) -> int:
    """Write the words of each line of texts, with blanks between them; return their number."""
    num_words = 0
    with out.open("w", encoding="utf-8") as stream:
        for path in paths:
            for line in map(str.lower, text_lines(path)):
                words = [line[start:end] for start, end in treebank_words(line)]
                num_words += len(words)
                stream.write(" ".join(words) + "\n")
    return num_words


def _rows(vectors: Any, dim: int) -> Iterator[str]:
    """Yield the lines of the file: numbers of words and columns, then a word per line."""
    yield f"{len(vectors.index_to_key)} {dim}\n"
    for word in vectors.index_to_key:
        yield f"{word} {' '.join(f'{number:.6f}' for number in vectors[word])}\n"
