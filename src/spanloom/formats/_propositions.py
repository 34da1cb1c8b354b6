"""Convert predicate-argument columns (``annotation.props``) to the layer ``srl`` and back.

A predicate is a span labelled with its sense; each argument is a span ``argument`` and a relation
to it, labelled with the role: ``ARG0``, ``C-ARG1``, ``C-V``… Spans are ordered as their brackets,
so on the same words the outermost is first. Attributes of a predicate record exceptions: ``row``,
the offset in words from its first word to its sense; ``unmarked``, that no V marks it;
``roleset``, its sense, if all predicates are labelled ``V``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from spanloom.annotation.props import NONE, Argument, Proposition
from spanloom.document import Relation
from spanloom.formats._document_builder import DocumentBuilder
from spanloom.formats._word_view import WordView

LAYER = "srl"
ARGUMENT = "argument"
VERB = "V"
ROW, UNMARKED, ROLESET = "row", "unmarked", "roleset"  # attributes of predicates

_PREDICATE_ATTRIBUTES = (ROW, UNMARKED, ROLESET)
_ROLE = re.compile(r"[^\s()*]+")
_SENSE = re.compile(r"\S+")
_ROWS = re.compile(r"-?[0-9]{1,9}")


def annotate(
    builder: DocumentBuilder, first: int, props: Sequence[Proposition], plain_labels: bool
) -> None:
    """Add the propositions of the sentence that begins with word ``first``.

    ``plain_labels``: label predicates ``V`` instead of their sense.
    """
    builder.layer(LAYER)
    for prop in props:
        verb = _find_verb(prop)
        marked_argument = verb or Argument(prop.word, prop.word + 1, VERB)
        label = VERB if plain_labels else prop.sense
        predicate = "" if verb else _add_span(builder, first, marked_argument, label)
        arguments: list[tuple[str, str]] = []
        for argument in prop.arguments:
            if argument is verb:
                predicate = _add_span(builder, first, argument, label)
            else:
                arguments.append((argument.label, _add_span(builder, first, argument, ARGUMENT)))
        for role, argument_id in arguments:
            builder.relation(LAYER, role, predicate, argument_id)
        if verb is None:
            builder.attribute(LAYER, UNMARKED, predicate)
        if prop.word != marked_argument.start:
            builder.attribute(LAYER, ROW, predicate, str(prop.word - marked_argument.start))
        if label != prop.sense:
            builder.attribute(LAYER, ROLESET, predicate, prop.sense)


def propositions(view: WordView, standard_only: bool = False) -> list[list[Proposition]]:
    """Return the propositions of each sentence, by predicate word.

    Left out are further predicates on the same word, predicates whose label is no sense, and
    arguments that are not whole words of the sentence or cross the predicate or an earlier
    argument. ``standard_only``: each has one V, which begins with its word, whatever attributes and
    roles say.
    """
    if not view.document.has_layer(LAYER):
        return [[] for _ in view.words.sentences]
    layer = view.document[LAYER]
    roles: dict[str, list[Relation]] = {}
    for relation in layer.relations:
        roles.setdefault(relation.head, []).append(relation)
    tails = {relation.tail for relation in layer.relations}
    value_of = {
        (attribute.target, attribute.label): attribute.value or ""
        for attribute in reversed(layer.attributes)
    }
    props_by_sentence: list[list[Proposition]] = []
    for (first, end), spans in zip(view.words.sentences, view.by_sentence(LAYER)[0], strict=True):
        prop_of_word: dict[int, Proposition] = {}
        bounds_of = {
            span.id: (start, stop, order) for order, (start, stop, span) in enumerate(spans)
        }
        for start, stop, span in spans:
            if span.id not in roles and span.id in tails:
                continue
            mark_names = (ROLESET,) if standard_only else _PREDICATE_ATTRIBUTES
            marks = {
                label: value_of[span.id, label]
                for label in mark_names
                if (span.id, label) in value_of
            }
            own_roles = (
                role for role in roles.get(span.id, ()) if not standard_only or role.label != VERB
            )
            arguments = _nested_arguments(span.id, own_roles, bounds_of)
            prop = _build_proposition(
                Argument(start, stop, span.label), marks, arguments, end - first
            )
            if _SENSE.fullmatch(prop.sense) and prop.sense != NONE:
                prop_of_word.setdefault(prop.word, prop)
        props_by_sentence.append([prop_of_word[word] for word in sorted(prop_of_word)])
    return props_by_sentence


def _add_span(builder: DocumentBuilder, first: int, argument: Argument, label: str) -> str:
    return builder.add_word_span(LAYER, label, first + argument.start, first + argument.end)


def _find_verb(prop: Proposition) -> Argument | None:
    """Return the V argument that covers the predicate's word, else the first V, else None."""
    verbs = [argument for argument in prop.arguments if argument.label == VERB]
    covering = (argument for argument in verbs if argument.start <= prop.word < argument.end)
    return next(covering, verbs[0] if verbs else None)


def _nested_arguments(
    predicate: str, roles: Iterable[Relation], bounds_of: Mapping[str, tuple[int, int, int]]
) -> tuple[Argument, ...]:
    """Return the predicate as V, and the arguments that nest with it and each other, in order."""
    start, end, order = bounds_of[predicate]
    nested = [(start, -end, order, VERB)]
    for role in roles:
        if role.tail in bounds_of and _ROLE.fullmatch(role.label):
            start, end, order = bounds_of[role.tail]
            if not any(_cross(start, end, left, -right) for left, right, _, _ in nested):
                nested.append((start, -end, order, role.label))
    nested.sort(key=lambda item: item[:3])
    return tuple(Argument(start, -end, role) for start, end, _, role in nested)


def _cross(start: int, end: int, other_start: int, other_end: int) -> bool:
    """Whether two runs of words overlap and neither contains the other."""
    return start < other_start < end < other_end or other_start < start < other_end < end


def _build_proposition(
    predicate: Argument, marks: Mapping[str, str], arguments: tuple[Argument, ...], num_words: int
) -> Proposition:
    """Return the proposition of a predicate's span, attributes and arguments."""
    start, end, label = predicate
    row = marks.get(ROW, "")
    word = start + int(row) if _ROWS.fullmatch(row) else start
    unmarked = UNMARKED in marks and end - start == 1 and not row
    if unmarked and sum(argument.label == VERB for argument in arguments) == 1:
        arguments = tuple(argument for argument in arguments if argument.label != VERB)
    sense = marks.get(ROLESET, label) if label == VERB else label
    return Proposition(word if 0 <= word < num_words else start, sense, arguments)
