"""The file of a study: a base recipe, its tasks, seeds, sharing modes, trunks, and designs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.config.options import Options, did_you_mean, validate_options
from spanloom.config.override import Setting
from spanloom.config.recipe import Recipe
from spanloom.config.specs import Examples, Name, Raw, Sharing
from spanloom.config.yaml import SourceLocation
from spanloom.errors import RecipeError
from spanloom.studies.row import Split, given_gold

Settings = tuple[str, ...]

SINGLE, JOINT, JOINT_THEN_SINGLE = "single", "joint", "joint-then-single"
SINGLE_THEN_SINGLE, PAIRS, PAIRS_THEN_SINGLE = "single-then-single", "pairs", "pairs-then-single"
ALL_BUT_ONE, SUBSETS, CHAINS = "all-but-one", "subsets", "chains"
ORACLE, CURVE, GRID = "oracle", "curve", "grid"


class DesignSpec(Options):
    """What all designs can say: settings of their runs, beside those of the study."""

    label: str = Field(
        default="", description="tells conditions of equal designs apart, as EMD first"
    )
    settings: Settings = Field(default=(), description="of all its runs, as stages.0.epochs=5")
    task_settings: dict[Name, Settings] = Field(
        default={}, description="further settings by the task that is measured"
    )

    def settings_of(self, task: str | None) -> Settings:
        """Return the settings of the runs that measure a task; later ones override earlier ones."""
        return (*self.settings, *self.task_settings.get(task or "", ()))


class SingleSpec(DesignSpec):
    """Each task alone."""

    task_seeds: dict[Name, tuple[int, ...]] = Field(
        default={}, description="further seeds by task, for tasks that train fast"
    )


class OracleSpec(DesignSpec):
    """Each task with all that help it, as other designs found on dev."""

    of: tuple[Literal["pairs", "all-but-one"], ...] = Field(
        default=("pairs",), min_length=1, description="pairs | all-but-one: what shows who helps"
    )

    @property
    def designs_read(self) -> frozenset[str]:
        """The designs of the study whose rows say who helps."""
        baselines = {SINGLE, JOINT} if ALL_BUT_ONE in self.of else {SINGLE}
        return frozenset({*baselines, *self.of})


class SubsetsSpec(DesignSpec):
    """Some sets of tasks, each learnt jointly."""

    sets: tuple[tuple[Name, ...], ...] = Field(min_length=1, description="the sets of tasks")


class ChainsSpec(DesignSpec):
    """Tasks learnt one after the other, each run starting from the weights of the one before.

    A link of a chain is a task, or several that are learnt jointly. With ``examples`` there is a
    chain per size, whose last link learns from so many.
    """

    examples: tuple[Examples, ...] = Field(
        default=(), description="sizes of the last link's training data; empty: all of it"
    )

    orders: tuple[Annotated[tuple[Name | tuple[Name, ...], ...], Field(min_length=2)], ...] = Field(
        min_length=1, description="the chains, as [[ner, relations], [[ner, pos], relations]]"
    )
    prefix_seed: int | None = Field(
        default=None, description="seed of all links but the last; null: that of the run"
    )


def group(link: Name | tuple[Name, ...]) -> tuple[Name, ...]:
    """Return the tasks of a link of a chain."""
    return (link,) if isinstance(link, str) else link


class FineTunedSpec(DesignSpec):
    """Tasks trained further alone, from the weights of a run of several, or of their own."""

    heads: tuple[Literal["kept", "reset"], ...] = Field(
        default=("kept",), min_length=1, description="kept | reset: of the task; runs for each"
    )


class CurveSpec(DesignSpec):
    """A learning curve: the same run with fewer examples of each task."""

    examples: tuple[Examples, ...] = Field(min_length=1, description="sizes, as 100 or 10%")
    of: Literal["single", "joint", "pairs"] = Field(
        default="single", description="single | joint | pairs: which runs"
    )
    limited: Literal["all", "measured"] = Field(
        default="all", description="all | measured: which tasks learn from fewer examples"
    )
    tasks: tuple[Name, ...] = Field(default=(), description="those that are measured; empty: all")
    partners: dict[Name, tuple[Name, ...]] = Field(
        default={}, description="of pairs: the partners of measured tasks; empty: all others"
    )

    @model_validator(mode="after")
    def _check_partners(self) -> "CurveSpec":
        if self.partners and self.of != PAIRS:
            raise ValueError(f"partners: expected with of: pairs alone, got of: {self.of}")
        for task, partners in self.partners.items():
            if task in partners:
                raise ValueError(f"partners: expected other tasks than {task!r} itself")
        return self


class GridSpec(DesignSpec):
    """Every combination of some options."""

    options: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = Field(
        min_length=1, description="values by key, as stages.0.lr.task: [1e-3, 2e-3]"
    )
    of: Literal["single", "joint"] = Field(default="single", description="single | joint")
    tasks: tuple[Name, ...] = Field(default=(), description="those that are measured; empty: all")


DESIGNS: dict[str, type[DesignSpec]] = {
    SINGLE: SingleSpec,
    JOINT: DesignSpec,
    JOINT_THEN_SINGLE: FineTunedSpec,
    SINGLE_THEN_SINGLE: FineTunedSpec,
    PAIRS: DesignSpec,
    PAIRS_THEN_SINGLE: FineTunedSpec,
    ALL_BUT_ONE: DesignSpec,
    ORACLE: OracleSpec,
    SUBSETS: SubsetsSpec,
    CHAINS: ChainsSpec,
    CURVE: CurveSpec,
    GRID: GridSpec,
}


class StudySpec(Options):
    """The keys of a study's file."""

    recipe: str = Field(min_length=1, description="the base recipe, from the folder of this file")
    tasks: tuple[Name, ...] = Field(default=(), description="tasks of the recipe; empty: all")
    settings: Settings = Field(default=(), description="of all runs, as stages.0.epochs=5")
    seeds: tuple[int, ...] = Field(default=(1,), min_length=1, description="one run each")
    sharing: tuple[Sharing, ...] = Field(default=(), description="sharing modes; empty: the base's")
    trunks: dict[Name, tuple[Raw, ...]] = Field(
        default={}, description="trunks by name; empty: the base's"
    )
    single_only: dict[Name, Raw] = Field(
        default={},
        description="further tasks that are learnt alone and from the joint model, never jointly",
    )
    gold_inputs: tuple[Name, ...] = Field(
        default=(), description="tasks that are also scored with gold mentions or spans given"
    )
    metrics: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(
        default={}, description="metrics that are reported, by task; unsaid: its main one"
    )
    score: Split = Field(default="dev", description="dev | test: what is scored")
    weights: Literal["own", "shared"] = Field(
        default="own",
        description="own (each task's best) | shared (the best by the mean): what is scored",
    )
    against: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(),
        max_length=2,
        description="trunks, sharing modes or conditions, as [minilm] or [after ner], that all are "
        "compared with; empty: the task alone",
    )
    k: float = Field(
        default=1.5, ge=0, description="standard deviations by which means must differ (higher)"
    )
    designs: tuple[Raw, ...] = Field(min_length=1, description="[{design: single}, …]")


