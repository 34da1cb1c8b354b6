"""Start values of weights: torch's own, or those of Glorot and Bengio (2010)."""

from collections.abc import Callable
from typing import Literal

from torch import nn

Initialization = Literal["default", "xavier"]


def keep(module: nn.Module) -> None:
    """Leave the weights as torch starts them."""


def xavier(module: nn.Module) -> None:
    """Draw each matrix of a module from Xavier's uniform distribution, and set its vectors to 0.

    The matrices of the gates of a recurrent layer count as one (Changpinyo et al. 2018, section
    3.3, and their code).
    """
    for parameter in module.parameters():
        if parameter.ndim > 1:
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.zeros_(parameter)


INITIALIZERS: dict[str, Callable[[nn.Module], None]] = {"default": keep, "xavier": xavier}
