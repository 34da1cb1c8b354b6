"""Keep some intermediate units of an encoder's feed-forward layers, so that these take less time.

Of each layer those stay that can change its output most: by the norm of the weights that a unit
reads, bias included, times that of the weights which carry it on (magnitude pruning of whole
units, as in Li et al. 2017).
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Union

import torch
from jaxtyping import Float
from torch import Tensor

from spanloom.embedders import _bert
from spanloom.errors import ModelError

if TYPE_CHECKING:
    from spanloom.embedders._encoder_check import Config, Encoder


def prune_intermediate(encoder: "Encoder", size: int | None) -> Union["Encoder", _bert.Bert]:
    """Return an encoder with ``size`` intermediate units a layer, the strongest; with all for None.

    Raises ``ModelError`` where there are fewer, or where the encoder is no BERT.
    """
    if size is None:
        return encoder
    config, weights = prune_config(encoder.config, size), encoder.state_dict()
    for layer in range(config.num_hidden_layers):
        read, bias, carry = (
            f"encoder.layer.{layer}.{name}"
            for name in (
                "intermediate.dense.weight",
                "intermediate.dense.bias",
                "output.dense.weight",
            )
        )
        units = _strength(weights[read], weights[bias], weights[carry]).topk(size).indices
        units = units.sort().values
        weights[read], weights[bias] = weights[read][units], weights[bias][units]
        weights[carry] = weights[carry][:, units]
    assert isinstance(config, _bert.Config), "no other can be pruned"
    pruned = _bert.Bert(config)
    pruned.load_state_dict(weights)
    return pruned


def prune_config(config: "Config", size: int | None) -> "Config":
    """Return the configuration with ``size`` intermediate units a layer; None for all.

    Raises ``ModelError`` where there are fewer, or where the encoder is no BERT.
    """
    if size is None:
        return config
    if not isinstance(config, _bert.Config):
        raise ModelError(
            f"intermediate_size: expected an encoder of BERT's kind, got {config.model_type}"
        )
    if size > config.intermediate_size:
        expected = (
            f"expected at most the {config.intermediate_size:,} intermediate units of a layer"
        )
        raise ModelError(f"intermediate_size: {expected}, got {size:,}")
    return replace(config, intermediate_size=size)


def _strength(
    read: Float[Tensor, "unit dim"], bias: Float[Tensor, " unit"], carry: Float[Tensor, "dim unit"]
) -> Float[Tensor, " unit"]:
    """Return how much each unit can change the output of its layer."""
    strength: Tensor = torch.cat([read, bias[:, None]], dim=1).norm(dim=1) * carry.norm(dim=0)
    return strength
