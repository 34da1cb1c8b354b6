"""CoNLL04: a sentence with entities, and relations between them (Roth and Yih, 2004).

::

    #doc 7
    0   Ada     B-Peop  ['N']                  [0]
    1   Byron   I-Peop  ['Live_In', 'Kill']    [4, 7]
    2   saw     O       ['N']                  [2]

Columns are parted by tabs: number, word, entity in IOB2, and at the last word of an entity the
relations from it, with the last word of the entity that each goes to; ``['N']`` and the word itself
where there are none. (The spelling of Bekoulis et al., 2018.)

A document is what follows ``#doc``, as one sentence; layer ``entities`` has spans and relations. A
tag that does not begin well is the word's attribute ``entities``. Blank lines are not kept.
"""

import re
from collections.abc import Iterable, Iterator

from spanloom.config.options import Options
from spanloom.document import SENTENCES, WORDS, Document
from spanloom.errors import FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._laid import Laid
from spanloom.formats._lines import Line, cells, lines
from spanloom.formats._making import Making
from spanloom.formats._names import Names, numbered, own
from spanloom.formats._regained import missing
from spanloom.formats._tagged import Placed, annotate, apart, is_tag, openings, respelt, written
from spanloom.forms.tag_schemes import SCHEMES, Tagged

LAYER = "entities"
NONE = "N"  # the relation of a word that has none
_DOC = "#doc "
_COLUMNS = ("number", "word", "entity", "relations", "heads")
_SCHEME = SCHEMES["IOB2"]
_LABEL = r"'[^'\t\n]+'"
_LABELS = re.compile(rf"\[{_LABEL}(?:, {_LABEL})*\]")
_HEADS = re.compile(r"\[[0-9]{1,9}(?:, [0-9]{1,9})*\]")
_PARTING = re.compile(r"[\t\n]")


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the documents; raises ``FormatError``: columns, numbers, tags, ends of relations."""
    names = Names()
    for block in _blocks(text, path):
        making = names.making(block[0].text.removeprefix(_DOC))
        for layer in (WORDS, SENTENCES, LAYER):
            making.layer(layer)
        if block[1:]:
            _read(making, block[1:], path)
        yield making.done()


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return the rows; a document of several sentences is written as one."""
    return "".join(
        line + "\n" for at, each in enumerate(documents, 1) for line in _written(each, numbered(at))
    )


def _blocks(text: str, path: str) -> Iterator[list[Line]]:
    """Yield the lines of each document, the one of its name first."""
    block: list[Line] = []
    for line in lines(text):
        if line.text.startswith(_DOC) and line.text != _DOC:
            if block:
                yield block
            block = [line]
        elif line.text.strip() and not block:
            problem = f"expected {_DOC!r} and a name, got {line.text!r:.60}"
            raise FormatError(path, line.number, problem)
        elif line.text.strip():
            block.append(line)
    if block:
        yield block


def _read(making: Making, rows: list[Line], path: str) -> None:
    """Add words, entities and relations."""
    every = [_checked(row, at, path) for at, row in enumerate(rows)]
    making.sentence([each[1] for each in every])
    tags = [each[2] for each in every]
    ids = annotate(making, LAYER, _SCHEME, 0, tags)
    ends = {end - 1: key for (_, end, _), key in zip(_SCHEME.decode(tags), ids, strict=True)}
    for at, (row, each) in enumerate(zip(rows, every, strict=True)):
        for label, head in _relations(each[3], each[4], at, row, path):
            if at not in ends or head not in ends:
                problem = f"expected a relation between last words of entities, got {at} to {head}"
                raise FormatError(path, row.number, problem)
            making.relation(LAYER, label, ends[at], ends[head])


def _checked(row: Line, at: int, path: str) -> list[str]:
    """Return the cells of a row."""
    found = cells(row, path, _COLUMNS)
    if found[0] != str(at):
        raise FormatError(path, row.number, f"expected the number {at}, got {found[0]!r:.60}")
    if not found[1].strip():
        raise FormatError(path, row.number, f"expected a word, got {found[1]!r:.60}")
    if not is_tag(found[2], openings(_SCHEME)):
        raise FormatError(path, row.number, f"expected O, B-… or I-…, got {found[2]!r:.60}")
    return found


