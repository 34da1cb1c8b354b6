"""ELMo as it was published: a frozen bidirectional language model, and a learnt mix of its layers.

Peters et al. (2018), section 3: characters of a word to a convolution and highway layers, two
LSTMs with projections and residual connections in each direction, and a softmax-weighted mean of
all layers (equation 1). ``options.json`` and the HDF5 file of weights are those of bilm-tf and
AllenNLP. Each sentence is read by itself: no state is kept from one to the next.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor, nn

from spanloom.config.options import Options as _Options
from spanloom.config.yaml import SourceLocation
from spanloom.corpora.places import locate_file
from spanloom.embedders._base import BuildContext, EmbedderType
from spanloom.errors import ModelError, PackageMissing
from spanloom.nn.padding import pad, padded_groups
from spanloom.tensors import Batch

SHAPE = "elmo.json"
_SENTENCE_BEGIN, _SENTENCE_END, _WORD_BEGIN, _WORD_END, _PADDING = range(256, 261)
_MAX = 8192  # units
_MAX_PADDED = 4096  # words read at once, padding included


class Options(_Options):
    """``{elmo: weights.hdf5, options: options.json}``, both found as corpora are."""

    elmo: str = Field(min_length=1, description="HDF5 file of published weights")
    options: str = Field(min_length=1, description="the options.json beside it")


class _Checked(BaseModel):
    """A part of options.json; keys that the forward pass does not need are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class CharacterShape(_Checked):
    """The convolution: filters as (characters, number)."""

    class Embedding(_Checked):
        """The size of a character's vector."""

        dim: int = Field(ge=1, le=_MAX)

    activation: Literal["relu", "tanh"] = "relu"
    filters: tuple[tuple[int, int], ...] = Field(min_length=1, max_length=64)
    n_highway: int = Field(ge=0, le=16)
    embedding: Embedding
    max_characters_per_token: int = Field(50, ge=3, le=1000)

    @property
    def width(self) -> int:
        """The number of all filters."""
        return sum(number for _, number in self.filters)


class LSTMShape(_Checked):
    """The LSTMs: units ``dim``, projected to ``projection_dim``; 0 clips nothing."""

    dim: int = Field(ge=1, le=_MAX)
    projection_dim: int = Field(ge=1, le=_MAX)
    n_layers: int = Field(2, ge=1, le=16)
    cell_clip: float = Field(0.0, ge=0)
    proj_clip: float = Field(0.0, ge=0)
    use_skip_connections: bool = False


class Shape(_Checked):
    """What options.json says of the network."""

    char_cnn: CharacterShape
    lstm: LSTMShape


class WordCharacters(nn.Module):
    """Words to context-free vectors: characters, convolution, highway layers, a projection."""

    def __init__(self, shape: Shape) -> None:
        """All weights start as torch's; ``Elmo.load`` replaces them."""
        super().__init__()
        cnn = shape.char_cnn
        self.length = cnn.max_characters_per_token
        self.embedding = nn.Embedding(_PADDING + 2, cnn.embedding.dim)  # row 0 is past a sentence
        self.filters = nn.ModuleList(
            nn.Conv1d(cnn.embedding.dim, number, width) for width, number in cnn.filters
        )
        self.activation = nn.ReLU() if cnn.activation == "relu" else nn.Tanh()
        layers = range(cnn.n_highway)
        self.transforms = nn.ModuleList(nn.Linear(cnn.width, cnn.width) for _ in layers)
        self.gates = nn.ModuleList(nn.Linear(cnn.width, cnn.width) for _ in layers)
        self.projection = nn.Linear(cnn.width, shape.lstm.projection_dim)

    def forward(self, characters: Int[Tensor, "word character"]) -> Float[Tensor, "word dim"]:
        """Return one vector per word from the rows of its characters."""
        vectors = self.embedding(characters).transpose(1, 2)
        features = [self.activation(filters(vectors).amax(-1)) for filters in self.filters]
        words = torch.cat(features, dim=-1)
        for transform, gate in zip(self.transforms, self.gates, strict=True):
            share = gate(words).sigmoid()  # of what is new
            words = share * transform(words).relu() + (1 - share) * words
        projected: Tensor = self.projection(words)
        return projected