@dataclass(frozen=True, slots=True)
class Design:
    """One design of a study: its name and its options."""

    name: str
    spec: DesignSpec


@dataclass(frozen=True, slots=True)
class Study:
    """A study as read: its file, its options, its base recipe with settings, its designs."""

    path: Path
    spec: StudySpec
    base: Recipe
    designs: tuple[Design, ...]

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.path.stem

    @property
    def joint_tasks(self) -> tuple[str, ...]:
        """The tasks that are learnt jointly."""
        return self.spec.tasks or self.base.stages[0].tasks

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that are measured."""
        return (*self.joint_tasks, *self.spec.single_only)

    def scored_on(self, split: Split) -> "Study":
        """Return the study with another split to report; its runs would have other keys."""
        return replace(self, spec=self.spec.model_copy(update={"score": split}))


def load(path: Path, settings: Settings = ()) -> Study:
    """Read a study; ``settings`` change its base recipe, as ``stages.0.epochs=1``.

    Raises ``RecipeError`` with file and line.
    """
    loaded = yaml.load(path)
    if isinstance(loaded.data, dict) and "stages" in loaded.data and "designs" not in loaded.data:
        raise loaded.location.error("is a recipe, which spanloom train reads; a study has designs")
    spec = validate_options(StudySpec, _mapping(loaded.data, loaded.location), loaded.location)
    of_file = (
        Setting(setting, loaded.location.location_of("settings", row).file_line())
        for row, setting in enumerate(spec.settings)
    )
    base = recipes.load(path.parent / spec.recipe, (*of_file, *settings))
    if len(base.stages) != 1:
        problem = f"expected a recipe of one stage, got {len(base.stages)} in {spec.recipe}"
        raise loaded.location.location_of("recipe").error(problem)
    if base.init_from is not None:
        problem = f"{spec.recipe} has init_from; make what it names the first link of chains"
        raise loaded.location.location_of("recipe").error(problem)
    designs = tuple(
        _design(raw, loaded.location.location_of("designs", row))
        for row, raw in enumerate(spec.designs)
    )
    study = Study(path, spec, base, designs)
    _check_settings(study, settings)
    _check_names(study, loaded.location)
    return study


def _mapping(data: Any, location: SourceLocation) -> Raw:
    if not isinstance(data, dict):
        raise location.error("expected a mapping with the keys recipe and designs")
    return data


def _design(raw: Raw, location: SourceLocation) -> Design:
    """Return one design; its options are checked by its own model."""
    name = raw.get("design")
    if name not in DESIGNS:
        hint = did_you_mean(str(name), DESIGNS)
        raise location.location_of("design").error(f"no design {name!r}{hint}")
    options = {key: value for key, value in raw.items() if key != "design"}
    return Design(name, validate_options(DESIGNS[name], options, location, ("design",)))


def _check_settings(study: Study, settings: Settings) -> None:
    """Raise ``RecipeError`` where settings or a grid set what the study gives every run itself."""
    specs = [design.spec for design in study.designs]
    of_study = {setting.partition("=")[0].strip() for setting in (*settings, *study.spec.settings)}
    own = chain.from_iterable(spec.settings for spec in specs)
    of_tasks = chain.from_iterable(chain(*spec.task_settings.values()) for spec in specs)
    of_designs = {setting.partition("=")[0].strip() for setting in (*own, *of_tasks)}
    of_designs |= {key for spec in specs if isinstance(spec, GridSpec) for key in spec.options}
    if "seed" in of_study | of_designs:
        problem = "settings: a run has the seed of its place in seeds; set seeds, not seed"
        raise RecipeError(str(study.path), None, problem)
    # the base's own tasks may be set where the study names none
    if "stages.0.tasks" in of_designs or (study.spec.tasks and "stages.0.tasks" in of_study):
        problem = "settings: a run learns the tasks of its design; set tasks, not stages.0.tasks"
        raise RecipeError(str(study.path), None, problem)


def _check_names(study: Study, location: SourceLocation) -> None:
    """Raise ``RecipeError`` for an unknown task, and for one that the recipe has already."""
    for name in study.spec.single_only:
        if name in study.base.tasks:
            problem = f"{study.spec.recipe} has a task of this name"
            raise location.location_of("single_only", name).error(problem)
    _check_tasks(study.spec.tasks, tuple(study.base.tasks), location.location_of("tasks"))
    _check_tasks(study.spec.gold_inputs, study.tasks, location.location_of("gold_inputs"))
    scored = (*study.tasks, *map(given_gold, study.spec.gold_inputs))
    _check_tasks(study.spec.metrics, scored, location.location_of("metrics"))
    for row, design in enumerate(study.designs):
        at = location.location_of("designs", row)
        for key, names, choices in _named_tasks(study, design.spec):
            _check_tasks(names, choices, at.location_of(key))
        if design.spec.task_settings and _measures_several(design):
            problem = f"runs of {design.name} here measure several tasks at once; use settings"
            raise at.location_of("task_settings").error(problem)
        if isinstance(design.spec, OracleSpec):
            _check_oracle(study.designs[:row], design.spec, at)


def _measures_several(design: Design) -> bool:
    """Whether a run of a design measures several tasks, so that it has no settings of one."""
    if isinstance(design.spec, CurveSpec | GridSpec):
        return design.spec.of != SINGLE
    return design.name in (JOINT, PAIRS, ALL_BUT_ONE, SUBSETS)


def _named_tasks(
    study: Study, spec: DesignSpec
) -> Iterator[tuple[str, Iterable[str], tuple[str, ...]]]:
    """Yield the keys of a design that name tasks: key, names, and the tasks it may name."""
    yield "task_settings", spec.task_settings, study.tasks
    if isinstance(spec, SingleSpec):
        yield "task_seeds", spec.task_seeds, study.tasks
    if isinstance(spec, GridSpec | CurveSpec):
        yield "tasks", spec.tasks, study.tasks
    if isinstance(spec, CurveSpec):
        names = chain(spec.partners, *spec.partners.values())
        yield "partners", names, study.joint_tasks
    if isinstance(spec, SubsetsSpec):
        yield "sets", chain.from_iterable(spec.sets), study.joint_tasks
    if isinstance(spec, ChainsSpec):
        links = (name for order in spec.orders for link in order for name in group(link))
        yield "orders", links, study.tasks


def _check_tasks(
    names: Iterable[str], valid_names: tuple[str, ...], location: SourceLocation
) -> None:
    for name in names:
        if name not in valid_names:
            raise location.error(f"no task {name!r}{did_you_mean(name, valid_names)}")


def _check_oracle(earlier: Iterable[Design], spec: OracleSpec, location: SourceLocation) -> None:
    """Raise ``RecipeError`` where the designs that an oracle reads do not stand before it."""
    names = {design.name for design in earlier if not design.spec.label}
    for name in sorted(spec.designs_read - names):
        raise location.location_of("of").error(
            f"needs the design {name!r} without a label before it in this study"
        )
