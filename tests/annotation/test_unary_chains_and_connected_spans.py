"""Unary chains, clusters, and layers without some annotations: against plain definitions."""

from dataclasses import replace

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation import unary_chains
from spanloom.annotation.connected_spans import connected_spans
from spanloom.annotation.removal import without_annotations
from spanloom.annotation.unary_chains import JOINER, collapse_unary, expand_unary
from spanloom.document import (
    Argument,
    Attribute,
    Equivalence,
    Event,
    Layer,
    Normalization,
    Note,
    Relation,
    Span,
)

TREES = st.recursive(
    st.none(),  # a word
    lambda below: st.tuples(st.sampled_from(["S", "NP", "VP-x"]), st.lists(below, min_size=1)),
    max_leaves=12,
)


def brackets(tree, start=0):
    """Label and place of each bracket, outer ones first, and where the tree ends."""
    if tree is None:
        return [], start + 2
    label, children = tree
    inner, end = [], start
    for child in children:
        more, end = brackets(child, end)
        inner += more
    return [(label, start, end), *inner], end


@given(TREES)
def test_chains_of_a_tree_are_joined_and_parted_again(tree):
    rows, _ = brackets(tree)
    spans = tuple(Span(f"T{row}", label, ((a, b),)) for row, (label, a, b) in enumerate(rows))
    layer = Layer("trees", spans, (Relation("R1", "x", "T0", "T0"),))
    chains = collapse_unary(layer)
    again = [(label, s.start, s.end) for s in chains.spans for label in expand_unary(s.label)]
    assert again == rows
    bounds = [(span.start, span.end) for span in chains.spans]
    assert len(set(bounds)) == len(bounds) == len({(a, b) for _, a, b in rows})
    firsts = {}
    for row, (_, a, b) in enumerate(rows):
        firsts.setdefault((a, b), f"T{row}")
    assert [span.id for span in chains.spans] == list(firsts.values())
    assert chains == Layer("trees", chains.spans)
    assert collapse_unary(chains) == chains


def test_a_chain_stands_where_its_fragments_do_in_whatever_order_they_are_named():
    outer, inner = Span("T1", "A", ((0, 2), (5, 6))), Span("T2", "B", ((5, 6), (0, 2)))
    between = Span("T3", "C", ((0, 6),))
    collapsed = collapse_unary(Layer("trees", (outer, between, inner)))
    assert collapsed.spans == (Span("T1", f"A{JOINER}B", outer.fragments), between)


IDS = [f"T{row}" for row in range(7)]
ENDS = st.sampled_from([*IDS, "E1", "R1", "nothing"])


@st.composite
def linked_layers(draw):
    """Spans, and relations and equivalences between them and what is no span of the layer."""
    order = draw(st.permutations(IDS))
    spans = tuple(Span(key, "m", ((0, 1),)) for key in order[: draw(st.integers(0, len(IDS)))])
    ends = draw(st.lists(st.tuples(ENDS, ENDS), max_size=6))
    links = tuple(Relation(f"R{row}", "coref", *pair) for row, pair in enumerate(ends))
    groups = draw(st.lists(st.lists(ENDS, max_size=4), max_size=3))
    same = tuple(Equivalence(f"*{row}", "Equiv", tuple(group)) for row, group in enumerate(groups))
    return Layer("main", spans, links, equivalences=same)


@given(linked_layers())
def test_clusters_are_connected_components(layer):
    order = [span.id for span in layer.spans]
    graph = networkx.Graph()
    graph.add_nodes_from(order)
    graph.add_edges_from(
        (relation.head, relation.tail)
        for relation in layer.relations
        if {relation.head, relation.tail} <= {*order}
    )
    for same in layer.equivalences:
        members = [member for member in same.members if member in order]
        graph.add_edges_from((a, b) for a in members for b in members)
    components = (
        sorted(component, key=order.index) for component in networkx.connected_components(graph)
    )
    expected = sorted(
        (component for component in components if len(component) > 1),
        key=lambda c: order.index(c[0]),
    )
    assert connected_spans(layer) == [tuple(item) for item in expected]


def test_an_event_among_members_that_mean_the_same_parts_them_not():
    spans = tuple(Span(key, "m", ((0, 1),)) for key in ("T1", "T2"))
    same = Equivalence("*1", "Equiv", ("T1", "E1", "T2"))
    assert connected_spans(Layer("main", spans, equivalences=(same,))) == [("T1", "T2")]


