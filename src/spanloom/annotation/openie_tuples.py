"""Convert Open IE extractions (a predicate with ordered arguments) between tags and spans.

    word  Ada   has   not   seen  Bob         predicate (1, 3), head 3
    tag   A0-B  P-B   O     P-I   A1-B        arguments A0 (0,), A1 (4,)

As spans: one span ``predicate`` per extraction (with several fragments if it has gaps), one span
``argument`` per argument, and a relation to each argument, labelled with its role.
(Stanovsky et al., 2018)
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spanloom.annotation.tag_schemes import OUTSIDE
from spanloom.annotation.word_index import WordIndex, word_runs
from spanloom.document import Fragment, Layer, Note, Relation, Span
from spanloom.errors import DocumentError
from spanloom.tokenization import Tokenization

PREDICATE, ARGUMENT = "predicate", "argument"  # labels of spans
HEAD, INSIDE = "head", "inside"  # labels of notes, for a head or first tag that is not the default

PREDICATE_ROLE = "P"  # the predicate's role in tags
_BEGIN, _IN = "B", "I"


class Argument(NamedTuple):
    """A role and its words, ascending; ``begun`` is whether the first word's tag is a B tag."""

    role: str
    words: tuple[int, ...]
    begun: bool = True


@dataclass(frozen=True, slots=True)
class Extraction:
    """A predicate's words, ascending, its head word, and its arguments by role and position."""

    predicate: tuple[int, ...]
    head: int
    arguments: tuple[Argument, ...] = ()


def extraction_of_tags(tags: Sequence[str], head: int) -> Extraction:
    """Return the extraction encoded by one tag per word.

    A role continues after a gap if its next tag is not a B tag. Raises ``DocumentError`` unless
    there is exactly one predicate.
    """
    arguments: list[Argument] = []
    last_index: dict[str, int] = {}  # role -> index of its last item in ``arguments``
    for word, tag in enumerate(tags):
        role, _, letter = tag.rpartition("-")
        if tag == OUTSIDE:
            continue
        if not role or letter not in (_BEGIN, _IN):
            raise DocumentError(f"expected O, ROLE-B or ROLE-I, got {tag!r:.60}")
        if letter == _BEGIN or role not in last_index:
            last_index[role] = len(arguments)
            arguments.append(Argument(role, (word,), letter == _BEGIN))
        else:
            previous = arguments[last_index[role]]
            arguments[last_index[role]] = previous._replace(words=(*previous.words, word))
    predicates = [argument for argument in arguments if argument.role == PREDICATE_ROLE]
    if len(predicates) != 1 or not predicates[0].begun:
        raise DocumentError(f"expected one predicate that P-B begins, got {len(predicates)}")
    ordered = sorted(
        (argument for argument in arguments if argument.role != PREDICATE_ROLE), key=_by_role
    )
    return Extraction(predicates[0].words, head, tuple(ordered))


def tags(extraction: Extraction, words: int) -> list[str]:
    """Return one tag per word; raises ``DocumentError`` where a word has two roles."""
    tags = [OUTSIDE] * words
    for role, role_words, begun in (
        Argument(PREDICATE_ROLE, extraction.predicate),
        *extraction.arguments,
    ):
        for position, word in enumerate(role_words):
            if tags[word] != OUTSIDE:
                raise DocumentError(f"word {word} is {tags[word]} and {role}")
            tags[word] = f"{role}-{_BEGIN if begun and not position else _IN}"
    return tags


def layer(
    name: str,
    extractions: Iterable[Extraction],
    bounds: Sequence[Fragment],
    new_id: Callable[[str], str],
) -> Layer:
    """Return the layer ``name`` of these extractions; ``extractions`` is the inverse.

    ``bounds`` are the words' character bounds; ``new_id`` makes ids with the prefixes T, R and #.
    """
    spans: list[Span] = []
    relations: list[Relation] = []
    notes: list[Note] = []
    for extraction in extractions:
        predicate = Span(new_id("T"), PREDICATE, _fragments(extraction.predicate, bounds))
        spans.append(predicate)
        if extraction.head != extraction.predicate[-1]:
            notes.append(Note(new_id("#"), HEAD, predicate.id, str(extraction.head)))
        for role, words, begun in extraction.arguments:
            argument = Span(new_id("T"), ARGUMENT, _fragments(words, bounds))
            spans.append(argument)
            relations.append(Relation(new_id("R"), role, predicate.id, argument.id))
            if not begun:
                notes.append(Note(new_id("#"), INSIDE, argument.id))
    return Layer(name, tuple(spans), tuple(relations), notes=tuple(notes))


def extractions(source: Layer, bounds: Sequence[Fragment]) -> dict[str, Extraction]:
    """Return one extraction per span ``predicate``, by its id, in the order of the layer.

    Spans that do not cover whole words are left out, and so are relations to or from them.
    """
    index = WordIndex(Tokenization(bounds, ()))
    words = {span.id: index.covered_words(sorted(span.fragments)) for span in source.spans}
    notes = {(note.label, note.target): note.text for note in source.notes}
    arguments: dict[str, list[Argument]] = {}
    for relation in source.relations:
        if words.get(relation.tail):
            begun = (INSIDE, relation.tail) not in notes
            argument = Argument(relation.label, words[relation.tail], begun)
            arguments.setdefault(relation.head, []).append(argument)
    extractions: dict[str, Extraction] = {}
    for span in source.spans:
        predicate = words[span.id]
        if span.label == PREDICATE and predicate:
            note = notes.get((HEAD, span.id), "")
            head_word = int(note) if note.isdecimal() and len(note) < 9 else predicate[-1]
            ordered = tuple(sorted(arguments.get(span.id, []), key=_by_role))
            extractions[span.id] = Extraction(predicate, head_word, ordered)
    return extractions


def _by_role(argument: Argument) -> tuple[int, str, tuple[int, ...]]:
    """Return a sort key that puts A2 before A10, and arguments of one role in text order."""
    return len(argument.role), argument.role, argument.words


def _fragments(words: Sequence[int], bounds: Sequence[Fragment]) -> tuple[Fragment, ...]:
    """Return the character fragments of words, one per run of adjacent words."""
    return tuple((bounds[first][0], bounds[end - 1][1]) for first, end in word_runs(words))
