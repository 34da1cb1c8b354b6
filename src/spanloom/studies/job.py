"""One run of a study: a recipe of one stage, perhaps on from another run; known by a hash."""

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from spanloom.atomic_io import MANIFEST, sha256_of
from spanloom.config import recipe as recipes
from spanloom.config.override import Setting
from spanloom.config.recipe import Recipe
from spanloom.config.specs import TRUNK, Raw
from spanloom.corpora.folder import locate
from spanloom.corpora.places import VARIABLE, places
from spanloom.embedders import _minilm
from spanloom.errors import ModelError
from spanloom.model import serialization
from spanloom.model.plan import plan_embedder
from spanloom.studies.row import KEY_LENGTH
from spanloom.training.masked_lm_weights import RECORD

LEARNING = 2  # raised when code or defaults change what a recipe learns from the same data
Weights = Literal["own", "shared"]


@dataclass(frozen=True, slots=True)
class Job:
    """A run: what is trained and which tasks are scored.

    ``recipe`` is plain, with every key that it has; its ``init_from`` is set from ``before`` when
    the run starts. ``score`` is the split that is scored, ``weights`` are each task's own best or
    the ones that all tasks share. ``key`` is the hash of all that decides
    the result: recipe, data, the run before, what is scored, and the version of the code. Tasks of
    ``gold_inputs`` are scored a second time, given their gold mentions or spans.
    """

    name: str
    recipe: Raw
    tasks: tuple[str, ...]
    score: str
    key: str
    before: "Job | None" = None
    weights: Weights = "own"
    gold_inputs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the job as a worker reads it."""
        before = None if self.before is None else self.before.to_json()
        plain = {"name": self.name, "recipe": self.recipe, "tasks": list(self.tasks)}
        further = {"score": self.score, "key": self.key, "before": before}
        given = list(self.gold_inputs)
        return {**plain, **further, "weights": self.weights, "gold_inputs": given}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Job":
        """Return the job that ``to_json`` wrote."""
        before = None if raw["before"] is None else cls.from_json(raw["before"])
        tasks = tuple(raw["tasks"])
        scored = raw["score"], raw["key"]
        further = raw["weights"], tuple(raw["gold_inputs"])
        return cls(raw["name"], raw["recipe"], tasks, *scored, before, *further)


def build_job(
    name: str,
    recipe: Recipe,
    data: Path,
    tasks: Sequence[str],
    score: str,
    before: Job | None = None,
    weights: Weights = "own",
    gold_inputs: Sequence[str] = (),
) -> Job:
    """Return a job with its key; ``data`` holds the corpora. Raises ``DataError``, ``ModelError``.

    Files that the trunk reads, such as word vectors, are hashed as the corpora are, and models that
    teach by their manifests.
    Keys of the recipe that have their default are not hashed, so that a new key of recipes leaves
    the rows of earlier runs valid. Nor are ``weights`` where one task is learnt, and
    ``gold_inputs`` where there are none.
    """
    sources = dict.fromkeys((*recipe.all_sources, *recipe.exclude_texts_of))
    hashed: dict[str, Any] = {
        "learning": LEARNING,
        "recipe": recipe.model_dump(mode="json", exclude_defaults=True),
        "data": {name: data_hash(locate(name, data)) for name in sources},
        "tasks": sorted(tasks),
        "score": score,
        "before": None if before is None else before.key,
    }
    if trunk := _trunk_files(recipe, data):
        hashed["trunk"] = {name: _encoder_hash(path) for name, path in trunk.items()}
    if teachers := [stage.teacher.model for stage in recipe.stages if stage.teacher is not None]:
        hashed["teachers"] = {name: serialization.digest_of(name) for name in teachers}
    if weights == "shared" and len(recipe.tasks) > 1:
        hashed["weights"] = weights
    if gold_inputs:
        hashed["gold_inputs"] = sorted(gold_inputs)
    text = json.dumps(hashed, sort_keys=True, ensure_ascii=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]
    scored = score, key, before, weights, tuple(gold_inputs)
    return Job(name, recipes.to_plain(recipe), tuple(tasks), *scored)


def _trunk_files(recipe: Recipe, data: Path) -> dict[str, Path]:
    """Return the files and folders that embedders read, by their names in the recipe."""
    parts = (plan_embedder(recipe, row) for row in range(len(recipe.trunk)))
    names = [getattr(part.options, key) for part in parts for key in part.type.file_options]
    names = [name for name in names if name != _minilm.NAME]  # which is of a package
    existing = {name: [path for path in places(name, data) if path.exists()] for name in names}
    return {name: paths[0] for name, paths in existing.items() if paths}


def check_encoders(jobs: Iterable[Job], data: Path) -> None:
    """Raise ``ModelError`` for an encoder of a trunk that is not on this machine.

    A missing folder would else be taken for a hub id, and be noticed only when its run starts.
    """
    trunks = (part for job in jobs for part in job.recipe["trunk"])
    for name in dict.fromkeys(part["transformer"] for part in trunks if "transformer" in part):
        if not _is_here(name, data):
            raise ModelError(
                f"trunk: transformer: expected {_minilm.NAME}, a folder (below {data}, the working "
                f"folder or ${VARIABLE}), or a hub id in the local cache (hf download), got {name}"
            )


def _is_here(encoder: str, data: Path) -> bool:
    """Return whether an encoder is built in, a folder, or in the hub's cache."""
    if encoder == _minilm.NAME or any(path.is_dir() for path in places(encoder, data)):
        return True
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(encoder, "config.json"), str)
    except HFValidationError:  # no id: it has several slashes
        return False


