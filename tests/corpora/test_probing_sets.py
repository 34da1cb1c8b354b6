"""Probing sets: balanced, without doubles, split by document; SentEval's files as they are."""

from collections import Counter

import pytest

from spanloom.annotation.probing import Sentence
from spanloom.corpora import probing_sets
from spanloom.corpora.probing_sets import SPLITS, Pool, ProbingSet, loads, make
from spanloom.errors import DataError, FormatError


def _pool(documents=60, each=12):
    """Sentences of 5 to 16 words, many of them twice, in documents of three kinds."""
    pairs = []
    for document in range(documents):
        for number in range(each):
            length = 5 + (document * number) % 12
            words = tuple(f"w{(document + number + i) % 40}x{i}" for i in range(length))
            tags = ("NNS",) * (length - 1) + (("VBD", "VBZ")[number % 3 == 0],)
            heads, relations = (length - 1,) * length, ("nsubj",) + ("dep",) * (length - 1)
            pairs.append((f"d{document}", Sentence(words, tags, heads, relations)))
    return Pool(pairs, [], [])


def test_made_sets_are_balanced_without_doubles_and_split_by_document():
    pool = _pool()
    documents = {}
    for document, sentence in pool.parsed:
        documents.setdefault(tuple(sorted(sentence.words)), document)
    made = make(pool, size=200)
    names = {each.name for each in made}
    assert {"SentLen", "Tense"} <= names
    assert not names & {"TreeDepth", "TopConst", "SubjNum"}  # no trees, and one number alone
    for each in made:
        split_of = {}
        words = [tuple(sorted(example.words)) for example in each.examples]
        assert len(set(words)) == len(words)
        for split in SPLITS:
            counts = Counter(e.label for e in each.examples if e.split == split)
            assert len(set(counts.values())) == 1
        if each.name in ("SentLen", "Tense"):
            for example in each.examples:
                document = documents[tuple(sorted(example.words))]
                assert split_of.setdefault(document, example.split) == example.split
        assert len(each.examples) <= 1.1 * 200
    assert make(pool, size=200) == made


def test_senteval_files_are_read_and_written_as_they_are(tmp_path):
    text = "tr\tPAST\tShe sang .\nva\tPRES\tShe sings .\nte\tPAST\tIt rained\n"
    made = loads("Tense", text)
    assert made.dumps() == text
    assert [(e.split, e.label, e.words[0]) for e in made.examples][2] == ("te", "PAST", "It")
    (tmp_path / "past_present.txt").write_text(text, "utf-8")
    assert probing_sets.read(tmp_path) == [made]


@pytest.mark.parametrize("line", ["xx\tA\tb c", "tr\tA", "tr\tA\t ", "tr\tA\tb\tc"])
def test_a_line_that_is_none_is_refused_with_its_number(line):
    with pytest.raises(FormatError, match="2"):
        loads("Tense", f"tr\tA\tb c\n{line}\n")


def test_a_folder_without_sets_or_corpora_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"sentence_length\.txt"):
        probing_sets.read(tmp_path)
    with pytest.raises(DataError, match="ewt, gum, gum-open"):
        probing_sets.read_pool(tmp_path)


def test_sizes_are_of_splits():
    assert ProbingSet("x", loads("x", "tr\ta\tb\ntr\tb\tc\n").examples).size("tr") == 2
