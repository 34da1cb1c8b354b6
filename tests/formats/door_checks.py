"""What the tests of single formats share: damaged samples, real files, drawn documents."""

import random
import time

from spanloom.document import Document, Layer, Normalization, Relation, Span
from spanloom.errors import FormatError

PIECES = [
    *[
        "\t",
        " ",
        "\n",
        "\r\n",
        "\n\n",
        "0",
        "-1",
        "99999999999999999999",
        "\x00",
        "\ud800",
        "\ufeff",
    ],
    *["\u2028", "é", '"', "<", ">", "&", "</", "[", "]", "{", "}", ",", "null", "O", "e1", "<e1>"],
    *["$T$", "[" * 100_000, "<a>" * 10_000, "1e999", "_", "*", "#"],
]


def damaged(rng, text):
    """One random damage of a text."""
    at = rng.randrange(len(text))
    to = min(len(text), at + rng.randrange(1, 12))
    rows = text.splitlines(keepends=True)
    row = rng.randrange(len(rows))
    return rng.choice(
        [
            text[:at] + text[to:],
            text[:at],
            text[:at] + rng.choice(PIECES) + text[at:],
            text[:at] + rng.choice(PIECES) + text[to:],
            "".join([*rows[:row], rows[row], *rows[row:]]),
            "".join([*rows[:row], *rows[row + 1 :]]),
            text[:at] + chr(ord(text[at]) ^ 1 << rng.randrange(7)) + text[at + 1 :],
        ]
    )


def reads_or_refuses(form, times=300, seed=1):
    """Read damaged samples; return how many were read. Nothing but ``FormatError`` may come."""
    rng = random.Random(seed)
    read, refused = 0, []
    for _ in range(times):
        text = form.example
        for _ in range(rng.randrange(1, 4)):
            text = damaged(rng, text) or "\n"
        try:
            found = list(form.loads(text, path="in.x"))
        except FormatError as error:
            refused.append(str(error))
        else:
            read += 1
            form.dumps(found)
            assert len({each.name for each in found}) == len(found)
    assert [each for each in refused if not each.startswith("in.x:") or len(each) > 400] == []
    return read


def same_again(form, text, **options):
    """Check that a text is written as it was read, and that its documents lose nothing."""
    found = list(form.loads(text, **options))
    written = form.dumps(found, **options)
    assert list(form.loads(written, **options)) == found
    chosen = options.get("options", form.options())
    assert {what for each in found[:200] for what in form.count_lost(each, chosen)} == set()
    assert form.sniff(text[:65_536], "any.name")
    return written == text


def written_and_read(form, documents, **options):
    """Write documents and read them; return them and what was lost, by document."""
    again = list(form.loads(form.dumps(documents, **options), **options))
    chosen = options.get("options", form.options())
    return again, [form.count_lost(each, chosen) for each in documents]


def writing_time(form, size):
    """Return the processor seconds of writing as many relations between as many mentions."""
    spans = tuple(Span(f"T{n}", "A", ((n, n + 1),)) for n in range(size))
    relations = tuple(Relation(f"R{n}", "r", "T0", f"T{n}") for n in range(size))
    concepts = tuple(
        Normalization(f"N{n}", "Reference", f"T{n}", "PubTator", str(n), "") for n in range(size)
    )
    layer = Layer("entities", spans, relations, normalizations=concepts)
    document = Document("x" * size, (layer,), "d")
    times = []
    for _ in range(3):
        started = time.process_time()
        assert form.dumps([document]).count("r") >= size
        times.append(time.process_time() - started)
    return min(times)
