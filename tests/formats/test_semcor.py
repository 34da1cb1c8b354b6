"""SemCor: tokens of several words, senses, paragraphs; a made sample and the real files."""

import re
from collections import Counter

import pytest
from damaged_texts import reads_or_tells
from door_checks import same_again
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.config.options import Options
from spanloom.document import Document, Layer, Span
from spanloom.errors import FormatError
from spanloom.formats.semcor import KIND, dumps, loads


def senses(document):
    return [(document.text_of(each), each.label) for each in document["senses"].spans]


def values(document, layer):
    about = {each.id: document.text_of(each) for each in document[layer].spans}
    return [(about[each.target], each.label, each.value) for each in document[layer].attributes]


def test_the_sample():
    assert same_again(KIND, KIND.example)
    (found,) = loads(KIND.example)
    assert (found.name, found.text) == ("br-a01", "New York can wait .\nat last")
    assert found.meta == (("concordance", "brown"),)
    assert senses(found) == [("New York", "15"), ("wait", "42")]
    assert values(found, "words") == [
        ("New", "cmd", "done"),
        ("New", "rdf", "location"),
        ("New", "pos", "NNP"),
        ("New", "lemma", "location"),
        ("New", "wnsn", "1"),
        ("New", "lexsn", "1:15:00::"),
        ("New", "pn", "location"),
        ("York", "joined", None),
        ("can", "cmd", "ignore"),
        ("can", "dc", "-1"),
        ("can", "pos", "MD"),
        ("wait", "cmd", "done"),
        ("wait", "pos", "VB"),
        ("wait", "lemma", "wait"),
        ("wait", "wnsn", "1;2"),
        ("wait", "lexsn", "2:42:00::;2:31:01::"),
        (".", "punc", None),
        ("at", "cmd", "done"),
        ("at", "sep", '"-"'),
        ("at", "pos", "RB"),
        ("at", "ot", "notag"),
        ("last", "joined", None),
    ]
    assert values(found, "sentences") == [
        ("New York can wait .", "pnum", "1"),
        ("at last", "snum", "3"),
        ("at last", "pnum", "2"),
    ]


def test_other_senses_take_the_place_of_those_in_the_file():
    (found,) = loads(KIND.example)
    other = found.with_layer(
        Layer("senses", (Span("X1", "04", ((4, 8),)), Span("X2", "31", ((9, 19),))))
    )
    lines = dumps([other]).split("\n")
    assert lines[4:8] == [
        "<wf cmd=done rdf=location pos=NNP lemma=location wnsn=1 pn=location>New</wf>",
        "<wf lexsn=:04:::>York</wf>",
        "<wf cmd=ignore dc=-1 pos=MD lexsn=:31:::>can_wait_.</wf>",
        "</s>",
    ]
    (again,) = loads(dumps([other]))
    assert senses(again) == [("York", "04"), ("can wait .", "31")]
    assert "lexsn" not in {each.label for each in again["words"].attributes}


def test_plain_documents_come_back():
    text = "Ada met her\nat last"
    spans = Span("T1", "18", ((0, 3),)), Span("T2", "42", ((4, 11),)), Span("T3", "02", ((12, 19),))
    document = Document(text, (Layer("senses", spans),), "x/y")
    (again,) = loads(dumps([document]))
    assert (again.name, again.text, again.meta) == ("x/y", text, ())
    assert senses(again) == senses(document)
    assert not KIND.count_lost(document, Options())


def test_what_has_no_place_is_counted():
    spans = Span("T1", "a:b", ((0, 1),)), Span("T2", "1", ((2, 7),)), Span("T3", "2", ((4, 5),))
    document = Document("a b c\nd", (Layer("senses", spans), Layer("ner", spans[:0])), "x y")
    assert KIND.count_lost(document, Options()) == {"names": 1, "spans of layer senses": 2}


HEAD = "<contextfile concordance=c>\n<context filename=f paras=no>\n"
FEET = "</context>\n</contextfile>\n"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("<s snum=1>\n", 1, "expected <contextfile concordance=…>, got '<s snum=1>'"),
        ("<contextfile concordance=c>\n", 2, "expected <context .*got the end"),
        (f"{HEAD}<p>\n", 3, "expected <p pnum=…> or </context>, got '<p>'"),
        (f"{HEAD}<p pnum=1>\n</p>\n{FEET}", 4, "expected <s snum=…>, got '</p>'"),
        (f"{HEAD}<s snum=1>\n</s>\n{FEET}", 4, "expected <wf …>WORD</wf>, .* got '</s>'"),
        (f"{HEAD}<s snum=1>\n<wf pos>a</wf>\n", 4, "expected <wf …>WORD</wf>"),
        (f"{HEAD}<s snum=1>\n<wf> </wf>\n", 4, "expected <wf …>WORD</wf>"),
        (f"{HEAD}<s snum=1>\n<wf lexsn=1>a</wf>\n", 4, "expected a sense as lexsn=1:15:00::"),
        (f"{HEAD}<s snum=1>\n<wf>a</wf>\n</s>\n</p>\n", 6, "expected <p pnum=…> or </context>"),
        (f"{HEAD}</context>\n<context filename=f paras=no>\n", 4, "expected </contextfile>"),
    ],
)
def test_errors_say_where_and_what(text, line, problem):
    with pytest.raises(FormatError, match=problem) as caught:
        list(loads(text, path="x.sgml"))
    assert (caught.value.path, caught.value.line) == ("x.sgml", line)


@given(drawn=st.lists(documents(lines=False, scores=True), max_size=3))
def test_any_document_can_be_written_and_read(drawn):
    again = list(loads(dumps(drawn)))
    assert len(again) == len(drawn)
    assert list(loads(dumps(again))) == again
    for each in drawn:
        KIND.count_lost(each, Options())


def test_damaged_samples_are_read_or_refused():
    reads_or_tells(KIND, 500)


@pytest.mark.parametrize("head", ["", "<contextfile>\n", "<?xml version='1.0'?>\n<a/>\n", "a\tO\n"])
def test_other_files_do_not_look_like_it(head):
    assert not KIND.sniff(head, "x.txt")


def _real(data, names):
    for name in names:
        with (data("semcor") / name).open(encoding="utf-8", newline="") as stream:
            yield stream.read()


def _check(text):
    (found,) = loads(text)
    assert dumps([found]) == text
    said = Counter(re.findall(r" lexsn=\d:(\d\d):", text))
    assert Counter(each.label for each in found["senses"].spans) == said
    assert len(found["sentences"].spans) == text.count("<s snum=")


def test_some_real_files(data):
    for text in _real(data, ["brown1/tagfiles/br-a01", "brown2/tagfiles/br-n15"]):
        assert same_again(KIND, text)
        _check(text)


@pytest.mark.slow
def test_all_real_files(data):
    root = data("semcor")
    names = sorted(str(each.relative_to(root)) for each in root.glob("brown?/tagfiles/*"))
    assert len(names) == 186
    for text in _real(data, names):
        _check(text)
