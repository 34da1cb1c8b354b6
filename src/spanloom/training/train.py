"""Train a plan: build the model, run its stages, verify the model folder."""

import filecmp
import hashlib
import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import torch

from spanloom.atomic_io import MANIFEST, make_folder, write_file
from spanloom.corpora.cache_dir import cache_dir
from spanloom.data.collate import collate
from spanloom.data.instances import InstanceLimits
from spanloom.document import Document, Query
from spanloom.embedders import transformer
from spanloom.embedders._base import BuildContext, Embedder
from spanloom.errors import ModelError, StorageError
from spanloom.freed_memory import kept_by_the_process
from spanloom.model import build, serialization
from spanloom.model.card_scores import main_scores
from spanloom.model.model import Model
from spanloom.model.network import Network
from spanloom.model.plan import Plan, resolve
from spanloom.model.precision import compute
from spanloom.nn.masked_language import MaskedLMHead
from spanloom.quantity import shorten_list
from spanloom.tensors import HeadInputs
from spanloom.termination import terminable
from spanloom.training import biases, checkpoint, samplers, text_data
from spanloom.training.checkpoint import Progress
from spanloom.training.distributed import ProcessGroup
from spanloom.training.interrupt import Stopped, ignore_signals
from spanloom.training.lock import hold_lock
from spanloom.training.loop import BEST, METRICS, OWN, STATE, Run
from spanloom.training.masked_lm_weights import load_published, model_class
from spanloom.training.metrics_log import Log, MetricsLog
from spanloom.training.prepare import PreparedData, prepare
from spanloom.training.progress_line import LogIntervals
from spanloom.training.teacher import load_teachers
from spanloom.training.validation import primary_metrics
from spanloom.training.warm_start import earlier_data, inherit, inherit_trunk

_LEFT = "left"  # identifies the model that a stopped run left at ``out``
_TEXT = "Ada (b. 1815) didn't add 5 ml of the buffer,\nand Größe 中文 42%.  Then she met Bob."
_PROBE = Document(_TEXT, queries=(Query("Q1", "Who met Bob?"),))
_NEW_HEAD = "a new masked language head, as none of BERT's form lies beside the encoder"


def run_folder(out: Path) -> Path:
    """Return the folder of a run, beside the model, ``NAME.run``; ``StorageError`` for no name."""
    if not out.name:
        raise StorageError(f"{out}: expected the name of a folder to be made")
    return out.with_name(f"{out.name}.run")


def refuse_foreign(out: Path) -> None:
    """Raise ``StorageError`` if a model could not be written to ``out``."""
    if not os.path.lexists(out):
        return
    if not out.is_dir() or out.is_symlink():
        raise StorageError(f"{out}: expected a folder or nothing, something else is there")
    if any(out.iterdir()) and not (out / MANIFEST).is_file():
        raise StorageError(f"{out}: is no model of ours and is not empty; choose another folder")


def _left_out(plan: Plan) -> tuple[str, ...]:
    """Return the tasks that no stage trains, unless an earlier model knows them.

    Their heads would stay random, and annotate all the same.
    """
    return plan.recipe.untrained_tasks if plan.recipe.init_from is None else ()


def trained_part(plan: Plan) -> Plan:
    """Return the plan without the tasks that are no part of its model."""
    names = _left_out(plan)
    return resolve(plan.recipe.without_tasks(names), plan.recipe_dir) if names else plan


def left_out_note(plan: Plan) -> str | None:
    """Tell which tasks of a plan are no part of its model; None if all are."""
    names = _left_out(plan)
    return f"left out, as no stage trains them: {', '.join(names)}" if names else None


def new_model(plan: Plan, device: str | None = None) -> tuple[Model, PreparedData]:
    """Read the data and build an untrained model, on a pre-trained encoder or an earlier model.

    Raises what ``train`` does, except ``TrainingError``.
    """
    samplers.check(plan.recipe)
    start, encoder = plan.recipe.init_from, plan.transformer
    if data := earlier_data(plan.recipe):
        plan = plan.noting(pretraining_data=data)
    earlier = None
    if start is not None:
        earlier = serialization.load(start, device="cpu", precision="fp32")
        subwords = earlier.subword_tokenizer
    elif encoder is not None:
        subwords = build.load_tokenizer(transformer.source(encoder.transformer, plan.recipe_dir))
    else:
        subwords = build.word_level_tokenizer()
    words = plan.word_tokenizer
    prepared = prepare(plan, words, subwords)
    plan = prepared.plan
    torch.manual_seed(plan.recipe.seed)
    if earlier is None:
        context = BuildContext(plan.recipe_dir, prepared.words)
        trunk = [e.type.build(e.options, context, e.location) for e in plan.embedders]
    else:
        trunk = inherit_trunk(plan, earlier)
    network = build.network(plan, prepared.tasks, trunk)
    for part in network.trunk:
        cast(Embedder, part).extra_files()  # what cannot be saved is better refused now
    build.check_window(plan, subwords, network)
    config = compute(plan.recipe.stages[0].precision, device)
    model = Model(plan, words, subwords, network, prepared.tasks, config)
    if earlier is not None:
        new = inherit(model, earlier)
        note = f"starting from {start}; anew: {', '.join(new) or 'nothing'}"
        inherited = frozenset(network.heads) - set(new)
        prepared = replace(prepared, notes=(*prepared.notes, note), inherited_heads=inherited)
    elif encoder is not None and encoder.init == "pretrained":
        folder = transformer.source(encoder.transformer, plan.recipe_dir)
        prepared = _with_pretrained_heads(prepared, network, folder)
    network.to(config.device)
    return model, _with_teachers(prepared, model)


