"""Check the lines of a document against each other: duplicate ids and dangling references."""

from collections.abc import Mapping, Set

from spanloom.annotation_ids import IdGenerator
from spanloom.document import Equivalence, Event, Span
from spanloom.formats.brat import sidecar
from spanloom.formats.brat.ann_grammar import ID, ParsedLine, needs, rename_ids
from spanloom.formats.brat.draft import AnnFileParse, Line


def renumber_words(draft: AnnFileParse) -> None:
    """Give new ids to annotations of the words file whose ids the .ann uses too."""
    ann_ids = {_first_field(line) for line in draft.lines if line.file != sidecar.SUFFIX}
    word_lines = [index for index, line in enumerate(draft.lines) if line.file == sidecar.SUFFIX]
    word_ids = {_first_field(draft.lines[index]) for index in word_lines}
    shared_ids = sorted(key for key in word_ids & ann_ids if ID.fullmatch(key))
    if not shared_ids:
        return
    new_id = IdGenerator(ann_ids | word_ids)
    ids = {key: new_id(key[0]) for key in shared_ids}
    for index in word_lines:
        parsed = draft.parsed[index]
        if parsed:
            draft.parsed[index] = ParsedLine(rename_ids(parsed.annotation, ids), parsed.layer)


def _first_field(line: Line) -> str:
    """Return the first field of a line."""
    return line.raw.partition("\t")[0]


def check_duplicates(draft: AnnFileParse) -> None:
    """Keep the first annotation of an id; an unreadable line takes its id too, as in brat."""
    line_of_id: dict[str, int] = {}
    number = 0
    for index, line in enumerate(draft.lines):
        parsed = draft.parsed[index]
        if parsed and isinstance(parsed.annotation, Equivalence):
            number += 1
            draft.parsed[index] = ParsedLine(
                rename_ids(parsed.annotation, {"*": f"*{number}"}), parsed.layer
            )
            continue
        key = parsed.annotation.id if parsed else _first_field(line)
        if key in line_of_id:
            if parsed:
                draft.report(index, f"the id {key!r:.40} is taken by line {line_of_id[key]}")
        elif parsed or ID.fullmatch(key):
            line_of_id[key] = line.number


def check_dangling(draft: AnnFileParse) -> None:
    """Report lines that refer to missing annotations, and those that refer to such lines."""
    index_of = {
        parsed.annotation.id: index
        for index, parsed in enumerate(draft.parsed)
        if parsed and not isinstance(parsed.annotation, Equivalence)  # it has no id to refer to
    }
    unread_ids = {
        _first_field(line)
        for line, parsed in zip(draft.lines, draft.parsed, strict=True)
        if parsed is None
    }
    users: dict[str, list[int]] = {}
    faulty: list[tuple[int, str]] = []
    for index, parsed in enumerate(draft.parsed):
        if parsed is None or isinstance(parsed.annotation, Span):
            continue
        for target in needs(parsed.annotation):
            users.setdefault(target, []).append(index)
        fault = _find_fault(draft, index_of, unread_ids, parsed)
        if fault:
            faulty.append((index, fault))
    _report_with_users(draft, users, faulty)


def _report_with_users(
    draft: AnnFileParse, users: Mapping[str, list[int]], faulty: list[tuple[int, str]]
) -> None:
    """Report faulty lines, by index and fault, and those that refer to them, by id."""
    while faulty:
        index, fault = faulty.pop()
        parsed = draft.parsed[index]
        if parsed is None:
            continue
        draft.report(index, fault)
        missing_id = parsed.annotation.id
        faulty += [
            (user_index, f"refers to {missing_id!r:.40}, whose line is unusable")
            for user_index in users.get(missing_id, ())
        ]


def _find_fault(
    draft: AnnFileParse, index_of: Mapping[str, int], unread_ids: Set[str], parsed: ParsedLine
) -> str | None:
    """Return what is wrong with the references of a line, None if nothing is."""
    for target in needs(parsed.annotation):
        if target not in index_of:
            if target in unread_ids:
                return f"refers to {target!r:.40}, whose line is unreadable"
            return f"refers to {target!r:.40}, which is not there"
    if isinstance(parsed.annotation, Event):
        trigger = draft.parsed[index_of[parsed.annotation.trigger]]
        if trigger is None or not isinstance(trigger.annotation, Span):
            return f"the trigger {parsed.annotation.trigger!r:.40} is not a span"
        if (trigger.layer, trigger.annotation.label) != (parsed.layer, parsed.annotation.label):
            return f"the trigger's type is {trigger.annotation.label!r:.40}, not the event's"
    return None
