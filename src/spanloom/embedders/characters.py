"""Words read by their characters: a convolution or a recurrent layer, one vector a word.

The sizes are those of two papers: HMTL (Sanh et al. 2019) for ``cnn``, Changpinyo et al. (2018,
section 3.3) for ``gru``.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from spanloom.config.options import Options as _Options
from spanloom.config.yaml import SourceLocation
from spanloom.embedders._base import BuildContext, EmbedderType
from spanloom.errors import ModelError
from spanloom.nn.dropout import Dropout
from spanloom.nn.gather import gather_rows
from spanloom.nn.padding import pack
from spanloom.tensors import Batch

INVENTORY = "characters.json"
MAX_CHARACTERS = 4000  # a Chinese newspaper's fit
MAX_WORD_CHARACTERS = 64  # characters of a word that are read
_UNKNOWN, _BEGIN, _END, _FIRST = range(4)  # rows of the character table
_NO_CHARACTER = 2**32 - 1

T = TypeVar("T")
Width = Annotated[int, Field(ge=1, le=16)]

_UNREAD = {"cnn": ("num_layers", "hidden_size"), "gru": ("ngram_sizes", "num_filters")}


class Options(_Options):
    """``{characters: cnn, ngram_sizes: [3]}`` or ``{characters: gru, num_layers: 2}``."""

    characters: Literal["cnn", "gru"] = Field(description="cnn | gru")
    embedding_dim: int | None = Field(
        None, ge=1, le=1024, description="size of a character's vector: 16 (cnn), 25 (gru)"
    )
    num_filters: int | None = Field(
        None, ge=1, le=4096, description="cnn: filters of each n-gram size: 64"
    )
    hidden_size: int | None = Field(None, ge=1, le=4096, description="gru: units a direction: 25")
    ngram_sizes: tuple[Width, ...] | None = Field(
        None, min_length=1, max_length=16, description="cnn: characters a filter sees: [3]"
    )
    num_layers: int | None = Field(None, ge=1, le=8, description="gru: how many: 2")
    dropout: float | None = Field(
        None, ge=0, lt=1, description="of words' vectors: 0.1 (cnn); between layers: 0.25 (gru)"
    )


class Alphabet:
    """The characters of an inventory as rows of a table; all others share one row."""

    def __init__(self, characters: Iterable[str]) -> None:
        """``characters`` are single and differ; their order is that of their code points."""
        self.characters = tuple(sorted(characters))
        codes = [*map(ord, self.characters), _NO_CHARACTER]  # so that a search ends in a row
        self.codes = np.array(codes, dtype=np.uint32)

    def __len__(self) -> int:
        """Rows of the table: the characters, unknown ones, and a word's begin and end."""
        return _FIRST + len(self.characters)

    def encode(
        self, words: Sequence[str]
    ) -> tuple[Int[Tensor, " character"], Int[Tensor, " word"]]:
        """Return rows of characters, word after word, and how many of them each word has.

        Marks of begin and end stand around each word, so none is without characters. Of a word over
        ``LONGEST`` characters the first and last half as many are read.
        """
        half = MAX_WORD_CHARACTERS // 2
        cut = [
            word if len(word) <= MAX_WORD_CHARACTERS else word[:half] + word[-half:]
            for word in words
        ]
        lengths = np.fromiter(map(len, cut), dtype=np.int64, count=len(cut)) + 2
        last = lengths.cumsum() - 1
        rows = np.full(lengths.sum(), _BEGIN)
        rows[last] = _END
        inner = np.ones(len(rows), dtype=bool)
        inner[last] = inner[last - lengths + 1] = False
        rows[inner] = self._rows("".join(cut))
        return torch.from_numpy(rows), torch.from_numpy(lengths)

    def _rows(self, text: str) -> Int[np.ndarray, " character"]:
        # all words in one search: Python would look up one character at a time
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        found = np.searchsorted(self.codes, points)
        return np.where(self.codes[found] == points, found + _FIRST, _UNKNOWN)


class CharCNN(nn.Module):
    """Filters over runs of characters, and of each filter the best run (HMTL, "Words embeddings").

    Words lie flat, without padding: a batch has few long words, and most of a table would be empty.
    """

    def __init__(self, dim: int, *, size: int, widths: Sequence[int], dropout: float) -> None:
        """``size`` filters for each of ``widths``, so ``size * len(widths)`` numbers come out."""
        super().__init__()
        self.filters = nn.ModuleList(nn.Linear(width * dim, size) for width in widths)
        self.widths = tuple(widths)
        self.dropout = Dropout(dropout)
        self.dim = size * len(widths)

    def forward(
        self, characters: Float[Tensor, "character dim"], lengths: Int[Tensor, " word"]
    ) -> Float[Tensor, "word out"]:
        """Read words of ``lengths`` (on the CPU, at least one) characters."""
        best = [
            self._best(filters, width, characters, lengths)
            for filters, width in zip(self.filters, self.widths, strict=True)
        ]
        words: Tensor = self.dropout(torch.cat(best, dim=1).relu())
        return words

    def _best(
        self,
        filters: nn.Module,
        width: int,
        characters: Float[Tensor, "character dim"],
        lengths: Int[Tensor, " word"],
    ) -> Float[Tensor, "word size"]:
        """The highest score of each filter among the runs of each word."""
        counts, places = runs(lengths, width)
        device = characters.device
        seen = [gather_rows(characters, place) for place in places.to(device)]
        scores: Tensor = filters(torch.cat(seen, dim=1))
        return torch.segment_reduce(scores, "max", lengths=counts.to(device))


