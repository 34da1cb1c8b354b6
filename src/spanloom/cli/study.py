"""``spanloom study``: many runs of one recipe, planned by designs, compared in a report."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from spanloom.cli.console import WrongUse, log, write_stdout
from spanloom.cli.options import options_of
from spanloom.cli.study_options import Data, Results, Settings, StudyFile, open_study
from spanloom.cli.study_relatedness import advise, correlate, similarity
from spanloom.errors import DataError
from spanloom.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanloom.corpora.probing_sets import ProbingSet
    from spanloom.studies.execute import Folders
    from spanloom.studies.job import Job
    from spanloom.studies.spec import Study

Split = Literal["dev", "test"]  # as in studies.row, which takes half a second to import
app = typer.Typer(
    help="Studies: which task helps which, what an option does, how much data is enough.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for _command in (similarity, correlate, advise):
    app.command()(_command)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of ``study run``."""

    file: StudyFile
    data: Data = None
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="models; default: runs/STUDY")
    ] = None
    results: Results = None
    settings: Settings = None
    workers: Annotated[int, typer.Option(min=1, help="processes of one thread each")] = 1
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="local, auto, or ray://HOST:PORT")
    ] = None
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="only runs whose name contains the text, or whose key it is; repeatable",
        ),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="tell runs, core-hours, gigabytes; train nothing")
    ] = False
    keep_models: Annotated[
        bool, typer.Option("--keep-models", help="keep the models of finished runs")
    ] = False

    def choose(self, jobs: "Mapping[str, Job]") -> "dict[str, Job]":
        """Return the runs that are asked for; raises ``WrongUse`` for a text that fits none."""
        if not self.only:
            return dict(jobs)
        chosen: set[str] = set()
        for text in self.only:
            fitting = {key for key, job in jobs.items() if text == key or text in job.name}
            if not fitting:
                raise WrongUse(
                    f"--only {text}: expected the key of a run or a part of its name; "
                    "--dry-run shows those that are left"
                )
            chosen |= fitting
        return {key: job for key, job in jobs.items() if key in chosen}


@app.command()
@options_of(RunOptions)
def run(options: RunOptions) -> None:
    """Train and score all runs of a study that have no row yet, then print what they show.

    A stopped study goes on with the same command, on another machine from the rows alone.

    Example: spanloom study run recipes/studies/sharing.yaml --data glad/ --workers 2
    """
    from spanloom.studies.executors import open_executor
    from spanloom.studies.result_text import to_text
    from spanloom.studies.results import compare_conditions
    from spanloom.studies.run import run as run_study
    from spanloom.termination import terminable

    study, folders = open_study(
        options.file, options.data, options.out, options.results, options.settings
    )
    if options.dry_run:
        _print_estimate(study, folders, options)
        return
    with terminable(), closing(open_executor(options.workers, folders, options.ray)) as executor:
        planned, rows = run_study(
            study,
            folders,
            executor,
            log,
            choose=options.choose,
            keep_models=options.keep_models,
        )
    write_stdout(to_text(compare_conditions(study, planned, rows)), end="")


@app.command()
def report(
    file: StudyFile,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="the page, .html")],
    data: Data = None,
    results: Results = None,
    settings: Settings = None,
    split: Annotated[
        Split | None, typer.Option(help="what is shown; default: what the study scores")
    ] = None,
    any_version: Annotated[
        bool, typer.Option("--any-version", help="rows of earlier code or data, too, by their name")
    ] = False,
) -> None:
    """Write what a study has found so far: a page, and its numbers as .csv and .json beside it.

    Rows of a study that scores test have the scores on dev, too: --split dev shows these.

    Example: spanloom study report recipes/studies/sharing.yaml --data glad/ -o sharing.html
    """
    from spanloom.studies.report import write_report
    from spanloom.studies.results import compare_conditions
    from spanloom.studies.run import read_rows

    if out.suffix != ".html":
        raise WrongUse(f"-o {out}: expected a name that ends in .html")
    study, folders = open_study(file, data, None, results, settings)
    planned, rows = read_rows(study, folders, any_version=any_version)
    shown = study if split is None else study.scored_on(split)  # keys are of the study itself
    comparisons = compare_conditions(shown, planned, rows)
    if not comparisons:
        missing = f"no row of this study with scores on {shown.spec.score}"
        raise DataError(f"{folders.results}: {missing}; spanloom study run makes them")
    for path in write_report(shown, planned, rows, comparisons, out):
        log(f"written to {path}")


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """The options of ``study probe``."""

    model: Annotated[str, typer.Argument(metavar="MODEL", help="model folder or hub id")]
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="tables and pictures")]
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="prepared corpora: makes the tasks")
    ] = None
    tasks: Annotated[
        Path | None, typer.Option("--tasks", metavar="DIR", help="files as SentEval's, instead")
    ] = None
    vectors: Annotated[
        Path | None, typer.Option(metavar="FILE", help="static vectors of the bag of vectors")
    ] = None
    sentences: Annotated[int, typer.Option(min=100, help="of a task that is made, at most")] = 4000
    seed: Annotated[int, typer.Option(help="of made tasks and of untrained levels")] = 1


