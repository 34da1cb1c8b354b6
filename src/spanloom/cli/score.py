"""``spanloom score``: the numbers of an official scorer, from the files that it takes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from spanloom.cli.console import WrongUse, write_stdout


def score(
    context: typer.Context,
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="what is right")],
    predicted: Annotated[Path, typer.Argument(metavar="PRED", help="what a system said")],
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


def _options(given: Sequence[str], known: Mapping[str, bool], metric: str) -> dict[str, str]:
    """Return the official options that were given; raises ``WrongUse`` for anything else."""
    found: dict[str, str] = {}
    rest = list(given)
    while rest:
        flag = rest.pop(0)
        if flag not in known:
            choices = ", ".join(known) or "none"
            raise WrongUse(f"{metric} has no option {flag!r}; its options: {choices}")
        if known[flag] and not rest:
            raise WrongUse(f"{metric} {flag}: expected a value after it")
        found[flag] = rest.pop(0) if known[flag] else ""
    return found
