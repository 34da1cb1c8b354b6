"""What a study measures: cells, each a task under a condition with one seed, and their runs."""

from dataclasses import dataclass

from spanloom.studies.job import Job


@dataclass(frozen=True, slots=True)
class Variant:
    """One seed, sharing mode and trunk of a study; empty names where a study has but one."""

    seed: int
    sharing: str = ""
    trunk: str = ""

    @property
    def group(self) -> tuple[str, str]:
        """What seeds have in common: sharing mode and trunk."""
        return self.sharing, self.trunk


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement: a task under a condition of a design.

    ``partners`` are the tasks that it was learnt with, or after; ``examples`` is the size of its
    training data (None: all of it). ``job`` is the run whose row holds it. ``label`` is that of its
    design, part of the condition. ``new_head`` says that a task that went on alone began with one.
    """

    design: str
    condition: str
    task: str
    variant: Variant
    job: Job
    partners: tuple[str, ...] = ()
    examples: int | str | None = None
    label: str = ""
    new_head: bool = False


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """All cells of a study that can be planned so far; ``waiting`` are designs that need rows."""

    cells: tuple[Cell, ...]
    waiting: tuple[str, ...]

    @property
    def jobs(self) -> dict[str, Job]:
        """The runs by key, each after the runs that it goes on from."""
        jobs: dict[str, Job] = {}

        def add(job: Job) -> None:
            if job.before is not None:
                add(job.before)
            jobs.setdefault(job.key, job)

        for cell in self.cells:
            add(cell.job)
        return jobs
