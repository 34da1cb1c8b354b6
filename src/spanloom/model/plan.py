"""A recipe resolved once: types loaded, options parsed, levels and heads of tasks worked out.

Building, training, studies and release take the plan, so no option is parsed a second time. What
tasks share beside trunk and levels:

| ``sharing`` | heads | what distinguishes tasks |
|---|---|---|
| ``separate-heads`` | one per task | the heads (SpanRel; HMTL; MULTI-DEC, Changpinyo et al. 2018) |
| ``task-embedding`` | one per family | a vector beside each word that the head reads (TE⊕Dec) |
| ``task-token`` | one per family | a word before each sentence (TE⊕Enc): one pass per task |
| ``shared-head`` | one per family | only the text that is read (SpEx) |
| ``family-heads`` | one per family; own ones of kinds that cannot share | the same |
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from torch import nn

from spanloom import embedders, tasks
from spanloom.config.options import Options, did_you_mean, validate_options
from spanloom.config.recipe import Recipe
from spanloom.config.specs import PIECES, SPECIAL_IDS, CorpusPartSpec, LevelSpec, TaskSpec
from spanloom.config.yaml import SourceLocation
from spanloom.embedders import transformer
from spanloom.embedders._base import EmbedderType
from spanloom.errors import DataError, NameNotFound
from spanloom.nn import recurrent
from spanloom.tasks._base import Task, TaskSetup, TaskType
from spanloom.tokenization import WordTokenizer, word_tokenizer

SEPARATE, EMBEDDING, TOKEN = "separate-heads", "task-embedding", "task-token"
FAMILY_HEADS = "family-heads"
# options that shape a head
_HEAD_OPTIONS = ("hidden_size", "dropout", "crf", "transition_l2", "initialization")
# options of a projection of a head's own, which a head that reads a span layer does not have
_PROJECTION_OPTIONS = (
    *("hidden_size", "boundary_context", "width_embedding"),
    *("span_content", "span_attention", "pair_scorer"),
)


@dataclass(frozen=True, slots=True)
class EmbedderPlan:
    """One embedder of the trunk: its type, its typed options, and its lines in the recipe."""

    name: str
    type: EmbedderType
    options: Options
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class LevelPlan:
    """One level: its name, inputs and scope, and the typed options of its recurrent network."""

    spec: LevelSpec
    options: recurrent.Options


@dataclass(frozen=True, slots=True)
class HeadRoute:
    """The level that a task's head reads, the head's name, and its row of the task embeddings.

    ``span_layer`` is the name of the span layer that the head reads, None if it reads none.
    """

    level: str
    head: str
    row: int | None = None
    span_layer: str | None = None


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """One task: its type, its typed options, its corpora, its head, its vocabulary.

    ``index`` is its position among all tasks of the recipe. ``parts`` are the corpora that its data
    consists of, empty where it is a single one. ``head_vocabulary`` merges the vocabularies of all
    tasks with the same head. ``biases`` are those of its decisions.
    """

    name: str
    index: int
    spec: TaskSpec
    type: TaskType
    options: BaseModel
    route: HeadRoute
    parts: tuple[CorpusPartSpec, ...] = ()
    has_partial_labels: bool = False
    vocabulary: Mapping[str, Any] = field(default_factory=dict)
    head_vocabulary: Mapping[str, Any] = field(default_factory=dict)
    biases: Mapping[str, float] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[str, ...]:
        """The corpora and folders that it learns from."""
        return tuple(part.data for part in self.parts) or (self.spec.data,)

    @property
    def guidelines(self) -> str:
        """The corpus whose guidelines a text follows that names no corpus."""
        return self.spec.guidelines or self.sources[0]

    def build(self, sharing: str) -> Task:
        """Build the task from its options and vocabularies."""
        setup = TaskSetup(
            self.name,
            self.spec.layer,
            self.options,
            self.vocabulary,
            self.head_vocabulary,
            self.biases,
        )
        task = self.type.build(setup)
        for name in self.biases.keys() - task.decisions.keys():
            hint = did_you_mean(name, task.decisions)
            raise DataError(f"task {self.name!r}: no decision {name!r} to bias{hint}")
        return task.with_task_token(self.index) if sharing == TOKEN else task


@dataclass(frozen=True, slots=True)
class Plan:
    """A recipe with all names and options resolved; relative paths start at ``recipe_dir``.

    ``tasks`` has those that a stage removed, too: a shared head keeps their labels.
    """

    recipe: Recipe
    recipe_dir: Path
    embedders: tuple[EmbedderPlan, ...]
    levels: tuple[LevelPlan, ...]
    tasks: Mapping[str, TaskPlan]

    @property
    def kept_tasks(self) -> dict[str, TaskPlan]:
        """The tasks that are part of the model."""
        return {name: self.tasks[name] for name in self.recipe.kept_tasks}

    @property
    def word_tokenizer(self) -> WordTokenizer:
        """A new tokenizer and sentence splitter of texts that give no words."""
        spec = self.recipe.tokenization
        return word_tokenizer(spec.tokenizer, spec.sentence_splitter)

    @property
    def transformer(self) -> transformer.Options | None:
        """The options of its transformer; raises ``RecipeError`` where it has two."""
        options = [e.options for e in self.embedders if isinstance(e.options, transformer.Options)]
        if len(options) > 1:
            problem = f"takes one transformer at most, got {len(options)}"
            raise self.recipe.at("trunk").error(problem)
        return options[0] if options else None

    def noting(self, **keys: Any) -> "Plan":
        """Return the plan with keys that training notes in the recipe, as ``removed_tasks``."""
        return replace(self, recipe=self.recipe.model_copy(update=keys))

    def with_vocabulary(self, vocabulary: Mapping[str, Any]) -> "Plan":
        """Return the plan with the vocabulary of each task, merged where tasks share a head."""
        heads: dict[str, list[TaskPlan]] = {}
        for task in self.tasks.values():
            heads.setdefault(task.route.head, []).append(task)
        merged = {}
        for head, members in heads.items():
            merge = members[0].type.merge_vocabularies
            if self.recipe.sharing != SEPARATE and merge is not None:
                merged[head] = merge([vocabulary[task.name] for task in members])
        planned = {}
        for name, task in self.tasks.items():
            own = vocabulary[name]
            shared = merged.get(task.route.head, own)
            planned[name] = replace(task, vocabulary=own, head_vocabulary=shared)
        return replace(self.noting(vocabulary=dict(vocabulary)), tasks=planned)

    def with_biases(self, biases: Mapping[str, Mapping[str, float]]) -> "Plan":
        """Return the plan with the biases of the tasks' decisions, in place of all others."""
        planned = {
            name: replace(task, biases=biases.get(name, {})) for name, task in self.tasks.items()
        }
        noted = {name: dict(values) for name, values in biases.items()}
        return replace(self.noting(biases=noted), tasks=planned)

    def build_tasks(self) -> dict[str, Task]:
        """Build the tasks that are part of the model."""
        return {name: task.build(self.recipe.sharing) for name, task in self.kept_tasks.items()}


