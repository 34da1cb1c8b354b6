"""``spanloom evaluate`` and ``score``: metrics of a model, or of files by an official scorer."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanloom.cli.console import WrongUse, log, write_stdout
from spanloom.cli.options import Precision
from spanloom.errors import DataError

if TYPE_CHECKING:
    from spanloom.document import Document
    from spanloom.model.model import Model
    from spanloom.tasks._base import Report

MetricsByTask = dict[str, dict[str, float]]


def evaluate(
    model_path: Annotated[str, typer.Argument(metavar="MODEL", help="model folder or hub id")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="corpus folder or .jsonl")],
    split: Annotated[str | None, typer.Option(help="dev, or all where there are none")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="numbers as JSON")] = False,
    device: Annotated[str | None, typer.Option(help="cpu | cuda; where it is fastest")] = None,
    precision: Precision = "auto",
    test_log: Annotated[
        Path, typer.Option("--log", metavar="FILE", help="where each look at a test set is noted")
    ] = Path("test-evaluations.jsonl"),
) -> None:
    """Score every task of a model on the documents that are annotated with its layer.

    Where a task learnt DATA through a map of labels, DATA is mapped alike.

    Example: spanloom evaluate runs/wlp data/wlp --split dev
    """
    from spanloom.corpora import folder
    from spanloom.model.serialization import load

    split = split or _usual(folder.splits(data))
    documents = folder.read(data, split).documents
    is_test = _is_test(data, split)
    if is_test:
        log(f"{data}: this is the TEST set; the evaluation will be noted in {test_log}")
    model = load(model_path, device=device, precision=precision)
    size = f"{len(documents)} documents"
    log(f"model {model_path} on {model.compute}; {data}, split {split}: {size}")
    reports = _evaluate_tasks(model, data, documents)
    if not reports:
        raise DataError(
            f"{data}: no document of split {split!r} has a layer that the model predicts"
        )
    metrics = {task: model.tasks[task].metrics(report) for task, report in reports.items()}
    if is_test:
        from spanloom.model.evaluation import log_test_evaluation

        command, seed = " ".join(["spanloom", *sys.argv[1:]]), model.recipe.seed
        dataset = data.resolve().name
        log_test_evaluation(test_log, command, model_path, dataset, split, documents, seed, metrics)
    _show(reports, metrics, model_path, data, split, as_json=as_json)


def _evaluate_tasks(
    model: "Model", data: Path, documents: Sequence["Document"]
) -> dict[str, "Report"]:
    """Return the report of each task that predicts a layer which some document has."""
    from spanloom.model.evaluation import evaluate_task, map_to_task_labels, source

    reports = {}
    for name, task in model.tasks.items():
        if not task.predicts:
            continue
        plan = model.plan.tasks[name]
        part = source(plan, data)
        mapped = map_to_task_labels(plan, part, documents)
        if part is not None:
            log(f"task {name}: layer {part.layer!r} of {part.data} as it learnt it")
        report = evaluate_task(model, name, mapped, log)
        if report is not None:
            reports[name] = report
    return reports


def _usual(splits: Iterable[str]) -> str:
    """Return the default split: dev, or all documents if there are no splits."""
    return "all" if list(splits) == ["all"] else "dev"


def _is_test(data: Path, split: str) -> bool:
    """Return whether this is a test set, also by the name of a file or folder given directly."""
    from spanloom.corpora.folder import ALL
    from spanloom.corpora.splits import SPLITS, splits_of_name

    path = data.resolve()
    by_name = path.stem.lower() in SPLITS["test"] or (
        path.is_file() and "test" in splits_of_name(path.name)
    )
    return split == "test" or (split == ALL and by_name)


def _show(
    reports: dict[str, "Report"], metrics: MetricsByTask, *origin: object, as_json: bool
) -> None:
    """Print tables, or one JSON object."""
    if as_json:
        model, data, split = map(str, origin)
        tasks = {
            name: {"metrics": metrics[name], **report.to_json()} for name, report in reports.items()
        }
        write_stdout(
            json.dumps({"model": model, "data": data, "split": split, "tasks": tasks}, indent=1)
        )
        return
    for name, report in reports.items():
        write_stdout(f"task {name}")
        write_stdout(report.to_table())


def score(
    context: typer.Context,
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="the gold annotation")],
    predicted: Annotated[Path, typer.Argument(metavar="PRED", help="the predictions of a system")],
    metric: Annotated[str, typer.Option("--metric", metavar="NAME", help="see below")],
    as_json: Annotated[bool, typer.Option("--json", help="numbers as JSON")] = False,
) -> None:
    """Score files as the official scorer of a task does, to the last digit it prints.

    Metrics: absa, carb, changpinyo, coval-lea, conll2012-coref, conlleval, evalb, glue, oie2016,
    orl, relations, semeval2010-task8, spans, squad-v1.1, squad-v2.0, srl-eval, streuseval, tacred,
    ud-eval. An official program's own options come last, as it spells them.

    Example: spanloom score gold.conllu system.conllu --metric ud-eval --json
    """
    from spanloom.scoring._base import find

    scorer = find(metric)
    scores = scorer.score(gold, predicted, _options(context.args, scorer.options, metric))
    write_stdout(json.dumps(scores, indent=1) if as_json else scorer.table(scores))


def _options(given: Sequence[str], valid: Mapping[str, bool], metric: str) -> dict[str, str]:
    """Return the official options that were given; raises ``WrongUse`` for anything else."""
    options: dict[str, str] = {}
    arguments = list(given)
    while arguments:
        flag = arguments.pop(0)
        if flag not in valid:
            choices = ", ".join(valid) or "none"
            raise WrongUse(f"{metric} has no option {flag!r}; its options: {choices}")
        if valid[flag] and not arguments:
            raise WrongUse(f"{metric} {flag}: expected a value after it")
        options[flag] = arguments.pop(0) if valid[flag] else ""
    return options
