"""The training loop: stages, epochs, updates, read from top to bottom."""

import hashlib
import math
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from spanloom.config.recipe import StageSpec, dumps
from spanloom.data.collate import collate
from spanloom.data.masking import word_dropout
from spanloom.errors import TrainingError
from spanloom.model import serialization
from spanloom.model.model import Model
from spanloom.training import batch_schedule, checkpoint, stage_heads, validation
from spanloom.training.checkpoint import Progress
from spanloom.training.distributed import ProcessGroup
from spanloom.training.interrupt import Interrupt, Stopped, defer_interrupt
from spanloom.training.metrics_log import MetricsLog
from spanloom.training.optimizer import (
    EMA,
    SCHEDULES,
    build_optimizer,
    freeze,
    set_rates,
    trainable_parameters,
)
from spanloom.training.prepare import PreparedData
from spanloom.training.resume import apply_changes

STATE, BEST, OWN, METRICS = "state", "best", "own", "metrics.jsonl"


@dataclass(frozen=True, slots=True)
class LogIntervals:
    """How often a run writes: seconds between checkpoints (0: after every update) and log lines."""

    checkpoint: float = 120.0
    log: int = 20


class Run:
    """One run of a recipe; its folder holds checkpoints, the best model so far, and metrics.

    Where a stage keeps the best of each task, ``OWN`` holds a model a task.
    """

    def __init__(
        self,
        model: Model,
        prepared: PreparedData,
        home: Path,
        processes: ProcessGroup,
        journal: MetricsLog,
    ) -> None:
        """``model`` is freshly built; its network is trained in place."""
        self.model, self.prepared, self.home = model, prepared, home
        self.processes, self.journal = processes, journal
        self.recipe = model.recipe
        self.parameters = trainable_parameters(model.network)
        self.interrupt = Interrupt()
        self.progress = Progress(dumps(self.recipe), prepared.fingerprint)

    def train(self, pace: LogIntervals, *, resume: bool) -> Progress:
        """Run all stages, from the last checkpoint if there is one and ``resume`` is asked for.

        Ends with the best model in ``home/best``. Raises ``TrainingError`` where the loss is no
        number any more or a checkpoint is another run's, ``StorageError`` where something cannot be
        written (the checkpoint before it stays), ``Stopped`` after an update that was interrupted,
        with a checkpoint and a model in ``home/best``.
        """
        state = self.home / STATE
        resumed = bool(self.processes.agree(resume and checkpoint.exists(state)))
        if resumed:
            self._resume(state)
        elif self.processes.first:
            shutil.rmtree(self.home / OWN, ignore_errors=True)  # of a run before
        with defer_interrupt(patient=self.processes.ranks > 1) as self.interrupt:
            for number in range(self.progress.stage, len(self.recipe.stages)):
                if not resumed:
                    self._enter_stage(number)
                stage = _Stage(self, self.recipe.stages[number])
                if resumed:
                    checkpoint.restore(state, self.model.network, stage.optimiser, stage.average)
                else:
                    stage.save_checkpoint()  # from here on the last stage's best is not needed
                    if number == 0:
                        self.journal.start(keep=None)
                resumed = False
                stage.run(pace)
                self._leave_stage()
        return self.progress

    @property
    def has_best(self) -> bool:
        """Whether ``home/best`` holds a model that dev chose in this run."""
        return self.progress.best is not None or self.progress.stage > 0

    def _resume(self, state: Path) -> None:
        """Go on from a checkpoint."""
        self.progress = checkpoint.read_progress(state, self.progress.data)
        for line in apply_changes(state, self.progress, self.recipe):
            self.journal.log(line)
        for spec in self.recipe.stages[: self.progress.stage + 1]:
            self.model = stage_heads.remove_tasks(self.model, spec.remove_tasks)
        self.journal.start(keep=self.progress.global_step, due=self.progress.is_evaluation_due)

    def _enter_stage(self, number: int) -> None:
        """Point at the start of a stage; updates count on through all stages."""
        done = self.progress
        done.stage, done.epoch, done.step_in_epoch, done.is_evaluation_due = number, 0, 0, False
        done.stage_start_step, done.warmup_steps_left, done.lr_scale = done.global_step, None, 1.0
        done.best, done.best_epoch, done.lr_halvings, done.metrics = None, 0.0, 0, {}
        stage = self.recipe.stages[number]
        self.model = stage_heads.remove_tasks(self.model, stage.remove_tasks)
        for name in stage.reset_heads:
            stage_heads.reset_head(self.model, name, f"{self.recipe.seed}/{number}")

    def _leave_stage(self) -> None:
        """Go on from the best weights of the stage; they are saved with the recipe of the end."""
        best = self.home / BEST
        self.processes.wait()
        serialization.load_weights(best, self.model.network)
        self.processes.wait()
        text = dumps(self.model.recipe)
        if (
            self.processes.first
            and (best / serialization.RECIPE).read_text(encoding="utf-8") != text
        ):
            serialization.save(self.model, best, figures=self.progress.metrics)


