"""A network is made of a folder whose weights fill it, or it is not made at all."""

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from spanloom.errors import ModelError

_TIMES, _MORE = 3, 64  # weights shared by parts count twice, and a pooler is made and left out


@contextmanager
def bounded(weights: Mapping[str, tuple[int, ...]]) -> Iterator[None]:
    """Refuse to make more parameters, or larger ones, than could be filled with ``weights``.

    So no configuration of any architecture makes a process run out of memory or time, whatever it
    calls its sizes. Raises ``ModelError``.
    """
    numbers = _TIMES * sum(math.prod(shape) for shape in weights.values()) + _MORE
    tensors = _TIMES * len(weights) + _MORE
    mine = threading.get_ident()
    made = [0, 0]

    def count(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        if parameter is None or threading.get_ident() != mine:
            return
        made[0] += 1
        made[1] += parameter.numel()
        if made[0] > tensors or made[1] > numbers:
            kind = type(module).__name__
            raise ModelError(f"more is asked for than the weights fill, at {name} of a {kind}")

    hook = register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        hook.remove()
