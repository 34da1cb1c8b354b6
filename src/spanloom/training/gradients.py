"""The gradient of an update: the losses of its batches, each a mean over what it learns.

The items of all batches and of all processes are counted before the first backward pass, so an
update is the same however its batches are divided.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from spanloom.config.specs import StageSpec
from spanloom.data.collate import collate
from spanloom.data.masking import word_dropout
from spanloom.model.model import Model
from spanloom.tasks._teaching import Teachable, TeacherHead
from spanloom.tensors import Batch, HeadInputs, Losses, Targets
from spanloom.training.collation import CollatedBatch, SeedOf
from spanloom.training.distributed import ProcessGroup
from spanloom.training.prepare import PreparedData


@dataclass(frozen=True, slots=True)
class GradientSum:
    """Sum the gradients of the losses of an update.

    Each loss is divided by the number of items that its task learns in the whole update, and
    multiplied by the task's weight. Without a transformer the batches of an update are encoded at
    once: a recurrent layer takes about as long for three sentences as for thirty.
    """

    model: Model
    prepared: PreparedData
    processes: ProcessGroup
    spec: StageSpec

    def add(self, batches: Sequence[CollatedBatch], seed_of: SeedOf) -> dict[str, Tensor]:
        """Add the gradients of this process's shards; return its part of the mean losses.

        Losses are named ``TASK.LOSS``. ``seed_of`` returns the random seed of a batch.
        """
        num_items = self._count_items(batches)
        sums: dict[str, Tensor] = {}
        for group in self._groups(batches):
            torch.manual_seed(seed_of(group[0].shard.row, group[0].shard.part))
            for name, loss in self._backward(group, num_items).items():
                sums[name] = sums.get(name, torch.zeros(())) + loss
        return sums

    def _groups(self, batches: Sequence[CollatedBatch]) -> Sequence[Sequence[CollatedBatch]]:
        """Return the batches that are encoded together."""
        instances = (instance for part in batches for instance in part.shard.batch.instances)
        if self.model.network.transformer is None and not any(i.wants_cls for i in instances):
            return [batches] if batches else []
        return [[batch] for batch in batches]

    def _count_items(self, batches: Iterable[CollatedBatch]) -> dict[str, int]:
        """Return the number of items that each task learns in all processes, at least 1."""
        counts = dict.fromkeys(self.spec.tasks, 0)
        for collated in batches:
            for name, targets in collated.targets.items():
                counts[name] += self.model.tasks[name].count_items(collated.batch, targets)
        if self.processes.world_size > 1:
            own = torch.tensor([*counts.values()]).to(self.processes.device)
            counts = dict(zip(counts, self.processes.sum(own).tolist(), strict=True))
        return {name: max(1, count) for name, count in counts.items()}

    def _backward(
        self, group: Sequence[CollatedBatch], num_items: Mapping[str, int]
    ) -> dict[str, Tensor]:
        losses: dict[str, Tensor] = {}
        weighted = []
        with self.model.compute.autocast():
            for task, term, loss in self._mean_losses(group, num_items):
                before = losses.get(f"{task}.{term}", torch.zeros(()))
                losses[f"{task}.{term}"] = before + loss.detach()
                weighted.append(loss * self.spec.loss_weights.get(task, 1.0))
        total = torch.stack(weighted).sum()
        if total.requires_grad:  # not where nothing is learnt, as of given spans without pairs
            torch.autograd.backward(total)
        return losses

    def _mean_losses(
        self, group: Sequence[CollatedBatch], num_items: Mapping[str, int]
    ) -> Iterator[tuple[str, str, Tensor]]:
        """Yield task, name and value of each loss of batches that are encoded together."""
        for part, (batch, inputs_by_task) in zip(group, self._encode(group), strict=True):
            teacher_heads = self._teacher_heads(part, [*inputs_by_task])
            for name, inputs in inputs_by_task.items():
                targets = part.targets[name].to(self.processes.device)
                sums = self._losses(name, inputs, batch, targets, teacher_heads.get(name))
                for term, loss in sums.items():
                    yield name, term, loss / num_items[name]

    def _teacher_heads(
        self, part: CollatedBatch, tasks: Sequence[str]
    ) -> Mapping[str, TeacherHead]:
        """Return what the stage's teacher, if it has one, reads of a batch, with all its words."""
        spec = self.spec.teacher
        if spec is None:
            return {}
        return self.prepared.teachers[spec].read(part.batch.to(self.processes.device), tasks)

    def _losses(
        self,
        name: str,
        inputs: HeadInputs,
        batch: Batch,
        targets: Targets,
        teacher: TeacherHead | None,
    ) -> Losses:
        """Return a task's summed losses; a teacher has its share of those that it teaches."""
        task, head = self.model.tasks[name], self.model.network.head(name)
        losses = task.loss(head, inputs, batch, targets)
        if teacher is None or self.spec.teacher is None:
            return losses
        assert isinstance(task, Teachable), "a stage teaches such tasks alone"
        soft = task.soft_loss(head, inputs, batch, targets, teacher)
        share = self.spec.teacher.weight
        return losses | {term: losses[term].lerp(soft[term], share) for term in soft}

    def _encode(self, group: Sequence[CollatedBatch]) -> list[tuple[Batch, dict[str, HeadInputs]]]:
        """Encode batches together; return each on the device, with the inputs of its heads."""
        model, device, dropped = self.model, self.processes.device, self.spec.word_dropout
        subwords = model.subword_tokenizer
        together = group[0].batch
        if len(group) > 1:
            instances = [instance for part in group for instance in part.shard.batch.instances]
            together = collate(instances, subwords, model.recipe.window)
        batch = word_dropout(together, dropped, subwords.unknown).to(device)
        batches = [batch] if len(group) == 1 else [part.batch.to(device) for part in group]
        tasks = [[*part.targets] for part in group]
        inputs = model.network.head_inputs_of_parts(batch, [*zip(batches, tasks, strict=True)])
        return [*zip(batches, inputs, strict=True)]
