"""Express spans with gaps by spans without, and back: a span per fragment, linked in text order.

    T1  verb 0 4;8 10   look it up        split   T1    verb  look       next fragment  T1 -> T1:2
                                          ----->  T1:2  verb  up

A relation, event or attribute of the span is one of its first fragment. Going back, each chain of
links is a span. Where spans share a fragment the links branch: each link is then in one chain, from
a fragment that no link reaches to one that none leaves. ``losses`` names the spans that do not
come back so.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from spanloom.document import Fragment, Layer, Relation, Span

NEXT = "next fragment"  # no label of brat has a blank

Chain = tuple[str, ...]  # ids of fragments in text order


def split_fragments(layer: Layer) -> Layer:
    """Return the layer with a span per fragment; the first keeps the id of its span."""
    if all(len(span.fragments) == 1 for span in layer.spans):
        return layer
    spans: list[Span] = []
    links: list[Relation] = []
    for span in layer.spans:
        fragments = sorted(span.fragments)
        ids = [span.id, *(f"{span.id}:{row}" for row in range(2, len(fragments) + 1))]
        spans += (
            replace(span, id=id, fragments=(fragment,))
            for id, fragment in zip(ids, fragments, strict=True)
        )
        links += (
            Relation(f"{tail}-", NEXT, head, tail) for head, tail in zip(ids, ids[1:], strict=False)
        )
    return replace(layer, spans=tuple(spans), relations=(*layer.relations, *links))


def join_fragments(layer: Layer) -> Layer:
    """Return the layer with a span per chain of links, labelled and named like its first fragment.

    A link that leads back in the text is ignored. A chain that begins as another one does has the
    id of its last fragment.
    """
    links = [relation for relation in layer.relations if relation.label == NEXT]
    if not links:
        return layer
    span_of = {span.id: span for span in layer.spans}
    chains = _chains([(link.head, link.tail) for link in links], span_of)
    id_of: dict[str, str] = {}  # the id of the span that each fragment belongs to
    joined: dict[str, Span] = {}
    for chain in chains:
        new_id = chain[-1] if chain[0] in joined else chain[0]
        joined[new_id] = _join([span_of[id] for id in chain], new_id)
        for id in chain:
            id_of.setdefault(id, new_id)
    in_order = [joined.get(span.id, span) for span in layer.spans]
    spans = tuple(span for span in in_order if span.id in joined or span.id not in id_of)
    relations = (
        replace(
            relation,
            head=id_of.get(relation.head, relation.head),
            tail=id_of.get(relation.tail, relation.tail),
        )
        for relation in layer.relations
        if relation.label != NEXT
    )
    attributes = (attribute for attribute in layer.attributes if _first(attribute.target, id_of))
    return replace(layer, spans=spans, relations=tuple(relations), attributes=tuple(attributes))


def losses(spans: Sequence[Span]) -> frozenset[str]:
    """Return the ids of the spans with gaps that do not come back from their fragments."""
    layer = split_fragments(Layer("", tuple(spans)))
    merged_id: dict[Fragment, str] = {}  # equal fragments are one span to a model
    id_of = {span.id: merged_id.setdefault(span.fragments[0], span.id) for span in layer.spans}
    merged = {id_of[span.id]: span for span in reversed(layer.spans)}
    links = {
        (id_of[link.head], id_of[link.tail]): replace(
            link, head=id_of[link.head], tail=id_of[link.tail]
        )
        for link in layer.relations
    }
    back = join_fragments(Layer("", tuple(merged.values()), tuple(links.values())))
    rejoined = {(span.label, tuple(sorted(span.fragments))) for span in back.spans}
    return frozenset(
        span.id
        for span in spans
        if len(span.fragments) > 1 and (span.label, tuple(sorted(span.fragments))) not in rejoined
    )


def _first(target: str, id_of: Mapping[str, str]) -> bool:
    """Return whether an attribute's target is not a fragment that became part of another span."""
    return id_of.get(target, target) == target


def _join(fragments: Sequence[Span], new_id: str) -> Span:
    scores = [span.score for span in fragments if span.score is not None]
    bounds = tuple(fragment for span in fragments for fragment in span.fragments)
    return Span(new_id, fragments[0].label, bounds, min(scores) if scores else None)


def _chains(links: Sequence[tuple[str, str]], span_of: Mapping[str, Span]) -> list[Chain]:
    """Return as few chains as cover all links forward in the text, each link in one at least."""
    after: dict[str, list[str]] = defaultdict(list)
    before: dict[str, list[str]] = defaultdict(list)
    forward = sorted(
        {(a, b) for a, b in links if span_of[a].end <= span_of[b].start},
        key=lambda link: (span_of[link[0]].start, span_of[link[1]].start, link),
    )
    for head, tail in forward:
        after[head].append(tail)
        before[tail].append(head)
    covered: set[tuple[str, str]] = set()
    chains = []
    for link in forward:
        if link in covered:
            continue
        chain = list(link)
        while heads := before[chain[0]]:
            chain.insert(0, next((a for a in heads if (a, chain[0]) not in covered), heads[0]))
        while tails := after[chain[-1]]:
            chain.append(next((b for b in tails if (chain[-1], b) not in covered), tails[0]))
        covered.update(zip(chain, chain[1:], strict=False))
        chains.append(tuple(chain))
    return chains
