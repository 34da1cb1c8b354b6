"""Optimisers, rates, and the running average of weights."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from spanloom.config.specs import LearningRates, StageSpec

OPTIMIZERS: dict[str, type[torch.optim.Adam]] = {
    "adamw": torch.optim.AdamW,
    "adam": torch.optim.Adam,
}

_LAYER = re.compile(r"(?:^|\.)(?:layers?|h|blocks?)\.(\d+)\.")  # as Hugging Face names them
_BELOW = re.compile("embed|projection|relative|rel_")  # what is read before the first layer
_BY_TASK = ("task_embeddings.", "task_tokens.")  # tables with a row per task


def trainable_parameters(network: nn.Module) -> frozenset[str]:
    """Return the names of the parameters that a freshly built network means to learn."""
    return frozenset(name for name, _ in _named_trainable(network))


def freeze(network: nn.Module, names: Collection[str], rates: LearningRates) -> None:
    """Require gradients only for those of ``names`` whose learning rate in the stage is not 0.

    So frozen encoders cost no backward pass and are no part of the gradient's norm. Parameters
    below an encoder's first layer are frozen with it.
    """
    for name, parameter in network.named_parameters():
        is_encoder = is_pretrained(name) or ".casing_embedding." in name
        rate = rates.encoder if is_encoder else rates.task
        parameter.requires_grad_(name in names and rate > 0)
        parameter.grad = None


def build_optimizer(network: nn.Module, stage: StageSpec) -> torch.optim.Adam:
    """Build the optimiser of a stage: pre-trained encoders have one rate, all else another.

    In an encoder, the rate of each layer is ``layerwise_decay`` times that of the layer above
    (Howard and Ruder 2018, section 3.2); parameters below all layers have the lowest rate. Biases
    and norms have no weight decay, nor have task embeddings and tokens: a row of a task that is not
    trained stays as it is. Parameters without gradients (``freeze``) are left out.
    """
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    depths = _depths(name for name, _ in network.named_parameters())
    for name, parameter in _named_trainable(network):
        encoder_rate = stage.lr.encoder * stage.lr.layerwise_decay ** depths.get(name, 0)
        rate = encoder_rate if is_pretrained(name) else stage.lr.task
        decays = parameter.ndim > 1 and not name.startswith(_BY_TASK)
        decay = stage.weight_decay if decays else 0.0
        groups.setdefault((rate, decay), []).append(parameter)
    param_groups = [
        {"params": members, "lr": rate, "top": rate, "weight_decay": decay}
        for (rate, decay), members in groups.items()
    ]
    return OPTIMIZERS[stage.optimizer](param_groups, betas=(0.9, 0.999), eps=1e-8, fused=True)


def _depths(names: Iterable[str]) -> dict[str, int]:
    """Return the number of encoder layers above each pre-trained parameter.

    A parameter without a layer number is above all layers (a last norm), or below them if it is of
    embeddings.
    """
    layers: dict[str, dict[str, int | None]] = {}
    for name in names:
        if is_pretrained(name):
            encoder, _, inside = name.partition(".encoder.")
            number = _LAYER.search(inside)
            unnumbered = -1 if _BELOW.search(inside) else None
            layers.setdefault(encoder, {})[name] = int(number[1]) if number else unnumbered
    depths: dict[str, int] = {}
    for layer_of in layers.values():
        top = max((layer for layer in layer_of.values() if layer is not None), default=0)
        depths |= {name: 0 if layer is None else top - layer for name, layer in layer_of.items()}
    return depths


def is_pretrained(name: str) -> bool:
    """Return whether a parameter is of a pre-trained encoder."""
    return name.startswith("trunk.") and ".encoder." in name


def set_rates(optimizer: torch.optim.Adam, factor: float) -> None:
    """Set every group's rate to ``factor`` times its maximum."""
    for group in optimizer.param_groups:
        group["lr"] = group["top"] * factor


def linear(done: float, warmup: float, _halvings: int) -> float:
    """Rise over the first ``warmup`` of a stage, then fall to 0; ``done`` runs from 0 to 1."""
    if done < warmup:
        return done / warmup
    return max(0.0, (1 - done) / (1 - warmup)) if warmup < 1 else 1.0


def plateau(done: float, warmup: float, halvings: int) -> float:
    """Rise over the first ``warmup``, then halve whenever dev stopped rising."""
    return min(1.0, done / warmup if warmup else 1.0) * 0.5**halvings


SCHEDULES: dict[str, Callable[[float, float, int], float]] = {
    "linear": linear,
    "plateau": plateau,
}


class EMA:
    """Exponential moving average of the trained weights, in fp32.

    The decay starts low, ``(1 + n) / (10 + n)``, so that the first weights are soon forgotten.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        """Start with the network's weights."""
        self.decay = decay
        self.weights = {
            name: parameter.detach().clone() for name, parameter in _named_trainable(network)
        }

    def update(self, network: nn.Module, updates: int) -> None:
        """Move towards the network's weights; ``updates`` counts from 1."""
        decay = min(self.decay, (1 + updates) / (10 + updates))
        names, parameters = zip(*_named_trainable(network), strict=True)
        averages = [self.weights[name] for name in names]
        torch._foreach_lerp_(averages, [parameter.detach() for parameter in parameters], 1 - decay)

    def swap(self, network: nn.Module) -> None:
        """Exchange the network's weights and the average; twice restores both."""
        for name, parameter in _named_trainable(network):
            kept = parameter.detach().clone()
            parameter.data.copy_(self.weights[name])
            self.weights[name].copy_(kept)

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Load a saved average."""
        for name, average in self.weights.items():
            average.copy_(weights[name])


@contextmanager
def swapped_in(average: EMA | None, network: nn.Module) -> Iterator[None]:
    """Swap the network's weights with their average, if there is one, and back at the end."""
    if average is not None:
        average.swap(network)
    try:
        yield
    finally:
        if average is not None:
            average.swap(network)


def _named_trainable(network: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    return (
        (name, parameter)
        for name, parameter in network.named_parameters()
        if parameter.requires_grad
    )
