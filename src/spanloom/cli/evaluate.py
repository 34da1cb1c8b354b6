"""``spanloom evaluate`` and ``score``: metrics of a model, or of files by an official scorer."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from spanloom.cli.console import WrongUse, log, write_stdout
from spanloom.cli.options import Encoding, Precision, options_of
from spanloom.errors import DataError
from spanloom.quantity import quantity

if TYPE_CHECKING:
    from spanloom.model.model import Model
    from spanloom.tasks._base import Report

Split = Literal["train", "dev", "test", "all"]
MetricsByTask = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """The options of ``evaluate``."""

    model: Annotated[str, typer.Argument(metavar="MODEL", help="model folder or hub id")]
    data: Annotated[Path, typer.Argument(metavar="DATA", help="corpus folder or file of documents")]
    split: Annotated[Split | None, typer.Option(help="all: of data without splits")] = None
    as_json: Annotated[bool, typer.Option("--json", help="numbers as JSON, ratios from 0 to 1")] = (
        False
    )
    device: Annotated[
        str | None, typer.Option(help="cpu | cuda; by default cuda if there is one")
    ] = None
    precision: Precision = "auto"
    encoding: Encoding = "utf-8"
    gold_inputs: Annotated[
        bool, typer.Option("--gold-inputs", help="give tasks their gold mentions or spans")
    ] = False
    test_log: Annotated[
        Path,
        typer.Option("--log", metavar="FILE", help="file that notes each evaluation on a test set"),
    ] = Path("test-evaluations.jsonl")


@options_of(EvaluateOptions)
def evaluate(options: EvaluateOptions) -> None:
    """Score every task of a model on the documents that are annotated with its layer.

    Where a task learnt DATA through a map of labels, DATA is mapped alike. With --gold-inputs
    coreference links gold mentions and relations hold between gold spans, though the model learnt
    to find them itself. Without --split dev is scored, or all documents where there are no splits.
    The dev of a corpus that has none is what training held out, as far as it is still there.

    Example: spanloom evaluate runs/wlp data/wlp --split dev
    """
    from spanloom.model.evaluation import (
        evaluate_tasks,
        is_test_set,
        log_test_evaluation,
        read_split,
        usual_split,
    )
    from spanloom.model.serialization import load

    data = options.data
    split = options.split or usual_split(data, options.encoding)
    model = load(options.model, device=options.device, precision=options.precision)
    documents = read_split(data, split, recipe=model.recipe, encoding=options.encoding, log=log)
    is_test = is_test_set(data, split)
    if is_test:
        log(f"{data}: this is the TEST set; the evaluation will be noted in {options.test_log}")
    if options.gold_inputs:
        model = _given_gold(model)
    size = quantity(len(documents), "document")
    log(f"model {options.model} on {model.compute}; {data}, split {split}: {size}")
    reports = evaluate_tasks(model, documents, data, log)
    metrics = {task: model.tasks[task].metrics(report) for task, report in reports.items()}
    if is_test:
        look = " ".join(["spanloom", *sys.argv[1:]]), options.model, data.resolve().name
        seed = model.recipe.seed
        log_test_evaluation(options.test_log, *look, split, documents, seed, metrics)
    _show(reports, metrics, options.model, data, split, as_json=options.as_json)


def _given_gold(model: "Model") -> "Model":
    """Return the model whose tasks are given gold; raises ``DataError`` where none can be."""
    given = model.with_gold_inputs()
    names = [name for name, task in given.tasks.items() if task.inputs]
    if not names:
        raise DataError("--gold-inputs: no task of the model can be given mentions or spans")
    log(f"tasks that are given gold: {', '.join(names)}")
    return given


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
    metric: Annotated[
        str, typer.Option("--metric", metavar="NAME", help="one of the metrics above")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="numbers as JSON, as the official scorer has them")
    ] = False,
) -> None:
    """Score files as the official scorer of a task does, to the last digit it prints.

    Metrics: absa, carb, changpinyo, coval-lea, conll2012-coref, conlleval, evalb, glue, oie2016,
    orl, relations, semeval2010-task8, spans, squad-v1.1, squad-v2.0, srl-eval, streuseval, tacred,
    ud-eval. Options of a metric come last: those of an official program as it spells them, spans
    --layer NAME --against PRED2, relations --layer NAME --typed, glue --kind TASK; an unknown
    option lists those of its metric. Attributes and notes are not compared (spanloom view GOLD PRED
    shows attributes that differ).

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
