"""Sets that nobody may pass on: made files, put where their cards say, become datasets."""

import pytest
from licensed_samples import write_raw

from spanloom.corpora import card as cards
from spanloom.corpora.prepare import prepare

COUNTS = {  # of test, made by hand; the examples of formats have tests of their own
    "conll2003": {"entities": 1},
    "ptb": {"sentences": 1, "words": 3, "constituency": 3, "xpos": 3},
    "mnli": {"documents": 1, "label relations": 1},
    "snli": {"documents": 1, "label relations": 1},
    "qnli": {"documents": 60},
    "qqp": {"documents": 60},
    "tacred-text": {"documents": 2, "parts": 4, "relation relations": 2},
    "zre": {"documents": 2, "queries": 2, "answers": 2},
    "commonsenseqa": {"documents": 60, "queries": 60, "answers": 60},
}


@pytest.mark.parametrize(
    "name", [name for name in cards.names() if cards.load(name).download_instructions]
)
def test_files_where_the_card_says_become_a_dataset(name, tmp_path):
    write_raw(name, tmp_path / "raw")
    prepared = prepare(name, tmp_path / "raw", tmp_path / "out")
    assert set(prepared.counts) == {"train", "dev", "test"}
    test, counts = prepared.counts["test"], COUNTS.get(name, {})
    assert {what: test[what] for what in counts} == counts
    assert all(test.get(layer) for layer in cards.load(name).layers)
