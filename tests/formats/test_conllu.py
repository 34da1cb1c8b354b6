"""CoNLL-U comes out as it went in, and says what it says by another reader too."""

import random
import time

import conllu as other
import pytest
from drawn_documents import documents
from hypothesis import given, settings

from spanloom.annotation.comparable import comparable
from spanloom.document import Document, Layer, Normalization, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats import conllu
from spanloom.formats.conllu import KIND, Columns, dumps, loads

WORD = "{0}\t{1}\t_\t_\t_\t_\t_\t_\t_\t{2}\n"


def rows(*words):
    """A sentence of words without annotation; ``"form MISC"``."""
    pairs = [(each.split(" ") + ["_"])[:2] for each in words]
    return "".join(WORD.format(n, *pair) for n, pair in enumerate(pairs, 1)) + "\n"


def only(text, **options):
    """The one document of a text, which is written back as it stood."""
    (document,) = loads(text, options=Columns(**options))
    assert dumps([document], options=Columns(**options)) == text
    return document


def said(document, layer):
    """Spans as text and label, relations as label and the texts of their ends."""
    spans = {each.id: document.text_of(each) for each in document[layer].spans}
    found = [(spans[each.id], each.label) for each in document[layer].spans]
    relations = document[layer].relations
    return found, [(each.label, spans[each.head], spans[each.tail]) for each in relations]


def values(document, layer):
    """Attributes as target's text, label and value."""
    known = {each.id: document.text_of(each) for each in document[layer].spans}
    return [(known[each.target], each.label, each.value) for each in document[layer].attributes]


def test_the_sample_says_what_its_columns_say():
    document = only(KIND.example)
    assert document.name == "sample"
    assert document.text == "I don't like Ada's tea.\nShe does."
    assert said(document, "tokens")[0] == [("don't", "token"), ("Ada's", "token")]
    assert ("like", "VERB") in said(document, "upos")[0]
    assert ("root", "like", "like") in said(document, "dependency")[1]
    assert ("nmod:poss", "tea", "Ada") in said(document, "dependency")[1]
    assert ("nsubj", "", "She") in said(document, "enhanced")[1]
    assert ("Ada's tea", "object") in said(document, "entities")[0]
    assert said(document, "named")[0] == [("Ada", "person")]
    assert [each.key for each in document["named"].normalizations] == ["Ada_Lovelace"]
    assert said(document, "coreference")[1] == [("coref", "She", "Ada")]
    assert ("Ada's tea", "Bridge", "3") in values(document, "coreference")
    assert ("'s", "misc", "Typo=No") in values(document, "words")
    assert not KIND.count_lost(document, Columns())


def test_without_entities_misc_stays_as_it_is():
    document = only(KIND.example, entities=False)
    assert not document.has_layer("entities")
    assert ("She", "misc", "Entity=(3-person-giv:act-nnnnn-cf1-1-ana)") in values(document, "words")


def test_a_file_without_newdoc_has_a_document_a_sentence():
    text = "# sent_id = a\n" + rows("A") + rows("B") + "# sent_id = a\n" + rows("C")
    found = list(loads(text))
    assert [each.name for each in found] == ["a", "s00002", "a~2"]
    assert dumps(found) == text
    assert dumps(found[1:]) != text.split("\n\n", 1)[1]  # alone they could not keep their names
    assert [each.name for each in loads(dumps(found[1:]))] == ["s00002", "a"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (rows("A") + "# newdoc id = b\n" + rows("B") + rows("C"), ["s00001", "b"]),
        ("# newdoc\n" + rows("A") + "# newdoc id = ../x\n" + rows("B"), ["s00001", "__/x"]),
        ("#newdoc id=q\n" + rows("A"), ["q"]),
        ("# x = y\n# newdoc id = q\n# newdoc id = q\n" + rows("A") + rows("B"), ["q"]),
    ],
)
def test_documents_are_those_that_newdoc_begins(text, names):
    found = list(loads(text))
    assert [each.name for each in found] == names
    assert dumps(found) == text


@pytest.mark.parametrize(
    ("comments", "words", "text"),
    [
        ("", ("a", "b SpaceAfter=No", "c SpaceAfter=No"), "a bc"),
        ("# text = a\u00a0\u2003b\n", ("a", "b"), "a\u00a0\u2003b"),
        ("# text = ab\n", ("a", "b"), "a b"),
        ("# text = a b \n", ("a", "b"), "a b"),
        ("# text\n#\n## = a\n# = b\n# k =v\n# k = \n", ("a",), "a"),
        ("", ("a Z=1|SpaceAfter=No|B=2", "b"), "ab"),
        ("", ("a Z=1|SpaceAfter=Yes||", "b"), "a b"),
        ("", ("a SpaceAfter=No|SpacesAfter=x", "b"), "ab"),
    ],
)
def test_blanks_and_comments_stay(comments, words, text):
    assert only(comments + rows(*words)).text == text


