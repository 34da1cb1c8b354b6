"""evalb (Sekine and Collins, as of 2008), Collins' settings: brackets of trees, one per line."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from spanloom.errors import FormatError
from spanloom.formats._text import text_of
from spanloom.metrics.constituents import COLLINS, Compared, Sentence, compare
from spanloom.metrics.counts import Counts, percent, percentages, round_as_printed, total
from spanloom.scoring._base import Scorer, Scores

_MAX_ERRORS = 12  # the error at which the program stops
_MAX_SHORT = 40  # words; sentences up to this length are also summed separately
_VALID, _ERROR, _SKIP = range(3)
_NOTHING_COMPARED = Compared(Counts(), 0, Counts())
_NO_RATIO = "-nan"  # as the program prints 0/0

# "(tag word)", where either may be empty; "(label" before anything else; ")"; any other text
_TOKEN = re.compile(r"\(([^\s()]*)(?:\s++([^\s()]*)(\)))?|(\))|([^\s()]+)", re.ASCII)


class _ParsedLine(NamedTuple):
    """A parsed tree, its length in words as evalb counts it, and its number of bracket errors."""

    sentence: Sentence
    length: int
    errors: int


class _Row(NamedTuple):
    """Result of one sentence."""

    length: int
    status: int
    compared: Compared


def score(gold: Path, predicted: Path, options: Mapping[str, str]) -> Scores:
    """Return the rows and both summaries that the program prints.

    A sentence whose words differ or whose brackets do not close is an error, and left out of all
    sums. Raises ``FormatError`` at the 12th error, and for text that is no tree.
    """
    rows = list(_compare_files(gold, predicted))
    scores: Scores = {
        "sentences": [_sentence_json(number, row) for number, row in enumerate(rows, 1)],
        "All": _summary(rows),
        "len<=40": _summary([row for row in rows if row.length <= _MAX_SHORT]),
    }
    brackets, crossing, tags = _sum_valid(rows)
    if brackets.gold and brackets.predicted:
        recall, precision, *counts = _ratios(brackets).values()
        total_line = [recall, precision, *counts, crossing, tags.gold, tags.hits, _accuracy(tags)]
        scores["total_line"] = total_line
    return scores


def table(scores: Scores) -> str:
    """Format both summaries side by side."""
    all_sentences, short_sentences = scores["All"], scores["len<=40"]
    rows = [
        ("", "All", "len<=40"),
        *((name, all_sentences[name], short_sentences[name]) for name in all_sentences),
    ]
    lines = (
        f"{name:26}{_format_value(value_of_all):>8}{_format_value(value_of_short):>9}".rstrip()
        for name, value_of_all, value_of_short in rows
    )
    return "\n".join(lines) + "\n"


def _format_value(value: object) -> str:
    """Return a ratio with two digits, any other value unchanged."""
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _compare_files(gold: Path, predicted: Path) -> Iterator[_Row]:
    """Yield a row for each pair of lines; a longer file counts as one error."""
    errors = 0
    for number, (gold_line, predicted_line) in enumerate(
        zip_longest(_read_lines(gold), _read_lines(predicted)), 1
    ):
        gold_tree = _parse_tree(gold_line or "", gold, number)
        predicted_tree = _parse_tree(predicted_line or "", predicted, number)
        row = _compare_trees(gold_tree, predicted_tree)
        is_missing = gold_line is None or predicted_line is None
        is_error = is_missing or (row.status == _ERROR and row.compared is _NOTHING_COMPARED)
        errors += gold_tree.errors + predicted_tree.errors + is_error
        if errors >= _MAX_ERRORS:
            problem = (
                f"expected the words of {gold.name} and closed brackets, got error {_MAX_ERRORS}"
            )
            raise FormatError(str(predicted), number, problem)
        if is_missing:
            break
        yield row


def _read_lines(path: Path) -> list[str]:
    """Return the lines of a file; blank lines are empty trees."""
    lines = text_of(path).split("\n")
    return lines if lines[-1] else lines[:-1]


def _parse_tree(text: str, path: Path, number: int) -> _ParsedLine:
    """Parse a tree; brackets that are not closed end at -1."""
    words: list[str] = []
    tags: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    labels: list[str] = []
    stack: list[int] = []
    length = depth = errors = 0
    for label, word, leaf, is_closing, outside in _TOKEN.findall(text):
        if leaf:
            length += label not in COLLINS.no_length
            if label not in COLLINS.deleted:
                words.append(word)
                tags.append(label)
        elif is_closing:
            errors += depth < 0
            depth -= 1
            if stack:
                ends[stack.pop()] = len(words)
        elif outside:
            raise FormatError(str(path), number, f"expected '(' or ')', got {outside!r:.60}")
        else:
            depth += 1
            stack.append(len(ends))
            starts.append(len(words))
            ends.append(-1)
            labels.append(label)
    brackets = list(zip(starts, ends, labels, strict=True))
    return _ParsedLine(Sentence(words, tags, brackets), length, errors + (depth != 0))


def _compare_trees(gold: _ParsedLine, predicted: _ParsedLine) -> _Row:
    """Compare two trees, unless their words differ or nothing was predicted."""
    if not predicted.sentence.words:
        return _Row(gold.length, _SKIP, _NOTHING_COMPARED)
    if gold.sentence.words != predicted.sentence.words:
        return _Row(gold.length, _ERROR, _NOTHING_COMPARED)
    status = _ERROR if gold.errors or predicted.errors else _VALID
    return _Row(gold.length, status, compare(gold.sentence, predicted.sentence))


def _sentence_json(number: int, row: _Row) -> dict[str, float]:
    """Return the numbers that the program prints for one sentence."""
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
    """Return recall, precision and bracket counts."""
    ratios = percentages(brackets)
    return {
        "recall": round_as_printed(ratios.recall),
        "precision": round_as_printed(ratios.precision),
        "matched": brackets.hits,
        "gold_brackets": brackets.gold,
        "test_brackets": brackets.predicted,
    }


def _accuracy(tags: Counts) -> float:
    """Return the accuracy of tags, in percent."""
    return round_as_printed(percent(tags.hits, tags.gold))


def _sum_valid(rows: Sequence[_Row]) -> Compared:
    """Return the sums over all valid sentences."""
    valid = [row.compared for row in rows if row.status == _VALID]
    crossing = sum(compared.crossing for compared in valid)
    tags = total(compared.tags for compared in valid)
    return Compared(total(compared.brackets for compared in valid), crossing, tags)


def _summary(rows: Sequence[_Row]) -> dict[str, float | str]:
    """Return one of the program's summaries."""
    valid = [row.compared for row in rows if row.status == _VALID]
    brackets, crossing, tags = _sum_valid(rows)
    ratios, sentences = percentages(brackets), len(valid)
    num_exact = sum(
        1
        for compared in valid
        if compared.brackets.gold == compared.brackets.predicted == compared.brackets.hits
    )
    num_without_crossing = sum(1 for compared in valid if not compared.crossing)
    num_few_crossing = sum(1 for compared in valid if compared.crossing <= 2)
    return {
        "Number of sentence": len(rows),
        "Number of Error sentence": sum(1 for row in rows if row.status == _ERROR),
        "Number of Skip  sentence": sum(1 for row in rows if row.status == _SKIP),
        "Number of Valid sentence": sentences,
        "Bracketing Recall": round_as_printed(ratios.recall),
        "Bracketing Precision": round_as_printed(ratios.precision),
        "Bracketing FMeasure": round_as_printed(ratios.f1)
        if ratios.recall + ratios.precision
        else _NO_RATIO,
        "Complete match": round_as_printed(percent(num_exact, sentences)),
        "Average crossing": round_as_printed(crossing / sentences if sentences else 0.0),
        "No crossing": round_as_printed(percent(num_without_crossing, sentences)),
        "2 or less crossing": round_as_printed(percent(num_few_crossing, sentences)),
        "Tagging accuracy": _accuracy(tags),
    }


KIND = Scorer(name="evalb", score=score, table=table)
