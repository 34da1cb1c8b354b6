"""Find the syntactic heads of spans: their words whose own head lies outside of the span.

    spans    [the old mayor of [Paris]]
    heads             mayor     Paris

Trees are layers as ``formats.conllu`` reads them: a span per word, a relation from each head to its
dependent, and from a root to itself. A span that is no subtree may have several heads.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence

from spanloom.document import Document, Span

TREE, TAGS = "dependency", "upos"


def spans_headed_by(
    document: Document, layer: str, tags: Collection[str], tag_layer: str = TAGS, tree: str = TREE
) -> frozenset[str]:
    """Return the ids of the spans of ``layer`` that have a head with one of these tags."""
    words = sorted(document[tree].spans, key=lambda word: word.start)
    starts = [word.start for word in words]
    head_of = {relation.tail: relation.head for relation in document[tree].relations}
    tagged = {span.start for span in document[tag_layer].spans if span.label in tags}

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
