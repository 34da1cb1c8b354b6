"""bf16 where it is asked for, as autocast does it: matrices in bf16, weights and sums in fp32."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch


def mixed(*, bf16: bool, device: str = "cpu") -> AbstractContextManager[Any]:
    """Return a context in which matrices are multiplied in bf16, or one that changes nothing."""
    return torch.autocast(device, torch.bfloat16) if bf16 else nullcontext()
