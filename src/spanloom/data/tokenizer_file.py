"""A ``tokenizer.json`` read with care: parts of published tokenizers alone, within sizes.

The library that reads such a file trusts it: a pattern may take exponential time, replacements may
multiply a text, a table of characters may point outside of itself. So each part, each of its
fields and each size is checked before the library sees the file (``tokenizer_parts``).
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from tokenizers import Tokenizer

from spanloom.data import tokenizer_parts as parts
from spanloom.data.tokenizer_parts import Check
from spanloom.errors import ModelError

_SEQUENCES = {  # parts by their place in the file, and what a sequence calls them
    "normalizer": (parts.NORMALIZERS, "normalizers"),
    "pre_tokenizer": (parts.PRE_TOKENIZERS, "pretokenizers"),
    "post_processor": (parts.POST_PROCESSORS, "processors"),
    "decoder": (parts.DECODERS, "decoders"),
}
_ADDED_KEYS: Mapping[str, Check] = {
    "id": parts.index,
    "content": lambda value: type(value) is str and 0 < len(value) <= parts.PIECE,
    **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), parts.flag),
}
_KEYS = {"version", "truncation", "padding", "added_tokens", "model", *_SEQUENCES}


def read(raw: bytes, where: object) -> Tokenizer:
    """Make the tokenizer that a file holds; raises ``ModelError`` for what is not let in."""
    try:
        said = json.loads(raw, object_pairs_hook=_unique, parse_constant=_number)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{where}: expected JSON: {error}") from error
    problem = _problem(said)
    if problem is not None:
        raise ModelError(f"{where}: {problem}")
    try:
        return Tokenizer.from_buffer(raw)  # from_str raises bare exceptions
    except ValueError as error:
        raise ModelError(f"{where}: {str(error).splitlines()[0]}") from error
    except BaseException as error:
        if not is_panic(error):
            raise
        raise ModelError(f"{where}: the tokenizers library cannot read it") from error


def is_panic(error: BaseException) -> bool:
    """Whether it is a panic of the tokenizers library: no ``Exception``, of a type not offered."""
    return type(error).__name__ == "PanicException"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping whose keys differ: of two the other reader might take the other one."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in a mapping")
    return found


def _number(said: str) -> float:
    raise ValueError(f"expected a number, got {said}")


def _problem(said: Any) -> str | None:
    """What keeps a file out, in words; None where nothing does."""
    if not isinstance(said, dict) or not said.keys() <= _KEYS or "model" not in said:
        return f"expected a mapping of {', '.join(sorted(_KEYS))}"
    found = _settings(said)
    for name, (known, inner) in _SEQUENCES.items():
        found = found or _part(said.get(name), known, inner, name)
    found = found or _model(said["model"])
    if found is None and _growth(said.get("normalizer")) > parts.GROWTH:
        found = f"normalizer: makes a text over {parts.GROWTH:g} times as long"
    return found


def _settings(said: Mapping[str, Any]) -> str | None:
    for name in ("truncation", "padding"):  # never used, but read
        given = said.get(name)
        if given is not None and not (isinstance(given, dict) and _plain(given.values())):
            return f"{name}: expected plain settings"
    added = said.get("added_tokens", [])
    if not isinstance(added, list) or len(added) > parts.ADDED:
        return f"added_tokens: expected a list of at most {parts.ADDED}"
    for row, each in enumerate(added):
        found = _fields(each, _ADDED_KEYS, f"added_tokens.{row}")
        if found is not None:
            return found
    return None


def _plain(values: Iterable[Any]) -> bool:
    """Numbers and texts within sizes, or one mapping of such."""
    for value in values:
        inner = value.values() if isinstance(value, dict) else (value,)
        if not all(x is None or parts.flag(x) or parts.short(x) or parts.index(x) for x in inner):
            return False
    return True


def _part(
    said: Any, known: Mapping[str, Mapping[str, Check]], inner: str, at: str, depth: int = 0
) -> str | None:
    """What is wrong with a part, or with one inside it."""
    if said is None:
        return None
    kind = said.get("type") if isinstance(said, dict) else None
    if kind == "Sequence":
        inside = said.get(inner)
        if said.keys() != {"type", inner} or not isinstance(inside, list) or depth == parts.DEEPEST:
            return f"{at}: expected a sequence of {inner}, at most {parts.DEEPEST} deep"
        if len(inside) > parts.PARTS:
            return f"{at}: expected at most {parts.PARTS} parts, got {len(inside)}"
        found = (
            _part(each, known, inner, f"{at}.{row}", depth + 1) for row, each in enumerate(inside)
        )
        return next(filter(None, found), None)
    if not isinstance(kind, str) or kind not in known:
        choices = ", ".join(sorted(known))
        return f"{at}: expected one of {choices}, Sequence; got {kind!r:.60}"
    return _fields({k: v for k, v in said.items() if k != "type"}, known[kind], f"{at} {kind}")


def _fields(said: Any, known: Mapping[str, Check], at: str) -> str | None:
    if not isinstance(said, dict):
        return f"{at}: expected a mapping, got {type(said).__name__}"
    for key, value in said.items():
        if key not in known:
            return f"{at}: unknown key {key!r:.60}"
        if not known[key](value):
            return f"{at}: {key}: {value!r:.60} is not let in"
    return None


def _growth(said: Any) -> float:
    """How many times longer texts may become, by a normalizer that was let in."""
    if said is None:
        return 1.0
    if said["type"] == "Sequence":
        return math.prod(_growth(normalizer) for normalizer in said["normalizers"])
    if said["type"] == "Prepend":
        return 1.0 + len(said.get("prepend", "")) / parts.TEXT
    if said["type"] != "Replace":
        return 1.0
    (sought,) = said["pattern"].values()
    least = len(sought) if "String" in said["pattern"] else 1
    return max(1.0, len(said["content"]) / least)


def _model(said: Any) -> str | None:
    """What is wrong with a vocabulary and how words are cut with it."""
    if not isinstance(said, dict):
        return "model: expected a mapping"
    kind = said.get("type")
    if not isinstance(kind, str) or kind not in parts.MODELS:
        return f"model: expected one of {', '.join(parts.MODELS)}; got {kind!r:.60}"
    rest = {k: v for k, v in said.items() if k not in ("type", "vocab", "merges")}
    found = _fields(rest, parts.MODELS[kind], f"model {kind}")
    if found is not None:
        return found
    if not _vocabulary(said.get("vocab"), listed=kind == "Unigram"):
        sizes = f"1 to {parts.PIECES} pieces of at most {parts.PIECE} characters"
        return f"model {kind}: vocab: expected {sizes}"
    if kind == "Unigram" and (said.get("unk_id") or 0) >= len(said["vocab"]):
        return f"model {kind}: unk_id: no such piece"
    return _merges(said) if kind == "BPE" else None


def _vocabulary(said: Any, *, listed: bool) -> bool:
    """Whether it is one: pieces and scores, ``listed``, or pieces by number."""
    if not isinstance(said, list | dict) or not 0 < len(said) <= parts.PIECES:
        return False
    if isinstance(said, list):
        return listed and all(map(_scored, said))
    sizes = max(map(len, said)) <= parts.PIECE
    return not listed and sizes and all(map(parts.index, said.values()))


def _scored(value: Any) -> bool:
    """A piece and its finite score."""
    if not isinstance(value, list) or len(value) != 2:
        return False
    piece, score = value
    return type(piece) is str and len(piece) <= parts.PIECE and type(score) in (int, float)


def _merges(said: Mapping[str, Any]) -> str | None:
    merges, vocabulary = said.get("merges"), said["vocab"]
    if not isinstance(merges, list) or len(merges) > parts.PIECES:
        return f"model BPE: merges: expected a list of at most {parts.PIECES}"
    for merge in merges:
        both = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(both, list) or len(both) != 2:
            return f"model BPE: merges: expected pairs of pieces, got {merge!r:.60}"
        if not all(isinstance(part, str) and part in vocabulary for part in both):
            return f"model BPE: merges: {merge!r:.60}: no such pieces"
    return None
