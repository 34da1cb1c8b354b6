"""The weights of BERT's masked language head under the names of published files."""

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor

from spanloom.errors import ModelError
from spanloom.nn.masked_language import MaskedLMHead

_WEIGHTS = "model.safetensors"
_NAMES = {
    "transform.dense.weight": "cls.predictions.transform.dense.weight",
    "transform.dense.bias": "cls.predictions.transform.dense.bias",
    "transform.norm.weight": "cls.predictions.transform.LayerNorm.weight",
    "transform.norm.bias": "cls.predictions.transform.LayerNorm.bias",
    "decoder.bias": "cls.predictions.bias",
}


def published(head: MaskedLMHead) -> dict[str, Tensor]:
    """Return the weights of a head; its output layer is tied to the encoder's piece embeddings."""
    weights = head.state_dict()
    return {name: weights[own] for own, name in _NAMES.items()}


def load_published(head: MaskedLMHead, folder: Path) -> bool:
    """Load the head that lies beside an encoder's weights; return False where there is none.

    Raises ``ModelError`` for weights of other shapes and for what cannot be read.
    """
    path = folder / _WEIGHTS
    if not path.is_file():
        return False
    weights = _read(path)
    if weights.keys() < set(_NAMES.values()):
        return False
    try:
        head.load_state_dict({own: weights[name] for own, name in _NAMES.items()}, strict=False)
    except RuntimeError as error:
        raise ModelError(f"{path}: its masked language head has another shape: {error}") from error
    return True


def _read(path: Path) -> Mapping[str, Tensor]:
    try:
        with safe_open(path, "pt") as file:
            return {name: file.get_tensor(name) for name in _NAMES.values() if name in file.keys()}
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
