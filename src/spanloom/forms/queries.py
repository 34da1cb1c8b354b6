"""Queries and their answers: a span answers the query that its attribute ``query`` names.

    Q1  Who met Bob?          T1  answer 0 3  Ada        A1  query T1 Q1
    Q2  Where did they meet?  (no span: unanswerable)

Several spans of one query are alternatives, each of them right. A layer without an answer to a
query says that the text does not answer it; an absent layer says nothing of it.
"""

from collections.abc import Callable, Container, Iterable, Sequence

from spanloom.document import Attribute, Document, Fragment, Layer, Span

QUERY = "query"
ANSWER = "answer"

Found = tuple[str, Sequence[Fragment], float | None]
"""An answer: the query's id, the fragments in characters, a score or None."""


def answers(document: Document, layer: str) -> dict[str, tuple[Span, ...]]:
    """Return the spans that answer each query, in the order of their attributes.

    Every query of the document is there, in order; () where the layer has no answer. Answers to
    unknown queries are left out (``strays``). Raises ``LayerError`` where the layer is absent.
    """
    spans = {span.id: span for span in document[layer].spans}
    found: dict[str, dict[str, Span]] = {query.id: {} for query in document.queries}
    for each in document[layer].attributes:
        if _answers(each, found, spans) and each.value is not None:
            found[each.value][each.target] = spans[each.target]
    return {query: tuple(alternatives.values()) for query, alternatives in found.items()}


def strays(document: Document, layer: str) -> tuple[Attribute, ...]:
    """Return the ``query`` attributes that name no query, or stand at no span of the layer."""
    spans = {span.id for span in document[layer].spans}
    known = {query.id for query in document.queries}
    asked = (each for each in document[layer].attributes if each.label == QUERY)
    return tuple(each for each in asked if not _answers(each, known, spans))


def answered(name: str, found: Iterable[Found], fresh: Callable[[str], str]) -> Layer:
    """Return the layer ``name`` with an answer each, in the order given.

    ``fresh("T")`` and ``fresh("A")`` make the ids. ``answers`` of it gives back what was found.
    """
    spans: list[Span] = []
    attributes: list[Attribute] = []
    for query, fragments, score in found:
        span = Span(fresh("T"), ANSWER, tuple(fragments), score)
        spans.append(span)
        attributes.append(Attribute(fresh("A"), QUERY, span.id, query))
    return Layer(name, tuple(spans), attributes=tuple(attributes))


def _answers(each: Attribute, queries: Container[str | None], spans: Container[str]) -> bool:
    """Whether an attribute makes its target the answer to one of the queries."""
    return each.label == QUERY and each.value in queries and each.target in spans
