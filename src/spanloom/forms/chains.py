"""Several labels on the same characters as one: a unary chain of a tree, outermost first."""

from dataclasses import replace

from spanloom.document import Fragment, Layer, Span
from spanloom.forms.trees import TOP

JOINT = " "  # stands in no label of brat


def joined(layer: Layer) -> Layer:
    """Return the layer with the labels of spans on the same characters joined, the first id kept.

    Relations are left out: no tree has any.
    """
    chains: dict[tuple[Fragment, ...], Span] = {}
    for span in layer.spans:
        at = tuple(sorted(span.fragments))
        above = chains.get(at)
        label = span.label if above is None else f"{above.label}{JOINT}{span.label}"
        chains[at] = replace(span if above is None else above, label=label)
    return Layer(layer.name, tuple(chains.values()))


def parted(label: str) -> list[str]:
    """Return the labels of a chain, outermost first."""
    return label.split(JOINT)


def named(label: str) -> str:
    """Return a chain without what has no name in it; ``TOP`` where nothing has.

    A recipe may have learnt such chains where a corpus has brackets without a label.
    """
    return JOINT.join(each for each in parted(label) if each) or TOP
