"""BERT (Devlin et al. 2019); its weights have the names of published files.

transformers has it, too, and tests compare the two. But importing that package takes longer than
starting Python, importing torch, loading ``spanloom-en`` and annotating a sentence.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.embedders._graph_attention import attend_in_graph
from spanloom.errors import ModelError
from spanloom.nn.dropout import Dropout

MODEL_TYPE = "bert"
_MASKED = torch.finfo(torch.bfloat16).min  # finite in fp32 and in bf16
_ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "relu": F.relu,
}
_IGNORED = frozenset(  # keys of published files that change nothing here
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


Masks = Sequence[Float[Tensor, "_ 1 1 _"]]  # by window and piece, one for each group of windows


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration of an encoder, with the keys of published files."""

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
    model_type: str = MODEL_TYPE

    def plain(self) -> dict[str, Any]:
        """Return the values for a file."""
        return asdict(self)


KEYS = frozenset(field.name for field in fields(Config)) | _IGNORED


def supports(values: Mapping[str, Any]) -> bool:
    """Whether this module implements a configuration."""
    is_encoder = values.get("hidden_act", "gelu") in _ACTIVATIONS and not values.get("is_decoder")
    return is_encoder and values.get("model_type") == MODEL_TYPE


def parse_config(values: Mapping[str, Any]) -> Config:
    """Return a configuration; raises ``ModelError`` for invalid values."""
    defaults = {field.name: field.default for field in fields(Config)}
    shape = {**defaults, **{name: values[name] for name in defaults if name in values}}
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
    """The encoder's output: vectors of pieces after the embeddings and after each layer.

    ``attentions`` are the attention weights of each layer, if they were asked for.
    """

    hidden_states: tuple[Float[Tensor, "window piece dim"], ...]
    attentions: tuple[Float[Tensor, "window head piece piece"], ...] | None = None


class Bert(nn.Module):
    """Encodes windows of pieces; returns the vectors of all layers, and has no pooler."""

    def __init__(self, config: Config) -> None:
        """Initialise random weights."""
        super().__init__()
        self.config = config
        self.embeddings = _Embeddings(config)
        self.encoder = _Layers(config)
        self.apply(self._initialise)

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the piece embeddings."""
        return self.embeddings.word_embeddings

    def forward(
        self,
        attention_mask: Int[Tensor, "window piece"] | Sequence[Int[Tensor, "_ _"]],
        input_ids: Int[Tensor, "*rows"] | None = None,
        token_type_ids: Int[Tensor, "*rows"] | None = None,
        inputs_embeds: Float[Tensor, "*rows dim"] | None = None,
        *,
        output_hidden_states: bool = True,
        output_attentions: bool = False,
    ) -> States:
        """Encode windows, given as ids or as vectors; positions with mask 0 are ignored.

        Several masks are of groups of windows, each with its own length; rows are then the
        positions of all windows, group after group. All but attention is computed for all rows
        together: in training, products of few rows, and a gradient of each weight for each group,
        would take most of the time.

        Without ``output_hidden_states`` only the last layer is returned. Attention weights, of one
        group, are before dropout; they are computed beside the usual path, which stays as fast as
        it is.
        """
        if inputs_embeds is None:
            assert input_ids is not None, "expected ids or vectors"
            inputs_embeds = self.embeddings.word_embeddings(input_ids)
        table = self.embeddings.position_embeddings.weight
        if isinstance(attention_mask, Tensor):
            positions, groups = table[: attention_mask.shape[1]], [attention_mask]
        else:
            groups = list(attention_mask)
            positions = torch.cat([table[: mask.shape[1]].repeat(len(mask), 1) for mask in groups])
        x = self.embeddings(inputs_embeds, positions, token_type_ids)
        masks = [_additive(mask, x.dtype) for mask in groups]
        states = [x]
        for layer in self.encoder.layer:
            states.append(layer(states[-1], masks))
        maps = None
        if output_attentions:
            layers = (cast(_Layer, layer) for layer in self.encoder.layer)
            maps = tuple(
                layer.attention.self.weights(inputs, *masks)
                for layer, inputs in zip(layers, states, strict=False)
            )
        return States(tuple(states if output_hidden_states else states[-1:]), maps)

    def _initialise(self, module: nn.Module) -> None:
        """Initialise the weights of one module as in BERT (section A.2 and published code)."""
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=self.config.initializer_range)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            nn.init.zeros_(module.weight[module.padding_idx])


def _additive(
    mask: Int[Tensor, "window piece"], dtype: torch.dtype
) -> Float[Tensor, "window 1 1 piece"]:
    """Return what is added to attention scores: 0, or very little where the mask is 0."""
    return (1 - mask[:, None, None, :].to(dtype)) * _MASKED


class _Embeddings(nn.Module):
    """Sum of the embeddings of pieces, positions and token types."""

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
        pieces: Float[Tensor, "*rows dim"],
        positions: Float[Tensor, "piece_or_row dim"],
        segments: Int[Tensor, "*rows"] | None,
    ) -> Float[Tensor, "*rows dim"]:
        embed_type = self.token_type_embeddings
        types = embed_type.weight[0] if segments is None else embed_type(segments)
        summed: Tensor = self.dropout(self.LayerNorm(pieces + types + positions))
        return summed


class _Layers(nn.Module):
    """All layers; its name is part of the weights' names."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layer = nn.ModuleList(_Layer(config) for _ in range(config.num_hidden_layers))


