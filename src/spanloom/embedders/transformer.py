"""A Hugging Face transformer as an embedder: pieces in, one vector a word out."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.cancellation import checkpoint
from spanloom.config.options import Options as _Options
from spanloom.config.yaml import SourceLocation
from spanloom.embedders import _bert, _config_check, _minilm, _probe, casing
from spanloom.embedders._base import BuildContext, EmbedderType
from spanloom.embedders._config_check import Encoder, Shape
from spanloom.errors import ModelError
from spanloom.nn.dropout import Dropout
from spanloom.nn.gather import gather_rows
from spanloom.tensors import Batch

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

_CACHED = 1_280  # pieces an encoder reads at once on a CPU, in use
_FULL = 0.8  # of the windows that are read at once this much is text, or they are read apart
_AT_ONCE = 16_384  # pieces read at once where no gradient is kept, padding counted
_RECIPE = "recipe.yaml"  # a folder with this is a model of ours


class Options(_Options):
    """``transformer: minilm``, a hub id, or a local folder."""

    transformer: str = Field("minilm", description="minilm, a hub id, or a local folder")
    layers: Literal["scalar-mix", "last"] = Field(
        "scalar-mix", description="learnt mix of all layers, or the last"
    )
    pooling: Literal["mean", "first"] = Field("mean", description="a word's vector from its pieces")
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout between its sub-layers")
    freeze_embeddings: bool = Field(
        False, description="word piece vectors stay as they were; steps are faster"
    )
    casing_embeddings: bool = Field(
        False, description="show an uncased encoder, below its first layer, how words are spelled"
    )
    init: Literal["pretrained", "random"] = Field(
        "pretrained", description="pretrained | random: the shape alone, weights from scratch"
    )
    attention_dropout: float = Field(
        0.0, ge=0, lt=1, description="dropout of attention weights: a quarter of a step's time"
    )


class ScalarMix(nn.Module):
    """A softmax-weighted mean of all layers, scaled (Peters et al. 2018, equation 1)."""

    def __init__(self, layers: int) -> None:
        """All layers start with the same weight."""
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, layers: tuple[Float[Tensor, "*rows dim"], ...]) -> Float[Tensor, "*rows dim"]:
        """Mix one tensor a layer; in place where no gradient is kept, twenty times as fast."""
        weights = self.weights.softmax(0) * self.scale
        mixed = layers[0].float() * weights[0]
        if not torch.is_grad_enabled():
            for share, layer in zip(weights[1:].tolist(), layers[1:], strict=True):
                mixed.add_(layer, alpha=share)
            return mixed
        for weight, layer in zip(weights[1:], layers[1:], strict=True):
            mixed = mixed + layer.float() * weight
        return mixed


class LastLayer(nn.Module):
    """The top layer alone."""

    def forward(self, layers: tuple[Float[Tensor, "*rows dim"], ...]) -> Float[Tensor, "*rows dim"]:
        """Return the last of them."""
        return layers[-1].float()


class Transformer(nn.Module):
    """Encode windows, take each piece from its best window, pool pieces to words."""

    def __init__(
        self, encoder: Encoder, layers: nn.Module, *, first: bool, spelling: bool = False
    ) -> None:
        """``layers`` makes one tensor of all layers; ``first`` takes a word's first piece alone.

        ``spelling`` adds a learnt vector, at first 0, to each piece for how its word is spelled
        (``casing.shape``), so that all layers see the capitals around a word, too.
        In use a ``runtime`` may stand for ``encoder`` and ``layers``.
        """
        super().__init__()
        self.encoder = encoder
        self.layers = layers
        self.first = first
        self.dim = int(encoder.config.hidden_size)
        self.runtime: Callable[[Mapping[str, Tensor]], Tensor] | None = None
        self._alone: bool | None = False if isinstance(encoder, _bert.Bert) else None
        self.spelling: nn.Embedding | None = None
        if spelling:
            self.spelling = nn.Embedding(
                casing.SHAPES + 1, self.piece_embeddings.shape[1], padding_idx=0
            )
            nn.init.zeros_(self.spelling.weight)

    @property
    def piece_embeddings(self) -> Float[Tensor, "vocabulary width"]:
        """The vectors of pieces, before any layer."""
        table = self.encoder.get_input_embeddings()
        assert isinstance(table, nn.Embedding), "an encoder of text has a table of its pieces"
        return table.weight

    def forward(
        self, batch: Batch, tokens: Float[Tensor, "task width"] | None = None
    ) -> Float[Tensor, "word dim"]:
        """Return one vector a word; windows of like length go through the encoder together.

        ``tokens`` are vectors that stand below all layers where a piece of a task's token stands.
        """
        width = batch.input_ids.shape[1]
        base = torch.zeros(len(batch.input_ids), dtype=torch.long, device=batch.input_ids.device)
        added = self._added(batch, tokens)
        parts, done = [], 0
        for windows, longest in _alike(batch.attention_mask.sum(1), equal=self._reads_padding()):
            checkpoint()
            mixed = self.mix_layers(self._read(batch, added, windows, longest)).flatten(0, 1)
            base[windows] = done + torch.arange(len(windows), device=base.device) * longest
            parts.append(mixed)
            done += len(mixed)
        rows = base[batch.piece_index // width] + batch.piece_index % width
        return self._pool(torch.cat(parts) if len(parts) > 1 else parts[0], rows, batch)

    def states(self, batch: Batch) -> tuple[Float[Tensor, "window seq dim"], ...]:
        """Return all layers' states, the lowest first.

        Spellings are not shown: who asks has hidden words in ``ids``, which they would betray.
        """
        every = torch.arange(len(batch.input_ids), device=batch.input_ids.device)
        return self._states(self._read(batch, None, every, batch.input_ids.shape[1]))

    def mix_layers(self, read: Mapping[str, Tensor]) -> Float[Tensor, "some longest dim"]:
        """Return the one tensor that is made of all layers, for what ``_read`` returns."""
        if self.runtime is not None:
            return self.runtime(read)
        mixed: Tensor = self.layers(self._states(read))
        return mixed

    def _reads_padding(self) -> bool:
        """Whether what fills windows up is read, too, so that they must not be filled up.

        The convolutions of ConvBERT do, and MobileBERT, which reads a piece's neighbours.
        """
        if self._alone is None:
            self._alone = _probe.reads_padding(self.encoder)
        return self._alone

    def _states(self, read: Mapping[str, Tensor]) -> tuple[Float[Tensor, "some longest dim"], ...]:
        states: tuple[Tensor, ...] = self.encoder(output_hidden_states=True, **read).hidden_states
        return states

    def _read(
        self,
        batch: Batch,
        added: "_Added | None",
        windows: Int[Tensor, " some"],
        longest: int,
    ) -> dict[str, Tensor]:
        """What an encoder is given of some windows, of their first pieces."""
        mask = batch.attention_mask[windows, :longest].long()  # DeBERTa reckons with it
        read: dict[str, Tensor] = {"attention_mask": mask}
        ids = batch.input_ids[windows, :longest]
        if (
            batch.token_type_ids is not None
            and getattr(self.encoder.config, "type_vocab_size", 0) > 1
        ):
            read["token_type_ids"] = batch.token_type_ids[windows, :longest]
        if added is None:
            read["input_ids"] = ids
        else:
            vectors = self.encoder.get_input_embeddings()(ids)
            read["inputs_embeds"] = added(vectors, windows, longest)
        return read

    def _added(self, batch: Batch, tokens: Float[Tensor, "task width"] | None) -> "_Added | None":
        """What the vectors of pieces are changed by before the first layer, if anything."""
        if self.spelling is None and batch.task_tokens is None:
            return None
        shapes = None if self.spelling is None else _shapes(batch)
        numbers = None
        if batch.task_tokens is not None:
            assert tokens is not None, "tokens of tasks have vectors"
            none = batch.task_tokens.new_full((1,), -1)
            numbers = torch.cat([none, batch.task_tokens])[batch.position_to_word + 1]
        return _Added(self.spelling, shapes, tokens, numbers)

    def extra_files(self) -> dict[str, str]:
        """Return the shape of the encoder, as it is written beside the weights."""
        return {"config.json": _config_check.dumps(self.encoder.config)}

    def _pool(
        self, pieces: Float[Tensor, "row dim"], rows: Int[Tensor, " piece"], batch: Batch
    ) -> Float[Tensor, "word dim"]:
        """Pool the pieces in ``rows``, which ascend by word; each word has some."""
        counts = torch.bincount(batch.piece_to_word, minlength=len(batch.words))
        starts = counts.cumsum(0) - counts
        if self.first:
            return gather_rows(pieces, rows[starts])
        return F.embedding_bag(rows, pieces, starts, mode="mean")


@dataclass(frozen=True, slots=True)
class _Added:
    """Vectors of spelling, by how words are spelled; those of tasks' tokens, by their numbers."""

    spelling: nn.Embedding | None
    shapes: Int[Tensor, "window seq"] | None
    tokens: Float[Tensor, "task width"] | None
    numbers: Int[Tensor, "window seq"] | None

    def __call__(
        self,
        pieces: Float[Tensor, "some longest width"],
        windows: Int[Tensor, " some"],
        longest: int,
    ) -> Float[Tensor, "some longest width"]:
        """Return vectors of pieces with those of spelling added, and tokens in their places."""
        if self.tokens is not None and self.numbers is not None:
            numbers = self.numbers[windows, :longest, None]
            own = self.tokens[numbers[..., 0].clamp(min=0)].to(pieces.dtype)
            pieces = torch.where(numbers < 0, pieces, own)
        if self.spelling is not None and self.shapes is not None:
            pieces = pieces + self.spelling(self.shapes[windows, :longest])
        return pieces


