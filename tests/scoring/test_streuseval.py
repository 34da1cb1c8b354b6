"""streuseval: golden cases, sentences counted by hand, a slow count of links, broken columns."""

import json
import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import DataError, FormatError
from spanloom.metrics.multiword import Expression, compare_classes, count_links
from spanloom.scoring.streuseval import KIND

CASES = [f"case{number:02}" for number in range(1, 13)]


@pytest.fixture
def scored(tmp_path):
    """Score two texts."""

    def run(gold, predicted, name="pred.autoid.conllulex", **options):
        one, two = tmp_path / "gold.conllulex", tmp_path / name
        one.write_text(gold, encoding="utf-8")
        two.write_text(predicted, encoding="utf-8")
        return KIND.score(one, two, {f"--{key}": value for key, value in options.items()})["full"]

    return run


@pytest.mark.parametrize("case", CASES)
def test_golden(golden, case):
    folder = golden("streuseval") / case
    expected = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    files = folder / "gold.conllulex", folder / "system.autoid.conllulex"
    given = expected["options"]
    options = dict(zip(given[::2], given[1::2], strict=True))
    golden.count(1)
    if expected["exit_code"]:
        with pytest.raises(FormatError):
            KIND.score(*files, options)
    else:
        assert json.loads(json.dumps(KIND.score(*files, options))) == expected["scores"]
        assert KIND.score(*files, {**options, "-x": ""}) == KIND.score(*files, options)


def test_every_golden_case_is_listed(golden):
    assert sorted(each.name for each in golden("streuseval").iterdir() if each.is_dir()) == CASES


def sentence(*rows, name="s1"):
    """Spell a sentence: each row "TAG", or "TAG STRONG" or "TAG STRONG WEAK" as GROUP:PLACE."""
    lines = [f"# sent_id = {name}"]
    for number, row in enumerate(rows, 1):
        tag, strong, weak = (*row.split(), "_", "_")[:3]
        _, category, label = (*tag.split("-", 2), "_", "_")[:3]
        role, function = (*label.split("|"), *label.split("|"))[:2]
        if not label.startswith("p."):
            function = "_"
        cells = [str(number), f"w{number}", *["x"] * 8, strong, category, "x", role, function]
        lines.append("\t".join([*cells, weak, "_", "_", tag]))
    return "\n".join(lines) + "\n\n"


def counts(row):
    """What was right, of the predicted, of the gold."""
    return row["P"]["num"], row["P"]["den"], row["R"]["den"]


GOLD = sentence("B-V.VPC-v.motion 1:1", "o-DET", "I_ 1:2", "O-P-p.Goal|p.Locus", "O-N-n.ACT")
OTHER = sentence("O-V-v.motion", "O-DET", "O-P-p.Goal", "O-P-p.Locus", "O-N-n.EVENT")


def test_a_gap_that_was_not_found(scored):
    full = scored(GOLD, OTHER)
    assert full["* / Tags"]["Full"]["Acc"] == {"num": 0, "den": 5, "value": 0.0}
    assert full["* / Tags"]["-Lexcat -SS"]["correct"] == 2  # o is not O
    assert counts(full["* / *"]["ID"]) == (3, 5, 4)
    assert counts(full["* / *"]["Labeled"]) == (1, 5, 4)
    assert counts(full["* / VERB"]["ID"]) == (0, 1, 1)
    assert counts(full["* / NOUN"]["ID"]) == (1, 1, 1)
    assert counts(full["GappyMWE / VERB"]["Labeled"]) == (0, 0, 1)
    assert counts(full["SWE / SNACS"]["ID"]) == (1, 2, 1)
    assert counts(full["* / P,PP"]["Labeled"]) == (0, 2, 1)
    assert counts(full["* / P"]["Fxn"]) == (1, 2, 1)
    assert counts(full["* / P"]["Role"]) == (0, 2, 1)
    assert full["GappyMWE / Tags"]["Link-"]["R"] == {"num": 0, "den": 1, "value": 0.0}


def test_nothing_of_nothing_is_nan(scored):
    full = scored(sentence("O-DET"), sentence("O-DET"))
    assert full["MWE / *"]["ID"] == {
        "P": {"num": 0, "den": 0, "value": "nan"},
        "R": {"num": 0, "den": 0, "value": "nan"},
        "F": "nan",
    }
    assert full["MWE / Tags"]["LinkAvg"]["P"] == {"num": 0.0, "den": 0.0, "value": "nan"}
    json.dumps(full, allow_nan=False)


def test_an_unclear_sense_counts_as_words_alone(scored):
    gold = sentence("O-P-??", "O-DET")
    for role in ("O-P-p.Goal", "O-P-??", "O-ADV"):
        full = scored(gold, sentence(role, "O-DET"))
        assert counts(full["* / *"]["ID"]) == (2, 2, 2)
        assert counts(full["* / *"]["Labeled"]) == (1, 1, 1)
        assert counts(full["* / AnySS"]["ID"]) == (0, 0, 0)
        assert counts(full["* / SNACS"]["ID"]) == (0, 0, 0)
    full = scored(sentence("O-P-p.Goal", "O-DET"), gold)  # unclear for a system is wrong
    assert counts(full["* / AnySS"]["Labeled"]) == (0, 1, 1)


