"""Fine-tune any Hugging Face model with the Trainer's defaults, and keep its best epoch on dev."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from best_epoch import BestEpoch
from torch import nn
from transformers import Trainer, TrainingArguments


def fine_tune(
    model: nn.Module,
    features: Sequence[dict[str, Any]],
    collator: Callable[..., Any],
    judge: Callable[[], float],
    folder: Path,
    *,
    use_cpu: bool = True,
    **settings: Any,
) -> BestEpoch:
    """Train; the model has the weights of the best epoch then, which is returned.

    ``judge`` returns the figure on dev; ``settings`` are further ones of ``TrainingArguments``.
    """
    watch = BestEpoch(model, judge)
    arguments = TrainingArguments(
        str(folder / "trainer"),
        use_cpu=use_cpu,
        save_strategy="no",
        report_to="none",
        logging_strategy="no",
        disable_tqdm=True,
        **settings,
    )
    Trainer(model, arguments, collator, features, callbacks=[watch]).train()
    watch.restore()
    return watch
