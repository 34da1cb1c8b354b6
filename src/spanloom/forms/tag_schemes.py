"""Spans as one tag a word, and back: BIO, IOB1, BIOES, BILOU, and plain tags without a prefix.

    words   Ada  Lovelace  met  Bob  Bob          spans (0, 2, PER) (3, 4, PER) (4, 5, PER)
    BIO     B-PER I-PER    O    B-PER B-PER       also called IOB2
    IOB1    I-PER I-PER    O    I-PER B-PER       B only parts two spans of one label that touch
    BIOES   B-PER E-PER    O    S-PER S-PER       also called IOBES
    BILOU   B-PER L-PER    O    U-PER U-PER
    none    each word is a span by itself, and its tag is its label

Spans are ``(start, end, label)``, bounds ``[start, end)`` in words of one sentence. Ramshaw and
Marcus (1995) has IOB1; Ratinov and Roth (2009) compares the schemes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from spanloom.errors import DocumentError

Tagged = tuple[int, int, str]
Allowed = tuple[list[bool], list[list[bool]], list[bool]]

OUTSIDE = "O"
_OPENING = frozenset("BSU")  # in whichever scheme, a word so tagged begins a span
_CLOSING = frozenset("ELSU")  # and one so tagged ends it


class Scheme(Protocol):
    """How spans without overlap are spelt as tags."""

    def tags(self, labels: Sequence[str]) -> list[str]:
        """Return every tag that these labels need: "O" first, then label by label."""

    def encode(self, spans: Sequence[Tagged], words: int) -> list[str]:
        """Return one tag a word; ``spans`` come in any order.

        Raises ``DocumentError`` where spans overlap, leave the sentence, or cannot be spelt.
        """

    def decode(self, tags: Sequence[str]) -> list[Tagged]:
        """Return the spans, ascending; a malformed sequence gives those that conlleval counts."""

    def allowed(self, tags: Sequence[str]) -> Allowed:
        """Return which tags may begin a sentence, which may follow which, and which may end it.

        ``follow[i][j]`` is whether ``tags[j]`` may stand after ``tags[i]``. Sequences that obey all
        three are those that ``encode`` makes, no more and no fewer.
        """


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A scheme whose tags are a letter and a label; the letter says where in its span a word is.

    ``single`` is for a span of one word. ``again``, where a scheme has it, replaces the first
    letter of a span that touches an earlier one of the same label.
    """

    first: str
    inside: str
    last: str
    single: str
    again: str = ""

    def tags(self, labels: Sequence[str]) -> list[str]:
        """Return "O", then each label with each letter."""
        letters = dict.fromkeys((self.first, self.inside, self.last, self.single, self.again))
        return [OUTSIDE, *(f"{each}-{label}" for label in labels for each in letters if each)]

    def encode(self, spans: Sequence[Tagged], words: int) -> list[str]:
        """Return one tag a word, "O" where no span is."""
        tags = [OUTSIDE] * words
        before = None
        for start, end, label in _disjoint(spans, words):
            letters = [self.first, *[self.inside] * (end - start - 2), self.last]
            if end - start == 1:
                letters = [self.single]
            if self.again and before == (start, label):
                letters[0] = self.again
            tags[start:end] = [f"{letter}-{label}" for letter in letters]
            before = end, label
        return tags

    def decode(self, tags: Sequence[str]) -> list[Tagged]:
        """Return runs of words of one label, parted where a letter says that one begins or ends."""
        spans: list[Tagged] = []
        for place, tag in enumerate(tags):
            if tag == OUTSIDE:
                continue
            letter, _, label = tag.partition("-")
            if spans and letter not in _OPENING and _goes_on(tags, place, label):
                spans[-1] = (spans[-1][0], place + 1, label)
            else:
                spans.append((place, place + 1, label))
        return spans

    def allowed(self, tags: Sequence[str]) -> Allowed:
        """See ``Scheme``."""
        ends = [tag == OUTSIDE or self._closes(tag[:1]) for tag in tags]
        starts = [tag == OUTSIDE or tag[:1] in {self.first, self.single} for tag in tags]
        follow = [[self._follows(one, two) for two in tags] for one in tags]
        return starts, follow, ends

    def _closes(self, letter: str) -> bool:
        again = bool(self.again) and letter == self.again
        return again or letter in {self.last, self.single}

    def _follows(self, one: str, two: str) -> bool:
        """Whether the second tag begins a span after the first, or goes on in the same one."""
        begins = two == OUTSIDE or two[:1] in {self.first, self.single}
        if begins and (one == OUTSIDE or self._closes(one[:1])):
            return True
        if OUTSIDE in (one, two) or one[1:] != two[1:]:
            return False
        if self.again and two[:1] == self.again:
            return self._closes(one[:1])
        onward = {self.first, self.inside, self.again} - {""}
        return one[:1] in onward and two[:1] in {self.inside, self.last}


@dataclass(frozen=True, slots=True)
class Plain:
    """One tag a word, its label itself: parts of speech, and whatever else every word has."""

    def tags(self, labels: Sequence[str]) -> list[str]:
        """Return "O" and the labels."""
        return [OUTSIDE, *labels]

    def encode(self, spans: Sequence[Tagged], words: int) -> list[str]:
        """Return one tag a word; a span of several words, or labelled "O", cannot be spelt."""
        tags = [OUTSIDE] * words
        for start, end, label in _disjoint(spans, words):
            if end - start > 1 or label == OUTSIDE:
                problem = f"span {(start, end, label)}: plain tags need spans of one word"
                raise DocumentError(f"{problem}, not labelled {OUTSIDE!r}")
            tags[start] = label
        return tags

    def decode(self, tags: Sequence[str]) -> list[Tagged]:
        """Return each tagged word as a span."""
        return [(place, place + 1, tag) for place, tag in enumerate(tags) if tag != OUTSIDE]

    def allowed(self, tags: Sequence[str]) -> Allowed:
        """Allow all."""
        every = [True] * len(tags)
        return every, [list(every) for _ in tags], list(every)


SCHEMES: dict[str, Scheme] = {
    "BIO": Prefixed("B", "I", "I", "B"),
    "IOB1": Prefixed("I", "I", "I", "I", again="B"),
    "BIOES": Prefixed("B", "I", "E", "S"),
    "BILOU": Prefixed("B", "I", "L", "U"),
    "none": Plain(),
}
SCHEMES |= {"IOB2": SCHEMES["BIO"], "IOBES": SCHEMES["BIOES"]}


def _disjoint(spans: Sequence[Tagged], words: int) -> Iterator[Tagged]:
    """Yield the spans in order; refuse the first that is no span or shares a word with another."""
    before = None
    for span in sorted(spans):
        if not 0 <= span[0] < span[1] <= words:
            raise DocumentError(f"span {span}: expected words within [0, {words}), at least one")
        if before is not None and span[0] < before[1]:
            raise DocumentError(f"span {span} overlaps {before}: a word holds one tag")
        yield span
        before = span


def _goes_on(tags: Sequence[str], place: int, label: str) -> bool:
    """Whether the word before is of the same label and does not end its span."""
    letter, _, before = tags[place - 1].partition("-")
    return tags[place - 1] != OUTSIDE and before == label and letter not in _CLOSING