def test_tokens_over_words():
    text = (
        "# text = Dunno 'bout New York.\n"
        "1-3\tDunno\t_\t_\t_\t_\t_\t_\t_\tA=1\n1\tDo\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "2\tn't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n3\tknow\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "4\t'bout\t_\t_\t_\t_\t_\t_\t_\t_\n5-6\tNew York\t_\tPROPN\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "5\tNew\t_\t_\t_\t_\t_\t_\t_\t_\n6\tYork\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "7\t.\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    )
    document = only(text)
    assert document.text == "Do n't know 'bout New York."
    assert ("Do n't know", "form", "Dunno") in values(document, "tokens")
    assert ("New York", "upos", "PROPN") in values(document, "tokens")
    assert not document.has_layer("upos")


COREFUD = """\
# newdoc id = c
# global.Entity = eid-etype-head-other
# sent_id = 1
0.1\t_\t_\tPRON\t_\t_\t_\t_\t1:nsubj\tEntity=(e1-person-1-)
1\tsees\t_\t_\t_\t_\t0\troot\t0:root\t_
2\tred\t_\t_\t_\t_\t1\tobj\t1:obj\tEntity=(e2[1/2]-thing-1-x(e3--1)
3\tand\t_\t_\t_\t_\t2\tcc\t2:cc|3:self\tEntity=e2[1/2])(e4-x-1
3.1\t_\t_\t_\t_\t_\t_\t_\t_\tBridge=e1<e9|Entity=e4)
4\tblue\t_\t_\t_\t_\t2\tconj\t2:conj\tEntity=(e2[2/2])

# newdoc id = d
# sent_id = 2
1\tShe\t_\t_\t_\t_\t_\tdep\t_\tEntity=(e1-person-1)

"""


def test_mentions_with_gaps_and_on_empty_nodes():
    first, second = loads(COREFUD)
    assert dumps([first, second]) == COREFUD
    assert said(first, "entities")[0] == [
        *[("", "person"), ("red and blue", "thing"), ("red", "mention"), ("and", "x")]
    ]
    assert len(first["entities"].spans[1].fragments) == 2
    assert ("", "nodes", "0.1-0.1") in values(first, "entities")
    assert not first.has_layer("named")
    assert dict(second.meta) == {"inherited global.Entity": "eid-etype-head-other"}
    (again,) = loads(dumps([second]))  # alone it brings its header
    assert again.layers == second.layers


def test_what_other_layers_say_is_written_as_brackets():
    spans = (Span("T1", "person", ((0, 3),)), Span("T2", "person", ((8, 11),)))
    links = (Span("T3", "mention", ((8, 11),)), Span("T4", "mention", ((0, 3),)))
    document = Document(
        "Ada saw her .",
        (
            Layer("entities", spans),
            Layer("coreference", links, (Relation("R1", "coref", "T3", "T4"),)),
            Layer(
                "named",
                (Span("T5", "person", ((0, 3),)),),
                normalizations=(Normalization("N1", "identity", "T5", "Wikipedia", "Ada"),),
            ),
        ),
        "a",
    )
    text = dumps([document])
    assert "Entity=(1-person------Ada)\n" in text
    assert "Entity=(1-person)\n" in text
    (again,) = loads(text)
    assert said(again, "coreference")[1] == [("coref", "her", "Ada")]
    assert comparable(again)[3] == comparable(next(loads(dumps([again]))))[3]


def test_what_ud_asks_for_is_added_on_demand():
    document = Document("Ada came .\nShe left .", (), "a/b")
    assert dumps([document], options=Columns(add_sent_metadata=True)).startswith(
        "# newdoc id = a/b\n# sent_id = a/b-1\n# text = Ada came .\n1\tAda\t"
    )


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("1\ta\n", 1, "expected 10 columns"),
        (rows("a")[:-2] + "\t\n", 1, "expected 10 columns"),
        (rows("a").replace("a", ""), 1, "value as FORM, got ''"),
        ("# a\n\n", 1, "expected word 1, got the end"),
        (WORD.format(2, "a", "_"), 1, "expected word 1"),
        (WORD.format("x", "a", "_"), 1, "expected an id"),
        (WORD.format("9" * 99, "a", "_"), 1, "expected an id"),
        (WORD.format("1-2", "a", "_") + rows("a"), 2, "expected word 2, got the end"),
        (WORD.format("1.1", "a", "_") + rows("a"), 1, "expected word 1"),
        (WORD.format("0.2", "a", "_") + rows("a"), 1, "expected word 1"),
        (WORD.format(1, "a", "SpaceAfter"), 1, "expected SpaceAfter once"),
        ("1\ta\t_\t_\t_\t_\t2\tx\t_\t_\n", 1, "expected as head 0 or another of 1 words, got '2'"),
        ("1\ta\t_\t_\t_\t_\t1\tx\t_\t_\n", 1, "expected as head"),
        ("1\ta\t_\t_\t_\t_\t²\tx\t_\t_\n", 1, "expected as head"),
        ("1\ta\t_\t_\t_\t_\t_\t_\t1.1:x\t_\n", 1, "expected HEAD:LABEL"),
        ("1\ta\t_\t_\t_\t_\t_\t_\t0:\t_\n", 1, "expected HEAD:LABEL"),
        ("1\ta\rb\t_\t_\t_\t_\t_\t_\t_\t_\n", 1, "carriage return"),
    ],
)
def test_a_malformed_line_is_named(text, line, problem):
    with pytest.raises(FormatError, match=rf"^f:{line}: ") as caught:
        list(loads(text, path="f"))
    assert problem in caught.value.problem


