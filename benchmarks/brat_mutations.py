"""Predictions added to brat files in any state: no byte of theirs changes, and twice is once.

    python benchmarks/brat_mutations.py [FOLDER…] [--cases 100000] [--seed 1] [--json FILE]

FOLDERs hold the .txt and .ann files to begin with (default: those of the tests, and the golden ones
where SPANLOOM_GOLDEN names them). A case is a piece of such a document, its line ends and its
annotation damaged at random, and a prediction made up at random: spans anywhere, over line breaks
too, relations, events, attributes, normalizations, notes and equivalences, in the file's own types
and others, some of them copied from what is there. It is added twice by ``formats.brat.append`` to
files in ``--scratch``. Then

* the file must begin with all bytes that it held, and no other file may have changed;
* the second time must add nothing;
* reading must find all that was said before and all that was predicted, and nothing else, as
  ``document.content`` tells it: what an old line says must not change, nor become valid.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from spanloom.annotation.comparable import comparable
from spanloom.document import (
    MAIN,
    Argument,
    Attribute,
    Document,
    Equivalence,
    Event,
    Layer,
    Normalization,
    Note,
    Relation,
    Span,
)
from spanloom.errors import FormatError
from spanloom.formats.brat import read
from spanloom.formats.brat.append import append
from spanloom.glad.speed import processor
from spanloom.model.merge_predictions import merge_predictions

FIXTURES = Path(__file__).parents[1] / "tests" / "formats" / "fixtures" / "brat"
PIECES = ["\t", " ", "\n", "\r", "\r\n", ";", ":", "#", "*", "0", "9", "-1", "T1", "E1", "R1"]
PIECES += ["\ufeff", "\u2028", "\x85", "\x00", "😀", "é", "_x20_", "__", "99999999999999999999"]
PIECES += ["A9\tNegation T7\n", "#9\tAnnotatorNotes T3\tlost\n", "R8\tRel Arg1:T4 Arg2:E5\n"]
PIECES += ["E9\tX:T6 A:E4\n", "N1\tReference T5 a:b\tc\n", "*\tEquiv T1 T2\n", "T8\tP 0 1"]
BYTES = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x80"]
LABELS = ["P", "Q", "Go", "a b", "x__y", "É", "nsubj:pass", "_"]


def main() -> None:
    """Run the cases, print what became of them, save it; stop at the first that fails."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("folders", type=Path, nargs="*")
    arguments.add_argument("--cases", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--scratch", type=Path, help="a folder in memory is quickest")
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    golden = os.environ.get("SPANLOOM_GOLDEN")
    folders = options.folders or [FIXTURES, *([Path(golden, "brat")] if golden else [])]
    sources = [source for folder in folders for source in _sources(folder)]
    began, outcomes = time.process_time(), Counter[str]()
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        for number in range(options.cases):
            rng = random.Random(f"{options.seed} {number}")
            text, ann = _damaged(rng, *rng.choice(sources))
            try:
                outcomes.update(_checked(rng, Path(scratch), text, ann))
            except Exception as error:
                error.add_note(f"case {number} of seed {options.seed}: {text!r} {ann!r}")
                raise
    result = {
        "processor": processor(),
        "cases": options.cases,
        "seed": options.seed,
        "documents": len(sources),
        "cpu_seconds": round(time.process_time() - began, 1),
        **dict(sorted(outcomes.items())),
    }
    sys.stdout.write(json.dumps(result, indent=1) + "\n")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _checked(rng: random.Random, root: Path, text: bytes, ann: bytes | None) -> Counter[str]:
    """Add a made-up prediction twice; ``AssertionError`` where a promise is broken."""
    for path in root.iterdir():
        path.unlink()
    (root / "a.txt").write_bytes(text)
    if ann is not None:
        (root / "a.ann").write_bytes(ann)
    before = _bytes(root)
    try:
        old = read.load(root / "a.txt").document
    except FormatError:
        return Counter({"not_utf8_left_alone": 1})
    predicted, plain = _prediction(rng, old)
    merge = partial(merge_predictions, predicted=predicted, plain=plain)
    count = append(root, "a", merge)
    after = _bytes(root)
    grown = after.get("a.ann", b"")
    _must(grown.startswith(ann or b""), "a byte was changed")
    _must({**after, "a.ann": b""} == {**before, "a.ann": b""}, "another file was changed")
    _must((count > 0) == (grown != (ann or b"")), "the count is wrong")
    reading = read.load(root / "a.txt")
    new_lines = [line for line in reading.document.source.lines if line.file == ".ann"][-count:]
    _must(not count or all(line.annotation for line in new_lines), "an added line is not read")
    _must(append(root, "a", merge) == 0, "the second time added something")
    _must(_bytes(root) == after, "the second time changed something")
    _same_said(old, predicted, reading.document, plain)
    counts = Counter({"annotations_added": count, "with_something_added": int(count > 0)})
    counts["with_damaged_lines"] = int(bool(reading.problems))
    return counts


def _same_said(old: Document, predicted: Document, after: Document, plain: str | None) -> None:
    """The file says what it said and what was predicted, and nothing more."""
    twin = {plain: MAIN}
    was, new, now = (_said(document, twin) for document in (old, predicted, after))
    _must(now == was | new, f"said: lost {(was | new) - now}, out of nowhere {now - (was | new)}")
    groups = (_groups(document, twin) for document in (old, predicted, after))
    first, second, both = groups
    _must(_united([*first, *second]) == _united(both), "equivalences differ")


def _said(document: Document, twin: dict[str | None, str]) -> set[tuple[str, str]]:
    """All that is said, apart from ids and equivalences, spans cut at line breaks."""
    layers_without_groups = [
        replace(
            layer,
            spans=tuple(_cut(content, document.text) for content in layer.spans),
            equivalences=(),
        )
        for layer in document.layers
    ]
    layers = comparable(replace(document, layers=tuple(layers_without_groups)))[3]
    return {(twin.get(name, name), content) for name, contents in layers for content in contents}


def _cut(span: Span, text: str) -> Span:
    """A span without line breaks, character by character; one of nothing else stays."""
    pieces: list[tuple[int, int]] = []
    for start, end in span.fragments:
        pieces += [(start, end)] if start == end else []
        joins = False
        for offset in range(start, end):
            breaks = text[offset] in "\r\n"
            if joins and not breaks:
                pieces[-1] = (pieces[-1][0], offset + 1)
            elif not breaks:
                pieces.append((offset, offset + 1))
            joins = not breaks
    return replace(span, fragments=tuple(pieces) or span.fragments)


def _groups(document: Document, twin: dict[str | None, str]) -> list[set[Any]]:
    """Equivalences as sets of what their members say."""
    groups = [
        (layer.name, equivalence) for layer in document.layers for equivalence in layer.equivalences
    ]
    probes = {member: f"\0{member}" for _, group in groups for member in group.members}
    probed = [
        replace(layer, spans=tuple(_cut(equivalence, document.text) for equivalence in layer.spans))
        for layer in document.layers
    ]
    probed += [
        Layer(key, notes=(Note(key, "probe", equivalence),)) for equivalence, key in probes.items()
    ]
    contents = dict(comparable(replace(document, layers=tuple(probed)))[3]) if probes else {}
    return [
        {
            (twin.get(name, name), group.label, contents[probes[equivalence]])
            for equivalence in group.members
        }
        for name, group in groups
    ]


def _united(groups: Iterable[set[Any]]) -> set[frozenset[Any]]:
    done: list[set[Any]] = []
    for group in groups:
        merged = set(group)
        for overlapping in [group_ids for group_ids in done if group_ids & merged]:
            done.remove(overlapping)
            merged |= overlapping
        done.append(merged)
    return {frozenset(group_ids) for group_ids in done if group_ids}


def _prediction(rng: random.Random, old: Document) -> tuple[Document, str | None]:
    """A prediction for the text, and the name of its layer if it counts as the main one."""
    names = rng.choice([[MAIN], ["x"], ["x"], [MAIN, "x"], ["x", "y z"]])
    plain = "x" if names == ["x"] and rng.random() < 0.7 else None
    numbers = iter(range(1, 10_000))
    old_layers = {layer.name: layer for layer in old.layers}
    layers = []
    for name in names:
        like = old_layers.get(name) or old_layers.get(MAIN) or Layer(name)
        layers.append(_layer(rng, name, like, old.text, numbers))
    return Document(old.text, tuple(layers), old.name), plain


def _layer(rng: random.Random, name: str, like: Layer, text: str, numbers: Iterator[int]) -> Layer:
    """A layer of all kinds of annotation, some of them copied from one that is there."""
    copies = {
        span.id: replace(span, id=f"T{next(numbers)}") for span in like.spans if rng.random() < 0.7
    }
    labels = [*LABELS, *(span.label for span in like.spans)]
    spans = [*copies.values()]
    for _ in range(rng.randrange(5)):
        spans.append(Span(f"T{next(numbers)}", rng.choice(labels), _fragments(rng, text)))
    rng.shuffle(spans)
    relations = [
        replace(
            relation,
            id=f"R{next(numbers)}",
            head=copies[relation.head].id,
            tail=copies[relation.tail].id,
        )
        for relation in like.relations
        if relation.head in copies and relation.tail in copies
    ]
    if not spans:
        return Layer(name)
    targets, events = [span.id for span in spans], []
    for _ in range(rng.randrange(3)):
        trigger = rng.choice(spans)
        filled = [Argument(rng.choice(["Theme", "a b"]), t) for t in _some(rng, targets)]
        events.append(Event(f"E{next(numbers)}", trigger.label, trigger.id, tuple(filled)))
        targets.append(events[-1].id)
    for _ in range(rng.randrange(3)):
        head, tail = rng.choices(targets, k=2)
        roles = rng.choice([("Arg1", "Arg2"), ("é:", "Arg2")])
        relations.append(Relation(f"R{next(numbers)}", "rel", head, tail, roles))
    targets += [relation.id for relation in relations]
    odd = ["v", "", "two words", " a\tb ", "x\r\ny", "_x20_"]
    return Layer(
        name,
        tuple(spans),
        tuple(relations),
        tuple(events),
        tuple(
            Attribute(f"A{next(numbers)}", "Sure", target, rng.choice([None, *odd]))
            for target in _some(rng, targets)
        ),
        tuple(
            Normalization(
                f"N{next(numbers)}", "Reference", target, "GO", "G O:1", *_some(rng, odd)[:1]
            )
            for target in _some(rng, targets)
        ),
        tuple(
            Note(f"#{next(numbers)}", "AnnotatorNotes", target, rng.choice(odd))
            for target in _some(rng, [*targets, "T7777"])
        ),
        tuple(
            Equivalence(f"*{next(numbers)}", "Equiv", tuple(rng.choices(targets, k=2)))
            for _ in range(rng.randrange(3))
        ),
    )


def _some(rng: random.Random, items: Sequence[Any]) -> list[Any]:
    return rng.sample(items, min(len(items), rng.randrange(3)))


def _fragments(rng: random.Random, text: str) -> tuple[tuple[int, int], ...]:
    """One or two fragments anywhere, now and then across a line break; none halves a CRLF."""
    breaks = [border for border, char in enumerate(text) if char in "\r\n"] or [0]
    if rng.random() < 0.4:
        border = rng.choice(breaks)
        borders = [max(0, border - rng.randrange(8)), min(len(text), border + rng.randrange(8))]
    else:
        borders = sorted(rng.randrange(len(text) + 1) for _ in range(rng.choice([2, 2, 4])))
    borders = [border - (text[border - 1 : border + 1] == "\r\n") for border in borders]
    return tuple(zip(borders[::2], borders[1::2], strict=True))


def _damaged(rng: random.Random, text: str, ann: str) -> tuple[bytes, bytes | None]:
    """The bytes of a text and of a piece of its annotation, both damaged."""
    lines = ann.splitlines(keepends=True)
    first = rng.randrange(max(1, len(lines) - 11))
    ann = "".join(lines[first : first + 12])
    if rng.random() < 0.1:
        text = text.replace("\n", "\r\n")
    if rng.random() < 0.2:
        text = text.replace(" ", rng.choice(["\n", "\r\n", "\n\n"]), rng.randrange(40))
    if rng.random() < 0.15:
        ann = ann.replace("\n", rng.choice(["\r\n", "\r"]))
    for _ in range(rng.randrange(5)):
        ann = _mutated(rng, ann)
    data = ann.encode()
    if rng.random() < 0.02:
        offset = rng.randrange(len(data) + 1)
        data = data[:offset] + rng.choice(BYTES) + data[offset:]
    return text.encode(), None if rng.random() < 0.02 else data


def _mutated(rng: random.Random, text: str) -> str:
    """One random damage."""
    offset = rng.randrange(len(text) + 1)
    to = min(len(text), offset + rng.randrange(1, 12))
    lines = text.splitlines(keepends=True) or [""]
    line = rng.randrange(len(lines))
    target = rng.randrange(len(text) + 1)
    return rng.choice(
        [
            text[:offset] + text[to:],
            text[:offset] + rng.choice(PIECES) + text[offset:],
            text[:offset] + rng.choice(PIECES) + text[to:],
            text[:offset],
            "".join(lines[:line] + lines[line + 1 :]),
            "".join(lines[: line + 1] + lines[line:]),
            "".join(rng.sample(lines, len(lines))),
            text[:offset] + text[target : target + 20] + text[offset:],
            text.rstrip("\r\n"),
            text.replace(rng.choice([" ", "\t", ":", ";", "\n"]), rng.choice(PIECES), 1),
        ]
    )


def _sources(root: Path) -> list[tuple[str, str]]:
    """The documents of a folder, long ones left out."""
    pairs = [(path.with_suffix(".txt"), path) for path in sorted(root.rglob("*.ann"))]
    both = [(text.read_bytes().decode(), ann.read_bytes().decode()) for text, ann in pairs]
    return [(text, ann) for text, ann in both if len(text) < 3000]


def _bytes(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.iterdir()}


def _must(holds: bool, problem: str) -> None:
    if not holds:
        raise AssertionError(problem)


if __name__ == "__main__":
    main()
