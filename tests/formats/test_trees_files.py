"""Files of trees: what brackets say as spans, every layout, real treebanks, other documents."""

import pytest
from damaged_texts import reads_or_tells
from door_checks import same_again, written_and_read
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.trees import EMPTY, Tree, flatten, format_tree, label_all_nodes, parse_all
from spanloom.document import Document, Layer, Span
from spanloom.errors import FormatError
from spanloom.formats.trees import KIND, TreeOptions, dumps, loads

ATOMS = st.sampled_from(["NP", "S", "NP-SBJ=2", "", "-NONE-", "_", "\u00a0", "["])
LEAVES = st.builds(
    lambda tag, word: Tree(tag, word=word),
    st.sampled_from(["NN", EMPTY, "_", "-LRB-"]),
    st.sampled_from(["a", "*T*-1", "\u2028", "-LRB-"]),
)
TREES = st.recursive(
    LEAVES,
    lambda parts: st.builds(Tree, ATOMS, st.lists(parts, min_size=1, max_size=4).map(tuple)),
    max_leaves=12,
)


def spans(document, layer="constituency"):
    return [(document.text_of(each), each.label) for each in document[layer].spans]


def test_trees_are_sentences_and_labels_are_spans():
    (found,) = loads(KIND.example)
    assert (found.name, found.text) == ("s00001", "Stop this !\nAda waved -LRB- it\nYes")
    assert spans(found)[:6] == [
        ("Stop this !", "TOP"),
        ("Stop this !", "S"),
        ("", "(NP-SBJ (-NONE- *))"),
        ("Stop this", "VP"),
        ("this", "NP"),
        ("this", "NP"),
    ]
    assert spans(found, "xpos")[-2:] == [("-LRB-", "-LRB-"), ("Yes", "UH")]
    assert [(each.label, each.value) for each in found["sentences"].attributes] == [
        ("after", "\n(NP (-NONE- *))\n\n"),
        ("spelling", "(TOP\n  (INTJ (UH Yes)))"),
    ]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("( (S (NP (NN a)) (VB b)) )\n", ["S", "NP"]),
        ("( (CAPTION (NN a)) )\n", ["CAPTION"]),
        ("((S (NN a)))((S (NN b)))", ["S", "S"]),
        ("( (NP (NN a)) (. .))\n", ["TOP", "NP"]),
        ("( (NN a))\n", ["TOP"]),
        ("( ( (NP (NN a)) (. .)))\n", ["TOP", "NP"]),
        ("(S ( (NP (NN a))) ( (NN b) (NN c)))\n", ["S", "NP", "X"]),
        ("(S ( (NN a)) (NN b))\n", ["S"]),
    ],
)
def test_every_label_says_something_and_the_brackets_come_back(text, labels):
    (found,) = loads(text)
    assert [label for _, label in spans(found)] == labels
    assert dumps([found]) == text
    assert KIND.count_lost(found, TreeOptions()) == {}
    (plain,) = loads(text, options=TreeOptions(function_tags="strip"))
    assert [label for _, label in spans(plain)] == labels
    assert list(loads(dumps([plain]))) == [plain]


def test_functions_and_empty_parts_can_be_left_out():
    text = (
        "(S (NP-SBJ-1 (PRP I)) (VP (VBP go) (S (NP=2 (-NONE- *)) (VP (RB up)))))\n(X (-NONE- 0))\n"
    )
    (plain,) = loads(text, options=TreeOptions(function_tags="strip", empty_nodes="strip"))
    assert dumps([plain]) == "(S (NP (PRP I)) (VP (VBP go) (S (VP (RB up)))))\n"
    (bare,) = loads(text, options=TreeOptions(function_tags="strip"))
    assert "(NP (-NONE- *))" in [label for _, label in spans(bare)]


@pytest.mark.parametrize(
    "text",
    [
        "( (S (NN a)) )\n( (S (NN b) (NN c)) )\n",
        "((S (NN a)))((S (NN b)))",
        "(S\r(NN\ta))\n\n\n(NN a)",
        "\n\n(X (-NONE- *))\n(S (NN a))\n(X (-NONE- *))",
        "(X (-NONE- *))",
        " \n",
        "(S (_ a) (_ b))\n",
        "(S (-NONE- *) (NP (NN a) (-NONE- 0)) (X (-NONE- 1)))\n",
        "(A (B (C (NN a))))\n",
        "(TOP (S (NP (NN " + "a" * 60 + ")) (VP (VB b))))\n",
        "(TOP\n  (S\n    (NN\n      " + "a" * 70 + ")\n    (VP (VB b))))\n\n(TOP (NN a))\n",
    ],
)
def test_every_blank_comes_back(text):
    found = list(loads(text))
    assert dumps(found) == text
    assert list(loads(dumps(found))) == found
    assert KIND.count_lost(found[0], TreeOptions()) == {}


def lines(tree, column=0):
    """The indented layout by its rule, part by part."""
    if column + len(format_tree(tree)) < 70:
        return format_tree(tree)
    inner = " " * (column + 2)
    parts = [lines(each, column + 2) for each in tree.children] or [tree.word]
    return f"({tree.label}" + "".join(f"\n{inner}{each}" for each in parts) + ")"


@given(st.lists(TREES, min_size=1, max_size=3))
def test_the_layout_is_the_one_of_the_longest_tree(trees):
    long = Tree("S", tuple(Tree("NN", word="w" * n) for n in (60, 70, 5)))
    every = [
        Tree("TOP", (*map(label_all_nodes, trees), long)),
        Tree("TOP", (long,)),
        Tree("NN", word="a"),
    ]
    text = "\n\n".join(map(lines, every)) + "\n"
    (found,) = loads(text)
    assert found.meta == (("layout", "indented"),)
    assert found["sentences"].attributes == ()
    assert dumps([found]) == text


