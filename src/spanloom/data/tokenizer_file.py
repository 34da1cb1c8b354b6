"""Read a ``tokenizer.json`` safely: only parts of published tokenizers, of limited sizes.

The tokenizers library trusts such a file: a pattern may take exponential time, replacements may
multiply a text, a character table may point outside of itself. So all parts, fields and sizes are
checked before the library sees the file (``tokenizer_parts``).
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from tokenizers import Tokenizer

from spanloom.data import tokenizer_parts as parts
from spanloom.data.tokenizer_parts import Check
from spanloom.errors import ModelError
from spanloom.strict_json import refuse_constant, unique_keys

_SEQUENCES = {  # parts by key of the file, and the key of their sequences
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


def read(raw: bytes, source: object) -> Tokenizer:
    """Return the tokenizer of a file; raises ``ModelError`` for a file that is not accepted."""
    try:
        values = json.loads(raw, object_pairs_hook=unique_keys, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{source}: expected JSON: {error}") from error
    problem = _problem(values)
    if problem is not None:
        raise ModelError(f"{source}: {problem}")
    try:
        return Tokenizer.from_buffer(raw)  # from_str raises plain ``Exception``
    except ValueError as error:
        raise ModelError(f"{source}: {str(error).splitlines()[0]}") from error
    except BaseException as error:
        if not is_panic(error):
            raise
        raise ModelError(f"{source}: the tokenizers library cannot read it") from error


def is_panic(error: BaseException) -> bool:
    """Whether an error is a panic of the tokenizers library, which has no public type."""
    return type(error).__name__ == "PanicException"


def _problem(values: Any) -> str | None:
    """Return why a file is refused, None if it is accepted."""
    if not isinstance(values, dict) or not values.keys() <= _KEYS or "model" not in values:
        return f"expected a mapping of {', '.join(sorted(_KEYS))}"
    problem = _settings_problem(values)
    for name, (types, inner) in _SEQUENCES.items():
        problem = problem or _part_problem(values.get(name), types, inner, name)
    problem = problem or _model_problem(values["model"])
    if problem is None and _growth(values.get("normalizer")) > parts.GROWTH:
        problem = f"normalizer: makes a text over {parts.GROWTH:g} times as long"
    return problem


def _settings_problem(values: Mapping[str, Any]) -> str | None:
    for name in ("truncation", "padding"):  # never used, but parsed
        settings = values.get(name)
        if settings is not None and not (
            isinstance(settings, dict) and _are_plain(settings.values())
        ):
            return f"{name}: expected plain settings"
    added = values.get("added_tokens", [])
    if not isinstance(added, list) or len(added) > parts.ADDED:
        return f"added_tokens: expected a list of at most {parts.ADDED}"
    for i, token in enumerate(added):
        problem = _fields_problem(token, _ADDED_KEYS, f"added_tokens.{i}")
        if problem is not None:
            return problem
    return None


def _are_plain(values: Iterable[Any]) -> bool:
    """Whether all values are short strings or numbers, or mappings of such."""
    for value in values:
        inner = value.values() if isinstance(value, dict) else (value,)
        if not all(x is None or parts.flag(x) or parts.short(x) or parts.index(x) for x in inner):
            return False
    return True


def _part_problem(
    part: Any, types: Mapping[str, Mapping[str, Check]], inner: str, path: str, depth: int = 0
) -> str | None:
    """Return the first problem of a part and its inner parts."""
    if part is None:
        return None
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "Sequence":
        items = part.get(inner)
        if part.keys() != {"type", inner} or not isinstance(items, list) or depth == parts.DEEPEST:
            return f"{path}: expected a sequence of {inner}, at most {parts.DEEPEST} deep"
        if len(items) > parts.PARTS:
            return f"{path}: expected at most {parts.PARTS} parts, got {len(items)}"
        problems = (
            _part_problem(item, types, inner, f"{path}.{i}", depth + 1)
            for i, item in enumerate(items)
        )
        return next(filter(None, problems), None)
    if not isinstance(kind, str) or kind not in types:
        choices = ", ".join(sorted(types))
        return f"{path}: expected one of {choices}, Sequence; got {kind!r:.60}"
    fields = {key: value for key, value in part.items() if key != "type"}
    return _fields_problem(fields, types[kind], f"{path} {kind}")


def _fields_problem(fields: Any, checks: Mapping[str, Check], path: str) -> str | None:
    if not isinstance(fields, dict):
        return f"{path}: expected a mapping, got {type(fields).__name__}"
    for key, value in fields.items():
        if key not in checks:
            return f"{path}: unknown key {key!r:.60}"
        if not checks[key](value):
            return f"{path}: {key}: {value!r:.60} is not allowed"
    return None


def _growth(normalizer: Any) -> float:
    """Return the factor by which an accepted normalizer can lengthen a text."""
    if normalizer is None:
        return 1.0
    if normalizer["type"] == "Sequence":
        return math.prod(_growth(normalizer) for normalizer in normalizer["normalizers"])
    if normalizer["type"] == "Prepend":
        return 1.0 + len(normalizer.get("prepend", "")) / parts.TEXT
    if normalizer["type"] != "Replace":
        return 1.0
    (pattern,) = normalizer["pattern"].values()
    shortest = len(pattern) if "String" in normalizer["pattern"] else 1
    return max(1.0, len(normalizer["content"]) / shortest)


def _model_problem(model: Any) -> str | None:
    """Return the first problem of a model and its vocabulary."""
    if not isinstance(model, dict):
        return "model: expected a mapping"
    kind = model.get("type")
    if not isinstance(kind, str) or kind not in parts.MODELS:
        return f"model: expected one of {', '.join(parts.MODELS)}; got {kind!r:.60}"
    fields = {key: value for key, value in model.items() if key not in ("type", "vocab", "merges")}
    problem = _fields_problem(fields, parts.MODELS[kind], f"model {kind}")
    if problem is not None:
        return problem
    if not _is_vocabulary(model.get("vocab"), listed=kind == "Unigram"):
        sizes = f"1 to {parts.PIECES} pieces of at most {parts.PIECE} characters"
        return f"model {kind}: vocab: expected {sizes}"
    if kind == "Unigram" and (model.get("unk_id") or 0) >= len(model["vocab"]):
        return f"model {kind}: unk_id: no such piece"
    return _merges_problem(model) if kind == "BPE" else None


def _is_vocabulary(values: Any, *, listed: bool) -> bool:
    """Whether values are a list of pieces and scores (``listed``), or ids by piece."""
    if not isinstance(values, list | dict) or not 0 < len(values) <= parts.PIECES:
        return False
    if isinstance(values, list):
        return listed and all(map(_is_scored, values))
    are_short = max(map(len, values)) <= parts.PIECE
    return not listed and are_short and all(map(parts.index, values.values()))


def _is_scored(value: Any) -> bool:
    """Whether a value is a piece and its score."""
    if not isinstance(value, list) or len(value) != 2:
        return False
    piece, score = value
    return type(piece) is str and len(piece) <= parts.PIECE and type(score) in (int, float)


def _merges_problem(model: Mapping[str, Any]) -> str | None:
    merges, vocabulary = model.get("merges"), model["vocab"]
    if not isinstance(merges, list) or len(merges) > parts.PIECES:
        return f"model BPE: merges: expected a list of at most {parts.PIECES}"
    for merge in merges:
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(pair, list) or len(pair) != 2:
            return f"model BPE: merges: expected pairs of pieces, got {merge!r:.60}"
        if not all(isinstance(part, str) and part in vocabulary for part in pair):
            return f"model BPE: merges: {merge!r:.60}: no such pieces"
    return None
