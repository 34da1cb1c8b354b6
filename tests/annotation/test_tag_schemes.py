"""Tag schemes: there and back, every sequence of few tags, and the official conlleval's counts."""

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.tag_schemes import SCHEMES
from spanloom.errors import DocumentError

EVERY = pytest.mark.parametrize("name", SCHEMES)
PREFIXED = pytest.mark.parametrize("name", [name for name in SCHEMES if name != "none"])
LABELS = ("X", "Y-Z", "O")
GOLDEN = ["case01", "case02", "case03", "case05", "case06", "case08", "case10"]


@st.composite
def spans(draw, widest):
    """Spans without overlap in a sentence, in any order, and the sentence's length."""
    drawn_spans, word = [], draw(st.integers(0, 2))
    for _ in range(draw(st.integers(0, 5))):
        end = word + draw(st.integers(1, widest))
        drawn_spans.append((word, end, draw(st.sampled_from(LABELS))))
        word = end + draw(st.integers(0, 2))
    return draw(st.permutations(drawn_spans)), word + draw(st.integers(0, 2))


def every_set(start, words, labels, widest):
    """All sets of spans without overlap from a word on."""
    if start == words:
        return [[]]
    sets = every_set(start + 1, words, labels, widest)
    for end in range(start + 1, min(words, start + widest) + 1):
        later = every_set(end, words, labels, widest)
        sets = sets + [[(start, end, label), *more] for label in labels for more in later]
    return sets


@PREFIXED
@given(drawn=spans(4))
def test_there_and_back(name, drawn):
    expected, words = drawn
    tags = SCHEMES[name].encode(expected, words)
    assert len(tags) == words
    assert set(tags) <= set(SCHEMES[name].tags(LABELS))
    assert SCHEMES[name].decode(tags) == sorted(expected)


@given(drawn=spans(1))
def test_plain_tags_there_and_back(drawn):
    drawn_spans, words = drawn
    expected = [(start, end, f"{label}!") for start, end, label in drawn_spans]
    plain = SCHEMES["none"]
    assert plain.decode(plain.encode(expected, words)) == sorted(expected)


@pytest.mark.parametrize(
    ("name", "tags"),
    {
        "BIO": "B-P I-P I-P O B-P B-P I-P B-Q",
        "IOB2": "B-P I-P I-P O B-P B-P I-P B-Q",
        "IOB1": "I-P I-P I-P O I-P B-P I-P I-Q",
        "BIOES": "B-P I-P E-P O S-P B-P E-P S-Q",
        "IOBES": "B-P I-P E-P O S-P B-P E-P S-Q",
        "BILOU": "B-P I-P L-P O U-P B-P L-P U-Q",
    }.items(),
)
def test_each_spelling(name, tags):
    expected = [(0, 3, "P"), (4, 5, "P"), (5, 7, "P"), (7, 8, "Q")]
    assert " ".join(SCHEMES[name].encode(expected, 8)) == tags


@EVERY
@pytest.mark.parametrize("words", [1, 2, 3, 4])
def test_what_is_allowed_is_what_can_be_encoded(name, words):
    scheme = SCHEMES[name]
    tags = scheme.tags(("P", "Q"))
    starts, follow, ends = scheme.allowed_transitions(tags)

    def obeys(path):
        steps = all(follow[a][b] for a, b in zip(path, path[1:], strict=False))
        return starts[path[0]] and steps and ends[path[-1]]

    sequences = product(range(len(tags)), repeat=words)
    legal = {tuple(tags[tag] for tag in path) for path in sequences if obeys(path)}
    widest = 1 if name == "none" else words
    span_sets = every_set(0, words, ("P", "Q"), widest)
    assert legal == {tuple(scheme.encode(item, words)) for item in span_sets}


@EVERY
def test_every_tag_is_used_and_outside_is_first(name):
    scheme = SCHEMES[name]
    tags = scheme.tags(("P", "Q"))
    assert tags[0] == "O"
    assert len(set(tags)) == len(tags)
    widest = 1 if name == "none" else 3
    span_sets = every_set(0, 3, ("P", "Q"), widest)
    assert set(tags) == {tag for item in span_sets for tag in scheme.encode(item, 3)}
    assert scheme.tags(()) == ["O"]


@pytest.mark.parametrize("letters", ["BIO", "BIOES", "BIOLU"])
@given(data=st.data())
def test_malformed_tags_are_read_as_conlleval_reads_them(letters, data):
    one = st.sampled_from(sorted({f"{a}-{b}" if a != "O" else a for a in letters for b in "PQ"}))
    tags = data.draw(st.lists(one, max_size=8))
    for name in SCHEMES:
        if name != "none":
            assert SCHEMES[name].decode(tags) == by_borders(tags)


def by_borders(tags):
    """Look at the border between two words at a time, as conlleval's two subroutines do."""
    read, start = [], 0
    for word, (previous, current) in enumerate(zip(["O", *tags], [*tags, "O"], strict=True)):
        (a, _, left), (b, _, right) = previous.partition("-"), current.partition("-")
        border = left != right or a in ("E", "L", "S", "U", "O") or b in ("B", "S", "U", "O")
        if border and a != "O":
            read.append((start, word, left))
        if border and b != "O":
            start = word
    return read


@pytest.mark.parametrize("case", GOLDEN)
def test_counts_of_the_official_program(case, golden):
    folder = golden("conlleval") / case
    expected = json.loads((folder / "scores.json").read_text(encoding="utf-8"))["scores"]
    blocks = (folder / "input.txt").read_text(encoding="utf-8").split("\n\n")
    sentences = [[line.split() for line in block.split("\n") if line] for block in blocks]
    counts = {"correct": 0, "found": 0, "gold": 0}
    for rows in sentences:
        gold, predicted = (
            set(SCHEMES["BIO"].decode([row[column] for row in rows])) for column in (-2, -1)
        )
        for kind, some in (("correct", gold & predicted), ("found", predicted), ("gold", gold)):
            counts[kind] += len(some)
    assert counts == {kind: expected[f"{kind}_phrases"] for kind in counts}
    golden.count(1)


@EVERY
@pytest.mark.parametrize(
    ("spans_given", "message"),
    [
        ([(1, 2, "P"), (0, 2, "Q")], r"\(1, 2, 'P'\) overlaps \(0, 2, 'Q'\)"),
        ([(0, 1, "P"), (0, 1, "P")], r"overlaps"),
        ([(2, 4, "P")], r"\(2, 4, 'P'\): expected words within \[0, 3\)"),
        ([(-1, 1, "P")], r"expected words within"),
        ([(1, 1, "P")], r"at least one"),
    ],
)
def test_spans_that_tags_cannot_hold_are_refused(name, spans_given, message):
    with pytest.raises(DocumentError, match=r"span|overlaps" if name == "none" else message):
        SCHEMES[name].encode(spans_given, 3)


@pytest.mark.parametrize("spans_given", [[(0, 2, "P")], [(0, 1, "O")]])
def test_plain_tags_refuse_what_they_cannot_spell(spans_given):
    with pytest.raises(DocumentError, match="plain tags need spans of one word"):
        SCHEMES["none"].encode(spans_given, 3)


@PREFIXED
def test_foreign_tags_are_never_allowed(name):
    starts, follow, ends = SCHEMES[name].allowed_transitions(["O", "Z-P"])
    assert (starts, follow, ends) == ([True, False], [[True, False], [False, False]], [True, False])
