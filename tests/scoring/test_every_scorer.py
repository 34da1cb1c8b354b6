"""``spanloom score`` prints what stands in every golden case, with the files as they lie there."""

import json
import re

import pytest
from typer.testing import CliRunner

from spanloom import scoring
from spanloom.cli.main import app

FILES = {  # what is right, and what a system said
    "carb": ("gold.tsv", "pred.tsv"),
    "conll2012-coref": ("key.conll", "response.conll"),
    "conlleval": ("gold.tsv", "pred.tsv"),
    "coval-lea": ("key.conll", "response.conll"),
    "evalb": ("gold.mrg", "test.mrg"),
    "glue": ("gold.tsv", "pred.tsv"),
    "semeval2010-task8": ("answer_key.txt", "proposed.txt"),
    "squad-v1.1": ("dataset.json", "predictions.json"),
    "squad-v2.0": ("dataset.json", "predictions.json"),
    "srl-eval": ("gold.props", "pred.props"),
    "streuseval": ("gold.conllulex", "system.autoid.conllulex"),
    "tacred": ("gold.txt", "pred.txt"),
    "ud-eval": ("gold.conllu", "system.conllu"),
}
CASES = [(metric, f"case{number:02}") for metric in FILES for number in range(1, 13)]
# the split files of this case lack the -DOCSTART- lines that its input.txt has, and that count
WHOLE = {("conlleval", "case08")}


def options(said):
    """The official flags of a case, wherever it tells them."""
    if "options" in said:
        return said["options"]
    told = re.findall(r"(--na-prob-file|--na-prob-thresh) (\S+)", said.get("command", ""))
    strict = "--strictMatch" if "strictMatch" in (said.get("scores") or {}) else None
    return [part for pair in told for part in pair] + [strict] * (strict is not None)


def refused(said):
    """Whether the official program refuses the files, all or in part."""
    code = said.get("exit_code", 0)
    return any(code.values()) if isinstance(code, dict) else code != 0


@pytest.mark.parametrize(("metric", "case"), CASES)
def test_case(golden, metric, case):
    folder = golden(metric) / case
    if not folder.exists() and metric == "glue":
        return  # it has six cases
    said = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    names = FILES[metric]
    if (metric, case) in WHOLE or not (folder / names[0]).exists():
        names = ("input.txt", "input.txt")
    files = [str(folder / name) for name in names]
    flags = ["--metric", metric, "--json", *options(said)]
    result = CliRunner().invoke(app, ["score", *files, *flags])
    if refused(said):
        assert result.exit_code == 1
        assert len(result.stderr.splitlines()) == 1
    else:
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout) == said["scores"]
    golden.count(1)


def test_every_golden_folder_has_a_metric_and_every_metric_a_table(golden):
    folders = {each.name for each in golden("carb").parent.iterdir() if each.is_dir()} - {"brat"}
    assert folders == set(FILES)
    assert folders <= set(scoring.names())
