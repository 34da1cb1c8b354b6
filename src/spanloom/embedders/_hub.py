"""Load encoders and tokenizers through transformers.

Importing transformers takes seconds, so this module is imported only for encoders that are not ours
(``_bert``) and for folders of the hub's form.
"""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast

import torch
from huggingface_hub.errors import StrictDataclassError
from torch import nn
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
from transformers.utils import logging

from spanloom.errors import ModelError
from spanloom.nn.dropout import Dropout

# Keys that encoders read by getattr with a default, so that no config class has them, but published
# files do. Keys for heads and generation are left out. A test compares this with the source of the
# installed library.
READ_BY_GETATTR = frozenset(
    {
        "attention_head_size",  # DeBERTa-v2: if not hidden_size / heads
        "conv_act",  # DeBERTa-v2 xlarge: the convolution beside its first layer
        "conv_groups",
        "conv_kernel_size",
        "embedding_size",  # DeBERTa: of pieces, if not hidden_size
        "head_dim",  # rotary encoders (ModernBERT, NomicBERT, EuroBERT): of a head
        "layerdrop",  # FlauBERT: whole layers dropped in training
        "norm_rel_ebd",  # DeBERTa-v3: layer norm of relative positions
        "position_biased_input",  # DeBERTa: whether absolute positions are added
        "position_buckets",  # DeBERTa-v3: number of distance buckets
        "pre_norm",  # FlauBERT: layer norm before, not after
        "share_att_key",  # DeBERTa-v3: same projections for pieces and distances
        "talking_head",  # DeBERTa
    }
)
_INPUTS = {"input_ids", "attention_mask", "inputs_embeds", "output_hidden_states"}


def load_config(folder: str) -> PretrainedConfig:
    """Load the config of an encoder from a folder or the hub; raises ``ModelError``."""
    try:
        config = cast(PretrainedConfig, AutoConfig.from_pretrained(folder, trust_remote_code=False))
    except (OSError, ValueError, StrictDataclassError) as error:
        raise _model_error(folder, error) from error
    config.dtype = None  # computed in fp32, however it is stored
    if config.is_encoder_decoder and type(config) in MODEL_FOR_TEXT_ENCODING_MAPPING:
        config.is_encoder_decoder = False  # only the encoder is used
    return config


def parse_config(values: Mapping[str, Any]) -> PretrainedConfig:
    """Return the config of a supported model type; raises ``ModelError``."""
    try:
        config: PretrainedConfig = CONFIG_MAPPING[values["model_type"]].from_dict(dict(values))
    except StrictDataclassError as error:
        raise ModelError(str(error)) from error
    return config


@cache
def keys(model_type: str) -> frozenset[str] | None:
    """Return the valid config keys of a model type, None if it is no text encoder.

    A text encoder of transformers takes pieces and an attention mask, returns vectors of all
    layers, and its config holds no other configs.
    """
    if model_type not in CONFIG_MAPPING:
        return None
    config = CONFIG_MAPPING[model_type]
    if config.sub_configs_defaults or not _is_encoder(config):
        return None
    return frozenset(config().to_dict()) | READ_BY_GETATTR


def load_pretrained(folder: str, config: PretrainedConfig) -> tuple[PreTrainedModel, list[str]]:
    """Return an encoder with its weights in fp32, and the names of missing weights.

    Raises ``ModelError``.
    """
    model_class = _class(type(config))
    try:
        with _no_report():
            model, info = model_class.from_pretrained(
                folder, config=config, dtype=torch.float32, output_loading_info=True
            )
    except (OSError, ValueError, RuntimeError) as error:  # no weights, or wrong shapes
        raise _model_error(folder, error) from error
    encoder = _encoder(model)
    prefix = "" if encoder is model else "encoder."
    return encoder, sorted(name.removeprefix(prefix) for name in info["missing_keys"])


@contextmanager
def _no_report() -> Iterator[None]:
    """Keep transformers from listing other heads' weights; what an encoder lacks is an error."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)


def initialise(config: PretrainedConfig) -> PreTrainedModel:
    """Return an encoder with random weights."""
    return _encoder(_class(type(config))._from_config(config))


def masked_lm_class(config: PretrainedConfig, head: frozenset[str]) -> type[PreTrainedModel] | None:
    """Return an architecture's masked language model if its head has these weights."""
    model_class: Any = MODEL_FOR_MASKED_LM_MAPPING.get(type(config), None)
    if model_class is None:
        return None
    with torch.device("meta"):
        names = model_class(config).state_dict().keys()
    return model_class if head <= names else None


def prepare(encoder: PreTrainedModel) -> PreTrainedModel:
    """Use eager attention, the fastest to train on a CPU, without pooler and cache."""
    encoder.set_attn_implementation("eager")
    if hasattr(encoder, "set_attention_type"):
        # BigBird: otherwise the first window's length decides
        cast(Any, encoder).set_attention_type("original_full")
    if hasattr(encoder.config, "use_cache"):
        encoder.config.use_cache = False
    if getattr(encoder, "pooler", None) is not None:
        encoder.register_module("pooler", nn.Identity())  # SqueezeBERT always calls it
    for module in list(encoder.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Dropout):
                setattr(module, name, Dropout(child.p))
    encoder.train()
    return encoder


def tokenizer(folder: str) -> Any:
    """Load the tokenizer of an encoder; raises ``ModelError``."""
    try:
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise _model_error(folder, error) from error


def set_dropout(config: PretrainedConfig, rate: float, attention_rate: float) -> PretrainedConfig:
    """Set the dropout rates, which architectures name differently."""
    for key in ("hidden_dropout_prob", "dropout", "hidden_dropout"):
        if hasattr(config, key):
            setattr(config, key, rate)
    for key in ("attention_probs_dropout_prob", "attention_dropout"):
        if hasattr(config, key):
            setattr(config, key, attention_rate)
    return config


def _class(config: type[PretrainedConfig]) -> Any:
    """Return the class of encoders with such a config, None if there is none."""
    for mapping in (MODEL_FOR_TEXT_ENCODING_MAPPING, MODEL_MAPPING):
        if config in mapping:
            model_class = mapping[config]
            return model_class[0] if isinstance(model_class, tuple) else model_class
    return None


def _is_encoder(config: type[PretrainedConfig]) -> bool:
    text_models = (
        MODEL_FOR_MASKED_LM_MAPPING,
        MODEL_FOR_TEXT_ENCODING_MAPPING,
        MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING,
    )
    if not any(config in mapping for mapping in text_models):
        return False
    model_class = _class(config)
    if model_class is None:
        return False
    parameters = inspect.signature(model_class.forward).parameters
    return parameters.keys() >= _INPUTS - {"output_hidden_states"} and (
        "output_hidden_states" in parameters or "kwargs" in parameters
    )


def _encoder(model: PreTrainedModel) -> PreTrainedModel:
    """Return a module in which every weight has one name; T5 has its piece embeddings twice."""
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    inner = getattr(model, "encoder", None)
    if len(names) > len(list(model.parameters())) and isinstance(inner, PreTrainedModel):
        return inner
    return model


def _model_error(folder: str, error: Exception) -> ModelError:
    """Return the error of an encoder that cannot be loaded; of no folder, what was expected."""
    problem = _first_line(error)
    if isinstance(error, OSError) and not Path(folder).is_dir():
        problem = (
            f"expected minilm, an encoder's folder or a hub id; no folder is there ({problem})"
        )
    return ModelError(f"{folder}: {problem}")


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), repr(error))