def _shapes(batch: Batch) -> Int[Tensor, "window seq"]:
    """How the word is spelled whose piece stands at each place, from 1; 0 where none does."""
    shapes = [0, *(casing.shape(word) + 1 for word in batch.words)]
    return torch.tensor(shapes, device=batch.input_ids.device)[batch.position_to_word + 1]


def _alike(
    lengths: Int[Tensor, " window"], *, equal: bool = False
) -> Iterator[tuple[Int[Tensor, " some"], int]]:
    """Yield windows of like length (or ``equal``), longest first, and the longest of each group.

    Where no gradient is kept a group is one window or has a bounded number of pieces: on a CPU what
    its cache holds between two layers.
    """
    sizes, order = lengths.sort(descending=True, stable=True)
    said = sizes.tolist()
    most = _AT_ONCE if lengths.is_cuda else _CACHED
    if torch.is_grad_enabled():
        most = sum(said)
    first, full_enough = 0, 1.0 if equal else _FULL
    for row in range(1, len(said) + 1):
        full = row < len(said) and (row + 1 - first) * said[first] > max(most, said[first])
        if row == len(said) or full or said[row] < full_enough * said[first]:
            yield order[first:row], said[first]
            first = row


def build(options: Options, encoder: Encoder) -> Transformer:
    """Put the parts together around an encoder that was loaded or made elsewhere."""
    layers = encoder.config.num_hidden_layers + 1
    mix = ScalarMix(layers) if options.layers == "scalar-mix" else LastLayer()
    if options.freeze_embeddings:
        encoder.get_input_embeddings().requires_grad_(False)
    first = options.pooling == "first"
    return Transformer(encoder, mix, first=first, spelling=options.casing_embeddings)