def resolve(recipe: Recipe, recipe_dir: Path = Path()) -> Plan:
    """Load the types that a recipe names, parse all options, and check what tasks share.

    Vocabularies are empty until ``Plan.with_vocabulary`` fills them: training infers them from its
    documents, a model folder stores them. Raises ``RecipeError`` with file and line, and
    ``NameNotFound`` for an unknown type of task.
    """
    if SPECIAL_IDS in recipe.tasks:
        raise recipe.at("tasks", SPECIAL_IDS).error("this name is taken; choose another")
    planned = {name: _task(recipe, index, name) for index, name in enumerate(recipe.tasks)}
    if recipe.sharing == FAMILY_HEADS:
        _check_own_heads(recipe, planned.values())
        planned_to_share = (task for task in planned.values() if task.route.head != task.name)
        _check_shared_heads(recipe, planned_to_share)
    elif recipe.sharing != SEPARATE:
        _check_shared_heads(recipe, planned.values())
    plan = Plan(
        recipe,
        recipe_dir,
        tuple(plan_embedder(recipe, row) for row in range(len(recipe.trunk))),
        tuple(_level(recipe, index) for index in range(len(recipe.levels))),
        planned,
    )
    _check_names(plan)
    return plan


def plan_embedder(recipe: Recipe, row: int) -> EmbedderPlan:
    """Resolve one embedder of the trunk; raises ``RecipeError``."""
    spec, location = recipe.trunk[row], recipe.at("trunk", row)
    try:
        kind = embedders.load(spec.name)
    except NameNotFound as error:
        later = [key for key in spec.options if key in embedders.names()]
        hint = (
            f"; the first key names it, so put {later[0]!r} before {spec.name!r}" if later else ""
        )
        raise location.error(f"{error}{hint}") from error
    options = validate_options(kind.options, spec.options, location)
    return EmbedderPlan(spec.name, kind, options, location)


def _level(recipe: Recipe, index: int) -> LevelPlan:
    """Resolve one level."""
    spec = recipe.levels[index]
    location = recipe.at("levels", index)
    return LevelPlan(spec, validate_options(recurrent.Options, spec.options, location))


def _task(recipe: Recipe, index: int, name: str) -> TaskPlan:
    """Resolve one task."""
    spec, location = recipe.tasks[name], recipe.at("tasks", name)
    kind = tasks.load(spec.kind)
    _check_span_layer(recipe, name, kind)
    partial = spec.data in recipe.corpora and recipe.has_partial_labels(spec.data)
    if partial and not kind.supports_partial_labels:
        raise location.location_of("data").error(
            f"a corpus whose parts have different labels needs a kind that learns where not all "
            f"were looked for, as entities do; got {spec.kind}"
        )
    options = validate_options(kind.options, spec.options, location)
    has_own_head = recipe.sharing == SEPARATE or (
        recipe.sharing == FAMILY_HEADS and kind.merge_vocabularies is None
    )
    head = name if has_own_head else kind.family
    row = index if recipe.sharing == EMBEDDING else None
    route = HeadRoute(kind.level or spec.level, head, row, spec.span_layer)
    parts = recipe.corpora.get(spec.data, ())
    biases = recipe.biases.get(name, {})
    task = TaskPlan(name, index, spec, kind, options, route, parts, partial, biases=biases)
    _check_corpus_vectors(recipe, task)
    return task


