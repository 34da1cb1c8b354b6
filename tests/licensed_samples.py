"""Made files of the corpora that nobody may pass on, put where their cards say."""

import json
from pathlib import Path

from spanloom import formats
from spanloom.corpora import card as cards

NEWS = "-DOCSTART- -X- -X- O\n\nAda NNP I-NP I-PER\nran VBD I-VP O\n\n"
TREE = "( (S (NP-SBJ-1 (NNP Ada)) (VP (VBD ran) (S (-NONE- *-1))) (. .)) )\n"
PAIR = {"sentence1": "Ada ran.", "sentence2": "Ada moved.", "gold_label": "entailment"}
NLI = json.dumps({**PAIR, "pairID": "p"}) + "\n"
QNLI = "index\tquestion\tsentence\tlabel\n"
QQP = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"


def _example(name):
    return formats.load(name).example


def _rows(head, row):
    return head + "".join(f"{n}{row}\n" for n in range(60))


SAMPLES = {
    "conll2003": NEWS,
    "ptb": TREE,
    "ontonotes": _example("conll2012"),
    "mpqa": _example("opinions"),
    "ace05": _example("dygie"),
    "tacred": _example("tacred"),
    "tacred-text": _example("tacred"),
    "tacred-masked": _example("tacred"),
    "zre": _example("zre"),
    "commonsenseqa": "".join(
        _example("commonsenseqa").partition("\n")[0].replace('"a1"', f'"{n}"') + "\n"
        for n in range(60)
    ),
    "mnli": NLI,
    "snli": NLI,
    "qnli": _rows(QNLI, "\tWho?\tAda ran.\tentailment"),
    "qqp": _rows(QQP, "\t1\t2\tWho?\tWhat?\t0"),
}


def write_raw(name: str, raw: Path) -> None:
    """Write the made files of a corpus below ``raw``."""
    patterns = {path for source in cards.load(name).sources.values() for path in source.files}
    for number, pattern in enumerate(sorted(patterns)):
        path = pattern.replace("[2-9]", "2").replace("[0-9]", "0").replace("[01]", "1")
        file = raw / path.replace("**", "nw").replace("*", f"made{number}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SAMPLES[name], encoding="utf-8")
