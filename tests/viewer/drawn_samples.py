"""Documents that are hard to draw: every shape of layer, every kind of letter, hostile strings."""

from itertools import combinations, islice

from spanloom.document import (
    Argument,
    Attribute,
    Document,
    Event,
    Layer,
    Note,
    Relation,
    Span,
)

_HOSTILE = (
    "</script><img src=x onerror=window.hurt=1>",
    "<script>window.hurt=2</script>",
    "<!--",
    "<!--<script>",
    "-->",
    "]]>",
    "</noscript><img src=x onerror=window.hurt=3>",
    "</title></style><svg onload=window.hurt=4>",
    "\"><img src='https://example.com/x' onerror='window.hurt=5'>",
    "javascript:window.hurt=6",
    "__proto__",
    "constructor",
    "toString",
    "\\u003cimg\\u003e",
    "\\",
    "&lt;&amp;&#0;",
    "${window.hurt=7}",
    "'-alert(1)-'",
    "{{7*7}}",
    "\u2028window.hurt=8\u2029",
    "\ud800",
    "\udfff lone",
    "\u202eright to left\u202c",
    "\u2066\u2069\u200f",
    "\ufeff\ufffe\uffff",
    "\x00\x01\x1b[31m",
    "a\rb\x0b\x0c\x85",
    "😀" * 3,
    "url(https://example.com/y)",
    "@import 'https://example.com/z'",
)
_PAIRS = ("".join(pair) for pair in combinations(_HOSTILE, 2))
HOSTILE = (*_HOSTILE, *islice(_PAIRS, 100 - len(_HOSTILE)))


def spans(text: str, *labelled: tuple[str, str], prefix: str = "T") -> tuple[Span, ...]:
    """Return a span for every label and piece of the text; pieces are searched left to right."""
    result, start = [], 0
    for number, (label, piece) in enumerate(labelled, 1):
        start = text.index(piece, start)
        result.append(Span(f"{prefix}{number}", label, ((start, start + len(piece)),)))
    return tuple(result)


def relations(prefix: str, table: str, first: int) -> tuple[Relation, ...]:
    """Return relations of a table, such as ``in T1 T2 | when T1 T3``, numbered from ``first``."""
    rows = (row.split() for row in table.split("|"))
    return tuple(Relation(f"{prefix}{number}", *row) for number, row in enumerate(rows, first))


def labelled(table: str) -> list[tuple[str, str]]:
    """Return labels and pieces of a table, such as ``Person Ada | Place New York``."""
    label_and_piece = (row.strip().partition(" ") for row in table.split("|"))
    return [(label, piece) for label, _, piece in label_and_piece]


def nested() -> Document:
    text = "The Bank of the United States of America said no ."
    found = (
        Span("T1", "Organization", ((4, 40),), 0.91),
        Span("T2", "Country", ((16, 40),), 0.72),
        Span("T3", "Adjective", ((16, 22),), 0.33),
        Span("T4", "Speech", ((41, 45), (46, 48)), 0.55),
    )
    links = (Relation("R1", "speaker", "T4", "T1", score=0.8), Relation("R2", "in", "T1", "T2"))
    notes = (Note("#1", "AnnotatorNotes", "T1", "founded 1791"),)
    return Document(text, (Layer("main", found, links, notes=notes),), "nested")


def discontinuous() -> Document:
    text = "Pains in the left and right arm, and he turned the old radio off again."
    found = (
        Span("T1", "Symptom", ((0, 17), (28, 31))),
        Span("T2", "Symptom", ((0, 12), (22, 31))),
        Span("T3", "Verb", ((40, 46), (61, 64))),
        Span("T4", "Device", ((47, 60),)),
    )
    attributes = (Attribute("A1", "Negated", "T2"), Attribute("A2", "Side", "T1", "left"))
    event = Event("E1", "Verb", "T3", (Argument("Theme", "T4"),))
    return Document(
        text, (Layer("main", found, events=(event,), attributes=attributes),), "gaps & events"
    )


def right_to_left() -> Document:
    text = "قابلت ليلى صديقها في القاهرة عام 2011 .\nדני פגש את Bob Smith בתל אביב אתמול ."
    table = (
        "Person ليلى | Place القاهرة | Date 2011 | Person דני | Person Bob Smith | Place תל אביב"
    )
    links = relations("R", "in T1 T2 | when T1 T3 | met T4 T5 | same T1 T4", 1)
    return Document(text, (Layer("main", spans(text, *labelled(table)), links),), "right to left")


