"""Queries and their answers: a span answers the query named by its attribute ``query``.

    Q1  Who met Bob?          T1  answer 0 3  Ada        A1  query T1 Q1
    Q2  Where did they meet?  (no span: unanswerable)

Several spans of one query are alternatives; each is correct. If a layer has no answer to a query,
the text does not answer it; if the layer is absent, the query was not annotated.
"""

import unicodedata
from collections.abc import Callable, Container, Iterable, Sequence

from spanloom.document import Attribute, Document, Fragment, Layer, Query, Span
from spanloom.errors import DocumentError

QUERY = "query"
ANSWER = "answer"
_UNSEEN = frozenset({"Cc", "Cf", "Mn", "Zs", "Zl", "Zp"})  # categories without ink of their own
_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"  # Hangul fillers and blank braille: letters by category

AnswerSpan = tuple[str, Sequence[Fragment], float | None]
"""An answer: the query's id, the fragments in characters, a score or None."""


def is_blank(text: str) -> bool:
    """Return whether a text has nothing to see: blanks, and characters without width."""
    return all(
        character in _FILLERS or unicodedata.category(character) in _UNSEEN for character in text
    )


def ask_query(query_id: str, prompt: str) -> Query:
    """Return a query that somebody asks; raises ``DocumentError`` where there is nothing to see."""
    if is_blank(prompt):
        raise DocumentError(f"query {query_id!r} needs a prompt, got {prompt!r:.60}")
    return Query(query_id, prompt)


def answers(document: Document, layer: str) -> dict[str, tuple[Span, ...]]:
    """Return the spans that answer each query, in the order of their attributes.

    Every query of the document is a key, in order; its value is () if the layer has no answer.
    Answers to unknown queries are left out (see ``dangling_answers``). Raises ``LayerError`` if the
    layer is absent.
    """
    spans = {span.id: span for span in document[layer].spans}
    answers: dict[str, dict[str, Span]] = {query.id: {} for query in document.queries}
    for attribute in document[layer].attributes:
        if _is_answer(attribute, answers, spans) and attribute.value is not None:
            answers[attribute.value][attribute.target] = spans[attribute.target]
    return {query: tuple(alternatives.values()) for query, alternatives in answers.items()}


def dangling_answers(document: Document, layer: str) -> tuple[Attribute, ...]:
    """Return the ``query`` attributes without a query, or whose target is no span of the layer."""
    span_ids = {span.id for span in document[layer].spans}
    query_ids = {query.id for query in document.queries}
    attributes = (attribute for attribute in document[layer].attributes if attribute.label == QUERY)
    return tuple(
        attribute for attribute in attributes if not _is_answer(attribute, query_ids, span_ids)
    )


def answer_layer(name: str, answers: Iterable[AnswerSpan], new_id: Callable[[str], str]) -> Layer:
    """Return the layer ``name`` with one span per answer, in the order given.

    ``new_id("T")`` and ``new_id("A")`` make the ids. ``answers`` is the inverse.
    """
    spans: list[Span] = []
    attributes: list[Attribute] = []
    for query, fragments, score in answers:
        span = Span(new_id("T"), ANSWER, tuple(fragments), score)
        spans.append(span)
        attributes.append(Attribute(new_id("A"), QUERY, span.id, query))
    return Layer(name, tuple(spans), attributes=tuple(attributes))


def _is_answer(attribute: Attribute, queries: Container[str | None], spans: Container[str]) -> bool:
    """Return whether an attribute makes its target the answer to one of the queries."""
    return attribute.label == QUERY and attribute.value in queries and attribute.target in spans
