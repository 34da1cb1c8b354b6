"""Dropout whose random bits come twice as fast on a CPU as torch's."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

_STEPS = 256  # one random byte an element, so rates are multiples of 1/256


class Dropout(nn.Module):
    """Zero elements at a rate and scale up the rest, while training (Srivastava et al. 2014).

    On a CPU the bits come from numpy's SFC64, seeded from torch's generator at each call, so that
    ``torch.manual_seed`` still decides everything. torch draws one number at a time, on one core:
    a fifth of a training step.
    """

    def __init__(self, rate: float) -> None:
        """``rate`` is rounded to a multiple of 1/256 below 1; the scale fits the rounded rate."""
        super().__init__()
        self.dropped = min(round(rate * _STEPS), _STEPS - 1)
        self.p = self.dropped / _STEPS  # the name under which encoders of others read it

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Return ``x`` itself in evaluation mode."""
        if not self.training or not self.dropped or not x.numel():
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        seed = int(torch.empty((), dtype=torch.int64).random_())
        bits = np.random.Generator(np.random.SFC64(seed)).bytes(x.numel())
        kept = torch.frombuffer(bytearray(bits), dtype=torch.uint8) >= self.dropped
        scale = _STEPS / (_STEPS - self.dropped)
        return x * kept.view(x.shape).to(x.dtype).mul_(scale)

    def extra_repr(self) -> str:
        """Show the rate in effect."""
        return f"{self.p:.4f}"
