"""A configuration keeps its lines where types are added to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.document import MAIN, Argument, Attribute, Document, Event, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.brat import conf
from spanloom.formats.brat.conf_extension import extend
from spanloom.formats.brat.conf_from_documents import TypeCollector, config_of

CONF = """# the types of the project, agreed in May
[spans]
!Agent
 Person|PER

[relations]
# at most one family
Family\tArg1:Person, Arg2:Person, <REL-TYPE>:symmetric-transitive
[events]
<POG>=Person|Agent
Marry\tSpouse{2}:<POG>, Place?:<ANY>
[attributes]
Sure\tArg:<EVENT>
"""


def document(*labels, events=(), relations=(), attributes=()):
    spans = tuple(Span(f"T{row}", label, ((row, row + 1),)) for row, label in enumerate(labels))
    layer = Layer(MAIN, spans, relations, events, attributes)
    return Document("x" * (1 + len(labels)), (layer,))


def test_labels_that_no_document_has_are_types_too():
    collector = TypeCollector()
    collector.add_types(
        MAIN,
        {
            "spans": ["Person", "City", "Binding"],
            "relations": ["lives-in", "Theme"],
            "triggers": ["Binding"],
            "roles": ["Theme"],
            "attributes": {"Negated": [""], "Sure": ["no", "yes"]},
        },
    )
    none = {"spans": [], "triggers": [], "roles": [], "attributes": {}}
    collector.add_types("roles", {**none, "relations": ["ARG0"]})
    collector.add(document("Person", "Dog", relations=(Relation("R1", "lives-in", "T0", "T1"),)))
    config = conf.loads(conf.dumps(collector.config()))
    assert config.labels("entities") == ("City", "Dog", "Person")
    roles = {entry.label: [role.types for role in entry.roles] for entry in config.relations}
    ends = ("Binding", "City", "Person")
    assert roles["lives-in"] == [ends, ("Binding", "City", "Dog", "Person")]
    assert "Theme" not in roles
    (event,) = config.events
    assert (event.label, [(role.name, role.types) for role in event.roles]) == (
        "Binding",
        [("Theme", ends)],
    )
    assert config.labels("attributes") == ("Negated", "Sure")
    assert conf.dumps(config).endswith("Negated\tArg:<ANY>\nSure\tArg:<ANY>, Value:no|yes\n")
    assert roles["roles__ARG0"] == [("<ENTITY>",), ("<ENTITY>",)]


def test_types_that_are_missing_come_at_the_end_of_their_section():
    found = config_of(
        [
            document(
                "Person",
                "City",
                "Meet",
                events=(Event("E1", "Meet", "T2", (Argument("Who", "T0"),)),),
                relations=(Relation("R1", "lives-in", "T0", "T1"),),
                attributes=(Attribute("A1", "Big", "T1", "very"),),
            )
        ]
    )
    text = extend(CONF, found)
    lines = iter(text.splitlines())
    assert all(line in lines for line in CONF.splitlines())  # all of them, in order
    config, before = conf.loads(text), conf.loads(CONF)
    assert config.labels("entities") == ("Person", "City")
    assert config.labels("events") == ("Marry", "Meet")
    assert config.labels("relations") == ("Family", "lives-in")
    assert config.labels("attributes") == ("Sure", "Big")
    assert config.relations[0] == before.relations[0]
    assert config.events[0] == before.events[0]
    assert extend(text, found) == text


def test_types_that_are_there_change_nothing_even_as_events():
    assert extend(CONF, config_of([document("Person", "Marry", "Agent")])) == CONF


def test_a_section_that_is_missing_is_added():
    text = extend("# mine\r\n[entities]\r\nA\r\n", config_of([document("A", "B")]))
    assert text == "# mine\r\n[entities]\r\nA\r\n# types found in the documents\r\nB\r\n"
    linked = document("A", relations=(Relation("R1", "r", "T0", "T0"),))
    assert conf.loads(extend("[entities]\nA", config_of([linked]))).labels("relations") == ("r",)


def test_new_lines_end_as_their_neighbours_do():
    text = "[entities]\nA\n[relations]\r\nr Arg1:A, Arg2:A"
    linked = document("A", "B", relations=(Relation("R1", "q", "T0", "T1"),))
    assert extend(text, config_of([linked])) == (
        "[entities]\nA\n# types found in the documents\nB\n"
        "[relations]\r\nr Arg1:A, Arg2:A\r\n"
        "# types found in the documents\r\nq\tArg1:A, Arg2:B\r\n"
    )


def test_a_section_after_a_byte_order_mark_is_extended():
    text = extend("\ufeff[entities]\nA\n", config_of([document("B")]))
    assert text == "\ufeff[entities]\nA\n# types found in the documents\nB\n"


def test_mistakes_are_not_extended():
    with pytest.raises(FormatError, match="unknown section"):
        extend("[entitys]\n", config_of([document("A")]))


@given(
    before=st.lists(st.sampled_from("ABCDE"), unique=True),
    labels=st.lists(st.sampled_from("ABCDEFG")),
    comments=st.lists(st.sampled_from(["# x", "", "-"]), max_size=3),
)
def test_all_types_are_there_afterwards(before, labels, comments):
    text = "\n".join(["[entities]", *before, *comments, "[events]", "[relations]", *comments])
    extended = extend(text, config_of([document(*labels)]))
    assert set(conf.loads(extended).labels("entities")) == {*before, *labels}
    lines = iter(extended.split("\n"))
    assert all(line in lines for line in text.split("\n"))
