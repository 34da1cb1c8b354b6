"""The designs of a study: which runs they need, and what each of them measures.

A run is planned as a ``Job``; runs that several designs need have the same key and are trained
once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from pathlib import Path

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.config.specs import Raw
from spanloom.studies.comparison import MeanScore, is_higher
from spanloom.studies.condition_checks import check_plan
from spanloom.studies.job import Job, build_job, subset
from spanloom.studies.row import Row, given_gold, primary_score
from spanloom.studies.spec import (
    ALL_BUT_ONE,
    CHAINS,
    CURVE,
    GRID,
    JOINT,
    JOINT_THEN_SINGLE,
    ORACLE,
    PAIRS,
    PAIRS_THEN_SINGLE,
    SINGLE,
    SINGLE_THEN_SINGLE,
    SUBSETS,
    ChainsSpec,
    CurveSpec,
    DesignSpec,
    FineTunedSpec,
    GridSpec,
    OracleSpec,
    Settings,
    SingleSpec,
    Study,
    SubsetsSpec,
    group,
)
from spanloom.studies.study_plan import Cell, StudyPlan, Variant

ReadRows = Callable[[Iterable[str]], Mapping[str, Row]]


@dataclass(slots=True)
class _Planner:
    """Builds the jobs of one variant of a study; jobs with the same content are built once."""

    study: Study
    data: Path
    variant: Variant
    base: Raw
    read_rows: ReadRows
    built: dict[tuple[object, ...], Job] = field(default_factory=dict)

    def run(
        self,
        names: Sequence[str],
        settings: Settings = (),
        before: Job | None = None,
        measured: Sequence[str] = (),
    ) -> Job:
        """Return the job that learns some tasks jointly, scored on those measured, or on all."""
        names = [name for name in self.base["tasks"] if name in names]
        scored = [name for name in names if name in measured] or names
        content = (*names, settings, before.key if before else "", *scored)
        if content not in self.built:
            name = "+".join(names) if before is None else f"{before.name} > {'+'.join(names)}"
            # quoted, as a hash such as 57e21 would be read as a number
            start = [] if before is None else [f"init_from='{before.key}'"]
            recipe = subset(self.base, names, (*settings, *start), f"{self.study.path}: {name}")
            if before is None:
                name = ", ".join(filter(None, (name, *self.variant.group, f"seed {recipe.seed}")))
            name = " ".join((name, *settings))
            spec = self.study.spec
            more = before, spec.weights, [task for task in spec.gold_inputs if task in scored]
            jobs = [  # one that was scored on test was scored on dev as well
                build_job(name, recipe, self.data, scored, score, *more)
                for score in dict.fromkeys((spec.score, "test"))
            ]
            finished = self.read_rows({job.key for job in jobs})
            self.built[content] = next((job for job in jobs if job.key in finished), jobs[0])
        return self.built[content]

    def cell(self, design: str, condition: str, task: str, job: Job) -> Cell:
        """Return the cell of one task of a job."""
        partners = tuple(name for name in job.recipe["tasks"] if name != task)
        return Cell(design, condition, task, self.variant, job, partners)


def plan(study: Study, data: Path, read_rows: ReadRows) -> StudyPlan:
    """Plan a study: all cells but those that wait for rows which are not there yet.

    ``data`` holds the corpora that the recipe names; ``read_rows`` returns those of the runs with
    some keys that are finished. Raises ``RecipeError`` and ``DataError``.
    """
    planners = [
        _Planner(study, data, variant, _base(study, variant), read_rows)
        for variant in _variants(study)
    ]
    of_study = [planner for planner in planners if planner.variant.seed in study.spec.seeds]
    cells: list[Cell] = []
    waiting = []
    for design in study.designs:
        if isinstance(design.spec, OracleSpec):
            oracle_cells = _oracle(study, of_study, design.spec, cells)
            if len(oracle_cells) < len(of_study) * len(study.joint_tasks):
                waiting.append(design.name)
            cells += (_labelled(cell, design.spec.label) for cell in oracle_cells)
        else:
            for planner in planners if isinstance(design.spec, SingleSpec) else of_study:
                planned = _PLANS[design.name](planner, design.spec)
                cells += (_labelled(cell, design.spec.label) for cell in planned)
    planned_study = StudyPlan(tuple(cells), tuple(waiting))
    check_plan(study, planned_study)
    given = [cell for cell in cells if cell.task in study.spec.gold_inputs]
    cells += [replace(cell, task=given_gold(cell.task)) for cell in given]
    return replace(planned_study, cells=tuple(cells))


def _labelled(cell: Cell, label: str) -> Cell:
    """Return the cell with the label of its design in its condition."""
    if not label:
        return cell
    return replace(cell, condition=f"{cell.condition}, {label}", label=label)


def _variants(study: Study) -> Iterator[Variant]:
    """Yield the variants of a study; seeds that only some tasks have come last."""
    spec = study.spec
    singles = [d.spec for d in study.designs if isinstance(d.spec, SingleSpec)]
    further = [seed for own in singles for seeds in own.task_seeds.values() for seed in seeds]
    seeds = dict.fromkeys((*spec.seeds, *further))
    for trunk, sharing, seed in product(spec.trunks or ("",), spec.sharing or ("",), seeds):
        yield Variant(seed, sharing, trunk)


def _base(study: Study, variant: Variant) -> Raw:
    """Return the plain base recipe of a variant."""
    plain = recipes.to_plain(study.base)
    plain["tasks"] |= study.spec.single_only
    plain["seed"] = variant.seed
    if variant.sharing:
        plain["sharing"] = variant.sharing
    if variant.trunk:
        plain["trunk"] = list(study.spec.trunks[variant.trunk])
    return recipes.to_plain(recipes.from_plain(plain, str(study.path)))


def _single(planner: _Planner, spec: DesignSpec) -> Iterator[Cell]:
    assert isinstance(spec, SingleSpec)
    study, seed = planner.study, planner.variant.seed
    for task in study.tasks:
        if seed in (*study.spec.seeds, *spec.task_seeds.get(task, ())):
            yield planner.cell(SINGLE, SINGLE, task, planner.run([task], spec.settings_of(task)))


def _joint(planner: _Planner, spec: DesignSpec) -> Iterator[Cell]:
    job = planner.run(planner.study.joint_tasks, spec.settings)
    for task in planner.study.joint_tasks:
        yield planner.cell(JOINT, JOINT, task, job)


def _joint_then_single(planner: _Planner, spec: DesignSpec) -> Iterator[Cell]:
    """Yield each task, trained further from the joint model of the design ``joint``."""
    settings = _settings(planner.study, JOINT)
    joint = planner.run(planner.study.joint_tasks, settings)
    for task in planner.study.tasks:
        others = tuple(name for name in planner.study.joint_tasks if name != task)
        for cell in _tuned(planner, spec, task, joint):
            condition = JOINT_THEN_SINGLE + cell.condition
            yield replace(cell, design=JOINT_THEN_SINGLE, condition=condition, partners=others)


def _pairs_then_single(planner: _Planner, spec: DesignSpec) -> Iterator[Cell]:
    """Yield both tasks of each pair, trained further from the run of the design ``pairs``."""
    for pair in combinations(planner.study.joint_tasks, 2):
        joint = planner.run(pair, _settings(planner.study, PAIRS))
        for task, partner in (pair, pair[::-1]):
            for cell in _tuned(planner, spec, task, joint):
                condition = f"with {partner}, then alone{cell.condition}"
                yield replace(cell, condition=condition, partners=(partner,))


def _tuned(planner: _Planner, spec: DesignSpec, task: str, before: Job) -> Iterator[Cell]:
    """Yield the cells of a task alone on from another run; its head ends the condition."""
    assert isinstance(spec, FineTunedSpec)
    for heads in spec.heads:
        new_head = heads == "reset"
        reset = (f"stages.0.reset_heads=[{task}]",) if new_head else ()
        job = planner.run([task], (*spec.settings_of(task), *reset), before=before)
        cell = planner.cell(PAIRS_THEN_SINGLE, ", new head" if new_head else "", task, job)
        yield replace(cell, new_head=new_head)


def _single_then_single(planner: _Planner, spec: DesignSpec) -> Iterator[Cell]:
    """Yield each task alone, trained further from its own run: it has had as many updates."""
    for task in planner.study.tasks:
        first = planner.run([task], _settings(planner.study, SINGLE, task))
        for cell in _tuned(planner, spec, task, first):
            condition = SINGLE_THEN_SINGLE + cell.condition
            yield replace(cell, design=SINGLE_THEN_SINGLE, condition=condition)


def _settings(study: Study, name: str, task: str | None = None) -> Settings:
    """Return the settings of the design of that name, of one without a label if there is one."""
    specs = (design.spec for design in study.designs if design.name == name)
    spec = min(specs, key=lambda spec: bool(spec.label), default=None)  # the first one of these
    return () if spec is None else spec.settings_of(task)


def _only(names: Sequence[str]) -> str | None:
    """Return the only one of some tasks, None if there are several."""
    return names[0] if len(names) == 1 else None


def _pairs(planner: _Planner, spec: DesignSpec) -> Iterator[Cell]:
    for pair in combinations(planner.study.joint_tasks, 2):
        job = planner.run(pair, spec.settings)
        for task, partner in (pair, pair[::-1]):
            yield planner.cell(PAIRS, f"with {partner}", task, job)


def _all_but_one(planner: _Planner, spec: DesignSpec) -> Iterator[Cell]:
    names = planner.study.joint_tasks
    for left_out in names:
        kept = [name for name in names if name != left_out]
        job = planner.run(kept, spec.settings)
        for task in kept:
            yield planner.cell(ALL_BUT_ONE, f"without {left_out}", task, job)


def _subsets(planner: _Planner, spec: DesignSpec) -> Iterator[Cell]:
    assert isinstance(spec, SubsetsSpec)
    for names in spec.sets:
        job = planner.run(names, spec.settings)
        condition = f"in {'+'.join(job.tasks)}" if len(names) > 1 else "alone"
        for task in job.tasks:
            yield planner.cell(SUBSETS, condition, task, job)


def _chains(planner: _Planner, spec: DesignSpec) -> Iterator[Cell]:
    """Yield the last tasks of each chain; every run starts from the weights of the one before."""
    assert isinstance(spec, ChainsSpec)
    prefix_planner = _with_seed(planner, spec.prefix_seed)
    for links, size in product(spec.orders, spec.examples or (None,)):
        groups = [group(link) for link in links]
        job = None
        for names in groups[:-1]:
            job = prefix_planner.run(names, spec.settings_of(_only(names)), before=job)
        limits = () if size is None else _limits(groups[-1], size)
        settings = (*spec.settings_of(_only(groups[-1])), *limits)
        job = planner.run(groups[-1], settings, before=job)
        before = " > ".join("+".join(names) for names in groups[:-1])
        learnt = dict.fromkeys(name for names in groups for name in names)
        is_joint = {*groups[-1]} == {*planner.study.joint_tasks}
        last = "joint" if is_joint else "+".join(groups[-1])
        condition = f"{last} after {before}" if len(groups[-1]) > 1 else f"after {before}"
        condition += f", {size} examples" if size is not None else ""
        for task in groups[-1]:
            cell = planner.cell(CHAINS, condition, task, job)
            partners = tuple(name for name in learnt if name != task)
            yield replace(cell, partners=partners, examples=size)


def _with_seed(planner: _Planner, seed: int | None) -> _Planner:
    """Return the planner of the same variant with another seed; the same one if that is None."""
    if seed is None:
        return planner
    variant = replace(planner.variant, seed=seed)
    return replace(planner, variant=variant, base=_base(planner.study, variant), built={})


def _limits(names: Iterable[str], size: int | str) -> Settings:
    """Return the settings with which tasks learn from that many examples."""
    return tuple(f"tasks.{name}.examples={size}" for name in names)


def _curve(planner: _Planner, spec: DesignSpec) -> Iterator[Cell]:
    assert isinstance(spec, CurveSpec)
    study = planner.study
    for names, size in product(_groups(study, spec.of), spec.examples):
        measured = [name for name in names if _is_measured(spec, name, names)]
        limits = [[name] for name in measured] if spec.limited == "measured" else [[*names]]
        for limited in limits if measured else ():
            sizes = _limits(limited, size)
            own = spec.settings_of(_only(names))
            scored = [name for name in limited if name in measured]
            settings = (*_settings(study, spec.of, _only(names)), *own, *sizes)
            job = planner.run(names, settings, measured=scored)
            for task in scored:
                others = "+".join(name for name in names if name != task)
                condition = f"{size} examples" + (f", with {others}" if others else "")
                yield replace(planner.cell(CURVE, condition, task, job), examples=size)


def _is_measured(spec: CurveSpec, task: str, learnt: Sequence[str]) -> bool:
    """Whether a curve has a point for a task in the run that learns these tasks."""
    if spec.tasks and task not in spec.tasks:
        return False
    partners = set(learnt) - {task}
    return not spec.partners or partners <= set(spec.partners.get(task, ()))


def _grid(planner: _Planner, spec: DesignSpec) -> Iterator[Cell]:
    assert isinstance(spec, GridSpec)
    study = planner.study
    measured = spec.tasks or study.tasks
    groups = [names for names in _groups(study, spec.of) if not set(names).isdisjoint(measured)]
    for names, values in product(groups, product(*spec.options.values())):
        pairs = zip(spec.options, values, strict=True)
        changes = tuple(f"{key}={yaml.dump_line(value)}" for key, value in pairs)
        own = spec.settings_of(_only(names))
        job = planner.run(names, (*_settings(study, spec.of, _only(names)), *own, *changes))
        for task in names:
            if task in measured:
                yield planner.cell(GRID, "; ".join(changes), task, job)


def _groups(study: Study, of: str) -> list[tuple[str, ...]]:
    """Return the sets of tasks that the runs of a design learn."""
    if of == JOINT:
        return [study.joint_tasks]
    if of == PAIRS:
        return list(combinations(study.joint_tasks, 2))
    return [(task,) for task in study.tasks]


_PLANS: dict[str, Callable[[_Planner, DesignSpec], Iterator[Cell]]] = {
    SINGLE: _single,
    JOINT: _joint,
    JOINT_THEN_SINGLE: _joint_then_single,
    SINGLE_THEN_SINGLE: _single_then_single,
    PAIRS: _pairs,
    PAIRS_THEN_SINGLE: _pairs_then_single,
    ALL_BUT_ONE: _all_but_one,
    SUBSETS: _subsets,
    CHAINS: _chains,
    CURVE: _curve,
    GRID: _grid,
}


def _oracle(
    study: Study,
    planners: Iterable[_Planner],
    spec: OracleSpec,
    cells: Sequence[Cell],
) -> list[Cell]:
    """Return each task with all tasks that help it, as far as the rows that tell this are there.

    A task helps another if their pair is higher than the other alone (Changpinyo et al. 2018,
    section 3.4), or if leaving it out of all makes the other lower. A task that none helps is
    measured by its own single run. Helpers are chosen on dev.
    """
    needed = [cell for cell in cells if cell.design in spec.designs_read and not cell.label]
    oracle_cells = []
    for planner in planners:
        group = [cell for cell in needed if cell.variant.group == planner.variant.group]
        rows = planner.read_rows({cell.job.key for cell in group})
        for task in study.joint_tasks:
            own = [cell for cell in group if cell.task == task]
            if all(cell.job.key in rows for cell in own):
                helpers = _helpers(study, task, own, rows)
                job = _oracle_job(study, planner, task, spec, helpers)
                oracle_cells.append(planner.cell(ORACLE, ORACLE, task, job))
    return oracle_cells


def _oracle_job(
    study: Study, planner: _Planner, task: str, spec: OracleSpec, helpers: Iterable[str]
) -> Job:
    """Return the run of a task with its helpers, or alone if there are none."""
    if names := list(helpers):
        design = PAIRS if PAIRS in spec.of else JOINT
        return planner.run([task, *names], spec.settings_of(task) or _settings(study, design))
    return planner.run([task], spec.settings_of(task) or _settings(study, SINGLE, task))


def _helpers(
    study: Study, task: str, cells: Sequence[Cell], rows: Mapping[str, Row]
) -> Iterator[str]:
    """Yield the tasks that help a task; ``cells`` are its own."""
    values: dict[tuple[str, frozenset[str]], list[float]] = {}
    for cell in cells:
        score = primary_score(rows[cell.job.key], task, "dev")
        values.setdefault((cell.design, frozenset(cell.partners)), []).append(score)
    scores = {measured: MeanScore.of(own) for measured, own in values.items()}
    none, others = frozenset[str](), frozenset(study.joint_tasks) - {task}
    for other in study.joint_tasks:
        pair = scores.get((PAIRS, frozenset({other})))
        without = scores.get((ALL_BUT_ONE, others - {other}))
        helps = pair is not None and is_higher(pair, scores[SINGLE, none], study.spec.k)
        helps |= without is not None and is_higher(scores[JOINT, others], without, study.spec.k)
        if other != task and helps:
            yield other