@given(st.lists(TREES, min_size=1, max_size=4), st.sampled_from(["\n", "\n\n", " ", ""]))
def test_any_trees_come_back(trees, between):
    text = between.join(map(format_tree, trees))
    (found,) = loads(text)
    assert dumps([found]) == text
    worded = [flatten(label_all_nodes(each)) for each in trees if flatten(each).words]
    assert found.text == "\n".join(" ".join(each.words) for each in worded)
    assert len(found["constituency"].spans) == sum(len(each.brackets) for each in worded)
    assert KIND.count_lost(found, TreeOptions()) == {}


@given(TREES, st.sampled_from(["line", "spaced", "indented"]))
def test_every_layout_spells_the_same_tree(tree, layout):
    tree = label_all_nodes(tree)
    (found,) = loads(format_tree(Tree("TOP", (tree, Tree("NN", word="end")))))
    laid = Document(found.text, found.layers, found.name, (("layout", layout),))
    ((_, again),) = parse_all(dumps([laid]))
    assert again.children[0] == tree


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("(S (NN a))\n(S (NN b)\n", 2, "expected a ')'"),
        ("(S (NN a))\n)", 2, "expected '('"),
        ("\n(S (NN a b))", 2, "expected '(' or ')'"),
        ("(S\n\n())", 3, "expected a word or '('"),
        ("word\n", 1, "expected '(', got 'word'"),
        ("(" * 100_000, 1, "expected a ')'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, line, problem):
    with pytest.raises(FormatError, match=rf"^in\.mrg:{line}: ") as caught:
        list(loads(text, path="in.mrg"))
    assert problem in caught.value.problem


def test_deep_trees_are_read_and_written():
    deep = 5_000
    text = "(X " * deep + "(NN a) (NN b)" + ")" * deep + "\n"
    (found,) = loads(text)
    assert dumps([found]) == text
    laid = Document(found.text, found.layers, found.name, (("layout", "indented"),))
    assert [tree for _, tree in parse_all(dumps([laid]))] == [tree for _, tree in parse_all(text)]


def test_what_makes_no_tree_is_left_out_and_counted():
    made = [("NP", 0, 3), ("VP", 2, 5), ("a b", 0, 1), ("X", 0, 2), ("(X (-NONE- *))", 4, 4)]
    made += [("(X (NN a))", 2, 2), ("Y", 4, 4)]
    layers = (
        Layer(
            "constituency",
            tuple(Span(f"T{n}", each[0], (each[1:],)) for n, each in enumerate(made)),
        ),
        Layer("xpos", (Span("X1", EMPTY, ((0, 1),)), Span("X2", "N", ((2, 3),)))),
    )
    (again,), (lost,) = written_and_read(KIND, [Document("a b (c", layers)])
    assert again.text == "a b -LRB-c"
    assert dumps([again]) == "(TOP (NP (_ a) (N b) (X (-NONE- *))) (_ -LRB-c))\n"
    assert lost == {"texts": 1, "spans of layer constituency": 5, "spans of layer xpos": 1}


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    written_and_read(KIND, [document])


def test_damaged_samples():
    reads_or_tells(KIND, 300)


def test_damaged_samples_without_functions_and_empty_parts():
    reads_or_tells(KIND, 100, options=TreeOptions(function_tags="strip", empty_nodes="strip"))


def test_numbers_are_no_labels():
    assert not KIND.sniff("(3 (2 It) (4 works))", "a.txt")
    assert not KIND.sniff("(a b)", "a.txt")
    assert not KIND.sniff("(S (NN a)", "a.txt")


@pytest.mark.parametrize(("folder", "ending"), [("craft-trees", "*.tree"), ("gum/const", "*.ptb")])
def test_the_shortest_file_is_written_as_it_stands(data, folder, ending):
    path = min(data(folder).glob(ending), key=lambda each: each.stat().st_size)
    assert same_again(KIND, path.read_bytes().decode())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "ending", "trees", "apart"),
    [("craft-trees", "*.tree", 30_830, 1), ("gum/const", "*.ptb", 13_263, 0)],
)
def test_all_files_are_written_as_they_stand(data, folder, ending, trees, apart):
    """In CRAFT one tree has a blank where none is usual, so its spelling is kept."""
    count = spelling = 0
    for path in sorted(data(folder).glob(ending)):
        text = path.read_bytes().decode()
        (found,) = loads(text)
        assert dumps([found]) == text
        assert KIND.sniff(text[:65_536], path.name)
        count += len(found["sentences"].spans)
        spelling += sum(each.label == "spelling" for each in found["sentences"].attributes)
    assert (count, spelling) == (trees, apart)


@pytest.mark.parametrize(
    ("behind", "looks"),
    [("", True), ("\n", True), ("\n(S (NN b", True), (" and so on.\n", False), (")", False)],
)
def test_behind_a_tree_there_is_another_or_nothing(behind, looks):
    assert KIND.sniff("(S (NN a))" + behind, "a.txt") is looks


def test_a_bracket_too_many_and_no_break_spaces_may_be_skipped():
    damaged = "( (S (VP (VB Stop)))\n\u00a0 (. .)) )\n\n( (S (VP\u00a0(VB Go))))\n"
    with pytest.raises(FormatError, match="f:2"):
        list(loads(damaged, path="f"))
    (document,) = loads(damaged, options=TreeOptions(lenient=True))
    assert document.text == "Stop .\nGo"
    assert [span.label for span in document["constituency"].spans] == [
        *("TOP", "S", "VP"),
        *("S", "VP"),
    ]
