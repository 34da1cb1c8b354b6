"""The raw text that a treebank is read from: paragraphs, and blanks where its words say so."""

import importlib
from pathlib import Path

import pytest

TREEBANK = """\
# newdoc id = a
# text = I don't,
1\tI\t_\t_\t_\t_\t0\troot\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tdo\t_\t_\t_\t_\t1\tdep\t_\t_
3\tn't\t_\t_\t_\t_\t1\tdep\t_\t_
4\t,\t_\t_\t_\t_\t1\tdep\t_\t_

# text = can't
1-2\tcan't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tca\t_\t_\t_\t_\t0\troot\t_\t_
2\tn't\t_\t_\t_\t_\t1\tdep\t_\t_

# text = go
1\tgo\t_\t_\t_\t_\t0\troot\t_\t_

# newpar id = b
# text = End
1\tEnd\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No
"""


@pytest.fixture
def raw_text(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    return importlib.import_module("raw_text")


def test_sentences_stand_apart_unless_their_last_word_is_glued(raw_text):
    assert list(raw_text.paragraphs(TREEBANK)) == ["I don't, can'tgo", "End"]


def test_the_text_of_a_treebank_has_the_characters_of_its_words(raw_text, data):
    treebank = (data("ewt") / "en_ewt-ud-dev.conllu").read_text(encoding="utf-8")
    spelt = ""
    for sentence in treebank.split("\n\n"):
        inside: set[int] = set()  # words of a token that is written as one
        rows = [line.split("\t") for line in sentence.splitlines() if line[:1].isdigit()]
        for number, form, *_ in rows:
            if "." in number or ("-" not in number and int(number) in inside):
                continue
            if "-" in number:
                first, last = map(int, number.split("-"))
                inside |= set(range(first, last + 1))
            spelt += "".join(form.split())
    assert "".join("".join(raw_text.paragraphs(treebank)).split()) == spelt