def letters() -> Document:
    text = "👩‍🔬 met 👨‍👩‍👧‍👦 in Zu\u0308rich 🇨🇭 with cafe\u0301 👍🏽 and नमस्ते 한국어 漢字カナ ."
    table = (
        "Emoji 👩‍🔬 | Emoji 👨‍👩‍👧‍👦 | Place Zu\u0308rich | Flag 🇨🇭 | Noun cafe\u0301 |"
        "Emoji 👍🏽 | Word नमस्ते | Language 한국어 | Script 漢字 | Script カナ"
    )
    links = relations("R", "met T1 T2", 1)
    return Document(text, (Layer("main", spans(text, *labelled(table)), links),), "letters")


def long() -> Document:
    text = "word " * 60 + "x" * 10_000 + " end\n\n" + "a short line"
    end = text.index(" end")
    words = (
        Span("T1", "Far", ((0, 4),)),
        Span("T2", "Long", ((end - 10_000, end),)),
        Span("T3", "Near", ((250, 254),)),
        Span("T4", "Late", ((len(text) - 4, len(text)),)),
        Span("T5", "Mid", ((100, 104),)),
    )
    links = relations("R", "next T1 T5 | over T1 T3 | to T3 T2 | line T1 T4", 0)
    return Document(text, (Layer("main", words, links),), "long")


SENTENCE = "John works for Orbis in the old town of Rome and Mary has a red cat ."
HEADS = (2, 0, 4, 2, 8, 8, 8, 2, 10, 8, 13, 13, 2, 16, 16, 13, 2)
DEPRELS = (
    *("nsubj", "root", "case", "obl", "case", "det", "amod", "obl", "case", "nmod"),
    *("cc", "nsubj", "conj", "det", "amod", "obj", "punct"),
)


def word_spans(text: str, prefix: str) -> list[Span]:
    """Return a span per word."""
    words, start = [], 0
    for number, word in enumerate(text.split(), 1):
        start = text.index(word, start)
        words.append(Span(f"{prefix}{number}", "word", ((start, start + len(word)),)))
        start += len(word)
    return words


def dependency(heads=HEADS, labels=DEPRELS) -> Layer:
    words = word_spans(SENTENCE, "d")
    links = [
        Relation(f"D{at}", label, f"d{head or at}", f"d{at}")
        for at, (head, label) in enumerate(zip(heads, labels, strict=True), 1)
    ]
    return Layer("dependency", tuple(words), tuple(links))


def constituents() -> Layer:
    table = (
        "S 0 17 | S 0 11 | NP 0 1 | VP 1 11 | PP 2 4 | NP 3 4 | PP 4 10 | NP 5 10 | NP 5 8 |"
        "PP 8 10 | NP 9 10 | S 11 16 | NP 11 12 | VP 12 16 | NP 13 16"
    )
    words = word_spans(SENTENCE, "w")
    brackets = []
    for number, row in enumerate(table.split("|")):
        label, first, last = row.split()
        bounds = words[int(first)].start, words[int(last) - 1].end
        brackets.append(Span(f"c{number}", label, (bounds,)))
    return Layer("constituency", tuple(brackets))


def parsed() -> Document:
    return Document(SENTENCE, (dependency(), constituents()), "parsed")


def crowded(heads=HEADS) -> Document:
    """Return a sentence with five layers; three of them mark nearly every word."""
    text = SENTENCE
    tags = Layer("tags", tuple(word_spans(text, "t")))
    names = Layer("names", spans(text, ("Person", "John"), ("Place", "Rome"), prefix="n"))
    things = spans(text, ("Group", "Orbis"), ("Animal", "a red cat"), prefix="o")
    related = Layer("relations", things, relations("R", "has o1 o2", 1))
    return Document(text, (tags, dependency(heads), constituents(), names, related), "crowded")


def coreference() -> Document:
    text = "Ada met Bob and his sister .\nShe saw him with her .\nBob slept ."
    pieces = [("mention", word) for word in "Ada Bob his She him her Bob".split()]
    mentions = (*spans(text, *pieces, prefix="m"), Span("m8", "mention", ((16, 26),)))
    table = "coref m4 m1 | coref m3 m2 | coref m5 m3 | coref m7 m5 | coref m6 m8"
    layer = Layer("coreference", mentions, relations("C", table, 0))
    return Document(text, (layer,), "coreference")


