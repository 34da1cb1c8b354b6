"""A recipe: read, checked as a whole, and written; options of kinds are not parsed here."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr

from spanloom.config import yaml
from spanloom.config.options import Options, did_you_mean, validate_options
from spanloom.config.override import Setting, override
from spanloom.config.specs import (
    PIECES,
    TRUNK,
    CardSpec,
    CorpusPartSpec,
    EmbedderSpec,
    LevelSpec,
    Name,
    Raw,
    Sharing,
    SpanLayerSpec,
    StageSpec,
    TaskSpec,
)
from spanloom.config.tokenization import TokenizationSpec
from spanloom.config.yaml import ParsedYaml, SourceLocation


class Recipe(Options):
    """A whole recipe: all that a model is made of except the data."""

    trunk: tuple[EmbedderSpec, ...] = Field(
        min_length=1, description="what turns words into vectors: one embedder, or several joined"
    )
    levels: tuple[LevelSpec, ...] = Field(
        default=(), description="contextual layers, bottom to top"
    )
    span_layers: tuple[SpanLayerSpec, ...] = Field(
        default=(), description="projections of spans that heads of several tasks read"
    )
    tasks: dict[Name, TaskSpec] = Field(min_length=1, description="what is learnt from which data")
    corpora: dict[Name, Annotated[tuple[CorpusPartSpec, ...], Field(min_length=1)]] = Field(
        default={}, description="corpora made of layers of others, labels mapped or as they are"
    )
    exclude_texts_of: tuple[str, ...] = Field(
        default=(),
        description="corpora; what has a text of their dev or test is left out of others' train",
    )
    tokenization: TokenizationSpec = Field(TokenizationSpec(), description="how raw text is split")
    encoding: str = Field(
        default="utf-8", description="of the data's text files, as latin-1 (JSON lines are UTF-8)"
    )
    stages: tuple[StageSpec, ...] = Field(min_length=1, description="what is trained when")
    sharing: Sharing = Field(
        default="separate-heads",
        description="separate-heads | task-embedding | task-token | shared-head | family-heads",
    )
    task_embedding_dim: int = Field(
        default=25, ge=1, le=4096, description="size of a task embedding"
    )
    init_from: str | None = Field(
        default=None,
        min_length=1,
        description="a model (folder from here, or hub id) whose weights training begins with",
    )
    card: CardSpec = Field(default=CardSpec(), description="what the model's card says of it")
    seed: int = Field(default=1, ge=0, lt=2**32, description="the start of all random numbers")
    embedding_dropout: float = Field(
        default=0.3, ge=0, lt=1, description="of the trunk's word vectors"
    )
    window: int = Field(default=256, ge=8, description="word pieces encoded at once")
    removed_tasks: tuple[Name, ...] = Field(
        default=(), description="tasks that stages dropped, noted by training; leave it alone"
    )
    pretraining_data: tuple[str, ...] = Field(
        default=(),
        description="data of the models it started from, noted by training; leave it alone",
    )
    held_out: dict[str, str] = Field(
        default={},
        description="up to which hash of names documents were dev, noted; leave it alone",
    )
    vocabulary: Raw = Field(default={}, description="found in the data by training; leave it alone")
    tune_biases: bool = Field(
        default=True, description="choose the biases of decisions on dev when training ends"
    )
    biases: dict[Name, dict[Name, float]] = Field(
        default={},
        description="of decisions, by task, as {ner: {span: 0.5}}; above 0 more is predicted",
    )
    _location: SourceLocation = PrivateAttr(default_factory=SourceLocation)

    @property
    def has_encoder(self) -> bool:
        """Whether the trunk has a transformer, whose pieces tell which languages it knows."""
        return any(embedder.name == "transformer" for embedder in self.trunk)

    @property
    def kept_tasks(self) -> tuple[str, ...]:
        """The names of the tasks that are part of the model."""
        return tuple(name for name in self.tasks if name not in self.removed_tasks)

    def sources(self, task: str) -> tuple[str, ...]:
        """Return the corpora and folders that a task learns from."""
        data = self.tasks[task].data
        return tuple(part.data for part in self.corpora[data]) if data in self.corpora else (data,)

    @property
    def all_sources(self) -> tuple[str, ...]:
        """The corpora and folders that some task learns from."""
        return tuple(dict.fromkeys(source for name in self.tasks for source in self.sources(name)))

    @property
    def untrained_tasks(self) -> tuple[str, ...]:
        """The names of the tasks that are part of the model and that no stage trains."""
        trained = {name for stage in self.stages for name in stage.tasks}
        return tuple(name for name in self.kept_tasks if name not in trained)

    def without_tasks(self, names: Collection[str]) -> Self:
        """Return the recipe without some tasks, and without what no other task reads."""
        tasks = {name: task for name, task in self.tasks.items() if name not in names}
        read = {task.data for task in tasks.values()}
        span_layers = {task.span_layer for task in tasks.values()}
        stages = (
            stage.model_copy(
                update={"remove_tasks": tuple(task for task in stage.remove_tasks if task in tasks)}
            )
            for stage in self.stages
        )
        parts = {
            "tasks": tasks,
            "corpora": {name: corpus for name, corpus in self.corpora.items() if name in read},
            "span_layers": tuple(part for part in self.span_layers if part.name in span_layers),
            "stages": tuple(stages),
        }
        return self.model_copy(update=parts)

    def has_partial_labels(self, corpus: str) -> bool:
        """Return whether a joined corpus has parts in which not all labels were annotated."""
        maps = [part.label_map for part in self.corpora[corpus]]
        label_sets = [None if names is None else frozenset(names.values()) for names in maps]
        return len(set(label_sets)) > 1 or any(
            labels is not None and None in labels for labels in label_sets
        )

    def at(self, *keys: str | int) -> SourceLocation:
        """Return the location of a part, for errors: ``recipe.at("tasks", "wlp")``."""
        return self._location.location_of(*keys)


def load(path: Path, settings: Iterable[str | Setting] = ()) -> Recipe:
    """Read a recipe file, changed by settings such as ``stages.0.epochs=3``; ``RecipeError``."""
    loaded = yaml.load(path)
    if isinstance(loaded.data, dict) and "designs" in loaded.data:
        raise loaded.location.error("is a study, which spanloom study run reads, and no recipe")
    return _read(loaded, settings)


def loads(text: str, name: str = "recipe", settings: Iterable[str] = ()) -> Recipe:
    """Read a recipe from a string; ``name`` stands for the file in errors (``RecipeError``)."""
    return _read(yaml.loads(text, name), settings)


def from_plain(
    plain: Mapping[str, Any], name: str = "recipe", settings: Iterable[str | Setting] = ()
) -> Recipe:
    """Read plain values, as of ``to_plain``; errors (``RecipeError``) name no line of a file."""
    return _read(ParsedYaml(_as_read(plain), SourceLocation(name)), settings)


def _as_read(value: Any) -> Any:
    """Return plain values as YAML reads them: new mappings and lists."""
    if isinstance(value, Mapping):
        return {key: _as_read(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_as_read(inner) for inner in value]
    return value


def dumps(recipe: Recipe) -> str:
    """Write a recipe as YAML with every key it has, so that later defaults do not change it."""
    return yaml.dump(to_plain(recipe))


def to_plain(recipe: Recipe) -> Raw:
    """Return the recipe as the plain mappings and lists of its YAML."""
    data = recipe.model_dump()
    data["trunk"] = [part["options"] for part in data["trunk"]]
    for spec in (*data["levels"], *data["tasks"].values()):
        spec.update(spec.pop("options"))
    for key in ("vocabulary", "corpora", "span_layers"):
        if not data[key]:
            del data[key]
    if recipe.card == CardSpec():
        del data["card"]
    if recipe.encoding == "utf-8":
        del data["encoding"]
    return data


def _read(loaded: ParsedYaml, settings: Iterable[str | Setting]) -> Recipe:
    """Check a loaded file and return it typed, each part knowing its line."""
    for setting in settings:
        known = setting if isinstance(setting, Setting) else Setting.of_command(setting)
        loaded = override(Recipe, loaded, known)
    if not isinstance(loaded.data, dict):
        raise loaded.location.error("expected a mapping with the keys trunk, tasks and stages")
    raw = dict(loaded.data)
    if isinstance(raw.get("trunk"), list):
        raw["trunk"] = [_part(part) for part in raw["trunk"]]
    if isinstance(raw.get("levels"), list):
        raw["levels"] = [_nest_options(LevelSpec, part) for part in raw["levels"]]
    if isinstance(raw.get("tasks"), dict):
        raw["tasks"] = {name: _nest_options(TaskSpec, part) for name, part in raw["tasks"].items()}
    recipe = validate_options(Recipe, raw, loaded.location)
    recipe._location = loaded.location
    _check_names(recipe)
    return recipe


def _part(raw: Any) -> Any:
    """Return an embedder's mapping for ``EmbedderSpec``: the first key names the embedder."""
    return {"name": next(iter(raw), ""), "options": raw} if isinstance(raw, dict) else raw


