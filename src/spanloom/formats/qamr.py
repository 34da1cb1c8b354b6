"""QAMR: sentences of given words, questions about them, answers as sets of words.

::

    Wiki1k:a:0  3 4  76  0  3  Who met Bob?  0 1  261:0 1  60:1

A row (parted by tabs) is sentence, target words, worker, number of the question, target word,
question, answer, and what validators said: ``worker:answer``, ``worker:Invalid`` or
``worker:Redundant-2``. The sentences stand beside, ``id<tab>words``. A sentence is a document, its
rows its queries, whose ids are target words, worker and number (``3-4:76:0``). Each answer is a
span of the layer ``answers``, words that do not follow each other its fragments; an attribute says
whose it is: ``writer`` or ``validator 1``, ``2``… The target word of a question is a span of the
layer ``targets``; what a validator said that is no answer is an attribute of that.

Only sentences with questions are documents, so only those are written back.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count, groupby
from typing import NamedTuple

from spanloom.config.options import Options
from spanloom.document import Document, Fragment, Query, Span
from spanloom.errors import DocumentError, FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._laid import Laid
from spanloom.formats._lines import Line, lines
from spanloom.formats._making import Making
from spanloom.formats._names import Names, own
from spanloom.formats._regained import missing
from spanloom.forms.queries import ANSWER, QUERY, answers

LAYER, TARGETS = "answers", "targets"
TARGET, WRITER, VALIDATOR = "target", "writer", "validator {}"

_BESIDE = "wiki-sentences.tsv"
_COLUMNS = ("sentence", "target words", "worker", "number", "target word", "question", "answer")
_WORDS = re.compile(r"(?:[0-9]{1,9}(?: [0-9]{1,9})*)?")
_ID = re.compile(r"((?:[0-9]{1,9}(?:-[0-9]{1,9})*)?):([^\t\n]*):([^\t\n:]*)")
_SIDE = re.compile(r"validator ([1-9][0-9]{0,2})")
_LIKE = re.compile(
    r"[^\t\n]+\t[0-9 ]+\t[^\t\n]+\t[0-9]+\t[0-9]+\t[^\t\n]+\t[0-9 ]*(?:\t[^\t\n:]+:[^\t\n]*)*\r?\n"
)


class _Row(NamedTuple):
    """A row with its line."""

    line: int
    cells: list[str]


def loads(
    text: str, *, sentences: str = "", path: str = "<string>", options: Options = Options()
) -> Iterator[Document]:
    """Yield the document of each sentence that rows are about.

    Raises ``FormatError``: too few columns, a sentence that is not in ``sentences``, words that it
    does not have, two questions of one worker and number.
    """
    known = _sentences(sentences)
    names = Names()
    rows = (_row(line, path) for line in lines(text.removeprefix("\ufeff")) if line.text.strip())
    for sentence, about in groupby(rows, lambda row: row.cells[0]):
        first = next(about)
        if sentence not in known:
            problem = f"expected the id of a sentence in {_BESIDE}, got {sentence!r:.60}"
            raise FormatError(path, first.line, problem)
        making = names.making(sentence)
        making.sentence(known[sentence])
        making.layer(LAYER)
        making.layer(TARGETS)
        line = first.line
        try:
            for row in (first, *about):
                line = row.line
                _ask(making, row.cells)
            yield making.done()
        except (ValueError, DocumentError) as error:
            raise FormatError(path, line, str(error)) from error


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> dict[str, str]:
    """Return the rows, and the sentences under ``sentences``; texts without words are left out."""
    rows: list[str] = []
    beside: dict[str, str] = {}
    last = None
    for document in documents:
        laid = Laid(document)
        words = " ".join(map(_word, laid.forms))
        name = _cell(own(document)).lstrip("\ufeff") or "_"
        while name == last or beside.get(name, words) != words:
            name += "~"
        if words:
            beside[name] = words
            found = ["\t".join((name, *cells)) for cells in _rows(laid)]
            rows += found
            last = name if found else last
    sentences = (f"{name}\t{words}" for name, words in beside.items())
    return {"": _ended(rows), "sentences": _ended(sentences)}


def lost(document: Document, options: Options = Options()) -> Losses:
    """Count what is neither word, question nor answer."""
    made = dumps([document])
    return missing(document, loads(made[""], sentences=made["sentences"]))


def looks(head: str, name: str) -> bool:
    """Whether the first row has words by number where they belong."""
    return _LIKE.match(head) is not None


def _sentences(text: str) -> dict[str, list[str]]:
    """Return the words of each sentence; raises ``FormatError``."""
    found: dict[str, list[str]] = {}
    for number, line in lines(text.removeprefix("\ufeff")):
        if not line:
            continue
        name, tab, words = line.partition("\t")
        forms = words.split(" ")
        if not tab or not all(forms) or found.get(name, forms) != forms:
            problem = "expected an id that is new, a tab, and words with one blank between"
            raise FormatError(_BESIDE, number, f"{problem}, got {line!r:.60}")
        found[name] = forms
    return found


def _row(line: Line, path: str) -> _Row:
    """Return a row; raises ``FormatError`` for one that is too short."""
    cells = line.text.split("\t")
    if len(cells) < len(_COLUMNS):
        expected = f"expected {len(_COLUMNS)} columns or more ({', '.join(_COLUMNS)}, validators)"
        raise FormatError(path, line.number, f"{expected}, got {len(cells)}")
    return _Row(line.number, cells)


def _ask(making: Making, cells: list[str]) -> None:
    """Add a question, its answers and its target word; raises ``ValueError``."""
    _, targets, worker, number, target, question, answer, *validated = cells
    _numbers(targets, making)
    query = f"{targets.replace(' ', '-')}:{worker}:{number}"
    if _ID.fullmatch(query) is None:
        raise ValueError(f"expected a worker, and a number of the question, got {query!r:.60}")
    making.queries.append(Query(query, question))
    _answer(making, query, _numbers(answer, making), WRITER, worker)
    about = _span(making, TARGETS, TARGET, query, _numbers(target, making)[:1])
    for place, said in enumerate(validated, 1):
        who, _, judgement = said.partition(":")
        if not said.strip():
            continue
        if _is_answer(said):
            _answer(making, query, _numbers(judgement, making), VALIDATOR.format(place), who)
        elif about is None:
            raise ValueError(f"expected a target word, for the judgement {said!r:.60} is about it")
        else:
            making.attribute(TARGETS, VALIDATOR.format(place), about, said)


def _answer(making: Making, query: str, words: tuple[int, ...], side: str, who: str) -> None:
    """Add an answer, if there is one, and whose it is."""
    span = _span(making, LAYER, ANSWER, query, words)
    if span is not None:
        making.attribute(LAYER, side, span, who)


def _span(making: Making, layer: str, label: str, query: str, words: tuple[int, ...]) -> str | None:
    """Add a span of words that belongs to a query; None for no words."""
    fragments: list[Fragment] = []
    last = None
    for word in words:
        start, end = making.at(word, word + 1)
        if fragments and last is not None and word == last + 1:
            fragments[-1] = (fragments[-1][0], end)
        else:
            fragments.append((start, end))
        last = word
    if not fragments:
        return None
    span = making.span(layer, label, *fragments)
    making.attribute(layer, QUERY, span, query)
    return span


def _numbers(cell: str, making: Making) -> tuple[int, ...]:
    """Return words by number; raises ``ValueError`` for those that there are not."""
    if _WORDS.fullmatch(cell) is None:
        raise ValueError(f"expected numbers of words with one blank between, got {cell!r:.60}")
    found = tuple(int(number) for number in cell.split())
    count = len(making.words)
    if any(number >= count for number in found):
        raise ValueError(f"expected numbers of words from 0 to {count - 1}, got {cell!r:.60}")
    return found


def _rows(laid: Laid) -> Iterator[list[str]]:
    """Yield the cells of each question, the sentence apart."""
    document = laid.document
    found, about = _spans(document, LAYER), _spans(document, TARGETS)
    whose, said = _sides(document, LAYER), _sides(document, TARGETS)
    for query, (targets, worker, number) in _ids(document.queries, len(laid.forms)):
        target = [word for span in about[query.id][:1] for word in _covered(laid, span)[:1]]
        judged = {
            side: _cell(value)
            for span in about[query.id][:1] * bool(target)
            for side, value in said.get(span.id, {}).items()
            if side != WRITER and not _is_answer(value)
        }
        given = _given(laid, found[query.id], whose, judged)
        yield [
            *(targets.replace("-", " "), worker, number, "".join(map(str, target))),
            *(_cell(query.prompt), given.pop(WRITER, "")),
            *(given.get(VALIDATOR.format(side), "") for side in range(1, 1 + _last(given))),
        ]


def _ids(queries: Iterable[Query], words: int) -> Iterator[tuple[Query, tuple[str, str, str]]]:
    """Yield queries with target words, worker and number; ids from elsewhere are numbers alone."""
    asked = list(queries)
    used = {query.id for query in asked}
    free = (number for number in count() if f"::{number}" not in used)
    for query in asked:
        match = _ID.fullmatch(query.id)
        if match and all(int(each) < words for each in re.findall("[0-9]+", match[1])):
            yield query, (match[1], match[2], match[3])
        else:
            yield query, ("", "", str(next(free)))


def _given(
    laid: Laid,
    spans: Iterable[Span],
    whose: Mapping[str, Mapping[str, str]],
    judged: Mapping[str, str],
) -> dict[str, str]:
    """Return the cells of writer and validators; answers that are nobody's take free places."""
    cells = dict(judged)
    for span in spans:
        words = " ".join(map(str, _covered(laid, span)))
        if not words:
            continue
        side, who = next(iter(whose.get(span.id, {}).items()), ("", ""))
        if not side or side in cells:
            every = (VALIDATOR.format(number) for number in count(1))
            side = next(each for each in chain((WRITER,), every) if each not in cells)
        cells[side] = words if side == WRITER else f"{_cell(who).replace(':', ' ')}:{words}"
    return cells


