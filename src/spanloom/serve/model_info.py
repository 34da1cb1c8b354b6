"""Describe a model by plain values, which are all that the server knows of it."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spanloom.annotation.text_pairs import TEXT_PAIR
from spanloom.config.abilities import ANSWERS, CHOOSES_LABEL, CHOOSES_NUMBER, Ability
from spanloom.viewer.analyses import (
    ANALYSES,
    CLASSES,
    COREFERENCE,
    GRAMMAR,
    NAMES,
    RELATIONS,
    ROLES,
    TREE,
    Analysis,
)
from spanloom.viewer.explanations import explain_layer
from spanloom.viewer.palette import number

if TYPE_CHECKING:
    from spanloom.model.model import Model

CLASSIFYING_KINDS = frozenset(
    {
        "text_classification",
        "text_regression",
        "extractive_classification",
        "extractive_regression",
    }
)
_TRAINING = {"question": ANSWERS, "labels": CHOOSES_LABEL, "range": CHOOSES_NUMBER}
_LICENSED = {"dataset", "license"}
_BY_KIND: Mapping[str, Analysis] = {
    **dict.fromkeys(("relations", "word_relations"), RELATIONS),
    **dict.fromkeys(("srl", "openie", "opinions"), ROLES),
    "coreference": COREFERENCE,
    **dict.fromkeys(("pos", "dependency"), GRAMMAR),
    "constituency": TREE,
    **dict.fromkeys(CLASSIFYING_KINDS, CLASSES),
}


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One task of a model: its kind, predicted layer, labels, and the layers it requires.

    A task ``on_request`` runs only if a request names it. ``doubt`` is the score of a task that is
    wrong more often than right; the page shows its layer only if the reader asks for it.
    """

    name: str
    kind: str
    layer: str
    labels: Mapping[str, tuple[str, ...]]
    given: tuple[str, ...] = ()
    on_request: bool = False
    doubt: str | None = None

    @property
    def analysis(self) -> Analysis:
        """The tab of the page that shows the layer; names for kinds that are not known here."""
        return _BY_KIND.get(self.kind, NAMES)

    @property
    def endpoints(self) -> tuple[str, ...]:
        """The endpoints that serve the task; none if it requires annotation."""
        if self.kind == ANSWERS.kind:
            return ("/v1/ask",)
        is_classifier = self.kind in CLASSIFYING_KINDS and self.given in ((), (TEXT_PAIR,))
        annotate = () if self.given else ("/v1/annotate",)
        return (*annotate, "/v1/classify") if is_classifier else annotate

    def plain(self) -> dict[str, object]:
        """Return the values for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "layer": self.layer,
            "on_request": self.on_request,
            "labels": {key: list(labels) for key, labels in self.labels.items()},
            "endpoints": list(self.endpoints),
            "analysis": self.analysis.key,
            "about": explain_layer(self.layer, self.analysis.about),
            "color": number(self.layer),
            "doubt": self.doubt,
        }


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model: its tasks, device and precision, and from its card scores, licences, language."""

    name: str
    compute: str
    tasks: tuple[TaskInfo, ...]
    license: str | None = None
    scores: tuple[Mapping[str, str], ...] = ()
    language: str | None = None

    def annotating(self) -> tuple[str, ...]:
        """Return the names of the tasks that only need a text."""
        return self._served_at("/v1/annotate")

    def answering(self) -> tuple[str, ...]:
        """Return the names of the tasks that answer questions."""
        return self._served_at("/v1/ask")

    def judging(self, *, pair: bool) -> tuple[str, ...]:
        """Return the names of the tasks that classify text pairs, or single texts."""
        candidates = {task.name for task in self.tasks if bool(task.given) == pair}
        return tuple(name for name in self._served_at("/v1/classify") if name in candidates)

    def choosing(self, ability: Ability) -> tuple[str, ...]:
        """Return the names of the tasks that choose among given labels, or from a given range."""
        capable = {task.name for task in self.tasks if task.kind == ability.kind}
        return tuple(name for name in self._served_at("/v1/classify") if name in capable)

    def layers(self, names: Iterable[str]) -> dict[str, str]:
        """Return the layer that each of these tasks predicts, by task."""
        selected = set(names)
        return {task.name: task.layer for task in self.tasks if task.name in selected}

    def default_tasks(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of these tasks that run if a request names none."""
        on_request = {task.name for task in self.tasks if task.on_request}
        return tuple(name for name in names if name not in on_request)

    def plain(self) -> dict[str, object]:
        """Return the values for JSON."""
        licenses = {row["dataset"]: row["license"] for row in self.scores if {*row} >= _LICENSED}
        return {
            "name": self.name,
            "compute": self.compute,
            "license": self.license,
            "language": self.language,
            "analyses": [asdict(analysis) for analysis in ANALYSES],
            "tasks": [task.plain() for task in self.tasks],
            "scores": list(self.scores),
            "licenses": licenses,
            "training": {key: ability.command for key, ability in _TRAINING.items()},
        }

    def _served_at(self, endpoint: str) -> tuple[str, ...]:
        return tuple(task.name for task in self.tasks if endpoint in task.endpoints)


def model_info(model: "Model", source: str, card: str) -> ModelInfo:
    """Describe a loaded model; ``source`` is its folder, of which only the name is kept, or id."""
    from spanloom.model.card_scores import doubtful_tasks, language
    from spanloom.model.model_card import labels, tables, weights_license

    layers, doubts = model.layers, doubtful_tasks(card)

    def task_info(name: str) -> TaskInfo:
        task, spec = model.tasks[name], model.recipe.tasks[name]
        task_labels = labels(model.recipe, task)
        return TaskInfo(
            *(name, spec.kind, layers[name], task_labels, task.inputs, spec.on_request),
            doubt=doubts.get(name),
        )

    name = Path(source).resolve().name if Path(source).exists() else source
    tasks = tuple(map(task_info, layers))
    scores = tuple(tables(card))
    return ModelInfo(name, str(model.compute), tasks, weights_license(card), scores, language(card))
