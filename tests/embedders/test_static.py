"""Static vectors: every file format against plain parsing, broken files, lookup, saving."""

import gzip

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.config.options import validate_options
from spanloom.config.yaml import loads
from spanloom.embedders import BuildContext, static
from spanloom.embedders.static import KIND, MAX_DIM, VOCABULARY, Options, Static, read_vectors
from spanloom.errors import FormatError, ModelError, RecipeError
from spanloom.tensors import Batch

ROWS = {
    "the": [0.25, -1.5, 3e-05],
    "Paris": [1.0, 2.0, 3.0],
    "paris": [-1.0, -2.0, -3.0],
    ". . .": [0.5, 0.0, 1e10],
    "to name@domain.com": [7.0, 8.0, 9.5],
    "area 51": [4.0, 4.5, 5.0],
    "\u2028": [0.1, 0.2, 0.3],
    "a\x85\xa0b": [0.0, 0.0, -0.0],
    "中文": [1e-30, 2.0, -7.25],
}
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \r\n\ufeff"))
NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def _batch(words):
    none, bounds = torch.zeros(0, dtype=torch.long), torch.tensor([[0, len(words)]])
    return Batch(
        words=tuple(words), sentences=bounds, windows=bounds, instances=bounds,
        input_ids=none[None],
        attention_mask=none[None].bool(), piece_index=none, piece_to_word=none,
        position_to_word=none[None],
    )  # fmt: skip


def _glove(rows):
    return "".join(" ".join([word, *map(repr, row)]) + "\n" for word, row in rows.items())


def _fasttext(rows):
    return f"{len(rows)} {len(next(iter(rows.values())))}\n" + _glove(rows)


def _word2vec(rows):
    return _fasttext(rows).replace("\n", " \n").replace(" \n", "\n", 1)


def _dos(rows):
    return "\ufeff" + _glove(rows).replace("\n", "\r\n")


def _fresh(folder, text, **raw):
    """An embedder as a recipe makes it, whose words are ``data``."""
    (folder / "vectors.txt").write_bytes(text.encode())
    words = frozenset(raw.pop("data", ()))
    chosen = Options(static="vectors.txt", **raw)
    return KIND.build(chosen, BuildContext(folder, words), loads("a: 1", "r.yaml").location)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("write", [_glove, _fasttext, _word2vec, _dos])
def test_every_format_says_the_same(tmp_path, write, compressed):
    path = tmp_path / ("vectors.txt.gz" if compressed else "vectors.txt")
    raw = write(ROWS).encode()
    path.write_bytes(gzip.compress(raw) if compressed else raw)
    found = read_vectors(path, max_vectors=100)
    assert found.words == tuple(ROWS)
    assert found.rows.dtype == np.float32
    np.testing.assert_array_equal(found.rows, np.array(list(ROWS.values()), dtype=np.float32))


@settings(deadline=None, max_examples=60)
@given(
    rows=st.integers(1, 5).flatmap(
        lambda dim: st.dictionaries(
            WORDS, st.lists(NUMBERS, min_size=dim, max_size=dim), min_size=1, max_size=12
        )
    ),
    write=st.sampled_from([_glove, _fasttext, _word2vec]),
)
def test_any_word_is_read_looked_up_and_saved(tmp_path_factory, rows, write):
    folder = tmp_path_factory.mktemp("any")
    made = _fresh(folder, write(rows))
    (folder / "saved").write_text(made.extra_files()[VOCABULARY], encoding="utf-8")
    again = KIND.restore(
        Options(static="gone"), {VOCABULARY: (folder / "saved").read_text(encoding="utf-8")}
    )
    again.load_state_dict(made.state_dict())
    expected = torch.tensor(list(rows.values()), dtype=torch.float32)
    assert made(_batch(list(rows))).equal(expected)
    assert again(_batch(list(rows))).equal(expected)


