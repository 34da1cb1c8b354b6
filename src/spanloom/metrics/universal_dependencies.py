"""Universal Dependencies: all metrics of a treebank against gold over the same characters.

CoNLL 2018 shared task (Zeman et al. 2018, section 4): words are aligned first, so tokenizations may
differ; language-specific features and subtypes of relations do not count, nor does a gold lemma
``_``. IWPT 2020 (Bouma et al. 2020): enhanced relations count with their subtypes (ELAS), or
without (EULAS).

Words that are whole tokens are aligned if their characters are the same. Words of a multi-word
token have no characters of their own: around such a token the smallest stretch is taken whose
bounds cross no such token of either side, and within it words are aligned by a longest common
subsequence of their lower-cased forms (section 4.1).
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from spanloom.metrics.counts import Counts

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
        if not system.inside[s] and system.starts[s] < gold.starts[g]:
            s += 1
    else:
        end = system.ends[s]
        if gold.starts[g] < system.starts[s]:
            g += 1
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


ROOT = -1  # the head of a root
NOWHERE = -3  # a head that equals no other
_NOT_ALIGNED = -2

CONTENT = frozenset(
    "nsubj obj iobj csubj ccomp xcomp obl vocative expl dislocated advcl advmod discourse nmod "
    "appos nummod acl amod conj fixed flat compound list parataxis orphan goeswith reparandum "
    "root dep".split()
)
FUNCTION = frozenset(("aux", "cop", "mark", "det", "clf", "case", "cc"))
FEATURES = frozenset(
    "PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree VerbForm "
    "Mood Tense Aspect Voice Evident Polarity Person Polite".split()
)

Edge = tuple[int, str]
"""An enhanced relation: its head's index, ``ROOT`` or ``NOWHERE``; its steps joined by ``>``."""

Helper = tuple[int, str, str, str]
"""A function word: its gold index, relation, part of speech and features."""


@dataclass(frozen=True, slots=True)
class Treebank:
    """Sentences of words; all lists but the first two have one item per word.

    ``tokens`` and ``sentences`` are bounds in characters, blanks not counted; ``heads`` are indices
    of words or ``ROOT``; ``feats`` and ``deprels`` are ``universal`` and without subtypes.
    """

    tokens: Sequence[tuple[int, int]]
    sentences: Sequence[tuple[int, int]]
    words: Placed
    lemmas: Sequence[str]
    upos: Sequence[str]
    xpos: Sequence[str]
    feats: Sequence[str]
    heads: Sequence[int]
    deprels: Sequence[str]
    edges: Sequence[Sequence[Edge]]


@dataclass(frozen=True, slots=True)
class Measure:
    """Counts of one metric; ``aligned``: the number of aligned words, if it has an accuracy."""

    counts: Counts
    aligned: int | None = None

    @property
    def accuracy(self) -> float | None:
        """The share of aligned words that are right; 0 without any, None for no such metric."""
        return self.counts.hits / self.aligned if self.aligned else self.aligned


@lru_cache(1 << 16)
def universal(feats: str) -> str:
    """Return the universal features, sorted."""
    features = (feature for feature in feats.split("|") if feature.partition("=")[0] in FEATURES)
    return "|".join(sorted(features))


@lru_cache(1 << 16)
def without_subtypes(path: str) -> str:
    """Return the steps of an enhanced relation up to their first colon."""
    return ">".join(step.partition(":")[0] for step in path.split(">"))


def compare(gold: Treebank, system: Treebank) -> dict[str, Measure]:
    """Return every metric by its name; both treebanks must have the same characters."""
    pairs = align(gold.words, system.words)
    return {
        "Tokens": _compare_bounds(gold.tokens, system.tokens),
        "Sentences": _compare_bounds(gold.sentences, system.sentences),
        "Words": Measure(Counts(len(pairs), len(system.heads), len(gold.heads))),
        **_compare_words(gold, system, pairs),
    }


