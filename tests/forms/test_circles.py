from hypothesis import given
from hypothesis import strategies as st

from spanloom.forms.circles import on_circles

names = st.sampled_from("abcdef")


def reaches_itself(graph, start):
    reached, border = set(), {start}
    while border:
        border = {t for node in border for t in graph.get(node, ())} - reached
        reached |= border
    return start in reached


@given(st.dictionaries(names, st.lists(names, max_size=4)))
def test_nodes_on_circles_are_those_that_reach_themselves(graph):
    inner = {node: [t for t in targets if t in graph] for node, targets in graph.items()}
    assert on_circles(graph) == {node for node in inner if reaches_itself(inner, node)}


def test_a_long_chain_needs_no_recursion():
    graph = {str(i): [str(i + 1)] for i in range(50_000)}
    assert on_circles(graph) == frozenset()
    graph["49999"] = ["0"]
    assert len(on_circles(graph)) == 50_000
