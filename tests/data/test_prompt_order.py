"""A prompt before or after its text, against the pairs of a tokenizer with BERT's template."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from spanloom.data.collate import collate
from spanloom.data.instances import Instance, Prompt
from spanloom.data.subwords import subword_tokenizer

WORDS = ["ada", "met", "bob", "who", "where"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def _bert():
    made = Tokenizer(
        models.WordLevel({w: n for n, w in enumerate([*SPECIAL, *WORDS])}, unk_token="[UNK]")
    )
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return made


BERT = _bert()
PIECES = subword_tokenizer(BERT, padding=0, unknown=1, mask=1)
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)


def instance(text, prompt, *, after, windows=None, row=0):
    words = tuple((2 * i, 2 * i + 1) for i in range(len(text)))
    ids = [tuple((len(SPECIAL) + WORDS.index(w),) for w in part) for part in (text, prompt)]
    bounds = windows or ((0, len(text)),)
    read = Prompt(tuple(prompt), ids[1], after_text=after)
    return Instance(row, 0, words, tuple(text), ids[0], bounds, bounds, read, wants_cls=True)


@given(TEXT, TEXT, st.booleans())
def test_ids_and_types_are_those_of_a_pair(text, prompt, after):
    batch = collate([instance(text, prompt, after=after)], PIECES, 100)
    first, second = (text, prompt) if after else (prompt, text)
    pair = BERT.encode(" ".join(first), " ".join(second))
    assert batch.input_ids.tolist() == [pair.ids]
    assert batch.token_type_ids.tolist() == [pair.type_ids]
    assert list(batch.words) == ["", *first, *second]
    words = [[""], *([w] for w in (*first, *second))]
    spelt = [
        WORDS[i - len(SPECIAL)] for i in batch.input_ids.flatten()[batch.piece_index].tolist()[1:]
    ]
    assert spelt == [w for (w,) in words[1:]]
    layout = batch.prompt_layout
    assert [batch.words[i] for i in layout.text_rows.tolist()] == text
    assert layout.cls_rows.tolist() == [0]
    assert layout.sentences.tolist() == [[0, 1 + len(text) + len(prompt)]]


@given(TEXT, TEXT, st.integers(1, 5), st.booleans())
def test_each_window_has_the_prompt_and_its_own_part(text, prompt, size, after):
    bounds = tuple((a, min(a + size, len(text))) for a in range(0, len(text), size))
    batch = collate([instance(text, prompt, after=after, windows=bounds)], PIECES, 100)
    width = batch.input_ids.shape[1]
    for row, (start, end) in zip(batch.input_ids.tolist(), bounds, strict=True):
        part = text[start:end]
        pair = (part, prompt) if after else (prompt, part)
        ids = BERT.encode(*(" ".join(words) for words in pair)).ids
        assert row == ids + [0] * (width - len(ids))
    # pieces of a word of the prompt are in all windows, those of a word of the text in one
    counts = batch.piece_to_word.bincount(minlength=len(batch.words)).tolist()
    rows = batch.prompt_layout.text_rows.tolist()
    assert [counts[i] for i in rows] == [1] * len(text)
    others = [count for i, count in enumerate(counts) if i not in rows]
    assert others == [len(bounds)] * (1 + len(prompt))
    runs = batch.prompt_layout.windows.tolist()
    assert (runs[0][0], runs[-1][1]) == (0, len(batch.words))
    assert [b for _, b in runs[:-1]] == [a for a, _ in runs[1:]]


@pytest.mark.parametrize("after", [False, True])
def test_several_instances_keep_their_words(after):
    texts = [["ada", "met"], ["bob"], ["ada", "met", "bob"]]
    prompts = [["who"], ["where", "who"], []]
    made = [
        instance(text, prompt, after=after, row=n)
        for n, (text, prompt) in enumerate(zip(texts, prompts, strict=True))
    ]
    batch = collate(made, PIECES, 100)
    spoken = [batch.words[row] for row in batch.prompt_layout.text_rows.tolist()]
    assert spoken == [word for text in texts for word in text]
    for (start, end), text in zip(batch.instances.tolist(), texts, strict=True):
        assert spoken[start:end] == text
    assert [batch.words[row] for row in batch.prompt_layout.cls_rows.tolist()] == ["", "", ""]
