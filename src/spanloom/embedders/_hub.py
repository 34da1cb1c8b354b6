"""What the transformers library is asked for.

To import it takes seconds, so this module is only imported where an encoder is not ours
(``_bert``), or comes from a folder in its form.
"""

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import (
    CONFIG_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_FOR_TEXT_ENCODING_MAPPING,
    MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING,
    MODEL_MAPPING,
    AutoConfig,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
)

from spanloom.errors import ModelError

# Keys that encoders ask their configuration for by getattr, with a default, so that no class of
# configurations has them; published files do. What is read for heads and for generation is left
# out. A test compares this with the source of the installed library.
READ_BY_GETATTR = frozenset(
    {
        "attention_head_size",  # DeBERTa-v2: of a head, where it is not hidden_size / heads
        "conv_act",  # DeBERTa-v2 xlarge: the convolution beside its first layer
        "conv_groups",
        "conv_kernel_size",
        "embedding_size",  # DeBERTa: of pieces, where it is not hidden_size
        "head_dim",  # rotary encoders (ModernBERT, NomicBERT, EuroBERT): of a head
        "layerdrop",  # FlauBERT: whole layers dropped in training
        "norm_rel_ebd",  # DeBERTa-v3: whether vectors of distances are normed
        "position_biased_input",  # DeBERTa: whether places are added to pieces
        "position_buckets",  # DeBERTa-v3: into how many buckets distances fall
        "pre_norm",  # FlauBERT: norms before instead of behind
        "share_att_key",  # DeBERTa-v3: distances are read by the matrices that read pieces
        "talking_head",  # DeBERTa
    }
)
_READ = {"input_ids", "attention_mask", "inputs_embeds", "output_hidden_states"}


def shape(folder: str) -> PretrainedConfig:
    """Read the shape of the encoder in a folder, or of one on the hub; raises ``ModelError``."""
    try:
        read = cast(PretrainedConfig, AutoConfig.from_pretrained(folder, trust_remote_code=False))
    except (OSError, ValueError, StrictDataclassError) as error:
        raise ModelError(f"{folder}: {_first_line(error)}") from error
    read.dtype = None  # whatever it was stored as, it is computed with as fp32
    if read.is_encoder_decoder and type(read) in MODEL_FOR_TEXT_ENCODING_MAPPING:
        read.is_encoder_decoder = False  # the half of it that reads
    return read


def parsed(said: Mapping[str, Any]) -> PretrainedConfig:
    """Make a shape of what its file says; the kind of encoder is known. Raises ``ModelError``."""
    try:
        made: PretrainedConfig = CONFIG_MAPPING[said["model_type"]].from_dict(dict(said))
    except StrictDataclassError as error:
        raise ModelError(str(error)) from error
    return made


@cache
def keys(kind: str) -> frozenset[str] | None:
    """Return what a file of a kind of encoder may say; None where it is no kind of encoder.

    A kind is one that transformers has to encode or to label text with: word pieces in, a mask for
    padding, vectors of all layers out, and one configuration that holds no others.
    """
    if kind not in CONFIG_MAPPING:
        return None
    config = CONFIG_MAPPING[kind]
    if config.sub_configs_defaults or not _is_encoder(config):
        return None
    return frozenset(config().to_dict()) | READ_BY_GETATTR


def pretrained(folder: str, config: PretrainedConfig) -> tuple[PreTrainedModel, list[str]]:
    """Load an encoder with its weights, as fp32; ``config`` has its rates of dropout.

    Returns the names of weights that the folder does not have, too. Raises ``ModelError``.
    """
    made = _class(type(config))
    try:
        loaded, told = made.from_pretrained(
            folder, config=config, dtype=torch.float32, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError) as error:  # no weights, or of other shapes
        raise ModelError(f"{folder}: {_first_line(error)}") from error
    whole = _whole(loaded)
    inside = "" if whole is loaded else "encoder."
    return whole, sorted(name.removeprefix(inside) for name in told["missing_keys"])


def untrained(config: PretrainedConfig) -> PreTrainedModel:
    """Make an encoder with random weights."""
    return _whole(_class(type(config))._from_config(config))


def tokenizer(folder: str) -> Any:
    """Load the tokenizer beside an encoder."""
    return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


def _class(config: type[PretrainedConfig]) -> Any:
    """The class of encoders that have such a shape; of two halves it is the one that reads."""
    for mapping in (MODEL_FOR_TEXT_ENCODING_MAPPING, MODEL_MAPPING):
        if config in mapping:
            found = mapping[config]
            return found[0] if isinstance(found, tuple) else found
    return None


def _is_encoder(config: type[PretrainedConfig]) -> bool:
    reads_text = (
        MODEL_FOR_MASKED_LM_MAPPING,
        MODEL_FOR_TEXT_ENCODING_MAPPING,
        MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING,
    )
    if not any(config in mapping for mapping in reads_text):
        return False
    made = _class(config)
    if made is None:
        return False
    takes = inspect.signature(made.forward).parameters
    return takes.keys() >= _READ - {"output_hidden_states"} and (
        "output_hidden_states" in takes or "kwargs" in takes
    )


def _whole(made: PreTrainedModel) -> PreTrainedModel:
    """An encoder whose every weight has one name: T5 has its table of pieces twice."""
    names = [name for name, _ in made.named_parameters(remove_duplicate=False)]
    inner = getattr(made, "encoder", None)
    if len(names) > len(list(made.parameters())) and isinstance(inner, PreTrainedModel):
        return inner
    return made


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), repr(error))
