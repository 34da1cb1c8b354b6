"""Tables: every real file comes back, columns may be any, what is wrong is told kindly."""

import csv
import io

import pytest
from damaged_texts import reads_or_tells, written_and_read
from drawn_documents import documents
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from spanloom.annotation.text_pairs import Classification, classification_of, text_pair
from spanloom.document import Document, Layer, Query, Span
from spanloom.errors import FormatError
from spanloom.formats import Names, table
from spanloom.formats.table import TableOptions, format_row, rows

FILES = [
    ("cola", "glue/cola/in_domain_dev.tsv", 527),
    pytest.param("cola", "glue/cola/in_domain_train.tsv", 8551, marks=pytest.mark.slow),
    ("cola", "glue/cola/out_of_domain_dev.tsv", 516),
    ("mrpc", "glue/mrpc/dev.txt", 1500),
    ("mrpc", "glue/mrpc/test.txt", 1725),
    pytest.param("mrpc", "glue/mrpc/train.txt", 2576, marks=pytest.mark.slow),
    ("rte", "glue/rte/dev.tsv", 277),
    pytest.param("rte", "glue/rte/train.tsv", 2490, marks=pytest.mark.slow),
    ("stsb", "glue/stsb/dev.tsv", 1500),
    ("stsb", "glue/stsb/test.tsv", 1500),
    pytest.param("stsb", "glue/stsb/train.tsv", 4249, marks=pytest.mark.slow),
    ("sst2", "sst2/dev.tsv", 872),
    ("sst2", "sst2/test.tsv", 1821),
    pytest.param("sst2", "sst2/train.tsv", 6920, marks=pytest.mark.slow),
    pytest.param("sick", "sick/SICK.txt", 9840, marks=pytest.mark.slow),
]


def _loads(text, /, **options):
    return list(table.loads(text, path="in.tsv", options=TableOptions(**options)))


def text_and_label(document):
    return document.text, classification_of(document, "label")


def _dumps(documents, /, **options):
    return table.dumps(documents, options=TableOptions(**options))


def _refused(text, /, **options):
    with pytest.raises(FormatError) as caught:
        _loads(text, **options)
    return str(caught.value)


@pytest.mark.parametrize(("preset", "name", "count"), FILES)
def test_a_real_file_comes_back(data, preset, name, count):
    text = (data(name.split("/")[0]) / name.split("/", 1)[1]).read_bytes().decode()
    found = _loads(text, preset=preset)
    assert len(found) == len({each.name for each in found}) == count
    assert _dumps(found, preset=preset) == text
    layers = [each for each in TableOptions(preset=preset).whole.layers if found[0].has_layer(each)]
    assert all(classification_of(each, layers[0]) for each in found)
    for each in found[::50]:
        assert table.count_lost(each, TableOptions(preset=preset)) == {}
    header = text.removeprefix("\ufeff").split("\t")[0] in ("index", "Quality", "pair_ID")
    by_cells = preset == "sst2"  # no header, but two columns: texts, and few labels
    assert table.sniff(text[:65_536], name) == (header or by_cells)
    if by_cells:
        sniffed = _loads(text, **table.KIND.sniff_options(text[:65_536]))
        assert [*map(text_and_label, sniffed)] == [*map(text_and_label, found)]


@pytest.mark.slow
def test_the_parts_of_sick(data):
    text = (data("sick") / "SICK.txt").read_bytes().decode()
    counts = {"TRAIN": 4439, "TRIAL": 495, "TEST": 4906}
    for part, count in counts.items():
        found = _loads(text, preset="sick", filter={"SemEval_set": part})
        assert len(found) == count
        assert {dict(each.meta)["SemEval_set"] for each in found} == {part}
    first = next(table.loads(text, options=TableOptions(preset="sick")))
    assert first.name == "1"
    assert classification_of(first, "entailment") == Classification("NEUTRAL")
    assert classification_of(first, "relatedness") == Classification("relatedness_score", 4.5)
    assert first.text_of(text_pair(first)[1]).startswith("A group of boys in a yard is playing")


def test_the_sample_says_what_it_means():
    found = list(table.loads(table.KIND.example))
    assert [each.name for each in found] == ["a/1", "a/2", "b"]
    assert [classification_of(each, "label") for each in found] == [
        Classification("positive"),
        Classification("negative"),
        None,
    ]
    assert table.dumps(found) == table.KIND.example
    assert table.sniff(table.KIND.example, "a.tsv")
    assert [table.count_lost(each) for each in found] == [{}, {}, {}]


