"""evalb (Sekine and Collins, as of 2008) with Collins' settings: brackets of trees, one a line."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.brackets import COLLINS, Compared, Sentence, compare
from spanloom.metrics.counts import Counts, total
from spanloom.metrics.percentages import percent, percentages, rounded
from spanloom.scoring._base import Scorer, Scores

_FATAL = 12  # the error at which the program gives up
_CUTOFF = 40  # words of the sentences that are also summed apart
_VALID, _ERROR, _SKIP = range(3)
_NOTHING = Compared(Counts(), 0, Counts())
_NO_RATIO = "-nan"  # as the program prints 0/0

# "(tag word)", of which either may be empty; "(label" before anything else; ")"; what is no part
_TOKEN = re.compile(r"\(([^\s()]*)(?:\s++([^\s()]*)(\)))?|(\))|([^\s()]+)", re.ASCII)


class _Line(NamedTuple):
    """A tree as it was read, the words that make its length, and how often brackets are wrong."""

    sentence: Sentence
    length: int
    errors: int


class _Row(NamedTuple):
    """What is said of one sentence."""

    length: int
    status: int
    compared: Compared


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the rows and both summaries that the program prints.

    A sentence is left out of all sums, and counted as an error, where its words differ or brackets
    do not close. Raises ``FormatError`` at the 12th of these, and for what is no tree.
    """
    rows = list(_rows(gold, predicted))
    scores: Scores = {
        "sentences": [_printed(number, row) for number, row in enumerate(rows, 1)],
        "All": _summary(rows),
        "len<=40": _summary([row for row in rows if row.length <= _CUTOFF]),
    }
    brackets, crossing, tags = _sum(rows)
    if brackets.gold and brackets.predicted:
        recall, precision, *counts = _ratios(brackets).values()
        line = [recall, precision, *counts, crossing, tags.gold, tags.hits, _accuracy(tags)]
        scores["total_line"] = line
    return scores


def table(scores: Scores) -> str:
    """Return both summaries side by side."""
    whole, short = scores["All"], scores["len<=40"]
    rows = [("", "All", "len<=40"), *((name, whole[name], short[name]) for name in whole)]
    lines = (f"{name:26}{_shown(one):>8}{_shown(two):>9}".rstrip() for name, one, two in rows)
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _rows(gold: Path, predicted: Path) -> Iterator[_Row]:
    """Yield a row for each pair of lines; that one file is longer counts as one error."""
    errors = 0
    for number, (one, two) in enumerate(zip_longest(_lines(gold), _lines(predicted)), 1):
        mine = _read(one or "", gold, number)
        theirs = _read(two or "", predicted, number)
        row = _row(mine, theirs)
        missing = one is None or two is None
        wrong = missing or (row.status == _ERROR and row.compared is _NOTHING)
        errors += mine.errors + theirs.errors + wrong
        if errors >= _FATAL:
            problem = f"expected the words of {gold.name} and closed brackets, got error {_FATAL}"
            raise FormatError(str(predicted), number, problem)
        if missing:
            break
        yield row


def _lines(path: Path) -> list[str]:
    """Return the lines of a file; blank ones are trees of nothing."""
    lines = text_of(path).split("\n")
    return lines if lines[-1] else lines[:-1]


def _read(text: str, path: Path, number: int) -> _Line:
    """Read a tree; what is not closed ends nowhere (-1)."""
    words: list[str] = []
    tags: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    labels: list[str] = []
    stack: list[int] = []
    length = depth = errors = 0
    for label, word, leaf, close, other in _TOKEN.findall(text):
        if leaf:
            length += label not in COLLINS.no_length
            if label not in COLLINS.deleted:
                words.append(word)
                tags.append(label)
        elif close:
            errors += depth < 0
            depth -= 1
            if stack:
                ends[stack.pop()] = len(words)
        elif other:
            raise FormatError(str(path), number, f"expected '(' or ')', got {other!r:.60}")
        else:
            depth += 1
            stack.append(len(ends))
            starts.append(len(words))
            ends.append(-1)
            labels.append(label)
    brackets = list(zip(starts, ends, labels, strict=True))
    return _Line(Sentence(words, tags, brackets), length, errors + (depth != 0))


def _row(gold: _Line, predicted: _Line) -> _Row:
    """Compare two trees, unless their words differ or nothing was predicted."""
    if not predicted.sentence.words:
        return _Row(gold.length, _SKIP, _NOTHING)
    if gold.sentence.words != predicted.sentence.words:
        return _Row(gold.length, _ERROR, _NOTHING)
    status = _ERROR if gold.errors or predicted.errors else _VALID
    return _Row(gold.length, status, compare(gold.sentence, predicted.sentence))


def _printed(number: int, row: _Row) -> dict[str, float]:
    brackets, crossing, tags = row.compared
    return {
        "id": number,
        "length": row.length,
        "status": row.status,
        **_ratios(brackets),
        "cross": crossing,
        "words": tags.gold,
        "correct_tags": tags.hits,
        "tag_accuracy": _accuracy(tags),
    }


def _ratios(brackets: Counts) -> dict[str, float]:
    each = percentages(brackets)
    return {
        "recall": rounded(each.recall),
        "precision": rounded(each.precision),
        "matched": brackets.hits,
        "gold_brackets": brackets.gold,
        "test_brackets": brackets.predicted,
    }


def _accuracy(tags: Counts) -> float:
    return rounded(percent(tags.hits, tags.gold))


def _sum(rows: Sequence[_Row]) -> Compared:
    valid = [row.compared for row in rows if row.status == _VALID]
    crossing = sum(each.crossing for each in valid)
    tags = total(each.tags for each in valid)
    return Compared(total(each.brackets for each in valid), crossing, tags)


def _summary(rows: Sequence[_Row]) -> dict[str, float | str]:
    valid = [row.compared for row in rows if row.status == _VALID]
    brackets, crossing, tags = _sum(rows)
    each, sentences = percentages(brackets), len(valid)
    whole = sum(
        1 for one in valid if one.brackets.gold == one.brackets.predicted == one.brackets.hits
    )
    free = sum(1 for one in valid if not one.crossing)
    nearly = sum(1 for one in valid if one.crossing <= 2)
    return {
        "Number of sentence": len(rows),
        "Number of Error sentence": sum(1 for row in rows if row.status == _ERROR),
        "Number of Skip  sentence": sum(1 for row in rows if row.status == _SKIP),
        "Number of Valid sentence": sentences,
        "Bracketing Recall": rounded(each.recall),
        "Bracketing Precision": rounded(each.precision),
        "Bracketing FMeasure": rounded(each.f1) if each.recall + each.precision else _NO_RATIO,
        "Complete match": rounded(percent(whole, sentences)),
        "Average crossing": rounded(crossing / sentences if sentences else 0.0),
        "No crossing": rounded(percent(free, sentences)),
        "2 or less crossing": rounded(percent(nearly, sentences)),
        "Tagging accuracy": _accuracy(tags),
    }


KIND = Scorer(name="evalb", score=score, table=table)
