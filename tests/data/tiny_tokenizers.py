"""Tiny tokenizers of the two common kinds, made here, and texts as both know them."""

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from spanloom.data.subwords import subword_tokenizer

WORDS = ("the", "cat", "cats", "Ada", "42", "50ml", "sat", "x" * 90, ",", "élan", "中文", "zzz")


def wordpiece():
    """Uncased WordPiece with [CLS] and [SEP], like BERT's."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789,"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "##s", "ad", "##ml"]
    vocabulary += [*letters, *(f"##{letter}" for letter in letters)]
    rows = {piece: row for row, piece in enumerate(vocabulary)}
    made = Tokenizer(models.WordPiece(rows, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def bytes_bpe():
    """Byte-level BPE with <s> and </s>, like RoBERTa's."""
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    vocabulary = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet()), "at", "Ġt", "cat"]
    rows = {piece: row for row, piece in enumerate(vocabulary)}
    merges = [("a", "t"), ("Ġ", "t"), ("c", "at")]
    made = Tokenizer(models.BPE(rows, merges, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return made


def letters():
    """Return pieces of the WordPiece tokenizer, whose every letter is a piece."""
    return subword_tokenizer(wordpiece(), padding=0, unknown=1, mask=1)
