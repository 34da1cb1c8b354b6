"""Blocks of a text corpus for pre-training: full windows of consecutive words of one document.

A block holds one segment, or two: ``[CLS] A [SEP] B [SEP]``. With next sentence prediction half of
the second segments come from other documents (Devlin et al. 2019, section 3.1).
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from spanloom.data.instance_readers import PromptTokenizer
from spanloom.data.instances import Instance, InstanceLimits, Prompt, TokenizedDocument
from spanloom.data.text_corpus import SENTENCE, WORD, Array, TextCorpus

Sequences = Literal["single", "pair", "next-sentence"]
FULL = 0.9  # of a window that a block fills at least, unless its document ends
_SEPARATORS = 1  # special pieces between two segments
_POOL = 4096  # blocks that are sorted by length together


@dataclass(frozen=True, slots=True, eq=False)
class Blocks(Sequence[Instance]):
    """Blocks as indices: an instance is made when it is read.

    ``bounds`` (block, 4) are the pieces ``[start, end)`` of both segments, the first empty in a
    single sequence. ``num_words`` are the words of each block.
    """

    corpus: TextCorpus
    bounds: npt.NDArray[np.int64]
    num_words: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.bounds)

    @property
    def num_pieces(self) -> npt.NDArray[np.int64]:
        """The pieces of each block, without special ones."""
        sizes = self.bounds[:, 1::2] - self.bounds[:, ::2]
        total: npt.NDArray[np.int64] = sizes.sum(1)
        return total

    @property
    def share_exchanged(self) -> float:
        """The share of blocks with two segments whose second one is from another document."""
        is_pair = self.bounds[:, 0] < self.bounds[:, 1]
        exchanged = self.bounds[is_pair, 1] != self.bounds[is_pair, 2]
        return float(exchanged.mean()) if len(exchanged) else 0.0

    @overload
    def __getitem__(self, index: int) -> Instance: ...
    @overload
    def __getitem__(self, index: slice) -> "Blocks": ...
    def __getitem__(self, index: int | slice) -> "Instance | Blocks":
        """Return a block as an instance, or some of the blocks."""
        if isinstance(index, slice):
            return self.select(np.arange(len(self))[index])
        return self._instance(*self.bounds[index].tolist())

    def select(self, rows: Array) -> "Blocks":
        """Return the blocks at some rows."""
        return replace(self, bounds=self.bounds[rows], num_words=self.num_words[rows])

    def _instance(self, a: int, b: int, start: int, end: int) -> Instance:
        """Return the instance of two segments; the first is empty in a single sequence.

        Its words have neither characters nor bounds. It is identified by its first pieces.
        """
        corpus = self.corpus
        first, second = corpus.words(a, b) if a < b else (), corpus.words(start, end)
        spans = corpus.spans_within(a, b) if a < b else []
        spans += [(x + len(first), y + len(first)) for x, y in corpus.spans_within(start, end)]
        whole = ((0, len(second)),)
        return Instance(
            a if a < b else start,
            start,
            ((0, 0),) * len(second),
            ("",) * len(second),
            second,
            whole,
            whole,
            Prompt(("",) * len(first), first),
            maskable=tuple(spans),
            is_next=b == start or a == b,
        )

    def batches(self, words: int, rng: Random) -> list["Blocks"]:
        """Return all blocks in random batches of similar length, of at most ``words`` words.

        A block over the budget is a batch of its own.
        """
        order = _generator(rng).permutation(len(self))
        sizes = self.num_pieces
        groups: list[Array] = []
        for first in range(0, len(order), _POOL):
            pool = order[first : first + _POOL]
            pool = pool[np.argsort(-sizes[pool], kind="stable")]
            groups += _groups(pool, self.num_words[pool].tolist(), sizes[pool].tolist(), words)
        rng.shuffle(groups)
        return [self.select(group) for group in groups]


@dataclass(frozen=True, slots=True)
class BlockReader:
    """Reads full blocks; ``sequences`` says of how many segments, and whether some are drawn."""

    sequences: Sequences = "single"

    def instances(
        self,
        document: int,
        tokens: TokenizedDocument,
        limits: InstanceLimits,
        tokenize_prompt: PromptTokenizer,
    ) -> Iterator[Instance]:
        """Yield the blocks of one document, as single sequences."""
        corpus = TextCorpus.of_tokenized([tokens], [()])
        yield from cut_blocks(corpus, limits.window)

    def count_shortened(
        self, tokens: TokenizedDocument, window: int, tokenize_prompt: PromptTokenizer
    ) -> int:
        """Return 0."""
        return 0

    def draw(self, corpus: TextCorpus, window: int, rng: Random) -> Blocks:
        """Return all blocks of a corpus; where second segments come from follows from ``rng``."""
        if self.sequences == "single":
            return cut_blocks(corpus, window)
        pairs = divide(cut_blocks(corpus, max(2, window - _SEPARATORS)), rng)
        return exchange(pairs, rng) if self.sequences == "next-sentence" else pairs


def cut_blocks(corpus: TextCorpus, window: int) -> Blocks:
    """Cut each document into blocks of at most ``window`` pieces.

    A block ends with a sentence if one ends in its last tenth, else with the last whole word. Only
    the last block of a document may be shorter than ``FULL`` of the window, or one before a word of
    very many pieces.
    """
    bounds, words = array("q"), array("q")  # a gigabyte of text has millions of blocks
    for start, end in map(np.ndarray.tolist, corpus.documents):
        while start < end:
            stop = end if end - start <= window else start + _length(corpus, start, window)
            bounds.extend((start, stop))
            words.append(max(1, int(np.count_nonzero(corpus.flags[start:stop] & WORD))))
            start = stop
    pieces = np.array(bounds, np.int64).reshape(-1, 2)
    empty = np.repeat(pieces[:, :1], 2, axis=1)
    return Blocks(corpus, np.concatenate([empty, pieces], axis=1), np.array(words, np.int64))


def _length(corpus: TextCorpus, start: int, window: int) -> int:
    """Return the length of a block that does not reach the end of its document."""
    flags = corpus.flags[start + 1 : start + window + 1]
    starts = np.flatnonzero(flags & WORD) + 1
    if not len(starts):
        return window  # a word of more pieces than fit
    sentences = np.flatnonzero(flags & SENTENCE) + 1
    if len(sentences) and sentences[-1] >= FULL * window:
        return int(sentences[-1])
    return int(starts[-1])


def divide(blocks: Blocks, rng: Random) -> Blocks:
    """Divide each block in two where a sentence begins, or else a word; one word is left out.

    The border is drawn from all there are.
    """
    generator = _generator(rng)
    flags, rows, bounds = blocks.corpus.flags, array("q"), array("q")
    for row, (start, end) in enumerate(blocks.bounds[:, 2:].tolist()):
        inner = flags[start + 1 : end]
        for flag in (SENTENCE, WORD):
            borders = np.flatnonzero(inner & flag)
            if len(borders):
                border = start + 1 + int(borders[generator.integers(len(borders))])
                bounds.extend((start, border, border, end))
                rows.append(row)
                break
    kept = blocks.select(np.array(rows, np.int64))
    return replace(kept, bounds=np.array(bounds, np.int64).reshape(-1, 4))


def exchange(pairs: Blocks, rng: Random) -> Blocks:
    """Let half of the blocks, which are drawn, exchange their second segments with other documents.

    Two blocks exchange them whose second segments are about as long, and both begin with a sentence
    or both do not, and end so. So all second segments are kept, and neither their bounds nor their
    lengths tell whether they follow. A first segment that leaves too little room loses its first
    words. Where there is but one document nothing is exchanged.
    """
    bounds, sizes = pairs.bounds.copy(), pairs.num_pieces
    documents = np.searchsorted(pairs.corpus.documents[:, 0], bounds[:, 0], side="right")
    rows = np.flatnonzero(_generator(rng).random(len(bounds)) < 0.5)
    edges = _sentence_edges(pairs)[rows]
    order = np.lexsort((sizes[rows], (bounds[:, 3] - bounds[:, 2])[rows]))
    groups = (rows[order[edges[order] == edge]] for edge in range(4))
    couples = np.concatenate([_couples(group, documents) for group in groups])
    bounds[couples, 2:] = bounds[couples[:, ::-1], 2:]
    words, limit = pairs.num_words.copy(), int(sizes.max(initial=0))
    for row in couples.ravel().tolist():
        _shorten_first(pairs.corpus, bounds[row], limit)
        words[row] = _count_words(pairs.corpus, bounds[row])
    return replace(pairs, bounds=bounds, num_words=words)


def _sentence_edges(pairs: Blocks) -> Array:
    """Return of each second segment whether it begins (1) and ends (2) with a sentence, summed."""
    flags, starts, ends = pairs.corpus.flags, pairs.bounds[:, 2], pairs.bounds[:, 3]
    begin = flags[starts] & SENTENCE != 0  # flags are mapped from disk; few of them are read
    end = (ends == len(flags)) | (flags[np.minimum(ends, len(flags) - 1)] & SENTENCE != 0)
    edges: Array = begin + 2 * end
    return edges


def _couples(rows: Array, documents: Array) -> Array:
    """Return couples (couple, 2) of near rows of different documents; some rows may be left."""
    couples: list[tuple[int, int]] = []
    waiting: list[int] = []  # all of one document
    for row in rows.tolist():
        if waiting and documents[waiting[-1]] != documents[row]:
            couples.append((waiting.pop(), row))
        else:
            waiting.append(row)
    return np.array(couples, np.int64).reshape(-1, 2)


def _shorten_first(corpus: TextCorpus, bounds: npt.NDArray[np.int64], limit: int) -> None:
    """Move the beginning of a first segment to a later word if the block has too many pieces."""
    a, b, start, end = bounds.tolist()
    surplus = b - a + end - start - limit
    if surplus > 0:
        starts = np.flatnonzero(corpus.flags[a + surplus : b] & WORD)
        bounds[0] = a + surplus + (int(starts[0]) if len(starts) else 0)


def _count_words(corpus: TextCorpus, bounds: npt.NDArray[np.int64]) -> int:
    """Return the words of both segments; a rest of a word that begins one counts."""
    a, b, start, end = bounds.tolist()
    inner = np.concatenate([corpus.flags[a + 1 : b], corpus.flags[start + 1 : end]])
    return 2 + int(np.count_nonzero(inner & WORD))


def _groups(
    rows: Array, num_words: Sequence[int], sizes: Sequence[int], limit: int
) -> Iterator[Array]:
    """Yield runs of rows of at most ``limit`` words and half padding; longest blocks come first."""
    first = words = pieces = 0
    for i, (count, size) in enumerate(zip(num_words, sizes, strict=True)):
        is_sparse = (i + 1 - first) * sizes[first] > 2 * (pieces + size)
        if i > first and (words + count > limit or is_sparse):
            yield rows[first:i]
            first, words, pieces = i, 0, 0
        words += count
        pieces += size
    if first < len(rows):
        yield rows[first:]


def _generator(rng: Random) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(rng.getrandbits(64)))
