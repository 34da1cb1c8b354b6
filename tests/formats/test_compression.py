"""Compressed sentences: three files beside one; the real ones word by word, and what is wrong."""

import pytest
from damaged_texts import reads_or_tells
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.config.options import Options
from spanloom.document import Document, Layer, Span
from spanloom.errors import FormatError, StorageError
from spanloom.formats import read, write
from spanloom.formats.compression import KIND, LAYERS, dumps, loads


def load(made):
    return list(loads(made[""], **{layer: made[layer] for layer in LAYERS}))


def kept(document, layer):
    return [document.text_of(each) for each in document[layer].spans]


def test_the_sample():
    first, second = load(KIND.example)
    assert (first.name, first.text) == ("s00001", "What are you seeing on the coast road there ?")
    assert kept(first, "compression") == ["What are you seeing", "?"]
    assert kept(first, "compression2") == ["What are you seeing", "there ?"]
    assert kept(second, "compression") == ["Hello ."]
    assert second["compression2"] == Layer("compression2")
    assert not second.has_layer("compression3")
    assert dumps([first, second]) == KIND.example
    assert not any(KIND.count_lost(each, Options()) for each in (first, second))


def test_few_runs_are_better_than_early_words():
    (found,) = loads("the dog saw the cat\n", compression="the cat\n")
    assert kept(found, "compression") == ["the cat"]


def test_files_stand_beside_the_first(tmp_path):
    written = write(tmp_path / "input.txt", load(KIND.example), KIND, Options())
    assert [each.name for each in written] == ["input.txt", *KIND.sidecars.values()]
    assert list(read(tmp_path / "input.txt", KIND, Options())) == load(KIND.example)


def test_files_beside_another_first_are_not_replaced(tmp_path):
    documents = load(KIND.example)
    write(tmp_path / "input.txt", documents, KIND, Options())
    before = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    for names in ({}, {"compression": "a.comp"}):
        with pytest.raises(
            StorageError, match=r"gold\.\d\.comp: not replaced.*compression\d?=NAME"
        ):
            write(tmp_path / "other.txt", documents[:1], KIND, Options(), names)
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == before
    write(tmp_path / "input.txt", documents[:1], KIND, Options())
    assert list(read(tmp_path / "input.txt", KIND, Options())) == documents[:1]
    named = {key: f"other.{key}" for key in KIND.sidecars}
    write(tmp_path / "other.txt", documents, KIND, Options(), named)
    assert list(read(tmp_path / "other.txt", KIND, Options(), named)) == documents


@pytest.mark.parametrize(
    ("kept", "line", "problem"),
    [
        ("a\n", 2, "compression: expected 2 lines as in x.txt, got 1"),
        ("a\nc\nd\n", 2, "compression: expected 2 lines as in x.txt, got 3"),
        ("a\nd c\n", 2, "expected words of the sentence in their order, got 'c' as word 2"),
        ("a a\nc\n", 1, "got 'a' as word 2"),
    ],
)
def test_errors_say_where_and_what(kept, line, problem):
    with pytest.raises(FormatError, match=problem) as caught:
        list(loads("a b\nc d\n", path="x.txt", compression=kept))
    assert (caught.value.path, caught.value.line) == ("x.txt", line)


def test_what_has_no_place_is_counted():
    spans = (
        Span("T1", "keep", ((0, 1),)),
        Span("T2", "other", ((4, 5),)),
        Span("T3", "keep", ((6, 8),)),
    )
    document = Document("a b c def", (Layer("compression", spans),))
    assert dumps([document]) == dict.fromkeys(LAYERS[1:], "") | {
        "": "a b c def\n",
        "compression": "a c\n",
    }
    assert KIND.count_lost(document, Options()) == {"spans of layer compression": 2}


@given(drawn=st.lists(documents(lines=False, scores=True), max_size=3))
def test_any_document_can_be_written_and_read(drawn):
    again = load(dumps(drawn))
    assert len(again) == len(drawn)
    assert load(dumps(again)) == again
    for each in drawn:
        KIND.count_lost(each, Options())


def test_damaged_samples_are_read_or_refused():
    reads_or_tells(KIND, 200)
    reads_or_tells(KIND, 300, 2, compression=KIND.example["compression"])


def test_only_the_name_tells():
    assert KIND.sniff("a b c\n", "data/input.txt")
    assert not KIND.sniff("a b c\n", "story.txt")


def test_real_files(data):
    folder = data("compression-bcn")
    names = {"": "input.txt", **KIND.sidecars}
    made = {key: (folder / name).read_bytes().decode() for key, name in names.items()}
    found = load(made)
    assert len(found) == 1370
    assert dumps(found) == made
    for layer in LAYERS:
        lines = made[layer].split("\n")
        words = [" ".join(kept(each, layer)).split() for each in found]
        assert words == [line.split() for line in lines[:-1]]
