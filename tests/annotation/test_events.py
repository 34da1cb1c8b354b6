from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.comparable import comparable
from spanloom.annotation.events import (
    EventLosses,
    EventScheme,
    collect,
    cyclic,
    losses,
    project,
    restore,
)
from spanloom.annotation.reference_graph import nodes_on_cycles
from spanloom.document import MAIN, Argument, Document, Event, Layer, Relation, Span


def spans(*labels):
    return tuple(Span(f"T{i}", label, ((i, i + 1),)) for i, label in enumerate(labels, 1))


def event(id_, label, trigger, *arguments):
    pairs = (argument.split(":") for argument in arguments)
    return Event(id_, label, trigger, tuple(Argument(*pair) for pair in pairs))


def triples(relations):
    return {(relation.label, relation.head, relation.tail) for relation in relations}


def test_the_docstring_example():
    layer = Layer(
        MAIN,
        spans("Action", "Cell", "Action", "Temp"),
        (Relation("R1", "Setting", "E1", "T4"),),
        (event("E1", "Action", "T1", "Theme:T2", "Theme2:E2"), event("E2", "Action", "T3")),
    )
    kept, relations = project(layer)
    assert kept == layer.spans
    assert relations == (
        Relation("R1", "Setting", "T1", "T4"),
        Relation("E1:1", "Theme", "T1", "T2"),
        Relation("E1:2", "Theme", "T1", "T3"),
    )
    assert restore(kept, relations, collect([layer])) == layer


def test_digits_stay_where_they_are_part_of_every_use():
    layer = Layer(
        MAIN, spans("Bind", "Gene"), (), (event("E1", "Bind", "T1", "Site2:T2", "H2:T2"),)
    )
    assert collect([layer]).roles == {"Site2", "H2"}
    bare = replace(layer, events=(*layer.events, event("E2", "Bind", "T1", "Site:T2")))
    assert collect([bare]).roles == {"Site", "H2"}
    two_sites = replace(layer, events=(event("E1", "Bind", "T1", "Site2:T2", "Site3:T2"),))
    assert collect([two_sites]).roles == {"Site"}


def test_a_number_after_a_role_that_ends_in_a_digit():
    scheme = EventScheme(frozenset({"Bind"}), frozenset({"H2", "Theme"}))
    written = ["H2", "H22", "Theme12", "Theme", "New3", "7"]
    assert [scheme.role(role) for role in written] == [
        "H2",
        "H2",
        "Theme",
        "Theme",
        "New",
        "7",
    ]
    kept = spans("Bind", "Gene", "Gene")
    arrows = (Relation("R1", "H2", "T1", "T2"), Relation("R2", "H2", "T1", "T3"))
    layer = restore(kept, arrows, scheme)
    assert [argument.role for argument in layer.events[0].arguments] == ["H2", "H22"]
    assert triples(project(layer, scheme)[1]) == triples(arrows)


def test_events_in_a_circle_project_and_are_counted():
    layer = Layer(
        MAIN,
        spans("A", "A", "A"),
        (),
        (
            event("E1", "A", "T1", "X:E2"),
            event("E2", "A", "T2", "X:E1"),
            event("E3", "A", "T3", "X:E1"),
        ),
    )
    assert triples(project(layer)[1]) == {("X", "T1", "T2"), ("X", "T2", "T1"), ("X", "T3", "T1")}
    assert cyclic(layer.events) == {"E1", "E2"}
    scheme = collect([layer])
    assert losses(layer, scheme) == EventLosses(cyclic=2)
    again = restore(*project(layer), scheme)
    assert comparable(Document("abcdef", (again,))) == comparable(Document("abcdef", (layer,)))


