"""The training loop: stages, epochs and updates."""

import shutil
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NoReturn

import torch
from torch import Tensor

from spanloom.config.recipe import dumps
from spanloom.config.specs import StageSpec
from spanloom.freed_memory import returned_between
from spanloom.model import serialization
from spanloom.model.model import Model
from spanloom.training import batch_schedule, checkpoint, validation, warm_start
from spanloom.training.batch_schedule import Update
from spanloom.training.checkpoint import Progress
from spanloom.training.clipping import (
    clip_gradient,
    clipping_warning,
    is_clipped,
    iter_weight_warnings,
)
from spanloom.training.collation import CollatedBatch, Collation, SeedOf, count_workers, random_seed
from spanloom.training.distributed import ProcessGroup
from spanloom.training.gradients import GradientSum
from spanloom.training.initial_biases import fit_initial_biases
from spanloom.training.interrupt import Interrupt, Stopped, defer_interrupt
from spanloom.training.metrics_log import MetricsLog
from spanloom.training.optimizer import (
    EMA,
    build_optimizer,
    freeze,
    set_rates,
    swapped_in,
    trainable_parameters,
)
from spanloom.training.prepare import PreparedData, TaskData
from spanloom.training.progress_line import LogIntervals, ProgressLine
from spanloom.training.resume import apply_changes
from spanloom.training.stage_length import StageLength
from spanloom.training.validation import sample_dev

STATE, BEST, OWN, METRICS = "state", "best", "own", "metrics.jsonl"


class Run:
    """One run of a recipe; its folder holds checkpoints, the best model so far, and metrics.

    Where a stage saves the best model per task, ``OWN`` holds these models of all stages by task.
    """

    def __init__(
        self,
        model: Model,
        prepared: PreparedData,
        folder: Path,
        processes: ProcessGroup,
        metrics_log: MetricsLog,
    ) -> None:
        """``model`` is untrained; its network is trained in place."""
        self.model, self.prepared, self.folder = model, prepared, folder
        self.processes, self.metrics_log = processes, metrics_log
        self.recipe = model.recipe
        self.parameters = trainable_parameters(model.network)
        # in all stages, as a task's best score is noted in all
        self.saves_best_per_task = any(spec.save_best_per_task for spec in self.recipe.stages)
        self.interrupt = Interrupt()
        self.progress = Progress(dumps(self.recipe), prepared.fingerprint)

    def train(self, pace: LogIntervals, *, resume: bool) -> Progress:
        """Run all stages, from the last checkpoint if there is one and ``resume`` is set.

        Ends with the best model in ``folder/best``. Raises ``TrainingError`` for a loss that is not
        finite and for the checkpoint of another run, ``StorageError`` where something cannot be
        written (the checkpoint before it stays), ``Stopped`` after an update that was interrupted,
        with a checkpoint and a model in ``folder/best``.
        """
        state = self.folder / STATE
        resumed = bool(self.processes.agree(resume and checkpoint.exists(state)))
        if resumed:
            self._resume(state)
        elif self.processes.is_first:
            for name in (STATE, OWN):  # of a run before; first what --resume would go on from
                shutil.rmtree(self.folder / name, ignore_errors=True)
        with defer_interrupt(patient=self.processes.world_size > 1) as self.interrupt:
            for number in range(self.progress.stage, len(self.recipe.stages)):
                if not resumed:
                    self._enter_stage(number)
                stage = StageTrainer(self, self.recipe.stages[number])
                if resumed:
                    checkpoint.restore(state, self.model.network, stage.optimizer, stage.average)
                else:
                    stage.fit_biases(self._tasks_with_new_heads(number))
                    stage.save_checkpoint()  # from here on the last stage's best is not needed
                    if number == 0:
                        self.metrics_log.start(keep=None)
                resumed = False
                stage.run(pace)
                self._leave_stage()
        return self.progress

    @property
    def has_best(self) -> bool:
        """Whether ``folder/best`` holds a model that was selected on dev in this run."""
        return self.progress.best is not None or self.progress.stage > 0

    def _resume(self, state: Path) -> None:
        """Restore the progress of a checkpoint, and the changes of stages before it."""
        self.progress = checkpoint.read_progress(state, self.progress.data)
        for line in apply_changes(state, self.progress, self.recipe):
            self.metrics_log.log(line)
        for spec in self.recipe.stages[: self.progress.stage + 1]:
            self.model = warm_start.of_stage(self.model, spec)
        self.metrics_log.start(keep=self.progress.global_step, due=self.progress.is_evaluation_due)

    def _enter_stage(self, number: int) -> None:
        """Reset the progress to the start of a stage; steps count on through all stages."""
        p = self.progress
        p.stage, p.epoch, p.step_in_epoch, p.is_evaluation_due = number, 0, 0, False
        p.stage_start_step, p.warmup_share, p.lr_scale = p.global_step, None, 1.0
        p.num_clipped, p.num_updates = 0, None
        p.best, p.best_epoch, p.evaluated_epoch, p.metrics = None, 0.0, 0.0, {}
        p.lr_halvings = p.stale_evaluations = 0
        stage = self.recipe.stages[number]
        self.model = warm_start.of_stage(self.model, stage)
        for name in stage.reset_heads:
            warm_start.reset_head(self.model, name, f"{self.recipe.seed}/{number}")

    def _tasks_with_new_heads(self, number: int) -> list[str]:
        """Return the tasks of a stage whose heads were neither trained before nor inherited."""
        stage, routes = self.recipe.stages[number], self.model.network.routes
        earlier = {name for before in self.recipe.stages[:number] for name in before.tasks}
        old = {routes[name].head for name in earlier if name in routes}
        old |= self.prepared.inherited_heads
        resets = stage.reset_heads
        return [name for name in stage.tasks if name in resets or routes[name].head not in old]

    def _leave_stage(self) -> None:
        """Load the best weights of the stage, saved with the recipe as it is at the stage's end."""
        best = self.folder / BEST
        self.processes.wait()
        serialization.load_weights(best, self.model.network)
        self.processes.wait()
        text = dumps(self.model.recipe)
        if (
            self.processes.is_first
            and (best / serialization.RECIPE).read_text(encoding="utf-8") != text
        ):
            serialization.save(self.model, best, figures=self.progress.metrics)


