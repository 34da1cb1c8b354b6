"""DocBin: what is written is read again, by spaCy too; bytes of strangers do no harm."""

import random
import zlib

import pytest
import spacy
import srsly
from drawn_documents import documents
from hypothesis import assume, given, settings
from spacy.tokens import Doc, DocBin

from spanloom.document import Attribute, Document, Layer, Normalization, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats import _docbin, conllu
from spanloom.formats.docbin import KIND, dumps, loads

LOST = KIND.options()


@pytest.fixture(scope="module")
def vocab():
    return spacy.blank("en").vocab


def named(document, layer):
    return [(document.text_of(each), each.label) for each in document[layer].spans]


def test_the_sample_comes_back():
    (document,) = loads(KIND.example)
    assert dumps([document]) == KIND.example
    assert (document.name, document.meta) == ("a/b", (("genre", "tale"),))
    assert document.text == "Ada met Bob.\nShe left."
    assert named(document, "sentences") == [("Ada met Bob.", "sentence"), ("She left.", "sentence")]
    assert named(document, "coreference") == [("Ada", "mention"), ("Ada met", "mention")]
    assert KIND.count_lost(document, LOST) == {}
    assert KIND.sniff(KIND.example[:99].decode("latin-1"), "a")


def test_spacy_reads_what_is_written(vocab):
    (document,) = conllu.loads(conllu.KIND.example)
    (doc,) = DocBin().from_bytes(dumps([document])).get_docs(vocab)
    assert doc.text == document.text
    words = [each for each in doc if not each.is_space]
    assert [each.pos_ for each in words] == [each.label for each in document["upos"].spans]
    assert [each.tag_ for each in words] == [each.label for each in document["xpos"].spans]
    assert [each.text.strip() for each in doc.sents] == ["I don't like Ada's tea.", "She does."]
    place = {each.id: each.start for each in document["dependency"].spans}
    assert [(each.dep_, each.head.idx, each.idx) for each in words] == [
        (each.label, place[each.head], place[each.tail])
        for each in document["dependency"].relations
    ]
    nested = {(each.text, each.label_) for each in doc.spans["entities"]}
    assert nested == set(named(document, "entities"))
    assert str(words[0].morph) == "Case=Nom|Number=Sing"


def test_what_spacy_writes_is_read(vocab):
    doc = Doc(
        vocab,
        words=["Ada", "Lovelace", "met", "\n", "Bob", "Bob"],
        spaces=[True, True, False, False, True, False],
        heads=[1, 2, 2, 2, 2, 4],
        deps=["compound", "nsubj", "ROOT", "", "obj", "obj"],
        ents=["B-PER", "I-PER", "O", "O", "B-PER", "B-PER"],
        pos=["PROPN", "PROPN", "VERB", "SPACE", "PROPN", "PROPN"],
    )
    doc.spans["sc"] = [doc.char_span(0, 3, "first", kb_id="Q1")]
    doc.cats = {"tale": 1.0}
    doc.user_data["mine"] = 3
    for user in (True, False):
        (found,) = loads(DocBin(store_user_data=user, docs=[doc]).to_bytes())
        assert (found.name, found.text) == ("s00001", doc.text)
        assert found.meta == (("cats", '{"tale": 1.0}'),)
        assert named(found, "entities") == [(each.text, "PER") for each in doc.ents]
        assert named(found, "sc") == [("Ada", "first")]
        assert [each.key for each in found["sc"].normalizations] == ["Q1"]
        assert [each.label for each in found["dependency"].relations] == [
            *["compound", "nsubj", "ROOT", "obj", "obj"]
        ]
        assert len(found["words"].spans) == 5
    (bare,) = loads(DocBin(docs=[Doc(vocab, words=["a", "b"])]).to_bytes())
    assert [each.name for each in bare.layers] == ["words"]


def test_a_span_without_a_label_is_told_with_the_file(vocab):
    doc = Doc(vocab, words=["a", "b"])
    doc.spans["sc"] = [doc[0:1]]
    with pytest.raises(
        FormatError, match="in.spacy: document 1: s00001: annotation '.*' needs a label"
    ):
        list(loads(DocBin(docs=[doc]).to_bytes(), path="in.spacy"))


def test_heads_in_a_circle_are_not_written():
    spans = tuple(Span(f"T{n}", "word", ((n, n + 1),)) for n in (0, 2))
    circle = (Relation("R1", "x", "T0", "T2"), Relation("R2", "x", "T2", "T0"))
    document = Document("a b", (Layer("dependency", spans, circle),), "d")
    assert KIND.count_lost(document, LOST)["relations of layer dependency"] == 2


def test_entities_keep_links_and_ids():
    span = Span("T1", "PER", ((0, 1),))
    link = Normalization("N1", "kb_id", "T1", "", "Q1")
    layer = Layer("entities", (span,), (), (), (Attribute("A1", "id", "T1", "x"),), (link,))
    document = Document("a b", (layer,), "d")
    (again,) = loads(dumps([document]))
    assert again["entities"].normalizations[0].key == "Q1"
    assert again["entities"].attributes[0].value == "x"


@given(documents(lines=False))
@settings(max_examples=40)
def test_any_document_is_written_and_read(document):
    words = document["words"].spans if document.has_layer("words") else ()
    assume(all(document.text_of(span).strip() for span in words))  # blanks are no word
    data = dumps(loads(dumps([document])))  # text outside of given words became words
    assert dumps(loads(data)) == data
    KIND.count_lost(document, LOST)


