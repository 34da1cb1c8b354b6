"""Score directed relations as SemEval-2010 task 8 does (Hendrickx et al. 2010).

A label is a relation with the order of its two entities, ``Cause-Effect(e2,e1)``, or a label
outside the averages. Texts without an answer are in gold all the same.
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
    """Counts of each (gold, proposed) pair, and of each gold label, answered or not.

    ``turned`` counts, by gold label, answers with the right relation in the wrong direction, if
    these are neither right nor another relation; they are in no cell.
    """

    gold: Counter[str]
    cells: Counter[tuple[str, str]]
    turned: Counter[str] = field(default_factory=Counter)

    @property
    def labels(self) -> list[str]:
        """The gold labels, sorted, then the labels that are only proposed."""
        return [*sorted(self.gold), *sorted({label for _, label in self.cells} - {*self.gold})]

    @property
    def proposed(self) -> Counter[str]:
        """How often each label is proposed; turned answers are left out."""
        return _sum_by_key((label, number) for (_, label), number in self.cells.items())

    @property
    def answered(self) -> int:
        """The number of texts with an answer, right or wrong."""
        return self.cells.total() + self.turned.total()

    @property
    def hits(self) -> int:
        """The number of right answers."""
        return sum(self.cells[label, label] for label in self.gold)

    def skipped(self, label: str) -> int:
        """Return the number of texts of a gold label without an answer."""
        answers = sum(self.cells[label, proposed] for proposed in self.labels)
        return self.gold[label] - answers - self.turned[label]

    def counts(self, outside: str | None = None) -> dict[str, Counts]:
        """Return the counts of each gold label but ``outside``; turned answers are predictions."""
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
        """Return the means of the percentages of all gold labels but ``outside``.

        There must be at least one such label.
        """
        ratios = [percentages(counts) for counts in self.counts(outside).values()]
        return PRF(
            sum(prf.precision for prf in ratios) / len(ratios),
            sum(prf.recall for prf in ratios) / len(ratios),
            sum(prf.f1 for prf in ratios) / len(ratios),
        )


def relation(label: str) -> str:
    """Return the label without its direction."""
    return _DIRECTION.sub("", label)


def directed(gold: Mapping[str, str], proposed: Mapping[str, str]) -> Confusion:
    """Compare labels by text with directions; each text in ``proposed`` has a gold label."""
    pairs = Counter(zip(map(gold.__getitem__, proposed), proposed.values(), strict=True))
    return Confusion(Counter(gold.values()), pairs)


def undirected(labels: Confusion) -> Confusion:
    """Compare relations, ignoring directions."""
    cells = (((relation(a), relation(b)), number) for (a, b), number in labels.cells.items())
    gold = _sum_by_key((relation(label), number) for label, number in labels.gold.items())
    return Confusion(gold, _sum_by_key(cells))


def official(labels: Confusion) -> Confusion:
    """Compare relations, ignoring directions; those in the wrong direction are ``turned``."""
    turned = {
        (gold, proposed): number
        for (gold, proposed), number in labels.cells.items()
        if gold != proposed and relation(gold) == relation(proposed)
    }
    others = undirected(Confusion(labels.gold, labels.cells - Counter(turned)))
    turned_counts = _sum_by_key((relation(gold), number) for (gold, _), number in turned.items())
    return Confusion(others.gold, others.cells, turned_counts)


def _sum_by_key(items: Iterable[tuple[Key, int]]) -> Counter[Key]:
    """Return the sum of the numbers of each key."""
    sums: Counter[Key] = Counter()
    for key, number in items:
        sums[key] += number
    return sums
