"""What runs take before any is finished."""

import pytest
from made_rows import RECIPES, rows_reader

from spanloom.corpora import folder
from spanloom.studies.designs import plan
from spanloom.studies.estimate import (
    WORDS_PER_SECOND,
    WORDS_PER_SECOND_WITHOUT_ENCODER,
    Estimates,
    corpus_size,
)


def test_a_trunk_without_an_encoder_is_faster(study):
    encoder = str(RECIPES.parents[1] / "fixtures/tiny/encoder")
    trunks = {"a": [{"transformer": encoder, "init": "random"}], "b": [{"casing": 4}]}
    cells = plan(study([{"design": "joint"}], trunks=trunks), RECIPES, rows_reader({})).cells
    hours = {cell.variant.trunk: Estimates(RECIPES).core_hours(cell.job) for cell in cells}
    assert hours["a"] / hours["b"] == pytest.approx(
        WORDS_PER_SECOND_WITHOUT_ENCODER / WORDS_PER_SECOND
    )


def test_words_are_counted_without_annotation():
    for name in ("steps", "analyses"):  # brat, and JSON lines
        path = RECIPES.parents[1] / "fixtures/tiny" / name
        texts = [document.text for document in folder.read(path, "train").documents]
        assert corpus_size(path) == (sum(len(text.split()) for text in texts), 0)