BROKEN = {
    "too few columns": ("a 1.0 2.0\nb 1.0\n", 2, "got 1 numbers at most"),
    "too many columns": ("a 1.0 2.0\nb 1.0 2.0 3.0\n", 2, "got more"),
    "cut off": (_glove(ROWS)[:-12], len(ROWS), "got 1 numbers at most"),
    "a blank line": ("a 1.0 2.0\n\nb 1.0 2.0\n", 2, "at most"),
    "not a number": ("a 1.0 2.0\nb 1.0 x\n", 2, "'x'"),
    "two blanks": ("a 1.0 2.0\nb 1.0  2.0\n", 2, "got more"),
    "nan": ("a 1.0 2.0\nb nan 2.0\n", 2, "finite"),
    "infinite": ("a 1.0 -inf\n", 1, "finite"),
    "over 32 bits": ("a 1.0 1e39\n", 1, "finite"),
    "empty": ("", 1, "got b''"),
    "a word alone": ("a\n", 1, "expected a word and 1"),
    "no rows": ("0 3\n", 1, "got b'0 3'"),
    "no columns": ("3 0\na\n", 1, "got b'3 0'"),
    "too wide": (f"1 {MAX_DIM + 1}\n", 1, "rows and columns"),
    "fewer rows than promised": ("3 2\na 1.0 2.0\nb 1.0 2.0\n", 1, "promises 3 rows, but 2 came"),
    "more rows than promised": ("1 2\na 1.0 2.0\nb 1.0 2.0\n", 1, "promises 1 rows, but 2 came"),
    "more columns promised": ("1 3\na 1.0 2.0\n", 2, "got 2 numbers at most"),
    "fewer columns promised": ("1 1\na 1.0 2.0\n", 2, "got more"),
    "a carriage return": ("a 1.0\nb\rc 2.0\n", 2, "carriage"),
    "an endless line": ("a" * 300_000, 1, "is it text"),
}