def test_a_name_that_is_role_and_relation_follows_the_majority_from_triggers():
    both = (event("E1", "A", "T1", "Or:T2"),)
    from_entity = tuple(Relation(f"R{i}", "Or", "T2", "T3") for i in range(9))
    layer = Layer(MAIN, spans("A", "B", "B"), from_entity, both)
    scheme = collect([layer])
    assert scheme.is_argument("Or", "A")
    assert not scheme.is_argument("Or", "B")
    from_trigger = (Relation("Ra", "Or", "E1", "T3"), Relation("Rb", "Or", "T1", "T2"))
    scheme = collect([replace(layer, relations=from_trigger)])
    assert scheme.relations == {"Or"}
    assert not scheme.is_argument("Or", "A")
    lost = losses(replace(layer, relations=from_trigger), scheme)
    assert (lost.swapped, lost.merged) == (1, 1)


def test_losses_name_what_does_not_come_back():
    layer = Layer(
        MAIN,
        spans("A", "B", "A"),
        (),
        (event("E1", "A", "T1", "X:T2"), event("E2", "A", "T1", "X2:T2")),
    )
    counted = losses(layer, collect([layer]))
    assert counted == EventLosses(shared=1, merged=1, unnamed=1)
    assert counted + EventLosses(without_arguments=1) == replace(counted, without_arguments=1)


def test_new_event_ids_pass_over_ids_in_use():
    odd = (Span("E1", "A", ((0, 1),)), Span("T1", "A", ((1, 2),)))
    layer = restore(odd, (Relation("E3", "r", "T1", "E1"),), EventScheme(frozenset({"A"})))
    assert [event.id for event in layer.events] == ["E2", "E4"]
    assert layer.relations == (Relation("E3", "r", "E4", "E2"),)


def test_nothing_projects_to_nothing():
    assert project(Layer(MAIN)) == ((), ())
    assert restore((), (), EventScheme()) == Layer(MAIN)


labels = st.sampled_from(["Act", "Bind", "Gene", "Cell"])
ends = st.integers(1, 6)


@st.composite
def projections(draw):
    """Spans and relations as a model would predict them."""
    kept = spans(*draw(st.lists(labels, min_size=6, max_size=6)))
    triples = draw(st.sets(st.tuples(st.sampled_from(["Theme", "Site", "Is"]), ends, ends)))
    arrows = [Relation(f"R{i}", r, f"T{h}", f"T{t}") for i, (r, h, t) in enumerate(sorted(triples))]
    return kept, tuple(arrows)


SCHEME = EventScheme(frozenset({"Act", "Bind"}), frozenset({"Theme", "Site"}))


@given(projections())
def test_restore_then_project_is_the_identity(projection):
    layer = restore(*projection, SCHEME)
    kept, relations = project(layer, SCHEME)
    assert kept == projection[0]
    assert triples(relations) == triples(projection[1])
    assert len(layer.events) == sum(span.label in {"Act", "Bind"} for span in kept)
    heads = {relation.head for relation in projection[1] if relation.label in SCHEME.roles}
    bare = sum(span.label in {"Act", "Bind"} and span.id not in heads for span in kept)
    assert losses(layer, SCHEME) == EventLosses(
        cyclic=len(cyclic(layer.events)), without_arguments=bare
    )


@given(projections())
def test_what_was_restored_once_comes_back_unchanged(projection):
    layer = restore(*projection, SCHEME)
    again = restore(*project(layer, SCHEME), SCHEME)
    text = "a" * 10
    assert comparable(Document(text, (again,))) == comparable(Document(text, (layer,)))


NODES = st.sampled_from("abcdef")


def reaches_itself(graph, start):
    reached, border = set(), {start}
    while border:
        border = {target for node in border for target in graph.get(node, ())} - reached
        reached |= border
    return start in reached


@given(st.dictionaries(NODES, st.lists(NODES, max_size=4)))
def test_nodes_on_cycles_are_those_that_reach_themselves(graph):
    inner = {
        node: [target for target in targets if target in graph] for node, targets in graph.items()
    }
    assert nodes_on_cycles(graph) == {node for node in inner if reaches_itself(inner, node)}


def test_a_long_chain_needs_no_recursion():
    graph = {str(i): [str(i + 1)] for i in range(50_000)}
    assert nodes_on_cycles(graph) == frozenset()
    graph["49999"] = ["0"]
    assert len(nodes_on_cycles(graph)) == 50_000
