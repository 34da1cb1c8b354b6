"""Tables of pandas, and Hugging Face datasets."""

import io

import datasets
import pyarrow
import pyarrow.parquet
import pytest

from spanloom import (
    Argument,
    Attribute,
    Document,
    Event,
    Layer,
    Relation,
    Span,
    SpanloomError,
    errors,
)
from spanloom.annotation.comparable import comparable
from spanloom.errors import (
    DataError,
    FormatError,
    LayerError,
    LossWarning,
    NameNotFound,
    PackageMissing,
)
from spanloom.formats import jsonl
from spanloom.interchange.datasets import from_dataset, from_tags, to_dataset, to_tags
from spanloom.interchange.pandas import COLUMNS, to_pandas
from spanloom.interchange.parquet import parquet_chunks, read_parquet

MAIN = Layer(
    "main",
    (Span("T1", "person", ((0, 3),), 0.5), Span("T2", "meet", ((4, 7), (12, 13)))),
    (Relation("R1", "agent", "T2", "T1", score=0.25),),
    (Event("E1", "meet", "T2", (Argument("who", "T1"),)),),
    (Attribute("A1", "past", "E1"), Attribute("A2", "sure", "T1", "very")),
)
DOCUMENT = Document("Ada met Bob .", (MAIN,), "a")


def test_a_row_an_annotation():
    frame = to_pandas(DOCUMENT)
    assert list(frame.columns) == list(COLUMNS)
    assert list(frame["kind"]) == ["span", "span", "relation", "argument", "attribute", "attribute"]
    by_id = frame.set_index("id")
    assert by_id.loc["T2", ["start", "end", "text"]].tolist() == [4, 13, "met ."]
    assert by_id.loc["R1", ["head", "tail", "score"]].tolist() == ["T2", "T1", 0.25]
    assert by_id.loc["E1", ["label", "head", "tail"]].tolist() == ["who", "T2", "T1"]
    assert by_id.loc["A2", ["label", "head", "text"]].tolist() == ["sure", "T1", "very"]
    assert by_id["score"].isna().sum() == 4
    assert frame["start"].dtype == "Int64"


def test_many_documents_and_none():
    assert list(to_pandas([DOCUMENT, DOCUMENT])["document"]) == ["a"] * 12
    empty = to_pandas([])
    assert list(empty.columns) == list(COLUMNS)
    assert empty["score"].dtype == "Float64"


def test_a_dataset_holds_all_of_a_document():
    dataset = to_dataset([DOCUMENT, Document("bare", name="b")])
    assert dataset["text"][:] == [DOCUMENT.text, "bare"]
    back = list(from_dataset(dataset))
    assert [comparable(document) for document in back] == [
        comparable(document) for document in (DOCUMENT, Document("bare", name="b"))
    ]
    assert back[0]["main"].spans[0].score == 0.5


def test_texts_of_any_dataset_are_documents():
    dataset = datasets.Dataset.from_dict({"sentence": ["One.", "Two."], "label": [0, 1]})
    assert [document.text for document in from_dataset(dataset, text="sentence")] == [
        "One.",
        "Two.",
    ]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"sentence": "a", "label": 0}, "expected a text in 'text', got the columns sentence, lab"),
        ({"text": None}, "expected a text in 'text', got None"),
        ({"text": 7, "standoff": None}, "expected a text in 'text', got 7"),
        ({"text": "a", "standoff": 7}, "expected a line of JSON in 'standoff', got 7"),
        ({"standoff": {"text": "a"}}, "expected a line of JSON in 'standoff', got {'text': 'a'}"),
        ({"standoff": "{"}, "not JSON"),
        ({"standoff": '{"name": "a"}'}, "not a document"),
    ],
)
def test_a_row_that_is_no_document_is_named(row, problem):
    with pytest.raises(FormatError) as caught:
        list(from_dataset([{"text": "a"}, row], path="in.parquet"))
    assert str(caught.value).startswith(f"in.parquet: row 1: {problem}")
    with pytest.raises(FormatError) as caught:
        list(read_parquet(io.BytesIO(parquet(pyarrow.Table.from_pylist([row]))), "in.parquet"))
    assert str(caught.value).startswith(f"in.parquet: row 0: {problem}")


