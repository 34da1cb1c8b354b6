"""Whether an encoder is one: a few made-up windows through it, before anything is learnt."""

import torch
from torch import Tensor

from spanloom.encoders._shape import Encoder
from spanloom.errors import ModelError

_UNREADY = (  # what architectures raise that want more than pieces and a mask
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
_NEAR = 1e-3  # between a window that is filled up and the same alone, beside states of about 1


def check(encoder: Encoder, *, every: bool) -> None:
    """Raise ``ModelError`` for what is no encoder of text as a trunk needs one.

    It gives a vector a piece, in all layers (``every``) or the last; what fills a window up changes
    nothing; each piece is read with those behind it, too.
    """
    learning = encoder.training
    encoder.eval()
    try:
        with torch.inference_mode():
            _compare(encoder, every)
    except _UNREADY as error:
        first = (str(error).strip() or repr(error)).splitlines()[0]
        raise ModelError(f"{_name(encoder)} cannot read pieces by themselves: {first}") from error
    finally:
        encoder.train(learning)


def _compare(encoder: Encoder, every: bool) -> None:
    ids = _pieces(encoder, 9)
    one = _states(encoder, ids[None, :4], 4, every)
    filled = _states(encoder, torch.stack([ids[:7], ids[:7]]), 4, every)
    other = _states(encoder, torch.stack([ids[[0, 1, 2, 8]], ids[[0, 1, 2, 8]]]), 4, every)
    for alone, wide in zip(one, filled, strict=True):
        near = _NEAR * max(1.0, float(alone.abs().max()))
        if not torch.allclose(alone[0], wide[1, :4], rtol=0, atol=near):
            raise ModelError(f"{_name(encoder)} reads what fills a window up: a mask changes nothing")
    if one[-1][0, 0].equal(other[-1][0, 0]):
        raise ModelError(f"{_name(encoder)} reads from left to right alone; expected an encoder")


def _pieces(encoder: Encoder, count: int) -> Tensor:
    """The first pieces that do not stand for padding."""
    padding = getattr(encoder.config, "pad_token_id", None)
    return torch.tensor([each for each in range(1, count + 2) if each != padding][:count])


def _states(encoder: Encoder, ids: Tensor, length: int, every: bool) -> tuple[Tensor, ...]:
    """States of windows of which the last has ``length`` pieces; raises ``ModelError``."""
    mask = torch.ones_like(ids)
    mask[-1, length:] = 0
    found = encoder(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
    states: tuple[Tensor, ...] = tuple(found) if every else tuple(found[-1:])
    expected = (*ids.shape, int(encoder.config.hidden_size))
    layers = int(encoder.config.num_hidden_layers) + 1 if every else 1
    shapes = {tuple(each.shape) for each in states}
    if len(states) != layers or shapes != {expected}:
        hint = "; layers: last may do" if every else ""
        raise ModelError(
            f"{_name(encoder)}: expected {layers} layers of shape {expected}, got {len(states)} "
            f"of {sorted(shapes)}{hint}"
        )
    if not all(bool(each.isfinite().all()) for each in states):
        raise ModelError(f"{_name(encoder)}: expected numbers, got nan or inf: its weights are broken")
    return states


def _name(encoder: Encoder) -> str:
    return f"an encoder of model_type {encoder.config.model_type}"
