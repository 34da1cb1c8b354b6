"""What each condition of a study is compared with: its baseline, and its control."""

from collections.abc import Iterable, Sequence

from spanloom.studies.spec import (
    ALL_BUT_ONE,
    CURVE,
    GRID,
    JOINT,
    JOINT_THEN_SINGLE,
    PAIRS_THEN_SINGLE,
    SINGLE,
    SINGLE_THEN_SINGLE,
)
from spanloom.studies.study_plan import Cell

Cells = Sequence[Cell]  # a task under one condition, with each seed


def baseline_and_control(
    cells: Cells, groups: Iterable[Cells], against: Sequence[str]
) -> tuple[Cells | None, Cells | None]:
    """Return the cells that those of a condition are compared with, None where there are none.

    ``groups`` are all conditions; ``against`` are the trunks, sharing modes or conditions that the
    study names.
    """
    cell, others = cells[0], list(groups)
    if not against:
        return _baseline(cell, others), _control(cell, others)
    named: list[Cells | None] = []
    for name in against:
        baseline = _named(cell, others, name)
        if baseline is not None and baseline[0] is cell:
            break  # what is named itself is compared with those before it
        named.append(baseline)
    first, second, *_ = (*named, None, None)
    return first, second


def cells_of_gains(cells: Cells, groups: Iterable[Cells]) -> tuple[Cells, Cells, Cells] | None:
    """Return the cells by which the gain of a condition with a label is compared with another gain.

    They are its own baseline with that label, the same condition without a label, and the baseline
    of that; None where one of them is missing.
    """
    others = list(groups)
    same = _without_label(cells[0], others)
    baseline = None if same is None else _baseline(same[0], others)
    if same is None or baseline is None:
        return None
    own = _like(baseline[0], f"{baseline[0].condition}, {cells[0].label}", others)
    return None if own is None else (own, same, baseline)


def name_of_baseline(cell: Cell, baseline: Cell) -> str:
    """Return what a cell is compared with: another trunk, sharing mode, or condition."""
    if baseline.variant.trunk != cell.variant.trunk:
        return baseline.variant.trunk
    is_other_sharing = baseline.variant.sharing != cell.variant.sharing
    return baseline.variant.sharing if is_other_sharing else baseline.condition


def _named(cell: Cell, groups: Iterable[Cells], name: str) -> Cells | None:
    """Return the cells of the same task with such a trunk or sharing mode, or such a condition."""
    sharing, trunk = cell.variant.group
    wanted = {
        (name, (sharing, trunk)),
        *((cell.condition, group) for group in ((sharing, name), (name, trunk))),
    }
    of_task = [others for others in groups if others[0].task == cell.task]
    return next((o for o in of_task if (o[0].condition, o[0].variant.group) in wanted), None)


def _baseline(cell: Cell, groups: Iterable[Cells]) -> Cells | None:
    """Return the cells that a condition is compared with: the task alone, as far as possible.

    What learns from fewer examples is compared with the task alone on as many; a point of a
    grid with the run whose options it changes; all tasks but one with all of them, and a design
    with a label with the same design without one, where the study has that.
    """
    if (unlabelled := _without_label(cell, groups)) is not None:
        return unlabelled
    if cell.design == SINGLE or (cell.design == CURVE and not cell.partners):
        return None
    same = [
        others
        for others in groups
        if (others[0].task, others[0].variant.group) == (cell.task, cell.variant.group)
        and not (others[0].design == CURVE and others[0].partners)
        and not others[0].label
    ]
    for wanted in _baseline_designs(cell):
        for others in same:
            if (others[0].design, others[0].examples) == wanted:
                return others
    return None


def _without_label(cell: Cell, groups: Iterable[Cells]) -> Cells | None:
    """Return the cells of the same condition without a label, None where there are none."""
    if not cell.label:
        return None
    return _like(cell, cell.condition.removesuffix(f", {cell.label}"), groups)


def _like(cell: Cell, condition: str, groups: Iterable[Cells]) -> Cells | None:
    """Return the cells that differ from one in their condition and seeds, None for none."""
    wanted = cell.design, condition, cell.task, cell.variant.group
    for others in groups:
        other = others[0]
        if (other.design, other.condition, other.task, other.variant.group) == wanted:
            return others
    return None


def _control(cell: Cell, groups: Iterable[Cells]) -> Cells | None:
    """Return the cells of the task alone twice, for one that went on alone after other tasks.

    What went on with a new head is compared with what did so alone, if the study has that.
    """
    if cell.design not in (JOINT_THEN_SINGLE, PAIRS_THEN_SINGLE):
        return None
    again = {
        others[0].new_head: others
        for others in groups
        if (others[0].design, others[0].label) == (SINGLE_THEN_SINGLE, "")
        and (others[0].task, others[0].variant.group) == (cell.task, cell.variant.group)
    }
    return again.get(cell.new_head, again.get(False))


def _baseline_designs(cell: Cell) -> list[tuple[str, int | str | None]]:
    """Return designs and numbers of examples that a cell is compared with, the best one first."""
    if cell.examples is not None:
        return [(CURVE, cell.examples)]
    if cell.design == GRID and cell.partners:
        return [(JOINT, None)]
    return [(JOINT, None), (SINGLE, None)] if cell.design == ALL_BUT_ONE else [(SINGLE, None)]