@app.command()
@options_of(ProbeOptions)
def probe(options: ProbeOptions) -> None:
    """Tell what the levels of a model know: ten probing tasks, by logistic regression.

    The tasks are made of ewt, gum (or gum-open), gum-trees (or gum-open-trees) and novels, as far
    as they are in --data, and saved to OUT/tasks; or they are SentEval's own files. OUT also gets
    the table as .txt, .csv and .json, and a picture for each level.

    Example: spanloom study probe runs/hmtl --data glad/ -o probing/
    """
    from spanloom.model.serialization import load
    from spanloom.studies.probing import probe as probed
    from spanloom.studies.probing import to_text
    from spanloom.studies.report import check_packages, write_probing

    check_packages("study probe")
    if (options.data is None) == (options.tasks is None):
        raise WrongUse("study probe: expected either --data or --tasks")
    sets = _probing_sets(options)
    model = load(options.model, precision="fp32")
    accuracies = probed(model, sets, options.vectors, log, options.seed)
    for path in write_probing(accuracies, options.out):
        log(f"written to {path}")
    write_stdout(to_text(accuracies), end="")


def _probing_sets(options: ProbeOptions) -> "list[ProbingSet]":
    """Read the probing tasks, or make and save them."""
    from spanloom.atomic_io import write_file
    from spanloom.corpora import probing_sets

    if options.tasks is not None:
        return probing_sets.read(options.tasks)
    assert options.data is not None, "one of both is given"
    sets = probing_sets.make(probing_sets.read_pool(options.data), options.sentences, options.seed)
    for name in probing_sets.FILES.keys() - {probing_set.name for probing_set in sets}:
        log(f"{name}: left out, too few sentences of each class")
    folder = options.out / "tasks"
    folder.mkdir(parents=True, exist_ok=True)
    for probing_set in sets:
        path = folder / f"{probing_sets.FILES[probing_set.name]}.txt"
        write_file(path, probing_set.dumps().encode())
    if not sets:
        raise DataError(f"{options.data}: too few sentences for any task")
    return sets


@app.command()
def embeddings(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help="with task embeddings or task tokens")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="the picture, .svg")],
) -> None:
    """Draw the task embeddings of models (t-SNE, cosines), with the numbers as .json beside them.

    Models of several seeds make one picture, of all their vectors and their mean cosines; how far
    their cosines agree (Pearson's r of each two models) stands in the numbers.
    A study deletes its models unless it is run with --keep-models; ``study run --dry-run`` tells
    the keys of runs, which are the names of their folders.

    Example: spanloom study embeddings runs/tagging/KEY runs/tagging/KEY2 -o embeddings.svg
    """
    import json

    from spanloom.atomic_io import write_file
    from spanloom.model.serialization import load
    from spanloom.studies.task_map import draw, map_tasks

    if out.suffix != ".svg":
        raise WrongUse(f"-o {out}: expected a name that ends in .svg")
    task_map = map_tasks([load(model, device="cpu") for model in models])
    numbers = json.dumps(task_map.to_json(), indent=1) + "\n"
    for path, text in ((out, draw(task_map)), (out.with_suffix(".json"), numbers)):
        write_file(path, text.encode())
        log(f"written to {path}")


def _print_estimate(study: "Study", folders: "Folders", options: RunOptions) -> None:
    """Print which of the chosen runs are left."""
    from spanloom.studies.estimate import Estimates, format_hours
    from spanloom.studies.job import check_encoders
    from spanloom.studies.run import read_rows
    from spanloom.studies.run_checks import check_runs

    planned, rows = read_rows(study, folders)
    check_runs(study, planned, folders.data)
    chosen = options.choose(planned.jobs)
    missing = [job for key, job in chosen.items() if key not in rows]
    check_encoders(missing, folders.data)
    estimates = Estimates(folders.data, rows.values())
    for job in missing:
        write_stdout(f"{job.key}  {format_hours(estimates.core_hours(job)):>7}  {job.name}")
    hours = sum(map(estimates.core_hours, missing))
    workers = options.workers
    space = estimates.gigabytes(missing, workers, keep_models=options.keep_models)
    write_stdout(
        f"{len(missing)} of {len(chosen)} runs to do: about {hours:.1f} core-hours "
        f"({format_hours(hours / workers)} with {quantity(workers, 'worker')}), "
        f"{space:.1f} GB of disk"
    )
    if planned.waiting:
        write_stdout(f"not counted, because they depend on results: {', '.join(planned.waiting)}")
