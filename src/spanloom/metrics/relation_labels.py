"""Score one relation label per pair of entities, where one label means no relation."""

from collections import Counter
from collections.abc import Iterable

from spanloom.metrics.counts import Counts


def count_relations(pairs: Iterable[tuple[str, str]], none: str) -> dict[str, Counts]:
    """Count each gold or predicted label but ``none``; labels in sorted order.

    ``pairs`` are gold and predicted labels. A wrong label is a false positive of one relation and a
    false negative of the other; the micro average is that of the sum (Zhang et al. 2017).
    """
    table = Counter(pairs)
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    for (gold_label, predicted_label), number in table.items():
        gold[gold_label] += number
        predicted[predicted_label] += number
    labels = sorted({*gold, *predicted} - {none})
    return {label: Counts(table[label, label], predicted[label], gold[label]) for label in labels}
