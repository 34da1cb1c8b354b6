"""The model of ``spanloom annotate``, and what it is asked for."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanloom import freed_memory
from spanloom.cli.asking import Asked, parse_asked
from spanloom.cli.console import join_names, log
from spanloom.cli.garbage import loaded_to_stay
from spanloom.cli.outputs import SHOWN, needs_cuts
from spanloom.document import Document

if TYPE_CHECKING:
    from spanloom.formats.brat.conf_from_documents import LayerTypes
    from spanloom.model.missing_inputs import Requirement
    from spanloom.model.model import Model

ALL_TASKS = "all"  # also those on request


@dataclass(frozen=True, slots=True)
class AnnotationSpec:
    """What annotations depend on besides the documents, as the options say it; JSON can hold it.

    ``to`` is the form of the output, ``brat_folder`` where brat files are saved as they come, and
    ``plugins`` are modules to load before the model.
    """

    model: str | None
    device: str | None
    precision: str
    tasks: list[str] | None
    questions: list[str] | None
    labels: str | None
    range: str | None
    to: str
    brat_folder: str | None = None
    plugins: list[str] | None = None

    def parse_asked(self) -> Asked | None:
        """Return what is asked of each text; raises ``WrongUse``."""
        return parse_asked(self.questions, self.labels, self.range)


class Annotator:
    """A loaded model that is ready for what was asked."""

    def __init__(self, spec: AnnotationSpec) -> None:
        """Load the model; raises what ``load`` raises, and ``DataError`` if it cannot answer.

        From then on, the process keeps the memory that it frees.
        """
        freed_memory.keep()
        with loaded_to_stay():
            from spanloom.model.serialization import load

            self.model: Model = load(spec.model, device=spec.device, precision=spec.precision)
        self.spec = spec
        self.names: Iterable[str] | None = spec.tasks
        self._asked = spec.parse_asked()
        if spec.tasks == [ALL_TASKS]:
            self.names = None if self._asked else list(self.model.layers)
        if self._asked is not None:
            self.model, self.names = self._asked.prepare(self.model, self.names)
        self._passes = self.model.encoder_passes(self.names)
        self._required = self._requirements()

    def describe(self) -> str:
        """Return one line: the model, its arithmetic, the tasks."""
        from spanloom.model.serialization import DEFAULT

        groups = f" ({' | '.join(map(join_names, self._passes))})" if len(self._passes) > 1 else ""
        return (
            f"model {self.spec.model or DEFAULT} on {self.model.compute}; tasks: "
            f"{join_names(self._task_names())}; encoder passes: {len(self._passes)}{groups}"
        )

    def work(self) -> dict[str, str]:
        """Return what predictions depend on besides the documents."""
        from spanloom.model.serialization import digest_of

        work = {
            "model": digest_of(self.spec.model),
            "tasks": join_names(self._task_names()),
            "compute": self.compute(),
        }
        return work if self._asked is None else work | self._asked.work()

    def compute(self) -> str:
        """Return with what predictions are computed."""
        import torch

        return f"{self.model.compute}, torch {torch.__version__}"

    def doubts(self) -> dict[str, str]:
        """Return the layers that forms for eyes leave out unless asked, with scores.

        They are wrong more often than right by the model's card.
        """
        if self.names is not None or self.spec.to not in SHOWN:
            return {}
        from spanloom.model.card_scores import doubtful_layers
        from spanloom.model.serialization import card_of

        tasks = self.model.recipe.tasks
        on_request = {name for name, task in tasks.items() if task.on_request}
        layers = {k: layer for k, layer in self.model.layers.items() if k not in on_request}
        return doubtful_layers(card_of(self.spec.model), layers)

    def layers(self) -> list[str]:
        """Return the names of the layers that documents may have: predicted, and read by tasks."""
        tasks = [self.model.tasks[name] for name in self._task_names()]
        predicted = [self.model.layers[name] for name in self._names_in_order()]
        return list(
            dict.fromkeys([*predicted, *(layer for task in tasks for layer in task.inputs)])
        )

    def layers_not_run(self) -> dict[str, str]:
        """Return the tasks that do not run, by their layers."""
        running = self._task_names()
        return {layer: name for name, layer in self.model.layers.items() if name not in running}

    def types(self) -> "dict[str, LayerTypes]":
        """Return the types that each predicted layer may have."""
        from spanloom.model.model_card import labels

        of_layers: dict[str, LayerTypes] = {}
        for name in self._names_in_order():
            types = of_layers.setdefault(
                self.model.layers[name],
                {"spans": [], "relations": [], "triggers": [], "roles": [], "attributes": {}},
            )
            written = labels(self.model.recipe, self.model.tasks[name])
            types["spans"] += written.get("spans", ())
            types["relations"] += written.get("relations", ())
            stored = self.model.recipe.vocabulary.get(name, {})
            types["triggers"] += stored.get("trigger_labels", ())
            shared = stored.get("role_relations", ())
            types["roles"] += (role for role in stored.get("roles", ()) if role not in shared)
            for key in ("attributes", "relation_attributes"):
                for attribute, values in stored.get(key, {}).items():
                    types["attributes"].setdefault(attribute, []).extend(values)
        return of_layers

    def begin(self, stretch: Sequence[Document]) -> None:
        """Log what is to be known of the first documents: language, and tasks that are left out."""
        from spanloom.model.missing_inputs import describe, unmet

        if stretch:
            self._warn_of_language(stretch[0])
        if omitted := unmet(self._required, list(self._ask(stretch))):
            log(f"left out: {describe(self._required, omitted)}")

    def _warn_of_language(self, document: Document) -> None:
        """Log it if the encoder hardly knows the language of a document."""
        known = self.model.known_language()
        if known and (warning := known.warning([self.model.tokenize(document)])):
            log(f"{document.name or 'text'}: {warning}")

    def annotate(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents with what the model predicts, and logs doubts about the first."""
        from spanloom.model.stretches import cut_stretches

        for number, stretch in enumerate(cut_stretches(documents)):
            if number == 0:
                self.begin(stretch)
            yield from self.annotate_stretch(stretch)

    def annotate_stretch(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents of one stretch with what the model predicts.

        A task that reads pairs of texts, or questions, writes no layer where there are none.
        """
        from spanloom.model.missing_inputs import unmet

        stretch = list(self._ask(documents))
        omitted = unmet(self._required, stretch)
        names = [name for name in self._names_in_order() if name not in omitted]
        predicted = self.model.annotate_stretch(
            stretch, names, with_tokens=needs_cuts(self.spec.to)
        )
        if not self._required:
            yield from predicted
            return
        for document in predicted:
            layers = {self.model.layers[name] for name in unmet(self._required, [document])}
            kept = tuple(layer for layer in document.layers if layer.name not in layers)
            yield replace(document, layers=kept)

    def _ask(self, documents: Iterable[Document]) -> Iterable[Document]:
        return documents if self._asked is None else self._asked.ask(documents)

    def _requirements(self) -> "dict[str, Requirement]":
        from spanloom.model.missing_inputs import requirements

        return requirements(self.model.tasks, self.model.recipe, self._names_in_order())

    def _names_in_order(self) -> list[str]:
        """Return the names of the tasks in the order in which documents have their layers."""
        if self.names is not None:
            return list(self.names)
        running = {*self._task_names()}
        return [name for name in self.model.layers if name in running]

    def _task_names(self) -> list[str]:
        return [name for group in self._passes for name in group]
