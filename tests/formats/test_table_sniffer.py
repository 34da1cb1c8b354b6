"""Tables whose columns have other names, or none: how their layout is found out."""

import csv
import io

import pytest

from spanloom.annotation.text_pairs import classification_of, text_pair
from spanloom.formats import _files, table
from spanloom.formats._table_sniffer import sniff_layout

REVIEWS = [
    ("A great, really great film", "5"),
    ('Bad; "very" bad', "1"),
    ("So\nso | la la", "3"),
    ("Nice one\tindeed", "5"),
    ("It is good enough", "5"),
]


def written(rows, separator, quoting=csv.QUOTE_MINIMAL):
    """A table as Python's csv writes it."""
    out = io.StringIO()
    csv.writer(out, delimiter=separator, quoting=quoting, lineterminator="\n").writerows(rows)
    return out.getvalue()


def read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert _files.guess(path) == "table"
    return list(_files.read(path, table.KIND, _files.sniff_options(path, table.KIND)))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("header", [("Review", "stars"), None])
def test_what_csv_writes_is_read(tmp_path, separator, quoting, header):
    reviews = 2 * REVIEWS
    rows = [header, *reviews] if header else reviews
    documents = read(tmp_path, "a.csv", written(rows, separator, quoting))
    texts = [(document.text, classification_of(document, "label").label) for document in documents]
    assert texts == reviews


@pytest.mark.parametrize(
    ("names", "number"),
    [
        (("premise", "hypothesis", "class"), None),
        (("sentence1", "sentence2", "score"), 2.5),
        (("Text_A", "Text_B", "Similarity"), 2.5),
    ],
)
def test_pairs_have_classes_or_numbers(tmp_path, names, number):
    rows = [names, ("A man sleeps.", "He sleeps.", "2.5"), ("A dog, old", "A cat", "1")]
    first, _ = read(tmp_path, "a.tsv", written(rows, "\t"))
    assert [first.text[span.start : span.end] for span in text_pair(first)] == list(rows[1][:2])
    (layer,) = {layer.name for layer in first.layers} - {"parts"}
    assert classification_of(first, layer).value == number


def test_many_values_are_numbers_and_few_are_classes():
    def layout(values):
        return sniff_layout(written([("text", "rating"), *(("a text", v) for v in values)], ","))

    assert layout(["1", "2", "5"])["label"] == "rating"
    assert layout(["1", "2.5", "5"])["number"] == "rating"
    assert layout(map(str, range(20)))["number"] == "rating"


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "1e999"])
def test_cells_that_are_no_finite_numbers_are_classes(value):
    rows = [("a text", value), ("another text", "1.5"), ("the third text", value)]
    assert sniff_layout(written([("text", "rating"), *rows], ","))["label"] == "rating"
    assert sniff_layout(written([("a longer text", cell) for _, cell in rows * 3], ","))["label"]


def test_an_id_column_names_the_documents(tmp_path):
    rows = [("guid", "text", "label"), ("x/1", "Ada slept", "A"), ("x/2", "Bob", "B")]
    assert [document.name for document in read(tmp_path, "a.csv", written(rows, ","))] == [
        "x/1",
        "x/2",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "EU\tB-ORG\nrejects\tO\nGerman\tB-MISC\ncall\tO\n",  # words and tags
        "a,b\n1,2\n",
        "only one column of some text\nand another line\n",
        "name,age\nAda,36\nBob,41\n",
        "text,label\n",
        "text,text\na,b\n",
        "",
    ],
)
def test_other_files_are_no_tables_of_texts(text):
    assert sniff_layout(text) is None


def test_rows_that_the_head_cuts_off_do_not_count():
    text = written([("review", "label"), *(("word " * 50, "A") for _ in range(400))], ",")
    assert sniff_layout(text[:30_000])["text"] == "review"


def test_the_public_layouts_stay_as_they_were():
    head = "index\tsentence\tlabel\n1\ta film\t1\n"
    assert "separator" not in table.KIND.sniff_options(head)


def test_how_a_file_is_read_is_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(written([("review", "stars"), *REVIEWS], ";"), encoding="utf-8")
    told = _files.describe(path)
    assert told.startswith("table (text: review, label: stars, ")
    assert "separator: semicolon" in told


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@pytest.mark.parametrize("others", [(), ("id",), ("id", "date")])
def test_texts_without_labels_are_read_by_the_name_of_their_column(tmp_path, name, others):
    texts = ["Ada met Bob.\nShe left.", 'He said "hi", and went']
    rows = [(*others, "text"), *((*map(str, range(len(others))), text) for text in texts)]
    separator = "\t" if name.endswith("tsv") else ","
    documents = read(tmp_path, name, written(rows, separator, csv.QUOTE_ALL))
    assert [document.text for document in documents] == texts
    assert all(not layer.spans for document in documents for layer in document.layers)
