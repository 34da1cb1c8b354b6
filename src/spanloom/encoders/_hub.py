"""What the transformers library is asked for.

To import it takes seconds, so this module is only imported where an encoder is not ours
(``_bert``), or comes from a folder in its form.
"""

from collections.abc import Mapping
from typing import Any, cast

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import (
    CONFIG_MAPPING,
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
)

from spanloom.errors import ModelError


def shape(folder: str) -> PretrainedConfig:
    """Read the shape of the encoder in a folder, or of one on the hub."""
    return cast(PretrainedConfig, AutoConfig.from_pretrained(folder, trust_remote_code=False))


def parsed(said: Mapping[str, Any]) -> PretrainedConfig:
    """Make a shape of what its file says; the kind of encoder is known. Raises ``ModelError``."""
    try:
        made: PretrainedConfig = CONFIG_MAPPING[said["model_type"]].from_dict(dict(said))
    except StrictDataclassError as error:
        raise ModelError(str(error)) from error
    return made


def keys(kind: str) -> frozenset[str]:
    """Return what a file of a kind of encoder may say."""
    return frozenset(CONFIG_MAPPING[kind]().to_dict())


def pretrained(folder: str, config: PretrainedConfig) -> PreTrainedModel:
    """Load an encoder with its weights, as fp32; ``config`` has its rates of dropout."""
    return cast(
        PreTrainedModel,
        AutoModel.from_pretrained(
            folder, config=config, dtype=torch.float32, trust_remote_code=False
        ),
    )


def untrained(config: PretrainedConfig) -> PreTrainedModel:
    """Make an encoder with random weights."""
    return cast(PreTrainedModel, AutoModel.from_config(config, trust_remote_code=False))


def tokenizer(folder: str) -> Any:
    """Load the tokenizer beside an encoder."""
    return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