def _compare_words(gold: Treebank, system: Treebank, pairs: Pairs) -> dict[str, Measure]:
    """Return the metrics of aligned words."""
    gold_index = _gold_indices(pairs, len(system.heads))
    upos_right = _are_equal(gold.upos, system.upos, pairs)
    xpos_right = _are_equal(gold.xpos, system.xpos, pairs)
    feats_right = _are_equal(gold.feats, system.feats, pairs)
    lemmas_right = [gold.lemmas[g] in ("_", system.lemmas[s]) for g, s in pairs]
    heads_right = _are_equal(gold.heads, [gold_index[head] for head in system.heads], pairs)
    las_right = _all_right(heads_right, _are_equal(gold.deprels, system.deprels, pairs))
    functions_right = _function_words_match(gold, system, pairs, gold_index)
    is_content = [gold.deprels[g] in CONTENT for g, _ in pairs]
    all_words = Counts(0, len(system.heads), len(gold.heads))
    content_words = Counts(0, _count_content(system), _count_content(gold))
    return {
        "UPOS": _measure(all_words, upos_right),
        "XPOS": _measure(all_words, xpos_right),
        "UFeats": _measure(all_words, feats_right),
        "AllTags": _measure(all_words, _all_right(upos_right, xpos_right, feats_right)),
        "Lemmas": _measure(all_words, lemmas_right),
        "UAS": _measure(all_words, heads_right),
        "LAS": _measure(all_words, las_right),
        "ELAS": _compare_enhanced(gold.edges, system.edges, pairs, gold_index),
        "EULAS": _compare_enhanced(
            _without_subtypes(gold.edges), _without_subtypes(system.edges), pairs, gold_index
        ),
        "CLAS": _measure(content_words, las_right, is_content),
        "MLAS": _measure(
            content_words,
            _all_right(las_right, upos_right, feats_right, functions_right),
            is_content,
        ),
        "BLEX": _measure(content_words, _all_right(las_right, lemmas_right), is_content),
    }


def _compare_bounds(gold: Sequence[tuple[int, int]], system: Sequence[tuple[int, int]]) -> Measure:
    """Count the bounds that both sides have; no two of a side overlap."""
    return Measure(Counts(len(set(gold).intersection(system)), len(system), len(gold)))


def _measure(
    sizes: Counts, is_right: Sequence[bool], mask: Sequence[bool] | None = None
) -> Measure:
    """Count the aligned words that are right, of those that count for the metric."""
    hits = sum(is_right if mask is None else _all_right(is_right, mask))
    aligned = len(is_right) if mask is None else sum(mask)
    return Measure(Counts(hits, sizes.predicted, sizes.gold), aligned)


def _count_content(treebank: Treebank) -> int:
    """Return the number of content words, by their relation."""
    return sum(map(CONTENT.__contains__, treebank.deprels))


def _gold_indices(pairs: Pairs, num_words: int) -> list[int]:
    """Return the gold index of each system word, ``_NOT_ALIGNED`` if there is none.

    Negative indices look up the last three items: ``NOWHERE`` and ``_NOT_ALIGNED`` are not aligned.
    """
    indices = [_NOT_ALIGNED] * (num_words + 3)
    indices[ROOT] = ROOT
    for g, s in pairs:
        indices[s] = g
    return indices


def _are_equal(gold: Sequence[object], system: Sequence[object], pairs: Pairs) -> list[bool]:
    """Return for each pair whether both items are equal."""
    return [gold[g] == system[s] for g, s in pairs]


def _all_right(*flags: Sequence[bool]) -> list[bool]:
    """Return for each pair whether all of its flags are true."""
    return list(map(all, zip(*flags, strict=True)))


def _function_words_match(
    gold: Treebank, system: Treebank, pairs: Pairs, gold_index: Sequence[int]
) -> list[bool]:
    """Return for each pair whether both words have the same function words below them."""
    gold_words = _function_words(gold, range(len(gold.heads)))
    system_words = _function_words(system, gold_index)
    return [gold_words.get(g) == system_words.get(s) for g, s in pairs]


def _function_words(treebank: Treebank, gold_index: Sequence[int]) -> dict[int, list[Helper]]:
    """Return the function words below each word that has some."""
    dependents: dict[int, list[Helper]] = {}
    for index, (head, deprel) in enumerate(zip(treebank.heads, treebank.deprels, strict=True)):
        if head != ROOT and deprel in FUNCTION:
            helper = gold_index[index], deprel, treebank.upos[index], treebank.feats[index]
            dependents.setdefault(head, []).append(helper)
    return dependents


def _without_subtypes(edges: Sequence[Sequence[Edge]]) -> list[list[Edge]]:
    """Return enhanced relations without subtypes."""
    return [[(head, without_subtypes(path)) for head, path in word_edges] for word_edges in edges]


def _compare_enhanced(
    gold: Sequence[Sequence[Edge]],
    system: Sequence[Sequence[Edge]],
    pairs: Pairs,
    gold_index: Sequence[int],
) -> Measure:
    """Count matching enhanced relations; a repeated one counts as often as it is repeated."""
    gold_edges = Counter((g, head, path) for g, _ in pairs for head, path in gold[g])
    system_edges = Counter(
        (g, gold_index[head], path) for g, s in pairs for head, path in system[s]
    )
    hits = sum(
        number * gold_edges[edge] for edge, number in system_edges.items() if edge in gold_edges
    )
    return Measure(Counts(hits, sum(map(len, system)), sum(map(len, gold))))
