"""Hypothesis documents: every kind of annotation, any characters, several layers."""

from hypothesis import strategies as st

from spanloom.document import (
    BLANKS,
    MAIN,
    Argument,
    Attribute,
    Document,
    Equivalence,
    Event,
    Layer,
    Normalization,
    Note,
    Query,
    Relation,
    Span,
)

TRICKY = [
    "_",
    "__",
    "_x20_",
    "_x_",
    "a__b",
    "main",
    " ",
    "\t",
    "\n",
    "\r",
    "é",
    "😀",
    "\u2028",
    ":",
]
WORDS = st.one_of(
    st.sampled_from(["Person", "nsubj:pass", "_x5f_", "a_b", "B-PER", "_x110000_", ""]),
    st.lists(st.sampled_from(TRICKY), max_size=4).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
LABELS = WORDS.filter(lambda word: word.strip(BLANKS))
ASKED = st.one_of(
    st.sampled_from(["T1", "Q1", "layer", "\ufeff", "\\", "\\n", " a ", "a\r", "meta\tx\ny"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
).filter(str.strip)
QUERIES = st.lists(st.builds(Query, ASKED, ASKED), max_size=3, unique_by=lambda each: each.id)
TEXTS = st.lists(
    st.sampled_from(["ab", " ", "\n", "\r\n", "\t", "😀", "é", "\u2028", "\x85", "x"]), max_size=12
).map("".join)


def _unique(prefix, items):
    return [(f"{prefix}{number}", item) for number, item in enumerate(items, start=1)]


@st.composite
def fragments(draw, text, *, lines):
    """Fragments without overlap, in any order; ``lines``: none goes over a line break."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=6)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    if lines:
        pairs = [(a, b) for a, b in pairs if not set(text[a:b]) & {"\n", "\r"}]
    return tuple(draw(st.permutations(pairs))) or ((0, 0),)


@st.composite
def documents(draw, *, lines=True, scores=False):
    """A document in the order brat gives it: the main layer first, equivalences by number."""
    text = draw(TEXTS)
    names = draw(st.lists(WORDS.filter(lambda name: name != MAIN), max_size=2, unique=True))
    names = [MAIN, *sorted({*names, *draw(st.sets(st.sampled_from(["words", "sentences"])))})]
    number = st.floats(allow_nan=False, allow_infinity=False)
    score = number | st.none() if scores else st.none()
    where = st.sampled_from(names)
    spans = [
        (Span(key, draw(LABELS), draw(fragments(text, lines=lines)), draw(score)), draw(where))
        for key, _ in _unique("T", range(draw(st.integers(0, 4))))
    ]
    found = list(spans)
    if spans:
        found += _connected(draw, spans, where, score)
    return Document(
        text,
        tuple(_layer(name, [each for each, layer in found if layer == name]) for name in names),
        draw(WORDS),
        tuple(draw(st.lists(st.tuples(WORDS, WORDS), max_size=2, unique=True))),
        tuple(draw(QUERIES)),
    )


def _connected(draw, spans, where, score):
    triggers = st.sampled_from(spans)
    targets = [each.id for each, _ in spans]
    events = []
    count = draw(st.integers(0, 3))
    targets += [f"E{number}" for number in range(1, count + 1)]
    target = st.sampled_from(targets)
    for key, _ in _unique("E", range(count)):
        trigger, layer = draw(triggers)
        filled = tuple(draw(st.lists(st.builds(Argument, WORDS, target), max_size=3)))
        events.append((Event(key, trigger.label, trigger.id, filled, draw(score)), layer))
    roles = st.one_of(
        st.just(("Arg1", "Arg2")), st.tuples(WORDS, WORDS).filter(lambda pair: pair[0] != pair[1])
    )
    relations = [
        (
            Relation(key, draw(LABELS), draw(target), draw(target), draw(roles), draw(score)),
            draw(where),
        )
        for key, _ in _unique("R", range(draw(st.integers(0, 2))))
    ]
    targets += [each.id for each, _ in relations]
    target = st.sampled_from(targets)
    others = [
        (
            Attribute(key, draw(LABELS), draw(target), draw(WORDS | st.none()), draw(score)),
            draw(where),
        )
        for key, _ in _unique("A", range(draw(st.integers(0, 2))))
    ]
    others += [
        (
            Normalization(key, *(draw(each) for each in (LABELS, target, WORDS, WORDS, WORDS))),
            draw(where),
        )
        for key, _ in _unique("N", range(draw(st.integers(0, 2))))
    ]
    about = st.sampled_from([*targets, "#1", "#2", "T99"])
    others += [
        (Note(key, draw(LABELS), draw(about), draw(WORDS)), draw(where))
        for key, _ in _unique("#", range(draw(st.integers(0, 2))))
    ]
    return events + relations + others + _equivalences(draw, targets, where)


def _equivalences(draw, targets, where):
    """Groups that share no member, for those that do are one."""
    free = draw(st.permutations(targets))
    cut = draw(st.integers(0, len(free)))
    groups = [tuple(each) for each in (free[:cut], free[cut:]) if each and draw(st.booleans())]
    apart = ("words", "sentences")  # their file is read last, and numbers go by place
    layers = [draw(where.filter(lambda name: name not in apart)) for _ in groups]
    layers.sort(key=lambda name: (name != MAIN, name))
    return [
        (Equivalence(key, draw(LABELS), group), layer)
        for (key, group), layer in zip(_unique("*", groups), layers, strict=True)
    ]


def _layer(name, found):
    kinds = (Span, Relation, Event, Attribute, Normalization, Note, Equivalence)
    return Layer(name, *(tuple(each for each in found if isinstance(each, kind)) for kind in kinds))
