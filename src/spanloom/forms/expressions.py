"""Lexical expressions as one tag a word, and back: multiword ones, with gaps, and their senses.

    words   Have          a      mechanic      check                        out  .
    tags    B-V-v.social  o-DET  o-N-n.PERSON  I~-V.VPC.full-v.cognition    I_   O-PUNCT

A lexical expression is a word, or a strong multiword expression; it has a category and maybe a
sense, which stand at its first word. Weak expressions are made of them. ``I_`` goes on strongly
from the word before of the same expression, ``I~`` weakly; small letters stand in a gap, where
no further gap may be. See Schneider et al. (2014), section 3, and STREUSLE's ``CONLLULEX.md``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from spanloom.errors import DocumentError

Group = tuple[int, ...]  # words of an expression, ascending, from 0

OUTSIDE, BEGIN, STRONG, WEAK = "O", "B", "I_", "I~"
NONE = "_"


class ExpressionError(DocumentError):
    """Tags are no expressions, or these cannot be tags; ``word`` is where, from 0."""

    def __init__(self, word: int, problem: str) -> None:
        super().__init__(f"word {word}: {problem}")
        self.word, self.problem = word, problem


@dataclass(frozen=True, slots=True, order=True)
class Lexical:
    """A word, or a strong multiword expression; "" says that category or sense is unknown."""

    words: Group
    category: str = ""
    sense: str = ""


@dataclass(frozen=True, slots=True)
class Expressions:
    """Those of a sentence, ascending; every word is in one lexical expression."""

    lexical: tuple[Lexical, ...]
    weak: tuple[Group, ...] = ()

    @property
    def strong(self) -> tuple[Group, ...]:
        """The multiword ones among the lexical expressions."""
        return tuple(each.words for each in self.lexical if len(each.words) > 1)


def tags(expressions: Expressions) -> list[str]:
    """Return one tag a word.

    Raises ``ExpressionError`` where tags cannot say it: expressions that share words or cross, a
    gap in a gap, a weak one of one word or the same as a strong one, a category with a hyphen.
    """
    count = sum(len(each.words) for each in expressions.lexical)
    found = flags(count, expressions.strong, expressions.weak)
    for each in expressions.lexical:
        if "-" in each.category or each.category == NONE:
            raise ExpressionError(each.words[0], f"no category can be {each.category!r:.60}")
        said = [each.category or NONE, each.sense] if each.sense else [each.category]
        found[each.words[0]] = "-".join([found[each.words[0]], *filter(None, said)])
    return found


def expressions(tags: Sequence[str]) -> Expressions:
    """Return what tags say; raises ``ExpressionError`` for tags that ``tags`` cannot have made."""
    parts = [tag.split("-", 2) for tag in tags]
    strong, weak = groups([part[0] for part in parts])
    inside = {word for group in strong for word in group}
    alone = [(word,) for word in range(len(tags)) if word not in inside]
    lexical = []
    for words in sorted((*strong, *alone)):
        for later in words[1:]:
            if len(parts[later]) > 1:
                raise ExpressionError(later, f"expected no category here, got {tags[later]!r:.60}")
        _, category, sense = (*parts[words[0]], "", "")[:3]
        if category == NONE and not sense:
            raise ExpressionError(words[0], f"expected a category, got {tags[words[0]]!r:.60}")
        lexical.append(Lexical(words, "" if category == NONE else category, sense))
    return Expressions(tuple(lexical), tuple(weak))


def flags(count: int, strong: Iterable[Group], weak: Iterable[Group]) -> list[str]:
    """Return the tags of so many words without categories; raises as ``tags`` does."""
    inner = _owners(count, strong)
    outer = _owners(count, weak)
    chains = _chains(inner, outer)
    found = [OUTSIDE] * count
    for chain in chains:
        found[chain[0]] = BEGIN
        for before, word in zip(chain, chain[1:], strict=False):
            joined = before in inner and inner[before] == inner.get(word)
            found[word] = STRONG if joined else WEAK
    depth = _depths(count, chains)
    for chain in chains:
        if len({depth[word] for word in chain}) > 1:
            raise ExpressionError(chain[0], "expressions cross here")
    for word, deep in enumerate(depth):
        if deep > 1:
            raise ExpressionError(word, "a gap within a gap has no tag")
    return [flag.lower() if deep else flag for flag, deep in zip(found, depth, strict=True)]


def groups(flags: Sequence[str]) -> tuple[list[Group], list[Group]]:
    """Return strong and weak expressions, ascending; raises ``ExpressionError`` as ``expressions``.

    A chain of tags is weak if any of its links is; its parts without weak links are strong.
    """
    chains = list(_followed(flags))
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


def _owners(count: int, groups: Iterable[Group]) -> dict[int, Group]:
    """Return the group of each word that has one."""
    found: dict[int, Group] = {}
    for group in groups:
        if len(group) < 2 or not 0 <= group[0] or group[-1] >= count or sorted(group) != [*group]:
            problem = f"expected two ascending words of {count} or more, got {group!r:.60}"
            raise ExpressionError(max(0, group[0]) if group else 0, problem)
        for word in group:
            if found.setdefault(word, group) is not group:
                raise ExpressionError(word, "two expressions of one strength share it")
    return found


def _chains(inner: dict[int, Group], outer: dict[int, Group]) -> list[Group]:
    """Return the expressions that no other holds; a strong one is a run of the weak one's words."""
    for group in dict.fromkeys(inner.values()):
        holder = outer.get(group[0])
        if any(outer.get(word) is not holder for word in group):
            raise ExpressionError(group[0], "a weak expression has some words of a strong one")
        if holder:
            first = holder.index(group[0])
            if holder == group or holder[first : first + len(group)] != group:
                problem = "a strong expression must be a part of a weak one, without gaps in it"
                raise ExpressionError(group[0], problem)
    alone = (group for word, group in inner.items() if word not in outer)
    return sorted(dict.fromkeys((*outer.values(), *alone)))


