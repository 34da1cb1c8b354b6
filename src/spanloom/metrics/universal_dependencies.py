"""Universal Dependencies: all measures of a treebank against another of the same characters.

CoNLL 2018 shared task (Zeman et al. 2018, section 4): words are aligned first, so words may be cut
otherwise; language-specific features and subtypes of relations do not count, nor does a gold lemma
``_``. IWPT 2020 (Bouma et al. 2020): enhanced relations count with their subtypes (ELAS), or
without (EULAS).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from spanloom.metrics.counts import Counts
from spanloom.metrics.word_alignment import Pairs, Placed, align

ROOT = -1  # the head of a root
NOWHERE = -3  # a head that no other equals
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
"""An enhanced relation: the row of its head, ``ROOT`` or ``NOWHERE``; steps, ``>`` between them."""

Helper = tuple[int, str, str, str]
"""A function word: its gold row, relation, part of speech and features."""


@dataclass(frozen=True, slots=True)
class Treebank:
    """Sentences of words, the lists with one entry a word but for the first two.

    ``tokens`` and ``sentences`` are runs of characters, blanks not counted; ``heads`` are rows of
    words or ``ROOT``; ``feats`` and ``deprels`` are ``universal`` and without subtypes.
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
    """What is right, predicted and gold; ``aligned``: of how many aligned words, where it asks."""

    counts: Counts
    aligned: int | None = None

    @property
    def accuracy(self) -> float | None:
        """The share of aligned words that are right; 0 without any, None where it is not asked."""
        return self.counts.hits / self.aligned if self.aligned else self.aligned


@lru_cache(1 << 16)
def universal(feats: str) -> str:
    """Return the features that all languages share, sorted."""
    kept = (each for each in feats.split("|") if each.partition("=")[0] in FEATURES)
    return "|".join(sorted(kept))


@lru_cache(1 << 16)
def without_subtypes(path: str) -> str:
    """Return the steps of an enhanced relation up to their first colon."""
    return ">".join(step.partition(":")[0] for step in path.split(">"))


def compare(gold: Treebank, system: Treebank) -> dict[str, Measure]:
    """Return every measure by its name; both treebanks must have the same characters."""
    pairs = align(gold.words, system.words)
    return {
        "Tokens": _runs(gold.tokens, system.tokens),
        "Sentences": _runs(gold.sentences, system.sentences),
        "Words": Measure(Counts(len(pairs), len(system.heads), len(gold.heads))),
        **_of_words(gold, system, pairs),
    }


def _of_words(gold: Treebank, system: Treebank, pairs: Pairs) -> dict[str, Measure]:
    """The measures of aligned words."""
    names = _gold_names(pairs, len(system.heads))
    upos = _same(gold.upos, system.upos, pairs)
    xpos = _same(gold.xpos, system.xpos, pairs)
    feats = _same(gold.feats, system.feats, pairs)
    lemmas = [gold.lemmas[g] in ("_", system.lemmas[s]) for g, s in pairs]
    attached = _same(gold.heads, [names[head] for head in system.heads], pairs)
    labelled = _all(attached, _same(gold.deprels, system.deprels, pairs))
    helped = _helped(gold, system, pairs, names)
    content = [gold.deprels[g] in CONTENT for g, _ in pairs]
    every = Counts(0, len(system.heads), len(gold.heads))
    some = Counts(0, _content(system), _content(gold))
    return {
        "UPOS": _measure(every, upos),
        "XPOS": _measure(every, xpos),
        "UFeats": _measure(every, feats),
        "AllTags": _measure(every, _all(upos, xpos, feats)),
        "Lemmas": _measure(every, lemmas),
        "UAS": _measure(every, attached),
        "LAS": _measure(every, labelled),
        "ELAS": _enhanced(gold.edges, system.edges, pairs, names),
        "EULAS": _enhanced(_plain(gold.edges), _plain(system.edges), pairs, names),
        "CLAS": _measure(some, labelled, content),
        "MLAS": _measure(some, _all(labelled, upos, feats, helped), content),
        "BLEX": _measure(some, _all(labelled, lemmas), content),
    }


def _runs(gold: Sequence[tuple[int, int]], system: Sequence[tuple[int, int]]) -> Measure:
    """Count the runs of characters that both have; no two runs of a side overlap."""
    return Measure(Counts(len(set(gold).intersection(system)), len(system), len(gold)))


def _measure(sizes: Counts, right: Sequence[bool], among: Sequence[bool] | None = None) -> Measure:
    """Count the aligned words that are right, of those that count at all."""
    hits = sum(right if among is None else _all(right, among))
    aligned = len(right) if among is None else sum(among)
    return Measure(Counts(hits, sizes.predicted, sizes.gold), aligned)


def _content(treebank: Treebank) -> int:
    """How many words carry content, by their relation."""
    return sum(map(CONTENT.__contains__, treebank.deprels))


def _gold_names(pairs: Pairs, size: int) -> list[int]:
    """The gold row of each system word, ``_NOT_ALIGNED`` where there is none.

    Negative rows look up the last three: ``NOWHERE`` and ``_NOT_ALIGNED`` are not aligned either.
    """
    names = [_NOT_ALIGNED] * (size + 3)
    names[ROOT] = ROOT
    for g, s in pairs:
        names[s] = g
    return names


def _same(gold: Sequence[object], system: Sequence[object], pairs: Pairs) -> list[bool]:
    """For each pair whether both sides say the same."""
    return [gold[g] == system[s] for g, s in pairs]


def _all(*right: Sequence[bool]) -> list[bool]:
    """For each pair whether all is right."""
    return list(map(all, zip(*right, strict=True)))


def _helped(gold: Treebank, system: Treebank, pairs: Pairs, names: Sequence[int]) -> list[bool]:
    """For each pair whether both have the same function words below them, analysed alike."""
    ours, theirs = _helpers(gold, range(len(gold.heads))), _helpers(system, names)
    return [ours.get(g) == theirs.get(s) for g, s in pairs]


def _helpers(treebank: Treebank, names: Sequence[int]) -> dict[int, list[Helper]]:
    """The function words of those words that have some; ``names`` are their gold rows."""
    found: dict[int, list[Helper]] = {}
    for row, (head, deprel) in enumerate(zip(treebank.heads, treebank.deprels, strict=True)):
        if head != ROOT and deprel in FUNCTION:
            helper = names[row], deprel, treebank.upos[row], treebank.feats[row]
            found.setdefault(head, []).append(helper)
    return found


def _plain(edges: Sequence[Sequence[Edge]]) -> list[list[Edge]]:
    """Enhanced relations without subtypes."""
    return [[(head, without_subtypes(path)) for head, path in each] for each in edges]


def _enhanced(
    gold: Sequence[Sequence[Edge]],
    system: Sequence[Sequence[Edge]],
    pairs: Pairs,
    names: Sequence[int],
) -> Measure:
    """Count enhanced relations; one said twice counts twice, against each of its like."""
    ours = Counter((g, head, path) for g, _ in pairs for head, path in gold[g])
    theirs = Counter((g, names[head], path) for g, s in pairs for head, path in system[s])
    hits = sum(number * ours[edge] for edge, number in theirs.items() if edge in ours)
    return Measure(Counts(hits, sum(map(len, system)), sum(map(len, gold))))
