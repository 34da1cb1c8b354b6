"""How much of a processor's peak training uses (model FLOPs utilization, MFU).

Floating point operations are those that the model needs, counted from its sizes (Kaplan et al.
2020, section 2.1; attention as in Chowdhery et al. 2022, appendix B).
"""

import time
from dataclasses import dataclass

import torch
from torch import nn

from spanloom.embedders.transformer import Transformer
from spanloom.model.precision import ComputeConfig
from spanloom.nn.masked_language import MaskedLMHead

_TRAINING = 3  # a backward pass takes twice the operations of the forward pass
_PEAKS = {"H100": 989e12, "H200": 989e12, "A100": 312e12}  # dense bf16, as NVIDIA states it
_SIZE, _REPEATS = 1024, 5  # of the matrix product that measures other processors


@dataclass(frozen=True, slots=True)
class Utilization:
    """The share of the peak, the peak in operations per second, and whether it was measured."""

    share: float
    peak: float
    is_measured: bool

    def __str__(self) -> str:
        """Return one line."""
        source = "measured by a matrix product" if self.is_measured else "as its maker states"
        return f"MFU {self.share:.1%} of {self.peak / 1e12:.3g} TFLOP/s ({source})"


def training_flops(encoder: Transformer, head: MaskedLMHead, window: int, masked: float) -> float:
    """Return the operations that training takes per piece.

    ``masked`` is the share of masked pieces, the only ones that the head reads.
    """
    modules = encoder.encoder.modules()
    tables = {id(module.weight) for module in modules if isinstance(module, nn.Embedding)}
    layers = sum(
        weight.numel()
        for weight in encoder.encoder.parameters()
        if weight.ndim == 2 and id(weight) not in tables
    )
    config = encoder.encoder.config
    attention = 4 * config.num_hidden_layers * encoder.dim * window
    outputs = encoder.piece_embeddings.numel() * (1 if head.span_boundary is None else 2)
    matrices = sum(
        weight.numel()
        for name, weight in head.named_parameters()
        if weight.ndim == 2 and "embedding" not in name and "next_sentence" not in name
    )
    forward = 2 * layers + attention + 2 * masked * (matrices + outputs)
    return _TRAINING * forward


def of_peak(flops: float, config: ComputeConfig) -> Utilization:
    """Return what share of its peak a processor reaches at ``flops`` per second."""
    if config.device.type == "cuda" and config.bf16:
        name = torch.cuda.get_device_name(config.device)
        stated = next((peak for part, peak in _PEAKS.items() if part in name), None)
        if stated is not None:
            return Utilization(flops / stated, stated, is_measured=False)
    peak = _measure(config)
    return Utilization(flops / peak, peak, is_measured=True)


def _measure(config: ComputeConfig) -> float:
    """Return the operations per second of a large matrix product, the best of a few."""
    dtype = torch.bfloat16 if config.bf16 else torch.float32
    matrix = torch.ones(_SIZE, _SIZE, dtype=dtype, device=config.device)
    seconds = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        product = matrix @ matrix
        float(product[0, 0])  # waits for a GPU
        seconds.append(time.perf_counter() - start)
    return 2 * _SIZE**3 / min(seconds)
