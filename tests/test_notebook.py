"""The notebook runs from the first cell to the last, without Jupyter."""

import json
from pathlib import Path

import pytest
import torch

NOTEBOOK = Path(__file__).parents[1] / "docs/own_data.ipynb"


@pytest.mark.slow
def test_the_notebook_trains_scores_and_draws(capsys):
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    before, names = torch.get_num_threads(), {}
    torch.set_num_threads(1)
    for number, cell in enumerate(cells):
        exec(compile(cell, f"cell {number}", "exec"), names)
    torch.set_num_threads(before)
    assert names["f1"] > 0.9
    document = eval(cells[-1].splitlines()[-1], names)  # what the last cell shows
    assert {document.text_of(span) for span in document["names"].spans} == {"Fay", "Gus", "Oslo"}
    assert "Oslo place" in capsys.readouterr().out


def test_it_is_kept_without_outputs_in_the_form_of_jupyter():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    for cell in notebook["cells"]:
        assert cell["cell_type"] == "markdown" or (cell["outputs"], cell["execution_count"]) == (
            [],
            None,
        )
