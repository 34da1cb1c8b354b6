"""Relations with a direction, as SemEval-2010 task 8 judges them (Hendrickx et al. 2010).

A label is a relation and which of two entities comes first, ``Cause-Effect(e2,e1)``, or one that
is outside the averages. Texts without an answer are gold all the same.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from spanloom.metrics.counts import PRF, Counts, total
from spanloom.metrics.percentages import percentages

Key = TypeVar("Key", bound=Hashable)

_DIRECTION = re.compile(r"\(e[12],e[12]\)$")


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often each (gold, proposed) was seen, and each gold label, answered or not.

    ``turned`` counts, by gold label, answers of the right relation in the wrong direction, where
    these are neither right nor another relation; they are in no cell.
    """

    gold: Counter[str]
    cells: Counter[tuple[str, str]]
    turned: Counter[str] = field(default_factory=Counter)

    @property
    def labels(self) -> list[str]:
        """The gold labels, sorted, then those that are only proposed."""
        return [*sorted(self.gold), *sorted({label for _, label in self.cells} - {*self.gold})]

    @property
    def proposed(self) -> Counter[str]:
        """How often each label is proposed; what is turned is not."""
        return _summed((label, many) for (_, label), many in self.cells.items())

    @property
    def answered(self) -> int:
        """How many texts have an answer, right or wrong."""
        return self.cells.total() + self.turned.total()

    @property
    def hits(self) -> int:
        """How many answers are right."""
        return sum(self.cells[label, label] for label in self.gold)

    def skipped(self, label: str) -> int:
        """How many texts of a gold label have no answer."""
        answers = sum(self.cells[label, other] for other in self.labels)
        return self.gold[label] - answers - self.turned[label]

    def counts(self, outside: str | None = None) -> dict[str, Counts]:
        """Return the counts of each gold label but ``outside``; a turned answer is a prediction."""
        proposed = self.proposed
        return {
            label: Counts(
                self.cells[label, label], proposed[label] + self.turned[label], self.gold[label]
            )
            for label in sorted(self.gold)
            if label != outside
        }

    def micro(self, outside: str) -> Counts:
        """Return the sum of the gold labels but ``outside``."""
        return total(self.counts(outside).values())

    def macro(self, outside: str) -> PRF:
        """Return the means of the gold labels' percentages, ``outside`` left out; there is one."""
        each = [percentages(counts) for counts in self.counts(outside).values()]
        return PRF(
            sum(one.precision for one in each) / len(each),
            sum(one.recall for one in each) / len(each),
            sum(one.f1 for one in each) / len(each),
        )


def relation(label: str) -> str:
    """Return the label without its direction."""
    return _DIRECTION.sub("", label)


def directed(gold: Mapping[str, str], proposed: Mapping[str, str]) -> Confusion:
    """Compare labels by text, each direction a label of its own; each answer has a gold label."""
    pairs = Counter(zip(map(gold.__getitem__, proposed), proposed.values(), strict=True))
    return Confusion(Counter(gold.values()), pairs)


def undirected(labels: Confusion) -> Confusion:
    """Compare relations, whatever their directions."""
    cells = (((relation(a), relation(b)), many) for (a, b), many in labels.cells.items())
    gold = _summed((relation(label), many) for label, many in labels.gold.items())
    return Confusion(gold, _summed(cells))


def official(labels: Confusion) -> Confusion:
    """Compare relations; those of a wrong direction are turned."""
    turned = {
        (one, two): many
        for (one, two), many in labels.cells.items()
        if one != two and relation(one) == relation(two)
    }
    straight = undirected(Confusion(labels.gold, labels.cells - Counter(turned)))
    wrong = _summed((relation(one), many) for (one, _), many in turned.items())
    return Confusion(straight.gold, straight.cells, wrong)


def _summed(items: Iterable[tuple[Key, int]]) -> Counter[Key]:
    """Add up what is told of each key."""
    sums: Counter[Key] = Counter()
    for key, many in items:
        sums[key] += many
    return sums