def _spans(document: Document, layer: str) -> dict[str, tuple[Span, ...]]:
    """Return the spans of a layer by query; an absent layer has none."""
    bare = {query.id: () for query in document.queries}
    return {**bare, **answers(document, layer)} if document.has(layer) else {**bare}


def _sides(document: Document, layer: str) -> dict[str, dict[str, str]]:
    """Return what the annotations of a layer have of writer and validators, by their ids."""
    found: dict[str, dict[str, str]] = {}
    for each in document[layer].attributes if document.has(layer) else ():
        if each.label == WRITER or _SIDE.fullmatch(each.label):
            found.setdefault(each.target, {}).setdefault(each.label, each.value or "")
    return found


def _covered(laid: Laid, span: Span) -> list[int]:
    """Return the words of a span, fragment by fragment; none where it is no whole words."""
    found: list[int] = []
    for start, end in span.fragments:
        first = bisect_left(laid.words.words, (start, start))
        last = bisect_left(laid.words.words, (end, end))
        words = laid.words.words[first:last]
        if not words or words[0][0] != start or words[-1][1] != end:
            return []
        found += range(first, last)
    return found


def _is_answer(said: str) -> bool:
    """Whether what a validator said is words by number, or nothing."""
    _, colon, words = said.partition(":")
    return not said.strip() or bool(colon and words and _WORDS.fullmatch(words))