class _Stage:
    """One stage under way."""

    def __init__(self, run: Run, spec: StageSpec) -> None:
        self.run_, self.spec, self.progress = run, spec, run.progress
        self.model, self.processes = run.model, run.processes
        network = run.model.network
        freeze(network, run.parameters, spec.lr)
        self.optimiser = build_optimizer(network, spec)
        self.average = EMA(network, spec.ema_decay) if spec.ema_decay else None
        self.written = time.monotonic()

    def run(self, pace: LogIntervals) -> None:
        """Train until the epochs are over or patience is."""
        last, progress = math.ceil(self.spec.epochs), self.progress
        while progress.epoch < last and not self._out_of_patience():
            updates = self._draw()
            end = len(updates)
            if progress.epoch == last - 1:
                end = max(1, round(end * (self.spec.epochs - last + 1)))
            if (
                progress.is_evaluation_due
            ):  # it was stopped between an update and the scoring of dev
                self._evaluate_if_due()
            for update in updates[progress.step_in_epoch : end]:
                began, cpu = time.monotonic(), time.process_time()
                stop = self._update(update, pace)
                progress.step_in_epoch += 1
                progress.seconds += time.monotonic() - began
                progress.cpu_seconds += time.process_time() - cpu
                over = progress.step_in_epoch == end and progress.epoch == last - 1
                progress.is_evaluation_due = over or self._is_time()
                if stop:
                    self._stop()
                if progress.is_evaluation_due:
                    self._evaluate_if_due()
                if time.monotonic() - self.written >= pace.checkpoint:
                    self.save_checkpoint()
            progress.epoch += 1
            progress.step_in_epoch = 0
        self.save_checkpoint()  # a stop while the model is being put in place loses nothing

    def _stop(self) -> NoReturn:
        """End here, all processes at once, with a checkpoint and a model that can be used."""
        self.save_checkpoint()
        progress, best = self.progress, self.run_.home / BEST
        if self.processes.first and not self.run_.has_best:
            with self._averaged():
                serialization.save(self.model, best, figures={})
        self.processes.wait()
        raise Stopped(
            f"the best model so far, of epoch {progress.best_epoch:.2f}"
            if progress.best is not None
            else f"the best model of stage {progress.stage - 1}"
            if progress.stage
            else f"the model as it stands after {progress.global_step} updates, dev never scored"
        )

    def _draw(self) -> list[batch_schedule.Update]:
        recipe = self.run_.recipe
        seed = f"{recipe.seed}/{self.progress.stage}"
        number, data = self.progress.epoch, self.run_.prepared.data
        window, cutter = recipe.window, self.model.tokenize_prompt
        updates = batch_schedule.draw_epoch(
            self.spec, data, seed=seed, number=number, window=window, cutter=cutter
        )
        self.progress.steps_per_epoch = len(updates)
        return updates

    def _update(self, update: batch_schedule.Update, pace: LogIntervals) -> bool:
        """Sum the gradients of some batches, then move the weights once.

        Returns whether the run is to stop, which all processes agree on.
        """
        network, progress = self.model.network, self.progress
        network.train()
        self.optimiser.zero_grad(set_to_none=True)
        count = sum(draw.sentences for draw in update)
        losses: dict[str, Tensor] = {}
        for row, draw in enumerate(update):
            torch.manual_seed(self._seed(row, self.processes.rank))
            for name, loss in self._backward(draw, row, count).items():
                losses[name] = losses.get(name, torch.zeros(())) + loss
        stop = self.processes.sum_gradients(network, stop=self.run_.interrupt.asked)
        norm = clip_grad_norm_(network.parameters(), self.spec.max_grad_norm or math.inf)
        if not math.isfinite(float(norm)):
            raise TrainingError(
                f"update {progress.global_step + 1}: the gradient is {float(norm)}; "
                f"lower the rates (lr) or use precision: fp32"
            )
        set_rates(self.optimiser, self._rate())
        self.optimiser.step()
        progress.global_step += 1
        progress.words += sum(len(unit.tokens) for draw in update for unit in draw.instances)
        if self.average is not None:
            self.average.update(network, progress.global_step - progress.stage_start_step)
        if progress.global_step % pace.log == 0 or pace.checkpoint == 0:
            self._log(losses)
        return stop

    def _rate(self) -> float:
        """The part of their highest that rates have now."""
        progress, spec = self.progress, self.spec
        done = (progress.epoch + progress.step_in_epoch / progress.steps_per_epoch) / spec.epochs
        warmup = (
            spec.warmup_ratio if progress.warmup_steps_left is None else progress.warmup_steps_left
        )
        return SCHEDULES[spec.lr_schedule](done, warmup, progress.lr_halvings) * progress.lr_scale

    def _backward(self, draw: batch_schedule.TrainBatch, row: int, count: int) -> dict[str, Tensor]:
        """Add this process's part of a batch to the gradients; ``count`` is global."""
        units = batch_schedule.shard(draw, self.processes.rank, self.processes.ranks)
        if not units:
            return {}
        model, device = self.model, self.processes.device
        batch = collate(units, model.subword_tokenizer, model.recipe.window)
        targets = {}
        for name in draw.tasks:
            task, gold = model.tasks[name], self.run_.prepared.data[name].gold
            # concealed first: what is to be guessed is the text, not what blanking makes of it
            batch, hidden = task.mask_inputs(batch, units, model.subword_tokenizer, self._seed(row))
            targets[name] = (hidden or task.collate_targets(units, gold)).to(device)
        batch = word_dropout(batch, self.spec.word_dropout, model.subword_tokenizer.unknown).to(
            device
        )
        found: dict[str, Tensor] = {}
        weighted = []
        with model.compute.autocast():
            for name, vectors in model.network.head_inputs(batch, draw.tasks).items():
                head, weight = (
                    model.network.head(name),
                    self.spec.loss_weights.get(name, 1.0) / count,
                )
                losses = model.tasks[name].loss(head, vectors, batch, targets[name])
                found |= {f"{name}.{key}": each.total.detach() for key, each in losses.items()}
                weighted += [each.total * weight for each in losses.values()]
        torch.autograd.backward(torch.stack(weighted).sum())
        return {name: loss / count for name, loss in found.items()}

    def _seed(self, row: int, *process: int) -> int:
        """Dropout follows from the seed, the update, the batch in it and the process alone."""
        progress = self.progress
        where = (self.run_.recipe.seed, progress.stage, progress.global_step, row, *process)
        return int.from_bytes(hashlib.sha256(repr(where).encode()).digest()[:7], "big")

    def _log(self, losses: Mapping[str, Tensor]) -> None:
        progress = self.progress
        tasks = self.model.tasks
        names = [f"{task}.{loss}" for task in self.spec.tasks for loss in tasks[task].loss_names]
        values = torch.stack([losses.get(name, torch.zeros(())).cpu() for name in names])
        summed = self.processes.sum(values.to(self.processes.device)).tolist()
        shown = {n: v for n, v in zip(names, summed, strict=True) if v}
        learning_rates = sorted({group["lr"] for group in self.optimiser.param_groups})
        self.run_.journal.write(
            {
                "step": progress.global_step,
                "stage": progress.stage,
                "epoch": progress.epoch,
                "losses": shown,
                "learning_rates": learning_rates,
                "seconds": round(progress.seconds, 3),
                "words_per_cpu_second": round(progress.words / max(progress.cpu_seconds, 1e-9), 1),
            }
        )

    def _is_time(self) -> bool:
        """Whether dev is scored after the update that was made."""
        progress, every = self.progress, self.spec.eval_every_epochs
        now = progress.epoch + progress.step_in_epoch / progress.steps_per_epoch
        before = progress.epoch + (progress.step_in_epoch - 1) / progress.steps_per_epoch
        return math.floor(now / every) != math.floor(before / every)

    def _evaluate_if_due(self) -> None:
        """Score dev; keep the model if it is the best so far. An interrupt ends the scoring."""
        with self._averaged():
            figures = self.processes.agree(self._figures() if self.processes.first else None)
            better = isinstance(figures, dict) and self._save_if_best(figures)
        if not isinstance(figures, dict):
            self._stop()
        self.progress.is_evaluation_due = False
        self._report(figures, better=better)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """Put the average of the weights in their place for a while, if there is one."""
        if self.average is not None:
            self.average.swap(self.model.network)
        try:
            yield
        finally:
            if self.average is not None:
                self.average.swap(self.model.network)

    def _save_if_best(self, figures: dict[str, float]) -> bool:
        """Keep the model if it is the best so far, and say whether it is."""
        progress = self.progress
        score = validation.selection_score(figures, self.spec)
        better = progress.best is None or score > progress.best
        if better:
            progress.best, progress.metrics = score, figures
            progress.best_epoch = progress.epoch + progress.step_in_epoch / progress.steps_per_epoch
            if self.processes.first:
                serialization.save(self.model, self.run_.home / BEST, figures=figures)
        elif self.spec.lr_schedule == "plateau":
            progress.lr_halvings += 1
        if self.spec.save_best_per_task:
            self._save_best_per_task(figures)
        return better

    def _save_best_per_task(self, figures: Mapping[str, float]) -> None:
        """Keep the model for each task that it serves better than any before, of all stages."""
        for task, value in validation.primary_metrics(figures).items():
            if value > self.progress.best_per_task.get(task, -math.inf):
                self.progress.best_per_task[task] = value
                if self.processes.first:
                    place = self.run_.home / OWN
                    place.mkdir(exist_ok=True)
                    serialization.save(self.model, place / task, figures=figures)

    def _figures(self) -> dict[str, float] | None:
        """Score dev; None where that was interrupted."""
        try:
            with self.run_.interrupt.at_once():
                return validation.evaluate(self.model, self.spec, self.run_.prepared.data)
        except KeyboardInterrupt:
            if not self.run_.interrupt.asked:
                raise
            return None

    def _report(self, figures: Mapping[str, float], *, better: bool) -> None:
        progress = self.progress
        now = progress.epoch + progress.step_in_epoch / progress.steps_per_epoch
        self.run_.journal.write(
            {"step": progress.global_step, "epoch": round(now, 3), "dev": dict(figures)}
        )
        shown = "  ".join(f"{name} {100 * value:.2f}" for name, value in figures.items())
        speed = progress.words / max(progress.seconds, 1e-9)
        self.run_.journal.log(
            f"epoch {now:.2f}/{self.spec.epochs:g}  {shown}  "
            f"({progress.seconds:.0f} s, {speed:.0f} words/s){'  best' if better else ''}"
        )

    def _out_of_patience(self) -> bool:
        patience = self.spec.patience
        if patience is None or self.progress.best is None:
            return False
        return self.progress.epoch - self.progress.best_epoch >= patience

    def save_checkpoint(self) -> None:
        """Write a checkpoint."""
        if self.processes.first:
            checkpoint.save(
                self.run_.home / STATE,
                self.progress,
                self.model.network,
                self.optimiser,
                self.average,
            )
        self.written = time.monotonic()
