"""Whether an encoder is one: a few made-up windows through it, before anything is learnt."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from spanloom.embedders._config_check import Encoder
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

    It gives a vector a piece, in all layers (``every``) or the last, and reads each piece with
    those behind it, too.
    """
    if not isinstance(encoder.get_input_embeddings(), nn.Embedding):  # I-BERT's counts in integers
        raise ModelError(f"{_name(encoder)} has no plain table of its pieces")
    with _in_use(encoder):
        ids = _pieces(encoder, 5)
        one = _states(encoder, ids[None, :4], every)
        other = _states(encoder, ids[None, [0, 1, 2, 4]], every)
    if one[-1][0, 0].equal(other[-1][0, 0]):
        raise ModelError(f"{_name(encoder)} reads from left to right alone; expected an encoder")


def reads_padding(encoder: Encoder) -> bool:
    """Whether a window's last states depend on what fills it up."""
    with _in_use(encoder):
        ids = _pieces(encoder, 7)
        (alone,) = _states(encoder, ids[None, :4], every=False)
        (filled,) = _states(encoder, torch.stack([ids, ids]), every=False)
    near = _NEAR * max(1.0, float(alone.abs().max()))
    return not torch.allclose(alone[0], filled[1, :4], rtol=0, atol=near)


@contextmanager
def _in_use(encoder: Encoder) -> Iterator[None]:
    """Have it compute as in use; raises ``ModelError`` where it wants more than it is given."""
    learning = encoder.training
    encoder.eval()
    try:
        with torch.inference_mode():
            yield
    except _UNREADY as error:
        first = (str(error).strip() or repr(error)).splitlines()[0]
        raise ModelError(f"{_name(encoder)} cannot read pieces by themselves: {first}") from error
    finally:
        encoder.train(learning)


def _pieces(encoder: Encoder, count: int) -> Tensor:
    """The first pieces that do not stand for padding."""
    padding = getattr(encoder.config, "pad_token_id", None)
    ids = [i for i in range(1, count + 2) if i != padding][:count]
    return torch.tensor(ids, device=next(encoder.parameters()).device)


def _states(encoder: Encoder, ids: Tensor, every: bool) -> tuple[Tensor, ...]:
    """States of windows; the last of several has 4 pieces. Raises ``ModelError``."""
    mask = torch.ones_like(ids)
    if len(ids) > 1:
        mask[-1, 4:] = 0
    found = encoder(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
    states: tuple[Tensor, ...] = tuple(found) if every else tuple(found[-1:])
    expected = (*ids.shape, int(encoder.config.hidden_size))
    layers = int(encoder.config.num_hidden_layers) + 1 if every else 1
    shapes = {tuple(state.shape) for state in states}
    if len(states) != layers or shapes != {expected}:
        hint = "; layers: last may do" if every else ""
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
