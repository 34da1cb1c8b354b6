"""One label a pair of entities, where one label says that there is no relation."""

from collections import Counter
from collections.abc import Iterable

from spanloom.metrics.counts import Counts


def count_relations(pairs: Iterable[tuple[str, str]], none: str) -> dict[str, Counts]:
    """Count each label but ``none`` that is gold or predicted; labels in sorted order.

    ``pairs`` are gold and predicted labels. A wrong label is a prediction too many of one relation
    and one too few of the other; the micro average is that of the sum (Zhang et al. 2017).
    """
    table = Counter(pairs)
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    for (one, two), many in table.items():
        gold[one] += many
        predicted[two] += many
    labels = sorted({*gold, *predicted} - {none})
    return {label: Counts(table[label, label], predicted[label], gold[label]) for label in labels}
