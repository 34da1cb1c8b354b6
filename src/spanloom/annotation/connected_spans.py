"""Find clusters of spans that relations and equivalences connect."""

from spanloom.document import Layer


def connected_spans(layer: Layer) -> list[tuple[str, ...]]:
    """Return clusters of two or more span ids, in the order of the layer."""
    groups: dict[str, set[str]] = {span.id: {span.id} for span in layer.spans}
    pairs = [(relation.head, relation.tail) for relation in layer.relations]
    for equivalence in layer.equivalences:
        members = [member for member in equivalence.members if member in groups]
        pairs += zip(members, members[1:], strict=False)
    for first, second in pairs:
        if first in groups and second in groups and groups[first] is not groups[second]:
            smaller, larger = sorted((groups[first], groups[second]), key=len)
            larger |= smaller
            for span_id in smaller:
                groups[span_id] = larger
    clusters: dict[int, list[str]] = {}
    for span in layer.spans:
        clusters.setdefault(id(groups[span.id]), []).append(span.id)
    return [tuple(cluster) for cluster in clusters.values() if len(cluster) > 1]