def _encoder_hash(path: Path) -> str:
    """Return the hash of what an embedder reads.

    An encoder of ``spanloom pretrain`` keeps the speed of its run, which no two runs share: that
    and the manifest, which hashes it, do not count, so an encoder made again is the same one.
    """
    if not (path / RECORD).is_file():
        return data_hash(path)
    return data_hash(path, frozenset((RECORD, MANIFEST)))


@cache
def data_hash(path: Path, skipped: Collection[str] = frozenset()) -> str:
    """Return the SHA-256 of a folder or file: of the names and bytes of its files, in order.

    Links to folders are followed, as readers of corpora do. ``skipped`` are files of the folder
    itself that do not count.
    """
    digest = hashlib.sha256()
    files = sorted(_files(path, (), frozenset())) if path.is_dir() else [((".",), str(path))]
    for parts, file in files:
        if "/".join(parts) in skipped:
            continue
        digest.update(f"{'/'.join(parts)}\0{sha256_of(file)}\n".encode())
    return digest.hexdigest()


def _files(
    folder: Path, parts: tuple[str, ...], above: frozenset[Path]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the parts of the names of the files below a folder, and their paths.

    ``parts`` is the folder's own name; ``above`` are the folders around it, as links may go round.
    A corpus may have a hundred thousand files, so paths are objects for folders alone.
    """
    around = above | {folder.resolve()}
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file():
                yield (*parts, entry.name), entry.path
            elif entry.is_dir() and Path(entry.path).resolve() not in around:
                yield from _files(Path(entry.path), (*parts, entry.name), around)


def subset(base: Raw, names: Sequence[str], settings: Sequence[str], title: str) -> Recipe:
    """Return the recipe of some of the tasks of a plain recipe, changed by settings.

    Levels, span layers and corpora that none of them needs are left out. Several tasks each keep
    their own best weights. Tasks that all run on request alone run always here. Raises
    ``RecipeError`` for a setting that does not fit.
    """
    (stage,) = base["stages"]
    tasks = {name: base["tasks"][name] for name in names}
    if all(task.get("on_request") for task in tasks.values()):
        tasks = {name: {**task, "on_request": False} for name, task in tasks.items()}
    own: Raw = {
        "tasks": list(names),
        "reset_heads": [],
        "loss_weights": {k: v for k, v in stage["loss_weights"].items() if k in tasks},
        "teacher": _teacher_of(stage["teacher"], tasks),
        "save_best_per_task": len(names) > 1,
    }
    metric = stage["validation_metric"]
    if metric is not None and metric.partition(".")[0] not in tasks:
        own["validation_metric"] = None
    used = {task["data"] for task in tasks.values()}
    corpora = {key: parts for key, parts in base.get("corpora", {}).items() if key in used}
    levels = _levels_below(base["levels"], {task.get("level", TRUNK) for task in tasks.values()})
    read = {task.get("span_layer") for task in tasks.values()}
    spans = [layer for layer in base.get("span_layers", ()) if layer["name"] in read]
    plain = {**base, "tasks": tasks, "levels": levels, "corpora": corpora, "span_layers": spans}
    plain["stages"] = [{**stage, **own}]
    of_study = [Setting(setting, (f"{title}: {setting}", None)) for setting in settings]
    return recipes.from_plain(plain, title, of_study)


def _teacher_of(teacher: Raw | None, tasks: Collection[str]) -> Raw | None:
    """Return what teaches some tasks, None where it teaches none of them."""
    taught = [] if teacher is None else [name for name in teacher["tasks"] if name in tasks]
    return {**teacher, "tasks": taught} if teacher is not None and taught else None


def _levels_below(levels: Sequence[Raw], tops: set[str]) -> list[Raw]:
    """Return the levels that some tasks read, directly or through others, in their order."""
    needed = set(tops)
    for level in reversed(levels):
        if level["name"] in needed:
            needed.update(level["inputs"])
    return [level for level in levels if level["name"] in needed]
