"""Texts that are judged as a whole, and pairs of texts: their two parts stand in a layer ``parts``.

    one text    T1  positive 0 20                            A1  value T1 4.5
    two texts   T1  parts__part 0 9   T2  parts__part 10 20
                R1  entails Arg1:T1 Arg2:T2                  A1  value R1 0.75

What is said of one text is one span over all of it, blanks at both ends left out; what is said of
two is one relation from the first part to the second. A number is the attribute ``value`` of it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from spanloom.document import Attribute, Document, Fragment, Layer, Relation, Span
from spanloom.errors import DataError

PARTS = "parts"
PART = "part"
VALUE = "value"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is said of a text, or of two: a class, or the name of a number with that number."""

    label: str
    value: float | None = None


def joined(name: str, first: str, second: str) -> Document:
    """Return the document of two texts, one under the other; blanks around them are in no part."""
    text = f"{first}\n{second}"
    bounds = _trimmed(text, 0, len(first)), _trimmed(text, len(first) + 1, len(text))
    spans = tuple(Span(f"T{n}", PART, (each,)) for n, each in enumerate(bounds, 1))
    return Document(text, (Layer(PARTS, spans),), name)


def parts(document: Document) -> tuple[Span, ...]:
    """Return the two parts in reading order, () for a document of one text.

    A part over several lines comes from brat in several fragments: ``start`` and ``end`` bound it.
    Raises ``DataError`` for anything but two spans ``part``, one after the other.
    """
    if not document.has(PARTS) or not document[PARTS].spans:
        return ()
    found = tuple(sorted(document[PARTS].spans, key=lambda span: (span.start, span.end)))
    if [span.label for span in found] != [PART, PART]:
        labels = ", ".join(span.label for span in found[:5])
        raise DataError(f"{_named(document)}: expected two parts, got {len(found)}: {labels}")
    first, second = found
    if first.end > second.start:
        places = " and ".join(f"{span.start}..{span.end}" for span in found)
        raise DataError(f"{_named(document)}: expected one part after the other, got {places}")
    return found


def judged(document: Document, layer: str) -> Judgement | None:
    """Return what a layer says of the text, or of its two parts; None where it says nothing.

    Raises ``LayerError`` where the layer is absent, and ``DataError`` for two labels or values, a
    value that is no finite number, a span over less than the text, a relation of anything else.
    """
    ends = parts(document)
    said = _of_pair(document, layer, ends) if ends else _of_text(document, layer)
    if not said:
        return None
    labels = sorted(set(said.values()))
    if len(labels) > 1:
        raise DataError(f"{_named(document, layer)}: expected one label, got {', '.join(labels)}")
    return Judgement(labels[0], _value(document, layer, said))


def judge(
    document: Document,
    name: str,
    label: str,
    value: float | None,
    fresh: Callable[[str], str],
    score: float | None = None,
) -> Layer:
    """Return the layer ``name`` that says this of the document; ``judged`` of it says the same.

    ``fresh`` makes the ids from T, R or A. Raises ``DataError`` for a value that is not finite, and
    as ``parts`` does.
    """
    if value is not None and not math.isfinite(value):
        raise DataError(f"{_named(document, name)}: expected a finite value, got {value}")
    ends = parts(document)
    about = fresh("R" if ends else "T")
    number = () if value is None else (Attribute(fresh("A"), VALUE, about, repr(float(value))),)
    if ends:
        first, second = ends
        relation = Relation(about, label, first.id, second.id, score=score)
        return Layer(name, relations=(relation,), attributes=number)
    return Layer(name, (Span(about, label, (_whole(document),), score),), attributes=number)


def _of_text(document: Document, layer: str) -> dict[str, str]:
    """Return the labels of the whole text, by the ids of their spans."""
    start, end = _whole(document)
    for span in document[layer].spans:
        if (span.start, span.end) != (start, end):
            problem = f"expected a span over the whole text, {start}..{end}"
            got = f"{span.label} {span.start}..{span.end}"
            raise DataError(f"{_named(document, layer, span.id)}: {problem}, got {got}")
    return {span.id: span.label for span in document[layer].spans}


def _of_pair(document: Document, layer: str, ends: tuple[Span, ...]) -> dict[str, str]:
    """Return the labels of the relations between the parts, by their ids."""
    first, second = (span.id for span in ends)
    for each in document[layer].relations:
        if (each.head, each.tail) != (first, second):
            problem = f"expected a relation from part {first} to part {second}"
            got = f"{each.label} {each.head} -> {each.tail}"
            raise DataError(f"{_named(document, layer, each.id)}: {problem}, got {got}")
    return {each.id: each.label for each in document[layer].relations}


def _value(document: Document, layer: str, said: dict[str, str]) -> float | None:
    """Return the number at these annotations, None where there is none."""
    numbers: set[float] = set()
    for each in document[layer].attributes:
        if each.label == VALUE and each.target in said:
            number = _number(each.value)
            if number is None:
                problem = f"expected a finite number, got {each.value!r:.40}"
                raise DataError(f"{_named(document, layer, each.id)}: {problem}")
            numbers.add(number)
    if len(numbers) > 1:
        got = ", ".join(map(repr, sorted(numbers)))
        raise DataError(f"{_named(document, layer)}: expected one value, got {got}")
    return numbers.pop() if numbers else None


def _number(written: str | None) -> float | None:
    """Return the finite number that is written, None where it is none."""
    try:
        number = float(written or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _whole(document: Document) -> Fragment:
    """Return the bounds of the text without blanks at its ends."""
    return _trimmed(document.text, 0, len(document.text))


def _trimmed(text: str, start: int, end: int) -> Fragment:
    """Return the bounds without blanks at both ends; of blanks alone nothing is left."""
    piece = text[start:end]
    first = start + len(piece) - len(piece.lstrip())
    return (first, first + len(piece.strip())) if piece.strip() else (start, start)


def _named(document: Document, *inside: str) -> str:
    """Return the document's name, then the layer and the id of what an error is about."""
    return ": ".join((document.name or "document", *inside))
