"""The weights of BERT's masked language head under the names of published files.

Other architectures have the same head, as RoFormer, a BERT with rotary positions.
"""

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor

from spanloom.embedders import _bert
from spanloom.embedders.transformer import Transformer
from spanloom.errors import ModelError
from spanloom.nn.masked_language import LAYER_NORM_EPSILON, MaskedLMHead

RECORD = "pretraining.json"  # beside the weights: how they were learnt
_WEIGHTS = "model.safetensors"
_NAMES = {
    "transform.dense.weight": "cls.predictions.transform.dense.weight",
    "transform.dense.bias": "cls.predictions.transform.dense.bias",
    "transform.norm.weight": "cls.predictions.transform.LayerNorm.weight",
    "transform.norm.bias": "cls.predictions.transform.LayerNorm.bias",
    "decoder.bias": "cls.predictions.bias",
}


def _renamed(name: str) -> str:
    """Return the present name of a weight of BERT's first files."""
    return name.replace(".gamma", ".weight").replace(".beta", ".bias")


def model_class(trunk: Transformer) -> tuple[str, str] | None:
    """Return what transformers calls an encoder with BERT's head: its class, its weights' prefix.

    None for an encoder whose own masked language head is another one: of another architecture, or
    with the activation or the layer normalisation of another configuration.
    """
    config = trunk.encoder.config
    if getattr(config, "hidden_act", None) != "gelu":
        return None
    if getattr(config, "layer_norm_eps", None) != LAYER_NORM_EPSILON:
        return None
    if isinstance(trunk.encoder, _bert.Bert):
        return "BertForMaskedLM", "bert."
    from spanloom.embedders import _hub

    masked_lm = _hub.masked_lm_class(trunk.encoder.config, frozenset(_NAMES.values()))
    return (masked_lm.__name__, f"{masked_lm.base_model_prefix}.") if masked_lm else None


def published(head: MaskedLMHead) -> dict[str, Tensor]:
    """Return the weights of a head; its output layer is tied to the encoder's piece embeddings."""
    weights = head.state_dict()
    return {name: weights[own] for own, name in _NAMES.items()}


def load_published(head: MaskedLMHead, encoder: str) -> bool:
    """Load BERT's head that lies beside an encoder's weights; return False where there is none.

    ``encoder`` is a folder, or an id of the hub whose files were fetched before. Raises
    ``ModelError`` for weights of other shapes and for what cannot be read.
    """
    path = _locate(encoder)
    if path is None:
        return False
    weights = _read(path)
    if weights.keys() < set(_NAMES.values()):
        return False
    try:
        head.load_state_dict({own: weights[name] for own, name in _NAMES.items()}, strict=False)
    except RuntimeError as error:
        raise ModelError(f"{path}: its masked language head has another shape: {error}") from error
    return True


def _locate(encoder: str) -> Path | None:
    """Return the file of an encoder's weights, None if it has none of that name."""
    if Path(encoder).is_dir():
        path = Path(encoder) / _WEIGHTS
        return path if path.is_file() else None
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(encoder, _WEIGHTS)
    return Path(cached) if isinstance(cached, str) else None


def _read(path: Path) -> Mapping[str, Tensor]:
    try:
        with safe_open(path, "pt") as file:
            stored = {_renamed(name): name for name in file.keys()}
            known = [name for name in _NAMES.values() if name in stored]
            return {name: file.get_tensor(stored[name]) for name in known}
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
