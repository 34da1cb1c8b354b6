"""Split English text into words by spaCy's rules, without importing spaCy, which takes a second.

The rules are those of spaCy's English tokenizer (``english_words.json``; MIT License, Copyright (C)
2016-2024 ExplosionAI GmbH, in ``LICENSE.english_words.txt``), applied as it applies them: prefixes
and suffixes are taken off a run of non-blank characters until nothing changes or the rest is an
exception. A rest that is neither an exception nor a URL is split at infixes. Then exceptions that
affixes have torn apart (``:-)``) are put together again where their parts stand side by side.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

Bounds = tuple[int, int]
Lengths = tuple[int, ...]  # of the parts of a word

RULES_FILE = Path(__file__).with_suffix(".json")
_RUN = re.compile(r"\S+")
MAX_CACHED = 50_000  # runs whose parts are remembered


@dataclass(frozen=True, slots=True)
class Rules:
    """Patterns of affixes and URLs, and the lengths of the parts of each exception."""

    prefix: re.Pattern[str]
    suffix: re.Pattern[str]
    infix: re.Pattern[str]
    url: re.Pattern[str]
    exceptions: Mapping[str, Lengths]
    sentence_enders: frozenset[str]

    def split(self, run: str, exceptions: Mapping[str, Lengths]) -> list[str]:
        """Return the parts of a run of non-blank characters."""
        if run in exceptions:
            return _cut(run, exceptions[run])
        prefixes, rest, suffixes = self._split_affixes(run, exceptions)
        parts = prefixes
        if rest in exceptions:
            parts += _cut(rest, exceptions[rest])
        elif rest and self.url.match(rest):
            parts.append(rest)
        elif rest:
            parts += self._split_infixes(rest)
        return parts + suffixes[::-1]

    def _split_affixes(
        self, run: str, exceptions: Mapping[str, Lengths]
    ) -> tuple[list[str], str, list[str]]:
        """Return prefixes, what is between them and suffixes, and suffixes from outside in."""
        prefixes: list[str] = []
        suffixes: list[str] = []
        last_size = 0
        while run and len(run) != last_size and run not in exceptions:
            last_size = len(run)
            prefix = _matched(self.prefix.search(run))
            if prefix and run[len(prefix) :] in exceptions:
                prefixes.append(prefix)
                return prefixes, run[len(prefix) :], suffixes
            suffix = _matched(self.suffix.search(run[len(prefix) :]))
            if suffix and run[: -len(suffix)] in exceptions:
                suffixes.append(suffix)
                return prefixes, run[: -len(suffix)], suffixes
            if prefix:
                prefixes.append(prefix)
                run = run[len(prefix) :]
            if suffix:
                suffixes.append(suffix)
                run = run[: -len(suffix)]
        return prefixes, run, suffixes

    def _split_infixes(self, rest: str) -> Iterator[str]:
        """Yield the parts of a word at and between its infixes; one at its start is none."""
        start = 0
        for match in self.infix.finditer(rest):
            if match.start() == 0:
                continue
            yield from filter(None, (rest[start : match.start()], match.group()))
            start = match.end()
        if rest[start:]:
            yield rest[start:]


def english_words(text: str) -> list[Bounds]:
    """Return the bounds of the words of a text, as spaCy's English tokenizer finds them."""
    words: list[Bounds] = []
    split = _splitter()
    for run in _RUN.finditer(text):
        position = run.start()
        for length in split(run.group()):
            words.append((position, position + length))
            position += length
    return _join_exceptions(text, words)


def sentence_enders() -> frozenset[str]:
    """Return the characters that end sentences in any script, as spaCy's sentencizer lists them."""
    return load_rules().sentence_enders


class RunSplitter:
    """Splits runs by rules and remembers the most recent ones."""

    def __init__(self, rules: Rules) -> None:
        """Start without parts."""
        self._rules = rules
        self.parts: dict[str, Lengths] = {}

    def __call__(self, run: str) -> Lengths:
        """Return the lengths of the parts of a run."""
        lengths = self.parts.get(run)
        if lengths is None:
            lengths = tuple(map(len, self._rules.split(run, self._rules.exceptions)))
            if len(self.parts) >= MAX_CACHED:
                self.parts.clear()
            self.parts[run] = lengths
        return lengths


@cache
def load_rules() -> Rules:
    """Return the stored rules."""
    stored = json.loads(RULES_FILE.read_text(encoding="utf-8"))
    patterns = {name: re.compile(stored[name]) for name in ("prefix", "suffix", "infix", "url")}
    exceptions = {word: tuple(lengths) for word, lengths in stored["exceptions"].items()}
    return Rules(
        **patterns, exceptions=exceptions, sentence_enders=frozenset(stored["sentence_enders"])
    )


@cache
def _splitter() -> RunSplitter:
    return RunSplitter(load_rules())


@cache
def _torn_exceptions() -> dict[str, list[tuple[str, ...]]]:
    """Return the exceptions that affixes or infixes tear apart, as parts, by their first part."""
    rules = load_rules()
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for word in rules.exceptions:
        has_affix = rules.prefix.search(word) or rules.suffix.search(word)
        if has_affix or rules.infix.search(word):
            parts = tuple(rules.split(word, {}))
            by_first.setdefault(parts[0], []).append(parts)
    return by_first


def _join_exceptions(text: str, words: Sequence[Bounds]) -> list[Bounds]:
    """Return the words with exceptions in place of the words that affixes made of them.

    Of exceptions that share words the longest counts, of equally long ones the first. One across
    blanks counts, too, but changes nothing.
    """
    matches = sorted(_find_torn(text, words), key=lambda match: (match[0] - match[1], match[0]))
    if not matches:
        return list(words)
    seen: set[int] = set()
    chosen: list[Bounds] = []
    for first, end in matches:
        if first not in seen and end - 1 not in seen:
            chosen.append((first, end))
        seen.update(range(first, end))
    joined: list[Bounds] = []
    next_word = 0
    for first, end in sorted(chosen):
        start, stop = words[first][0], words[end - 1][1]
        lengths = load_rules().exceptions.get(text[start:stop])
        joined += words[next_word:first]
        if lengths is None:
            joined += words[first:end]
        else:
            for length in lengths:
                joined.append((start, start + length))
                start += length
        next_word = end
    return joined + list(words[next_word:])


def _find_torn(text: str, words: Sequence[Bounds]) -> Iterator[Bounds]:
    """Yield the words ``[first, end)`` that are the parts of an exception.

    A single blank may stand between two of them, as in spaCy, where more blanks are a word.
    """
    torn = _torn_exceptions()
    for first, (start, end) in enumerate(words):
        for parts in torn.get(text[start:end], ()):
            if first + len(parts) <= len(words) and all(
                text[words[first + number][0] : words[first + number][1]] == part
                and text[words[first + number - 1][1] : words[first + number][0]] in ("", " ")
                for number, part in enumerate(parts)
                if number
            ):
                yield first, first + len(parts)


def _matched(match: re.Match[str] | None) -> str:
    return match.group() if match else ""


def _cut(word: str, lengths: Lengths) -> list[str]:
    """Return the parts of a word, which have these lengths."""
    parts, start = [], 0
    for length in lengths:
        parts.append(word[start : start + length])
        start += length
    return parts
