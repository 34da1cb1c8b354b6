"""The processes of a run: a single one, or several under ``torchrun``, through accelerate."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import InitProcessGroupKwargs, broadcast_object_list
from torch import Tensor, nn
from torch.distributed import all_reduce

from spanloom.errors import NameNotFound, TrainingError

_PATIENCE = timedelta(days=1)  # until others are here: the first alone scores dev and tunes biases
_SHORT = 2**15  # elements of a tensor that is not worth a message of its own


class ProcessGroup:
    """This process's rank and device, and sums over all processes."""

    def __init__(self, device: str | None = None) -> None:
        """``device`` "cpu" keeps a run off a GPU that is there; raises ``NameNotFound`` for others.

        Which GPU is used follows from the local rank.
        """
        if device not in (None, "cpu", "cuda"):
            raise NameNotFound("device", device, ("cpu", "cuda"))
        if not torch.distributed.is_initialized():
            # else accelerate keeps the device of an earlier run of this process
            AcceleratorState._reset_state(reset_partial_state=True)
        # Left to itself where no GPU is, it would take each process for the only one.
        alone = not torch.cuda.is_available()
        self._accelerator = Accelerator(
            cpu=device == "cpu" or alone,
            kwargs_handlers=[InitProcessGroupKwargs(timeout=_PATIENCE)],
        )
        self.device: torch.device = self._accelerator.device
        self.rank: int = self._accelerator.process_index
        self.world_size: int = self._accelerator.num_processes

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and logs."""
        return self.rank == 0

    def sum(self, tensor: Tensor) -> Tensor:
        """Return the sum of a tensor over all processes."""
        if self.world_size == 1:
            return tensor
        summed = tensor.clone()
        self.sum_in_place([summed])
        return summed

    def sum_gradients(self, network: nn.Module, *, stop: bool = False) -> bool:
        """Add up the gradients; a parameter that no process touched keeps none.

        Returns whether any process asks to ``stop``, the same on all of them.
        """
        if self.world_size == 1:
            return stop
        learnt = [parameter for parameter in network.parameters() if parameter.requires_grad]
        flags = torch.cat([_grad_mask(learnt), torch.tensor([int(stop)])])
        *touched, stops = self.sum(flags.to(self.device)).tolist()
        grads = []
        for parameter, times in zip(learnt, touched, strict=True):
            if times and parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            if parameter.grad is not None:
                grads.append(parameter.grad)
        self.sum_in_place(grads)
        return bool(stops)

    def sum_in_place(self, tensors: Sequence[Tensor]) -> None:
        """Add up tensors over all processes: long ones without a copy, short ones as one."""
        long = [tensor for tensor in tensors if tensor.numel() >= _SHORT]
        short = [tensor for tensor in tensors if tensor.numel() < _SHORT]
        flat = [torch.cat([tensor.flatten() for tensor in short])] if short else []
        with _together():
            for work in [all_reduce(tensor, async_op=True) for tensor in (*long, *flat)]:
                work.wait()
        for joined in flat:
            parts = joined.split([tensor.numel() for tensor in short])
            for tensor, part in zip(short, parts, strict=True):
                tensor.copy_(part.view_as(tensor))

    def agree(self, value: object) -> object:
        """Return the first process's value on all of them."""
        if self.world_size == 1:
            return value
        values = [value]
        with _together():
            broadcast_object_list(values)
        return values[0]

    def share(self, parameters: Iterable[nn.Parameter]) -> None:
        """Copy the first process's parameters to all."""
        if self.world_size == 1:
            return
        tensors = [parameter.data for parameter in parameters]
        if not self.is_first:
            for tensor in tensors:
                tensor.zero_()
        self.sum_in_place(tensors)

    def wait(self) -> None:
        """Go on when all are here."""
        with _together():
            self._accelerator.wait_for_everyone()

    def end(self) -> None:
        """Leave the process group, if there is one."""
        self._accelerator.end_training()


def _grad_mask(parameters: Iterable[nn.Parameter]) -> Tensor:
    return torch.tensor(
        [int(parameter.grad is not None) for parameter in parameters], dtype=torch.int64
    )


@contextmanager
def _together() -> Iterator[None]:
    """Say in one line that another process is gone, which its own line tells more of."""
    try:
        yield
    except RuntimeError as error:
        first = next(iter(str(error).splitlines()), "")
        raise TrainingError(f"another process of this run is gone ({first:.80})") from error