def test_a_small_file_does_not_become_a_large_one():
    bomb = zlib.compress(b"\0" * 2**25)
    with pytest.raises(FormatError, match="expected one zlib stream of up to"):
        list(loads(bomb, path="f"))


def list_of(size, value):
    """A list of equal values, as msgpack has it."""
    return b"\xdd" + size.to_bytes(4, "big") + size * value


@pytest.mark.parametrize("value", [b"\x80", b"\x90", b"\xa1a", b"\x91\xc0"])
def test_a_small_file_does_not_become_many_objects(value, monkeypatch):
    """A byte of a message becomes a mapping of 64 bytes; lists in lists are counted together."""
    bomb = zlib.compress(b"\x81\xa7strings" + list_of(5_000_000, value))
    with pytest.raises(FormatError, match="exceeds max_array_len"):
        list(loads(bomb, path="f"))
    monkeypatch.setattr(_docbin, "_MIN_VALUES", 4000)
    bomb = zlib.compress(b"\x81\xa7strings" + list_of(4, list_of(3000, value)))
    with pytest.raises(FormatError, match="expected fewer values for a file of this size"):
        list(loads(bomb, path="f"))


def test_values_within_a_document_are_limited_too():
    message = srsly.msgpack_loads(zlib.decompress(KIND.example))
    message["user_data"] = [list_of(5_000_000, b"\x80")]
    with pytest.raises(FormatError, match="exceeds max_array_len"):
        list(loads(zlib.compress(srsly.msgpack_dumps(message)), path="f"))


@pytest.mark.parametrize("attrs", [["ENT_TYPE"], ["LEMMA", "POS", "TAG", "DEP", "HEAD"]])
def test_many_short_equal_documents_are_read(vocab, attrs):
    """They are compressed best: from 430 bytes and 56 values to one byte."""
    packed = DocBin(attrs, docs=[Doc(vocab, ["Hi"])])
    for name in ("tokens", "spaces", "cats", "flags", "span_groups", "user_data"):
        setattr(packed, name, getattr(packed, name) * 5000)
    assert sum(1 for _ in loads(packed.to_bytes())) == 5000


class Trap(Exception):
    pass


def test_arrays_of_objects_are_never_made(monkeypatch):
    """What srsly makes arrays of stays a mapping, which no string is."""

    def spring(*_, **__):
        raise Trap

    monkeypatch.setattr(srsly.msgpack, "_decode_numpy", spring)
    data = {b"nd": True, b"type": "|O", b"kind": b"O", b"shape": (1,), b"data": b"x"}
    message = srsly.msgpack_loads(zlib.decompress(KIND.example))
    message["strings"] = [data]
    with pytest.raises(FormatError, match="expected a string, got"):
        list(loads(zlib.compress(srsly.msgpack_dumps(message))))


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("strings", [], "KeyError"),
        ("strings", None, "expected a list"),
        ("attrs", [], "expected"),
        ("attrs", ["ORTH"], "expected a whole number"),
        ("tokens", b"", "expected 8 tokens"),
        ("tokens", b"123", "length is not a multiple"),
        ("tokens", "x", "TypeError"),
        ("lengths", b"\xff\xff\xff\xff", "expected 8 tokens"),
        ("cats", [{"a": "b"}], "could not convert"),
        ("cats", [[]], "expected as cats dict"),
        ("span_groups", [b"\x91\x00"], "TypeError"),
        ("user_data", [b"\xc1"], "not a DocBin"),
    ],
)
def test_what_is_wrong_is_told(key, value, problem):
    message = srsly.msgpack_loads(zlib.decompress(KIND.example))
    message[key] = value
    with pytest.raises(FormatError) as caught:
        list(loads(zlib.compress(srsly.msgpack_dumps(message)), path="f"))
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 300


def test_damaged_bytes_are_read_or_refused():
    chance = random.Random(5)
    plain = zlib.decompress(KIND.example)
    for number in range(600):
        data = bytearray(plain if number % 4 else KIND.example)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if number % 8 == 1:
            del data[chance.randrange(len(data)) :]
        damaged = zlib.compress(bytes(data)) if number % 4 else bytes(data)
        try:
            found = list(loads(damaged))
        except FormatError:
            continue
        assert dumps(loads(dumps(found))) == dumps(found)


def test_a_corpus_comes_back(data):
    text = sorted(data("gum").glob("dep/*.conllu"))[0].read_text(encoding="utf-8")
    (document,) = conllu.loads(text)
    (again,) = loads(dumps([document]))
    assert again.text == document.text
    assert named(again, "entities") == named(document, "entities")
    assert [each.label for each in again["dependency"].relations] == [
        each.label for each in document["dependency"].relations
    ]


@pytest.mark.parametrize("meta", [5, [5], [["a"]], [["a", 1]]])
def test_what_is_kept_must_be_pairs_of_texts(meta):
    bin_ = DocBin(store_user_data=True)
    doc = Doc(spacy.blank("en").vocab, ["a"])
    doc.user_data["spanloom"] = {"meta": meta}
    bin_.add(doc)
    with pytest.raises(FormatError, match="document 1: "):
        list(loads(bin_.to_bytes()))
