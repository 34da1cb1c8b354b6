"""The contract of every format: its sample there and back, its looks, its losses, damaged files."""

import random
import string
from pathlib import Path

import pytest

from spanloom import formats
from spanloom.annotation.comparable import comparable
from spanloom.document import Attribute, Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.brat.read import loads_parts
from spanloom.formats.brat.write import parts, text_file

NAMES = formats.names()
EVERY = pytest.mark.parametrize("name", NAMES)
QUICK, SLOW = 150, 20_000
SECRET = Path("/etc/passwd").read_text().partition("\n")[0]  # what an XML entity could steal
JUNK = (
    "\0",
    "\ud800",
    "\u2028",
    "\r",
    "\t",
    "|",
    "*",
    "(",
    ")",
    "<",
    '"',
    "\\",
    "9" * 400,
    "-1",
    "_",
)

# a document that no format of tasks holds whole: odd spans, layers and attributes of its own
FOREIGN = Document(
    "Ada met Bob .\n\nShe  left, in\u00a0haste — quite so.",
    (
        Layer(
            "odd layer",
            (
                Span("T1", "a b", ((0, 3), (8, 11))),
                Span("T2", "-", ((1, 2),)),
                Span("T3", "x|y\tz", ((4, 4),)),
            ),
            (Relation("R1", "to", "T1", "T2"), Relation("R2", "to", "T2", "T2")),
            attributes=(Attribute("A1", "sure", "T1", "no\nway"),),
        ),
        Layer("entities", (Span("T4", "PER", ((0, 3),)), Span("T5", "PER", ((0, 7),)))),
    ),
    "folder/foreign",
    (("key", "value\twith\nblanks"),),
)


def kept(name):
    """A format and its usual options."""
    form = formats.load(name)
    return form, form.options()


def beside_of(form, made):
    """Split what ``dumps`` returned into the file itself and what stands beside it."""
    if not form.sidecars:
        return made, {}
    return made[""], {key: made[key] for key in form.sidecars}


def sample_of(form):
    """The sample, and what stands beside it."""
    return beside_of(form, form.example)


@EVERY
def test_the_sample_comes_back(name):
    form, options = kept(name)
    text, beside = sample_of(form)
    documents = list(form.loads(text, path="sample", options=options, **beside))
    assert documents
    assert all(isinstance(each, Document) for each in documents)
    assert len({each.name for each in documents}) == len(documents)
    again = form.dumps(documents, options=options)
    if not form.binary:
        assert again == form.example
    same, beside = beside_of(form, again)
    back = list(form.loads(same, path="sample", options=options, **beside))
    assert [comparable(each) for each in back] == [comparable(each) for each in documents]


@EVERY
def test_what_it_holds_is_not_called_lost(name):
    form, options = kept(name)
    text, beside = sample_of(form)
    for document in form.loads(text, path="sample", options=options, **beside):
        assert dict(form.count_lost(document, options)) == {}


@EVERY
def test_it_knows_its_own_and_no_other(name):
    form, _ = kept(name)
    text, _ = sample_of(form)
    head = text.decode("latin-1") if form.binary else text
    fit = [n for n in NAMES if formats.load(n).sniff(head, f"sample{form.suffixes[0]}")]
    closer = [n for n in fit if f"sample{form.suffixes[0]}".endswith(formats.load(n).suffixes)]
    assert name in fit
    assert closer == [name]


@EVERY
def test_a_foreign_document_is_written_and_its_losses_are_counted(name):
    form, options = kept(name)
    lost = form.count_lost(FOREIGN, options)
    assert all(type(times) is int and times > 0 and what for what, times in lost.items())
    made, beside = beside_of(form, form.dumps([FOREIGN], options=options))
    list(form.loads(made, path="foreign", options=options, **beside))
    if name != "jsonl":
        assert any("odd layer" in what for what in lost)