def test_weak_links_are_seen_by_links_alone(scored):
    gold = sentence("B-V-v.x _ 1:1", "I~-DET _ 1:2", "O-DET")
    full = scored(gold, sentence("O-V-v.x", "O-DET", "O-DET"))
    assert full["MWE / Tags"]["Link+"]["RDenom"] == 1
    assert full["MWE / Tags"]["Link-"]["RDenom"] == 0
    assert full["MWE / Tags"]["LinkAvg"]["R"] == {"num": "nan", "den": 0.5, "value": "nan"}
    assert counts(full["* / *"]["Labeled"]) == (3, 3, 3)


def test_coarser_supersenses(scored):
    gold, other = sentence("O-P-p.Goal|p.Locus"), sentence("O-P-p.Source|p.Locus")
    right = {}
    for depth in "1234":
        full = scored(gold, other, depth=depth)
        right[depth] = full["* / P"]["Labeled"]["P"]["num"], full["* / Tags"]["Full"]["Acc"]["num"]
    assert right == {"1": (1, 1), "2": (1, 1), "3": (0, 0), "4": (0, 0)}
    ancestors = ["p.Configuration", "p.Characteristic", "p.QuantityValue", "p.Approximator"]
    for depth, ancestor in enumerate(ancestors, 1):
        pair = sentence("O-P-p.Approximator"), sentence(f"O-P-{ancestor}")
        same = [counts(scored(*pair, depth=str(n))["* / P"]["Labeled"])[0] for n in (1, 2, 3, 4)]
        assert same == [1] * depth + [0] * (4 - depth) if depth < 4 else [1] * 4
    noun = sentence("O-N-n.ACT")
    assert counts(scored(noun, noun, depth="1")["* / AnySS"]["Labeled"]) == (1, 1, 1)
    assert counts(scored(noun, sentence("O-N-n.TIME"), depth="1")["* / AnySS"]["Labeled"])[0] == 0


@pytest.mark.parametrize("depth", ["0", "5", "x"])
def test_a_depth_that_is_none(scored, depth):
    with pytest.raises(DataError):
        scored(GOLD, GOLD, depth=depth)


@pytest.mark.parametrize(
    ("predicted", "name"),
    [
        ("", "x.autoid.conllulex"),
        (GOLD + GOLD, "x.autoid.conllulex"),
        (GOLD.replace("s1", "s2"), "x.autoid.conllulex"),
        (sentence("O-DET"), "x.autoid.conllulex"),
        (GOLD, "x.goldid.conllulex"),
        (GOLD.replace("\tI_", "\tI~"), "x.autoid.conllulex"),  # not as in column 11
        (GOLD.replace("1:2", "1:3"), "x.autoid.conllulex"),
        (GOLD.replace("\tV.VPC", "\tV.IAV"), "x.autoid.conllulex"),
        (GOLD.replace("p.Goal", "p.Aim"), "x.autoid.conllulex"),
        (GOLD.replace("\n2\t", "\n3\t"), "x.autoid.conllulex"),
    ],
)
def test_what_is_refused(scored, predicted, name):
    with pytest.raises(FormatError):
        scored(GOLD, predicted, name)


def test_broken_files_are_told(scored):
    rng = random.Random(3)
    whole = GOLD + sentence("O-DET", name="s2")
    for _ in range(60):
        letters = list(whole)
        for _ in range(rng.randint(1, 4)):
            letters[rng.randrange(len(letters))] = rng.choice("\t\n :1_Ix#~-\x00")
        with suppress(FormatError):
            scored(whole, "".join(letters))


GROUPS = st.lists(st.integers(0, 11), min_size=12, max_size=12)  # the group of each of 12 words


def grouped(owners):
    """Groups of two words or more; owner 0 is none."""
    groups = [tuple(w for w in range(12) if owners[w] == owner) for owner in range(1, 12)]
    return [group for group in groups if len(group) > 1]


@given(GROUPS, GROUPS, st.booleans())
def test_links_one_by_one(one, two, gaps):
    gold, predicted = grouped([each % 5 for each in one]), grouped([each % 4 for each in two])

    def slow(side, other):
        pairs = [
            (a, b)
            for group in side
            for a in group
            for b in group
            if a < b and not any(a < c < b for c in group) and (b - a > 1 or not gaps)
        ]
        return sum(any({a, b} <= set(group) for group in other) for a, b in pairs), len(pairs)

    links = count_links(gold, predicted, gaps=gaps)
    assert links == (*slow(predicted, gold), *slow(gold, predicted))
    assert count_links(predicted, gold, gaps=gaps) == (*links[2:], *links[:2])


SENSES = st.sampled_from(["", "n.ACT", "v.body", "p.Goal", "`$"])


@given(GROUPS, st.lists(SENSES, min_size=12, max_size=12))
def test_gold_against_itself_is_right(owners, senses):
    groups = grouped(owners)
    inside = {word for group in groups for word in group}
    alone = [(word,) for word in range(12) if word not in inside]
    gold = [Expression(words, "P", senses[words[0]]) for words in [*groups, *alone]]
    for compared in compare_classes(gold, gold).values():
        assert all(each.hits == each.gold == each.predicted for each in compared)


def test_a_table_for_people(scored):
    shown = KIND.table({"full": scored(GOLD, OTHER)})
    assert "* / *" in shown
    assert "* / PP " not in shown
