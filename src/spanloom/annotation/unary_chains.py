"""Join the labels of spans with the same characters (a unary chain, outermost first), and back."""

from dataclasses import replace

from spanloom.annotation.trees import TOP
from spanloom.document import Fragment, Layer, Span

JOINER = " "  # no brat label contains it


def collapse_unary(layer: Layer) -> Layer:
    """Return the layer with one span per set of characters, its labels joined, with the first id.

    Relations are left out: trees have none.
    """
    chains: dict[tuple[Fragment, ...], Span] = {}
    for span in layer.spans:
        fragments = tuple(sorted(span.fragments))
        chain = chains.get(fragments)
        label = span.label if chain is None else f"{chain.label}{JOINER}{span.label}"
        chains[fragments] = replace(span if chain is None else chain, label=label)
    return Layer(layer.name, tuple(chains.values()))


def expand_unary(label: str) -> list[str]:
    """Return the labels of a chain, outermost first."""
    return label.split(JOINER)


def named(label: str) -> str:
    """Return a chain without its empty labels; ``TOP`` if no label is left.

    A recipe may have learnt chains with empty labels from brackets without a label.
    """
    return JOINER.join(part for part in expand_unary(label) if part) or TOP
