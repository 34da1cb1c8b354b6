"""Check, before any run, that tasks of a study have the metrics that it reports."""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from spanloom.annotation.text_pairs import TEXT_PAIR
from spanloom.config import yaml
from spanloom.config.options import did_you_mean
from spanloom.data.instances import tokenize
from spanloom.document import MAIN
from spanloom.errors import SpanloomError
from spanloom.metrics.counts import label_f1
from spanloom.model import build
from spanloom.model.plan import Plan, TaskPlan
from spanloom.studies.row import own_name
from spanloom.studies.spec import Study
from spanloom.studies.study_plan import Cell
from spanloom.tasks._base import Task, TaskSetup
from spanloom.tokenization import word_tokenizer

_LABEL_OPTIONS = {"label_metrics": (), "negative_label": None}  # labels that examples may lack
_OF_CLASSES = ("macro_f1", "micro_f1")  # metrics of tasks with a negative label


def check_metrics(study: Study, cells: Iterable[Cell], plans: Mapping[str, Plan]) -> None:
    """Raise ``RecipeError`` with file and line for a metric that a task has under no condition.

    ``plans`` are those of the runs by key. Tasks whose metrics are not known before their data are
    read are not checked.
    """
    named = study.spec.metrics
    planned_by_task: dict[str, dict[str, TaskPlan]] = {task: {} for task in named}
    for cell in cells:
        if cell.task in named:
            options = repr(cell.job.recipe["tasks"][own_name(cell.task)])
            planned = plans[cell.job.key].tasks[own_name(cell.task)]
            planned_by_task[cell.task].setdefault(options, planned)
    for task, planned_tasks in planned_by_task.items():
        name_sets = [_metric_names(task, planned) for planned in planned_tasks.values()]
        known = list(dict.fromkeys(chain.from_iterable(name_sets)))
        if not all(name_sets) or not known:
            continue
        for metric in named[task]:
            if metric not in known:
                location = yaml.load(study.path).location.location_of("metrics", task)
                hint = did_you_mean(metric, known)
                raise location.error(f"task {task!r} has no metric {metric!r}{hint}")


def _metric_names(task: str, planned: TaskPlan) -> tuple[str, ...]:
    """Return the metrics that a measured task may have; none if they are not known.

    The task is built for the example of its kind, as metrics depend on its options.
    """
    built = example_of(planned)
    if built is None:
        return ()
    labels = getattr(planned.options, "label_metrics", ())
    has_classes = labels or getattr(planned.options, "negative_label", None) is not None
    further = (*_OF_CLASSES, *map(label_f1, labels)) if has_classes else ()
    given = built if task == planned.name else built.with_gold_inputs()
    return (*given.metric_names, *further)


def example_of(planned: TaskPlan) -> Task | None:
    """Return a task as it is built for the example of its kind, None if it needs its own data.

    Where options name labels of the data, they are left out.
    """
    for options in (planned.options, planned.options.model_copy(update=_LABEL_OPTIONS)):
        try:
            return _build_for_example(planned, options)
        except SpanloomError:
            continue
    return None


def _build_for_example(planned: TaskPlan, options: Any) -> Task:
    """Return a task with the labels of its kind's example."""
    kind, document = planned.type, planned.type.example
    layer = next((layer.name for layer in document.layers if layer.name != TEXT_PAIR), MAIN)
    words = word_tokenizer("char-class", "newline")
    train = [(document, tokenize(document, words, build.word_level_tokenizer()))]
    vocabulary = kind.infer_vocabulary(options, layer, train)
    return kind.build(TaskSetup(planned.name, layer, options, vocabulary, vocabulary))
