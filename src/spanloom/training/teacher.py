"""Learn from the probabilities of a trained model beside gold (Hinton et al. 2015, section 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from spanloom.config.options import did_you_mean
from spanloom.config.specs import TeacherSpec
from spanloom.config.yaml import SourceLocation
from spanloom.data.subwords import SubwordTokenizer
from spanloom.errors import ModelError, RecipeError
from spanloom.model import serialization
from spanloom.model.build import check_window
from spanloom.model.model import Model
from spanloom.tasks._teaching import TeacherHead, soft_labels
from spanloom.tensors import Batch

_PROBE = ("Ada", "didn't", "Größe", "中文", "antidisestablishmentarianism", "5ml", "\U0001f642")


@dataclass(frozen=True, slots=True)
class Teacher:
    """A trained model, whose weights stay as they are; ``spec`` tells what it teaches."""

    model: Model
    spec: TeacherSpec

    def read(self, batch: Batch, tasks: Sequence[str]) -> dict[str, TeacherHead]:
        """Return what the model's heads read of a batch, for those of some tasks that it teaches.

        The batch is of the model that learns, whose pieces are the same; so is the precision.
        """
        names = [name for name in tasks if name in self.spec.tasks]
        if not names:
            return {}
        with torch.no_grad():
            inputs = self.model.network.head_inputs(batch, names)
        return {name: TeacherHead(self.model.network.head(name), inputs[name]) for name in names}


def load_teachers(model: Model) -> dict[TeacherSpec, Teacher]:
    """Load the models that teach in the stages of a model's recipe, each once.

    Raises ``RecipeError`` where one cannot be loaded, or cannot teach what the recipe says.
    """
    loaded: dict[str, Model] = {}
    teachers: dict[TeacherSpec, Teacher] = {}
    for index, stage in enumerate(model.recipe.stages):
        spec = stage.teacher
        if spec is not None and spec not in teachers:
            location = model.recipe.at("stages", index, "teacher")
            if spec.model not in loaded:
                loaded[spec.model] = _load(spec.model, model, location.location_of("model"))
            teachers[spec] = Teacher(loaded[spec.model], spec)
            for name in spec.tasks:
                _check_task(name, model, teachers[spec], location.location_of("tasks"))
    return teachers


def _load(source: str, model: Model, location: SourceLocation) -> Model:
    """Load a model that reads the batches of another, frozen and on the other's device."""
    device = str(model.compute.device)
    try:
        teacher = serialization.load(source, device=device, precision="fp32")
    except ModelError as error:
        raise location.error(str(error)) from error
    if _piece_ids(teacher.subword_tokenizer) != _piece_ids(model.subword_tokenizer):
        raise location.error(f"{source}: expected an encoder with the pieces of this recipe's")
    try:
        check_window(model.plan, teacher.subword_tokenizer, teacher.network)
    except RecipeError as error:
        window = f"windows of {model.recipe.window} pieces, as this recipe has"
        raise location.error(f"{source}: expected an encoder that reads {window}") from error
    teacher.network.requires_grad_(False).eval()
    return teacher


def _piece_ids(tokenizer: SubwordTokenizer) -> tuple[object, ...]:
    """Return what decides which ids a text becomes, as far as two encoders may differ."""
    vocabulary = tokenizer.tokenizer.get_vocab(with_added_tokens=True)
    around = tokenizer.prefix, tokenizer.suffix, tokenizer.padding, tokenizer.unknown
    return vocabulary, around, tokenizer(_PROBE)


def _check_task(name: str, model: Model, teacher: Teacher, location: SourceLocation) -> None:
    """Raise ``RecipeError`` where a model cannot teach a task."""
    source, teacher_tasks = teacher.spec.model, teacher.model.tasks
    labels, kind = soft_labels(model.tasks[name]), model.plan.tasks[name].spec.kind
    if labels is None:
        expected = "a task that learns spans each by itself, or which head each word chooses"
        raise location.error(f"expected {expected}, got {name!r} of kind {kind}")
    if name not in teacher_tasks:
        raise location.error(f"{source} has no task {name!r}{did_you_mean(name, teacher_tasks)}")
    teacher_kind = teacher.model.plan.tasks[name].spec.kind
    if teacher_kind != kind:
        expected = f"a task {name!r} of kind {kind} in {source}"
        raise location.error(f"expected {expected}, got one of kind {teacher_kind}")
    teacher_labels = soft_labels(teacher_tasks[name]) or ()
    if teacher_labels != labels:
        only = ((source, {*teacher_labels} - {*labels}), ("here", {*labels} - {*teacher_labels}))
        parts = [f"only {where}: {', '.join(sorted(some)[:5])}" for where, some in only if some]
        expected = f"the labels of task {name!r} in {source}"
        raise location.error(f"expected {expected}, got others ({'; '.join(parts)})")
