"""Both word splitters and both sentence splitters on nasty text, against the text itself."""

import time
from itertools import product

import pytest
import spacy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spanloom.errors import NameNotFound
from spanloom.tokenization import (
    _CHAR_CLASS_RUN,
    SENTENCE_SPLITTERS,
    TOKENIZERS,
    fine_words,
    spacy_words,
    treebank_words,
    word_tokenizer,
)

NASTY = (
    "a", "Z", "9", "٣", "½", " ", "\t", "\n", "\r\n", "\r", "\x00", "\x1c", "\x85", "\xa0", "\xad",
    "\u2028", "\u2029", "\u3000", "\u200b", "\u200d", "\u0301", "e\u0301", "\u0600", "שלום",
    "مرحبا", "\u202e",
    "👩\u200d👩\u200d👧", "🇫🇷", "\U0001f44d\U0001f3fd", "中", "。", ".", "!", "?", "...",
    "'s", "n't", "(", ")", "-", "http://a.b", "50ml", "\uffff", "\U0010ffff", "\ufeff", "_", "$",
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(NASTY), max_size=30).map("".join))
BOTH = pytest.mark.parametrize("words", TOKENIZERS)
ALL = pytest.mark.parametrize(("words", "sentences"), list(product(TOKENIZERS, SENTENCE_SPLITTERS)))


def _cover(bounds):
    return [place for start, end in bounds for place in range(start, end)]


@BOTH
@given(text=TEXTS)
@example(text="")
@example(text=" \n\t")
@example(text="\u0600 1")
@example(text="\u0600 \u0301")
@example(text="\x1c\x1d\x1e\x1f")
@example(text="\x00\x01")
@settings(deadline=None)
def test_words_cover_every_visible_character_once_in_order(words, text):
    found = TOKENIZERS[words](text)
    assert _cover(found) == [place for place, each in enumerate(text) if not each.isspace()]
    assert all(start < end for start, end in found)


@ALL
@given(text=TEXTS)
@example(text="")
@example(text="\n\n")
@example(text="A b.\r\nC d. E\n \nf")
@settings(deadline=None)
def test_each_word_belongs_to_one_sentence(words, sentences, text):
    found = word_tokenizer(words, sentences)(text)
    assert tuple(found.words) == tuple(TOKENIZERS[words](text))
    assert _cover(found.sentences) == list(range(len(found.words)))
    assert all(first < last for first, last in found.sentences)


@given(text=TEXTS)
def test_line_sentences_are_the_lines_that_have_words(text):
    found = word_tokenizer("char-class", "newline")(text)
    words = iter(found.words)
    lines = [fine_words(line) for line in text.replace("\r", "\n").split("\n")]
    assert [last - first for first, last in found.sentences] == [
        len(line) for line in lines if line
    ]
    assert all(
        text[start:end] == line[a:b]
        for line in text.replace("\r", "\n").split("\n")
        for (a, b), (start, end) in zip(fine_words(line), words, strict=False)
    )


def _say(text, bounds):
    return [text[start:end] for start, end in bounds]


def test_fine_words_end_where_letters_numbers_and_others_meet():
    text = "Add 50ml of H2O, 3.5×10⁻³ e\u0301te\u0301 👩\u200d👧🇫🇷!?"
    assert _say(text, fine_words(text)) == [
        "Add", "50", "ml", "of", "H", "2", "O", ",", "3", ".", "5", "×", "10", "⁻", "³",
        "e\u0301te\u0301", "👩\u200d👧", "🇫🇷", "!", "?",
    ]  # fmt: skip


_ANY_CHARACTER = st.one_of(
    st.sampled_from(
        " aé1²_.§a\n\u0301\u00ad\u0600\u200b\u200d\u200c\u0e01\u0e31\u1100\u2fff\ufe0f\x00\x1c"
    ),
    st.characters(max_codepoint=0x3001, exclude_categories=()),
    st.characters(),
)


@given(text=st.text(_ANY_CHARACTER))
@settings(max_examples=300)
def test_fine_words_are_the_matches_of_one_expression(text):
    assert fine_words(text) == tuple(match.span() for match in _CHAR_CLASS_RUN.finditer(text))


def test_every_character_is_of_the_class_that_the_expression_says():
    for code in range(0x3000):
        for text in (chr(code), f"a{chr(code)}", f".{chr(code)}.", f"1{chr(code)}1"):
            assert fine_words(text) == tuple(m.span() for m in _CHAR_CLASS_RUN.finditer(text))


def test_spacy_words_are_those_of_its_tokenizer():
    text = "Dr. Who can't (really)  pay\n$5,000 at http://x.org/a-b."
    doc = spacy.blank("en")(text)
    assert _say(text, spacy_words(text)) == [each.text for each in doc if not each.is_space]


def test_a_run_without_blanks_is_split_finely_and_the_rest_is_not():
    run = "ab1" * 400
    text = f"can't {run} can't"
    found = _say(text, spacy_words(text))
    assert found[:2] == found[-2:] == ["ca", "n't"]
    assert found[2:-2] == _say(run, fine_words(run))


