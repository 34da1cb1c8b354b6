from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.cycles import nodes_on_cycles

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
    assert nodes_on_cycles(graph) == {node for node in inner if reaches_itself(inner, node)}


def test_a_long_chain_needs_no_recursion():
    graph = {str(i): [str(i + 1)] for i in range(50_000)}
    assert nodes_on_cycles(graph) == frozenset()
    graph["49999"] = ["0"]
    assert len(nodes_on_cycles(graph)) == 50_000
