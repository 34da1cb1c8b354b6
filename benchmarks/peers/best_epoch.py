"""Keep the weights of the epoch that is best on dev, in any run of the Hugging Face Trainer."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import TrainerCallback


class BestEpoch(TrainerCallback):
    """Judge after each epoch; ``restore`` goes back to the best one."""

    def __init__(self, model: nn.Module, judge: Callable[[], float]) -> None:
        """``judge`` returns the figure on dev, the higher the better."""
        self.model = model
        self.judge = judge
        self.figures: list[float] = []
        self.weights: dict[str, Tensor] = {}

    def on_epoch_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        """Look at dev; the Trainer puts the model back into training mode by itself."""
        self.model.eval()
        with torch.inference_mode():
            figure = self.judge()
        if figure > max(self.figures, default=-1.0):
            self.weights = {name: each.clone() for name, each in self.model.state_dict().items()}
        self.figures.append(figure)

    @property
    def best(self) -> float:
        """The best figure."""
        return max(self.figures)

    @property
    def epoch(self) -> int:
        """The epoch that was best, from 1."""
        return 1 + self.figures.index(self.best)

    def restore(self) -> None:
        """Give the model the weights it had then."""
        self.model.load_state_dict(self.weights)
        self.model.eval()
