"""Initial biases of new heads: "none" starts at its log-odds in the data.

Nearly all candidates are "none". A head that starts with even odds spends its first epochs on
learning that alone, and its first gradients are so large that Adam takes small steps long after
(Lin et al. 2017, "Focal loss for dense object detection", section 3.3). So the biases of its last
layers are fitted to a few batches before training, all other weights as they are.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import torch
from torch import Tensor, nn

from spanloom.data.collate import collate
from spanloom.model.model import Model
from spanloom.tensors import Batch, HeadInputs, Targets
from spanloom.training.batch_schedule import TrainBatch, Update
from spanloom.training.prepare import PreparedData

_BATCHES, _STEPS = 3, 12

MeanLoss = Callable[[], Tensor]  # of a batch, with the biases as they are
DrawEpoch = Callable[[], Iterable[Update]]


def fit_initial_biases(
    model: Model, prepared: PreparedData, names: Collection[str], draw_epoch: DrawEpoch
) -> list[nn.Parameter]:
    """Fit the output biases of the heads of tasks to the first batches that each has in an epoch.

    Returns the biases. All processes read the same batches. No epoch is drawn where no head has
    any, as drawing one of raw text takes seconds.
    """
    fitted: list[nn.Parameter] = []
    model.network.eval()
    heads = {name: model.tasks[name].output_biases(model.network.head(name)) for name in names}
    batches = [batch for update in draw_epoch() for batch in update] if any(heads.values()) else []
    for name, biases in heads.items():
        if not biases:
            continue
        own = [batch for batch in batches if name in batch.tasks][:_BATCHES]
        _minimize(list(_mean_losses(model, prepared, name, own)), biases)
        fitted += biases
    return fitted


def _mean_losses(
    model: Model, prepared: PreparedData, name: str, batches: Iterable[TrainBatch]
) -> Iterator[MeanLoss]:
    """Yield the loss of each batch; words are encoded once."""
    task, gold, head = model.tasks[name], prepared.data[name].gold, model.network.head(name)
    for train_batch in batches:
        instances = train_batch.instances
        batch = collate(instances, model.subword_tokenizer, model.recipe.window)
        targets = task.collate_targets(instances, gold)
        num_items = max(1, task.count_items(batch, targets))
        batch, targets = batch.to(model.compute.device), targets.to(model.compute.device)
        with torch.no_grad(), model.compute.autocast():
            inputs = model.network.head_inputs(batch, [name])[name]

        def mean_loss(
            inputs: HeadInputs = inputs,
            batch: Batch = batch,
            targets: Targets = targets,
            num_items: int = num_items,
        ) -> Tensor:
            with model.compute.autocast():
                losses = task.loss(head, inputs, batch, targets)
            return torch.stack(list(losses.values())).sum() / num_items

        yield mean_loss


def _minimize(losses: Sequence[MeanLoss], biases: Sequence[nn.Parameter]) -> None:
    """Minimise the sum of some losses, which is convex in the biases of a softmax.

    Where that gives no numbers the biases stay as they were; training tells which loss is to blame.
    """
    before = [bias.detach().clone() for bias in biases]
    optimizer = torch.optim.LBFGS(biases, max_iter=_STEPS, line_search_fn="strong_wolfe")

    def evaluate() -> Tensor:
        optimizer.zero_grad(set_to_none=False)
        total = torch.zeros(())
        for mean_loss in losses:  # one at a time: the pairs of a batch take much memory
            loss = mean_loss()
            if not loss.requires_grad:  # of given spans without pairs, whatever the biases are
                continue
            grads = torch.autograd.grad(loss, biases, allow_unused=True)
            for bias, grad in zip(biases, grads, strict=True):
                bias.grad = _sum_of(bias.grad, grad)
            total = total + loss.detach().cpu()
        return total

    optimizer.step(evaluate)
    for bias, start in zip(biases, before, strict=True):
        bias.grad = None
        if not bias.isfinite().all():
            bias.data.copy_(start)


def _sum_of(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b
