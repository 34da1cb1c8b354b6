"""What a model can do and where it comes from, as plain values: the server knows no more of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spanloom.annotation.text_pairs import TEXT_PAIR

if TYPE_CHECKING:
    from spanloom.model.model import Model

_ASKED = frozenset({"question"})  # kinds that answer queries
_JUDGING = frozenset({"choice", "number", "label"})  # kinds that judge a whole text, or two


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One task of a model: its kind, the layer it writes, its labels, the layers it is given.

    One that is ``on_request`` runs only where it is asked for by name.
    """

    name: str
    kind: str
    layer: str
    labels: Mapping[str, tuple[str, ...]]
    given: tuple[str, ...] = ()
    on_request: bool = False

    @property
    def endpoints(self) -> tuple[str, ...]:
        """The addresses that serve it; a task that is given annotation has none."""
        if self.kind in _ASKED:
            return ("/v1/ask",)
        judging = self.kind in _JUDGING and self.given in ((), (TEXT_PAIR,))
        found = {"/v1/annotate": not self.given, "/v1/classify": judging}
        return tuple(door for door, serves in found.items() if serves)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model as it is told: tasks, scores and licences from its card, what it computes with."""

    name: str
    compute: str
    tasks: tuple[TaskInfo, ...]
    license: str | None = None
    scores: tuple[Mapping[str, str], ...] = ()

    def annotating(self) -> tuple[str, ...]:
        """The tasks that need nothing but a text."""
        return self._behind("/v1/annotate")

    def answering(self) -> tuple[str, ...]:
        """The tasks that answer questions."""
        return self._behind("/v1/ask")

    def judging(self, *, pair: bool) -> tuple[str, ...]:
        """The tasks that judge two texts, or one."""
        every = {each.name for each in self.tasks if bool(each.given) == pair}
        return tuple(name for name in self._behind("/v1/classify") if name in every)

    def layers(self, names: Iterable[str]) -> dict[str, str]:
        """The layer that each of some tasks writes."""
        chosen = set(names)
        return {each.name: each.layer for each in self.tasks if each.name in chosen}

    def usual(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of some tasks that run where none is asked for by name."""
        waiting = {each.name for each in self.tasks if each.on_request}
        return tuple(name for name in names if name not in waiting)

    def plain(self) -> dict[str, object]:
        """Return it ready for JSON."""
        licenses = {row["dataset"]: row["license"] for row in self.scores if {*row} >= _LICENSED}
        return {
            "name": self.name,
            "compute": self.compute,
            "license": self.license,
            "tasks": [_plain(each) for each in self.tasks],
            "scores": list(self.scores),
            "licenses": licenses,
        }

    def _behind(self, door: str) -> tuple[str, ...]:
        return tuple(each.name for each in self.tasks if door in each.endpoints)


_LICENSED = {"dataset", "license"}


def about(model: "Model", place: str, card: str) -> ModelInfo:
    """Return what is told of a loaded model; of a folder the last name alone."""
    from spanloom.model.model_card import labels, licence, tables

    def ability(name: str) -> TaskInfo:
        task, spec = model.tasks[name], model.recipe.tasks[name]
        found = labels(model.recipe, task)
        return TaskInfo(name, spec.kind, layers[name], found, task.inputs, spec.on_request)

    layers = model.layers
    able = tuple(map(ability, layers))
    name = Path(place).resolve().name if Path(place).exists() else place
    return ModelInfo(name, str(model.compute), able, licence(card), tuple(tables(card)))


def _plain(ability: TaskInfo) -> dict[str, object]:
    return {
        "name": ability.name,
        "kind": ability.kind,
        "layer": ability.layer,
        "on_request": ability.on_request,
        "labels": {key: list(labels) for key, labels in ability.labels.items()},
        "endpoints": list(ability.endpoints),
    }