@EVERY
def test_files_go_through_the_doors(name, tmp_path):
    form, options = kept(name)
    text, beside = sample_of(form)
    documents = list(form.loads(text, path="sample", options=options, **beside))
    path = tmp_path / f"file{form.suffixes[0]}"
    written = formats.write(path, documents, form, options)
    assert written[0] == path
    sidecars = (name.replace("{stem}", "file") for name in form.sidecars.values())
    assert set(written[1:]) == {tmp_path / name for name in sidecars}
    assert formats.guess(path) == name
    back = list(formats.read(path, form, options))
    assert [comparable(each) for each in back] == [comparable(each) for each in documents]


@EVERY
def test_through_brat_and_back_nothing_is_lost(name):
    form, options = kept(name)
    text, beside = sample_of(form)
    documents = list(form.loads(text, path="sample", options=options, **beside))
    there = [through_brat(each) for each in documents]
    assert [comparable(each) for each in there] == [comparable(each) for each in documents]
    if not form.binary and name != "jsonl":  # brat has no place for scores
        assert form.dumps(there, options=options) == form.example


def through_brat(document):
    """The document that its brat files say."""
    return loads_parts(text_file(document), parts(document), name=document.name).document


def damaged(text, rng):
    """A text with some things in it doubled, lost, exchanged or replaced by junk."""
    lines = text.split("\n")
    for _ in range(rng.randint(1, 3)):
        match rng.randrange(8):
            case 0:
                return "\n".join(lines)[: rng.randrange(len(text) + 1)]
            case 1 if lines:
                lines.insert(rng.randrange(len(lines)), rng.choice(lines))
            case 2 if lines:
                del lines[rng.randrange(len(lines))]
            case 3 if lines:
                rng.shuffle(lines)
            case _ if lines:
                row = rng.randrange(len(lines))
                place = rng.randrange(len(lines[row]) + 1)
                junk = rng.choice((*JUNK, rng.choice(string.printable), ""))
                lines[row] = lines[row][:place] + junk + lines[row][place + rng.randrange(3) :]
    return "\n".join(lines)


def attack(name, seed, times):
    form, options = kept(name)
    text, beside = sample_of(form)
    plain = text.decode("latin-1") if form.binary else text
    rng = random.Random(f"{name} {seed}")
    for _ in range(times):
        broken = damaged(plain, rng)
        given = dict(beside)
        if given and rng.random() < 0.3:
            key = rng.choice(sorted(given))
            given[key] = damaged(given[key], rng)
        data = broken.encode("latin-1", "replace") if form.binary else broken
        error = refusal(form, data, options, given)
        if error is not None:
            sidecars = [name.replace("{stem}", "file") for name in form.sidecars.values()]
            assert error.path in ("file", *sidecars), str(error)
            assert form.binary or (error.line is not None and error.line >= 1), (broken, str(error))


def refusal(form, data, options, beside):
    """Read it all; return the format's error where it is refused."""
    try:
        for document in form.loads(data, path="file", options=options, **beside):
            assert isinstance(document, Document)
            assert SECRET not in document.text
    except FormatError as error:
        return error
    return None


@EVERY
def test_damaged_files_are_read_or_refused_with_their_line(name):
    attack(name, 0, QUICK)


@pytest.mark.slow
@EVERY
def test_twenty_thousand_damaged_files_a_format(name):
    attack(name, 1, SLOW)


@EVERY
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\0",
        "\ud800",
        "(" * 100_000,
        "[" * 100_000,
        '{"a":' * 50_000,
        "<a>" * 50_000,
        "a\t" * 100_000,
        "1\n" * 100_000,
        "\n" * 100_000,
        '<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d SYSTEM "file:///etc/passwd">]><a>&b;&d;</a>',
    ],
    ids=range(12),
)
def test_strange_files_do_no_harm(name, text):
    form, options = kept(name)
    _, beside = sample_of(form)
    data = text.encode("latin-1", "replace") if form.binary else text
    error = refusal(form, data, options, beside)
    assert error is None or error.path
