"""Extractions of Open IE: a predicate, its head word, its arguments in order; as tags and as spans.

    word  Ada   has   not   seen  Bob         predicate (1, 3), head 3
    tag   A0-B  P-B   O     P-I   A1-B        arguments A0 (0,), A1 (4,)

As spans: one ``predicate`` a tuple (with gaps: of several fragments), one ``argument`` for each of
its arguments, a relation to it labelled with the role. (Stanovsky et al., 2018)
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spanloom.document import Fragment, Layer, Note, Relation, Span
from spanloom.errors import DocumentError
from spanloom.forms.tag_schemes import OUTSIDE

PREDICATE, ARGUMENT = "predicate", "argument"  # labels of spans
HEAD, INSIDE = "head", "inside"  # labels of notes, where it is not as usual

PREDICATE_ROLE = "P"  # what tags call a predicate
_BEGIN, _IN = "B", "I"


class Argument(NamedTuple):
    """A role and its words, ascending; ``begun`` is whether the first one's tag says so."""

    role: str
    words: tuple[int, ...]
    begun: bool = True


@dataclass(frozen=True, slots=True)
class Extraction:
    """A predicate's words, ascending, its head, and its arguments by role and place."""

    predicate: tuple[int, ...]
    head: int
    arguments: tuple[Argument, ...] = ()


def of_tags(tags: Sequence[str], head: int) -> Extraction:
    """Return the tuple of one tag a word; raises ``DocumentError`` unless there is one predicate.

    A role goes on after a gap where its next tag is no beginning.
    """
    found: list[Argument] = []
    last: dict[str, int] = {}  # role -> its row in ``found``
    for word, tag in enumerate(tags):
        role, _, letter = tag.rpartition("-")
        if tag == OUTSIDE:
            continue
        if not role or letter not in (_BEGIN, _IN):
            raise DocumentError(f"expected O, ROLE-B or ROLE-I, got {tag!r:.60}")
        if letter == _BEGIN or role not in last:
            last[role] = len(found)
            found.append(Argument(role, (word,), letter == _BEGIN))
        else:
            before = found[last[role]]
            found[last[role]] = before._replace(words=(*before.words, word))
    predicates = [each for each in found if each.role == PREDICATE_ROLE]
    if len(predicates) != 1 or not predicates[0].begun:
        raise DocumentError(f"expected one predicate that P-B begins, got {len(predicates)}")
    rest = sorted((each for each in found if each.role != PREDICATE_ROLE), key=_by_role)
    return Extraction(predicates[0].words, head, tuple(rest))


def tags(extraction: Extraction, words: int) -> list[str]:
    """Return one tag a word; raises ``DocumentError`` where one word is said to be two things."""
    made = [OUTSIDE] * words
    for role, places, begun in (
        Argument(PREDICATE_ROLE, extraction.predicate),
        *extraction.arguments,
    ):
        for number, place in enumerate(places):
            if made[place] != OUTSIDE:
                raise DocumentError(f"word {place} is {made[place]} and {role}")
            made[place] = f"{role}-{_BEGIN if begun and not number else _IN}"
    return made


def layer(
    name: str,
    found: Iterable[Extraction],
    bounds: Sequence[Fragment],
    fresh: Callable[[str], str],
) -> Layer:
    """Return the layer ``name`` of these tuples; ``extractions`` of it gives them back.

    ``bounds`` are the words' characters, ``fresh`` makes ids from T, R or #.
    """
    spans: list[Span] = []
    relations: list[Relation] = []
    notes: list[Note] = []
    for each in found:
        predicate = Span(fresh("T"), PREDICATE, _fragments(each.predicate, bounds))
        spans.append(predicate)
        if each.head != each.predicate[-1]:
            notes.append(Note(fresh("#"), HEAD, predicate.id, str(each.head)))
        for role, words, begun in each.arguments:
            argument = Span(fresh("T"), ARGUMENT, _fragments(words, bounds))
            spans.append(argument)
            relations.append(Relation(fresh("R"), role, predicate.id, argument.id))
            if not begun:
                notes.append(Note(fresh("#"), INSIDE, argument.id))
    return Layer(name, tuple(spans), tuple(relations), notes=tuple(notes))


def extractions(given: Layer, bounds: Sequence[Fragment]) -> dict[str, Extraction]:
    """Return a tuple for each span ``predicate``, by its id, in the order of the layer.

    Spans that are no whole words are left out, and so are relations to or from those.
    """
    starts = {start: row for row, (start, _) in enumerate(bounds)}
    ends = {end: row for row, (_, end) in enumerate(bounds)}
    words = {span.id: _words(span, starts, ends) for span in given.spans}
    said = {(note.label, note.target): note.text for note in given.notes}
    arguments: dict[str, list[Argument]] = {}
    for each in given.relations:
        if words.get(each.tail):
            begun = (INSIDE, each.tail) not in said
            argument = Argument(each.label, words[each.tail], begun)
            arguments.setdefault(each.head, []).append(argument)
    found: dict[str, Extraction] = {}
    for span in given.spans:
        mine = words[span.id]
        if span.label == PREDICATE and mine:
            head = said.get((HEAD, span.id), "")
            place = int(head) if head.isdecimal() and len(head) < 9 else mine[-1]
            ordered = tuple(sorted(arguments.get(span.id, []), key=_by_role))
            found[span.id] = Extraction(mine, place, ordered)
    return found


def _by_role(argument: Argument) -> tuple[int, str, tuple[int, ...]]:
    """Order A2 before A10, and one role's arguments by place."""
    return len(argument.role), argument.role, argument.words


def _fragments(words: Sequence[int], bounds: Sequence[Fragment]) -> tuple[Fragment, ...]:
    """Return the characters of words, one fragment for each run of neighbours."""
    runs: list[list[int]] = []
    for word in words:
        if runs and runs[-1][-1] + 1 == word:
            runs[-1].append(word)
        else:
            runs.append([word])
    return tuple((bounds[run[0]][0], bounds[run[-1]][1]) for run in runs)


def _words(span: Span, starts: dict[int, int], ends: dict[int, int]) -> tuple[int, ...]:
    """Return the words that a span covers exactly, () where it does not."""
    found: list[int] = []
    for start, end in sorted(span.fragments):
        if start not in starts or end not in ends or start >= end:
            return ()
        found += range(starts[start], ends[end] + 1)
    return tuple(found)
