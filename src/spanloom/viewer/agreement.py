"""Count, by layer and label, how far gold and predicted drawings agree, and what is confused."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from spanloom.viewer.compare import Difference, Item
from spanloom.viewer.marks import DrawnDocument, SpanBox
from spanloom.viewer.shapes import DEPENDENCY

SPANS, LINKS = "spans", "links"


@dataclass(slots=True)
class Agreement:
    """Counts of one layer's spans or links by label; attributes make no difference.

    ``confusions`` counts gold and predicted labels of what stands at the same location, or has one
    end in common; None stands for nothing there. ``moved`` counts items whose label is right but
    whose bounds, or whose other end, are not.
    """

    gold: Counter[str] = field(default_factory=Counter)
    predicted: Counter[str] = field(default_factory=Counter)
    equal: Counter[str] = field(default_factory=Counter)
    confusions: Counter[tuple[str | None, str | None]] = field(default_factory=Counter)
    moved: Counter[str] = field(default_factory=Counter)

    def add(self, difference: Difference) -> None:
        """Count a difference of labels or locations."""
        if difference.kind == "attributes":
            return
        gold = None if difference.gold is None else difference.gold.label
        predicted = None if difference.predicted is None else difference.predicted.label
        if gold is not None and gold == predicted:
            self.moved[gold] += 1
        else:
            self.confusions[gold, predicted] += 1


def kind_of(item: Item) -> str:
    """Return ``spans`` for a box, ``links`` for an arc."""
    return SPANS if isinstance(item, SpanBox) else LINKS


def agreements(
    compared: Iterable[tuple[DrawnDocument, DrawnDocument, Iterable[Difference]]],
    shapes: Mapping[str, str],
) -> dict[tuple[str, str], Agreement]:
    """Return agreements by layer and ``spans`` or ``links``, in order of appearance.

    The words of dependency trees, which both sides have, are left out.
    """
    counts: dict[tuple[str, str], Agreement] = {}
    for gold, predicted, differences in compared:
        for side, drawn in (("gold", gold), ("predicted", predicted)):
            for item in drawn.items:
                if isinstance(item, SpanBox) and shapes.get(item.layer) == DEPENDENCY:
                    continue
                agreement = counts.setdefault((item.layer, kind_of(item)), Agreement())
                getattr(agreement, side)[item.label] += 1
        for difference in differences:
            either = difference.gold or difference.predicted
            if either is not None and (either.layer, kind_of(either)) in counts:
                counts[either.layer, kind_of(either)].add(difference)
    for agreement in counts.values():
        unequal = Counter(agreement.moved)
        for (gold_label, _), times in agreement.confusions.items():
            if gold_label is not None:
                unequal[gold_label] += times
        agreement.equal = agreement.gold - unequal
    return counts