GLUE = {
    "cola": "index\tsentence\n0\tBill ran.\n",
    "sst2": "sentence\tlabel\nfine film\t1\n",
    "mrpc": "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\ta b\tc\n",
    "qnli": "index\tquestion\tsentence\tlabel\n0\tWhat?\tThat .\tentailment\n",
    "qqp": "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n7\t1\t2\tWhy?\tHow?\t0\n",
    "rte": "index\tsentence1\tsentence2\n0\ta\tb\n",
    "mnli": "genre\tpairID\tsentence1\tsentence2\tlabel1\tgold_label\nf\t3n\ta\tb\tc\t-\n",
    "snli-tsv": "gold_label\tsentence1\tsentence2\tpairID\n-\ta\tb\t1.jpg#0\nneutral\ta\t\t1\n",
}


@pytest.mark.parametrize("preset", GLUE)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff", "\n\n"])
def test_layouts_of_other_releases_come_back(preset, end, start):
    text = start + GLUE[preset].replace("\n", end)
    found = _loads(text, preset=preset)
    assert _dumps(found, preset=preset) == text
    labelled = any(name in text for name in ("label", "is_duplicate"))
    assert found[0].has_layer("label") == labelled
    assert table.sniff(text, "x") == (labelled and end in text.lstrip("\ufeff"))


def test_no_gold_is_an_empty_layer_and_kept():
    first, second = _loads(GLUE["snli-tsv"], preset="snli-tsv")
    assert classification_of(first, "label") is None
    assert first.name == "1.jpg#0"
    assert dict(first.meta)["gold_label"] == "-"
    assert classification_of(second, "label") == Classification("neutral")
    said = first.with_layer(second["label"])
    assert _dumps([said], preset="snli-tsv").split("\n")[1].startswith("neutral\ta\tb")


def test_what_was_annotated_gets_a_column():
    (document,) = _loads(GLUE["cola"], preset="cola")
    said = document.with_layer(Layer("label", (Span("T1", "1", ((0, 9),)),)))
    written = _dumps([said], preset="cola")
    assert written == "index\tsentence\tlabel\n0\tBill ran.\t1\n"
    assert classification_of(_loads(written, preset="cola")[0], "label") == Classification("1")


def test_columns_by_number_without_a_header():
    text = "x\tfine\tpos\t0.50\ny\tbad\tneg\t-1\n"
    options = {"text": 2, "label": 3, "number": 4, "id": None}
    found = _loads(text, **options)
    assert [classification_of(each, "label") for each in found] == [
        Classification("pos", 0.5),
        Classification("neg", -1.0),
    ]
    assert found[0].name == "s00001"
    assert found[0].meta == (("column 1", "x"),)
    assert _dumps(found, **options) == text
    apart = _loads(text, **options, number_layer="degree")
    assert classification_of(apart[0], "degree") == Classification("value", 0.5)
    assert _dumps(apart, **options, number_layer="degree") == text


def test_columns_by_number_with_a_header_and_rows_by_value():
    text = "set\ttext\tlabel\ntrain\ta\tx\ndev\tb\ty\n"
    (document,) = _loads(text, text=2, label=3, header=True, filter={"set": "dev"})
    assert (document.text, document.name) == ("b", "s00002")
    (document,) = _loads("a\tx\nb\ty\n", text=1, label=2, filter={"column 2": "y"})
    assert document.text == "b"


def test_ids_become_names_that_differ():
    found = _loads("id\ttext\n/a\tx\n/a\ty\n..\tz\n\tw\n")
    assert [each.name for each in found] == ["_/a", "_/a~2", "__", "_"]
    assert [dict(each.meta).get("id") for each in found] == ["/a", "/a", "..", ""]
    assert _dumps(found) == "id\ttext\n/a\tx\n/a\ty\n..\tz\n\tw\n"
    text = "key\tid\ttext\n../1\tother\tx\n2\tother\ty\n"
    found = _loads(text, id="key")
    assert _dumps(found, id="key") == text


