"""Train a WordPiece vocabulary (Wu et al. 2016) with the ``tokenizers`` library."""

from collections.abc import Iterable

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


def train_wordpiece(texts: Iterable[str], size: int, *, cased: bool) -> SubwordTokenizer:
    """Return BERT's tokenizer with a vocabulary of at most ``size`` pieces, special ones included.

    Without ``cased`` letters are lower-cased and lose their accents. Texts are read as a stream.
    """
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=list(SPECIAL), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    padding, unknown, cls, sep, mask = range(len(SPECIAL))  # special pieces come first
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", cls), ("[SEP]", sep)],
    )
    return subword_tokenizer(tokenizer, padding=padding, unknown=unknown, mask=mask)
