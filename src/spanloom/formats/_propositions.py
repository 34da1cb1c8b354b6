"""Predicates and arguments of columns (``forms.props``) as the layer ``srl``, and back.

A predicate is a span labelled with its sense; each argument is a span ``argument`` and a relation
to it, labelled with the role: ``ARG0``, ``C-ARG1``, ``C-V``… Spans stand as their brackets do, so
on the same words the outermost is first. Attributes of a predicate say what is not as usual:
``row``, how many words after its first one its sense stands; ``unmarked``, that no V says where it
is; ``roleset``, its sense, where all predicates are labelled ``V``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from spanloom.document import Relation
from spanloom.formats._laid import Laid
from spanloom.formats._making import Making
from spanloom.forms.props import NONE, Argument, Proposition

LAYER = "srl"
ARGUMENT = "argument"
VERB = "V"
ROW, UNMARKED, ROLESET = "row", "unmarked", "roleset"  # attributes of predicates

_MARKS = (ROW, UNMARKED, ROLESET)
_ROLE = re.compile(r"[^\s()*]+")
_SENSE = re.compile(r"\S+")
_ROWS = re.compile(r"-?[0-9]{1,9}")


def annotate(making: Making, first: int, props: Sequence[Proposition], plain: bool) -> None:
    """Add the propositions of the sentence that begins with the word ``first``.

    ``plain``: predicates are labelled ``V``.
    """
    making.layer(LAYER)
    for prop in props:
        verb = _verb(prop)
        marked = verb or Argument(prop.word, prop.word + 1, VERB)
        label = VERB if plain else prop.sense
        predicate = "" if verb else _over(making, first, marked, label)
        arguments: list[tuple[str, str]] = []
        for each in prop.arguments:
            if each is verb:
                predicate = _over(making, first, each, label)
            else:
                arguments.append((each.label, _over(making, first, each, ARGUMENT)))
        for role, argument in arguments:
            making.relation(LAYER, role, predicate, argument)
        if verb is None:
            making.attribute(LAYER, UNMARKED, predicate)
        if prop.word != marked.start:
            making.attribute(LAYER, ROW, predicate, str(prop.word - marked.start))
        if label != prop.sense:
            making.attribute(LAYER, ROLESET, predicate, prop.sense)


def propositions(laid: Laid, usual: bool = False) -> list[list[Proposition]]:
    """Return the propositions of each sentence, by their words.

    Left out are of predicates of one word all but the first, those whose label is no sense, and
    arguments that are no words of their predicate's sentence or cross it or an earlier one.
    ``usual``: each has one V, which begins with its word, whatever attributes and roles say.
    """
    if not laid.document.has(LAYER):
        return [[] for _ in laid.words.sentences]
    layer = laid.document[LAYER]
    roles: dict[str, list[Relation]] = {}
    for each in layer.relations:
        roles.setdefault(each.head, []).append(each)
    tails = {each.tail for each in layer.relations}
    said = {(each.target, each.label): each.value or "" for each in reversed(layer.attributes)}
    found: list[list[Proposition]] = []
    for (first, end), spans in zip(laid.words.sentences, laid.by_sentence(LAYER)[0], strict=True):
        made: dict[int, Proposition] = {}
        places = {span.id: (start, stop, n) for n, (start, stop, span) in enumerate(spans)}
        for start, stop, span in spans:
            if span.id not in roles and span.id in tails:
                continue
            known = (ROLESET,) if usual else _MARKS
            marks = {label: said[span.id, label] for label in known if (span.id, label) in said}
            own = (each for each in roles.get(span.id, ()) if not usual or each.label != VERB)
            arguments = _arguments(span.id, own, places)
            prop = _proposition(Argument(start, stop, span.label), marks, arguments, end - first)
            if _SENSE.fullmatch(prop.sense) and prop.sense != NONE:
                made.setdefault(prop.word, prop)
        found.append([made[word] for word in sorted(made)])
    return found


def _over(making: Making, first: int, argument: Argument, label: str) -> str:
    return making.over(LAYER, label, first + argument.start, first + argument.end)


def _verb(prop: Proposition) -> Argument | None:
    """Return where the predicate is marked: over its word, else elsewhere."""
    marked = [each for each in prop.arguments if each.label == VERB]
    over = (each for each in marked if each.start <= prop.word < each.end)
    return next(over, marked[0] if marked else None)


def _arguments(
    predicate: str, roles: Iterable[Relation], places: Mapping[str, tuple[int, int, int]]
) -> tuple[Argument, ...]:
    """Return the predicate, labelled V, and what nests with it and with one another, in order."""
    start, end, order = places[predicate]
    kept = [(start, -end, order, VERB)]
    for each in roles:
        if each.tail in places and _ROLE.fullmatch(each.label):
            start, end, order = places[each.tail]
            if not any(_cross(start, end, left, -right) for left, right, _, _ in kept):
                kept.append((start, -end, order, each.label))
    kept.sort(key=lambda each: each[:3])
    return tuple(Argument(start, -end, role) for start, end, _, role in kept)


def _cross(start: int, end: int, other: int, until: int) -> bool:
    """Whether two runs of words share some, and each has others."""
    return start < other < end < until or other < start < until < end


def _proposition(
    predicate: Argument, marks: Mapping[str, str], arguments: tuple[Argument, ...], words: int
) -> Proposition:
    """Return a predicate, whose span and attributes are given, with its arguments."""
    start, end, label = predicate
    row = marks.get(ROW, "")
    word = start + int(row) if _ROWS.fullmatch(row) else start
    unmarked = UNMARKED in marks and end - start == 1 and not row
    if unmarked and sum(each.label == VERB for each in arguments) == 1:
        arguments = tuple(each for each in arguments if each.label != VERB)
    sense = marks.get(ROLESET, label) if label == VERB else label
    return Proposition(word if 0 <= word < words else start, sense, arguments)
