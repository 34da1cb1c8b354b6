"""Tell whether a text is in a language that the encoder hardly knows, by its letters and words.

An encoder knows a script if its vocabulary has many pieces of it. One whose whole words are English
and whose pieces are Latin is English: its text should have the function words of English.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from spanloom.data.instances import TokenizedDocument
from spanloom.data.subwords import SubwordTokenizer

_MANY, _SHARE = 1000, 0.02  # pieces of a script, or share of all, from which on it is known
_FOREIGN = 0.2  # share of letters in unknown scripts from which on a text is foreign
_MIN_LETTERS, _MIN_WORDS = 10, 50  # shorter texts are not judged
_MIN_DISTINCT = 30  # Latin words: the same few sentences again tell no more
_WORDS = 20_000  # that are looked at
_LATIN = "LATIN"
_TYPICAL = frozenset(
    "would through which because their people should between years without against".split()
)
_FUNCTION_WORDS = frozenset(
    "the of and to for that it with this are be you my your his our its their she they from not "
    "but when which who what there have has were would could than after before about into some "
    "these those because between very".split()
)  # without those that are frequent in other languages: a, in, on, at, is, was, i, he, we, me, no
_FEW_FUNCTION_WORDS = 0.04  # share of words; English has 0.06 even where it is full of names
_ADVICE = "docs/start.md names encoders for other languages"


@dataclass(frozen=True, slots=True)
class KnownLanguage:
    """What an encoder's vocabulary tells of the texts that it learnt from."""

    scripts: frozenset[str]
    is_english: bool
    unknown: int

    @classmethod
    def of(cls, pieces: SubwordTokenizer) -> "KnownLanguage":
        """Read a vocabulary."""
        vocabulary = pieces.tokenizer.get_vocab()
        counts: Counter[str] = Counter()
        for piece in vocabulary:
            if piece.isascii():  # most are, and looking for names would take a tenth of a second
                counts[_LATIN] += piece.upper() != piece.lower()
                continue
            scripts = {script_of(character) for character in piece if character.isalpha()}
            if len(scripts) == 1:
                counts.update(scripts)
        enough = min(_MANY, _SHARE * len(vocabulary))
        known = frozenset(script for script, count in counts.items() if count >= enough)
        words = {piece.lstrip("▁Ġ") for piece in vocabulary}
        return cls(known, known == {_LATIN} and words >= _TYPICAL, pieces.unknown)

    def warning(self, documents: Iterable[TokenizedDocument]) -> str | None:
        """Return a line on texts that the encoder hardly knows, None for others."""
        letters: Counter[str] = Counter()
        distinct_latin: set[str] = set()
        num_words = num_unknown = num_latin = num_function = 0
        for document in documents:
            for word, piece_ids in zip(document.tokens, document.pieces, strict=True):
                alphabetic = [character for character in word if character.isalpha()]
                if not alphabetic:
                    continue
                letters.update(map(script_of, alphabetic))
                num_words += 1
                num_unknown += self.unknown in piece_ids
                if script_of(alphabetic[0]) == _LATIN:
                    num_latin += 1
                    distinct_latin.add(word.lower())
                num_function += word.lower() in _FUNCTION_WORDS
            if num_words > _WORDS:
                break
        foreign = {script: n for script, n in letters.items() if script not in self.scripts}
        share = sum(foreign.values()) / max(1, letters.total())
        if letters.total() >= _MIN_LETTERS and share >= _FOREIGN:
            script = max(foreign, key=lambda script: (foreign[script], script)).capitalize()
            unknown = f"{100 * num_unknown / num_words:.0f} % of the words have unknown pieces"
            return (
                f"{100 * share:.0f} % of the letters are of scripts that the encoder hardly knows "
                f"({script}), {unknown}: {_ADVICE}"
            )
        is_few = num_function < _FEW_FUNCTION_WORDS * num_latin
        is_long = num_latin >= _MIN_WORDS and len(distinct_latin) >= _MIN_DISTINCT
        if self.is_english and is_long and is_few:
            return f"the text does not look English, which the encoder was made for: {_ADVICE}"
        return None


@lru_cache(maxsize=65_536)
def script_of(character: str) -> str:
    """Return the script of a letter, the first word of its name in Unicode: ``CYRILLIC``."""
    return unicodedata.name(character, "UNKNOWN").split()[0]
