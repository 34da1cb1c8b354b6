"""Words of two analyses of the same characters, aligned (CoNLL 2018 shared task, section 4.1).

Words that are whole tokens are aligned where their characters are the same. Words inside a token
of several have no characters of their own: around such a token the smallest stretch is taken that
none of these tokens, of either side, sticks out of, and in it words are aligned by a longest
common subsequence of their lower-cased forms.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

Pairs = list[tuple[int, int]]
"""Rows of words that are the same: gold, system; rising on both sides."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Words in order, each by its form and the characters ``[start, end)`` of its token.

    ``inside`` says whether that token holds several words; the lists are equally long.
    """

    forms: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[int]
    inside: Sequence[bool]

    def left_of(self, row: int, end: int) -> bool:
        """Whether there is such a word, and it belongs to a stretch that ends at ``end``."""
        if row >= len(self.forms):
            return False
        return self.starts[row] < end if self.inside[row] else self.ends[row] <= end


def align(gold: Placed, system: Placed) -> Pairs:
    """Return the aligned rows; linear but for the stretches around tokens of several words."""
    pairs: Pairs = []
    g = s = 0
    while g < len(gold.forms) and s < len(system.forms):
        if gold.inside[g] or system.inside[s]:
            from_g, from_s, g, s = _stretch(gold, system, g, s)
            ours = [form.lower() for form in gold.forms[from_g:g]]
            theirs = [form.lower() for form in system.forms[from_s:s]]
            pairs += [(from_g + i, from_s + j) for i, j in common(ours, theirs)]
        elif gold.starts[g] == system.starts[s] and gold.ends[g] == system.ends[s]:
            pairs.append((g, s))
            g, s = g + 1, s + 1
        elif gold.starts[g] <= system.starts[s]:
            g += 1
        else:
            s += 1
    return pairs


def common(ours: Sequence[str], theirs: Sequence[str]) -> Pairs:
    """Return a longest common subsequence as rows of both.

    Of several the one that pairs what comes first, as soon as both are equal, and that passes over
    a word of ``ours`` sooner than over one of ``theirs``.
    """
    pairs: Pairs = []
    i = j = 0
    while i < len(ours) and j < len(theirs) and ours[i] == theirs[j]:
        pairs.append((i, j))
        i, j = i + 1, j + 1
    if i == len(ours) or j == len(theirs):
        return pairs
    rows = _unmatched(ours, theirs)
    while i < len(ours) and j < len(theirs):
        rest = (1 << (len(theirs) - j)) - 1
        if ours[i] == theirs[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif (rows[i] & rest).bit_count() == (rows[i + 1] & rest).bit_count():
            i += 1
        else:
            j += 1
    return pairs


def _unmatched(ours: Sequence[str], theirs: Sequence[str]) -> list[int]:
    """The table of lengths, a row of bits for each ``ours[i:]`` (Hyyrö 2004, in one word a row).

    The length for ``ours[i:]`` and ``theirs[j:]`` is the number of zeros among the lowest
    ``len(theirs) - j`` bits of row ``i``.
    """
    places: defaultdict[str, int] = defaultdict(int)
    for bit, form in enumerate(reversed(theirs)):
        places[form] |= 1 << bit
    everything = (1 << len(theirs)) - 1
    rows = [everything]
    for form in reversed(ours):
        hit = rows[-1] & places[form]
        rows.append(((rows[-1] + hit) | (rows[-1] - hit)) & everything)
    return rows[::-1]


def _stretch(gold: Placed, system: Placed, g: int, s: int) -> tuple[int, int, int, int]:
    """Where the stretch begins on both sides, and where it ends; a word at g or s is inside."""
    if gold.inside[g]:
        end = gold.ends[g]
        s += not system.inside[s] and system.starts[s] < gold.starts[g]
    else:
        end = system.ends[s]
        g += gold.starts[g] < system.starts[s]
    from_g, from_s = g, s
    while gold.left_of(g, end) or system.left_of(s, end):
        if _first(gold, system, g, s):
            end = max(end, gold.ends[g]) if gold.inside[g] else end
            g += 1
        else:
            end = max(end, system.ends[s]) if system.inside[s] else end
            s += 1
    return from_g, from_s, g, s


def _first(gold: Placed, system: Placed, g: int, s: int) -> bool:
    """Whether the next word is a gold one."""
    if g >= len(gold.forms):
        return False
    return s >= len(system.forms) or gold.starts[g] <= system.starts[s]
