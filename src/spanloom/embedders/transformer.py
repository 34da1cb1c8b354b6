"""A Hugging Face transformer as an embedder: one vector per word, pooled from its pieces."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.cancellation import checkpoint
from spanloom.config.options import Options as _Options
from spanloom.config.yaml import SourceLocation
from spanloom.corpora.places import places
from spanloom.embedders import _bert, _encoder_check, _minilm, casing
from spanloom.embedders._base import BuildContext, EmbedderType
from spanloom.embedders._encoder_check import Config, Encoder
from spanloom.embedders._prune_intermediate import prune_config, prune_intermediate
from spanloom.embedders._window_groups import WindowGroup, all_windows, group_by_length
from spanloom.errors import ModelError
from spanloom.nn.gather import gather_rows
from spanloom.tensors import Batch

if TYPE_CHECKING:
    from transformers import PretrainedConfig

_RECIPE = "recipe.yaml"  # marks a model folder of ours


class Options(_Options):
    """``transformer: minilm``, a hub id, or a local folder."""

    transformer: str = Field("minilm", description="minilm, a hub id, or a local folder")
    layers: Literal["scalar-mix", "last"] = Field(
        "scalar-mix", description="scalar-mix (a learnt mix of all layers) | last"
    )
    num_layers: int | None = Field(
        None, ge=1, description="keep so many of the lowest layers, which is faster; null: all"
    )
    intermediate_size: int | None = Field(
        None,
        ge=1,
        description="keep each layer's strongest units between its two products; null: all",
    )
    pooling: Literal["mean", "first"] = Field("mean", description="mean | first of a word's pieces")
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
        """Mix one tensor per layer; without gradients in place, which is twenty times as fast."""
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
    """Selects the last layer."""

    def forward(self, layers: tuple[Float[Tensor, "*rows dim"], ...]) -> Float[Tensor, "*rows dim"]:
        """Return the last layer."""
        return layers[-1].float()


class Transformer(nn.Module):
    """Encodes windows, takes each piece from its best window, pools pieces to words."""

    def __init__(
        self, encoder: Encoder, layers: nn.Module, *, first: bool, casing_embedding: bool = False
    ) -> None:
        """``layers`` combines all layers; ``first`` takes a word's first piece instead of the mean.

        ``casing_embedding`` adds a learnt vector, initially 0, to each piece for its word's casing
        class (``casing.shape``), so that all layers see the casing of neighbouring words, too.
        Without gradients, a ``runtime`` can replace ``encoder`` and ``layers``.
        """
        super().__init__()
        self.encoder = encoder
        self.layers = layers
        self.first = first
        self.dim = int(encoder.config.hidden_size)
        self.runtime: Callable[[Mapping[str, Tensor]], Tensor] | None = None
        self._equal_lengths: bool | None = False if isinstance(encoder, _bert.Bert) else None
        self.casing_embedding: nn.Embedding | None = None
        if casing_embedding:
            self.casing_embedding = nn.Embedding(
                casing.SHAPES + 1, self.piece_embeddings.shape[1], padding_idx=0
            )
            nn.init.zeros_(self.casing_embedding.weight)

    def _reads_groups_at_once(self) -> bool:
        is_learning = torch.is_grad_enabled() and self.runtime is None
        return is_learning and isinstance(self.encoder, _bert.Bert)

    @property
    def piece_embeddings(self) -> Float[Tensor, "vocabulary width"]:
        """The embeddings of pieces, before any layer."""
        table = self.encoder.get_input_embeddings()
        assert isinstance(table, nn.Embedding), "an encoder of text has a table of its pieces"
        return table.weight

    def forward(
        self, batch: Batch, tokens: Float[Tensor, "task width"] | None = None
    ) -> Float[Tensor, "word dim"]:
        """Return one vector per word; windows of similar length are encoded together.

        ``tokens`` are the input vectors of task tokens.
        """
        width = batch.input_ids.shape[1]
        offsets = torch.zeros(len(batch.input_ids), dtype=torch.long, device=batch.input_ids.device)
        lengths = batch.attention_mask.sum(1)
        groups = list(group_by_length(lengths, self._min_filled(lengths.device)))
        num_pieces = 0
        for windows, longest in groups:
            steps = torch.arange(len(windows), device=offsets.device) * longest
            offsets[windows] = num_pieces + steps
            num_pieces += len(windows) * longest
        indices = offsets[batch.piece_index // width] + batch.piece_index % width
        change = self._input_change(batch, tokens)
        return self._pool(self._encode(batch, change, groups), indices, batch)

    def _encode(
        self, batch: Batch, change: "_InputChange | None", groups: Sequence[WindowGroup]
    ) -> Float[Tensor, "row dim"]:
        """Return a vector per position of the windows, group after group."""
        if self._reads_groups_at_once():
            masks = [group.mask(batch) for group in groups]
            positions = torch.cat([group.positions(batch).flatten() for group in groups])
            inputs = self._inputs_at(batch, change, positions)
            mixed: Tensor = self.layers(self.encoder(attention_mask=masks, **inputs).hidden_states)
            return mixed
        parts = []
        for group in groups:
            checkpoint()
            parts.append(self.mix_layers(self._inputs(batch, change, group)).flatten(0, 1))
        return torch.cat(parts) if len(parts) > 1 else parts[0]

    def states(self, batch: Batch) -> tuple[Float[Tensor, "window seq dim"], ...]:
        """Return the states of all layers, the lowest first.

        Casing vectors are left out, because they would reveal masked words.
        """
        return self.layer_states(self._inputs(batch, None, all_windows(batch)))

    def attentions(self, batch: Batch) -> tuple[Float[Tensor, "window head seq seq"], ...]:
        """Return the attention weights of each layer, the lowest first, as the model reads texts.

        Weights from and to padding mean nothing. Raises ``ModelError`` for an encoder without maps.
        """
        change = self._input_change(batch, None)
        inputs = self._inputs(batch, change, all_windows(batch))
        return _encoder_check.attention_maps(self.encoder, inputs)

    def mix_layers(self, inputs: Mapping[str, Tensor]) -> Float[Tensor, "some longest dim"]:
        """Return the combined layers for the encoder's inputs."""
        if self.runtime is not None:
            return self.runtime(inputs)
        mixed: Tensor = self.layers(self.layer_states(inputs))
        return mixed

    def _min_filled(self, device: torch.device) -> float:
        """Return how full windows are at least that are read together.

        Padding changes the vectors of ConvBERT and MobileBERT. One more group costs less if all are
        read at once; on a GPU it costs more than padding does.
        """
        if self._equal_lengths is None:
            self._equal_lengths = _encoder_check.depends_on_padding(self.encoder)
        reads_no_mask = self.runtime is not None and isinstance(self.encoder, _bert.Bert)
        if self._equal_lengths or reads_no_mask:
            return 1.0
        if device.type == "cuda":
            return 0.5
        return 0.9 if self._reads_groups_at_once() else 0.8

    def layer_states(
        self, inputs: Mapping[str, Tensor]
    ) -> tuple[Float[Tensor, "some longest dim"], ...]:
        """Return the states of all layers for the encoder's inputs."""
        states: tuple[Tensor, ...] = self.encoder(output_hidden_states=True, **inputs).hidden_states
        return states

    def _inputs(
        self, batch: Batch, change: "_InputChange | None", group: WindowGroup
    ) -> dict[str, Tensor]:
        """Return the encoder's inputs for a group of windows."""
        inputs = self._inputs_at(batch, change, group.positions(batch))
        return {"attention_mask": group.mask(batch), **inputs}

    def _inputs_at(
        self, batch: Batch, change: "_InputChange | None", positions: Int[Tensor, "*rows"]
    ) -> dict[str, Tensor]:
        """Return what the encoder reads at some positions of the windows."""
        inputs: dict[str, Tensor] = {}
        types, kinds = batch.token_type_ids, getattr(self.encoder.config, "type_vocab_size", 0)
        if types is not None and kinds > 1:
            inputs["token_type_ids"] = types.flatten()[positions]
        ids = batch.input_ids.flatten()[positions]
        if change is None:
            return inputs | {"input_ids": ids}
        vectors = self.encoder.get_input_embeddings()(ids)
        return inputs | {"inputs_embeds": change(vectors, positions)}

    def _input_change(
        self, batch: Batch, tokens: Float[Tensor, "task width"] | None
    ) -> "_InputChange | None":
        """Return the change of piece embeddings before the first layer, None for none."""
        if self.casing_embedding is None and batch.task_tokens is None:
            return None
        shapes = None if self.casing_embedding is None else _shapes(batch)
        numbers = None
        if batch.task_tokens is not None:
            assert tokens is not None, "expected vectors of task tokens"
            no_task = batch.task_tokens.new_full((1,), -1)
            numbers = torch.cat([no_task, batch.task_tokens])[batch.position_to_word + 1]
        return _InputChange(self.casing_embedding, shapes, tokens, numbers)

    def extra_files(self) -> dict[str, str]:
        """Return the encoder's config."""
        return {"config.json": _encoder_check.dumps(self.encoder.config)}

    def _pool(
        self, vectors: Float[Tensor, "row dim"], indices: Int[Tensor, " piece"], batch: Batch
    ) -> Float[Tensor, "word dim"]:
        """Pool the piece vectors at ``indices``, which are ordered by word; each word has some."""
        counts = torch.bincount(batch.piece_to_word, minlength=len(batch.words))
        starts = counts.cumsum(0) - counts
        if self.first:
            return gather_rows(vectors, indices[starts])
        return F.embedding_bag(indices, vectors, starts, mode="mean")