class _Layer(nn.Module):
    """Attention and feed-forward layers, each with a residual connection and layer norm."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = _Attention(config)
        self.intermediate = _Intermediate(config)
        self.output = _Output(config.intermediate_size, config)

    def forward(
        self,
        x: Float[Tensor, "*rows dim"],
        masks: Masks,
    ) -> Float[Tensor, "*rows dim"]:
        x = self.attention(x, masks)
        out: Tensor = self.output(self.intermediate(x), x)
        return out


class _Attention(nn.Module):
    """Self-attention within each window."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self = _SelfAttention(config)
        self.output = _Output(config.hidden_size, config)

    def forward(
        self,
        x: Float[Tensor, "*rows dim"],
        masks: Masks,
    ) -> Float[Tensor, "*rows dim"]:
        out: Tensor = self.output(self.self(x, masks), x)
        return out


class _SelfAttention(nn.Module):
    """Scaled dot-product attention (Vaswani et al. 2017, equation 1), with dropout."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.heads = config.num_attention_heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.dropout = Dropout(config.attention_probs_dropout_prob)

    def forward(
        self,
        x: Float[Tensor, "*rows dim"],
        masks: Masks,
    ) -> Float[Tensor, "*rows dim"]:
        query, key, value = self.query(x), self.key(x), self.value(x)
        if x.ndim == 3:
            return self._attend(query, key, value, masks[0])
        sizes = [mask.shape[0] * mask.shape[-1] for mask in masks]
        attended = []
        groups = zip(masks, query.split(sizes), key.split(sizes), value.split(sizes), strict=True)
        for mask, *rows in groups:
            q, k, v = (y.unflatten(0, (len(mask), -1)) for y in rows)
            attended.append(self._attend(q, k, v, mask).flatten(0, 1))
        return torch.cat(attended)

    def weights(
        self,
        x: Float[Tensor, "window piece dim"],
        mask: Float[Tensor, "window 1 1 piece"],
    ) -> Float[Tensor, "window head piece piece"]:
        """Return how much each piece attends to each other one, per head; rows sum to 1."""
        query, key = self._split_heads(self.query(x)), self._split_heads(self.key(x))
        weights: Tensor = _scores(query, key, mask).softmax(-1)
        return weights

    def _split_heads(
        self, x: Float[Tensor, "window piece dim"]
    ) -> Float[Tensor, "window head piece head_dim"]:
        per_head: Tensor = x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return per_head

    def _attend(
        self,
        query: Float[Tensor, "window piece dim"],
        key: Float[Tensor, "window piece dim"],
        value: Float[Tensor, "window piece dim"],
        mask: Float[Tensor, "window 1 1 piece"],
    ) -> Float[Tensor, "window piece dim"]:
        if torch.onnx.is_in_onnx_export():  # a graph for windows of one length reads no mask
            return attend_in_graph(query, key, value, self.heads)
        query, key, value = (self._split_heads(rows) for rows in (query, key, value))
        return self._attend_per_head(query, key, value, mask).transpose(1, 2).flatten(2)

    def _attend_per_head(
        self,
        query: Float[Tensor, "window head piece head_dim"],
        key: Float[Tensor, "window head piece head_dim"],
        value: Float[Tensor, "window head piece head_dim"],
        mask: Float[Tensor, "window 1 1 piece"],
    ) -> Float[Tensor, "window head piece head_dim"]:
        """Return attention outputs; on a CPU the fused op is faster for fp32 alone, not learnt."""
        is_learning = torch.is_grad_enabled()
        if query.is_cuda or (query.dtype == torch.float32 and not is_learning):
            dropped = self.dropout.p if self.training else 0.0
            mask = mask.to(query.dtype)
            return F.scaled_dot_product_attention(query, key, value, mask, dropped)
        if not is_learning:
            mask = mask.to(query.dtype)
        output: Tensor = self.dropout(_scores(query, key, mask).softmax(-1)) @ value
        return output


def _scores(
    query: Float[Tensor, "window head piece head_dim"],
    key: Float[Tensor, "window head piece head_dim"],
    mask: Float[Tensor, "window 1 1 piece"],
) -> Float[Tensor, "window head piece piece"]:
    """Return scaled scores of all pairs of pieces, before the softmax."""
    scores: Tensor = (query * query.shape[-1] ** -0.5) @ key.transpose(2, 3) + mask
    return scores


class _Intermediate(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.activation = _ACTIVATIONS[config.hidden_act]

    def forward(self, x: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows inner"]:
        return self.activation(self.dense(x))


class _Output(nn.Module):
    def __init__(self, input_size: int, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(input_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(
        self, x: Float[Tensor, "*rows input_size"], residual: Float[Tensor, "*rows dim"]
    ) -> Float[Tensor, "*rows dim"]:
        out: Tensor = self.LayerNorm(self.dropout(self.dense(x)) + residual)
        return out


def _check(name: str, value: object, number_type: type, least: int) -> None:
    """Raise ``ModelError`` unless the value is a number of this type and not too small."""
    is_number = type(value) is int or (number_type is float and type(value) is float)
    if not is_number or not value >= least:  # type: ignore[operator]  # a number by then
        expected = "a whole number" if number_type is int else "a number"
        raise ModelError(f"{name}: expected {expected} from {least}, got {value!r:.60}")
