"""BERT (Devlin et al. 2019), with the names of weights that files of it have.

transformers has it, too, and tests compare the two; but to import that package takes longer than to
start Python, import torch, load ``spanloom-en`` and annotate a sentence.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.errors import ModelError
from spanloom.nn.dropout import Dropout

KIND = "bert"
_HIDES = torch.finfo(torch.bfloat16).min  # a number in fp32 and in bf16
_ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "relu": F.relu,
}
_UNREAD = frozenset(  # what files of this kind may say besides, which changes nothing here
    (
        *("_name_or_path", "add_cross_attention", "architectures", "bos_token_id"),
        *("chunk_size_feed_forward", "classifier_dropout", "dtype", "eos_token_id", "id2label"),
        *("is_decoder", "is_encoder_decoder", "label2id", "output_attentions"),
        *("output_hidden_states", "problem_type", "return_dict", "tie_word_embeddings"),
        *("transformers_version", "use_cache"),
    )
)
_SIZES = (
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"),
    *("intermediate_size", "max_position_embeddings", "type_vocab_size"),
)
_RATES = (
    *("hidden_dropout_prob", "attention_probs_dropout_prob"),
    *("initializer_range", "layer_norm_eps"),
)


@dataclass(frozen=True, slots=True)
class Config:
    """The shape of an encoder, in the names that files of it have."""

    vocab_size: int = 30_522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3_072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int | None = 0
    model_type: str = KIND

    def plain(self) -> dict[str, Any]:
        """Return what a file of it says."""
        return asdict(self)


KNOWN = frozenset(field.name for field in fields(Config)) | _UNREAD


def fits(said: Mapping[str, Any]) -> bool:
    """Say whether this module computes what a configuration says."""
    reads = said.get("hidden_act", "gelu") in _ACTIVATIONS and not said.get("is_decoder")
    return reads and said.get("model_type") == KIND


def config(said: Mapping[str, Any]) -> Config:
    """Make the shape that a configuration says; raises ``ModelError`` for one that is none."""
    known = {field.name: field.default for field in fields(Config)}
    shape = {**known, **{name: said[name] for name in known if name in said}}
    for name in _SIZES:
        _check(name, shape[name], int, 1)
    for name in _RATES:
        _check(name, shape[name], float, 0)
    if shape["pad_token_id"] is not None:
        _check("pad_token_id", shape["pad_token_id"], int, 0)
    if shape["hidden_size"] % shape["num_attention_heads"]:
        heads = f"a multiple of num_attention_heads ({shape['num_attention_heads']})"
        raise ModelError(f"hidden_size: expected {heads}, got {shape['hidden_size']}")
    return Config(**shape)


class States(NamedTuple):
    """What the encoder returns: the vectors of pieces above each layer, the lowest first."""

    hidden_states: tuple[Float[Tensor, "window piece dim"], ...]


class Bert(nn.Module):
    """Pieces in, the vectors of all layers out; without the pooler, which nobody reads."""

    def __init__(self, config: Config) -> None:
        """Weights are random."""
        super().__init__()
        self.config = config
        self.embeddings = _Embeddings(config)
        self.encoder = _Layers(config)
        self.apply(self._start)

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the table of pieces."""
        return self.embeddings.word_embeddings

    def forward(
        self,
        attention_mask: Int[Tensor, "window piece"],
        input_ids: Int[Tensor, "window piece"] | None = None,
        token_type_ids: Int[Tensor, "window piece"] | None = None,
        inputs_embeds: Float[Tensor, "window piece dim"] | None = None,
        *,
        output_hidden_states: bool = True,
    ) -> States:
        """Encode windows, given as pieces or as their vectors; 0 in the mask hides a place.

        Without ``output_hidden_states`` only the topmost are returned.
        """
        if inputs_embeds is None:
            assert input_ids is not None, "pieces or their vectors are given"
            inputs_embeds = self.embeddings.word_embeddings(input_ids)
        x = self.embeddings(inputs_embeds, token_type_ids)
        hidden = (1 - attention_mask[:, None, None, :].to(x.dtype)) * _HIDES
        states = [x]
        for layer in self.encoder.layer:
            x = layer(x, hidden)
            states.append(x)
        return States(tuple(states if output_hidden_states else states[-1:]))

    def _start(self, module: nn.Module) -> None:
        """Draw the weights of one part as BERT does (its section A.2 and published code)."""
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=self.config.initializer_range)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            nn.init.zeros_(module.weight[module.padding_idx])


