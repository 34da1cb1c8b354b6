"""Sets that nobody may pass on: made files, put where their cards say, become datasets."""

import json

import pytest

from spanloom import formats
from spanloom.corpora import card as cards
from spanloom.corpora.prepare import prepare

NEWS = "-DOCSTART- -X- -X- O\n\nAda NNP I-NP I-PER\nran VBD I-VP O\n\n"
TREE = "( (S (NP-SBJ-1 (NNP Ada)) (VP (VBD ran) (S (-NONE- *-1))) (. .)) )\n"
PAIR = {"sentence1": "Ada ran.", "sentence2": "Ada moved.", "gold_label": "entailment"}
NLI = json.dumps({**PAIR, "pairID": "p"}) + "\n"
QNLI = "index\tquestion\tsentence\tlabel\n"
QQP = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"


def sample(name):
    return formats.load(name).example


def rows(head, row):
    return head + "".join(f"{n}{row}\n" for n in range(60))


MADE = {
    "conll2003": (NEWS, {"entities": 1}),
    "ptb": (TREE, {"sentences": 1, "words": 3, "constituency": 3, "xpos": 3}),
    "ontonotes": (sample("conll2012"), {}),
    "mpqa": (sample("opinions"), {}),
    "ace05": (sample("dygie"), {}),
    "tacred": (sample("tacred"), {}),
    "mnli": (NLI, {"documents": 1, "label relations": 1}),
    "snli": (NLI, {"documents": 1, "label relations": 1}),
    "qnli": (rows(QNLI, "\tWho?\tAda ran.\tentailment"), {"documents": 60}),
    "qqp": (rows(QQP, "\t1\t2\tWho?\tWhat?\t0"), {"documents": 60}),
}


@pytest.mark.parametrize(
    "name", [name for name in cards.names() if cards.load(name).download_instructions]
)
def test_files_where_the_card_says_become_a_dataset(name, tmp_path):
    text, counts = MADE[name]
    card = cards.load(name)
    patterns = {path for source in card.sources.values() for path in source.files}
    for number, pattern in enumerate(sorted(patterns)):
        path = pattern.replace("[2-9]", "2").replace("[0-9]", "0").replace("[01]", "1")
        path = tmp_path / "raw" / path.replace("**", "nw").replace("*", f"made{number}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    prepared = prepare(name, tmp_path / "raw", tmp_path / "out")
    assert set(prepared.counts) == {"train", "dev", "test"}
    test = prepared.counts["test"]
    assert {what: test[what] for what in counts} == counts
    assert all(test.get(layer) for layer in card.layers)
