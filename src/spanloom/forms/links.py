"""Clusters of spans that relations and equivalences connect."""

from spanloom.document import Layer


def linked(layer: Layer) -> list[tuple[str, ...]]:
    """Return the ids of spans that are connected, two or more each, in the order of the layer."""
    groups: dict[str, set[str]] = {span.id: {span.id} for span in layer.spans}
    pairs = [(each.head, each.tail) for each in layer.relations]
    for same in layer.equivalences:
        members = [each for each in same.members if each in groups]
        pairs += zip(members, members[1:], strict=False)
    for first, second in pairs:
        if first in groups and second in groups and groups[first] is not groups[second]:
            small, large = sorted((groups[first], groups[second]), key=len)
            large |= small
            for each in small:
                groups[each] = large
    found: dict[int, list[str]] = {}
    for span in layer.spans:
        found.setdefault(id(groups[span.id]), []).append(span.id)
    return [tuple(group) for group in found.values() if len(group) > 1]
