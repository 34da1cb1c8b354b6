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
from spanloom.data.batches import collate
from spanloom.data.masking import blank
from spanloom.errors import TrainingError
from spanloom.model import folder
from spanloom.model.model import Model
from spanloom.training import checkpoint, heads, plan, scores
from spanloom.training.checkpoint import Progress
from spanloom.training.interrupt import Interrupt, Stopped, held
from spanloom.training.journal import Journal
from spanloom.training.optimise import (
    SCHEDULES,
    Average,
    freeze,
    learnable,
    optimiser,
    set_rates,
)
from spanloom.training.prepare import Prepared
from spanloom.training.processes import Processes
from spanloom.training.resume import take_up

STATE, BEST, OWN, METRICS = "state", "best", "own", "metrics.jsonl"


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a run writes: seconds between checkpoints (0: after every update) and log lines."""

    checkpoint: float = 120.0
    log: int = 20


class Run:
    """One run of a recipe; its folder holds checkpoints, the best model so far, and metrics.

    Where a stage keeps the best of each task, ``OWN`` holds a model a task.
    """

    def __init__(
        self, model: Model, prepared: Prepared, home: Path, processes: Processes, journal: Journal
    ) -> None:
        """``model`` is freshly built; its network is trained in place."""
        self.model, self.prepared, self.home = model, prepared, home
        self.processes, self.journal = processes, journal
        self.recipe = model.recipe
        self.learnable = learnable(model.network)
        self.interrupt = Interrupt()
        self.progress = Progress(dumps(self.recipe), prepared.fingerprint)

    def train(self, pace: Pace, *, resume: bool) -> Progress:
        """Run all stages, from the last checkpoint if there is one and ``resume`` is asked for.

        Ends with the best model in ``home/best``. Raises ``TrainingError`` where the loss is no
        number any more or a checkpoint is another run's, ``StorageError`` where something cannot be
        written (the checkpoint before it stays), ``Stopped`` after an update that was interrupted,
        with a checkpoint and a model in ``home/best``.
        """
        state = self.home / STATE
        resumed = bool(self.processes.agree(resume and checkpoint.there(state)))
        if resumed:
            self._take_up(state)
        elif self.processes.first:
            shutil.rmtree(self.home / OWN, ignore_errors=True)  # of a run before
        with held(patient=self.processes.ranks > 1) as self.interrupt:
            for number in range(self.progress.stage, len(self.recipe.stages)):
                if not resumed:
                    self._enter(number)
                stage = _Stage(self, self.recipe.stages[number])
                if resumed:
                    checkpoint.restore(state, self.model.network, stage.optimiser, stage.average)
                else:
                    stage.keep()  # from here on the last stage's best is not needed
                    if number == 0:
                        self.journal.start(keep=None)
                resumed = False
                stage.run(pace)
                self._leave()
        return self.progress

    @property
    def has_best(self) -> bool:
        """Whether ``home/best`` holds a model that dev chose in this run."""
        return self.progress.best is not None or self.progress.stage > 0

    def _take_up(self, state: Path) -> None:
        """Go on from a checkpoint."""
        self.progress = checkpoint.read_progress(state, self.progress.data)
        for line in take_up(state, self.progress, self.recipe):
            self.journal.say(line)
        for spec in self.recipe.stages[: self.progress.stage + 1]:
            self.model = heads.without(self.model, spec.drop)
        self.journal.start(keep=self.progress.updates, due=self.progress.due)

    def _enter(self, number: int) -> None:
        """Point at the start of a stage; updates count on through all stages."""
        done = self.progress
        done.stage, done.epoch, done.batch, done.due = number, 0, 0, False
        done.entered, done.warmup, done.scale = done.updates, None, 1.0
        done.best, done.best_epoch, done.halvings, done.figures = None, 0.0, 0, {}
        stage = self.recipe.stages[number]
        self.model = heads.without(self.model, stage.drop)
        for name in stage.fresh:
            heads.renew(self.model, name, f"{self.recipe.seed}/{number}")

    def _leave(self) -> None:
        """Go on from the best weights of the stage; they are saved with the recipe of the end."""
        best = self.home / BEST
        self.processes.wait()
        folder.load_weights(best, self.model.network)
        self.processes.wait()
        text = dumps(self.model.recipe)
        if self.processes.first and (best / folder.RECIPE).read_text(encoding="utf-8") != text:
            folder.save(self.model, best, figures=self.progress.figures)


class _Stage:
    """One stage under way."""

    def __init__(self, run: Run, spec: StageSpec) -> None:
        self.run_, self.spec, self.progress = run, spec, run.progress
        self.model, self.processes = run.model, run.processes
        network = run.model.network
        freeze(network, run.learnable, spec.lr)
        self.optimiser = optimiser(network, spec)
        self.average = Average(network, spec.average) if spec.average else None
        self.written = time.monotonic()

    def run(self, pace: Pace) -> None:
        """Train until the epochs are over or patience is."""
        last, progress = math.ceil(self.spec.epochs), self.progress
        while progress.epoch < last and not self._impatient():
            updates = self._draw()
            end = len(updates)
            if progress.epoch == last - 1:
                end = max(1, round(end * (self.spec.epochs - last + 1)))
            if progress.due:  # it was stopped between an update and the scoring of dev
                self._look()
            for update in updates[progress.batch : end]:
                began, cpu = time.monotonic(), time.process_time()
                stop = self._update(update, pace)
                progress.batch += 1
                progress.seconds += time.monotonic() - began
                progress.cpu_seconds += time.process_time() - cpu
                over = progress.batch == end and progress.epoch == last - 1
                progress.due = over or self._is_time()
                if stop:
                    self._stop()
                if progress.due:
                    self._look()
                if time.monotonic() - self.written >= pace.checkpoint:
                    self.keep()
            progress.epoch += 1
            progress.batch = 0
        self.keep()  # who is stopped while the model is put in its place has nothing to learn again

    def _stop(self) -> NoReturn:
        """End here, all processes at once, with a checkpoint and a model that can be used."""
        self.keep()
        progress, best = self.progress, self.run_.home / BEST
        if self.processes.first and not self.run_.has_best:
            with self._averaged():
                folder.save(self.model, best, figures={})
        self.processes.wait()
        raise Stopped(
            f"the best model so far, of epoch {progress.best_epoch:.2f}"
            if progress.best is not None
            else f"the best model of stage {progress.stage - 1}"
            if progress.stage
            else f"the model as it stands after {progress.updates} updates, dev never scored"
        )

    def _draw(self) -> list[plan.Update]:
        recipe = self.run_.recipe
        seed = f"{recipe.seed}/{self.progress.stage}"
        number, data = self.progress.epoch, self.run_.prepared.data
        window, cutter = recipe.window, self.model.prompt
        updates = plan.epoch(
            self.spec, data, seed=seed, number=number, window=window, cutter=cutter
        )
        self.progress.length = len(updates)
        return updates

    def _update(self, update: plan.Update, pace: Pace) -> bool:
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
        norm = clip_grad_norm_(network.parameters(), self.spec.clip or math.inf)
        if not math.isfinite(float(norm)):
            raise TrainingError(
                f"update {progress.updates + 1}: the gradient is {float(norm)}; "
                f"lower the rates (lr) or use precision: fp32"
            )
        set_rates(self.optimiser, self._rate())
        self.optimiser.step()
        progress.updates += 1
        progress.words += sum(len(unit.forms) for draw in update for unit in draw.units)
        if self.average is not None:
            self.average.update(network, progress.updates - progress.entered)
        if progress.updates % pace.log == 0 or pace.checkpoint == 0:
            self._log(losses)
        return stop

    def _rate(self) -> float:
        """The part of their highest that rates have now."""
        progress, spec = self.progress, self.spec
        done = (progress.epoch + progress.batch / progress.length) / spec.epochs
        warmup = spec.warmup if progress.warmup is None else progress.warmup
        return SCHEDULES[spec.schedule](done, warmup, progress.halvings) * progress.scale

    def _backward(self, draw: plan.Draw, row: int, count: int) -> dict[str, Tensor]:
        """Add this process's part of a batch to the gradients; ``count`` is global."""
        units = plan.share(draw, self.processes.rank, self.processes.ranks)
        if not units:
            return {}
        model, device = self.model, self.processes.device
        batch = collate(units, model.pieces, model.recipe.window)
        targets = {}
        for name in draw.tasks:
            task, gold = model.tasks[name], self.run_.prepared.data[name].gold
            # concealed first: what is to be guessed is the text, not what blanking makes of it
            batch, hidden = task.conceal(batch, units, model.pieces, self._seed(row))
            targets[name] = (hidden or task.targets(units, gold)).to(device)
        batch = blank(batch, self.spec.blanked, model.pieces.unknown).to(device)
        found: dict[str, Tensor] = {}
        weighted = []
        with model.compute.autocast():
            for name, vectors in model.network.read(batch, draw.tasks).items():
                head, weight = model.network.head(name), self.spec.weights.get(name, 1.0) / count
                losses = model.tasks[name].loss(head, vectors, batch, targets[name])
                found |= {f"{name}.{key}": each.total.detach() for key, each in losses.items()}
                weighted += [each.total * weight for each in losses.values()]
        torch.autograd.backward(torch.stack(weighted).sum())
        return {name: loss / count for name, loss in found.items()}

    def _seed(self, row: int, *process: int) -> int:
        """Dropout follows from the seed, the update, the batch in it and the process alone."""
        progress = self.progress
        where = (self.run_.recipe.seed, progress.stage, progress.updates, row, *process)
        return int.from_bytes(hashlib.sha256(repr(where).encode()).digest()[:7], "big")

    def _log(self, losses: Mapping[str, Tensor]) -> None:
        progress = self.progress
        tasks = self.model.tasks
        names = [f"{task}.{loss}" for task in self.spec.tasks for loss in tasks[task].learns]
        values = torch.stack([losses.get(name, torch.zeros(())).cpu() for name in names])
        summed = self.processes.sum(values.to(self.processes.device)).tolist()
        shown = {n: v for n, v in zip(names, summed, strict=True) if v}
        rates = sorted({group["lr"] for group in self.optimiser.param_groups})
        self.run_.journal.write(
            {
                "update": progress.updates,
                "stage": progress.stage,
                "epoch": progress.epoch,
                "losses": shown,
                "rates": rates,
                "seconds": round(progress.seconds, 3),
                "words_per_cpu_second": round(progress.words / max(progress.cpu_seconds, 1e-9), 1),
            }
        )

    def _is_time(self) -> bool:
        """Whether dev is scored after the update that was made."""
        progress, every = self.progress, self.spec.evaluate_every
        now = progress.epoch + progress.batch / progress.length
        before = progress.epoch + (progress.batch - 1) / progress.length
        return math.floor(now / every) != math.floor(before / every)

    def _look(self) -> None:
        """Score dev; keep the model if it is the best so far. An interrupt ends the scoring."""
        with self._averaged():
            figures = self.processes.agree(self._figures() if self.processes.first else None)
            better = isinstance(figures, dict) and self._judge(figures)
        if not isinstance(figures, dict):
            self._stop()
        self.progress.due = False
        self._tell(figures, better=better)

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

    def _judge(self, figures: dict[str, float]) -> bool:
        """Keep the model if it is the best so far, and say whether it is."""
        progress = self.progress
        score = scores.decisive(figures, self.spec)
        better = progress.best is None or score > progress.best
        if better:
            progress.best, progress.figures = score, figures
            progress.best_epoch = progress.epoch + progress.batch / progress.length
            if self.processes.first:
                folder.save(self.model, self.run_.home / BEST, figures=figures)
        elif self.spec.schedule == "plateau":
            progress.halvings += 1
        if self.spec.keep_each:
            self._keep_each(figures)
        return better

    def _keep_each(self, figures: Mapping[str, float]) -> None:
        """Keep the model for each task that it serves better than any before, of all stages."""
        for task, value in scores.firsts(figures).items():
            if value > self.progress.own.get(task, -math.inf):
                self.progress.own[task] = value
                if self.processes.first:
                    place = self.run_.home / OWN
                    place.mkdir(exist_ok=True)
                    folder.save(self.model, place / task, figures=figures)

    def _figures(self) -> dict[str, float] | None:
        """Score dev; None where that was interrupted."""
        try:
            with self.run_.interrupt.at_once():
                return scores.figures(self.model, self.spec, self.run_.prepared.data)
        except KeyboardInterrupt:
            if not self.run_.interrupt.asked:
                raise
            return None

    def _tell(self, figures: Mapping[str, float], *, better: bool) -> None:
        progress = self.progress
        now = progress.epoch + progress.batch / progress.length
        self.run_.journal.write(
            {"update": progress.updates, "epochs": round(now, 3), "dev": dict(figures)}
        )
        shown = "  ".join(f"{name} {100 * value:.2f}" for name, value in figures.items())
        speed = progress.words / max(progress.seconds, 1e-9)
        self.run_.journal.say(
            f"epoch {now:.2f}/{self.spec.epochs:g}  {shown}  "
            f"({progress.seconds:.0f} s, {speed:.0f} words/s){'  best' if better else ''}"
        )

    def _impatient(self) -> bool:
        patience = self.spec.patience
        if patience is None or self.progress.best is None:
            return False
        return self.progress.epoch - self.progress.best_epoch >= patience

    def keep(self) -> None:
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
