"""Find the syntactic heads of spans: their words whose own head lies outside of the span.

    spans    [the old mayor of [Paris]]
    heads             mayor     Paris

Trees are layers as ``formats.conllu`` reads them: a span per word, a relation from each head to its
dependent, and from a root to itself. A span that is no subtree may have several heads.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from spanloom.annotation_ids import IdGenerator
from spanloom.document import Document, Layer, Relation, Span

TREE, TAGS = "dependency", "upos"


def spans_headed_by(document: Document, layer: str, tags: Collection[str]) -> frozenset[str]:
    """Return the ids of the spans of ``layer`` that have a head with one of these UPOS tags."""
    words = sorted(document[TREE].spans, key=lambda word: word.start)
    starts = [word.start for word in words]
    head_of = {relation.tail: relation.head for relation in document[TREE].relations}
    tagged = {span.start for span in document[TAGS].spans if span.label in tags}

    def has_tagged_head(span: Span) -> bool:
        inside = {word.id: word for word in _words_of(span, words, starts)}
        return any(
            word.start in tagged
            for word in inside.values()
            if head_of.get(word.id) in (None, word.id) or head_of[word.id] not in inside
        )

    return frozenset(span.id for span in document[layer].spans if has_tagged_head(span))


def _words_of(span: Span, words: Sequence[Span], starts: Sequence[int]) -> Iterator[Span]:
    """Yield the words inside a span; ``words`` are sorted by ``starts``."""
    for start, end in span.fragments:
        for word in words[bisect_left(starts, start) : bisect_left(starts, end)]:
            if word.end <= end:
                yield word


@dataclass(frozen=True, slots=True)
class HeadWords:
    """A layer of head words, and what was lost: spans by reason, relations by number.

    ``shared`` spans have a head that another span has with the same label, ``clashing`` ones with
    another label: a flat tagging keeps one of these. ``without_words`` have no word of the tree.
    """

    layer: Layer
    shared: int = 0
    clashing: int = 0
    without_words: int = 0
    lost_relations: int = 0


def head_words(layer: Layer, tree: Layer, name: str, new_id: IdGenerator) -> HeadWords:
    """Return the layer ``name``: each span of ``layer`` cut to its head word, with its relations.

    Of several heads it is the one nearest to the root, of these the last, as English phrases are
    mostly head-final. Spans of one label and one head become one; relations follow their spans, and
    those that then join a span to itself, or repeat another, are lost. All get ids of ``new_id``.
    Events, attributes and equivalences are not kept.
    """
    words = sorted(tree.spans, key=lambda word: word.start)
    starts = [word.start for word in words]
    head_of = {relation.tail: relation.head for relation in tree.relations}
    spans: dict[tuple[int, int, str], Span] = {}
    stands_for: dict[str, str] = {}
    without_words = 0
    for span in layer.spans:
        inside = list(_words_of(span, words, starts))
        if not inside:
            without_words += 1
            continue
        word = min(inside, key=lambda word: (_depth(word.id, head_of), -word.start))
        bounds = (word.start, word.end, span.label)
        if bounds not in spans:
            spans[bounds] = Span(new_id("T"), span.label, ((word.start, word.end),))
        stands_for[span.id] = spans[bounds].id
    relations: dict[tuple[str, str, str], Relation] = {}
    for relation in layer.relations:
        head, tail = stands_for.get(relation.head), stands_for.get(relation.tail)
        if head is not None and tail is not None and head != tail:
            key = relation.label, head, tail
            if key not in relations:
                relations[key] = replace(relation, id=new_id("R"), head=head, tail=tail)
    return HeadWords(
        Layer(name, tuple(spans.values()), tuple(relations.values())),
        shared=len(stands_for) - len(spans),
        clashing=len(spans) - len({place[:2] for place in spans}),
        without_words=without_words,
        lost_relations=len(layer.relations) - len(relations),
    )


def _depth(word: str, head_of: Mapping[str, str]) -> int:
    """Return how many words lie between a word and its root; of a cycle, each word once."""
    seen = {word}
    while (head := head_of.get(word)) is not None and head not in seen:
        seen.add(head)
        word = head
    return len(seen) - 1
