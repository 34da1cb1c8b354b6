"""Trees and their spans: the way there and back loses nothing, whatever stands in brackets."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.trees import (
    EMPTY,
    Bracket,
    Tree,
    TreeError,
    build_tree,
    category,
    flatten,
    format_tree,
    parse,
    parse_all,
    without_empty,
    without_functions,
)

LABELS = st.sampled_from(["S", "NP", "NP-SBJ-1", "VP", "", "X=2", "-LRB-"])
LEAVES = st.builds(
    lambda tag, word: Tree(tag, word=word),
    st.sampled_from(["NN", "VB", ",", EMPTY, EMPTY]),
    st.sampled_from(["a", "*T*-1", "-LRB-", "\u00a0", "é"]),
)
TREES = st.recursive(
    LEAVES,
    lambda parts: st.builds(Tree, LABELS, st.lists(parts, min_size=1, max_size=3).map(tuple)),
    max_leaves=12,
)


@given(TREES)
def test_brackets_and_spans_give_the_same_tree(drawn):
    assert parse(format_tree(drawn)) == drawn
    flat = flatten(drawn)
    assert build_tree(*flat) == drawn
    assert flatten(build_tree(*flat)) == flat


@given(TREES, st.randoms(use_true_random=False))
def test_the_order_of_spans_on_different_words_does_not_matter(drawn, dice):
    kept = without_empty(drawn)
    if kept is None:
        return
    flat = flatten(kept)
    chains = {}
    for bracket in flat.brackets:
        chains.setdefault(bracket[:2], []).append(bracket)
    groups = list(chains.values())
    dice.shuffle(groups)
    assert build_tree(flat.words, flat.tags, [item for group in groups for item in group]) == kept


@given(TREES)
def test_spans_are_those_that_a_plain_recursion_finds(drawn):
    def lay(node, start):
        if node.word is not None:
            return start + (node.label != EMPTY), []
        end, inner = start, []
        for child in node.children:
            end, brackets = lay(child, end)
            inner += brackets
        return end, [(start, end, node.label)] * (end > start) + inner

    _, expected = lay(drawn, 0)
    assert [
        bracket for bracket in flatten(drawn).brackets if bracket.start < bracket.end
    ] == expected


@given(TREES)
def test_stripping(drawn):
    kept = without_empty(drawn)
    flat = flatten(drawn)
    if kept is None:
        assert not flat.words
        return
    plain = flatten(kept)
    assert plain.brackets == tuple(
        bracket for bracket in flat.brackets if bracket.start < bracket.end
    )
    assert (plain.words, plain.tags) == (flat.words, flat.tags)
    labels = [category(bracket.label) for bracket in plain.brackets]
    assert [bracket.label for bracket in flatten(without_functions(kept)).brackets] == labels


def test_the_example_of_the_head_of_the_file():
    flat = flatten(parse("(TOP (S (NP-SBJ (-NONE- *)) (VP (VB Stop))))"))
    assert flat.words == ("Stop",)
    assert flat.tags == ("VB",)
    empty = Bracket(0, 0, "(NP-SBJ (-NONE- *))")
    assert flat.brackets == ((0, 1, "TOP"), (0, 1, "S"), empty, (0, 1, "VP"))


@pytest.mark.parametrize(
    ("label", "plain"),
    [("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("NP", "NP"), ("-LRB-", "-LRB-"), ("", ""), ("=", "=")],
)
def test_labels_without_functions(label, plain):
    assert category(label) == plain


def test_a_tree_of_one_word_and_one_of_none():
    assert flatten(parse("(NN dog)")) == (("dog",), ("NN",), ())
    assert flatten(parse("(TOP (-NONE- *))")) == ((), (), ((0, 0, "(TOP (-NONE- *))"),))


def test_several_trees_over_lines_with_their_offsets():
    text = "( (S\n (NN a)))\n\n(X\t(Y\u2028Z b))"
    assert [(at, format_tree(tree)) for at, tree in parse_all(text)] == [
        (0, "( (S (NN a)))"),
        (16, "(X (Y\u2028Z b))"),
    ]


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0),
        ("  ", 2),
        ("a", 0),
        (")", 0),
        ("(NN a) b", 7),
        ("(NN a) (NN b)", 7),
        ("(NN a))", 6),
        ("(S (NN a)", 0),
        ("(S (NN a", 3),
        ("()", 1),
        ("(S)", 2),
        ("(S ( a))", 6),
        ("(NN a b)", 6),
        ("(S (NN a) b)", 10),
        ("(S a (NN b))", 5),
    ],
)
def test_what_is_no_tree_is_refused_where_it_breaks(text, offset):
    with pytest.raises(TreeError) as caught:
        parse(text)
    assert caught.value.offset == offset


def test_very_deep_trees():
    deep = 20_000  # twenty times what Python's stack holds
    text = "(S " * deep + "(NN a)" + ")" * deep
    tree = parse(text)
    assert format_tree(tree) == text
    assert build_tree(*flatten(tree)) == tree
    assert len({tree, parse(text)}) == 1
    assert without_functions(tree) == without_empty(tree) == tree
    with pytest.raises(TreeError):
        parse(text[:-1])


def test_cut_and_changed_brackets_raise_nothing_else():
    dice = random.Random(5)
    text = "(TOP (S (NP-SBJ (-NONE- *)) (VP (VB Stop) (, ,))))"
    for _ in range(300):
        letters = list(text)
        for _ in range(dice.randint(1, 4)):
            letters[dice.randrange(len(letters))] = dice.choice("() a\n\x00é")
        try:
            tree = parse("".join(letters))
        except TreeError:
            continue
        assert build_tree(*flatten(tree)) == tree


@pytest.mark.parametrize(
    "brackets",
    [
        [(0, 2, "A"), (1, 3, "B")],
        [(0, 2, "A")],
        [],
        [(0, 3, "A"), (1, 4, "B")],
        [(0, 3, "A"), (-1, 1, "B")],
        [(0, 3, "A"), (2, 1, "B")],
        [(0, 3, "A B")],
        [(0, 3, "A"), (1, 1, "NP")],
        [(0, 3, "A"), (0, 1, "B"), (2, 2, "(-NONE- *)")],
    ],
)
def test_spans_that_make_no_tree(brackets):
    with pytest.raises(TreeError):
        build_tree(["a", "b", "c"], ["X"] * 3, [Bracket(*bracket) for bracket in brackets])


def test_a_tag_a_word():
    with pytest.raises(TreeError):
        build_tree(["a", "b"], ["X"], [Bracket(0, 2, "S")])


@pytest.mark.parametrize(
    ("label", "word"), [("", "a"), ("NN", ""), ("N N", "a"), ("NN", "("), ("NN", None)]
)
def test_leaves_that_brackets_cannot_spell(label, word):
    with pytest.raises(TreeError):
        Tree(label, word=word)
