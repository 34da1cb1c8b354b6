"""``spanloom study similarity``, ``correlate`` and ``advise``: which task helps which."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanloom.cli.console import WrongUse, join_names, log, write_stdout
from spanloom.cli.options import options_of
from spanloom.cli.study_options import Data, Results, Settings, StudyFile, open_study
from spanloom.errors import DataError

if TYPE_CHECKING:
    from spanloom.document import Document

_Page = Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="the page, .html")]
_Sentences = Annotated[int, typer.Option(min=1, help="sentences of each target that are read")]


@dataclass(frozen=True, slots=True)
class SimilarityOptions:
    """The options of ``study similarity``."""

    out: _Page
    models: Annotated[
        list[Path] | None,
        typer.Argument(metavar="MODEL", help="models of one task each; a task may have several"),
    ] = None
    data: Data = None
    study: Annotated[
        Path | None,
        typer.Option(metavar="STUDY", help="take the models of its designs single and joint"),
    ] = None
    runs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="its models; default: runs/STUDY")
    ] = None
    common: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="a joint model, for gradient cosines")
    ] = None
    sentences: _Sentences = 200
    batches: Annotated[
        int, typer.Option(min=2, help="batches of train of each task for gradients")
    ] = 16


@options_of(SimilarityOptions)
def similarity(options: SimilarityOptions) -> None:
    """Compare tasks without training them together: attention, gradients, spans.

    Each model reads the dev sentences of each other model's task. Writes a page, and the values as
    .json beside it.

    Example: spanloom study similarity runs/ner runs/srl runs/pos --data glad/ -o similarity.html
    """
    from spanloom.studies.similarity import measure
    from spanloom.studies.similarity_page import write_page

    _check_page(options.out)
    models, common, data = list(options.models or ()), options.common, options.data or Path()
    if options.study is not None:
        singles, joint, data = _models_of(options.study, options.data, options.runs)
        models, common = [*models, *singles], common or joint
    measured = measure(models, data, common, options.sentences, options.batches, log)
    for path in write_page(measured, options.out):
        log(f"written to {path}")


def _models_of(
    file: Path, data: Path | None, runs: Path | None
) -> tuple[list[Path], Path | None, Path]:
    """Return the models of a study's single runs, its joint one if it is there, and its data.

    Designs with a label do not count. Raises ``DataError`` for several trunks or sharing modes.
    """
    from spanloom.studies.relatedness import check_one_group
    from spanloom.studies.run import read_rows
    from spanloom.studies.spec import JOINT, SINGLE

    study, folders = open_study(file, data, runs, None, None)
    cells = [cell for cell in read_rows(study, folders)[0].cells if not cell.label]
    check_one_group(cell.variant.group for cell in cells if cell.design in (SINGLE, JOINT))
    paths = {
        design: [
            path
            for key in dict.fromkeys(cell.job.key for cell in cells if cell.design == design)
            if (path := folders.runs / key).is_dir()
        ]
        for design in (SINGLE, JOINT)
    }
    if not paths[SINGLE]:
        raise DataError(
            f"{folders.runs}: no model of a single run of {file}; spanloom study run makes them "
            f"with --keep-models"
        )
    return paths[SINGLE], next(iter(paths[JOINT]), None), folders.data


def correlate(
    file: StudyFile,
    similarities: Annotated[
        Path, typer.Argument(metavar="SIMILARITY", help="the .json of study similarity")
    ],
    out: _Page,
    data: Data = None,
    results: Results = None,
    settings: Settings = None,
) -> None:
    """Say how well similarities predict the gains of a study's pairs.

    Pearson's and Spearman's correlations within each target and pooled, intervals by resampling
    tasks. Writes a page, and the values as .json beside it, which study advise reads.

    Example: spanloom study correlate table-6.yaml similarity.json --data glad/ -o gain.html
    """
    from spanloom.studies import relatedness, similarity
    from spanloom.studies.relatedness_page import write_page
    from spanloom.studies.results import compare_conditions
    from spanloom.studies.run import read_rows

    _check_page(out)
    study, folders = open_study(file, data, None, results, settings)
    rows = compare_conditions(study, *read_rows(study, folders))
    related = relatedness.correlate(study.name, rows, similarity.read(similarities))
    for path in write_page(related, out):
        log(f"written to {path}")


@dataclass(frozen=True, slots=True)
class AdviseOptions:
    """The options of ``study advise``."""

    data: Annotated[Path, typer.Argument(metavar="DATA", help="an annotated corpus")]
    layer: Annotated[
        str | None, typer.Option(metavar="NAME", help="its layer; default: the only one")
    ] = None
    known: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the .json of study correlate")
    ] = None
    source: Annotated[
        list[Path] | None,
        typer.Option(metavar="MODEL", help="models of known tasks; default: the bundled one"),
    ] = None
    model: Annotated[
        Path | None, typer.Option("-m", "--model", metavar="MODEL", help="learnt from DATA alone")
    ] = None
    sentences: _Sentences = 200


@options_of(AdviseOptions)
def advise(options: AdviseOptions) -> None:
    """Rank the known tasks by how likely training with them helps one's own corpus.

    The predictor is the one that orders the known pairs best; how certain that is, is printed.

    Example: spanloom study advise protocols/ --layer main
    """
    from spanloom.model.serialization import load
    from spanloom.studies import advice
    from spanloom.studies.similarity import sample

    known = advice.read_known(options.known)
    documents, layer = _annotated(options.data, options.layer)
    paths: list[Path | None] = [*options.source] if options.source else [None]
    models = [load(path, device="cpu", precision="fp32") for path in paths]
    own = None if options.model is None else load(options.model, device="cpu", precision="fp32")
    few = sample(models[0], documents, options.sentences)
    values = advice.measure_sources(known, few, layer, models, own, options.sentences)
    write_stdout(advice.advise(known, values).to_text(), end="")


def _annotated(data: Path, layer: str | None) -> "tuple[list[Document], str]":
    """Return the documents of train (or of all) that have the layer, and its name."""
    from spanloom.corpora import folder

    splits = folder.splits(data)
    documents = folder.read(data, "train" if "train" in splits else next(iter(splits))).documents
    names = sorted({layer.name for doc in documents for layer in doc.layers if layer.spans})
    if layer is None and len(names) == 1:
        (layer,) = names
    if layer not in names:
        problem = "several layers" if layer is None and names else f"no layer {layer!r} of spans"
        raise WrongUse(f"{data}: {problem}; --layer is one of: {join_names(names)}")
    return [document for document in documents if document.has_layer(layer)], layer


def _check_page(out: Path) -> None:
    if out.suffix != ".html":
        raise WrongUse(f"-o {out}: expected a name that ends in .html")
