"""Convert lexical expressions to one tag per word and back: multiword ones, with gaps, and senses.

    words   Have          a      mechanic      check                        out  .
    tags    B-V-v.social  o-DET  o-N-n.PERSON  I~-V.VPC.full-v.cognition    I_   O-PUNCT

A lexical expression is a word or a strong multiword expression; it has a category and optionally a
sense, both written at its first word. Weak expressions consist of lexical ones. ``I_`` continues
strongly from the previous word of the same expression, ``I~`` weakly; lower-case letters are used
in a gap, which must not contain another gap. See Schneider et al. (2014), section 3, and STREUSLE's
``CONLLULEX.md``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from spanloom.errors import WordError

Group = tuple[int, ...]  # indices of an expression's words, ascending, from 0

OUTSIDE, BEGIN, STRONG, WEAK = "O", "B", "I_", "I~"
NONE = "_"


class ExpressionError(WordError):
    """Tags or expressions are malformed."""


@dataclass(frozen=True, slots=True, order=True)
class Lexical:
    """A word or a strong multiword expression; category and sense are "" where unknown."""

    words: Group
    category: str = ""
    sense: str = ""


@dataclass(frozen=True, slots=True)
class Expressions:
    """The expressions of a sentence, ascending; every word is in one lexical expression."""

    lexical: tuple[Lexical, ...]
    weak: tuple[Group, ...] = ()

    @property
    def strong(self) -> tuple[Group, ...]:
        """The multiword expressions among the lexical ones."""
        return tuple(expression.words for expression in self.lexical if len(expression.words) > 1)


def tags(expressions: Expressions) -> list[str]:
    """Return one tag per word.

    Raises ``ExpressionError`` for what tags cannot express: expressions that share words or cross,
    a gap in a gap, a weak expression of one word or equal to a strong one, a category with a
    hyphen.
    """
    count = sum(len(lexical.words) for lexical in expressions.lexical)
    tags = flags(count, expressions.strong, expressions.weak)
    for lexical in expressions.lexical:
        first, category, sense = lexical.words[0], lexical.category, lexical.sense
        if "-" in category or category == NONE:
            raise ExpressionError(first, f"no category can be {category!r:.60}")
        parts = [category or NONE, sense] if sense else [category]
        tags[first] = "-".join([tags[first], *filter(None, parts)])
    return tags


def expressions(tags: Sequence[str]) -> Expressions:
    """Return the expressions that tags encode; raises ``ExpressionError`` for malformed tags."""
    parts = [tag.split("-", 2) for tag in tags]
    strong, weak = groups([tag_parts[0] for tag_parts in parts])
    in_strong = {word for group in strong for word in group}
    single = [(word,) for word in range(len(tags)) if word not in in_strong]
    lexical = []
    for words in sorted((*strong, *single)):
        for later in words[1:]:
            if len(parts[later]) > 1:
                raise ExpressionError(later, f"expected no category here, got {tags[later]!r:.60}")
        _, category, sense = (*parts[words[0]], "", "")[:3]
        if category == NONE and not sense:
            raise ExpressionError(words[0], f"expected a category, got {tags[words[0]]!r:.60}")
        lexical.append(Lexical(words, "" if category == NONE else category, sense))
    return Expressions(tuple(lexical), tuple(weak))


def flags(count: int, strong: Iterable[Group], weak: Iterable[Group]) -> list[str]:
    """Return the tags of ``count`` words without categories; raises as ``tags`` does."""
    strong_of = _group_of(count, strong)
    weak_of = _group_of(count, weak)
    chains = _outermost_groups(strong_of, weak_of)
    flags = [OUTSIDE] * count
    for chain in chains:
        flags[chain[0]] = BEGIN
        for previous, word in zip(chain, chain[1:], strict=False):
            is_strong = previous in strong_of and strong_of[previous] == strong_of.get(word)
            flags[word] = STRONG if is_strong else WEAK
    depths = _gap_depths(count, chains)
    for chain in chains:
        if len({depths[word] for word in chain}) > 1:
            raise ExpressionError(chain[0], "expressions cross here")
    for word, depth in enumerate(depths):
        if depth > 1:
            raise ExpressionError(word, "a gap within a gap has no tag")
    return [flag.lower() if depth else flag for flag, depth in zip(flags, depths, strict=True)]


def groups(flags: Sequence[str]) -> tuple[list[Group], list[Group]]:
    """Return strong and weak expressions, ascending; raises as ``expressions`` does.

    A chain of tags is weak if any of its links is; its parts without weak links are strong.
    """
    chains = list(_iter_chains(flags))
    strong: list[Group] = []
    weak: list[Group] = []
    for chain in chains:
        runs = [[chain[0]]]
        for word in chain[1:]:
            if flags[word].upper() == STRONG:
                runs[-1].append(word)
            else:
                runs.append([word])
        strong += [tuple(run) for run in runs if len(run) > 1]
        weak += [tuple(chain)] if len(runs) > 1 else []
    return sorted(strong), sorted(weak)


def _group_of(count: int, groups: Iterable[Group]) -> dict[int, Group]:
    """Return the group of each word in one; refuse malformed or overlapping groups."""
    group_of: dict[int, Group] = {}
    for group in groups:
        if len(group) < 2 or not 0 <= group[0] or group[-1] >= count or sorted(group) != [*group]:
            problem = f"expected two ascending words of {count} or more, got {group!r:.60}"
            raise ExpressionError(max(0, group[0]) if group else 0, problem)
        for word in group:
            if group_of.setdefault(word, group) is not group:
                raise ExpressionError(word, "two expressions of one strength share it")
    return group_of


def _outermost_groups(strong_of: dict[int, Group], weak_of: dict[int, Group]) -> list[Group]:
    """Return the groups in no other; a strong one in a weak one must be contiguous there."""
    for group in dict.fromkeys(strong_of.values()):
        weak = weak_of.get(group[0])
        if any(weak_of.get(word) is not weak for word in group):
            raise ExpressionError(group[0], "a weak expression has some words of a strong one")
        if weak:
            first = weak.index(group[0])
            if weak == group or weak[first : first + len(group)] != group:
                problem = "a strong expression must be a part of a weak one, without gaps in it"
                raise ExpressionError(group[0], problem)
    standalone = (group for word, group in strong_of.items() if word not in weak_of)
    return sorted(dict.fromkeys((*weak_of.values(), *standalone)))


def _gap_depths(count: int, chains: Iterable[Group]) -> list[int]:
    """Return the number of gaps each word is in."""
    steps = [0] * (count + 1)
    for chain in chains:
        for previous, word in zip(chain, chain[1:], strict=False):
            steps[previous + 1] += 1
            steps[word] -= 1
    depths, depth = [], 0
    for step in steps[:count]:
        depth += step
        depths.append(depth)
    return depths


def _iter_chains(flags: Sequence[str]) -> Iterator[list[int]]:
    """Yield the words of each chain of tags."""
    chain: list[int] = []
    gap_chain: list[int] = []
    in_gap = False  # then the chain must continue
    for word, flag in enumerate([*flags, OUTSIDE]):
        is_lower = flag.islower()
        if flag.upper() not in (OUTSIDE, BEGIN, STRONG, WEAK) or (is_lower and not chain):
            raise ExpressionError(word, f"expected O, B, I_ or I~ here, got {flag!r:.60}")
        current = gap_chain if is_lower else chain
        if flag.upper() in (STRONG, WEAK) and not current:
            raise ExpressionError(word, f"expected O or B here, got {flag!r:.60}")
        if gap_chain and flag not in (STRONG.lower(), WEAK.lower()):
            yield _require_two_words(gap_chain)
            gap_chain = []
        if is_lower:
            in_gap = True
            gap_chain = [*gap_chain, word] if flag != OUTSIDE.lower() else []
        elif flag in (STRONG, WEAK):
            chain.append(word)
            in_gap = False
        else:
            if in_gap:
                raise ExpressionError(word, f"expected the gap to end in I_ or I~, got {flag!r}")
            if chain:
                yield _require_two_words(chain)
            chain = [word] if flag == BEGIN else []


def _require_two_words(chain: list[int]) -> list[int]:
    """Return the chain; raise ``ExpressionError`` if it has only one word."""
    if len(chain) < 2:
        raise ExpressionError(chain[0], "expected an expression to go on, got one word")
    return chain