def parquet(table):
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def test_a_string_that_is_not_utf8_is_named_with_its_row():
    texts = pyarrow.array([b"a", b"caf\xe9"]).view(pyarrow.string())
    stream = io.BytesIO(parquet(pyarrow.table({"text": texts})))
    documents = read_parquet(stream, "in.parquet")
    assert next(documents).text == "a"
    with pytest.raises(FormatError, match=r"^in\.parquet: row 1: not utf-8: "):
        next(documents)


def test_only_the_columns_of_a_document_are_read():
    late = pyarrow.array([2**62], pyarrow.timestamp("ms"))  # a time that Python has not

    def documents(**columns):
        return list(read_parquet(io.BytesIO(parquet(pyarrow.table(columns))), "in.parquet"))

    assert documents(when=late, text=["a"], name=["b"]) == [Document("a", name="b")]
    with pytest.raises(FormatError, match="expected a text in 'text', got the columns when, body"):
        documents(when=late, body=["a"])
    with pytest.raises(FormatError, match=r"^in\.parquet: row 0: Python int too large"):
        documents(text=late)


def test_large_documents_are_written_and_read_in_small_pieces():
    lines = [jsonl.dumps([Document(f"{n} " * 50_000, name=f"d{n}")]).encode() for n in range(200)]
    raw = b"".join(parquet_chunks(lines))
    metadata = pyarrow.parquet.ParquetFile(io.BytesIO(raw)).metadata
    groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    most = max(map(len, lines))
    assert sum(groups) == 200
    assert max(groups) * most < 12 * 2**20
    table, one_group = pyarrow.parquet.read_table(io.BytesIO(raw)), io.BytesIO()
    pyarrow.parquet.write_table(table, one_group, write_batch_size=1)  # small pages, as Spark's
    assert pyarrow.parquet.ParquetFile(one_group).metadata.num_row_groups == 1
    one_group.seek(0)
    del table
    before, peak = pyarrow.total_allocated_bytes(), 0
    for number, document in enumerate(read_parquet(one_group, "x")):
        assert document.name == f"d{number}"
        peak = max(peak, pyarrow.total_allocated_bytes() - before)
    assert peak < sum(map(len, lines)) / 2


def test_half_a_character_comes_back_from_standoff():
    document = Document("a\ud800", name="\ud800")
    dataset = to_dataset([document])
    assert (dataset["name"][0], dataset["text"][0]) == ("?", "a?")
    assert list(from_dataset(dataset)) == [document]
    lines = [jsonl.dumps([document]).encode()]
    data = b"".join(parquet_chunks(lines))
    assert list(read_parquet(io.BytesIO(data), "in.parquet")) == [document]


def tagged():
    kinds = {
        "id": datasets.Value("string"),
        "tokens": datasets.List(datasets.Value("string")),
        "ner_tags": datasets.List(datasets.ClassLabel(names=["O", "B-PER", "I-PER"])),
    }
    rows = [{"id": "x", "tokens": ["Ada", "Lovelace", "left"], "ner_tags": [1, 2, 0]}]
    return datasets.Dataset.from_list(rows, features=datasets.Features(kinds))


def test_a_text_without_words_is_divided_as_models_divide_it():
    text = "Ada Lovelace met Bob, in London. She left."
    spans = [Span("T1", "PER", ((0, 12),)), Span("T2", "PER", ((17, 20),))]
    spans.append(Span("T3", "LOC", ((25, 31),)))
    rows = to_tags([Document(text, (Layer("ner", tuple(spans)),))], "ner")
    names = rows.features["tags"].feature.names
    assert [*rows["tokens"]] == [
        ["Ada", "Lovelace", "met", "Bob", ",", "in", "London", "."],
        ["She", "left", "."],
    ]
    first = [names[tag] for tag in rows["tags"][0]]
    assert first == ["B-PER", "I-PER", "O", "B-PER", "O", "O", "B-LOC", "O"]


