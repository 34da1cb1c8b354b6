"""conlleval's numbers: its own cases, its rules spelt out as an automaton, and small files."""

import json
import random
from contextlib import suppress
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import DataError, FormatError
from spanloom.metrics.chunks import count_chunks, count_right
from spanloom.metrics.counts import Counts
from spanloom.scoring.conlleval import KIND

CASES = [f"case{number:02}" for number in range(1, 13)]
WITHOUT_DOCSTART = {"case08"}  # its two files lack the -DOCSTART- lines that were counted
TAGS = ["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "B", "I", "[-X", "]-X", ".-X", "O-X", "B-0"]


def options(told):
    """Flags with their values, from a list of words."""
    words = iter(told)
    return {word: next(words) if KIND.options[word] else "" for word in words}


def told(folder):
    return json.loads((folder / "scores.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES)
def test_the_programs_own_input(case, golden):
    folder = golden("conlleval") / case
    expected = told(folder)
    found = KIND.score(folder / "input.txt", folder / "input.txt", options(expected["options"]))
    assert json.loads(json.dumps(found)) == expected["scores"]
    assert KIND.table(found)
    golden.count(1)


@pytest.mark.parametrize("case", sorted({*CASES} - WITHOUT_DOCSTART - {"case11"}))
def test_a_file_a_side(case, golden):
    folder = golden("conlleval") / case
    expected = told(folder)
    found = KIND.score(folder / "gold.tsv", folder / "pred.tsv", options(expected["options"]))
    assert json.loads(json.dumps(found)) == expected["scores"]


def scored(tmp_path, text, **given_options):
    path = tmp_path / "input.txt"
    path.write_bytes(text.encode())
    return KIND.score(path, path, {f"-{key}": value for key, value in given_options.items()})


def phrases(scores):
    return [scores[f"{side}_phrases"] for side in ("gold", "found", "correct")]


def test_an_i_after_o_or_another_type_opens_a_chunk(tmp_path):
    assert phrases(scored(tmp_path, "a I-X I-X\nb I-Y I-Y\nc O I-Y\n")) == [2, 2, 1]


def test_s_is_no_prefix_that_is_known(tmp_path):
    assert phrases(scored(tmp_path, "a S-X S-X\nb S-X S-X\nc B-X B-X\n")) == [1, 1, 1]


def test_docstart_is_a_token_and_the_boundary_is_none(tmp_path):
    scores = scored(tmp_path, "-DOCSTART- O O\n\na B-X B-X\n-X- I-X I-X\nb I-X I-X\n")
    assert scores["tokens"] == 3
    assert phrases(scores) == [2, 2, 2]


def test_a_chunk_that_the_file_ends_in_counts(tmp_path):
    assert phrases(scored(tmp_path, "a B-X B-X")) == [1, 1, 1]


def test_type_nought_is_no_type(tmp_path):
    assert scored(tmp_path, "a B-0 B-0\n")["per_type"] == {
        "": {"precision": 100.0, "recall": 100.0, "f1": 100.0, "found": 1}
    }


def test_raw_tags_are_types_and_another_outside_tag(tmp_path):
    scores = scored(tmp_path, "a NN NN\nb NN _\nc _ O\n", r="", o="_")
    assert phrases(scores) == [2, 1, 1]
    assert scores["accuracy"] == 66.67


def test_latex_rows(tmp_path):
    assert scored(tmp_path, "a B-X B-X\nb B-Y O\n", l="") == {
        "latex_rows": [
            {"label": "X", "precision": 100.0, "recall": 100.0, "f1": 100.0},
            {"label": "Y", "precision": 0.0, "recall": 0.0, "f1": 0.0},
            {"label": "Overall", "precision": 100.0, "recall": 50.0, "f1": 66.67},
        ]
    }


def test_a_delimiter_may_be_an_expression(tmp_path):
    scores = scored(tmp_path, "a\t B-X  B-X\nb B-Y\t\tO\n", d=r"\s+")
    assert phrases(scores) == [2, 1, 1]


@pytest.mark.parametrize("delimiter", ["", "(", "( )", " *"])
def test_a_delimiter_that_cannot_be(tmp_path, delimiter):
    with pytest.raises(DataError, match="^-d"):
        scored(tmp_path, "a O O\n", d=delimiter)


def test_no_words(tmp_path):
    assert scored(tmp_path, "\n\n") == {
        "tokens": 0,
        "gold_phrases": 0,
        "found_phrases": 0,
        "correct_phrases": 0,
        "per_type": {},
    }
    assert KIND.table(scored(tmp_path, "")).startswith("0 tokens")


@pytest.mark.parametrize(
    ("text", "line"), [("a O\nb O O\n", 2), ("a\n", 1), ("a O O\nb O O \n\nc O O x\n", 4)]
)
def test_uneven_columns_are_refused(tmp_path, text, line):
    with pytest.raises(FormatError) as caught:
        scored(tmp_path, text)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("gold", "predicted", "line"),
    [
        ("a\tO\nb\tO\n", "a\tO\n", 2),
        ("a\tO\n\nb\tO\n", "a\tO\nb\tO\n", 2),
        ("a\tO\n", "b\tO\n", 1),
        ("a\tO\nb\n", "a\tO\nb\tO\n", 2),
    ],
)
def test_two_files_that_do_not_match_are_refused(tmp_path, gold, predicted, line):
    paths = tmp_path / "gold", tmp_path / "pred"
    for path, text in zip(paths, (gold, predicted), strict=True):
        path.write_text(text)
    with pytest.raises(FormatError) as caught:
        KIND.score(*paths, {})
    assert caught.value.line == line


def test_two_files_of_tags_alone_and_windows_line_ends(tmp_path):
    gold, predicted = tmp_path / "gold", tmp_path / "pred"
    gold.write_text("B-X\nI-X\n\nB-Y\n\n")
    predicted.write_bytes(b"B-X\r\nI-X\r\n\r\nO\r\n")
    assert phrases(KIND.score(gold, predicted, {})) == [2, 1, 1]


def test_whatever_bytes_come(tmp_path):
    draw = random.Random(1)
    path = tmp_path / "input.txt"
    sample = b"a B-X B-X\nb I-X O\n\n-X- O O\nc S-Y ]-Y\n"
    for _ in range(200):
        data = bytearray(sample)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.choice(b"\n\t -BX\xff\x00")
        path.write_bytes(bytes(data))
        with suppress(FormatError):
            assert KIND.table(KIND.score(path, path, {}))


def letter(tag):
    return tag.split("-", 1)[0]


def kind(tag):
    label = tag.split("-", 1)[1] if "-" in tag else ""
    return "" if label == "0" else label


def parted(one, two, outer):
    """Whether a chunk begins or ends between two tags; outer is the tag that is in it."""
    parts = letter(one) + letter(two) in {"BB", "IB", "EE", "EI"}
    return parts or (letter(outer) not in {"O", "."} and kind(one) != kind(two))


def begins(one, two):
    opens = letter(one) + letter(two) in {"OB", "OI", "OE"}
    return opens or parted(one, two, two) or letter(two) in {"[", "]"}


def ends(one, two):
    closes = letter(one) + letter(two) in {"BO", "IO", "EO"}
    return closes or parted(one, two, one) or letter(one) in {"[", "]"}


def automaton(pairs):
    """The rules word by word, with a flag for a chunk that is right so far."""
    last, running = ("O", "O"), False
    totals = {"gold": 0, "found": 0, "right": 0}
    for pair in pairs:
        start = [begins(*both) for both in zip(last, pair, strict=True)]
        stop = [ends(*both) for both in zip(last, pair, strict=True)]
        agree = kind(pair[0]) == kind(pair[1])
        totals["right"] += running and all(stop)
        running = running and not any(stop) and agree
        running = running or (all(start) and agree)
        totals["gold"] += start[0]
        totals["found"] += start[1]
        last = pair
    totals["right"] += running
    return Counts(totals["right"], totals["found"], totals["gold"])


def micro(pairs):
    return sum(count_chunks(pairs).values(), Counts())


def test_every_pair_of_steps_agrees_with_the_automaton():
    for one, two, three, four in product(TAGS, repeat=4):
        pairs = [(one, two), (three, four)]
        assert micro(pairs) == automaton(pairs), pairs


@given(st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), max_size=12))
def test_long_texts_agree_with_the_automaton(pairs):
    assert micro(pairs) == automaton(pairs)


@given(st.lists(st.none() | st.sampled_from(TAGS), max_size=12))
def test_a_column_against_itself_is_right(tags):
    pairs = [tag and (tag, tag) for tag in tags]
    right = count_right(pairs)
    assert right.hits == right.gold == sum(tag is not None for tag in tags)
    assert micro(pairs).predicted == micro(pairs).gold