def test_quoted_cells_hold_anything():
    text = 'id,text,label\r\n1,"a ""b"",\r\nc",x\r\n2,plain "word",y\r\n'
    options = {"separator": "comma", "quoting": True}
    first, second = _loads(text, **options)
    assert first.text == 'a "b",\r\nc'
    assert second.text == 'plain "word"'
    assert list(csv.reader(io.StringIO(text, newline="")))[1][1] == first.text
    written = _dumps([first, second], **options)
    assert written == text.replace('plain "word"', '"plain ""word"""')


CELL = st.text(st.sampled_from('ab",\t \n\r\u2028😀'), max_size=5)


@given(st.lists(st.lists(CELL, min_size=2, max_size=3), min_size=1, max_size=3))
@pytest.mark.parametrize("separator", ["tab", "comma"])
def test_quoting_is_that_of_the_csv_module(separator, cells):
    options = TableOptions(separator=separator, quoting=True)
    text = "".join(format_row(row, options) + "\n" for row in cells)
    assert [row.cells for row in rows(text, options, "")] == cells
    oracle = csv.reader(io.StringIO(text, newline=""), delimiter=options.parting, strict=True)
    assert list(oracle) == cells
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=options.parting, lineterminator="\r\n").writerows(cells)
    assert [row.cells for row in rows(stream.getvalue(), options, "")] == cells


OPTIONS = [
    {},
    {"quoting": True},
    {"separator": "comma", "quoting": True, "text_pair": "b"},
    {"text": 1, "label": 2, "id": None},
    {"text": 3, "text_pair": 1, "label": "l", "number": "n", "header": True},
    {"preset": "sick"},
    {"preset": "sick", "number_layer": "entailment", "filter": {"SemEval_set": "x"}},
    {"preset": "stsb", "layer": "main"},
    {"preset": "snli-tsv", "layer": "main", "header": False},
    {"preset": "cola", "text": 1, "label": 2},
    {"text": "meta", "columns": ("a", "meta"), "id": None, "label": "a", "missing_label": "-"},
]


def test_columns_of_all_tables_are_written():
    """Documents of tables with other columns, in one table."""
    head, values = "id\ttext\tlabel\t", ("by\na\tWell\tx\tAda\n", "year\nb\tSo\ty\t1999\n")
    both = [document for rows in values for document in _loads(head + rows)]
    text = table.KIND.dumps(both)
    assert text == head + "by\tyear\na\tWell\tx\tAda\t\nb\tSo\ty\t\t1999\n"
    assert [dict(document.meta).get("year") for document in _loads(text)] == ["", "1999"]


@given(st.lists(documents(lines=False, scores=True), max_size=3), st.sampled_from(OPTIONS))
@settings(max_examples=40)
def test_any_document_is_written_and_read_again(many, said):
    options = TableOptions(**{**said, "filter": {}})
    found = written_and_read(table.KIND, many, options)
    assert len(found) == len(many)
    assert written_and_read(table.KIND, found, options) == found
    for each in many:
        table.count_lost(each, TableOptions(**said))


TEXT = st.text(st.sampled_from("ab \n\t'é😀"), max_size=6)
LABEL = st.none() | st.sampled_from(["x", "not entailed", "-", "1"])
NUMBER = st.none() | st.floats(allow_nan=False, allow_infinity=False).map(repr)
ROWS = st.lists(st.tuples(TEXT, TEXT, LABEL, NUMBER), min_size=1, max_size=3)


@given(ROWS, st.booleans())
def test_texts_labels_and_numbers_come_back(said, pairs):
    options = {"quoting": True, "number": "n", "number_layer": "n"}
    options |= {"text_pair": "other"} if pairs else {}
    cells = [["text", "other", "label", "n"]]
    cells += [[a, b, label or "", number or ""] for a, b, label, number in said]
    text = "".join(format_row(row, TableOptions(quoting=True)) + "\n" for row in cells)
    found = _loads(text, **options)
    assert _dumps(found, **options) == text
    for (first, second, label, number), each in zip(said, found, strict=True):
        assert classification_of(each, "label") == (Classification(label) if label else None)
        assert classification_of(each, "n") == (
            Classification("n", float(number)) if number else None
        )
        ends = [each.text[span.start : span.end] for span in text_pair(each)]
        assert ends == ([first.strip(), second.strip()] if pairs else [])
        assert each.text == (f"{first}\n{second}" if pairs else first)


