"""Device and precision of computation: chosen once, and logged."""

import os
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import takewhile

import torch
from torch import nn

from spanloom.embedders.transformer import Transformer
from spanloom.errors import NameNotFound
from spanloom.model.onnx_runtime import runtime

CHOICES = ("auto", "fp32", "bf16", "int8", "onnx", "fastest")
# Linear layers that widen or look, in the families of BERT, RoBERTa, ELECTRA, DistilBERT, DeBERTa.
_WIDENING = (
    *("query", "key", "value", "intermediate.dense"),
    *("query_proj", "key_proj", "value_proj", "q_lin", "k_lin", "v_lin", "lin1"),
)
# Those that write back see values of very different size. In activations of 7 bits too much of them
# is lost (half a point of LAS), in those of 8 bits, which onnxruntime has, a seventh of a point.
_WRITING = ("output.dense", "out_lin", "lin2")
# How many matrix products oneDNN keeps ready, each for one shape. Nearly every batch of texts has a
# shape of its own: its usual 1,024 take hundreds of MB, and save one to six percent of the time.
_READY, _PRODUCTS = "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64"
# torch keeps bf16 products beside these, each with a copy of its weights: its usual 1,024 take
# gigabytes in a long training, and save nothing.
_READY_BF16 = "LRU_CACHE_CAPACITY"


@dataclass(frozen=True, slots=True)
class ComputeConfig:
    """The device, and the precision of matrix products; weights stay fp32.

    With ``int8`` some products of the encoder are of whole numbers (``eight_bits``); with ``onnx``
    they are, too, and onnxruntime computes them and all else of it.
    """

    device: torch.device
    bf16: bool
    int8: bool = False
    onnx: bool = False

    def autocast(self) -> AbstractContextManager[object]:
        """Return the context that forward passes run in."""
        if not self.bf16:
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def __str__(self) -> str:
        """Return the configuration in words, for the first line that a command logs."""
        kinds = {"bf16": self.bf16, "int8": self.int8, "onnx": self.onnx, "fp32": True}
        parts = [str(self.device), next(name for name, is_used in kinds.items() if is_used)]
        if self.device.type == "cpu":
            count = torch.get_num_threads()
            parts.insert(1, f"{count} thread{'s' if count > 1 else ''}")
        return ", ".join(parts)


def compute(precision: str = "auto", device: str | None = None) -> ComputeConfig:
    """Choose: CUDA where present, bf16 where the processor multiplies it faster than fp32.

    On a CPU without such instructions bf16 is several times slower; ``fastest`` is int8
    there, where the processor has instructions for that. It is never onnx, which starts a second
    later and gains that back after thousands of words. The process keeps few bf16 products ready,
    unless its environment says how many. Raises ``NameNotFound`` for what is no
    device or precision, and for int8 and onnx elsewhere than on a CPU.
    """
    if precision not in CHOICES:
        raise NameNotFound("precision", precision, CHOICES)
    os.environ.setdefault(_READY_BF16, _PRODUCTS)  # read by torch at the first product
    target_device = _device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if precision in ("int8", "onnx") and target_device.type != "cpu":
        raise NameNotFound(f"precision on {target_device}", precision, ("auto", "fp32", "bf16"))
    fastest = precision == "fastest"
    bf16 = precision == "bf16" or (precision in ("auto", "fastest") and _has_bf16(target_device))
    int8 = precision == "int8" or (fastest and not bf16 and _has_int8(target_device))
    return ComputeConfig(target_device, bf16, int8, precision == "onnx")


def prepare(encoder: Transformer | None, config: ComputeConfig) -> ComputeConfig:
    """Prepare an encoder for a configuration; return the one in effect, fp32 without an encoder.

    On a CPU the process keeps fewer products ready, unless its environment says how many. Raises
    ``PackageMissing`` and ``ModelError`` for what onnxruntime cannot run.
    """
    os.environ.setdefault(_READY, _PRODUCTS)  # read by oneDNN at the first product
    if encoder is None:
        return replace(config, int8=False, onnx=False)
    if config.onnx:
        weight_bits = 8 if _has_int8(config.device) else 7
        names = (*_WIDENING, *_WRITING)
        encoder.runtime = runtime(encoder.encoder, encoder.layers, names, weight_bits)
    return replace(config, int8=config.int8 and eight_bits(encoder.encoder))


def eight_bits(encoder: nn.Module) -> bool:
    """Quantise an encoder's widening products to int8; return whether it has any.

    Weights have 8 bits and a scale a row, what they multiply 7 bits and the scale of its largest
    value in the batch: so vectors depend a little on what else is read. It cannot be saved.
    """
    from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic

    qconfig_of = {
        name: per_channel_dynamic_qconfig
        for name, part in encoder.named_modules()
        if isinstance(part, nn.Linear) and name.endswith(_WIDENING)
    }
    with warnings.catch_warnings():
        # torch points to a package of its own for this; what it replaces is there and enough
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", UserWarning)
        quantize_dynamic(encoder, qconfig_of, inplace=True)
    return bool(qconfig_of)


def _device(name: str) -> torch.device:
    """Return a device on which a tensor can be made; raises ``NameNotFound``."""
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:  # no such word, or none in this machine
        choices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
        raise NameNotFound("device", name, choices) from error


def _has_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    if device.type == "cpu":
        flags = _cpu_flags()
        # Intel's avx512_bf16 multiplies no faster than fp32, and converts: .55 times its speed
        # where a virtual machine hides AMX. AMD's has twice the products of fp32.
        is_wide = "avx512_bf16" in flags and cpu_info().get("vendor_id") != "GenuineIntel"
        return "amx_bf16" in flags or is_wide
    return False


def _has_int8(device: torch.device) -> bool:
    return device.type == "cpu" and bool(_cpu_flags() & {"avx512_vnni", "avx_vnni"})


def _cpu_flags() -> frozenset[str]:
    return frozenset(cpu_info().get("flags", "").split())


def cpu_info() -> dict[str, str]:
    """Return what Linux tells of the first processor, by its names; nothing elsewhere."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            pairs = [line.partition(":") for line in takewhile(str.strip, lines)]
    except OSError:
        return {}
    return {name.strip(): value.strip() for name, _, value in pairs}
