"""Which lines of a document contradict each other: ids taken twice, references to nothing."""

from collections.abc import Mapping

from spanloom.document import Equivalence, Event, Span
from spanloom.formats.brat import sidecar
from spanloom.formats.brat.draft import Draft, Line
from spanloom.formats.brat.ids import FreshIds
from spanloom.formats.brat.lines import ID, Said
from spanloom.formats.brat.references import needs, renamed


def renumber_words(draft: Draft) -> None:
    """Give new ids to what stands in the words file under an id that the .ann uses too."""
    outer = {_key(line) for line in draft.lines if line.file != sidecar.SUFFIX}
    words = [i for i, line in enumerate(draft.lines) if line.file == sidecar.SUFFIX]
    inner = {_key(draft.lines[index]) for index in words}
    taken = sorted(key for key in inner & outer if ID.fullmatch(key))
    if not taken:
        return
    fresh = FreshIds(outer | inner)
    ids = {key: fresh(key[0]) for key in taken}
    for index in words:
        said = draft.said[index]
        if said:
            draft.said[index] = Said(renamed(said.annotation, ids), said.layer)


def _key(line: Line) -> str:
    """Return the first field of a line."""
    return line.raw.partition("\t")[0]


def refuse_duplicates(draft: Draft) -> None:
    """Keep the first annotation of an id; an unreadable line holds its id too, as in brat."""
    seen: dict[str, int] = {}
    number = 0
    for index, line in enumerate(draft.lines):
        said = draft.said[index]
        if said and isinstance(said.annotation, Equivalence):
            number += 1
            draft.said[index] = Said(renamed(said.annotation, {"*": f"*{number}"}), said.layer)
            continue
        key = said.annotation.id if said else _key(line)
        if key in seen:
            if said:
                draft.report(index, f"the id {key!r:.40} is taken by line {seen[key]}")
        elif said or ID.fullmatch(key):
            seen[key] = line.number


def refuse_dangling(draft: Draft) -> None:
    """Keep the lines that refer to what is not there, and those that refer to such lines."""
    place = {
        said.annotation.id: index
        for index, said in enumerate(draft.said)
        if said and not isinstance(said.annotation, Equivalence)  # it has no id to refer to
    }
    users: dict[str, list[int]] = {}
    waiting: list[tuple[int, str]] = []
    for index, said in enumerate(draft.said):
        if said is None or isinstance(said.annotation, Span):
            continue
        for target in needs(said.annotation):
            users.setdefault(target, []).append(index)
        fault = _fault(draft, place, said)
        if fault:
            waiting.append((index, fault))
    while waiting:
        index, fault = waiting.pop()
        said = draft.said[index]
        if said is None:
            continue
        draft.report(index, fault)
        gone = said.annotation.id
        waiting += [
            (i, f"refers to {gone!r:.40}, whose line is unusable") for i in users.get(gone, ())
        ]


def _fault(draft: Draft, place: Mapping[str, int], said: Said) -> str | None:
    """Return what is wrong with the references of one line."""
    for target in needs(said.annotation):
        if target not in place:
            return f"refers to {target!r:.40}, which is not there"
    if isinstance(said.annotation, Event):
        trigger = draft.said[place[said.annotation.trigger]]
        if trigger is None or not isinstance(trigger.annotation, Span):
            return f"the trigger {said.annotation.trigger!r:.40} is not a span"
        if (trigger.layer, trigger.annotation.label) != (said.layer, said.annotation.label):
            return f"the trigger's type is {trigger.annotation.label!r:.40}, not the event's"
    return None