def test_spans_that_tags_cannot_express_are_told():
    spans = (Span("T1", "PER", ((0, 3),)), Span("T2", "PER", ((0, 2),)))
    document = Document("Ada left.", (Layer("ner", spans),), name="one")
    with pytest.warns(
        LossWarning, match="^one: tags have no place for 1 of 2 spans of layer"
    ) as told:
        to_tags([document], "ner")
    assert told[0].filename == __file__, "where it was called"


def test_sentences_with_classes_as_tags():
    (document,) = from_tags(tagged(), {"ner": "ner_tags"})
    assert document.text == "Ada Lovelace left"
    (span,) = document["ner"].spans
    assert (span.label, document.text_of(span)) == ("PER", "Ada Lovelace")
    again = to_tags([document], "ner")
    assert again["tokens"][0] == ["Ada", "Lovelace", "left"]
    names = again.features["tags"].feature.names
    assert [names[tag] for tag in again["tags"][0]] == ["B-PER", "I-PER", "O"]
    bioes = to_tags([document], "ner", scheme="BIOES")
    assert [bioes.features["tags"].feature.names[tag] for tag in bioes["tags"][0]] == [
        "B-PER",
        "E-PER",
        "O",
    ]


def test_labels_with_dashes_and_plain_tags():
    layer = Layer("pos", (Span("T1", "X-Y", ((0, 1),)), Span("T2", "O-Z", ((2, 3),))))
    document = Document("a b", (layer,), "d")
    for scheme in ("BIO", "none"):
        dataset = to_tags([document], "pos", scheme=scheme)
        (back,) = from_tags(dataset, {"pos": "tags"}, scheme=scheme)
        assert [span.label for span in back["pos"].spans] == ["X-Y", "O-Z"]


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        (lambda: list(from_tags(tagged(), {"ner": "nertags"})), NameNotFound, "mean 'ner_tags'"),
        (lambda: list(from_tags(tagged(), {"ner": "id"}, tokens="token")), NameNotFound, "tokens"),
        (lambda: to_tags([DOCUMENT], "main", scheme="BOI"), NameNotFound, "BIO"),
        (lambda: to_tags([DOCUMENT], "nobody"), LayerError, "main"),
    ],
)
def test_what_is_not_there_is_named(asked, error, says):
    with pytest.raises(error, match=says) as caught:
        asked()
    assert isinstance(caught.value, SpanloomError)


def test_an_extra_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(PackageMissing, match=r"^to_pandas needs pandas.*'spanloom\[pandas\]'"):
        to_pandas(DOCUMENT)
    for convert in (lambda: to_dataset([]), lambda: to_tags([], "main")):
        with pytest.raises(PackageMissing, match=r"needs datasets.*'spanloom\[datasets\]'"):
            convert()


def test_a_tag_a_word():
    dataset = datasets.Dataset.from_list([{"tokens": ["a", "b"], "tags": ["O"]}])
    with pytest.raises(DataError, match="1 of 2 words"):
        list(from_tags(dataset, {"ner": "tags"}))


def classes_of_tags(tags):
    column = datasets.List(datasets.ClassLabel(names=["O", "B-PER"]))
    types = datasets.Features({"tokens": datasets.List(datasets.Value("string")), "tags": column})
    return datasets.Dataset.from_list([{"tokens": ["a", "b"], "tags": tags}], features=types)


def test_a_row_without_labels_gets_no_layer():
    (document,) = from_tags(classes_of_tags([-1, -1]), {"ner": "tags"})
    assert document.text == "a b"
    assert not document.has_layer("ner")


@pytest.mark.parametrize("tags", [[0, -1], [1, -100], [-100, -100]])
def test_an_index_of_no_class_is_named(tags):
    problem = f"row 0, 'tags': expected a string or the index of one of 2 classes, got {tags[1]}"
    with pytest.raises(DataError, match=problem):
        list(from_tags(classes_of_tags(tags), {"ner": "tags"}))


def test_indices_without_classes_are_named():
    dataset = datasets.Dataset.from_list([{"tokens": ["a", "b"], "tags": [0, 1]}])
    with pytest.raises(DataError, match="index of one of 0 classes, got 0"):
        list(from_tags(dataset, {"ner": "tags"}))
