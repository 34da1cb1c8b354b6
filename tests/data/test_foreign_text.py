"""Texts in languages that an encoder hardly knows, on made data."""

import pytest
from tokenizers import Tokenizer, models

from spanloom.data.foreign_text import _TYPICAL, KnownLanguage, script_of
from spanloom.data.instances import tokenize
from spanloom.data.subwords import subword_tokenizer
from spanloom.document import Document
from spanloom.tokenization import word_tokenizer

SPLIT = word_tokenizer("char-class", "newline")
ENGLISH = "The dog sleeps in the garden and a cat is on the roof of the house for it is warm . "
TEXTS = {
    "German": "Der Hund schläft im Garten und eine Katze sitzt auf dem warmen Dach . ",
    "Russian": "Собака спит в саду , а кошка сидит на крыше . ",
    "Arabic": "الكلب ينام في الحديقة والقطة تجلس على السطح . ",
    "Japanese": "犬は庭で寝ていて、猫は屋根の上に座っている。",
}
SCRIPT = {"Russian": "Cyrillic", "Arabic": "Arabic", "Japanese": "Hiragana"}


def pieces_of(*texts):
    """A tokenizer whose vocabulary has the words of some texts."""
    words = {word for text in texts for word in words_of(text)}
    rows = {word: row for row, word in enumerate(["[PAD]", "[UNK]", *sorted(words)])}
    made = Tokenizer(models.WordLevel(rows, unk_token="[UNK]"))
    return subword_tokenizer(made, padding=0, unknown=1, mask=1)


def words_of(text):
    return [text[start:end] for start, end in SPLIT(text).words]


def warning(text, *learnt):
    pieces = pieces_of(*learnt)
    return KnownLanguage.of(pieces).warning([tokenize(Document(text), SPLIT, pieces)])


ENGLISH_ENCODER = ENGLISH, " ".join(_TYPICAL)


@pytest.mark.parametrize("language", SCRIPT)
def test_other_letters_are_named_with_the_share_of_unknown_pieces(language):
    line = warning(TEXTS[language], *ENGLISH_ENCODER)
    assert line.startswith("100 % of the letters are of scripts that the encoder hardly knows")
    assert f"({SCRIPT[language]}), 100 % of the words have unknown pieces" in line
    assert warning(TEXTS[language], *ENGLISH_ENCODER, TEXTS[language]) is None


def test_german_is_told_from_english_by_its_words_once_there_are_some():
    assert "does not look English" in warning(TEXTS["German"] * 5, *ENGLISH_ENCODER)
    assert warning(TEXTS["German"], *ENGLISH_ENCODER) is None  # too short to tell
    assert warning(TEXTS["German"] * 5, TEXTS["German"]) is None  # an encoder for German
    assert warning(TEXTS["German"] * 5, *ENGLISH_ENCODER, TEXTS["Russian"]) is None  # for many


@pytest.mark.parametrize("text", [ENGLISH * 5, "", "1 2 3 . " * 30, "α β", "Die α-Helix ."])
def test_english_numbers_and_short_texts_are_no_reason(text):
    assert warning(text, *ENGLISH_ENCODER) is None


def test_scripts_are_those_of_unicode():
    assert [script_of(letter) for letter in "aжعの犬"] == [
        "LATIN",
        "CYRILLIC",
        "ARABIC",
        "HIRAGANA",
        "CJK",
    ]