def tuples() -> Document:
    text = "Ada sold the old house to Bob in May , and he painted it ."
    table = (
        "argument Ada | sell.01 sold | argument the old house | argument to Bob | argument in May |"
        "argument he | paint.01 painted | argument it"
    )
    roles = "ARG0 s2 s1 | ARG1 s2 s3 | ARG2 s2 s4 | ARGM-TMP s2 s5 | ARG0 s7 s6 | ARG1 s7 s8"
    arguments = spans(text, *labelled(table), prefix="s")
    return Document(text, (Layer("srl", arguments, relations("S", roles, 0)),), "roles")


def hostile() -> list[Document]:
    """Return documents whose texts, labels, notes, ids, names and layers are hostile."""
    documents = []
    for at, nasty in enumerate(HOSTILE):
        layer = Layer(
            f"layer {at} {nasty}",
            (Span(f"T1{nasty}", nasty, ((0, len(nasty)),), 0.5), Span("T2", "B", ((0, 0),))),
            (Relation(nasty, nasty, f"T1{nasty}", "T2"),),
            attributes=(Attribute("A1", nasty, "T2", nasty), Attribute("A2", nasty, "T9")),
            notes=(Note(f"#{nasty}", nasty, "T2", nasty),),
        )
        documents.append(Document(nasty, (layer,), f"{nasty} {at}"))
    return documents


def empty() -> Document:
    return Document("", (Layer("main", (Span("T1", "Empty", ((0, 0),)),)),), "empty")


def many(sentences: int = 500) -> Document:
    """Return sentences with nested spans, relations and scores."""
    line = "Add 250 ml of Genomic Lysis Buffer to the tube and invert it 10 times\n"
    pieces = (("Action", 0, 3), ("Amount", 4, 10), ("Reagent", 14, 34), ("Name", 14, 27))
    pieces += (("Location", 38, 46), ("Action", 51, 57), ("Count", 61, 69))
    links = (("Acts-on", 0, 2), ("Measure", 2, 1), ("Site", 0, 4), ("Count", 5, 6))
    found, related = [], []
    for number in range(sentences):
        start = number * len(line)
        for at, (label, first, last) in enumerate(pieces):
            score = (number * 7 + at) % 100 / 100
            name = f"T{number * len(pieces) + at}"
            found.append(Span(name, label, ((start + first, start + last),), score))
        for at, (label, head, tail) in enumerate(links):
            ends = (f"T{number * len(pieces) + end}" for end in (head, tail))
            related.append(Relation(f"R{number * len(links) + at}", label, *ends))
    return Document(line * sentences, (Layer("main", tuple(found), tuple(related)),), "many")


def compared() -> tuple[list[Document], list[Document]]:
    """Return gold and predicted documents with every kind of difference."""
    text = f"{SENTENCE}\nAll is well .\nAdd the buffer and wait ."
    gold = Layer(
        "main",
        spans(text, ("Person", "John"), ("Group", "Orbis"), ("Place", "the old town of Rome"))
        + spans(text, ("Action", "Add"), ("Reagent", "buffer"), ("Action", "wait"), prefix="U"),
        (Relation("R1", "works", "T1", "T2"), Relation("R2", "acts", "U1", "U2")),
    )
    guess = Layer(
        "main",
        spans(text, ("Person", "John"), ("Place", "Orbis"), ("Place", "Rome"))
        + spans(text, ("Action", "Add"), ("Reagent", "buffer"), ("Time", "."), prefix="U"),
        (Relation("R1", "works", "T1", "T2"), Relation("R2", "uses", "U1", "U2")),
    )
    wrong = dependency((*HEADS[:7], 4, *HEADS[8:]), (*DEPRELS[:7], "nmod", *DEPRELS[8:]))
    one = Document(text, (gold, dependency()), "one")
    other = Document(text, (guess, wrong), "one")
    return [one, right_to_left()], [other, right_to_left()]


def every() -> list[Document]:
    return [
        nested(),
        discontinuous(),
        parsed(),
        coreference(),
        tuples(),
        right_to_left(),
        letters(),
        long(),
        empty(),
    ]
