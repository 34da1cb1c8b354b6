"""One of two processes: adds up tensors of several lengths, and saves what it has then."""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

from spanloom.training.distributed import ProcessGroup

processes = ProcessGroup("cpu")


def numbered(*shape: int) -> torch.Tensor:
    """Return 1, 2, … in the first process, ten times that in the second."""
    count = torch.Size(shape).numel()
    return (10.0**processes.rank * torch.arange(1, count + 1)).reshape(shape)


tensors = {
    "long": numbered(300, 200),
    "short": numbered(3, 2),
    "scalar": numbered(),
    "transposed": numbered(100, 400).T,
}
processes.sum_in_place([*tensors.values()])
saved = {name: tensor.contiguous() for name, tensor in tensors.items()}
save_file(saved, Path(sys.argv[1]) / f"{processes.rank}.safetensors")
processes.end()