def _nest_options(model: type[Options], raw: Any) -> Any:
    """Return a mapping with the keys beyond the frame moved into ``options``."""
    if not isinstance(raw, dict):
        return raw  # the check that follows tells what was expected
    frame = model.model_fields.keys() - {"options"}
    nested = {key: value for key, value in raw.items() if key in frame}
    return nested | {"options": {k: v for k, v in raw.items() if k not in frame}}


def _check_names(recipe: Recipe) -> None:
    """Raise ``RecipeError`` for a name that refers to nothing, or two levels of one name."""
    levels = [TRUNK]
    for index, level in enumerate(recipe.levels):
        for read in level.inputs:
            _check_known(read, levels, recipe.at("levels", index, "inputs"), "level below")
        if level.name in (*levels, PIECES):
            raise recipe.at("levels", index, "name").error(f"{level.name!r} is taken")
        levels.append(level.name)
    for name, task in recipe.tasks.items():
        _check_known(task.level, levels, recipe.at("tasks", name, "level"), "level")
    _check_span_layers(recipe, levels)
    if recipe.kept_tasks and all(recipe.tasks[name].on_request for name in recipe.kept_tasks):
        raise recipe.at("tasks").error("each is on_request, so that nothing runs unless asked for")
    for index in range(len(recipe.stages)):
        _check_stage(recipe, index)
    for name, parts in recipe.corpora.items():
        _check_corpus(recipe, name, [part.data for part in parts])


