"""Damaged files: whatever is in them, reading neither fails nor hangs, and nothing is lost."""

import random
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from spanloom.annotation.comparable import comparable
from spanloom.errors import FormatError
from spanloom.formats._text import decode_text
from spanloom.formats.brat import read, write

FIXTURES = Path(__file__).parent / "fixtures" / "brat"
PIECES = [
    *[
        "\t",
        " ",
        "\n",
        "\r",
        "\r\n",
        ";",
        ":",
        "#",
        "*",
        "0",
        "9",
        "-1",
        "T1",
        "E1",
        "R1",
        "\ufeff",
    ],
    *["\u2028", "\x85", "\x00", "😀", "é", "_x20_", "__", "99999999999999999999", "Equiv T1 T2"],
    *["E1\tX:T1 A:E1\n", "#1\tN #1\tx\n", "M1\tX T1\n", "N1\tR T1 a:b\tc\n", "*\tE T1 T2\n"],
]
BYTES = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f", b"\xfe\xff", b"\x80"]


def _mutated(rng, text):
    """One random damage."""
    if not text:
        return rng.choice(PIECES)
    at = rng.randrange(len(text))
    to = min(len(text), at + rng.randrange(1, 12))
    lines = text.splitlines(keepends=True)
    line = rng.randrange(len(lines))
    match rng.randrange(9):
        case 0:
            return text[:at] + text[to:]
        case 1:
            return text[:at] + rng.choice(PIECES) + text[at:]
        case 2:
            return text[:at] + rng.choice(PIECES) + text[to:]
        case 3:
            return text[:at]
        case 4:
            return "".join(lines[:line] + [lines[line]] + lines[line:])
        case 5:
            return "".join(rng.sample(lines, len(lines)))
        case 6:
            other = rng.randrange(len(text))
            return text[:at] + text[other : other + 20] + text[at:]
        case 7:
            digits = [i for i, char in enumerate(text) if char.isdigit()] or [at]
            at = rng.choice(digits)
            return text[:at] + rng.choice("0123456789") + text[at + 1 :]
    return text.replace(rng.choice([" ", "\t", ":", ";", "\n"]), rng.choice(PIECES), 1)


def _case(rng, text, ann):
    """Damaged bytes of a text and of (a part of) its annotation."""
    lines = ann.splitlines(keepends=True)
    if len(lines) > 12:
        first = rng.randrange(len(lines) - 11)
        ann = "".join(lines[first : first + 12])
    for _ in range(rng.randrange(1, 5)):
        ann = _mutated(rng, ann)
    if rng.random() < 0.2:
        text = _mutated(rng, text)
    both = [text.encode(), ann.encode()]
    if rng.random() < 0.02:
        which = rng.randrange(2)
        at = rng.randrange(len(both[which]) + 1)
        both[which] = both[which][:at] + rng.choice(BYTES) + both[which][at:]
    return both


def _check(text, ann):
    """Read and write; returns how it went."""
    try:
        parts = {".ann": decode_text(ann, "a.ann")}
        reading = read.loads_parts(decode_text(text, "a.txt"), parts, name="a")
    except FormatError as error:
        return "undecodable" if "is not utf-8" in error.problem else f"unexpected: {error}"
    document = reading.document
    assert write.parts(document) == parts
    assert write.text_file(document).encode() == text
    silent = [line.raw for line in document.source.lines if line.annotation is None]
    lonely = sum(bool(raw.strip(" \t\r")) and raw != "\ufeff" for raw in silent)
    assert lonely == sum(each.kept for each in reading.problems)
    again = _written_anew(document)
    once = again.document
    assert not any(each.kept for each in again.problems)
    if not set(document.text) & {"\n", "\r"}:
        assert comparable(once) == comparable(document)
    assert len(once.annotations()) == len(document.annotations())
    thrice = _written_anew(once)
    assert comparable(thrice.document) == comparable(once)
    return "with problems" if reading.problems else "clean"


def _written_anew(document):
    """Write a document as if it came from no file, and read it again."""
    bare = replace(document, source=None)
    return read.loads_parts(write.text_file(bare), write.parts(bare), name="a")


def _run(seed, cases, sources):
    rng = random.Random(seed)
    outcomes = Counter()
    slowest = 0.0
    for number in range(cases):
        text, ann = _case(rng, *rng.choice(sources))
        began = time.process_time()
        try:
            outcomes[_check(text, ann)] += 1
        except Exception as error:
            error.add_note(f"case {number}: {text!r} {ann!r}")
            raise
        slowest = max(slowest, time.process_time() - began)
    assert slowest < 1
    assert set(outcomes) == {"clean", "with problems", "undecodable"}
    return outcomes


def _sources(root):
    names = sorted(path.with_suffix("") for path in root.rglob("*.ann"))
    pairs = [(f"{name}.txt", f"{name}.ann") for name in names]
    read_both = [(_text(text), _text(ann)) for text, ann in pairs]
    return [(text[:600], ann) for text, ann in read_both if len(text) < 3000]


def _text(path):
    return Path(path).read_bytes().decode()


def test_damaged_fixtures_lose_nothing():
    _run(1, 300, _sources(FIXTURES))


@pytest.mark.slow
def test_a_hundred_thousand_damaged_golden_files_lose_nothing(golden, capsys):
    sources = _sources(golden("brat"))
    outcomes = _run(2, 100_000, sources)
    with capsys.disabled():
        sys.stdout.write(f"\ndamaged inputs: {outcomes.total()}, {dict(outcomes)}\n")
    golden.count(len(sources))
