"""Coreference in columns: both dialects, clusters counted by hand, real files, damages."""

import re
from collections import Counter

import pytest
from damaged_texts import reads_or_tells
from door_checks import same_again, written_and_read
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.document import Attribute, Document, Layer, Relation, Span
from spanloom.errors import FormatError
from spanloom.formats.coreference import KIND, CoreferenceOptions, dumps, loads

GUM = CoreferenceOptions(dialect="ontogum")


def clusters(document):
    """The mentions of each cluster, by following links back."""
    layer = document["coreference"]
    before = {each.head: each.tail for each in layer.relations}
    found = {}
    for span in layer.spans:
        first = span.id
        while first in before:
            first = before[first]
        found.setdefault(first, []).append(document.text_of(span))
    return sorted(found.values())


def conll(*cells, name="d"):
    rows = "".join(f"{name}\t0\t{n}\tw{n}\t{cell}\n" for n, cell in enumerate(cells))
    return f"#begin document ({name}); part 0\n{rows}\n#end document\n"


def gum(*cells):
    rows = "".join(f"{n}\tw{n}\t{cell}\n" for n, cell in enumerate(cells))
    return f"# begin document d\n{rows}# end document\n"


def test_documents_parts_sentences_and_clusters():
    first, second, third = loads(KIND.example)
    assert (first.name, first.text) == ("emma/1", "Emma closed her eyes\nThey rested")
    assert first.meta == (("part", "000"),)
    assert clusters(first) == [["Emma", "her"], ["her eyes", "They"]]
    assert second.name == "emma/1_part001"
    assert second.meta == (("id", "emma/1"), ("part", "001"))
    assert clusters(second) == [["New York"], ["New York"]]
    assert [each.value for each in second["coreference"].attributes] == ["a", "b"]
    assert (third.name, third.meta) == ("s00003", (("dialect", "ontogum"),))
    assert clusters(third) == [["Us"], ["Us two", "us"]]
    assert len(third["sentences"].spans) == 2


@pytest.mark.parametrize(
    "cells",
    [
        ("(0", "(1)", "0)"),
        ("(1)", "(0)"),
        ("(0|(1", "1)|0)"),
        ("(0", "0)|(0", "0)"),
        ("(0|(0", "0)", "0)"),
        ("(0)|(0)", "-"),
        ("(7)", "(0", "0)|(7)"),
        ("(x_1)", "(0)", "(x_1)"),
    ],
)
def test_every_cell_comes_back_as_it_was(cells):
    text = conll(*cells)
    found = list(loads(text))
    assert dumps(found) == text
    assert KIND.count_lost(found[0], CoreferenceOptions()) == {}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("(1(2", "2)3)", "_"), None),
        (("(1(2", "2)1)", "(1)"), [["w0 w1"], ["w0 w1", "w2"]]),
        (("(1", "1)(2", "2)"), [["w0 w1"], ["w1 w2"]]),
        (("(1", "(2)(3", "3)1)"), [["w0 w1 w2"], ["w1"], ["w1 w2"]]),
        (("(1", "1)(1)", "_"), [["w0 w1", "w1"]]),
    ],
)
def test_marks_may_stand_side_by_side(cells, expected):
    text = gum(*cells)
    if expected is None:
        with pytest.raises(FormatError, match="in:3: expected an open mention '3' to close"):
            list(loads(text, path="in"))
        return
    (found,) = loads(text)
    assert clusters(found) == expected
    assert dumps([found]) == text


def test_other_columns_stay():
    text = (
        "#begin document (a b); part 0\n"
        "a b\t0\t0\tAda\tNNP\t_\t\t\n"
        "a b\t0\t1\tran\t_\t_\t_\t(0)\n\nx\t0\t5\t\t_\t_\t_\t\n\n#end document\n"
    )
    (found,) = loads(text)
    assert found.meta == (("part", "0"), ("columns", "8"), ("none", ""))
    words = {each.id: found.text_of(each) for each in found["words"].spans}
    assert [(words[e.target], e.label, e.value) for e in found["words"].attributes] == [
        ("Ada", "column5", "NNP"),
        ("Ada", "column7", ""),
        ("_", "form", ""),
        ("_", "column1", "x"),
        ("_", "column3", "5"),
    ]
    assert dumps([found]) == text


def test_blanks_may_part_cells():
    text = "#begin document (a); part 2\na  2 0  Ada   (0)\na  2 1  ran   -\n\n#end document\n"
    (found,) = loads(text)
    assert found.meta == (("id", "a"), ("part", "2"), ("separator", "space"))
    assert dumps([found]) == re.sub(" +", " ", text)


CELLS = st.lists(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6), st.integers(0, 3)), max_size=5),
    min_size=1,
    max_size=3,
)


@given(CELLS, st.sampled_from([CoreferenceOptions(), GUM]))
def test_what_is_kept_of_drawn_clusters_reads_again(drawn, options):
    text = "\n".join(" ".join(f"w{n}" for n in range(6)) for _ in drawn)
    size = len("w0 w1 w2 w3 w4 w5\n")
    spans, last, links = [], {}, []
    for number, mentions in enumerate(drawn):
        for start, end, cluster in sorted({each for each in mentions if each[0] < each[1]}):
            at = number * size + 3 * start, number * size + 3 * end - 1
            spans.append(Span(f"T{len(spans)}", "mention", (at,)))
            if cluster in last:
                links.append(Relation(f"R{len(links)}", "coref", spans[-1].id, last[cluster]))
            last[cluster] = spans[-1].id
    document = Document(text, (Layer("coreference", tuple(spans), tuple(links)),), "d")
    (again,), (lost,) = written_and_read(KIND, [document], options=options)
    kept = len(again["coreference"].spans)
    assert lost.get("spans of layer coreference", 0) == len(spans) - kept
    if not lost:
        assert clusters(again) == clusters(document)
    assert written_and_read(KIND, [again], options=options)[0] == [again]