class ClippedLSTM(nn.Module):
    """One layer in one direction: an LSTM with a projection, cells and output clipped."""

    def __init__(self, shape: LSTMShape) -> None:
        """Gates are in TensorFlow's order: input, candidate, forget, output."""
        super().__init__()
        self.shape = shape
        self.gates = nn.Linear(2 * shape.projection_dim, 4 * shape.dim)
        self.projection = nn.Linear(shape.dim, shape.projection_dim, bias=False)

    def forward(
        self, words: Float[Tensor, "sentence word dim"]
    ) -> Float[Tensor, "sentence word dim"]:
        """Return the output at each word; what follows a sentence's end never reaches it."""
        size, cell_clip, clip = self.shape.dim, self.shape.cell_clip, self.shape.proj_clip
        output = words.new_zeros(len(words), self.shape.projection_dim)
        cell = words.new_zeros(len(words), size)
        outputs = []
        for word in words.unbind(1):
            gates = self.gates(torch.cat([word, output], dim=-1))
            into, candidate, forget, out = gates.split(size, dim=-1)
            # TensorFlow adds 1 to the forget gate when it runs; the files do not hold it
            cell = (forget + 1).sigmoid() * cell + into.sigmoid() * candidate.tanh()
            cell = cell.clamp(-cell_clip, cell_clip) if cell_clip else cell
            output = self.projection(out.sigmoid() * cell.tanh())
            output = output.clamp(-clip, clip) if clip else output
            outputs.append(output)
        return torch.stack(outputs, dim=1)


class Elmo(nn.Module):
    """The language model, frozen, and the mix of its layers, which is learnt."""

    def __init__(self, shape: Shape) -> None:
        """The shape is that of the weights that ``load`` reads."""
        super().__init__()
        self.shape = shape
        self.characters = WordCharacters(shape)
        layers = range(shape.lstm.n_layers)
        self.forward_layers = nn.ModuleList(ClippedLSTM(shape.lstm) for _ in layers)
        self.backward_layers = nn.ModuleList(ClippedLSTM(shape.lstm) for _ in layers)
        self.dim = 2 * shape.lstm.projection_dim
        for parameter in self.parameters():
            parameter.requires_grad_(False)
        self.mix = nn.Parameter(torch.zeros(shape.lstm.n_layers + 1))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, batch: Batch) -> Float[Tensor, "word dim"]:
        """Return one vector per word, the mix of all layers."""
        runs = batch.sentences if batch.prompt_layout is None else batch.prompt_layout.sentences
        with torch.autocast(batch.input_ids.device.type, enabled=False):
            weights = self.mix.softmax(0) * self.scale
            return torch.einsum("l,lwd->wd", weights, self.layers(batch.words, runs))

    @torch.no_grad()
    def layers(
        self, words: tuple[str, ...], runs: Int[Tensor, "sentence 2"]
    ) -> Float[Tensor, "layer word dim"]:
        """Return the vectors of each layer, the context-free ones twice side by side as first."""
        distinct = {word: row for row, word in enumerate(dict.fromkeys(words), 2)}
        spellings = [word.encode("utf-8", "replace") for word in distinct]
        table = torch.tensor(
            [
                self._rows([_SENTENCE_BEGIN]),
                self._rows([_SENTENCE_END]),
                *map(self._rows, spellings),
            ]
        )
        vectors = self.characters(table.to(self.mix.device))
        begin, end = vectors[0], vectors[1]
        rows = torch.tensor([distinct[word] for word in words], device=vectors.device)
        plain = vectors[rows]
        layers: Tensor = plain.new_zeros(self.shape.lstm.n_layers + 1, len(words), self.dim)
        layers[0] = torch.cat([plain, plain], dim=-1)
        for indices, lengths in padded_groups(runs, _MAX_PADDED):
            states, is_word = pad(plain, indices), _is_word(lengths, indices.shape[1])
            ahead = self._read(self.forward_layers, states, begin)
            back = self._read(self.backward_layers, _reverse(states, lengths), end)
            for number, sides in enumerate(zip(ahead, back, strict=True), 1):
                both = torch.cat([sides[0], _reverse(sides[1], lengths)], dim=-1)
                layers[number, indices[is_word]] = both[is_word]
        return layers

    def _read(
        self,
        stack: nn.ModuleList,
        words: Float[Tensor, "sentence word dim"],
        marker: Float[Tensor, " dim"],
    ) -> list[Float[Tensor, "sentence word dim"]]:
        """Return the output of each layer of one direction, which reads a marker first.

        The marker at the other end would be read last, so it changes no word.
        """
        states = torch.cat([marker.expand(len(words), 1, -1), words], dim=1)
        outputs = []
        for number, layer in enumerate(stack):
            output = layer(states)
            states = output + states if number and self.shape.lstm.use_skip_connections else output
            outputs.append(states[:, 1:])
        return outputs

    def _rows(self, spelling: Sequence[int]) -> list[int]:
        """Return the rows of a word's bytes between two markers, padded; long words are cut."""
        length = self.characters.length
        inner = [_WORD_BEGIN, *spelling[: length - 2], _WORD_END]
        return [1 + code for code in inner + [_PADDING] * (length - len(inner))]

    def extra_files(self) -> dict[str, str]:
        """Return the shape as JSON."""
        return {SHAPE: self.shape.model_dump_json()}

    @torch.no_grad()
    def load(self, file: Any) -> None:
        """Copy the weights of an open HDF5 file; raises ``KeyError`` and ``ValueError``."""
        words = self.characters
        _copy(words.embedding.weight[1:], file["char_embed"])
        words.embedding.weight[0] = 0
        for number, filters in enumerate(words.filters):
            _copy(filters.weight, np.transpose(file["CNN"][f"W_cnn_{number}"][0], (2, 1, 0)))
            _copy(filters.bias, file["CNN"][f"b_cnn_{number}"])
        for number, (transform, gate) in enumerate(zip(words.transforms, words.gates, strict=True)):
            group = file[f"CNN_high_{number}"]
            for layer, name in ((transform, "transform"), (gate, "carry")):
                _copy(layer.weight, np.transpose(group[f"W_{name}"]))
                _copy(layer.bias, group[f"b_{name}"])
        _copy(words.projection.weight, np.transpose(file["CNN_proj"]["W_proj"]))
        _copy(words.projection.bias, file["CNN_proj"]["b_proj"])
        for direction, stack in enumerate((self.forward_layers, self.backward_layers)):
            cells = file[f"RNN_{direction}"]["RNN"]["MultiRNNCell"]
            layers: Sequence[Any] = [*stack]
            for number, layer in enumerate(layers):
                cell = cells[f"Cell{number}"]["LSTMCell"]
                _copy(layer.gates.weight, np.transpose(cell["W_0"]))
                _copy(layer.gates.bias, cell["B"])
                _copy(layer.projection.weight, np.transpose(cell["W_P_0"]))


