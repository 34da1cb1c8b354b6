"""Character embeddings: a convolution or a recurrent layer, one vector per word.

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
from spanloom.nn.initialization import INITIALIZERS, Initialization
from spanloom.nn.padding import pack
from spanloom.tensors import Batch

INVENTORY = "characters.json"
MAX_CHARACTERS = 4000  # enough for a Chinese newspaper
MAX_WORD_CHARACTERS = 64  # of longer words, the middle is left out
_UNKNOWN, _BEGIN, _END, _FIRST = range(4)  # indices of character embeddings
_NO_CHARACTER = 2**32 - 1

T = TypeVar("T")
Width = Annotated[int, Field(ge=1, le=16)]

_UNUSED = {"cnn": ("num_layers", "hidden_size"), "gru": ("ngram_sizes", "num_filters")}


class Options(_Options):
    """``{characters: cnn, ngram_sizes: [3]}`` or ``{characters: gru, num_layers: 2}``."""

    characters: Literal["cnn", "gru"] = Field(description="cnn (convolution) | gru")
    embedding_dim: int | None = Field(
        None, ge=1, le=1024, description="size of a character's vector; null: 16 (cnn), 25 (gru)"
    )
    num_filters: int | None = Field(
        None, ge=1, le=4096, description="cnn: filters of each n-gram size; null: 64"
    )
    hidden_size: int | None = Field(
        None, ge=1, le=4096, description="gru: units per direction; null: 25"
    )
    ngram_sizes: tuple[Width, ...] | None = Field(
        None,
        min_length=1,
        max_length=16,
        description="cnn: characters that a filter sees; null: [3]",
    )
    num_layers: int | None = Field(None, ge=1, le=8, description="gru: layers; null: 2")
    dropout: float | None = Field(
        None,
        ge=0,
        lt=1,
        description="of words' vectors (cnn), between layers (gru); null: 0.1, 0.25",
    )
    initialization: Initialization = Field(
        "default", description="start values of its weights: default | xavier"
    )


class Alphabet:
    """Maps characters to indices; all unknown ones share an index."""

    def __init__(self, characters: Iterable[str]) -> None:
        """``characters`` are distinct; they are sorted by code point."""
        self.characters = tuple(sorted(characters))
        codes = [*map(ord, self.characters), _NO_CHARACTER]  # so that every search ends inside
        self.codes = np.array(codes, dtype=np.uint32)

    def __len__(self) -> int:
        """The number of indices: the characters, unknown, begin and end of a word."""
        return _FIRST + len(self.characters)

    def encode(
        self, words: Sequence[str]
    ) -> tuple[Int[Tensor, " character"], Int[Tensor, " word"]]:
        """Return the character indices of all words, and the length of each word.

        Each word begins and ends with a special index, so no word is empty. The middle of a word of
        more than ``MAX_WORD_CHARACTERS`` is left out.
        """
        half = MAX_WORD_CHARACTERS // 2
        shortened = [
            word if len(word) <= MAX_WORD_CHARACTERS else word[:half] + word[-half:]
            for word in words
        ]
        lengths = np.fromiter(map(len, shortened), dtype=np.int64, count=len(shortened)) + 2
        last = lengths.cumsum() - 1
        indices = np.full(lengths.sum(), _BEGIN)
        indices[last] = _END
        inner = np.ones(len(indices), dtype=bool)
        inner[last] = inner[last - lengths + 1] = False
        indices[inner] = self._indices("".join(shortened))
        return torch.from_numpy(indices), torch.from_numpy(lengths)

    def _indices(self, text: str) -> Int[np.ndarray, " character"]:
        # one search for all words is faster than one look-up per character
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        positions = np.searchsorted(self.codes, points)
        return np.where(self.codes[positions] == points, positions + _FIRST, _UNKNOWN)


class CharCNN(nn.Module):
    """Convolution over character n-grams with max pooling (HMTL, "Words embeddings").

    Words are concatenated without padding, because few words of a batch are long.
    """

    def __init__(self, dim: int, *, size: int, widths: Sequence[int], dropout: float) -> None:
        """``size`` filters per width; the output size is ``size * len(widths)``."""
        super().__init__()
        self.filters = nn.ModuleList(nn.Linear(width * dim, size) for width in widths)
        self.widths = tuple(widths)
        self.dropout = Dropout(dropout)
        self.dim = size * len(widths)

    def forward(
        self, characters: Float[Tensor, "character dim"], lengths: Int[Tensor, " word"]
    ) -> Float[Tensor, "word out"]:
        """Return word vectors; ``lengths`` are at least 1 and on the CPU."""
        pooled = [
            self._pool(filters, width, characters, lengths)
            for filters, width in zip(self.filters, self.widths, strict=True)
        ]
        words: Tensor = self.dropout(torch.cat(pooled, dim=1).relu())
        return words

    def _pool(
        self,
        filters: nn.Module,
        width: int,
        characters: Float[Tensor, "character dim"],
        lengths: Int[Tensor, " word"],
    ) -> Float[Tensor, "word size"]:
        """Return the maximum of each filter over the n-grams of each word."""
        counts, indices = ngram_indices(lengths, width)
        device = characters.device
        ngrams = [gather_rows(characters, index) for index in indices.to(device)]
        scores: Tensor = filters(torch.cat(ngrams, dim=1))
        return torch.segment_reduce(scores, "max", lengths=counts.to(device))


class CharGRU(nn.Module):
    """The last states of a forward and a backward GRU."""

    def __init__(self, dim: int, *, size: int, layers: int, dropout: float) -> None:
        """``size`` units per direction; the output size is ``2 * size``."""
        super().__init__()
        inner = dropout if layers > 1 else 0.0
        self.rnn = nn.GRU(dim, size, layers, batch_first=True, dropout=inner, bidirectional=True)
        self.dim = 2 * size

    def forward(
        self, characters: Float[Tensor, "character dim"], lengths: Int[Tensor, " word"]
    ) -> Float[Tensor, "word out"]:
        """Return word vectors; ``lengths`` are at least 1 and on the CPU."""
        packed = pack(characters, lengths)
        with torch.autocast(characters.device.type, enabled=False):
            _, states = self.rnn(packed._replace(data=packed.data.float()))
        return torch.cat((states[-2], states[-1]), dim=1)


def ngram_indices(
    lengths: Int[Tensor, " word"], width: int
) -> tuple[Int[Tensor, " word"], Int[Tensor, "width ngram"]]:
    """Return the number of n-grams of ``width`` per word, and their character indices.

    A shorter word has one n-gram, which repeats its last character.
    """
    counts = (lengths - width + 1).clamp(min=1)
    last = (lengths.cumsum(0) - 1).repeat_interleave(counts)
    skipped = (lengths - counts).cumsum(0) - lengths + counts  # characters that start no n-gram
    first = torch.arange(len(last)) + skipped.repeat_interleave(counts)
    return counts, torch.minimum(first + torch.arange(width)[:, None], last)


class Characters(nn.Module):
    """Character embeddings and a reader, run once per distinct word of a batch."""

    def __init__(self, alphabet: Alphabet, dim: int, reader: CharCNN | CharGRU) -> None:
        """``dim`` is the size of character vectors; ``reader`` computes word vectors."""
        super().__init__()
        self.alphabet = alphabet
        self.embedding = nn.Embedding(len(alphabet), dim)
        self.char_encoder = reader
        self.dim = reader.dim
        bound = (3 / dim) ** 0.5  # Changpinyo et al. 2018, section 3.3
        nn.init.uniform_(self.embedding.weight, -bound, bound)

    def forward(self, batch: Batch) -> Float[Tensor, "word dim"]:
        """Return one vector per word."""
        word_index = {word: index for index, word in enumerate(dict.fromkeys(batch.words))}
        ids, lengths = self.alphabet.encode(list(word_index))
        vectors = self.char_encoder(self.embedding(ids.to(batch.input_ids.device)), lengths)
        indices = [word_index[word] for word in batch.words]
        device = batch.input_ids.device
        return gather_rows(vectors, torch.tensor(indices, dtype=torch.long, device=device))

    def extra_files(self) -> dict[str, str]:
        """Return the inventory as a JSON list."""
        return {INVENTORY: json.dumps(self.alphabet.characters)}


def character_inventory(words: Iterable[str]) -> list[str]:
    """Return up to ``MAX_CHARACTERS`` characters, those in most words, each in at least two.

    Characters of a single word train the vector of unknown ones.
    """
    counts = Counter(chain.from_iterable(map(set, words)))
    ranked = sorted((-words, character) for character, words in counts.items() if words > 1)
    return sorted(character for _, character in ranked[:MAX_CHARACTERS])


def build(options: Options, context: BuildContext, location: SourceLocation) -> Characters:
    """Build from the characters of the training data; raises ``RecipeError`` for an unused key."""
    for key in _UNUSED[options.characters]:
        if getattr(options, key) is not None:
            raise location.location_of(key).error(f"{options.characters} does not read this key")
    return _build(options, character_inventory(context.train_vocab))


def restore(options: Options, files: Mapping[str, str]) -> Characters:
    """Build from a saved inventory; raises ``ModelError`` for an invalid one."""
    text = files.get(INVENTORY, "")
    try:  # at most 16 bytes per character: two escapes, quotes, comma, blank
        inventory: Any = json.loads(text) if len(text) <= 16 * MAX_CHARACTERS else None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{INVENTORY}: expected JSON: {error}") from error
    if not _is_inventory(inventory):
        raise ModelError(
            f"{INVENTORY}: expected a list of at most {MAX_CHARACTERS} different characters"
        )
    return _build(options, inventory)


def _is_inventory(value: object) -> bool:
    if not isinstance(value, list) or len(value) > MAX_CHARACTERS:
        return False
    return all(isinstance(item, str) and len(item) == 1 for item in value) and (
        len(set(value)) == len(value)
    )


def _cnn(options: Options) -> tuple[int, CharCNN]:
    """Return the size of character vectors and a reader; defaults are those of HMTL."""
    dim, size = _default(options.embedding_dim, 16), _default(options.num_filters, 64)
    widths, dropout = _default(options.ngram_sizes, (3,)), _default(options.dropout, 0.1)
    return dim, CharCNN(dim, size=size, widths=widths, dropout=dropout)


def _gru(options: Options) -> tuple[int, CharGRU]:
    """Return the size of character vectors and a reader; defaults are Changpinyo et al.'s."""
    dim, size = _default(options.embedding_dim, 25), _default(options.hidden_size, 25)
    layers, dropout = _default(options.num_layers, 2), _default(options.dropout, 0.25)
    return dim, CharGRU(dim, size=size, layers=layers, dropout=dropout)


def _default(value: T | None, default: T) -> T:
    return default if value is None else value


_READERS: dict[str, Callable[[Options], tuple[int, CharCNN | CharGRU]]] = {
    "cnn": _cnn,
    "gru": _gru,
}


def _build(options: Options, characters: Iterable[str]) -> Characters:
    dim, reader = _READERS[options.characters](options)
    INITIALIZERS[options.initialization](reader)
    return Characters(Alphabet(characters), dim, reader)


KIND = EmbedderType(Options, build, restore)
