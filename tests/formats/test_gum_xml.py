"""GUM's XML: words on lines, tags on lines around them."""

import pytest
from door_checks import reads_or_refuses, same_again, written_and_read
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.document import Attribute, Document, Layer, Span
from spanloom.errors import FormatError
from spanloom.formats.gum_xml import KIND, GumXmlOptions, dumps, loads

ROW = "{0}\tNN\t{0}\tNN1\tNOUN\troot\t_"
SPELT_OTHERWISE = {  # a blank too many in a tag, or &apos; in an attribute
    *("GUM_bio_hadid", "GUM_interview_ants", "GUM_interview_herrick", "GUM_interview_messina"),
    *("GUM_interview_onion", "GUM_news_homeopathic", "GUM_news_korea", "GUM_news_warhol"),
    "GUM_whow_parachute",
}


def test_layers_of_a_text():
    (found,) = loads(KIND.example)
    assert (found.name, found.text) == ("GUM_news_a", "Ada\nAda & co -")
    assert dict(found.meta) == {"type": "news"}
    links = [(each.label, found.text_of(each)) for each in found["hyperlinks"].spans]
    assert links == [("ref", "Ada"), ("ref", "co")]
    said = [(each.label, each.value) for each in found["hyperlinks"].attributes]
    assert said == [("target", "https://example.org/?a&b")]
    markup = [(each.label, found.text_of(each)) for each in found["markup"].spans]
    assert markup == [
        *[("head", "Ada"), ("hi", "Ada"), ("figure", ""), ("caption", "")],
        *[("p", "Ada & co -"), ("w", "co -"), ("gap", "")],
    ]
    about = [(each.label, each.value) for each in found["sentences"].attributes]
    assert about == [("type", "frag"), ("type", "decl"), ("transition", "null")]
    assert [each.label for each in found["upos"].spans] == [
        *["PROPN", "PROPN", "CCONJ", "NOUN", "PUNCT"]
    ]
    lemmas = [each.value for each in found["words"].attributes if each.label == "lemma"]
    assert lemmas == ["Ada", "Ada", "&", "co", "-"]
    assert not any(each.label == "segments" for each in found["words"].attributes)


@pytest.mark.parametrize(
    ("inside", "line", "problem"),
    [
        (ROW.format("a"), 2, "expected a word within <s>"),
        ("<s>\na\n</s>", 3, "expected 7 columns (word, xpos"),
        ("<s>\n" + ROW.format(" ") + "\n</s>", 3, "expected a word, got ' '"),
        ("<s>\n</s>", 3, "expected words in <s>, got none"),
        ("<s>\n<s>", 3, "expected no <s> in <s>"),
        ("<text>", 2, "expected no <text> in <text>"),
        ("<p>\n</q>", 3, "expected </p>, got </q>"),
        ("<p x=1>", 2, "expected a word, <TAG …> or </TAG>, got '<p x=1>'"),
        ('<p x="1" x="2">', 2, "an attribute stands twice in <p>"),
        ('<p x="&nbsp;">', 2, "expected one of &amp;"),
        ("<p>", 3, "expected </p>, got </text>"),
        ("<s>\n" + ROW.format("a").replace("NOUN", "&#9;") + "\n</s>", 3, "a tag as upos, or _"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(inside, line, problem):
    with pytest.raises(FormatError, match=rf"^in\.xml:{line}: ") as caught:
        list(loads(f'<text id="a">\n{inside}\n</text>\n', path="in.xml"))
    assert problem in caught.value.problem


def test_texts_begin_and_end():
    with pytest.raises(FormatError, match="in:1: expected <text …>, got '<p>'"):
        list(loads("<p>\n", path="in"))
    with pytest.raises(FormatError, match="in:1: expected </text>, got no more"):
        list(loads("<text>\n", path="in"))
    assert [each.name for each in loads("<text>\n</text>\n" * 2)] == ["text", "text~2"]


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    assert 0 < reads_or_refuses(KIND) < 300


@pytest.mark.parametrize("name", ["GUM_academic_art", "GUM_bio_hadid"])
def test_release_files_are_written_as_they_stand(data, name):
    text = (data("gum") / "xml" / f"{name}.xml").read_bytes().decode()
    assert same_again(KIND, text) == (name not in SPELT_OTHERWISE)


@pytest.mark.slow
def test_the_release_is_written_as_it_stands(data):
    paths = sorted((data("gum") / "xml").glob("*.xml"))
    assert len(paths) == 237
    otherwise = set()
    for path in paths:
        text = path.read_bytes().decode()
        (found,) = loads(text)
        written = dumps([found])
        if written != text:
            otherwise.add(path.stem)
            assert list(loads(written)) == [found]
            pairs = zip(text.split("\n"), written.split("\n"), strict=True)
            assert sum(one != two for one, two in pairs) == 1
    assert otherwise == SPELT_OTHERWISE


@given(documents())
def test_any_document_is_written_and_reads_again(document):
    written_and_read(KIND, [document])


PLACES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).map(sorted), max_size=5)


@given(PLACES, PLACES)
def test_tags_without_order_are_nested_where_they_do_not_cross(markup, links):
    """The widest stands outside; what crosses is left out and counted."""
    text = "a b c\nd e f"
    starts = [*range(0, 11, 2), 11]

    def spans(letter, label, places):
        found = ((starts[a], starts[b] - (a < b < 6) if a < b else starts[a]) for a, b in places)
        return tuple(Span(f"{letter}{n}", label, (each,)) for n, each in enumerate(found))

    layers = (
        Layer("markup", spans("T", "p", markup)),
        Layer(
            "hyperlinks",
            spans("U", "ref", links),
            attributes=(Attribute("A1", "target", "U0", "x\ny"),) if links else (),
        ),
    )
    document = Document(text, layers, "a")
    (again,), (lost,) = written_and_read(KIND, [document])
    kept = len(again["markup"].spans) + len(again["hyperlinks"].spans)
    missed = sum(lost.get(f"spans of layer {each}", 0) for each in ("markup", "hyperlinks"))
    assert kept + missed == len(markup) + len(links)
    every = [*markup, *links]
    if not any(_cross(one, two) for one in [*every, [0, 3], [3, 6]] for two in every):
        assert lost == {}


def _cross(one, two):
    return one[0] < two[0] < one[1] < two[1] or two[0] < one[0] < two[1] < one[1]


def test_other_columns():
    options = GumXmlOptions(columns=("word", "upos"))
    text = '<text id="a">\n<s>\nAda\tPROPN\n</s>\n</text>\n'
    (found,) = loads(text, options=options)
    assert not found.has_layer("xpos")
    assert dumps([found], options=options) == text