def _with_teachers(prepared: PreparedData, model: Model) -> PreparedData:
    """Load the models that teach; a run goes on only with the same ones."""
    teachers = load_teachers(model)
    names = dict.fromkeys(spec.model for spec in teachers)
    digests = [serialization.digest_of(name) for name in names]
    fingerprint = " ".join([prepared.fingerprint, *digests])
    return replace(prepared, teachers=teachers, fingerprint=fingerprint)


def _with_pretrained_heads(prepared: PreparedData, network: Network, folder: str) -> PreparedData:
    """Load the masked language head that lies beside an encoder, if there is one; note which."""
    notes = []
    has_berts = network.transformer is not None and model_class(network.transformer) is not None
    for name in sorted({network.routes[name].head for name in prepared.tasks}):
        head = network.heads[name]
        if isinstance(head, MaskedLMHead):
            is_there = has_berts and load_published(head, folder)
            start = f"the masked language head of {folder}" if is_there else _NEW_HEAD
            notes.append(f"{name}: starts with {start}")
    return replace(prepared, notes=(*prepared.notes, *notes))


def _reading_note(plan: Plan) -> str:
    """Tell what is read before anything is trained, as large corpora take minutes."""
    note = f"reading {shorten_list(plan.recipe.all_sources)}"
    if text_data.streamed(plan):
        note += f"; pieces of raw text are kept in {cache_dir()}"
    return note


def replaced_note(out: Path) -> str | None:
    """Tell that a finished model will be replaced, with its scores; None if there is none."""
    if not (out / MANIFEST).is_file() or is_unfinished(out):
        return None
    card = out / serialization.CARD
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    scores = main_scores(text)
    model = f"a model ({scores})" if scores else "a model"
    return f"{out}: is {model}, which is replaced when this run ends; another name keeps it"


def _unfinished_note(run_dir: Path) -> str | None:
    """Tell that a run that was stopped is lost where another one starts; None if there is none."""
    if not ((run_dir / _LEFT).is_file() and checkpoint.exists(run_dir / STATE)):
        return None
    return f"{run_dir}: has a run that was stopped; --resume goes on with it, this one replaces it"


def train(
    plan: Plan,
    out: Path,
    log: Log,
    *,
    resume: bool = False,
    pace: LogIntervals = LogIntervals(),
    device: str | None = None,
    used: Collection[str] | None = None,
) -> Progress:
    """Train the model of a plan and write the best one to ``out``.

    The biases of the tasks ``used`` are tuned; None stands for all of the last stage.
    Checkpoints and metrics lie in ``run_folder(out)``, which no other run can use meanwhile. Raises
    ``DataError``, ``FormatError``, ``ModelError``, ``RecipeError``, ``StorageError`` and
    ``TrainingError``; on Ctrl-C and SIGTERM ``KeyboardInterrupt``, after a checkpoint ``Stopped``.
    """
    refuse_foreign(out)
    left_out, plan = left_out_note(plan), trained_part(plan)
    processes = ProcessGroup(device)
    run_dir = run_folder(out)
    make_folder(run_dir)
    with terminable(), hold_lock(run_dir, processes):
        if processes.is_first:
            unfinished = None if resume else _unfinished_note(run_dir)
            for note in (replaced_note(out), unfinished, left_out):
                if note is not None:
                    log(note)
            log(_reading_note(plan))
        model, prepared = new_model(plan, device or processes.device.type)
        metrics_log = MetricsLog(run_dir / METRICS, log, active=processes.is_first)
        metrics_log.log(f"computing on {model.compute}, {processes.world_size} process(es)")
        for line in prepared.notes:
            metrics_log.log(line)
        run = Run(model, prepared, run_dir, processes, metrics_log)
        try:
            with kept_by_the_process():
                progress = run.train(pace, resume=resume)
        except Stopped as stopped:
            if processes.world_size > 1:
                ignore_signals()  # who started them may signal each of them again
            raise Stopped(_leave(out, str(stopped), first=processes.is_first)) from None
        if processes.is_first:
            model = run.model
            if plan.recipe.tune_biases:
                model = _tune_biases(run, used, metrics_log.log)
            serialization.copy(run_dir / BEST, out)
            verify(model, out)  # before anybody is told that it is done
            (run_dir / _LEFT).unlink(missing_ok=True)
        processes.wait()  # until the model is there for all
        processes.end()
    return progress