@dataclass(frozen=True, slots=True)
class _InputChange:
    """Adds casing vectors to piece embeddings, and inserts those of task tokens."""

    casing_embedding: nn.Embedding | None
    shapes: Int[Tensor, "window seq"] | None
    tokens: Float[Tensor, "task width"] | None
    numbers: Int[Tensor, "window seq"] | None

    def __call__(
        self, pieces: Float[Tensor, "*rows width"], positions: Int[Tensor, "*rows"]
    ) -> Float[Tensor, "*rows width"]:
        """Return the changed embeddings of the pieces at some positions of the windows."""
        if self.tokens is not None and self.numbers is not None:
            numbers = self.numbers.flatten()[positions]
            vectors = self.tokens[numbers.clamp(min=0)].to(pieces.dtype)
            pieces = torch.where(numbers[..., None] < 0, pieces, vectors)
        if self.casing_embedding is not None and self.shapes is not None:
            pieces = pieces + self.casing_embedding(self.shapes.flatten()[positions])
        return pieces


def _shapes(batch: Batch) -> Int[Tensor, "window seq"]:
    """Return the casing class, from 1, of the word at each position; 0 for special pieces."""
    shapes = [0, *(casing.shape(word) + 1 for word in batch.words)]
    return torch.tensor(shapes, device=batch.input_ids.device)[batch.position_to_word + 1]