def _copy(parameter: Any, values: Any) -> None:
    """Copy an array into a parameter; raises ``ValueError`` where shapes differ."""
    tensor = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
    if tensor.shape != parameter.shape:
        raise ValueError(f"expected the shape {tuple(parameter.shape)}, got {tuple(tensor.shape)}")
    parameter.copy_(tensor)


def _is_word(lengths: Int[Tensor, " sentence"], width: int) -> Bool[Tensor, "sentence word"]:
    """Return which places of padded sentences hold a word."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]


def _reverse(
    words: Float[Tensor, "sentence word dim"], lengths: Int[Tensor, " sentence"]
) -> Float[Tensor, "sentence word dim"]:
    """Return each sentence with its words in reverse order; what follows its end stays there."""
    places = torch.arange(words.shape[1], device=lengths.device)[None]
    index = torch.where(_is_word(lengths, words.shape[1]), lengths[:, None] - 1 - places, places)
    return words.gather(1, index[..., None].expand_as(words))


def _read_shape(text: str, where: str) -> Shape:
    """Parse options.json; raises ``ModelError``."""
    try:
        return Shape.model_validate(json.loads(text))
    except (ValueError, RecursionError, ValidationError) as error:
        raise ModelError(f"{where}: expected ELMo's options: {error}") from error


def _build(options: Options, context: BuildContext, location: SourceLocation) -> Elmo:
    """Build from the published files; raises ``RecipeError`` for files that do not fit together."""
    PackageMissing.check("the embedder elmo", "elmo", "h5py")
    import h5py

    names = {key: getattr(options, key) for key in ("options", "elmo")}
    paths = {key: locate_file(name, context.recipe_dir) for key, name in names.items()}
    for key, path in paths.items():
        if not path.is_file():
            raise location.location_of(key).error(f"{path}: no such file")
    try:
        elmo = Elmo(_read_shape(paths["options"].read_text("utf-8"), str(paths["options"])))
    except (ModelError, UnicodeDecodeError) as error:
        raise location.location_of("options").error(str(error)) from error
    try:
        with h5py.File(paths["elmo"], "r") as file:
            elmo.load(file)
    except (OSError, KeyError, ValueError) as error:
        raise location.location_of("elmo").error(f"{paths['elmo']}: {error}") from error
    return elmo


def _restore(options: Options, files: Mapping[str, str]) -> Elmo:
    return Elmo(_read_shape(files.get(SHAPE, ""), SHAPE))


KIND = EmbedderType(Options, _build, _restore, file_options=("elmo", "options"))
