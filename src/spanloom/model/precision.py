"""Which device and which arithmetic: found out once, said aloud."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from spanloom.errors import NameNotFound

CHOICES = ("auto", "fp32", "bf16")


@dataclass(frozen=True, slots=True)
class Compute:
    """Where tensors live and what matrix products are computed in; weights stay fp32."""

    device: torch.device
    bf16: bool

    def autocast(self) -> AbstractContextManager[object]:
        """Return the context that forward passes run in."""
        if not self.bf16:
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def __str__(self) -> str:
        """Say it in words for the first line a command prints."""
        said = [str(self.device), "bf16" if self.bf16 else "fp32"]
        if self.device.type == "cpu":
            count = torch.get_num_threads()
            said.insert(1, f"{count} thread{'s' if count > 1 else ''}")
        return ", ".join(said)


def compute(precision: str = "auto", device: str | None = None) -> Compute:
    """Choose: CUDA where present, bf16 where the processor multiplies it in hardware.

    On a CPU without such instructions bf16 is several times slower than fp32.
    """
    if precision not in CHOICES:
        raise NameNotFound("precision", precision, CHOICES)
    chosen = _device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    bf16 = precision == "bf16" or (precision == "auto" and _has_bf16(chosen))
    return Compute(chosen, bf16)


def _device(name: str) -> torch.device:
    """Return a device on which a tensor can be made; raises ``NameNotFound``."""
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:  # no such word, or none in this machine
        known = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
        raise NameNotFound("device", name, known) from error


def _has_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    if device.type == "cpu":
        return "avx512_bf16" in _flags() or "amx_bf16" in _flags()
    return False


def _flags() -> frozenset[str]:
    """Instruction sets of this processor, as Linux names them; none are known elsewhere."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            first = next((line for line in lines if line.startswith("flags")), "")
    except OSError:
        return frozenset()
    return frozenset(first.split())