def build(options: Options, encoder: Encoder) -> Transformer:
    """Return the embedder around an encoder."""
    num_layers = encoder.config.num_hidden_layers + 1
    layers = ScalarMix(num_layers) if options.layers == "scalar-mix" else LastLayer()
    if options.freeze_embeddings:
        encoder.get_input_embeddings().requires_grad_(False)
    first = options.pooling == "first"
    return Transformer(encoder, layers, first=first, casing_embedding=options.casing_embeddings)


def source(name: str, recipe_dir: Path) -> str:
    """Return the folder of an encoder (one of its ``places``, or of a package), or its hub id.

    Raises ``ModelError`` if the package's files differ from the published ones.
    """
    if name != _minilm.NAME:
        return next((str(path) for path in places(name, recipe_dir) if path.is_dir()), name)
    return _minilm.locate()


def load_pretrained(folder: str, options: Options) -> Encoder:
    """Load an encoder from a folder or the hub, in fp32 and training mode.

    It is built from the config that a saved model has, so that a loaded model is the same. Raises
    ``ModelError`` for a config that cannot be saved, and for missing weights.
    """
    from spanloom.embedders import _hub

    config = _load_config(folder, options)
    saved = json.loads(_encoder_check.dumps(config))
    is_bert = _bert.supports(config.to_dict())
    config = config if is_bert else _hub.parse_config(saved)
    config = _hub.set_dropout(config, options.dropout, options.attention_dropout)
    loaded, missing = _hub.load_pretrained(folder, config)
    encoder: Encoder = (
        _bert.Bert(_bert.parse_config(loaded.config.to_dict())) if is_bert else _hub.prepare(loaded)
    )
    weights = loaded.state_dict()
    needed = encoder.state_dict().keys()  # not the pooler's
    lacking = [name for name in missing if name in needed]
    if lacking:
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        raise ModelError(f"{folder}: no weights of the encoder's {', '.join(lacking[:3])}{more}")
    if is_bert:
        encoder.load_state_dict({name: weights[name] for name in needed})
    return prune_intermediate(encoder, options.intermediate_size).train()