def source(name: str, near: Path) -> str:
    """Say where an encoder's files lie: a folder (near the recipe), a package's files, a hub id.

    Raises ``ModelError`` where the package's are not those that were published.
    """
    if name != _minilm.NAME:
        return str(near / name) if (near / name).is_dir() else name
    return _minilm.place()


def pretrained(folder: str, options: Options) -> Encoder:
    """Load an encoder's weights from a folder or the hub, as fp32, ready to be trained.

    It is made of what a saved model says of its shape, so that it is the same when it is loaded.
    Raises ``ModelError`` for one that cannot be saved, or whose weights are not all there.
    """
    from spanloom.embedders import _hub

    shape = _hub.shape(folder)
    said = json.loads(_config_check.dumps(shape))
    ours = _bert.fits(shape.to_dict())
    loaded, missing = _hub.pretrained(folder, _rates(shape if ours else _hub.parsed(said), options))
    made: Encoder = _bert.Bert(_bert.config(loaded.config.to_dict())) if ours else _prepare(loaded)
    weights = loaded.state_dict()
    needed = made.state_dict().keys()  # no pooler's
    lacking = [name for name in missing if name in needed]
    if lacking:
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        raise ModelError(f"{folder}: no weights of the encoder's {', '.join(lacking[:3])}{more}")
    if ours:
        made.load_state_dict({name: weights[name] for name in needed})
    return made.train()


