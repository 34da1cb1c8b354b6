"""The parts of published tokenizers, their fields, and the checks of the fields' values."""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], bool]

PIECES, ADDED = 2_000_000, 20_000  # size of a vocabulary, number of added tokens
PIECE = 1_024  # characters per piece
PARTS, DEEPEST, _SPECIAL = 24, 4, 32  # parts per sequence, nesting, pieces of a template
TEXT = 64  # characters of a name, a pattern or an inserted text
GROWTH = 8.0  # factor by which a text may become longer
_MAP, _REPLACED = 2_000_000, 128  # bytes of a character table, and of one replacement
_LONGEST_WORD = 1_000  # characters of words for WordPiece, which takes quadratic time

_CONTRACTED = "'s|'t|'re|'ve|'m|'ll|'d"
_REST = r"\s+(?!\S)|\s+"
_ANY_CASE = rf"(?i:{_CONTRACTED})"
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_MARKS = r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+"
_SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
# Patterns of published tokenizers; none of them takes more than linear time.
PATTERNS = frozenset(
    {
        *(" {2,}", r" {2,}", " +", r"\s+", r"\n", r"[\n\r\t]", r"\s{2,}|[\n\r\t]", r" +▁", r"^▁+$"),
        *(r"\p{N}", r"\d", r"\p{N}{1,3}", r"[^\n]+|\n+", r"\n+"),
        rf"{_CONTRACTED}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|{_REST}",  # GPT-2
        rf"{_CONTRACTED}|[\p{{L}}]+|[\p{{N}}]|[^\s\p{{L}}\p{{N}}]+",  # CLIP
        rf"{_ANY_CASE}|{_WORDS}|\p{{N}}{{1,3}}|{_SIGNS}|{_REST}",  # cl100k, Llama 3
        rf"{_ANY_CASE}|{_WORDS}|\p{{N}}|{_SIGNS}|{_REST}",  # Qwen 2
        rf"{_ANY_CASE}|{_MARKS}|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|{_REST}",
    }
)


def flag(value: Any) -> bool:
    """Whether a value is a boolean."""
    return type(value) is bool


def _maybe_bool(value: Any) -> bool:
    return value is None or type(value) is bool


def short(value: Any) -> bool:
    """Whether a value is a string of at most ``TEXT`` characters."""
    return type(value) is str and len(value) <= TEXT


def _maybe_short(value: Any) -> bool:
    return value is None or short(value)


def _character(value: Any) -> bool:
    return type(value) is str and len(value) == 1


def index(value: Any) -> bool:
    """Whether a value can be the id of a piece."""
    return type(value) is int and 0 <= value < 2 * PIECES


