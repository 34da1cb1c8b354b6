"""Words cut within their text, against what Hugging Face makes of the whole text at once."""

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from spanloom.data.instances import tokenize_prompt
from spanloom.data.subwords import subword_tokenizer
from spanloom.tokenization import blank_words, fine_words, word_tokenizer

sys.path.insert(0, str(Path(__file__).parents[1] / "embedders"))
import published

KINDS = ("roberta", "deberta", "modernbert", "llama3", "xlm_roberta", "deberta_v3")
KINDS += ("albert", "big_bird", "t5", "xlnet")
MADE = {name: getattr(published, name)() for name in KINDS}
MADE["prefixed"] = published.roberta(add_prefix_space=True)
WORDS = ("the", "buffer", "Add", "5", "ml", "élan", "中文", "größer", "x", "(", ")", ",", ".", "§")
GAPS = ("", "", " ", " ", " ", "  ", "\n", "\n\n ", "\t")
TEXTS = st.lists(st.tuples(st.sampled_from(GAPS), st.sampled_from(WORDS)), max_size=12)
EVERY = pytest.mark.parametrize("kind", MADE)


def known(kind):
    return subword_tokenizer(MADE[kind], padding=0, unknown=0, mask=0)


def expected(tokenizer, text, bounds):
    """The pieces of each word in the encoding of the whole text; None where one is shared."""
    plain = Tokenizer.from_str(tokenizer.to_str())
    plain.post_processor = processors.Sequence([])  # they move offsets
    whole = plain.encode(text, add_special_tokens=False)
    rows = list(zip(whole.ids, whole.offsets, whole.word_ids, strict=True))
    found = []
    for a, b in bounds:
        over = [row for row in rows if row[1][0] < b and row[1][1] > a]
        if any(text[start:a].strip() or end > b for _, (start, end), _ in over):
            found.append(None)
            continue
        runs = {run for _, _, run in over}
        blank = a == 0 or text[a - 1] == " "
        found.append(
            tuple(
                piece
                for piece, (start, end), run in rows
                if (start < b and end > a)
                or (blank and end == a and start >= a - 1 and run in runs)
            )
        )
    return found


@EVERY
@settings(max_examples=60)
@given(made=TEXTS)
def test_pieces_are_those_of_the_whole_text(kind, made):
    text = "".join(gap + word for gap, word in made)
    for split in (blank_words, fine_words):
        bounds = split(text)
        for mine, theirs in zip(
            known(kind).within(text, bounds),
            expected(MADE[kind], text, bounds),
            strict=True,
        ):
            assert theirs is None or mine == (theirs or (0,))


@EVERY
def test_most_words_share_no_piece(kind):
    """So the test above compares something."""
    bounds = fine_words(published.TEXT[0])
    found = expected(MADE[kind], published.TEXT[0], bounds)
    assert sum(pieces is not None for pieces in found) > 0.7 * len(found)


def test_a_blank_before_a_word_is_part_of_its_first_piece():
    made = MADE["roberta"]
    cut = known("roberta").within("the buffer.", [(0, 3), (4, 10), (10, 11)])
    said = ["".join(made.id_to_token(piece) for piece in word) for word in cut]
    assert said == ["the", "Ġbuffer", "."]
    cut = known("prefixed").within("the buffer.", [(0, 3), (4, 10), (10, 11)])
    said = ["".join(MADE["prefixed"].id_to_token(piece) for piece in word) for word in cut]
    assert said == ["Ġthe", "Ġbuffer", "."]


def test_prompts_are_cut_as_texts_are():
    asked = tokenize_prompt(
        "the buffer.", word_tokenizer("char-class", "newline"), known("roberta")
    )
    assert list(asked.pieces) == known("roberta").within("the buffer.", [(0, 3), (4, 10), (10, 11)])


def test_a_blank_that_is_put_before_every_text_is_put_before_no_word_within_it():
    made = Tokenizer(models.BPE({"▁": 0, "a": 1, "▁a": 2}, [("▁", "a")]))
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    cut = subword_tokenizer(made, padding=0, unknown=0, mask=0)
    assert cut.within("a aa", [(0, 1), (2, 3), (3, 4)]) == [(2,), (2,), (1,)]


def test_where_signs_are_split_off_first_each_part_has_its_blank():
    made = published.deberta_v3()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Punctuation("isolated"), pre_tokenizers.Metaspace()]
    )
    text = "the buffer."
    bounds = fine_words(text)
    cut = subword_tokenizer(made, padding=0, unknown=0, mask=0)
    assert cut.within(text, bounds) == expected(made, text, bounds)


def test_words_seen_before_are_looked_up():
    cut = known("roberta")
    first = cut.within("the buffer the buffer.", fine_words("the buffer the buffer."))
    assert cut.within("the buffer.", fine_words("the buffer.")) == [*first[:2], first[-1]]
    cut.cache.update(dict.fromkeys(cut.cache, (7,)))
    assert cut.within("the buffer.", fine_words("the buffer.")) == [(7,), (7,), (7,)]


def test_the_vocabulary_is_not_copied():
    cut = known("modernbert")
    for tokenizer in (cut.running.spaced, cut.running.glued):
        assert tokenizer.get_vocab(with_added_tokens=True) == cut.tokenizer.get_vocab(
            with_added_tokens=True
        )
