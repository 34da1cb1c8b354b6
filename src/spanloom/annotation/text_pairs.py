"""Labels and values of whole texts and of text pairs; the two texts are a layer ``parts``.

    one text    T1  positive 0 20                            A1  value T1 4.5
    two texts   T1  parts__part 0 9   T2  parts__part 10 20
                R1  entails Arg1:T1 Arg2:T2                  A1  value R1 0.75

A classification of one text is a span over all of it, without blanks at both ends; that of a pair
is a relation from the first text to the second. A number is its attribute ``value``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from spanloom.document import Attribute, Document, Fragment, Layer, Relation, Span
from spanloom.errors import DataError

TEXT_PAIR = "parts"
TEXT = "part"
VALUE = "value"


@dataclass(frozen=True, slots=True)
class Classification:
    """The class of a text or text pair, or the name of a number with its value."""

    label: str
    value: float | None = None


def join_texts(name: str, first: str, second: str) -> Document:
    """Return the document of two texts, one per line; blanks around them are in no span."""
    text = f"{first}\n{second}"
    bounds = _trim(text, 0, len(first)), _trim(text, len(first) + 1, len(text))
    spans = tuple(
        Span(f"T{number}", TEXT, (fragment,)) for number, fragment in enumerate(bounds, 1)
    )
    return Document(text, (Layer(TEXT_PAIR, spans),), name)


def text_pair(document: Document) -> tuple[Span, ...]:
    """Return the two texts of a pair in reading order, () for a document of one text.

    A text of several lines comes from brat in several fragments: use ``start`` and ``end``. Raises
    ``DataError`` unless there are two spans ``part``, one after the other.
    """
    if not document.has_layer(TEXT_PAIR) or not document[TEXT_PAIR].spans:
        return ()
    texts = tuple(sorted(document[TEXT_PAIR].spans, key=lambda span: (span.start, span.end)))
    if [span.label for span in texts] != [TEXT, TEXT]:
        labels = ", ".join(span.label for span in texts[:5])
        raise DataError(f"{_location(document)}: expected two parts, got {len(texts)}: {labels}")
    first, second = texts
    if first.end > second.start:
        bounds = " and ".join(f"{span.start}..{span.end}" for span in texts)
        raise DataError(f"{_location(document)}: expected one part after the other, got {bounds}")
    return texts


def classification_of(document: Document, layer: str) -> Classification | None:
    """Return a layer's classification of the text or text pair; None where the layer is empty.

    Raises ``LayerError`` where the layer is absent, and ``DataError`` for two labels or values, a
    value that is no finite number, a span that is not the whole text, or a relation of anything
    else.
    """
    texts = text_pair(document)
    label_of = _pair_labels(document, layer, texts) if texts else _text_labels(document, layer)
    if not label_of:
        return None
    labels = sorted(set(label_of.values()))
    if len(labels) > 1:
        raise DataError(
            f"{_location(document, layer)}: expected one label, got {', '.join(labels)}"
        )
    return Classification(labels[0], _value(document, layer, label_of))


def classify(
    document: Document,
    name: str,
    label: str,
    value: float | None,
    new_id: Callable[[str], str],
    score: float | None = None,
) -> Layer:
    """Return the layer ``name`` with this classification; ``classification_of`` is the inverse.

    ``new_id`` makes ids with the prefixes T, R and A. Raises ``DataError`` for a value that is not
    finite, and as ``text_pair`` does.
    """
    if value is not None and not math.isfinite(value):
        raise DataError(f"{_location(document, name)}: expected a finite value, got {value}")
    texts = text_pair(document)
    target = new_id("R" if texts else "T")
    attributes = (
        () if value is None else (Attribute(new_id("A"), VALUE, target, repr(float(value))),)
    )
    if texts:
        first, second = texts
        relation = Relation(target, label, first.id, second.id, score=score)
        return Layer(name, relations=(relation,), attributes=attributes)
    return Layer(
        name, (Span(target, label, (_text_bounds(document),), score),), attributes=attributes
    )


def _text_labels(document: Document, layer: str) -> dict[str, str]:
    """Return the label of each span by id; refuse spans that are not the whole text."""
    start, end = _text_bounds(document)
    for span in document[layer].spans:
        if (span.start, span.end) != (start, end):
            problem = f"expected a span over the whole text, {start}..{end}"
            got = f"{span.label} {span.start}..{span.end}"
            raise DataError(f"{_location(document, layer, span.id)}: {problem}, got {got}")
    return {span.id: span.label for span in document[layer].spans}


def _pair_labels(document: Document, layer: str, texts: tuple[Span, ...]) -> dict[str, str]:
    """Return the label of each relation by id; refuse relations other than first to second text."""
    first, second = (span.id for span in texts)
    for relation in document[layer].relations:
        if (relation.head, relation.tail) != (first, second):
            problem = f"expected a relation from part {first} to part {second}"
            got = f"{relation.label} {relation.head} -> {relation.tail}"
            raise DataError(f"{_location(document, layer, relation.id)}: {problem}, got {got}")
    return {relation.id: relation.label for relation in document[layer].relations}


def _value(document: Document, layer: str, label_of: dict[str, str]) -> float | None:
    """Return the value of these annotations, None where there is none."""
    values: set[float] = set()
    for attribute in document[layer].attributes:
        if attribute.label == VALUE and attribute.target in label_of:
            number = _parse_number(attribute.value)
            if number is None:
                problem = f"expected a finite number, got {attribute.value!r:.40}"
                raise DataError(f"{_location(document, layer, attribute.id)}: {problem}")
            values.add(number)
    if len(values) > 1:
        got = ", ".join(map(repr, sorted(values)))
        raise DataError(f"{_location(document, layer)}: expected one value, got {got}")
    return values.pop() if values else None


def _parse_number(written: str | None) -> float | None:
    """Return the finite number that is written, None for anything else."""
    try:
        number = float(written or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _text_bounds(document: Document) -> Fragment:
    """Return the bounds of the text without blanks at its ends."""
    return _trim(document.text, 0, len(document.text))


def _trim(text: str, start: int, end: int) -> Fragment:
    """Return the bounds without blanks at both ends; empty bounds at the start if all is blank."""
    part = text[start:end]
    first = start + len(part) - len(part.lstrip())
    return (first, first + len(part.strip())) if part.strip() else (start, start)


def _location(document: Document, *names: str) -> str:
    """Return the document's name, then the layer and the id of what an error is about."""
    return ": ".join((document.name or "document", *names))
