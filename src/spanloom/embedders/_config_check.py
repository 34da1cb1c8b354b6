"""What an encoder's ``config.json`` may say: the shape of a text encoder, and nothing else.

transformers acts on many keys of that file: it fetches attention kernels, imports quantizers, runs
code of the model's own. So the kind of encoder, the keys and the sizes are checked before it makes
anything of the file. Which kinds and keys there are, it says itself (``_hub.keys``).
"""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from spanloom.embedders import _bert
from spanloom.errors import ModelError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

Shape: TypeAlias = "_bert.Config | PretrainedConfig"
Encoder: TypeAlias = "_bert.Bert | PreTrainedModel"

_FIXED: Mapping[str, tuple[object, ...]] = {  # what else would change how a text is read
    "add_cross_attention": (False,),
    "dtype": (None, "float32"),
    "is_decoder": (False,),
    "is_encoder_decoder": (False,),
    "output_attentions": (False,),
    "return_dict": (True,),
    "sinusoidal_pos_embds": (False,),  # made number by number, whatever their size
}
_INERT = frozenset(  # old files have them; never read
    {"gradient_checkpointing", "position_embedding_type"}
)
_REPEATED = re.compile("layer|group|block_sizes|num_blocks|networks")  # how many modules are made
_AT_ONCE = re.compile("window|chunk|block_size$")  # pieces that are read together, filled up if few
_WIDEST = 1 << 16
_DEEPEST, _LONGEST = 4, 10_000  # of values that are lists or mappings, and of texts


def dumps(config: Shape) -> str:
    """Write what ``check`` lets through; raises ``ModelError`` where nothing is."""
    data = config.plain() if isinstance(config, _bert.Config) else config.to_diff_dict()
    known = _keys(str(data.get("model_type")), "transformer") - {"architectures", "_name_or_path"}
    kept = {key: data[key] for key in sorted(data) if key in known}
    _check_fixed(kept, "transformer")
    return json.dumps(kept, indent=1)


def read(path: Path) -> dict[str, Any]:
    """Read the file; raises ``ModelError`` where it is no JSON mapping."""
    try:
        config: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: expected JSON: {error}") from error
    if not isinstance(config, dict):
        raise ModelError(f"{path}: expected a mapping, got {type(config).__name__}")
    return config


def check(path: Path, weights: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse a configuration that could run code, fetch files, or make more than the weights fill.

    ``weights`` are the shapes in the weights file. Raises ``ModelError``.
    """
    config = read(path)
    known = _keys(config.get("model_type"), path)
    for key in ("auto_map", "quantization_config"):
        if key in config:
            raise ModelError(f"{path}: {key!r} names code to import; that is never run")
    _check_fixed(config, path)
    largest = sum(math.prod(shape) for shape in weights.values())
    for key, value in config.items():
        if key not in known:
            raise ModelError(f"{path}: unknown key {key[:80]!r} for {config['model_type']}")
        _bounded(f"{path}: {key}", value, _most(key, len(weights), largest))


def positions(encoder: Encoder) -> int | None:
    """Return how many pieces, special ones counted, an encoder can read at once; None: any."""
    most = getattr(encoder.config, "max_position_embeddings", None)
    if type(most) is not int or most < 0:
        return None
    for name, part in encoder.named_modules():
        if name.endswith("position_embeddings"):  # RoBERTa's start behind that of padding
            padding = getattr(part, "padding_idx", None)
            return most if padding is None else most - padding - 1
    return most


def parsed(said: Mapping[str, Any]) -> Shape:
    """Make the shape that ``dumps`` wrote and ``check`` let through."""
    if _bert.fits(said):
        return _bert.config(said)
    from spanloom.embedders import _hub

    return _hub.parsed(said)


def _keys(kind: object, where: object) -> frozenset[str]:
    """The keys that are known for a kind of encoder."""
    if kind == _bert.KIND:
        return _INERT | _bert.KNOWN
    from spanloom.embedders import _hub

    known = _hub.keys(kind) if isinstance(kind, str) else None
    if known is None:
        raise ModelError(f"{where}: model_type {kind!r:.60} is no encoder of text in transformers")
    return _INERT | known


def _check_fixed(config: Mapping[str, Any], where: object) -> None:
    for key, allowed in _FIXED.items():
        if key in config and config[key] not in allowed:
            said = " or ".join(map(repr, allowed))
            raise ModelError(f"{where}: {key}: expected {said}, got {config[key]!r:.60}")


def _most(key: str, modules: int, largest: int) -> int:
    """The largest number that a key may have, for weights of so many tensors and numbers."""
    if _AT_ONCE.search(key):
        return _WIDEST
    return modules if _REPEATED.search(key) else largest


def _bounded(where: str, value: object, largest: int, depth: int = 0) -> None:
    """Raise ``ModelError`` for numbers, texts, lists or mappings out of all proportion."""
    if isinstance(value, dict | list) and depth < _DEEPEST and len(value) <= _LONGEST:
        for each in value.values() if isinstance(value, dict) else value:
            _bounded(where, each, largest, depth + 1)
    elif isinstance(value, int) and abs(value) > largest:
        raise ModelError(f"{where}: expected at most {largest} (all weights), got {value!r:.40}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ModelError(f"{where}: expected a finite number, got {value}")
    elif isinstance(value, dict | list) or (isinstance(value, str) and len(value) > _LONGEST):
        raise ModelError(f"{where}: too long or too deep")