def _check_corpus_vectors(recipe: Recipe, task: TaskPlan) -> None:
    """Raise ``RecipeError`` for corpus vectors without corpora, and for unknown guidelines."""
    location, guidelines = recipe.at("tasks", task.name), task.spec.guidelines
    if guidelines is not None and not task.spec.corpus_vectors:
        raise location.location_of("guidelines").error("needs corpus_vectors: true")
    if not task.spec.corpus_vectors:
        return
    if guidelines is not None and guidelines not in task.sources:
        hint = did_you_mean(guidelines, task.sources)
        raise location.location_of("guidelines").error(f"no joined corpus {guidelines!r}{hint}")
    for problem, is_wrong in (
        ("data that joins several corpora (corpora: in the recipe)", len(task.parts) < 2),
        (f"a head of its own (sharing: {SEPARATE})", recipe.sharing != SEPARATE),
        ("a kind that reads words", task.route.level == PIECES),
    ):
        if is_wrong:
            raise location.location_of("corpus_vectors").error(f"needs {problem}")


def _check_span_layer(recipe: Recipe, name: str, kind: TaskType) -> None:
    """Raise ``RecipeError`` where a head cannot read a span layer, or asks for what is its own."""
    spec, location = recipe.tasks[name], recipe.at("tasks", name)
    if spec.span_layer is None:
        return
    for problem, is_wrong in (
        (f"a kind that scores spans, got {spec.kind!r}", not kind.scores_spans),
        (f"a head of its own (sharing: {SEPARATE})", recipe.sharing != SEPARATE),
    ):
        if is_wrong:
            raise location.location_of("span_layer").error(f"needs {problem}")
    for key in _PROJECTION_OPTIONS:
        if key in spec.options:
            raise location.location_of(key).error(
                f"is for heads with a projection of their own, this one reads the span layer "
                f"{spec.span_layer!r}: leave out one of the two"
            )


def _check_own_heads(recipe: Recipe, planned: Iterable[TaskPlan]) -> None:
    """Raise ``RecipeError`` for a task with the name of a family, whose head would be taken."""
    tasks = list(planned)
    families = {task.type.family for task in tasks if task.type.merge_vocabularies is not None}
    for task in tasks:
        if task.name in families:
            problem = "is the name of the head that several tasks share; choose another"
            raise recipe.at("tasks", task.name).error(problem)


def _check_shared_heads(recipe: Recipe, planned: Iterable[TaskPlan]) -> None:
    """Raise ``RecipeError`` where tasks cannot have the same head."""
    families: dict[str, list[TaskPlan]] = {}
    for task in planned:
        if task.type.merge_vocabularies is None:
            raise recipe.at("tasks", task.name, "kind").error(
                f"{task.spec.kind!r} cannot share its head, as sharing: {recipe.sharing} asks "
                f"(sharing: {SEPARATE} gives each task its own)"
            )
        families.setdefault(task.type.family, []).append(task)
    for members in families.values():
        for task in members[1:]:
            _check_same_head(recipe, members[0], task)
        levels = {task.spec.level for task in members}
        if len(levels) > 1:
            location = recipe.at("tasks", members[-1].name, "level")
            raise location.error(f"tasks that share a head read one level, got {sorted(levels)}")


def _check_same_head(recipe: Recipe, first: TaskPlan, other: TaskPlan) -> None:
    """Raise ``RecipeError`` where two tasks want their head of different shapes."""
    for key in _HEAD_OPTIONS:
        wanted, got = (getattr(task.options, key, None) for task in (first, other))
        if wanted != got:
            raise recipe.at("tasks", other.name).error(
                f"shares its head with {first.name!r}, so both need the same {key}: "
                f"expected {wanted!r}, got {got!r}"
            )


def _check_names(plan: Plan) -> None:
    """Raise ``RecipeError`` for a name that torch's containers of modules use themselves."""
    at = plan.recipe.at
    named = [(level.spec.name, at("levels", row)) for row, level in enumerate(plan.levels)]
    spans = enumerate(plan.recipe.span_layers)
    named += [(layer.name, at("span_layers", row)) for row, layer in spans]
    named += [(task.route.head, at("tasks", name)) for name, task in plan.kept_tasks.items()]
    for name, location in named:
        if hasattr(nn.ModuleDict(), name):
            raise location.error(f"the name {name!r} is taken (torch uses it); choose another")


def output_layers(layers: Mapping[str, str]) -> dict[str, str]:
    """Return the output layer of each task; ``layers`` names the layer that each learnt.

    A task writes the layer that it learnt. Where several tasks learnt layers of one name, each
    writes to a layer with the task's name. So names follow from the model alone, never from which
    of its tasks are run.
    """
    names = dict(layers)
    while True:
        writers = Counter(names.values())
        clashing = [task for task, layer in names.items() if writers[layer] > 1 and layer != task]
        if not clashing:
            return names
        names |= {task: task for task in clashing}
