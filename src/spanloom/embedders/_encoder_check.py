"""Check foreign encoders: their ``config.json``, and that they encode text at all.

transformers acts on many keys of a config: it fetches attention kernels, imports quantizers, runs
code of the model's own. So the model type, the keys and the sizes are checked before it sees the
file. Which types and keys exist, transformers knows itself (``_hub.keys``).
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor, nn

from spanloom.embedders import _bert
from spanloom.errors import ModelError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

Config: TypeAlias = "_bert.Config | PretrainedConfig"
Encoder: TypeAlias = "_bert.Bert | PreTrainedModel"

_FIXED: Mapping[str, tuple[object, ...]] = {  # other values would change how a text is encoded
    "add_cross_attention": (False,),
    "dtype": (None, "float32"),
    "is_decoder": (False,),
    "is_encoder_decoder": (False,),
    "output_attentions": (False,),
    "return_dict": (True,),
    "sinusoidal_pos_embds": (False,),  # computed number by number, whatever their size
}
_INERT = frozenset(  # in old files; never read
    {"gradient_checkpointing", "position_embedding_type"}
)
_MODULE_COUNTS = re.compile("layer|group|block_sizes|num_blocks|networks")
_PIECE_COUNTS = re.compile("window|chunk|block_size$")  # pieces that are encoded together, padded
_MAX_PIECES = 1 << 16
_MAX_DEPTH, _MAX_LENGTH = 4, 10_000  # of lists and mappings, and of strings
_UNREADY = (  # raised by architectures that require more than pieces and a mask
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)
_TOLERANCE = 1e-3  # between a padded window and the same alone, relative to states of about 1


def dumps(config: Config) -> str:
    """Return the text of a config that ``check`` accepts; raises ``ModelError`` if none exists."""
    values = config.plain() if isinstance(config, _bert.Config) else config.to_diff_dict()
    keys = _keys(str(values.get("model_type")), "transformer") - {"architectures", "_name_or_path"}
    kept = {key: values[key] for key in sorted(values) if key in keys}
    _check_fixed(kept, "transformer")
    return json.dumps(kept, indent=1)


def read(path: Path) -> dict[str, Any]:
    """Read a config; raises ``ModelError`` if it is no JSON mapping."""
    try:
        config: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: expected JSON: {error}") from error
    if not isinstance(config, dict):
        raise ModelError(f"{path}: expected a mapping, got {type(config).__name__}")
    return config


def check(path: Path, weights: Mapping[str, tuple[int, ...]]) -> None:
    """Check that a config runs no code, fetches no files, and is no larger than the weights.

    ``weights`` are the shapes in the weights file. Raises ``ModelError``.
    """
    config = read(path)
    keys = _keys(config.get("model_type"), path)
    for key in ("auto_map", "quantization_config"):
        if key in config:
            raise ModelError(f"{path}: {key!r} names code to import; that is never run")
    _check_fixed(config, path)
    largest = sum(math.prod(shape) for shape in weights.values())
    for key, value in config.items():
        if key not in keys:
            raise ModelError(f"{path}: unknown key {key[:80]!r} for {config['model_type']}")
        _check_bounded(f"{path}: {key}", value, _max_value(key, len(weights), largest))


def positions(encoder: Encoder) -> int | None:
    """Return the maximum length of a window in pieces, special ones included; None for any."""
    length = getattr(encoder.config, "max_position_embeddings", None)
    if type(length) is not int or length < 0:
        return None
    for name, module in encoder.named_modules():
        if name.endswith("position_embeddings"):  # RoBERTa's start after that of padding
            padding = getattr(module, "padding_idx", None)
            return length if padding is None else length - padding - 1
    return length


def parse(values: Mapping[str, Any]) -> Config:
    """Return the config of values that ``dumps`` wrote and ``check`` accepted."""
    if _bert.supports(values):
        return _bert.parse_config(values)
    from spanloom.embedders import _hub

    return _hub.parse_config(values)


def check_sizes(config: Config, num_layers: int | None, intermediate_size: int | None) -> None:
    """Raise ``ModelError`` if a saved encoder has other sizes than those that are asked for."""
    for key, name, wanted in (
        ("num_layers", "num_hidden_layers", num_layers),
        ("intermediate_size", "intermediate_size", intermediate_size),
    ):
        got = getattr(config, name, None)
        if wanted not in (None, got):
            raise ModelError(f"{key}: expected {got}, as the saved encoder has, got {wanted}")


def _keys(model_type: object, source: object) -> frozenset[str]:
    """Return the valid keys of a model type."""
    if model_type == _bert.MODEL_TYPE:
        return _INERT | _bert.KEYS
    from spanloom.embedders import _hub

    keys = _hub.keys(model_type) if isinstance(model_type, str) else None
    if keys is None:
        raise ModelError(
            f"{source}: model_type {model_type!r:.60} is no encoder of text in transformers"
        )
    return _INERT | keys


def _check_fixed(config: Mapping[str, Any], source: object) -> None:
    for key, allowed in _FIXED.items():
        if key in config and config[key] not in allowed:
            expected = " or ".join(map(repr, allowed))
            raise ModelError(f"{source}: {key}: expected {expected}, got {config[key]!r:.60}")


def _max_value(key: str, num_tensors: int, num_weights: int) -> int:
    """Return the largest number that a key may have."""
    if _PIECE_COUNTS.search(key):
        return _MAX_PIECES
    return num_tensors if _MODULE_COUNTS.search(key) else num_weights


def _check_bounded(source: str, value: object, largest: int, depth: int = 0) -> None:
    """Raise ``ModelError`` for numbers, strings, lists or mappings that are too large."""
    if isinstance(value, dict | list) and depth < _MAX_DEPTH and len(value) <= _MAX_LENGTH:
        for item in value.values() if isinstance(value, dict) else value:
            _check_bounded(source, item, largest, depth + 1)
    elif isinstance(value, int) and abs(value) > largest:
        raise ModelError(f"{source}: expected at most {largest} (all weights), got {value!r:.40}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ModelError(f"{source}: expected a finite number, got {value}")
    elif isinstance(value, dict | list) or (isinstance(value, str) and len(value) > _MAX_LENGTH):
        raise ModelError(f"{source}: too long or too deep")


def check_encoder(encoder: Encoder, *, all_layers: bool) -> None:
    """Run a few windows through an encoder before anything is learnt; raises ``ModelError``.

    It must return one vector per piece, of all layers or of the last, which depends also on later
    pieces.
    """
    if not isinstance(encoder.get_input_embeddings(), nn.Embedding):  # I-BERT's is quantized
        raise ModelError(f"{_name(encoder)} has no plain table of its pieces")
    with _evaluation(encoder):
        ids = _example_ids(encoder, 5)
        states = _states(encoder, ids[None, :4], all_layers)
        changed = _states(encoder, ids[None, [0, 1, 2, 4]], all_layers)
    if states[-1][0, 0].equal(changed[-1][0, 0]):
        raise ModelError(f"{_name(encoder)} reads from left to right alone; expected an encoder")


def depends_on_padding(encoder: Encoder) -> bool:
    """Whether the last states of a window change with its padding."""
    with _evaluation(encoder):
        ids = _example_ids(encoder, 7)
        (unpadded,) = _states(encoder, ids[None, :4], all_layers=False)
        (padded,) = _states(encoder, torch.stack([ids, ids]), all_layers=False)
    atol = _TOLERANCE * max(1.0, float(unpadded.abs().max()))
    return not torch.allclose(unpadded[0], padded[1, :4], rtol=0, atol=atol)


def attention_maps(encoder: Encoder, inputs: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
    """Return the attention weights of each layer, (window, head, piece, piece).

    Raises ``ModelError`` for an encoder that has no weight per head and pair of pieces, or whose
    weights of a piece do not sum to 1, as those of SqueezeBERT, which are before the softmax.
    """
    length = inputs["attention_mask"].shape[1]
    output = encoder(output_hidden_states=True, output_attentions=True, **inputs)
    maps = tuple(getattr(output, "attentions", None) or ())
    shapes = {weights.shape[2:] if isinstance(weights, Tensor) else None for weights in maps}
    if shapes != {(length, length)} or not all(map(_is_distribution, maps)):
        raise ModelError(f"{_name(encoder)} gives no maps of its attention")
    return maps


def _is_distribution(weights: Tensor) -> bool:
    """Whether what the first piece of each window attends to sums to 1."""
    return bool(((weights[:, :, 0].float().sum(-1) - 1).abs() < _TOLERANCE).all())


@contextmanager
def _evaluation(encoder: Encoder) -> Iterator[None]:
    """Switch to evaluation; raises ``ModelError`` if the encoder requires other inputs."""
    was_training = encoder.training
    encoder.eval()
    try:
        with torch.inference_mode():
            yield
    except _UNREADY as error:
        reason = (str(error).strip() or repr(error)).splitlines()[0]
        raise ModelError(f"{_name(encoder)} cannot read pieces by themselves: {reason}") from error
    finally:
        encoder.train(was_training)


def _example_ids(encoder: Encoder, count: int) -> Tensor:
    """Return the first ids that are not padding."""
    padding = getattr(encoder.config, "pad_token_id", None)
    ids = [id_ for id_ in range(1, count + 2) if id_ != padding][:count]
    return torch.tensor(ids, device=next(encoder.parameters()).device)


def _states(encoder: Encoder, ids: Tensor, all_layers: bool) -> tuple[Tensor, ...]:
    """Return states of windows; the last of several has 4 pieces. Raises ``ModelError``."""
    mask = torch.ones_like(ids)
    if len(ids) > 1:
        mask[-1, 4:] = 0
    output = encoder(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
    states: tuple[Tensor, ...] = tuple(output) if all_layers else tuple(output[-1:])
    expected = (*ids.shape, int(encoder.config.hidden_size))
    layers = int(encoder.config.num_hidden_layers) + 1 if all_layers else 1
    shapes = {tuple(state.shape) for state in states}
    if len(states) != layers or shapes != {expected}:
        hint = "; layers: last may do" if all_layers else ""
        raise ModelError(
            f"{_name(encoder)}: expected {layers} layers of shape {expected}, got {len(states)} "
            f"of {sorted(shapes)}{hint}"
        )
    if not all(bool(state.isfinite().all()) for state in states):
        raise ModelError(
            f"{_name(encoder)}: expected numbers, got nan or inf: its weights are broken"
        )
    return states


def _name(encoder: Encoder) -> str:
    return f"an encoder of model_type {encoder.config.model_type}"