def _few(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LONGEST_WORD


def _pattern(value: Any) -> bool:
    """Whether a value is a string to search, or one of ``PATTERNS``."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, pattern),) = value.items()
    return (kind == "String" and short(pattern) and pattern != "") or (
        kind == "Regex" and pattern in PATTERNS
    )


def _characters(value: Any) -> bool:
    """Whether a value is a table of SentencePiece: size of a trie, trie, replacements with NUL."""
    if value is None:
        return True
    if type(value) is not str or len(value) > _MAP:
        return False
    try:
        raw = base64.b64decode(value, validate=True)
    except binascii.Error:
        return False
    size = int.from_bytes(raw[:4], "little")
    if len(raw) < 4 or size % 4 or not 0 < size <= len(raw) - 4:
        return False
    replacements = raw[4 + size :]
    try:
        replacements.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return max(map(len, replacements.split(b"\0"))) <= _REPLACED


def _one_of(*choices: object) -> Check:
    return lambda value: type(value) is not dict and type(value) is not list and value in choices


def _pair(value: Any) -> bool:
    """Whether a value is a piece and its id."""
    return isinstance(value, list) and len(value) == 2 and short(value[0]) and index(value[1])


def _template(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _SPECIAL and all(map(_slot, value))


def _slot(value: Any) -> bool:
    """Whether a value is an item of a template: a special piece, or the first or second text."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, item),) = value.items()
    if kind not in ("SpecialToken", "Sequence") or not isinstance(item, dict):
        return False
    return item.keys() == {"id", "type_id"} and short(item["id"]) and index(item["type_id"])


def _specials(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= _SPECIAL
        and all(short(name) and _special(item, name) for name, item in value.items())
    )


def _special(value: Any, name: str) -> bool:
    if not isinstance(value, dict) or value.keys() != {"id", "ids", "tokens"}:
        return False
    ids, tokens = value["ids"], value["tokens"]
    are_lists = isinstance(ids, list) and isinstance(tokens, list) and len(ids) == len(tokens)
    return are_lists and value["id"] == name and 0 < len(ids) <= 4 and all(map(index, ids))


# Fields by type; a missing field has its default.
_SPLITS = _one_of("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_METASPACE: Mapping[str, Check] = {
    "replacement": _character,
    "prepend_scheme": _one_of("always", "first", "never"),
    "split": flag,
    "add_prefix_space": flag,
    "str_rep": _character,
}
_BYTES: Mapping[str, Check] = {
    "add_prefix_space": flag,
    "trim_offsets": flag,
    "use_regex": flag,
}
_REPLACE: Mapping[str, Check] = {"pattern": _pattern, "content": short}
NORMALIZERS: Mapping[str, Mapping[str, Check]] = {
    **dict.fromkeys(
        ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"), {}
    ),
    "BertNormalizer": {
        "clean_text": flag,
        "handle_chinese_chars": flag,
        "strip_accents": _maybe_bool,
        "lowercase": flag,
    },
    "Strip": {"strip_left": flag, "strip_right": flag},
    "Prepend": {"prepend": short},
    "Replace": _REPLACE,
    "Precompiled": {"precompiled_charsmap": _characters},
}
PRE_TOKENIZERS: Mapping[str, Mapping[str, Check]] = {
    **dict.fromkeys(("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts"), {}),
    "ByteLevel": _BYTES,
    "Metaspace": _METASPACE,
    "Punctuation": {"behavior": _SPLITS},
    "Digits": {"individual_digits": flag},
    "Split": {"pattern": _pattern, "behavior": _SPLITS, "invert": flag},
}
POST_PROCESSORS: Mapping[str, Mapping[str, Check]] = {
    "BertProcessing": {"sep": _pair, "cls": _pair},
    "RobertaProcessing": {
        "sep": _pair,
        "cls": _pair,
        "trim_offsets": flag,
        "add_prefix_space": flag,
    },
    "ByteLevel": _BYTES,
    "TemplateProcessing": {"single": _template, "pair": _template, "special_tokens": _specials},
}
DECODERS: Mapping[str, Mapping[str, Check]] = {
    **dict.fromkeys(("Fuse", "ByteFallback"), {}),
    "ByteLevel": _BYTES,
    "Metaspace": _METASPACE,
    "WordPiece": {"prefix": short, "cleanup": flag},
    "BPEDecoder": {"suffix": short},
    "Replace": _REPLACE,
    "Strip": {"content": _character, "start": _few, "stop": _few},
}
_WORDPIECE: Mapping[str, Check] = {
    "unk_token": short,
    "continuing_subword_prefix": short,
    "max_input_chars_per_word": _few,
}
MODELS: Mapping[str, Mapping[str, Check]] = {
    "WordPiece": _WORDPIECE,
    "WordLevel": {"unk_token": short},
    "BPE": {
        "dropout": _one_of(None, 0.0),  # otherwise pieces of a text are random
        "unk_token": _maybe_short,
        "continuing_subword_prefix": _maybe_short,
        "end_of_word_suffix": _maybe_short,
        "fuse_unk": flag,
        "byte_fallback": flag,
        "ignore_merges": flag,
    },
    "Unigram": {"unk_id": lambda value: value is None or index(value), "byte_fallback": flag},
}