def test_a_chain_of_thousands_is_one_cluster():
    spans = tuple(Span(f"T{row}", "m", ((0, 1),)) for row in range(20_000))
    links = tuple(Relation(f"R{row}", "coref", f"T{row}", f"T{row + 1}") for row in range(19_999))
    assert connected_spans(Layer("main", spans, links[::-1])) == [tuple(span.id for span in spans)]


@st.composite
def layers(draw):
    """A layer whose annotations refer to any others, themselves too, and to what is not there."""
    sizes = {letter: draw(st.integers(0, 3)) for letter in "TREANO*"}
    ids = {letter: [f"{letter}{row}" for row in range(size)] for letter, size in sizes.items()}
    any_id = st.sampled_from([*(key for new_id in ids.values() for key in new_id), "elsewhere"])
    arguments = st.lists(st.builds(Argument, st.just("Theme"), any_id), max_size=3).map(tuple)
    members = st.lists(any_id, min_size=2, max_size=4, unique=True).map(tuple)
    groups = {
        "T": lambda key: Span(key, "x", ((0, 1),)),
        "R": lambda key: Relation(key, "x", draw(any_id), draw(any_id)),
        "E": lambda key: Event(key, "x", draw(any_id), draw(arguments)),
        "A": lambda key: Attribute(key, "x", draw(any_id)),
        "N": lambda key: Normalization(key, "x", draw(any_id), "r", "k"),
        "O": lambda key: Note(key, "x", draw(any_id)),
        "*": lambda key: Equivalence(key, "x", draw(members)),
    }
    kinds = (tuple(make(key) for key in ids[letter]) for letter, make in groups.items())
    return Layer("main", *kinds), draw(st.frozensets(any_id, max_size=3))


def needed(annotation):
    """What an annotation cannot be without: any one of these that goes takes it along."""
    match annotation:
        case Relation():
            return {annotation.head, annotation.tail}
        case Event():
            return {annotation.trigger}
        case Attribute() | Normalization() | Note():
            return {annotation.target}
    return set()


@given(layers())
def test_nothing_left_refers_to_what_is_gone_and_nothing_else_is_lost(drawn):
    layer, gone = drawn
    left = without_annotations(layer, gone)
    before = {annotation.id: annotation for annotation in layer.annotations()}
    after = {annotation.id: annotation for annotation in left.annotations()}
    lost = (before.keys() - after.keys()) | gone
    for annotation in left.annotations():
        assert annotation.id not in gone
        assert not needed(annotation) & lost
        was = before[annotation.id]
        match annotation:
            case Event():
                kept = tuple(a for a in was.arguments if a.target not in lost)
                assert annotation == Event(was.id, was.label, was.trigger, kept)
            case Equivalence():
                kept = tuple(member for member in was.members if member not in lost)
                assert annotation == Equivalence(was.id, was.label, kept)
                assert len(kept) > 1
            case _:
                assert annotation == was
    assert list(after) == [key for key in before if key in after]
    reasons = set(gone)  # what has to go, one thing at a time, the slow way
    for _ in range(len(before)):
        for key, item in before.items():
            few = isinstance(item, Equivalence) and len(set(item.members) - reasons) < 2
            if few or needed(item) & reasons:
                reasons.add(key)
    assert lost == reasons


@given(layers())
def test_without_nothing_a_layer_stays(drawn):
    layer, _ = drawn
    assert without_annotations(layer, set()) == layer


@pytest.mark.parametrize(
    ("chain", "name"),
    [("S VP", "S VP"), (" CAPTION", "CAPTION"), (" S VP", "S VP"), ("", "TOP"), ("S  NP", "S NP")],
)
def test_what_has_no_name_is_left_out_of_a_chain(chain, name):
    assert unary_chains.drop_empty_labels(chain) == name


def test_what_depends_on_removed_ones_is_removed_however_long_the_chain():
    """Also where each note is on the one before: by passes over all this took seconds."""
    span, num = Span("T1", "P", ((0, 1),)), 20_000
    notes = [Note(f"#{n}", "AnnotatorNotes", f"#{n - 1}" if n else "T1", "x") for n in range(num)]
    sets = (
        Equivalence("*1", "Alias", ("T1", "T2", "T3")),
        Equivalence("*2", "Alias", ("T1", "T2")),
    )
    spans = (span, replace(span, id="T2"), replace(span, id="T3"))
    left = without_annotations(Layer("main", spans, notes=tuple(notes), equivalences=sets), {"T1"})
    assert [kept.id for kept in left.spans] == ["T2", "T3"]
    assert (left.notes, [kept.id for kept in left.equivalences]) == ((), ["*1"])