def test_documents_from_elsewhere_make_columns_of_their_meta():
    many = [
        Document("a\tb", (Layer("label", (Span("T1", "x", ((0, 3),)),)),), "n/1", (("by", "Ada"),)),
        Document("c", (), "n/2", (("year", "1999"), ("line end", "no"))),
    ]
    assert table.dumps(many) == "id\ttext\tlabel\tby\tyear\nn/1\ta b\tx\tAda\t\nn/2\tc\t\t\t1999\n"
    assert table.count_lost(many[0]) == {"blanks and line breaks": 1}
    assert table.count_lost(many[1]) == {"values of the document": 1}
    assert table.count_lost(Document("a", name="n", queries=(Query("q", "?"),))) == {"queries": 1}


def test_a_wrong_column_is_told_with_the_nearest():
    text = "index\tsentence\tlabel\n0\ta\tb\n"
    message = _refused(text, text="sentense")
    known = "known: index, label, sentence"
    assert message == f"in.tsv:1: no column 'sentense'; did you mean 'sentence'? ({known})"
    assert "in.tsv:1: no column 'text'" in _refused(text)
    assert "no column 'lable'; did you mean 'label'" in _refused(
        text, text="sentence", label="lable"
    )
    assert "no column 4" in _refused("a\tb\tc\n", text=4)
    assert "no column 'part'" in _refused(text, text="sentence", filter={"part": "x"})


@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        ("text\tlabel\na\tb\n\nc\n", {}, ":4: expected 2 cells (text, label), got 1"),
        ("\n\ntext\tlabel\na\tb\tc", {}, ":4: expected 2 cells (text, label), got 3"),
        ("a\tb\n", {"preset": "cola"}, ":1: expected 4 cells (source, label"),
        ("text\tn\na\tx\n", {"number": "n"}, ":2: expected a finite number, got 'x'"),
        ("text\tn\na\tinf\n", {"number": "n"}, ":2: expected a finite number, got 'inf'"),
        ("text\tlabel\tn\na\t\t1\n", {"number": "n"}, ":2: expected a label beside the number '1'"),
        ("text\tline end\na\tb\n", {}, ":1: expected no column of the name 'line end'"),
        ('text\n"a\n', {"quoting": True}, ":2: expected a cell, got '\"a\\n'"),
        (
            'text\n"a"b\n',
            {"quoting": True},
            ":2: expected the end of a cell or of the line, got 'b",
        ),
        ("text\na\rb\n", {"quoting": True}, ":2: expected the end of a cell"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, options, problem):
    assert problem in _refused(text, **options)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"header": False}, "where no header names them, got 'text'"),
        ({"preset": "rte", "header": False, "label": "lable"}, "did you mean 'label'?"),
        ({"preset": "imdb"}, "cola"),
        ({"text": 0}, "greater than or equal to 1"),
    ],
)
def test_options_that_cannot_be_are_refused(options, problem):
    with pytest.raises(ValidationError, match=problem.replace("?", r"\?")):
        TableOptions(**options)


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "text\tlabel\n", "\r\n\r\n"])
def test_a_table_without_rows_has_no_documents(text):
    assert _loads(text) == []


@pytest.mark.parametrize(
    "head",
    [
        "",
        "text",
        "text\tlabel",
        "text\tlabel\na\tb\tc\n",
        "title\tbody\na\tb\n",
        "a\tb\nc\td\n",
        "Ada\tNNP\nmet\tVBD\n",
        "text\ttext\tlabel\na\tb\tc\n",
        '{"text": "a"}\n{"text": "b"}\n',
    ],
)
def test_only_known_headers_are_looked_for(head):
    assert not table.sniff(head, "a.tsv")


def test_names_are_paths_and_differ():
    names = Names()
    wanted = ["a", "a", "a~2", "/x//../y\\z", "", " .", "\ud800\x00", "é" * 300]
    made = [names.of(each) for each in wanted]
    assert made == ["a", "a~2", "a~2~2", "_/x/_/__/y_z", "_", "__", "__~2", "é" * 100]


@pytest.mark.parametrize(
    "options", [{}, {"quoting": True}, {"header": True, "text": 2, "label": 3}]
)
def test_damaged_files_are_read_or_refused(options):
    reads_or_tells(table.KIND, 300, options=TableOptions(**options))


@pytest.mark.slow
def test_twenty_thousand_damaged_files_are_read_or_refused():
    reads_or_tells(table.KIND, 20_000, seed=2)
    reads_or_tells(table.KIND, 20_000, seed=3, options=TableOptions(quoting=True))
