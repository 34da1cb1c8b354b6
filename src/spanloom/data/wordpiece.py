"""Train a WordPiece vocabulary (Wu et al. 2016) with the ``tokenizers`` library."""

from collections.abc import Callable, Iterable
from itertools import pairwise

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from spanloom.data.subwords import SubwordTokenizer, subword_tokenizer

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def train_wordpiece(
    read_texts: Callable[[], Iterable[str]], size: int, *, cased: bool
) -> SubwordTokenizer:
    """Return BERT's tokenizer with a vocabulary of at most ``size`` pieces, special ones included.

    Without ``cased`` letters are lower-cased and lose their accents. Texts are read twice, as
    streams. The same texts make the same vocabulary: the library numbers the letters that continue
    words in an order of chance, and pieces that are equally frequent are taken in the order of
    their letters' numbers; so these are known to it, sorted, before it counts.
    """
    counting = _tokenizer(models.WordPiece(unk_token="[UNK]"), cased=cased)
    letters = [f"##{letter}" for letter in sorted(_continuing_letters(read_texts(), counting))]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=[*SPECIAL, *letters], show_progress=False
    )
    counting.train_from_iterator(read_texts(), trainer)
    vocabulary = models.WordPiece(counting.get_vocab(), unk_token="[UNK]")
    tokenizer = _tokenizer(vocabulary, cased=cased)  # in the first one such letters are special
    tokenizer.add_special_tokens(list(SPECIAL))
    padding, unknown, cls, sep, mask = range(len(SPECIAL))  # special pieces come first
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", cls), ("[SEP]", sep)],
    )
    return subword_tokenizer(tokenizer, padding=padding, unknown=unknown, mask=mask)


def _tokenizer(model: models.WordPiece, *, cased: bool) -> Tokenizer:
    """Return a tokenizer that splits words as BERT's does."""
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def _continuing_letters(texts: Iterable[str], tokenizer: Tokenizer) -> set[str]:
    """Return the letters that follow another one within a word."""
    neighbours: set[tuple[str, str]] = set()
    for text in texts:
        neighbours.update(pairwise(tokenizer.normalizer.normalize_str(text)))
    split = tokenizer.pre_tokenizer.pre_tokenize_str
    return {
        letter
        for before, letter in neighbours
        if any(word == before + letter for word, _ in split(before + letter))
    }
