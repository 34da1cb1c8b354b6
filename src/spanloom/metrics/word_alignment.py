"""Align the words of two analyses of the same characters (CoNLL 2018 shared task, section 4.1).

Words that are whole tokens are aligned if their characters are the same. Words of a multi-word
token have no characters of their own: around such a token the smallest stretch is taken whose
bounds cross no such token of either side, and within it words are aligned by a longest common
subsequence of their lower-cased forms.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

Pairs = list[tuple[int, int]]
"""Indices of aligned words: gold, system; ascending on both sides."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Words in order, each with its form and the characters ``[start, end)`` of its token.

    ``inside`` is whether that token has several words; all lists have the same length.
    """

    forms: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[int]
    inside: Sequence[bool]

    def left_of(self, index: int, end: int) -> bool:
        """Return whether that word exists and belongs to a stretch that ends at ``end``."""
        if index >= len(self.forms):
            return False
        return self.starts[index] < end if self.inside[index] else self.ends[index] <= end


def align(gold: Placed, system: Placed) -> Pairs:
    """Return aligned indices; linear time, except within stretches around multi-word tokens."""
    pairs: Pairs = []
    g = s = 0
    while g < len(gold.forms) and s < len(system.forms):
        if gold.inside[g] or system.inside[s]:
            start_g, start_s, g, s = _stretch(gold, system, g, s)
            gold_forms = [form.lower() for form in gold.forms[start_g:g]]
            system_forms = [form.lower() for form in system.forms[start_s:s]]
            pairs += [(start_g + i, start_s + j) for i, j in common(gold_forms, system_forms)]
        elif gold.starts[g] == system.starts[s] and gold.ends[g] == system.ends[s]:
            pairs.append((g, s))
            g, s = g + 1, s + 1
        elif gold.starts[g] <= system.starts[s]:
            g += 1
        else:
            s += 1
    return pairs


def common(gold: Sequence[str], system: Sequence[str]) -> Pairs:
    """Return a longest common subsequence as indices of both sides.

    Of several, it is the one that pairs equal words as early as possible, and that skips a word of
    ``gold`` sooner than one of ``system``.
    """
    pairs: Pairs = []
    i = j = 0
    while i < len(gold) and j < len(system) and gold[i] == system[j]:
        pairs.append((i, j))
        i, j = i + 1, j + 1
    if i == len(gold) or j == len(system):
        return pairs
    bits = _lcs_table(gold, system)
    while i < len(gold) and j < len(system):
        remaining = (1 << (len(system) - j)) - 1
        if gold[i] == system[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif (bits[i] & remaining).bit_count() == (bits[i + 1] & remaining).bit_count():
            i += 1
        else:
            j += 1
    return pairs


def _lcs_table(gold: Sequence[str], system: Sequence[str]) -> list[int]:
    """Return the table of lengths, an integer as a row of bits per ``gold[i:]`` (Hyyrö 2004).

    The length for ``gold[i:]`` and ``system[j:]`` is the number of zeros among the lowest
    ``len(system) - j`` bits of row ``i``.
    """
    positions: defaultdict[str, int] = defaultdict(int)
    for bit, form in enumerate(reversed(system)):
        positions[form] |= 1 << bit
    all_ones = (1 << len(system)) - 1
    rows = [all_ones]
    for form in reversed(gold):
        matches = rows[-1] & positions[form]
        rows.append(((rows[-1] + matches) | (rows[-1] - matches)) & all_ones)
    return rows[::-1]


def _stretch(gold: Placed, system: Placed, g: int, s: int) -> tuple[int, int, int, int]:
    """Return the start of the stretch around word g or s on both sides, then its end on both."""
    if gold.inside[g]:
        end = gold.ends[g]
        s += not system.inside[s] and system.starts[s] < gold.starts[g]
    else:
        end = system.ends[s]
        g += gold.starts[g] < system.starts[s]
    start_g, start_s = g, s
    while gold.left_of(g, end) or system.left_of(s, end):
        if _next_is_gold(gold, system, g, s):
            end = max(end, gold.ends[g]) if gold.inside[g] else end
            g += 1
        else:
            end = max(end, system.ends[s]) if system.inside[s] else end
            s += 1
    return start_g, start_s, g, s


def _next_is_gold(gold: Placed, system: Placed, g: int, s: int) -> bool:
    """Return whether the next word in text order is a gold one."""
    if g >= len(gold.forms):
        return False
    return s >= len(system.forms) or gold.starts[g] <= system.starts[s]
