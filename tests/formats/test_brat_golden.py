"""Every golden document says what brat's own parser says of it, and is written back unchanged.

Where the list of edge cases (rows) decides otherwise than brat's parser, ``OVERRULED`` says so.
"""

import json
from dataclasses import replace

import pytest

from spanloom.annotation.comparable import comparable
from spanloom.document import MAIN
from spanloom.formats.brat import conf, folder, read, write

# (document, line): True if we read a line that brat refuses, False if we keep one that it reads
OVERRULED = {
    ("doc02", 4): (True, "row 14: a text that differs is read by its offsets, with a warning"),
    ("doc10", 5): (True, "row 14: likewise"),
    ("doc11", 1): (True, "row 14: likewise"),
    ("doc11", 2): (True, "row 14: likewise"),
    ("doc11", 3): (True, "row 14: likewise"),
    ("doc09", 2): (False, "row 29: a dangling reference is kept as a line"),
    ("doc09", 3): (False, "row 29: likewise"),
    ("doc09", 5): (False, "row 29: likewise"),
    ("doc09", 6): (False, "row 29: likewise"),
}
SECTIONS = ("WLP", "corpora", "handmade", "tutorials")


def _collection(golden, section):
    return folder.collect(golden("brat") / section).documents


@pytest.mark.parametrize("section", SECTIONS)
def test_a_golden_document_is_written_back_byte_for_byte(golden, section):
    documents = _collection(golden, section)
    for name, path in documents:
        document = read.load(path, name=name).document
        files = write.parts(document)
        assert list(files) == [".ann"]
        assert files[".ann"].encode() == path.with_name(path.stem + ".ann").read_bytes(), name
        assert write.text_file(document).encode() == path.read_bytes(), name
    assert documents
    golden.count(len(documents))


@pytest.mark.parametrize("section", SECTIONS)
def test_a_golden_document_says_what_its_json_says(golden, section):
    documents = _collection(golden, section)
    for name, path in documents:
        found = path.with_name(path.stem + ".json")
        expected = json.loads(
            (found if found.exists() else path.with_name("expected.json")).read_text()
        )
        _compare(name.split("/")[0], read.load(path, name=name), expected)
    assert documents
    golden.count(len(documents))


@pytest.mark.parametrize("section", SECTIONS)
def test_without_its_source_a_golden_document_keeps_its_content(golden, section):
    documents = _collection(golden, section)
    for name, path in documents:
        document = read.load(path, name=name).document
        again = read.loads(document.text, write.dumps(replace(document, source=None)), name=name)
        assert _unbroken(again.document) == _unbroken(document), name
        assert not [each for each in again.problems if "the text there" not in each.message]
    golden.count(len(documents))


def test_every_golden_configuration_is_read_and_written(golden):
    paths = sorted(golden("brat").rglob(conf.NAME))
    for path in paths:
        config = conf.load(path)
        assert conf.loads(conf.dumps(config)) == config
        for _, document in folder.collect(path.parent).documents:
            known = set(config.labels("entities")) | set(config.labels("events"))
            spans = read.load(document).document[MAIN].spans
            assert {span.label for span in spans} <= known
    assert paths
    golden.count(len(paths))


@pytest.mark.slow
def test_the_whole_of_wlp_is_written_back_byte_for_byte(data):
    documents = folder.collect(data("wlp")).documents
    for name, path in documents:
        reading = read.load(path, name=name)
        assert write.dumps(reading.document).encode() == path.with_suffix(".ann").read_bytes(), name
    assert len(documents) == 622
    data.count(len(documents))


def _unbroken(document):
    """The content, spans over a line break cut as brat wants them."""
    layers = []
    for layer in document.layers:
        spans = tuple(_cut(span, document.text) for span in layer.spans)
        layers.append(replace(layer, spans=spans))
    return comparable(replace(document, layers=tuple(layers)))


def _cut(span, text):
    pieces = []
    for start, end in span.fragments:
        for offset in range(start, end):
            if text[offset] in "\r\n":
                continue
            if pieces and pieces[-1][1] == offset and offset > start:
                pieces[-1] = (pieces[-1][0], offset + 1)
            else:
                pieces.append((offset, offset + 1))
        if start == end:
            pieces.append((start, end))
    return replace(span, fragments=tuple(pieces) or span.fragments)


def _compare(name, reading, expected):
    document = reading.document
    marked = document.source.offsets == "bom"
    assert len(document.text) + marked == expected["text_length"]
    fatal = (expected["fatal"] or {}).get("line")
    lines = _lines_that_brat_makes(document)
    wanted = {}
    for kind, shown in SHOWN.items():
        for each in expected[kind]:
            if OVERRULED.get((name, each["line"]), (True, ""))[0]:
                wanted[each["line"]] = shown(each, marked)
    got = {line: made for line, made in lines.items() if line in wanted}
    assert got == wanted, name
    overruled = {
        line for (where, line), (read_it, _) in OVERRULED.items() if where == name and read_it
    }
    assert {line for line in lines if fatal is None or line < fatal} <= set(wanted) | overruled, (
        name
    )
    assert overruled <= set(lines)
    groups = sorted(sorted(each["members"]) for each in expected["equivs"] if name != "doc09")
    ours = [set(each.members) for each in document[MAIN].equivalences]
    assert sorted(sorted(each) for each in _united(ours)) == groups, name


def _united(groups):
    """brat unites groups of any type, we only those of one type (else a label would be lost)."""
    done = []
    for group in groups:
        for other in [each for each in done if each & group]:
            done.remove(other)
            group = group | other
        done.append(group)
    return done


def _lines_that_brat_makes(document):
    """What each line of ours made, numbered as brat does: also cut at U+2028, U+0085…"""
    made, number = {}, 1
    for line in document.source.lines:
        if line.file != ".ann":
            continue
        if line.annotation and not line.raw.startswith("*"):
            made[number] = _ours(line.annotation)
        number += max(1, len(line.raw.splitlines()))
    return made


def _ours(made):
    kind = type(made).__name__
    match kind:
        case "Span":
            return (kind, made.id, made.label, made.fragments)
        case "Relation":
            ends = ((made.roles[0], made.head), (made.roles[1], made.tail))
            return (kind, made.id, made.label, ends)
        case "Event":
            filled = tuple((each.role, each.target) for each in made.arguments)
            return (kind, made.id, made.label, made.trigger, filled)
        case "Attribute":
            return (kind, made.id, made.label, made.target, made.value)
        case "Normalization":
            return (kind, made.id, made.label, made.target, made.resource, made.key, made.text)
    return (kind, made.id, made.label, made.target, made.text.splitlines()[:1])


def _fragments(each, marked):
    return tuple((start - marked, end - marked) for start, end in each["spans"])


def _pairs(each):
    return tuple((role, target) for role, target in each["args"])


def _attribute(each, _):
    value = None if each["value"] is True else each["value"]
    return ("Attribute", each["id"], each["type"], each["target"], value)


SHOWN = {
    "textbounds": lambda e, m: ("Span", e["id"], e["type"], _fragments(e, m)),
    "relations": lambda e, m: ("Relation", e["id"], e["type"], _pairs(e)),
    "events": lambda e, m: ("Event", e["id"], e["type"], e["trigger"], _pairs(e)),
    "attributes": _attribute,
    "modifications": _attribute,
    "normalizations": lambda e, m: (
        *("Normalization", e["id"], e["type"], e["target"]),
        *(e["refdb"], e["refid"], e["reftext"]),
    ),
    "comments": lambda e, m: ("Note", e["id"], e["type"], e["target"], e["text"].splitlines()[:1]),
}