def _last(cells: Iterable[str]) -> int:
    """Return the number of the last validator."""
    found = (_SIDE.fullmatch(side) for side in cells)
    return max((int(each[1]) for each in found if each), default=0)


def _cell(text: str) -> str:
    """Return a text without what parts cells."""
    return re.sub(r"[\t\n]", " ", text)


def _word(form: str) -> str:
    """Return a word without what parts words."""
    return re.sub(r"[ \t\n]|\r\Z", "_", form)


def _ended(rows: Iterable[str]) -> str:
    """Return lines, each with its end."""
    return "".join(re.sub(r"\r\Z", " ", row) + "\n" for row in rows)


_SENTENCES = (
    "Wiki1k:a:0\tOn Monday Ada met , by chance , Bob and Eve .\nWiki1k:a:1\tThey talked .\n"
)
_ROWS = (
    "Wiki1k:a:0\t2 3 8\t76\t0\t2\tWho met Bob by chance?\t2\t261:2\t60:2\n"
    "Wiki1k:a:0\t2 3 8\t76\t2\t8\tWho did Ada meet?\t8 10\t261:8 9 10\t60:8 10\n"
    "Wiki1k:a:0\t2 3 8\t162\t0\t3\tWhen did they meet?\t0 1\t100:Redundant-1\t76:1\n"
    "Wiki1k:a:1\t0 1\t7\t0\t1\tWhat did they do?\t1\t9:Invalid\t60:Invalid\n"
)

KIND = Format(
    loads,
    dumps,
    lost,
    looks,
    (".tsv",),
    {"": _ROWS, "sentences": _SENTENCES},
    beside={"sentences": _BESIDE},
)