def test_rule_sentences_end_at_closing_punctuation_and_at_blank_lines():
    text = 'Ada met Bob. "Hi!" He said\nso\n\nAnd then? Nothing'
    found = word_tokenizer("spacy", "punctuation")(text)
    said = [_say(text, found.words[first:last]) for first, last in found.sentences]
    assert [" ".join(sentence) for sentence in said] == [
        "Ada met Bob .", '" Hi ! "', "He said so", "And then ?", "Nothing",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rained (again). He left.", ["It rained ( again ) .", "He left ."]),
        ("Yes?! (He nodded.) So", ["Yes ?!", "( He nodded . )", "So"]),
        ("Well... maybe. Well... Maybe", ["Well ... maybe .", "Well ...", "Maybe"]),
        ("Well…… maybe. What!!? So", ["Well …… maybe .", "What !!?", "So"]),
        ("यह सच है। वह गया।", ["यह सच है ।", "वह गया ।"]),
        ("Fine :) we go. Fine :) We go", ["Fine :) we go .", "Fine :)", "We go"]),
        ("Mr. Poe paid $3.50 to Inc. today.", ["Mr. Poe paid $ 3.50 to Inc. today ."]),
    ],
)  # fmt: skip
def test_what_ends_a_sentence_and_what_closes_with_it(text, sentences):
    found = word_tokenizer("treebank", "punctuation")(text)
    said = [" ".join(_say(text, found.words[a:b])) for a, b in found.sentences]
    assert said == sentences


def test_numbers_and_hyphens_without_end_do_not_stall():
    text = "1-" * 100_000 + "x"
    started = time.process_time()
    assert _cover(word_tokenizer("treebank", "punctuation")(text).words) == list(range(len(text)))
    assert time.process_time() - started < 2


def test_words_as_treebanks_have_them():
    text = "====\ncan't e-mail 713-853-3989!!! ((a)) x-ray a--b ?!? ''b''"
    assert _say(text, treebank_words(text)) == [
        "====", "ca", "n't", "e-mail", "713-853-3989", "!!!", "(", "(", "a", ")", ")", "x", "-",
        "ray", "a", "--", "b", "?!?", "''", "b", "''",
    ]  # fmt: skip


def test_the_same_sentences_with_and_without_a_long_run():
    text = "Ada met Bob. He smiled! She too"
    run = "x" * 1500
    short, long = (
        word_tokenizer("spacy", "punctuation")(each) for each in (f"x {text}", f"{run} {text}")
    )
    extra = len(run) - 1
    moved = tuple((start + extra, end + extra) for start, end in short.words[1:])
    assert long.words[1:] == moved
    assert long.sentences == short.sentences


@pytest.mark.parametrize(
    ("words", "sentences"), [("char-clas", "newline"), ("char-class", "newlin")]
)
def test_an_unknown_splitter_is_named_with_the_choices(words, sentences):
    with pytest.raises(NameNotFound, match="did you mean"):
        word_tokenizer(words, sentences)


@ALL
def test_a_sentence_of_ten_thousand_words(words, sentences):
    text = " ".join(f"w{row % 7}x" for row in range(10_000))
    found = word_tokenizer(words, sentences)(text)
    assert found.sentences == ((0, len(found.words)),)
    assert len(found.words) >= 10_000


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", "x1", "👩\u200d", "$", "http://"])
@ALL
def test_a_word_of_a_megabyte_takes_linear_time(words, sentences, unit):
    split = word_tokenizer(words, sentences)
    split("warm up.")

    def seconds(size):
        text = unit * (size // len(unit))
        started = time.process_time()
        tokenization = split(text)
        took = time.process_time() - started
        assert _cover(tokenization.words) == list(range(len(text)))
        return took

    assert seconds(1_000_000) < 8 * seconds(250_000) + 0.1  # quadratic: 16 times


def test_signs_without_blanks_do_not_stall_the_sentence_splitter():
    text = "$" * 20_000 + " . A"
    started = time.process_time()
    assert len(word_tokenizer("spacy", "punctuation")(text).sentences) == 2
    assert time.process_time() - started < 2


def test_half_a_character_is_a_word_like_any_other_sign():
    text = "add \ud800 wat\udfffer"
    for split in TOKENIZERS.values():
        bounds = split(text)
        assert "".join(text[a:b] for a, b in bounds) == "".join(text.split())
    assert SENTENCE_SPLITTERS["punctuation"](text) == [(0, len(text))]


@pytest.mark.parametrize("name", ["char-class", "spacy", "treebank"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我爱北京。Python很好", "我 爱 北 京 。 Python 很 好"),
        ("東京タワーに行った", "東 京 タ ワ ー に 行 っ た"),
        ("ฉันรัก 50", "ฉั น รั ก 50"),
        ("Я люблю Москву.", "Я люблю Москву ."),
        ("أحب القاهرة", "أحب القاهرة"),
        ("Die Straße ist schön.", "Die Straße ist schön ."),
        ("नमस्ते दुनिया", "नमस्ते दुनिया"),
    ],
)
def test_scripts_without_blanks_have_a_word_a_letter(name, text, words):
    assert [text[start:end] for start, end in TOKENIZERS[name](text)] == words.split()


def test_chinese_and_japanese_sentences_end_at_their_stops():
    text = "我爱北京。他走了！東京に行った。"
    sentences = [text[start:end] for start, end in SENTENCE_SPLITTERS["punctuation"](text)]
    assert sentences == ["我爱北京。", "他走了！", "東京に行った。"]