def _relations(labels: str, heads: str, at: int, row: Line, path: str) -> list[tuple[str, int]]:
    """Return label and head of each relation from a word."""
    if not _LABELS.fullmatch(labels) or not _HEADS.fullmatch(heads):
        problem = f"expected ['LABEL', …] and [NUMBER, …], got {labels!r:.60} and {heads!r:.60}"
        raise FormatError(path, row.number, problem)
    said, to = labels[2:-2].split("', '"), [int(each) for each in heads[1:-1].split(", ")]
    if said == [NONE] and to == [at]:
        return []
    if len(said) != len(to) or NONE in said:
        problem = f"expected a head each, or ['{NONE}'] and [{at}]"
        raise FormatError(path, row.number, f"{problem}, got {labels!r:.60} and {heads!r:.60}")
    return list(zip(said, to, strict=True))


def _written(document: Document, number: str) -> Iterator[str]:
    """Yield the lines of a document."""
    laid = Laid(document)
    name = own(document)
    yield _DOC + (name if name and not set(name) & {"\n", "\r"} else number)
    placed = _placed(laid)
    said = {at: {a.label: a.value for a in each} for at, each in laid.values(WORDS).items()}
    own_tags = [said.get(at, {}).get(LAYER) for at in range(len(laid.forms))]
    tags = respelt(_SCHEME, placed, own_tags)
    links = _links(document, placed)
    for at, form in enumerate(laid.forms):
        found = links.get(at, [(NONE, at)])
        labels = ", ".join(f"'{label}'" for label, _ in found)
        heads = ", ".join(str(head) for _, head in found)
        yield f"{at}\t{written(form, _PARTING)}\t{tags[at]}\t[{labels}]\t[{heads}]"


def _placed(laid: Laid) -> list[Placed]:
    """Return the entities that can be told, in words of the document."""
    found = zip(laid.words.sentences, apart(laid, LAYER, _spells), strict=True)
    return [(a + first, b + first, span) for (first, _), each in found for a, b, span in each]


def _links(document: Document, placed: list[Placed]) -> dict[int, list[tuple[str, int]]]:
    """Return label and head of the relations from each word that has any."""
    last = {span.id: end - 1 for _, end, span in placed}
    found: dict[int, list[tuple[str, int]]] = {}
    for each in document[LAYER].relations if document.has(LAYER) else ():
        named = _LABELS.fullmatch(f"['{each.label}']") and each.label != NONE
        if named and each.head in last and each.tail in last:
            found.setdefault(last[each.head], []).append((each.label, last[each.tail]))
    return found


def _spells(span: Tagged) -> bool:
    """Whether a tag can hold the label of a span."""
    return bool(span[2]) and _PARTING.search(span[2]) is None


def _lost(document: Document, options: Options) -> Losses:
    """Count what is not there when it is read again."""
    return missing(document, loads(dumps([document])))


def _looks(head: str, name: str) -> bool:
    """Tell by the name of a document and the five columns of its first word."""
    row = rf"0\t[^\t\n]+\t(?:O|B-[^\t\n]+)\t{_LABELS.pattern}\t{_HEADS.pattern}"
    return re.match(rf"\s*{_DOC}[^\n]+\n{row}\s", head) is not None


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
    (".conll04", ".txt"),
    "#doc 7\n"
    "0\tAda\tB-Peop\t['N']\t[0]\n"
    "1\tByron\tI-Peop\t['Live_In', 'Work_For']\t[3, 5]\n"
    "2\tof\tO\t['N']\t[2]\n"
    "3\tLondon\tB-Loc\t['N']\t[3]\n"
    "4\tsaw\tO\t['N']\t[4]\n"
    "5\tIBM\tI-Org\t['OrgBased_In']\t[3]\n"
    "#doc 8\n"
    "0\tYes\tO\t['N']\t[0]\n",
)
