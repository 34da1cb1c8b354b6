"""PropBank's lines: pointers into trees, chains, links, parts, and lines kept as they are."""

import pytest

from spanloom.errors import FormatError
from spanloom.formats import propbank, trees
from spanloom.formats.trees import TreeOptions

TREES = """\
(TOP (S (NP (NNP Ada)) (VP (VBD met) (NP (NNP Bob))) (. .)))
(TOP (NP (NP (NNP Bob)) (SBAR (WHNP (WP who)) (S (NP (-NONE- *T*)) (VP (VBZ sings))))))
(TOP (S (NP (-NONE- *)) (VP (VB Look) (NP (PRP it)) (PRT (RP up)))))
"""


def roles(rows, **options):
    """Return (predicate, role, argument) of each relation."""
    (document,) = propbank.loads(rows, trees=TREES, options=TreeOptions(**options))
    text_of = {span.id: document.text_of(span) for span in document["srl"].spans}
    return [
        (text_of[relation.head], relation.label, text_of[relation.tail])
        for relation in document["srl"].relations
    ]


def test_pointers_count_empty_leaves_and_levels():
    rows = "0 1 gold meet-v meet.03 ----- 0:1-ARG0 1:0-rel 2:1-ARG1\n"
    assert roles(rows) == [("met", "ARG0", "Ada"), ("met", "ARG1", "Bob")]
    assert roles("1 3 gold sing-v sing.01 ----- 3:0-rel 1:2-ARGM-ADV\n") == [
        ("sings", "ARGM-ADV", "who sings")
    ]


def test_a_link_makes_the_antecedent_an_argument_and_the_pronoun_refer_to_it():
    rows = "1 3 gold sing-v sing.01 ----- 0:1*1:1-LINK-SLC 1:1*2:0-ARG0 3:0-rel\n"
    assert roles(rows) == [("sings", "ARG0", "Bob"), ("sings", "R-ARG0", "who")]


def test_empty_members_of_chains_are_left_out_and_parts_apart_continue():
    rows = "2 1 gold look-v look.05 ----- 0:1*2:1-ARG1 1:0,3:1-rel\n"
    assert roles(rows) == [("Look", "ARG1", "it"), ("Look", "C-V", "up")]


def test_parts_that_touch_are_one_argument():
    rows = "2 1 gold look-v look.05 ----- 1:0-rel 2:1;3:1-ARG1\n"
    assert roles(rows) == [("Look", "ARG1", "it up")]


def test_stripped_trees_have_the_same_roles():
    rows = "2 1 gold look-v look.05 ----- 0:1*2:1-ARG1 1:0,3:1-rel\n"
    assert roles(rows, empty_nodes="strip", function_tags="strip") == roles(rows)


@pytest.mark.parametrize(
    "rows",
    [
        "0 1 gold meet-v meet.03 ----- 0:1-ARG0 1:0-rel 2:1-ARG1\n",
        "1 3 ann sing-v sing.01 vp--a 0:1*1:1-LINK-SLC  1:1*2:0-ARG0 3:0-rel\n",
        "2 1 gold look-v look.05 ----- 3:1,1:0-rel 0:1*2:1-ARG1\n",
    ],
)
def test_lines_are_written_as_they_were(rows):
    assert propbank.dumps(list(propbank.loads(rows, trees=TREES))) == {"": rows, "trees": TREES}


def test_roles_without_lines_are_written_by_the_widest_constituents():
    rows = "1 3 gold sing-v sing.01 ----- 0:1*1:1-LINK-SLC 1:1*2:0-ARG0 3:0-rel\n"
    stripped = TreeOptions(empty_nodes="strip")
    written = propbank.dumps(list(propbank.loads(rows, trees=TREES, options=stripped)))
    # the only word of the verb phrase and of its clause, once the trace is gone
    assert (
        written[""] == "1 2 gold sing-v sing.01 ----- 0:1-ARG0 0:1*1:1-LINK-SLC 1:1-ARG0 2:2-rel\n"
    )
    again = list(propbank.loads(written[""], trees=written["trees"]))
    assert len(again[0]["srl"].relations) == 2


def test_a_document_is_that_of_its_trees():
    (document,) = propbank.loads("", trees=TREES)
    (expected,) = trees.loads(TREES)
    assert document.text == expected.text
    assert document["constituency"] == expected["constituency"]
    assert not document["srl"].spans


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0 1 gold meet-v meet.03 -----", "f:1: expected tree, leaf"),
        ("0 1 gold meet-v meet.03 ----- 0-ARG0", "f:1: expected tree, leaf"),
        ("3 1 gold meet-v meet.03 ----- 1:0-rel", "f:1: expected one of 3 trees.*got 3"),
        ("0 9 gold meet-v meet.03 ----- 1:0-rel", "f:1: tree 0: expected one of 4 leaves, got 9"),
        ("0 1 gold meet-v meet.03 ----- 1:9-rel", "f:1: tree 0: nothing is 9 above leaf 1"),
    ],
)
def test_broken_lines_are_reported(row, message):
    with pytest.raises(FormatError, match=message):
        list(propbank.loads(f"{row}\n", trees=TREES, path="f"))