@pytest.mark.parametrize(("text", "line", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_told_with_its_line(tmp_path, text, line, problem):
    path = tmp_path / "vectors.txt"
    path.write_bytes(text.encode())
    with pytest.raises(FormatError) as caught:
        read_vectors(path, max_vectors=100)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert problem in caught.value.problem


def test_bytes_that_are_no_text_are_told_with_their_line(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(b"a 1.0\n\xff 2.0\n")
    with pytest.raises(FormatError, match=r"vectors\.txt:2: 'utf-8' codec"):
        read_vectors(path, max_vectors=100)


@pytest.mark.parametrize("keep", [3, 30, 60])
def test_a_compressed_file_that_is_cut_off_is_refused(tmp_path, keep):
    path = tmp_path / "vectors.gz"
    path.write_bytes(gzip.compress(_glove(ROWS).encode())[:keep])
    with pytest.raises(FormatError, match="not a whole gzip file"):
        read_vectors(path, max_vectors=100)
    path.write_bytes(b"a 1.0 2.0\n")
    with pytest.raises(FormatError, match="not a whole gzip file"):
        read_vectors(path, max_vectors=100)


def test_the_first_row_of_a_word_counts_and_limit_counts_rows(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("4 1\na 1.0\na 2.0\nb 3.0\nc broken\n")
    found = read_vectors(path, max_vectors=3)
    assert found.words == ("a", "b")
    assert found.rows.tolist() == [[1.0], [3.0]]
    assert read_vectors(path, max_vectors=3, keep={"b"}).words == ("b",)


@pytest.mark.parametrize("count", [1, 4, 5, 23])
def test_memory_grows_with_the_rows(tmp_path, monkeypatch, count):
    monkeypatch.setattr(static, "_BLOCK", 8)  # four rows of two columns
    rows = {f"w{number}": [float(number), 0.5] for number in range(count)}
    path = tmp_path / "vectors.txt"
    path.write_text(_glove(rows))
    found = read_vectors(path, max_vectors=100)
    assert found.rows.tolist() == list(rows.values())
    assert found.rows.nbytes == count * 2 * 4


def test_a_word_is_looked_up_as_it_stands_then_in_lower_case(tmp_path):
    table = _fresh(tmp_path, _glove(ROWS))
    vectors = table(_batch(["Paris", "PARIS", "The", "zebra", "", "the", "zebra"]))
    mean = np.mean(list(ROWS.values()), axis=0)
    expected = [ROWS["Paris"], ROWS["paris"], ROWS["the"], mean, mean, ROWS["the"], mean]
    torch.testing.assert_close(vectors, torch.tensor(np.array(expected), dtype=torch.float32))
    assert table(_batch([])).shape == (0, table.dim)


@pytest.mark.parametrize("tuned", [False, True])
def test_unknown_words_are_learnt_and_others_where_asked_for(tmp_path, tuned):
    table = _fresh(tmp_path, _glove(ROWS), trainable=tuned, data=ROWS)
    table(_batch(["Paris", "zebra", "Paris", "gnu"])).sum().backward()
    assert table.unknown_vector.grad.tolist() == [2.0] * 3
    if tuned:
        assert table.vectors.grad.sum(1).tolist() == [0.0, 6.0] + [0.0] * (len(ROWS) - 2)
    else:
        assert table.vectors.grad is None
    assert set(table.state_dict()) == {"vectors", "unknown_vector"}


def test_vectors_of_words_without_training_data_are_fixed(tmp_path):
    table = _fresh(tmp_path, _glove(ROWS), trainable=True, data=["The", "PARIS", "gnu"])
    assert table.extra_files()[VOCABULARY].split("\n")[:3] == ["9 3 7", "the", "paris"]
    assert {name for name, p in table.named_parameters() if p.requires_grad} == {
        "vectors",
        "unknown_vector",
    }
    words = ["Paris", "THE", "zebra", "中文", "paris", "the"]
    rows = [ROWS["Paris"], ROWS["the"], np.mean(list(ROWS.values()), axis=0)]
    rows += [ROWS[word] for word in words[3:]]
    vectors = table(_batch(words))
    torch.testing.assert_close(vectors, torch.tensor(np.array(rows), dtype=torch.float32))
    vectors.sum().backward()
    assert table.vectors.grad.tolist() == [[2.0] * 3, [1.0] * 3]
    again = KIND.restore(Options(static="gone", trainable=True), table.extra_files())
    again.load_state_dict(table.state_dict())
    assert again(_batch(words)).equal(vectors)


def test_all_vectors_are_trained_where_the_data_have_none_of_their_words(tmp_path):
    table = _fresh(tmp_path, _glove(ROWS), trainable=True, data=["gnu"])
    assert table.fixed_vectors is None
    assert len(table.vectors) == len(ROWS)


def test_words_of_the_data_alone_are_kept_where_asked_for(tmp_path):
    table = _fresh(
        tmp_path, _glove(ROWS), train_words_only=True, data=["The", "PARIS", "Paris", "gnu"]
    )
    assert table.extra_files()[VOCABULARY] == "3 3\nthe\nParis\nparis"
    rows = torch.tensor([ROWS["the"], ROWS["paris"]])
    assert table(_batch(["The", "PARIS"])).equal(rows)


def test_a_recipe_names_a_file_near_it_or_anywhere(tmp_path):
    (tmp_path / "vectors.txt").write_bytes(_glove(ROWS).encode())
    (tmp_path / "below").mkdir()
    for near, named in (("below", "../vectors.txt"), ("nowhere", str(tmp_path / "vectors.txt"))):
        sources = BuildContext(tmp_path / near, frozenset())
        made = KIND.build(Options(static=named), sources, loads("a: 1", "r.yaml").location)
        assert len(made.rows) == len(ROWS)


@pytest.mark.parametrize(
    ("text", "raw", "problem"),
    [
        (None, {}, "cannot be read: No such file"),
        ("a 1.0\nb x\n", {}, r"vectors\.txt:2: could not convert"),
        (
            "a 1.0\nb x\n",
            {"train_words_only": True},
            "no word of the training data among its first 400000",
        ),
    ],
)
def test_a_recipe_is_told_what_is_wrong_with_its_file(tmp_path, text, raw, problem):
    if text:
        (tmp_path / "vectors.txt").write_text(text)
    loaded = loads("trunk:\n- {static: vectors.txt}\n", "recipe.yaml")
    where = loaded.location.location_of("trunk", 0)
    chosen = validate_options(Options, loaded.data["trunk"][0] | raw, where)
    with pytest.raises(RecipeError, match=rf"^recipe\.yaml:2: trunk\.0\.static: .*{problem}"):
        KIND.build(chosen, BuildContext(tmp_path, frozenset({"zebra"})), where)


def test_a_saved_table_has_the_same_shapes_without_memory(tmp_path):
    made = _fresh(tmp_path, _glove(ROWS), trainable=True)
    with torch.device("meta"):
        again = KIND.restore(Options(static="gone", trainable=True), made.extra_files())
    assert isinstance(again, Static)
    assert {parameter.device.type for parameter in again.parameters()} == {"meta"}
    shapes = [
        {name: (p.shape, p.requires_grad) for name, p in table.named_parameters()}
        for table in (made, again)
    ]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize(
    "text",
    [
        "", "2 3", "2 3\na", "1 3\na\nb", "2 3\na\na", "0 3", "-1 3\na", "1 0\na", "1 99999\na",
        f"1 {MAX_DIM + 1}\na", "1 3 \na", "1 3\r\na", "1 3 1\na", "2 3 -1\na\nb",
        "99999999999 3\na", "٢ ٣\na\nb", "{}",
    ],
)  # fmt: skip
def test_a_hostile_vocabulary_is_refused(text):
    with pytest.raises(ModelError, match=r"^vocabulary\.txt: "):
        KIND.restore(Options(static="gone"), {VOCABULARY: text})


def test_a_missing_or_huge_vocabulary_is_refused(monkeypatch):
    with pytest.raises(ModelError, match=r"^vocabulary\.txt: expected a text"):
        KIND.restore(Options(static="gone"), {})
    monkeypatch.setattr(static, "MAX_ROWS", 2)
    with pytest.raises(ModelError, match="at most 2 words"):
        KIND.restore(Options(static="gone"), {VOCABULARY: "3 1\na\nb\nc"})
