"""Encode spans as one tag per word, and back: BIO, IOB1, BIOES, BILOU, and tags without a prefix.

    words   Ada  Lovelace  met  Bob  Bob          spans (0, 2, PER) (3, 4, PER) (4, 5, PER)
    BIO     B-PER I-PER    O    B-PER B-PER       also called IOB2
    IOB1    I-PER I-PER    O    I-PER B-PER       B only separates adjacent spans of one label
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
_OPENING = frozenset("BSU")  # in any scheme, these letters begin a span
_CLOSING = frozenset("ELSU")  # and these end one


class Scheme(Protocol):
    """How spans without overlap are encoded as tags."""

    def tags(self, labels: Sequence[str]) -> list[str]:
        """Return all tags for these labels: "O" first, then label by label."""

    def encode(self, spans: Sequence[Tagged], words: int) -> list[str]:
        """Return one tag per word; ``spans`` come in any order.

        Raises ``DocumentError`` where spans overlap, leave the sentence, or cannot be encoded.
        """

    def decode(self, tags: Sequence[str]) -> list[Tagged]:
        """Return the spans, ascending; a malformed sequence gives those that conlleval counts."""

    def allowed_transitions(self, tags: Sequence[str]) -> Allowed:
        """Return which tags may begin a sentence, which may follow which, and which may end it.

        ``follow[i][j]`` is whether ``tags[j]`` may follow ``tags[i]``. The sequences that satisfy
        all three are exactly those that ``encode`` produces.
        """


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A scheme whose tags are a letter and a label; the letter gives a word's position in its span.

    ``single`` is for a span of one word. ``again``, where a scheme has it, replaces the first
    letter of a span that is adjacent to a previous one of the same label.
    """

    first: str
    inside: str
    last: str
    single: str
    again: str = ""

    def tags(self, labels: Sequence[str]) -> list[str]:
        """Return "O", then each label with each letter."""
        letters = dict.fromkeys((self.first, self.inside, self.last, self.single, self.again))
        return [OUTSIDE, *(f"{letter}-{label}" for label in labels for letter in letters if letter)]

    def encode(self, spans: Sequence[Tagged], words: int) -> list[str]:
        """Return one tag per word, "O" outside spans."""
        tags = [OUTSIDE] * words
        previous = None
        for start, end, label in _disjoint(spans, words):
            letters = [self.first, *[self.inside] * (end - start - 2), self.last]
            if end - start == 1:
                letters = [self.single]
            if self.again and previous == (start, label):
                letters[0] = self.again
            tags[start:end] = [f"{letter}-{label}" for letter in letters]
            previous = end, label
        return tags

    def decode(self, tags: Sequence[str]) -> list[Tagged]:
        """Return runs of words of one label, split where a letter begins or ends a span."""
        spans: list[Tagged] = []
        for word, tag in enumerate(tags):
            if tag == OUTSIDE:
                continue
            letter, _, label = tag.partition("-")
            if spans and letter not in _OPENING and _continues(tags, word, label):
                spans[-1] = (spans[-1][0], word + 1, label)
            else:
                spans.append((word, word + 1, label))
        return spans

    def allowed_transitions(self, tags: Sequence[str]) -> Allowed:
        """See ``Scheme``."""
        ends = [tag == OUTSIDE or self._closes(tag[:1]) for tag in tags]
        starts = [tag == OUTSIDE or tag[:1] in {self.first, self.single} for tag in tags]
        follow = [[self._follows(tag, next_tag) for next_tag in tags] for tag in tags]
        return starts, follow, ends

    def _closes(self, letter: str) -> bool:
        """Return whether a span may end with this letter."""
        is_restart = bool(self.again) and letter == self.again
        return is_restart or letter in {self.last, self.single}

    def _follows(self, tag: str, next_tag: str) -> bool:
        """Return whether the next tag may begin a span after a tag, or continue its span."""
        begins = next_tag == OUTSIDE or next_tag[:1] in {self.first, self.single}
        if begins and (tag == OUTSIDE or self._closes(tag[:1])):
            return True
        if OUTSIDE in (tag, next_tag) or tag[1:] != next_tag[1:]:
            return False
        if self.again and next_tag[:1] == self.again:
            return self._closes(tag[:1])
        continuing = {self.first, self.inside, self.again} - {""}
        return tag[:1] in continuing and next_tag[:1] in {self.inside, self.last}


@dataclass(frozen=True, slots=True)
class Plain:
    """One tag per word, its label itself: parts of speech, and other labels of single words."""

    def tags(self, labels: Sequence[str]) -> list[str]:
        """Return "O" and the labels."""
        return [OUTSIDE, *labels]

    def encode(self, spans: Sequence[Tagged], words: int) -> list[str]:
        """Return one tag per word; a span of several words, or labelled "O", cannot be encoded."""
        tags = [OUTSIDE] * words
        for start, end, label in _disjoint(spans, words):
            if end - start > 1 or label == OUTSIDE:
                problem = f"span {(start, end, label)}: plain tags need spans of one word"
                raise DocumentError(f"{problem}, not labelled {OUTSIDE!r}")
            tags[start] = label
        return tags

    def decode(self, tags: Sequence[str]) -> list[Tagged]:
        """Return each tagged word as a span."""
        return [(word, word + 1, tag) for word, tag in enumerate(tags) if tag != OUTSIDE]

    def allowed_transitions(self, tags: Sequence[str]) -> Allowed:
        """Allow all sequences."""
        all_tags = [True] * len(tags)
        return all_tags, [list(all_tags) for _ in tags], list(all_tags)


SCHEMES: dict[str, Scheme] = {
    "BIO": Prefixed("B", "I", "I", "B"),
    "IOB1": Prefixed("I", "I", "I", "I", again="B"),
    "BIOES": Prefixed("B", "I", "E", "S"),
    "BILOU": Prefixed("B", "I", "L", "U"),
    "none": Plain(),
}
SCHEMES |= {"IOB2": SCHEMES["BIO"], "IOBES": SCHEMES["BIOES"]}


def _disjoint(spans: Sequence[Tagged], words: int) -> Iterator[Tagged]:
    """Yield the spans in order; refuse the first that is empty or overlaps another."""
    previous = None
    for span in sorted(spans):
        if not 0 <= span[0] < span[1] <= words:
            raise DocumentError(f"span {span}: expected words within [0, {words}), at least one")
        if previous is not None and span[0] < previous[1]:
            raise DocumentError(f"span {span} overlaps {previous}: a word holds one tag")
        yield span
        previous = span


def _continues(tags: Sequence[str], word: int, label: str) -> bool:
    """Return whether the previous word has the same label and does not end its span."""
    letter, _, previous_label = tags[word - 1].partition("-")
    return tags[word - 1] != OUTSIDE and previous_label == label and letter not in _CLOSING
