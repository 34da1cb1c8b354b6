"""Build a network that stored weights will fill: no random start, no larger one than they fill."""

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)
from torch.overrides import TorchFunctionMode

from spanloom.errors import ModelError

_STARTS = frozenset({"normal_", "uniform_", "trunc_normal_", "kaiming_uniform_"})
_TIMES, _MORE = 3, 64  # weights shared by parts count twice, and a pooler is made and left out


class SkipInit(TorchFunctionMode):
    """Context manager that turns random weight initialisation into a no-op.

    That saves the time of drawing numbers, and on the device "meta" the import of torch's compiler,
    which implements a normal distribution there: two seconds.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call ``func``, unless it is one of those; they return their tensor."""
        given = dict(kwargs or {})
        if func is Tensor.normal_:
            # ModernBERT's truncated normal draws until all numbers lie within its bounds, which
            # would never end on uninitialised memory
            tensor: Tensor = args[0] if args else given["self"]
            return tensor.zero_()
        if getattr(func, "__name__", "") in _STARTS:
            return args[0] if args else given["tensor"]
        return func(*args, **given)


@contextmanager
def limit_parameters(weights: Mapping[str, tuple[int, ...]]) -> Iterator[None]:
    """Refuse to make more parameters, or larger ones, than could be filled with ``weights``.

    Buffers count too, such as the numbers of positions.
    So no configuration of any architecture makes a process run out of memory or time, whatever its
    size options are called. Raises ``ModelError``.
    """
    numbers = _TIMES * sum(math.prod(shape) for shape in weights.values()) + _MORE
    tensors = _TIMES * len(weights) + _MORE
    thread = threading.get_ident()
    counts = [0, 0]

    def count(module: nn.Module, name: str, tensor: Tensor | None) -> None:
        if tensor is None or threading.get_ident() != thread:
            return
        counts[0] += 1
        counts[1] += tensor.numel()
        if counts[0] > tensors or counts[1] > numbers:
            kind = type(module).__name__
            raise ModelError(f"more is asked for than the weights fill, at {name} of a {kind}")

    hooks = (
        register_module_parameter_registration_hook(count),
        register_module_buffer_registration_hook(count),
    )
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
