"""Nothing that is drawn covers anything else, whatever the annotation looks like."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.page.boxes import CAPTION, Box
from spanloom.page.fill import ROW
from spanloom.page.glyphs import columns
from spanloom.page.layout import Strip, layout
from spanloom.page.lines import COLUMN
from spanloom.page.marks import Link, Mark, Picture

CAPTION_HALF = 7.0  # what an arc's caption takes above and below its line
EDGE = 1e-6

_TEXT = st.text("ab  \n\tλ漢é\u0301א\u200b", max_size=60) | st.lists(
    st.sampled_from(["add", "250µl", "of", "a", "Genomic", "\n", "x" * 130, "漢字", "שלום", "2"]),
    max_size=40,
).map(" ".join)
_LABEL = st.sampled_from(
    ["A", "Action", "Generic-Measure", "漢字", "Acts-on [Negated, Score=high]"]
)


@st.composite
def _fragments(draw, length):
    points = draw(
        st.lists(st.integers(0, length), min_size=2, max_size=6, unique=True).map(sorted)
        if length > 5
        else st.just([0, length])
    )
    pairs = list(zip(points[::2], points[1::2], strict=False))
    if draw(st.integers(0, 9)) == 0:
        return ((points[0], points[0]),)
    return tuple(pairs[: draw(st.integers(1, len(pairs)))])


@st.composite
def pictures(draw):
    text = draw(_TEXT)
    count = draw(st.integers(0, 12))
    marks = []
    for at in range(count):
        label = draw(_LABEL)
        marks.append(Mark(f"T{at}", label, draw(_fragments(len(text))), label))
    ends = st.sampled_from([mark.id for mark in marks]) if marks else st.nothing()
    pairs = draw(st.lists(st.tuples(ends, ends, _LABEL), max_size=12)) if marks else []
    links = [Link(f"R{at}", label, a, b, label) for at, (a, b, label) in enumerate(pairs)]
    return text, Picture(tuple(marks), tuple(links))


def rectangle(box: Box) -> tuple[float, float, float, float]:
    return box.left, box.right, box.bottom, box.top


def label_rectangle(arc) -> tuple[float, float, float, float]:
    return *arc.label, arc.height - CAPTION_HALF, arc.height + CAPTION_HALF


def meet(one, other) -> bool:
    across = one[0] < other[1] - EDGE and other[0] < one[1] - EDGE
    return across and one[2] < other[3] - EDGE and other[2] < one[3] - EDGE


def _covers(strip: Strip) -> list[str]:
    boxes = [(box.caption, rectangle(box)) for box in strip.boxes]
    labels = [(arc.caption, label_rectangle(arc)) for arc in strip.arcs]
    lines = [
        (f"line of {arc.caption}", (*arc.ends, arc.height - 1, arc.height + 1))
        for arc in strip.arcs
    ]
    pairs = [
        *itertools.combinations(boxes, 2),
        *itertools.combinations(labels, 2),
        *itertools.product(boxes, labels),
        *itertools.product(boxes, lines),
        *((a, b) for i, a in enumerate(labels) for j, b in enumerate(lines) if i != j),
    ]
    return [f"{a} covers {b}" for (a, one), (b, other) in pairs if meet(one, other)]


@settings(max_examples=150, deadline=None)
@given(pictures())
def test_no_caption_covers_another_or_is_crossed_by_a_level_line(drawn):
    text, picture = drawn
    for strip in layout(text, picture):
        assert not _covers(strip)


@settings(max_examples=100, deadline=None)
@given(pictures())
def test_words_stand_apart_in_a_row_and_in_the_text_once(drawn):
    text, picture = drawn
    strips = layout(text, picture)
    for strip in strips:
        seen = sorted((x, x + w.width) for x, w in zip(strip.row.xs, strip.row.words, strict=True))
        assert all(one[1] <= other[0] + EDGE for one, other in itertools.pairwise(seen))
        assert all(x >= 0 for x in strip.row.xs)
    shown = [at for strip in strips for w in strip.row.words for at in range(w.start, w.end)]
    # Blanks are left out, and so is the carriage return before a line feed; all else is shown once.
    assert shown == [at for at, char in enumerate(text) if not char.isspace() or char == "\t"]


@settings(max_examples=100, deadline=None)
@given(pictures())
def test_every_mark_and_every_link_is_drawn(drawn):
    text, picture = drawn
    strips = layout(text, picture)
    assert {b.mark.id for s in strips for b in s.boxes} == {mark.id for mark in picture.marks}
    ends: dict[str, list[bool]] = {}
    for arc in (arc for strip in strips for arc in strip.arcs):
        ends.setdefault(arc.link.id, []).extend(end is not None for end in (arc.source, arc.target))
    # An arc has both ends; a link between two rows has one end in each.
    assert set(ends) == {link.id for link in picture.links}
    assert all(sum(found) == 2 for found in ends.values())


@settings(max_examples=100, deadline=None)
@given(pictures())
def test_rows_share_out_the_text(drawn):
    text, picture = drawn
    rows = [strip.row for strip in layout(text, picture)]
    assert rows[0].start == 0
    assert rows[-1].end == len(text)
    assert all(one.end == other.start for one, other in itertools.pairwise(rows))
    assert [row.line for row in rows if row.opens] == list(range(rows[-1].line + 1))


def test_a_span_stands_above_those_nested_in_it():
    text = "Bank of the United States"
    spans = {"T1": (0, 25), "T2": (12, 25), "T3": (12, 18)}
    marks = tuple(Mark(name, "X", (bounds,), "X") for name, bounds in spans.items())
    (strip,) = layout(text, Picture(marks))
    levels = {box.mark.id: box.level for box in strip.boxes}
    assert levels == {"T3": 0, "T2": 1, "T1": 2}


def test_a_box_stands_over_its_text():
    (strip,) = layout("one two three", Picture((Mark("T1", "L", ((4, 7), (8, 10)), "L"),)))
    (box,) = strip.boxes
    (one, two, three), words = strip.row.xs, strip.row.words
    assert one == 0
    assert box.pieces == ((two, two + words[1].width), (three, three + 2 * COLUMN))


def test_a_wide_caption_moves_the_next_word_away():
    marks = tuple(Mark(f"T{i}", "L", ((2 * i, 2 * i + 1),), "a-long-label") for i in range(3))
    (strip,) = layout("a b c", Picture(marks))
    assert [box.level for box in strip.boxes] == [0, 0, 0]


def test_a_link_between_rows_is_two_stubs_that_name_the_far_end():
    marks = (Mark("T1", "A", ((0, 3),), "A"), Mark("T2", "B", ((4, 7),), "B"))
    first, second = layout("one\ntwo", Picture(marks, (Link("R1", "r", "T1", "T2", "r"),)))
    (out,), (into,) = first.arcs, second.arcs
    assert (out.caption, into.caption) == ("r → two", "one → r")
    assert (out.source is None, out.target is None) == (False, True)
    assert (into.source is None, into.target is None) == (True, False)


def test_a_stub_points_the_way_of_its_far_end():
    text = "a long first line with one in it\na long other line with two in it"
    marks = tuple(
        Mark(word, "A", ((text.index(word), text.index(word) + 3),), "A") for word in ("one", "two")
    )
    first, second = layout(text, Picture(marks, (Link("R1", "r", "one", "two", "r"),)))
    (out,), (into,) = first.arcs, second.arcs
    assert out.source.x < out.free
    assert into.free < into.target.x


def test_a_caption_that_would_hide_the_leg_of_another_arc_stands_above_it():
    text = "far\nadd the buffer to the tube with ice in it"
    bounds = {word: (text.index(word), text.index(word) + len(word)) for word in text.split()}
    marks = tuple(
        Mark(word, "L", (bounds[word],), "L") for word in ("far", "add", "buffer", "tube", "ice")
    )
    links = (
        Link("R0", "r", "add", "buffer", "r"),  # keeps R1 off the lowest line
        Link("R1", "r", "add", "tube", "r"),
        Link("R2", "along-name", "far", "ice", "long-name"),
    )
    _, strip = layout(text, Picture(marks, links))
    arcs = {arc.link.id: arc for arc in strip.arcs}
    leg, caption = arcs["R1"].target.x, arcs["R2"].label
    assert caption[0] < leg < caption[1]
    assert arcs["R2"].height > arcs["R1"].height


def test_the_feet_of_two_arcs_on_one_box_are_apart_and_in_the_order_of_their_targets():
    marks = tuple(Mark(f"T{i}", "Action", ((4 * i, 4 * i + 3),), "Action") for i in range(3))
    links = (Link("R1", "r", "T0", "T1", "r"), Link("R2", "r", "T0", "T2", "r"))
    (strip,) = layout("one two six", Picture(marks, links))
    feet = {arc.link.id: arc.source.x for arc in strip.arcs}
    assert feet["R2"] < feet["R1"]  # the nearer one outside, so that the two do not cross
    heights = {arc.link.id: arc.height for arc in strip.arcs}
    assert heights["R1"] < heights["R2"]
    back = (Link("R1", "r", "T2", "T1", "r"), Link("R2", "r", "T2", "T0", "r"))
    (strip,) = layout("one two six", Picture(marks, back))
    feet = {arc.link.id: arc.source.x for arc in strip.arcs}
    assert feet["R1"] < feet["R2"]


def test_long_lines_are_broken_at_blanks_and_long_words_anywhere():
    text = "word " * 100 + "x" * 250
    rows = [strip.row for strip in layout(text, Picture())]
    assert all(row.width <= ROW for row in rows)
    assert all(columns(word.text) <= 110 for row in rows for word in row.words)
    assert {word.text for row in rows[:4] for word in row.words} == {"word"}


def test_a_span_is_not_torn_apart_where_the_row_can_end_before_it():
    text = "word " * 20 + "some of the lysis buffer here"
    start = text.index("some")
    strips = layout(text, Picture((Mark("T1", "L", ((start, len(text) - 5),), "L"),)))
    assert [len(strip.boxes) for strip in strips] == [0, 1]


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("one two", [0, 1]),
        ("אחת שתיים", [1, 0]),
        ("one אחת שתיים two", [0, 2, 1, 3]),
        ("אחת one two שתיים", [3, 1, 2, 0]),
        ("אחת Windows 11 שתיים", [3, 1, 2, 0]),
        ("אחת 11 שתיים", [2, 1, 0]),
    ],
)
def test_words_are_set_in_the_order_they_are_read(text, order):
    (strip,) = layout(text, Picture())
    xs = strip.row.xs
    assert sorted(range(len(xs)), key=xs.__getitem__) == order


def test_a_span_in_a_word_from_right_to_left_is_at_the_right():
    (strip,) = layout("שלום", Picture((Mark("T1", "L", ((0, 1),), "L"),)))
    (piece,) = strip.boxes[0].pieces
    word = strip.row.xs[0], strip.row.xs[0] + 4 * COLUMN
    assert piece == (word[1] - COLUMN, word[1])


def test_nested_captions_leave_a_way_up_for_arcs():
    text = "United States said"
    marks = (
        Mark("T1", "Adj", ((0, 6),), "Adj"),
        Mark("T2", "Org", ((0, 6),), "Org"),
        Mark("T3", "V", ((14, 18),), "V"),
    )
    (strip,) = layout(text, Picture(marks, (Link("R1", "r", "T1", "T3", "r"),)))
    (arc,) = strip.arcs
    (box,) = (box for box in strip.boxes if box.mark.id == "T2")
    assert arc.source is not None
    assert not box.left < arc.source.x < box.right
    assert arc.source.y == strip.boxes[0].top - CAPTION / 2
