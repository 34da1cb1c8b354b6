"""What the commands of ``spanloom study`` have in common: a study's file and its folders."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from spanloom.studies.execute import Folders
    from spanloom.studies.spec import Study

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="a study's .yaml")]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="the corpora; default: beside the recipe"),
]
Results = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="rows of runs; default: benchmarks/results/STUDY"),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="stages.0.epochs=2")
]


def open_study(
    file: Path,
    data: Path | None,
    out: Path | None,
    results: Path | None,
    settings: list[str] | None,
) -> "tuple[Study, Folders]":
    """Read a study and settle its folders."""
    from spanloom import plugins
    from spanloom.studies.execute import Folders
    from spanloom.studies.spec import load

    study = load(file, tuple(settings or ()))
    folders = Folders(
        data or (file.parent / study.spec.recipe).parent,
        out or Path("runs", study.name),
        results or Path("benchmarks/results", study.name),
        tuple(plugins.modules),
    )
    return study, folders
