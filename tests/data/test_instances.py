"""Documents to units: whole sentences, nothing lost, the same at every draw of one seed."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_tokenizers import bytes_bpe, letters

from spanloom.data.collate import collate
from spanloom.data.instances import (
    MAX_WORD_PIECES,
    InstanceLimits,
    build_instances,
    look_up_prompt,
    tokenize,
    tokenize_prompt,
)
from spanloom.data.subwords import subword_tokenizer
from spanloom.document import Document
from spanloom.long_sentences import LONGEST
from spanloom.tokenization import word_tokenizer

SPLIT = word_tokenizer("char-class", "newline")
LETTERS = letters()
TEXTS = st.lists(
    st.lists(st.sampled_from(["a", "the", "abc", "q" * 9, "\x01"]), max_size=8).map(" ".join),
    max_size=12,
).map("\n".join)
SEEDS = st.one_of(st.none(), st.integers(0, 99))


def _units(text, limit, seed=None, windows=1):
    whole = tokenize(Document(text), SPLIT, LETTERS)
    draw = None if seed is None else random.Random(seed)
    return whole, list(build_instances(7, whole, InstanceLimits(limit, windows * limit, draw)))


@given(text=TEXTS, limit=st.integers(1, 30), seed=SEEDS, windows=st.integers(1, 4))
def test_units_hold_every_sentence_once_and_whole(text, limit, seed, windows):
    whole, made = _units(text, limit, seed, windows)
    found = [(each.first_word + a, each.first_word + b) for each in made for a, b in each.sentences]
    assert found == list(whole.sentences)
    assert tuple(bounds for instance in made for bounds in instance.words) == whole.words
    assert sum((each.tokens for each in made), ()) == tuple(text.split())
    assert sum((each.pieces for each in made), ()) == whole.pieces
    assert all(each.document == 7 and each.words for each in made)


@given(text=TEXTS, limit=st.integers(1, 30), seed=SEEDS)
def test_units_keep_the_limit_unless_one_sentence_breaks_it(text, limit, seed):
    for unit in _units(text, limit, seed)[1]:
        assert unit.num_pieces == sum(map(len, unit.pieces))
        assert unit.num_pieces <= limit or len(unit.sentences) == 1
        assert unit.windows == ((0, len(unit.words)),)


@given(text=TEXTS, limit=st.integers(1, 30), seed=SEEDS, windows=st.integers(1, 4))
def test_windows_of_a_unit_are_the_units_of_one_window(text, limit, seed, windows):
    _, small = _units(text, limit, seed)
    _, large = _units(text, limit, seed, windows)
    found = [(each.first_word + a, each.first_word + b) for each in large for a, b in each.windows]
    assert found == [(each.first_word, each.first_word + len(each.words)) for each in small]
    assert all(each.num_pieces <= limit * windows or len(each.windows) == 1 for each in large)


@given(text=TEXTS, limit=st.integers(1, 30), seed=st.integers(0, 99))
def test_a_draw_is_decided_by_its_seed(text, limit, seed):
    assert _units(text, limit, seed) == _units(text, limit, seed)


def test_a_draw_makes_units_of_many_sizes():
    _, made = _units("a\n" * 2000, 16, 1)
    assert {each.num_pieces for each in made[:-1]} == set(range(2, 17))


LONG = " ".join(f"{row:x}" for row in range(1000)) + "\nthe end"


def _read(unit, window):
    """The pieces that an encoder reads for each of a unit's words: those around its window too."""
    batch = collate([unit], LETTERS, window)
    width = batch.input_ids.shape[1]
    rows = batch.piece_index // width
    return [
        batch.input_ids[row][batch.attention_mask[row]].tolist() for row in rows.tolist()
    ], batch