class _Embeddings(nn.Module):
    """Vectors of pieces, of their places and of their segments, summed."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, width, config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, width)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, width)
        self.LayerNorm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(
        self,
        pieces: Float[Tensor, "window piece dim"],
        segments: Int[Tensor, "window piece"] | None,
    ) -> Float[Tensor, "window piece dim"]:
        places = self.position_embeddings.weight[: pieces.shape[1]]
        table = self.token_type_embeddings
        kinds = table.weight[0] if segments is None else table(segments)
        summed: Tensor = self.dropout(self.LayerNorm(pieces + kinds + places))
        return summed


class _Layers(nn.Module):
    """All layers; a module of its own because its name is part of the weights' names."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layer = nn.ModuleList(_Layer(config) for _ in range(config.num_hidden_layers))


class _Layer(nn.Module):
    """Attention, then two linear layers, each added to what they read and normed."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = _Attention(config)
        self.intermediate = _Widened(config)
        self.output = _Added(config.intermediate_size, config)

    def forward(
        self,
        x: Float[Tensor, "window piece dim"],
        hidden: Float[Tensor, "window 1 1 piece"],
    ) -> Float[Tensor, "window piece dim"]:
        x = self.attention(x, hidden)
        out: Tensor = self.output(self.intermediate(x), x)
        return out


class _Attention(nn.Module):
    """Each piece reads all others of its window."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self = _Heads(config)
        self.output = _Added(config.hidden_size, config)

    def forward(
        self,
        x: Float[Tensor, "window piece dim"],
        hidden: Float[Tensor, "window 1 1 piece"],
    ) -> Float[Tensor, "window piece dim"]:
        out: Tensor = self.output(self.self(x, hidden), x)
        return out


class _Heads(nn.Module):
    """Scaled dot products (Vaswani et al. 2017, equation 1), the weights dropped in training."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.heads = config.num_attention_heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.dropout = Dropout(config.attention_probs_dropout_prob)

    def forward(
        self,
        x: Float[Tensor, "window piece dim"],
        hidden: Float[Tensor, "window 1 1 piece"],
    ) -> Float[Tensor, "window piece dim"]:
        query, key, value = (
            made(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for made in (self.query, self.key, self.value)
        )
        return self._read(query, key, value, hidden).transpose(1, 2).flatten(2)

    def _read(
        self,
        query: Float[Tensor, "window head piece part"],
        key: Float[Tensor, "window head piece part"],
        value: Float[Tensor, "window head piece part"],
        hidden: Float[Tensor, "window 1 1 piece"],
    ) -> Float[Tensor, "window head piece part"]:
        """What each piece reads; in use on a CPU, bf16 sums are quicker than torch's fused ones."""
        if not torch.is_grad_enabled():
            hidden = hidden.to(query.dtype)
            if query.is_cuda or query.dtype == torch.float32:
                return F.scaled_dot_product_attention(query, key, value, hidden)
        scores = (query * query.shape[-1] ** -0.5) @ key.transpose(2, 3) + hidden
        read: Tensor = self.dropout(scores.softmax(-1)) @ value
        return read


class _Widened(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.activation = _ACTIVATIONS[config.hidden_act]

    def forward(self, x: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows wide"]:
        return self.activation(self.dense(x))


class _Added(nn.Module):
    def __init__(self, read: int, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(read, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(
        self, x: Float[Tensor, "*rows read"], before: Float[Tensor, "*rows dim"]
    ) -> Float[Tensor, "*rows dim"]:
        out: Tensor = self.LayerNorm(self.dropout(self.dense(x)) + before)
        return out


def _check(name: str, value: object, kind: type, least: int) -> None:
    """Raise ``ModelError`` for what is no number of this kind, or too small."""
    good = type(value) is int or (kind is float and type(value) is float)
    if not good or not value >= least:  # type: ignore[operator]  # a number by then
        wanted = "a whole number" if kind is int else "a number"
        raise ModelError(f"{name}: expected {wanted} from {least}, got {value!r:.60}")