def _check_span_layers(recipe: Recipe, levels: Sequence[str]) -> None:
    """Raise ``RecipeError`` for a span layer that is not there, is there twice, or is not read.

    A span layer and the tasks that read it read one level.
    """
    layers = {layer.name: layer for layer in recipe.span_layers}
    readers = {task.span_layer for task in recipe.tasks.values()}
    names = [layer.name for layer in recipe.span_layers]
    for index, layer in enumerate(recipe.span_layers):
        location = recipe.at("span_layers", index)
        _check_known(layer.level, levels, location.location_of("level"), "level")
        if layer.name in names[:index]:
            raise location.location_of("name").error(f"{layer.name!r} is taken")
        if layer.name not in readers:
            raise location.error(f"no task reads the span layer {layer.name!r}")
    for name, task in recipe.tasks.items():
        if task.span_layer is None:
            continue
        location = recipe.at("tasks", name, "span_layer")
        _check_known(task.span_layer, layers, location, "span layer")
        level = layers[task.span_layer].level
        if task.level != level:
            raise location.error(
                f"reads {level}, expected the level of the task, {task.level}: "
                f"got the span layer {task.span_layer!r}"
            )


def _check_corpus(recipe: Recipe, name: str, sources: Sequence[str]) -> None:
    """Raise ``RecipeError`` for a joined corpus with a part twice, or that no task reads."""
    location = recipe.at("corpora", name)
    for source in sources:
        if sources.count(source) > 1:
            raise location.error(f"names {source!r} twice")
    if all(task.data != name for task in recipe.tasks.values()):
        raise location.error("no task has it as its data")


def _check_stage(recipe: Recipe, index: int) -> None:
    """Raise ``RecipeError`` for a stage that names a task which the recipe or stage lacks."""
    stage, location = recipe.stages[index], recipe.at("stages", index)
    later = {name for later_stage in recipe.stages[index:] for name in later_stage.tasks}
    for key, names, choices, kind in (
        ("tasks", stage.tasks, recipe.tasks, "task"),
        ("reset_heads", stage.reset_heads, stage.tasks, "task of this stage"),
        ("loss_weights", stage.loss_weights, stage.tasks, "task of this stage"),
        (
            "remove_tasks",
            stage.remove_tasks,
            recipe.tasks.keys() - later,
            "task that no later stage trains",
        ),
    ):
        for name in names:
            _check_known(name, choices, location.location_of(key), kind)
    for name in () if stage.teacher is None else stage.teacher.tasks:
        taught = location.location_of("teacher").location_of("tasks")
        _check_known(name, stage.tasks, taught, "task of this stage")
    if stage.validation_metric:
        _check_known(
            stage.validation_metric.split(".")[0],
            stage.tasks,
            location.location_of("validation_metric"),
            "task of this stage",
        )


def _check_known(name: str, choices: Iterable[str], location: SourceLocation, kind: str) -> None:
    """Raise ``RecipeError`` unless ``name`` is among ``choices``."""
    if name not in choices:
        raise location.error(f"no {kind} {name!r}{did_you_mean(name, choices)}")
