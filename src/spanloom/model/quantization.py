"""Storage of weights as fp32, fp16, or int8 with a scale per row; computation is in fp32.

A matrix ``N`` in int8 is stored with its scales, one per row, as ``N@scale``.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from spanloom.errors import NameNotFound

FORMS = ("fp32", "fp16", "int8")
_SCALE = "@scale"
_LARGEST, _TINY = 127, torch.finfo(torch.float32).tiny
_LARGEST_HALF = torch.finfo(torch.float16).max
_KNOWN = ("F32", "F16", "I64", "BOOL")  # what a weight may be stored as, beside int8 with scales


@dataclass(frozen=True, slots=True)
class StorageDtypes:
    """Storage types: of the trunk's embeddings (``tables``), and of other matrices.

    One-dimensional weights stay as they are: they are small, and norms need their precision.
    """

    tables: str = "fp32"
    matrices: str = "fp32"

    def __post_init__(self) -> None:
        """Raise ``NameNotFound`` for a type that is not among ``FORMS``."""
        for form in (self.tables, self.matrices):
            if form not in FORMS:
                raise NameNotFound("form", form, FORMS)

    def __str__(self) -> str:
        """Return the types in words, for a model card."""
        return f"vectors that are looked up as {self.tables}, other matrices as {self.matrices}"


def pack(
    weights: Mapping[str, Tensor], tables: Collection[str], store: StorageDtypes
) -> dict[str, Tensor]:
    """Return weights in their storage types; ``tables`` has the names of embeddings."""
    packed: dict[str, Tensor] = {}
    for name, weight in weights.items():
        form = store.tables if name in tables else store.matrices
        if weight.ndim < 2 or not weight.is_floating_point() or form == "fp32":
            packed[name] = weight.contiguous()
        elif form == "fp16":
            packed[name] = weight.clamp(-_LARGEST_HALF, _LARGEST_HALF).half().contiguous()
        else:
            rows = weight.float().flatten(1)
            scale = rows.abs().amax(1) / _LARGEST
            steps = (rows / scale.clamp(min=_TINY)[:, None]).round()
            packed[name] = steps.to(torch.int8).view_as(weight).contiguous()
            packed[name + _SCALE] = scale
    return packed


def unpack(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights as fp32, dequantised if they were int8."""
    weights: dict[str, Tensor] = {}
    for name, weight in stored.items():
        if name.endswith(_SCALE):
            continue
        if weight.dtype == torch.int8:
            scale = stored[name + _SCALE].view(-1, *(1 for _ in weight.shape[1:]))
            weights[name] = weight.float() * scale
        else:
            weights[name] = weight.float() if weight.is_floating_point() else weight
    return weights


def shapes(header: Mapping[str, tuple[str, tuple[int, ...]]]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight from its stored type and shape, by name.

    Raises ``ValueError`` that names a tensor which ``unpack`` cannot read.
    """
    shape_of = {}
    for name, (form, shape) in header.items():
        if name.endswith(_SCALE):
            if header.get(name.removesuffix(_SCALE), ("",))[0] != "I8":
                raise ValueError(f"{name}: a scale of no int8 weight")
            continue
        if form == "I8":
            scale = header.get(name + _SCALE)
            if len(shape) < 2 or scale != ("F32", shape[:1]):
                raise ValueError(f"{name}: int8 needs a scale for each of {shape[:1]} rows")
        elif form not in _KNOWN:
            raise ValueError(f"{name}: expected {', '.join(_KNOWN)} or I8, got {form}")
        shape_of[name] = shape
    return shape_of
