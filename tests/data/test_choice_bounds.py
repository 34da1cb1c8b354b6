"""Choices in a prompt: compared as the encoder compares words."""

from functools import partial

import pytest

from spanloom.data.choice_bounds import place_choices
from spanloom.data.instances import tokenize_prompt
from spanloom.data.wordpiece import train_wordpiece
from spanloom.tokenization import word_tokenizer


def tokenizer(*, cased):
    pieces = train_wordpiece(
        lambda: ["positive or negative ? Positive Negative"] * 3, 60, cased=cased
    )
    return partial(tokenize_prompt, split=word_tokenizer("char-class", "newline"), pieces=pieces)


def test_a_prompt_in_another_case_has_the_choices_if_the_encoder_reads_no_case():
    choices, wording = ("negative", "positive"), "Positive or negative?"
    _, bounds = place_choices(choices, wording, tokenizer(cased=False))
    assert bounds == ((2, 3), (0, 1))
    with pytest.raises(ValueError, match="'positive' once in .* found it 0 times"):
        place_choices(choices, wording, tokenizer(cased=True))


def test_a_word_in_the_case_of_the_choice_is_it_even_beside_others():
    words = tokenizer(cased=False)
    _, bounds = place_choices(("good", "bad"), "Good or not : good or bad ?", words)
    assert bounds == ((4, 5), (6, 7))