def own_model(run_dir: Path, task: str) -> Path | None:
    """Return the folder of the weights that were best for a task, None if the run kept none."""
    folder = run_dir / OWN / task
    return folder if folder.exists() else None


def _tune_biases(run: Run, used: Collection[str] | None, log: Log) -> Model:
    """Tune the biases of the best model, and of each task's own; return the best one.

    Where the best model of a task is also the best of all, it is tuned once.
    """
    dev, progress = {name: data.dev for name, data in run.prepared.data.items()}, run.progress
    names = {name for name in run.model.tasks if used is None or name in used}
    last = [name for name in run.recipe.stages[-1].tasks if name in names]
    tasks = [name for name in progress.best_per_task if name in names]
    own_models = ((task, own_model(run.folder, task)) for task in tasks)
    folders = {task: folder for task, folder in own_models if folder is not None}
    best = run.folder / BEST
    shared = {task for task in last if task in folders and _equal_weights(folders[task], best)}
    for task, folder in folders.items():
        if task in shared:
            continue
        own, metrics = biases.tune_weights(_shape_of(run, folder), folder, dev, [task], log)
        if metrics:
            serialization.save(own, folder, figures=metrics)
            progress.best_per_task[task] = next(iter(metrics.values()))
    model, metrics = biases.tune_weights(run.model, best, dev, last, log)
    progress.metrics |= metrics
    if metrics:
        serialization.save(model, best, figures=progress.metrics)
        primary = primary_metrics(metrics)
        for task in shared & primary.keys():
            serialization.copy(best, folders[task])
            progress.best_per_task[task] = primary[task]
    return model


def _shape_of(run: Run, folder: Path) -> Model:
    """Return a model with the tasks of a folder's: of an earlier stage it may have more."""
    if serialization.load_recipe(folder).removed_tasks == run.model.recipe.removed_tasks:
        return run.model
    earlier = serialization.load(folder, device=run.model.compute.device.type, precision="fp32")
    return replace(earlier, compute=run.model.compute)


def _equal_weights(folder: Path, other: Path) -> bool:
    """Return whether two model folders hold the same weights."""
    return filecmp.cmp(folder / serialization.WEIGHTS, other / serialization.WEIGHTS, shallow=False)


def is_unfinished(out: Path) -> bool:
    """Return whether the model at ``out`` is of a run that was stopped before its end."""
    try:
        return (run_folder(out) / _LEFT).read_text(encoding="utf-8") == _identity(out)
    except OSError:
        return False


def _leave(out: Path, what: str, *, first: bool) -> str:
    """Copy the model of a stopped run to ``out`` unless there is one; return its path.

    A model left by an earlier stop is replaced.
    """
    model_dir = run_folder(out) / BEST
    taken = os.path.lexists(out) and any(out.iterdir()) and not is_unfinished(out)
    if taken:
        return f"{what}: {model_dir}"
    if first:
        try:
            write_file(run_folder(out) / _LEFT, _identity(model_dir).encode())
            serialization.copy(model_dir, out)
        except StorageError as error:  # what matters is kept: the checkpoint
            return f"{what}: {model_dir} ({error})"
    return f"{what}: {out}"


def _identity(model: Path) -> str:
    return hashlib.sha256((model / MANIFEST).read_bytes()).hexdigest()


def verify(model: Model, saved: Path) -> None:
    """Raise ``ModelError`` if a saved model, loaded again, gives other outputs for a text.

    The model is left on the CPU with the saved weights.
    """
    loaded = serialization.load(saved, device="cpu", precision="fp32")
    serialization.load_weights(saved, model.network.to("cpu"))
    if loaded.tokenize(_PROBE) != model.tokenize(_PROBE):
        raise ModelError(f"{saved}: its tokenizer cuts words in another way than that of training")
    for name in loaded.tasks:
        trained, stored = _read_probe(model, name), _read_probe(loaded, name)
        for a, b in zip(trained.values(), stored.values(), strict=True):
            if not a.word_vectors.equal(b.word_vectors):
                raise ModelError(
                    f"{saved}: loaded again, the network reads a text in another way than in "
                    f"training (task {name!r}); the weights are there, its shape was not kept"
                )


def _read_probe(model: Model, task: str) -> Mapping[str, HeadInputs]:
    """Return what the head of a task reads of the probe; empty where its reader skips it."""
    window = model.recipe.window
    instances = list(
        model.tasks[task].reader.instances(
            0, model.tokenize(_PROBE), InstanceLimits(window, window), model.tokenize_prompt
        )
    )
    if not instances:
        return {}
    batch = collate(instances, model.subword_tokenizer, window)
    with torch.inference_mode():
        return model.network.eval().head_inputs(batch, [task])