@pytest.mark.parametrize("pages", [1, 3])
@pytest.mark.parametrize("window", [64, 300, 5000])
def test_a_long_sentence_is_read_in_parts_with_what_stands_beside_them(window, pages):
    whole = tokenize(Document(LONG), SPLIT, LETTERS)
    assert whole.full_sentences == (
        (0, len(whole.words) - 2),
        (len(whole.words) - 2, len(whole.words)),
    )
    made = list(build_instances(0, whole, InstanceLimits(window, window * pages)))
    assert tuple(bounds for instance in made for bounds in instance.words) == whole.words
    assert max(b - a for each in made for a, b in each.sentences) <= LONGEST
    inner = {each.first_word + word for each in made for word in each.sentence_splits}
    assert inner == whole.sentence_splits != set()
    flat = [piece for ids in whole.pieces for piece in ids]
    for each in made:
        read, batch = _read(each, window)
        assert batch.piece_to_word.tolist() == [
            row for row, ids in enumerate(each.pieces) for _ in ids
        ]
        assert batch.input_ids.flatten()[batch.piece_index].tolist() == [
            piece for ids in each.pieces for piece in ids
        ]
        assert len(batch.input_ids)
        assert batch.input_ids.shape[1] <= window + 2
        place = sum(map(len, whole.pieces[: each.first_word]))
        end = sum(map(len, whole.pieces[:-2]))
        for row, ids in zip(range(place, end), read, strict=False):
            # what stands around a piece within its sentence is read with it
            few = min(8, row), min(8, end - row)
            around = flat[row - few[0] : row + few[1]]
            text = ids[1:-1]
            assert any(text[start : start + len(around)] == around for start in range(len(text))), (
                row
            )


def test_a_sentence_that_is_read_alone_is_read_without_others():
    whole = tokenize(Document("the first\n" + LONG), SPLIT, LETTERS)
    made = list(build_instances(0, whole, InstanceLimits(64, 64, isolate_sentences=True)))
    first, *rest = [each for each in made if not each.sentence_splits]
    assert first.window_context == ()
    assert [each.window_context[0][0] for each in rest[:1]] == [()]
    assert rest[-1].window_context == ()


def test_of_a_word_like_a_book_the_first_pieces_are_read():
    bytes_ = subword_tokenizer(bytes_bpe(), padding=1, unknown=3, mask=3)
    text = f"a {'b' * (MAX_WORD_PIECES + 1)} c {'d' * 10**6}"
    found = tokenize(Document(text), SPLIT, bytes_)
    assert found.num_clipped_words == 2
    assert max(map(len, found.pieces)) == MAX_WORD_PIECES
    assert found.pieces[1] == bytes_(["b" * MAX_WORD_PIECES])[0][:MAX_WORD_PIECES]
    assert found.tokens == tuple(text.split())
    assert tokenize(Document("a b"), SPLIT, bytes_).num_clipped_words == 0


@pytest.mark.parametrize("text", ["", " \n\t\n"])
def test_a_text_without_words_makes_no_unit(text):
    assert _units(text, 8)[1] == []


def test_words_lead_back_to_characters():
    text = "the 50ml\n\n  abc"
    for each in _units(text, 2)[1]:
        assert tuple(text[a:b] for a, b in each.words) == each.tokens


def test_a_short_prompt_is_split_once_and_a_long_one_each_time():
    texts = []

    def split(text):
        texts.append(text)
        return SPLIT(text)

    known = {}
    short, long = "the abc", "the " * 100
    prompts = [look_up_prompt(text, split, LETTERS, known) for text in (short, long) * 2]
    assert texts == [short, long, long]
    assert prompts[0] is prompts[2]
    assert prompts[1] == prompts[3] == tokenize_prompt(long, SPLIT, LETTERS)
    assert list(known) == [short]


def test_prompts_that_are_kept_are_bounded(monkeypatch):
    monkeypatch.setattr("spanloom.data.instances._KEPT_PROMPTS", 3)
    known = {}
    for text in "abcdeab":
        prompt = look_up_prompt(text, SPLIT, LETTERS, known)
        assert prompt == tokenize_prompt(text, SPLIT, LETTERS)
        assert known[text] is prompt
        assert len(known) <= 3