def build_untrained(config: Config, options: Options) -> Encoder:
    """Return an encoder with random weights, in training mode."""
    if isinstance(config, _bert.Config):
        config = replace(config, hidden_dropout_prob=options.dropout)
        config = replace(config, attention_probs_dropout_prob=options.attention_dropout)
        return _bert.Bert(config).train()
    from spanloom.embedders import _hub

    config = _hub.set_dropout(config, options.dropout, options.attention_dropout)
    return _hub.prepare(_hub.initialise(config))


def _build(options: Options, context: BuildContext, location: SourceLocation) -> Transformer:
    folder = source(options.transformer, context.recipe_dir)
    encoder_location = location.location_of("transformer")
    if options.init == "pretrained" and (Path(folder) / _RECIPE).is_file():
        hint = f"to go on from it, say init_from: {folder} instead"
        raise encoder_location.error(f"{folder} is a model of spanloom, no encoder; {hint}")
    try:
        if options.init == "pretrained":
            encoder = load_pretrained(folder, options)
        else:
            saved = json.loads(_encoder_check.dumps(_load_config(folder, options)))
            config = prune_config(_encoder_check.parse(saved), options.intermediate_size)
            encoder = build_untrained(config, options)
        _encoder_check.check_encoder(encoder, all_layers=options.layers == "scalar-mix")
    except ModelError as error:
        raise encoder_location.error(str(error)) from error
    return build(options, encoder)


def _restore(options: Options, files: Mapping[str, str]) -> Transformer:
    if "config.json" not in files:
        raise ModelError("no config.json, so the shape of the encoder is unknown")
    config = _encoder_check.parse(json.loads(files["config.json"]))
    _encoder_check.check_sizes(config, options.num_layers, options.intermediate_size)
    return build(options, build_untrained(config, options))


def _load_config(folder: str, options: Options) -> "PretrainedConfig":
    """Load the config of an encoder, with as many layers as are kept; raises ``ModelError``."""
    from spanloom.embedders import _hub

    config = _hub.load_config(folder)
    if options.num_layers is not None:
        available = config.num_hidden_layers
        if options.num_layers > available:
            expected = f"expected at most the {available} layers of {folder}"
            raise ModelError(f"num_layers: {expected}, got {options.num_layers}")
        config.num_hidden_layers = options.num_layers
    return config


KIND = EmbedderType(Options, _build, _restore, file_options=("transformer",))
