"""Open IE as SpanRel scores it: extractions counted by hand and by plain loops over tags."""

import random
from contextlib import suppress

import pytest

from spanloom.errors import FormatError
from spanloom.scoring.oie2016 import KIND

HEAD = "word_id\tword\tpred\tpred_id\thead_pred_id\tsent_id\trun_id\tlabel\n"
WORDS = ["Ada", "has", "not", "seen", "Bob"]


def block(tags, sentence="0"):
    """Spell an extraction: a tag a word."""
    tags = tags.split()
    ids = [number for number, tag in enumerate(tags) if tag.startswith("P-")]
    said = f"{' '.join(WORDS[each] for each in ids)}\t{ids}\t{ids[-1]}\t{sentence}\t0"
    rows = zip(range(5), WORDS, tags, strict=True)
    return "".join(f"{number}\t{word}\t{said}\t{tag}\n" for number, word, tag in rows) + "\n"


@pytest.fixture
def scored(tmp_path):
    """Score blocks."""

    def run(gold, predicted):
        one, two = tmp_path / "gold.oie", tmp_path / "pred.oie"
        one.write_text(HEAD + gold, encoding="utf-8")
        two.write_text(HEAD + predicted, encoding="utf-8")
        return KIND.score(one, two, {})

    return run


def counts(row):
    return row["hits"], row["predicted"], row["gold"]


FULL = "A0-B P-B O P-I A1-B"


@pytest.mark.parametrize(
    ("predicted", "relations", "spans", "extractions"),
    [
        (FULL, (2, 2, 2), (3, 3, 3), (1, 1, 1)),
        ("A0-B O O P-B A1-B", (0, 2, 2), (2, 3, 3), (0, 1, 1)),  # gaps count: another predicate
        ("A0-B P-B O P-I O", (1, 1, 2), (2, 2, 3), (0, 1, 1)),
        ("A1-B P-B O P-I A0-B", (0, 2, 2), (3, 3, 3), (0, 1, 1)),  # roles
        ("A0-B P-B O P-I A1-I", (2, 2, 2), (3, 3, 3), (1, 1, 1)),  # which tag begins is no matter
    ],
)
def test_by_hand(scored, predicted, relations, spans, extractions):
    scores = scored(block(FULL), block(predicted))
    assert counts(scores["relations"]) == relations
    assert counts(scores["spans"]) == spans
    assert counts(scores["extractions"]) == extractions


def test_arguments_of_two_extractions_are_one_span(scored):
    two = block(FULL) + block("A0-B O O P-B A1-B")
    scores = scored(two, two)
    assert counts(scores["spans"]) == (4, 4, 4)
    assert counts(scores["relations"]) == (4, 4, 4)
    assert counts(scores["relations"]["labels"]["A0"]) == (2, 2, 2)
    assert scores["sentences"] == 1


def test_sentences_without_extractions_are_in_one_file_alone(scored):
    scores = scored(block(FULL) + block(FULL, "1"), block(FULL, "1") + block(FULL, "2"))
    assert (scores["sentences"], counts(scores["relations"])) == (3, (2, 4, 4))
    assert counts(scores["extractions"]) == (1, 2, 2)
    assert "extractions" in KIND.table(scores)


def test_other_words_in_a_sentence_are_refused(scored):
    with pytest.raises(FormatError):
        scored(block(FULL), block(FULL).replace("\tBob\t", "\tEve\t"))


def test_broken_files_are_told(scored):
    rng = random.Random(9)
    whole = block(FULL) + block(FULL, "1")
    for _ in range(40):
        letters = list(whole)
        for _ in range(2):
            letters[rng.randrange(len(letters))] = rng.choice("\t\n0 -PA[")
        with suppress(FormatError):
            scored(whole, "".join(letters))


def pairs_of(path):
    """The relations of a file, by loops over its tags: sentence, predicate, role, argument."""
    found = set()
    for text in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in text.split("\n") if line[:1].isdigit()]
        groups = {}
        last = {}
        for row in rows:
            role, _, letter = row[7].rpartition("-")
            if not role:
                continue
            if letter == "B" or role not in last:
                last[role] = row[0]
            groups.setdefault((role, last[role]), []).append(row[0])
        predicate = next((tuple(g) for (role, _), g in groups.items() if role == "P"), ())
        for (role, _), words in groups.items():
            if role != "P":
                words_of = tuple(row[1] for row in rows)
                found.add((rows[0][5], words_of, predicate, role, tuple(words)))
    return found


@pytest.mark.slow
def test_a_corpus_as_loops_count_it(data, tmp_path):
    gold = data("oie2016-wiki") / "wiki1.dev.oie.conll"
    rng = random.Random(2)
    lines = gold.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines):  # some arguments lose a word, some change their role
        if rng.random() < 0.03 and line.endswith("-I") and not line.endswith("P-I"):
            lines[number] = line[: line.rfind("\t") + 1] + rng.choice(["O", "A7-B"])
    other = tmp_path / "pred.oie"
    other.write_text("\n".join(lines), encoding="utf-8")
    scores = KIND.score(gold, other, {})
    mine, theirs = pairs_of(gold), pairs_of(other)
    assert counts(scores["relations"]) == (len(mine & theirs), len(theirs), len(mine))
    assert KIND.score(gold, gold, {})["relations"]["f1"] == 100