def untrained(shape: Shape, options: Options) -> Encoder:
    """Make an encoder of a shape, with random weights."""
    if isinstance(shape, _bert.Config):
        return _bert.Bert(
            replace(
                shape,
                hidden_dropout_prob=options.dropout,
                attention_probs_dropout_prob=options.attention_dropout,
            )
        ).train()
    from spanloom.embedders import _hub

    return _prepare(_hub.untrained(_rates(shape, options)))


def _build(options: Options, sources: BuildContext, where: SourceLocation) -> Transformer:
    from spanloom.embedders import _hub

    folder = source(options.transformer, sources.recipe_dir)
    at = where.location_of("transformer")
    if options.init == "pretrained" and (Path(folder) / _RECIPE).is_file():
        problem = "is a model of spanloom, no encoder"
        raise at.error(f"{folder} {problem}; to go on from it, say init_from: {folder} instead")
    try:
        if options.init == "pretrained":
            encoder = pretrained(folder, options)
        else:
            encoder = untrained(
                _config_check.parsed(json.loads(_config_check.dumps(_hub.shape(folder)))), options
            )
        _probe.check(encoder, every=options.layers == "scalar-mix")
    except ModelError as error:
        raise at.error(str(error)) from error
    return build(options, encoder)


def _restore(options: Options, files: Mapping[str, str]) -> Transformer:
    if "config.json" not in files:
        raise ModelError("no config.json, so the shape of the encoder is unknown")
    return build(
        options, untrained(_config_check.parsed(json.loads(files["config.json"])), options)
    )


def _rates(config: "PretrainedConfig", options: Options) -> "PretrainedConfig":
    """Set the dropout rates, whatever the architecture calls them."""
    for key in ("hidden_dropout_prob", "dropout", "hidden_dropout"):
        if hasattr(config, key):
            setattr(config, key, options.dropout)
    for key in ("attention_probs_dropout_prob", "attention_dropout"):
        if hasattr(config, key):
            setattr(config, key, options.attention_dropout)
    return config


def _prepare(encoder: "PreTrainedModel") -> "PreTrainedModel":
    """Eager attention is the fastest to train on a CPU; pooler and cache are never used."""
    encoder.set_attn_implementation("eager")
    if hasattr(encoder, "set_attention_type"):
        # BigBird: else the first window's length decides
        cast(Any, encoder).set_attention_type("original_full")
    if hasattr(encoder.config, "use_cache"):
        encoder.config.use_cache = False
    if getattr(encoder, "pooler", None) is not None:
        encoder.register_module(
            "pooler", nn.Identity()
        )  # no weights; SqueezeBERT calls it in any case
    for module in list(encoder.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Dropout):
                setattr(module, name, Dropout(child.p))
    encoder.train()
    return encoder


KIND = EmbedderType(Options, _build, _restore)