def _depths(count: int, chains: Iterable[Group]) -> list[int]:
    """Return in how many gaps each word is."""
    steps = [0] * (count + 1)
    for chain in chains:
        for before, word in zip(chain, chain[1:], strict=False):
            steps[before + 1] += 1
            steps[word] -= 1
    found, deep = [], 0
    for step in steps[:count]:
        deep += step
        found.append(deep)
    return found


def _followed(flags: Sequence[str]) -> Iterator[list[int]]:
    """Yield the words of each chain of tags."""
    chain: list[int] = []
    low: list[int] = []
    gap = False  # whether the chain has to go on
    for word, flag in enumerate([*flags, OUTSIDE]):
        small = flag.islower()
        if flag.upper() not in (OUTSIDE, BEGIN, STRONG, WEAK) or (small and not chain):
            raise ExpressionError(word, f"expected O, B, I_ or I~ here, got {flag!r:.60}")
        within = low if small else chain
        if flag.upper() in (STRONG, WEAK) and not within:
            raise ExpressionError(word, f"expected O or B here, got {flag!r:.60}")
        if low and flag not in (STRONG.lower(), WEAK.lower()):
            yield _long(low)
            low = []
        if small:
            gap = True
            low = [*low, word] if flag != OUTSIDE.lower() else []
        elif flag in (STRONG, WEAK):
            chain.append(word)
            gap = False
        else:
            if gap:
                raise ExpressionError(word, f"expected the gap to end in I_ or I~, got {flag!r}")
            if chain:
                yield _long(chain)
            chain = [word] if flag == BEGIN else []


def _long(chain: list[int]) -> list[int]:
    """Return a chain of two words or more."""
    if len(chain) < 2:
        raise ExpressionError(chain[0], "expected an expression to go on, got one word")
    return chain