class CharGRU(nn.Module):
    """The last state of a GRU that reads forwards, and of one that reads backwards."""

    def __init__(self, dim: int, *, size: int, layers: int, dropout: float) -> None:
        """``size`` units a direction, so ``2 * size`` numbers come out."""
        super().__init__()
        inner = dropout if layers > 1 else 0.0
        self.rnn = nn.GRU(dim, size, layers, batch_first=True, dropout=inner, bidirectional=True)
        self.dim = 2 * size

    def forward(
        self, characters: Float[Tensor, "character dim"], lengths: Int[Tensor, " word"]
    ) -> Float[Tensor, "word out"]:
        """Read words of ``lengths`` (on the CPU, at least one) characters."""
        packed = pack(characters, lengths)
        with torch.autocast(characters.device.type, enabled=False):
            _, states = self.rnn(packed._replace(data=packed.data.float()))
        return torch.cat((states[-2], states[-1]), dim=1)


def runs(
    lengths: Int[Tensor, " word"], width: int
) -> tuple[Int[Tensor, " word"], Int[Tensor, "width run"]]:
    """Return how many runs of ``width`` each word has, and the rows of all runs' characters.

    A word shorter than that has one run, in which its last character is repeated.
    """
    counts = (lengths - width + 1).clamp(min=1)
    last = (lengths.cumsum(0) - 1).repeat_interleave(counts)
    skipped = (lengths - counts).cumsum(0) - lengths + counts  # characters no run started at
    first = torch.arange(len(last)) + skipped.repeat_interleave(counts)
    return counts, torch.minimum(first + torch.arange(width)[:, None], last)


class Characters(nn.Module):
    """A table of characters and a reader over it, run once for each different word of a batch."""

    def __init__(self, alphabet: Alphabet, dim: int, reader: CharCNN | CharGRU) -> None:
        """``dim`` is the size of a character's vector; ``reader`` makes words of them."""
        super().__init__()
        self.alphabet = alphabet
        self.table = nn.Embedding(len(alphabet), dim)
        self.reader = reader
        self.dim = reader.dim
        bound = (3 / dim) ** 0.5  # Changpinyo et al. 2018, section 3.3
        nn.init.uniform_(self.table.weight, -bound, bound)

    def forward(self, batch: Batch) -> Float[Tensor, "word dim"]:
        """Return one vector a word."""
        row = {word: row for row, word in enumerate(dict.fromkeys(batch.words))}
        ids, lengths = self.alphabet.encode(list(row))
        vectors = self.reader(self.table(ids.to(batch.input_ids.device)), lengths)
        rows = [row[word] for word in batch.words]
        return gather_rows(
            vectors, torch.tensor(rows, dtype=torch.long, device=batch.input_ids.device)
        )

    def extra_files(self) -> dict[str, str]:
        """Return the inventory as a JSON list."""
        return {INVENTORY: json.dumps(self.alphabet.characters)}


def character_inventory(words: Iterable[str]) -> list[str]:
    """Return the ``MAX_CHARACTERS`` characters that most words have, of those two or more have.

    What a single word has is left out: with it the row of unknown characters is trained.
    """
    counts = Counter(chain.from_iterable(map(set, words)))
    ranked = sorted((-words, character) for character, words in counts.items() if words > 1)
    return sorted(character for _, character in ranked[:MAX_CHARACTERS])


def build(options: Options, sources: BuildContext, where: SourceLocation) -> Characters:
    """Make one for the characters of the training data; ``RecipeError`` for a key not read."""
    for key in _UNREAD[options.characters]:
        if getattr(options, key) is not None:
            raise where.location_of(key).error(f"{options.characters} does not read this key")
    return _build(options, character_inventory(sources.train_vocab))


def restore(options: Options, files: Mapping[str, str]) -> Characters:
    """Make one for a saved inventory; raises ``ModelError`` for a broken one."""
    text = files.get(INVENTORY, "")
    try:  # a character takes 16 bytes at most: two escapes, quotes, comma, blank
        found: Any = json.loads(text) if len(text) <= 16 * MAX_CHARACTERS else None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{INVENTORY}: expected JSON: {error}") from error
    if not _is_inventory(found):
        raise ModelError(
            f"{INVENTORY}: expected a list of at most {MAX_CHARACTERS} different characters"
        )
    return _build(options, found)


def _is_inventory(value: object) -> bool:
    if not isinstance(value, list) or len(value) > MAX_CHARACTERS:
        return False
    return all(isinstance(each, str) and len(each) == 1 for each in value) and (
        len(set(value)) == len(value)
    )


def _cnn(options: Options) -> tuple[int, CharCNN]:
    """The size of a character's vector, and a reader as HMTL has it where nothing else is said."""
    dim, size = _or(options.embedding_dim, 16), _or(options.num_filters, 64)
    widths, dropout = _or(options.ngram_sizes, (3,)), _or(options.dropout, 0.1)
    return dim, CharCNN(dim, size=size, widths=widths, dropout=dropout)


def _gru(options: Options) -> tuple[int, CharGRU]:
    """The size of a character's vector, and a reader as Changpinyo et al. have it."""
    dim, size = _or(options.embedding_dim, 25), _or(options.hidden_size, 25)
    layers, dropout = _or(options.num_layers, 2), _or(options.dropout, 0.25)
    return dim, CharGRU(dim, size=size, layers=layers, dropout=dropout)


def _or(chosen: T | None, usual: T) -> T:
    return usual if chosen is None else chosen


_READERS: dict[str, Callable[[Options], tuple[int, CharCNN | CharGRU]]] = {
    "cnn": _cnn,
    "gru": _gru,
}


def _build(options: Options, characters: Iterable[str]) -> Characters:
    dim, reader = _READERS[options.characters](options)
    return Characters(Alphabet(characters), dim, reader)


KIND = EmbedderType(Options, build, restore)