class StageTrainer:
    """One stage of a run: its optimiser, its weight average, its updates."""

    def __init__(self, run: Run, spec: StageSpec) -> None:
        self.run_, self.spec, self.progress = run, spec, run.progress
        self.length = StageLength(spec, batch_schedule.num_groups(spec, run.prepared.data))
        self.model, self.processes = run.model, run.processes
        freeze(self.model.network, run.parameters, spec.lr)
        self.optimizer = build_optimizer(self.model.network, spec)
        self.average = EMA(self.model.network, spec.ema_decay) if spec.ema_decay else None
        self.collation = Collation(run.model, run.prepared, run.processes)
        self.gradients = GradientSum(run.model, run.prepared, run.processes, spec)
        self.written = time.monotonic()
        self.losses: Mapping[str, Tensor] = {}

    def run(self, pace: LogIntervals) -> None:
        """Train until the last epoch or early stopping."""
        length, progress, log = self.length, self.progress, self.run_.metrics_log.log
        self.line = ProgressLine(log, pace, progress, length)
        for line in iter_weight_warnings(progress.stage, self.spec):
            log(line)
        while not length.is_over(progress) and not self._out_of_patience():
            updates = self.draw_epoch()
            end = length.start_epoch(progress, updates)
            if progress.is_evaluation_due:  # the run was stopped before dev was evaluated
                self._evaluate()
            self._train_epoch(updates[progress.step_in_epoch : end], end, pace)
            progress.epoch += 1
            progress.step_in_epoch = 0
        if progress.best is None:  # resumed with fewer epochs, before dev was ever scored
            self._evaluate()
        self.save_checkpoint()  # a stop while the model is being put in place loses nothing

    def _train_epoch(self, updates: Sequence[Update], end: int, pace: LogIntervals) -> None:
        """Train on what is left of an epoch that ends before update ``end``."""
        progress, length = self.progress, self.length
        workers = count_workers(self.processes, len(updates))
        seeds = [self._seed_of(progress.global_step + row) for row in range(len(updates))]
        with closing(self.collation.prefetch(updates, seeds, workers)) as batches:
            for update in returned_between(updates, every=64):
                start, cpu_start = time.monotonic(), time.process_time()
                stop = self.update(update, pace, next(batches))
                progress.step_in_epoch += 1
                progress.seconds += time.monotonic() - start
                progress.cpu_seconds += time.process_time() - cpu_start
                is_last = length.is_last_update(progress, end)
                progress.is_evaluation_due = is_last or length.is_evaluation_time(progress)
                if stop:
                    self._stop()
                if progress.is_evaluation_due:
                    self._evaluate()
                if self.processes.is_first:
                    self._tell()
                if time.monotonic() - self.written >= pace.checkpoint:
                    self.save_checkpoint()

    def _stop(self) -> NoReturn:
        """Stop all processes at once, with a checkpoint and a usable model."""
        self.save_checkpoint()
        progress, best = self.progress, self.run_.folder / BEST
        if self.processes.is_first and not self.run_.has_best:
            with swapped_in(self.average, self.model.network):
                serialization.save(self.model, best, figures={})
        self.processes.wait()
        raise Stopped(
            f"the best model so far, of epoch {progress.best_epoch:.2f}"
            if progress.best is not None
            else f"the best model of stage {progress.stage - 1}"
            if progress.stage
            else f"the model as it stands after {progress.global_step} updates, dev never scored"
        )

    def fit_biases(self, names: Collection[str]) -> None:
        """Fit the output biases of some tasks' new heads; all processes take the first one's."""
        biases = fit_initial_biases(self.model, self.run_.prepared, names, self.draw_epoch)
        self.processes.share(biases)  # as GPUs add up in no fixed order

    def draw_epoch(self) -> list[Update]:
        """Return the updates of the current epoch."""
        recipe, progress = self.run_.recipe, self.progress
        updates = batch_schedule.draw_epoch(
            self.spec,
            self.run_.prepared.data,
            seed=f"{recipe.seed}/{progress.stage}",
            epoch=progress.epoch,
            window=recipe.window,
            tokenize_prompt=self.model.tokenize_prompt,
        )
        progress.steps_per_epoch = len(updates)
        return updates

    def update(
        self, update: Update, pace: LogIntervals, batches: Sequence[CollatedBatch] | None = None
    ) -> bool:
        """Sum the gradients of the update's batches, perhaps prefetched; step the optimiser.

        Return whether the run must stop; all processes agree on it.
        """
        network, progress = self.model.network, self.progress
        network.train()
        self.optimizer.zero_grad(set_to_none=True)
        self.losses = losses = self.backward(update, batches)
        stop = self.processes.sum_gradients(network, stop=self.run_.interrupt.asked)
        norm = clip_gradient(network, self.spec, progress.global_step + 1)
        progress.num_clipped += is_clipped(norm, self.spec)
        set_rates(self.optimizer, self._rate())
        self.optimizer.step()
        words = sum(batch.num_words for batch in update)
        pieces = sum(batch.num_pieces for batch in update)
        progress.count_update((task for batch in update for task in batch.tasks), words, pieces)
        if self.average is not None:
            self.average.update(network, progress.global_step - progress.stage_start_step)
        if progress.global_step % pace.log == 0 or pace.checkpoint == 0:
            self._log(losses, norm)
        return stop

    def _rate(self) -> float:
        """Return the current learning rates as a fraction of their maxima."""
        share = self.length.share_done(self.progress)
        return self.progress.rate_factor(self.spec, share)

    def backward(
        self, update: Update, batches: Sequence[CollatedBatch] | None = None
    ) -> dict[str, Tensor]:
        """Add the gradients of this process's shard of an update; return its part of the losses."""
        seed_of = self._seed_of(self.progress.global_step)
        if batches is None:
            batches = self.collation.collate(update, seed_of)
        return self.gradients.add(batches, seed_of)

    def _seed_of(self, step: int) -> SeedOf:
        """Return the random seeds of masks and dropout: of recipe, stage, step, row and part."""
        return partial(random_seed, self.run_.recipe.seed, self.progress.stage, step)

    def _log(self, losses: Mapping[str, Tensor], norm: float) -> None:
        progress = self.progress
        tasks = self.model.tasks
        names = [f"{task}.{loss}" for task in self.spec.tasks for loss in tasks[task].loss_names]
        values = torch.stack([losses.get(name, torch.zeros(())).cpu() for name in names])
        sums = self.processes.sum(values.to(self.processes.device)).tolist()
        nonzero = {name: value for name, value in zip(names, sums, strict=True) if value}
        learning_rates = sorted({group["lr"] for group in self.optimizer.param_groups})
        self.run_.metrics_log.write(
            {
                "step": progress.global_step,
                "stage": progress.stage,
                "epoch": progress.epoch,
                "losses": nonzero,
                "gradient_norm": round(norm, 4),
                "clipped": round(progress.clipped_share, 4),
                "learning_rates": learning_rates,
                "seconds": round(progress.seconds, 3),
                "words_per_cpu_second": round(progress.words / max(progress.cpu_seconds, 1e-9), 1),
            }
        )

    def _evaluate(self) -> None:
        """Evaluate on dev; save the model if it improved. An interrupt ends the evaluation."""
        with swapped_in(self.average, self.model.network):
            data = self.run_.prepared.data
            metrics = self.processes.agree(self._metrics(data) if self.processes.is_first else None)
            better = isinstance(metrics, dict) and self._save_if_best(metrics)
        if not isinstance(metrics, dict):
            self._stop()
        self.progress.is_evaluation_due = False
        self.progress.evaluated_epoch = self.progress.epochs_done
        self._report(metrics, better=better)

    def _tell(self) -> None:
        """Show how it goes; nothing else depends on the first look at dev."""
        self.line.update(self.losses)
        if self.line.is_look_due:
            with swapped_in(self.average, self.model.network):
                metrics = self._metrics(sample_dev(self.run_.prepared.data))
            if metrics is not None:
                self.line.show_look(metrics)

    def _save_if_best(self, metrics: dict[str, float]) -> bool:
        """Save the model if it is the best of this stage; return whether it is."""
        progress = self.progress
        score = validation.selection_score(metrics, self.spec)
        better = checkpoint.is_better(score, progress.best)
        if better:
            progress.best, progress.metrics = score, metrics
            progress.best_epoch = progress.epochs_done
            progress.stale_evaluations = 0
            if self.processes.is_first:
                serialization.save(self.model, self.run_.folder / BEST, figures=metrics)
        elif self.spec.lr_schedule == "plateau":
            progress.count_stale_evaluation(self.spec.lr_patience)
        self._note_best_per_task(metrics)
        return better

    def _note_best_per_task(self, metrics: Mapping[str, float]) -> None:
        """Note each task whose primary metric is the best of all stages; perhaps save its model."""
        for task, value in validation.primary_metrics(metrics).items():
            if self.progress.improves(task, value) and self.run_.saves_best_per_task:
                if self.processes.is_first:
                    folder = self.run_.folder / OWN
                    folder.mkdir(exist_ok=True)
                    serialization.save(self.model, folder / task, figures=metrics)

    def _metrics(self, data: Mapping[str, TaskData]) -> dict[str, float] | None:
        """Return the metrics on dev, None where the evaluation was interrupted."""
        try:
            with self.run_.interrupt.at_once():
                return validation.evaluate(self.model, self.spec, data)
        except KeyboardInterrupt:
            if not self.run_.interrupt.asked:
                raise
            return None

    def _report(self, metrics: Mapping[str, float], *, better: bool) -> None:
        progress = self.progress
        self.run_.metrics_log.write(
            {
                "step": progress.global_step,
                "epoch": round(progress.epochs_done, 3),
                "dev": dict(metrics),
                "task_updates": dict(progress.task_updates),
            }
        )
        self.line.show_scores(metrics, str(self.length), better=better)
        if warning := clipping_warning(self.progress.clipped_share, self.spec):
            self.run_.metrics_log.log(warning)

    def _out_of_patience(self) -> bool:
        """Return whether to stop early: between epochs only, and a resumed run may be in one."""
        patience = self.spec.patience
        if patience is None or self.progress.best is None or self.progress.step_in_epoch:
            return False
        return self.progress.evaluated_epoch - self.progress.best_epoch >= patience

    def save_checkpoint(self) -> None:
        """Write a checkpoint."""
        if self.processes.is_first:
            checkpoint.save(
                self.run_.folder / STATE,
                self.progress,
                self.model.network,
                self.optimizer,
                self.average,
            )
        self.written = time.monotonic()
