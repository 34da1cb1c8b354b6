"""Learn from the probabilities of a trained model beside gold (Hinton et al. 2015, section 2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from spanloom.config.options import did_you_mean
from spanloom.config.specs import TeacherSpec
from spanloom.config.yaml import SourceLocation
from spanloom.model import serialization
from spanloom.model.model import Model
from spanloom.tasks._base import Task
from spanloom.tasks._teaching import Teaching, soft_labels
from spanloom.tensors import Batch

_PROBE = ("Ada", "didn't", "Größe", "中文", "antidisestablishmentarianism", "5ml", "\U0001f642")


@dataclass(frozen=True, slots=True)
class Teacher:
    """A trained model, whose weights stay as they are; ``spec`` tells what it teaches."""

    model: Model
    spec: TeacherSpec

    def read(self, batch: Batch, tasks: Sequence[str]) -> dict[str, Teaching]:
        """Return what the model's heads read of a batch, for those of some tasks that it teaches.

        The batch is of the model that learns, whose pieces are the same; so is the precision.
        """
        names = [name for name in tasks if name in self.spec.tasks]
        if not names:
            return {}
        with torch.no_grad():
            inputs = self.model.network.head_inputs(batch, names)
        return {name: Teaching(self.model.network.head(name), inputs[name]) for name in names}


def load_teachers(model: Model) -> dict[TeacherSpec, Teacher]:
    """Load the models that teach in the stages of a model's recipe, each once.

    Raises ``RecipeError`` where one cannot teach what the recipe says, and ``ModelError``.
    """
    teachers: dict[TeacherSpec, Teacher] = {}
    for index, stage in enumerate(model.recipe.stages):
        spec = stage.teacher
        if spec is not None and spec not in teachers:
            location = model.recipe.at("stages", index, "teacher")
            teachers[spec] = _load(spec, model, location)
    return teachers


def _load(spec: TeacherSpec, model: Model, location: SourceLocation) -> Teacher:
    """Load a teacher, frozen and on the device of the model that learns."""
    device = str(model.compute.device)
    teacher = serialization.load(spec.model, device=device, precision="fp32")
    if teacher.subword_tokenizer(_PROBE) != model.subword_tokenizer(_PROBE):
        raise location.location_of("model").error(
            f"{spec.model}: its encoder cuts words into other pieces than that of this recipe"
        )
    for name in spec.tasks:
        problem = _why_unteachable(spec.model, model.tasks[name], teacher.tasks)
        if problem is not None:
            raise location.location_of("tasks").error(problem)
    teacher.network.requires_grad_(False).eval()
    return Teacher(teacher, spec)


def _why_unteachable(teacher: str, task: Task, theirs: Mapping[str, Task]) -> str | None:
    """Return why a model with these tasks cannot teach one of another, None if it can."""
    labels = soft_labels(task)
    if labels is None:
        learns = (
            "spans that are not given, and trees whose words choose their heads, learn from one"
        )
        return f"task {task.name!r} cannot learn from a model; {learns}"
    if task.name not in theirs:
        return f"{teacher} has no task {task.name!r}{did_you_mean(task.name, theirs)}"
    other = theirs[task.name]
    if type(other) is not type(task):
        return f"task {task.name!r} of {teacher} is of another kind"
    if (others := soft_labels(other)) != labels:
        differing = sorted({*labels} ^ {*(others or ())})
        return f"task {task.name!r} of {teacher} has other labels: {', '.join(differing[:5])}"
    return None
