"""Vocabularies of word pieces: the same from the same texts, and no others than the library's."""

from random import Random

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from spanloom.data.wordpiece import SPECIAL, train_wordpiece


def lines(letters):
    """Lines of made words, many of them equally frequent."""
    rng = Random(5)
    words = ["".join(rng.choices(letters, k=rng.randint(2, 6))) for _ in range(400)]
    return [" ".join(rng.choices(words, k=12)) for _ in range(80)]


@pytest.mark.parametrize("letters", ["abcdefgh", "aÄß中文é-1🙂"])
def test_the_same_texts_make_the_same_vocabulary(letters):
    vocabularies = [
        train_wordpiece(lambda: lines(letters), 90, cased=True).tokenizer.get_vocab()
        for _ in range(5)
    ]
    assert all(vocabulary == vocabularies[0] for vocabulary in vocabularies)


@pytest.mark.parametrize("cased", [True, False])
def test_letters_are_those_that_the_library_finds(cased):
    texts = ["Der Weiße  Häuptling, »Öl« (3,5 l)", "中文 naïve 🙂🙂 e\u0301a\tb\nc\u00a0d"]
    ours = train_wordpiece(lambda: texts, 60, cased=cased).tokenizer.get_vocab()
    theirs = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    theirs.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    theirs.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=60, special_tokens=list(SPECIAL), show_progress=False
    )
    theirs.train_from_iterator(texts, trainer)
    single = [
        {piece for piece in vocabulary if len(piece.removeprefix("##")) == 1}
        for vocabulary in (ours, theirs.get_vocab())
    ]
    assert single[0] == single[1]
    assert len(ours) == theirs.get_vocab_size()


def test_only_the_special_pieces_are_special():
    """Letters that continue words are pieces of words, and no more than that."""
    pieces = train_wordpiece(lambda: lines("abcd"), 80, cased=True)
    assert pieces.tokenizer.encode("##a").tokens == ["[CLS]", "[UNK]", "[UNK]", "a", "[SEP]"]
    assert pieces.tokenizer.decode(pieces.tokenizer.encode("abcd bad").ids) == "abcd bad"