@pytest.mark.parametrize(
    ("entity", "problem"),
    [
        ("(1", "expected 1) before the end"),
        ("1)", "closes an open mention"),
        ("((", "expected Entity=(…)"),
        ("()", "expected Entity=(…)"),
        ("(1[2/2]-x)", "expected part 1 of 1 before this one"),
        ("(1[1/2]-x)", "expected 2 parts of 1, got 1"),
        ("(1[1/2]-x)(1[2/2])", "one after the other"),
    ],
)
def test_brackets_must_match(entity, problem):
    text = "# global.Entity = GRP-etype\n" + rows("a", f"b Entity={entity}")
    with pytest.raises(FormatError, match="^f:3: ") as caught:
        list(loads(text, path="f"))
    assert problem in caught.value.problem


def test_brackets_take_linear_time():
    text = "# global.Entity = GRP-etype\n" + rows("a", "b Entity=(1-x)" + "<a>" * 70_000)
    began = time.process_time()
    with pytest.raises(FormatError, match=r"^f:3: expected Entity=\(…\), got '\(1-x\)<a>"):
        list(loads(text, path="f"))
    assert time.process_time() - began < 1


@given(documents(lines=False))
@settings(max_examples=60)
def test_any_document_is_written_and_read(document):
    text = dumps([document])
    assert dumps(loads(text)) == text
    KIND.count_lost(document, Columns())


def test_damaged_files_are_read_or_refused():
    """What is still read of a damaged sample is written, and read again as the same."""
    chance = random.Random(7)
    for text in (KIND.example, COREFUD):
        for _ in range(300):
            damaged = text
            for _ in range(chance.randint(1, 3)):
                damaged = _damaged(damaged, chance)
            try:
                found = list(loads(damaged, path="f"))
            except FormatError:
                continue
            assert list(loads(dumps(found))) == found


def _damaged(text, chance):
    text = text or "x"
    start = chance.randrange(len(text))
    end = min(len(text), start + chance.randrange(1, 12))
    strange = ["\0", "\ud800", "9" * 30, "(", ")", "|", "=", "-", "_", "\t", "\n", "\r", "[1/2]"]
    lines = text.split("\n")
    line = chance.randrange(len(lines))
    return chance.choice(
        [
            text[:start],
            text[:start] + text[end:],
            text[:start] + chance.choice(strange) + text[start:],
            text[:start] + chr(ord(text[start]) ^ 1 << chance.randrange(7)) + text[start + 1 :],
            "\n".join([*lines[:line], *lines[line + 1 :]]),
            "\n".join([*lines[:line], lines[line], *lines[line:]]),
        ]
    )


def test_it_knows_its_own():
    assert KIND.sniff(KIND.example[:200] + "\n1\tI", "a.conllu") is False  # cut in its comments
    assert KIND.sniff(KIND.example, "a.txt")
    for strange in ("", "{}", "1\ta\n", "# a\n", "a\tb\tc\td\te\tf\tg\th\ti\tj\n"):
        assert not KIND.sniff(strange, "a.conllu")


def _files(data):
    return [*sorted(data("ewt").glob("*.conllu")), *sorted(data("gum").glob("dep/*.conllu"))]


def test_a_corpus_by_another_reader(data):
    """The package conllu finds the same words, heads and tags in GUM."""
    path = next(iter(sorted(data("gum").glob("dep/*.conllu"))))
    text = path.read_text(encoding="utf-8")
    document = only(text)
    assert KIND.sniff(text[:65_536], path.name)
    words = [
        each for sentence in other.parse(text) for each in sentence if isinstance(each["id"], int)
    ]
    assert [document.text_of(each) for each in document["words"].spans] == [
        each["form"] for each in words
    ]
    assert [each.label for each in document["upos"].spans] == [each["upos"] for each in words]
    place = {each.id: row for row, each in enumerate(document["dependency"].spans)}
    offsets = [row - each["id"] for row, each in enumerate(words)]
    heads = [
        (each["deprel"], offset + each["head"] if each["head"] else row)
        for row, (each, offset) in enumerate(zip(words, offsets, strict=True))
    ]
    relations = document["dependency"].relations
    assert [(each.label, place[each.head]) for each in relations] == heads


def test_the_scorers_files_come_back(golden):
    paths = sorted(golden("ud-eval").glob("case0[12]/*.conllu"))
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert dumps(loads(text, path=str(path))) == text
    golden.count(len(paths))


@pytest.mark.slow
def test_every_file_comes_back(data):
    """All of EWT and GUM, byte for byte."""
    for path in _files(data):
        text = path.read_bytes().decode()
        assert conllu.dumps(loads(text, path=str(path))) == text