def test_crossing_mentions_of_a_cluster_are_lost_and_counted():
    bounds = [(0, 3), (2, 5), (4, 7), (1, 3)]
    spans = tuple(Span(f"T{n}", "mention", (each,)) for n, each in enumerate(bounds))
    arrows = tuple(Relation(f"R{n}", "coref", f"T{n}", f"T{n - 1}") for n in (1, 2))
    names = (Attribute("A1", "cluster", "T0", "a b"),)
    document = Document("a b c d", (Layer("coreference", spans, arrows, attributes=names),), "x")
    (again,), (lost,) = written_and_read(KIND, [document])
    assert clusters(again) == [["a b", "b c", "c d"]]
    assert lost == {"spans of layer coreference": 1, "attributes of layer coreference": 1}
    wide = Span("T0", "mention", ((0, 5),)), Span("T1", "mention", ((2, 7),))
    layer = Layer("coreference", wide, (Relation("R1", "coref", "T1", "T0"),))
    _, (lost,) = written_and_read(KIND, [Document("a b c d", (layer,), "x")])
    assert lost == {"spans of layer coreference": 1, "relations of layer coreference": 1}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("x\n", 1, "expected #begin document (NAME); part 0, or # begin document NAME"),
        ("#begin document (a); part 0\n", 2, "expected #end document for the one of line 1"),
        ("#begin document (a); part 0\n# begin document\n", 2, "expected #end document"),
        ("#begin document (a); part 0\n# x\n", 2, "expected a row, got '# x'"),
        ("# begin document\n0\tx\n# end document\n", 2, "expected 3 columns"),
        ("#begin document (a); part 0\na\t0\t0\t-\n#end document\n", 2, "at least 5 columns"),
        (conll("-").replace("\n\n", "\na\t0\t1\tx\ty\t-\n\n"), 3, "expected 5 columns as in"),
        (conll("-", "(0"), 3, "expected a ) for the mention '0'"),
        (conll("-", "0)"), 3, "expected an open mention '0' to close"),
        (conll("-", "0"), 3, "expected -, (ID, ID) or (ID)"),
        (conll("-\rx"), 2, "expected no carriage return"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, line, problem):
    with pytest.raises(FormatError, match=rf"^in\.conll:{line}: ") as caught:
        list(loads(text, path="in.conll"))
    assert problem in caught.value.problem


@given(documents(), st.sampled_from([CoreferenceOptions(), GUM]))
def test_any_document_is_written_and_reads_again(document, options):
    written_and_read(KIND, [document], options=options)


@pytest.mark.parametrize("name", ["s00001", "s00007", "# begin document", "a); part 3", "a\tb", ""])
def test_names_come_back(name):
    for options in (CoreferenceOptions(), GUM):
        text = dumps([Document("a", (), name)], options=options)
        (found,) = loads(text)
        assert dumps([found]) == text
        assert found.name in (name, "s00001", "_", "a_b", "a")


def test_the_sample_and_its_damages():
    assert same_again(KIND, KIND.example)
    reads_or_tells(KIND, 300)


def counted(text):
    """Mentions of each cluster, by counting its opening brackets."""
    cells = (line.rsplit("\t", 1)[-1] for line in text.split("\n") if "\t" in line)
    return Counter(name for cell in cells for name in re.findall(r"\(([^()|]+)", cell))


@pytest.mark.parametrize("name", ["conll2012-coref", "coval-lea"])
def test_golden_files_come_back(golden, name):
    cases = sorted(golden(name).glob("case*"))
    for path in (path for case in cases for path in case.glob("*.conll")):
        text = path.read_bytes().decode()
        found = list(loads(text))
        assert dumps(found) == text
        assert KIND.sniff(text[:65_536], path.name)
        for part, each in zip(text.split("#end document")[:-1], found, strict=True):
            sizes = counted(part)
            layer = each["coreference"]
            assert len(layer.spans) == sizes.total()
            assert len(layer.relations) == sizes.total() - len(sizes)
    golden.count(len(cases))


def test_one_file_of_each_corpus_comes_back(data):
    for folder in (data("litbank") / "coref-conll", data("gum") / "coref"):
        path = min(folder.glob("*.conll"), key=lambda each: each.stat().st_size)
        assert same_again(KIND, path.read_bytes().decode())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("corpus", "folder", "words"),
    [("litbank", "coref-conll", 210_532), ("gum", "coref", 233_926)],
)
def test_all_files_are_written_as_they_stand(data, corpus, folder, words):
    count = 0
    for path in sorted((data(corpus) / folder).glob("*.conll")):
        text = path.read_bytes().decode()
        (found,) = loads(text)
        assert dumps([found]) == text
        assert KIND.sniff(text[:65_536], path.name)
        assert len(found["coreference"].spans) == counted(text).total()
        count += len(found["words"].spans)
    assert count == words


def test_documents_of_both_separators_are_written_with_tabs():
    tabs, blanks = (
        next(loads(conll("(0)", "-").replace("w1", "w 1"))),
        next(loads(conll("(0)", "-", name="b").replace("\t", " "))),
    )
    assert " " in dumps([blanks])
    for mixed in ([tabs, blanks], [blanks, tabs]):
        again = list(loads(dumps(mixed)))
        assert [each.layers for each in again] == [each.layers for each in mixed]
    assert "\t" not in dumps([blanks, blanks])
