"""Networks whose weights come from a file next, made without a random start."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

_STARTS = frozenset({"normal_", "uniform_", "trunc_normal_", "kaiming_uniform_"})


class SkipInit(TorchFunctionMode):
    """While it is entered, what would fill a tensor with random numbers leaves it as it is.

    That saves the time of drawing them, and on the device "meta" the import of torch's compiler,
    which is what carries a normal distribution out there: two seconds.
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
            # a cut-off normal distribution draws until all numbers lie within: for ever from what
            # memory holds by chance, which is how ModernBERT starts
            tensor: Tensor = args[0] if args else given["self"]
            return tensor.zero_()
        if getattr(func, "__name__", "") in _STARTS:
            return args[0] if args else given["tensor"]
        return func(*args, **given)
