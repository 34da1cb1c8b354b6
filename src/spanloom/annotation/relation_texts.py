"""Relations as classes of texts: what a model judges that classifies texts and knows no spans.

Ada is a poet .                     entities: Ada PERSON, poet TITLE, per:title Ada -> poet

Ada is a poet .                     text-pair: per:title from the first text to the second
Ada (person), poet (title)
[SUBJ-PERSON] is a [OBJ-TITLE] .    masked: per:title
[E1] Ada [/E1] is a [E2] poet [/E2] .    marked: per:title(e1,e2)
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import combinations

from spanloom.annotation.text_pairs import classify, join_texts
from spanloom.document import Document, Relation, Span
from spanloom.errors import DataError

UNRELATED = "no_relation"
Edit = tuple[int, int, str]  # what stands in [start, end) from now on


def relation_as_text_pair(document: Document, layer: str, name: str) -> Iterator[Document]:
    """Yield a pair of the document's text and its relation's ends; the class is layer ``name``.

    Ends are written with their labels, the head first. All other annotation is left out. Raises
    ``DataError`` unless the layer has one relation.
    """
    relation, *ends = _only_relation(document, layer)
    text = " ".join(document.text.split())
    second = ", ".join(
        f"{' '.join(document.text_of(end).split())} ({end.label.lower().replace('_', ' ')})"
        for end in ends
    )
    pair = replace(join_texts(document.name, text, second), meta=document.meta)
    yield _with_class(pair, name, relation.label)


def masked_ends(document: Document, layer: str, name: str) -> Iterator[Document]:
    """Yield the text with the ends of its relation masked; the class is layer ``name``.

    A mask says which end it is, and its label (SpanBERT, section 5.1); those of ends that overlap
    stand side by side in place of both. Raises ``DataError`` unless the layer has one relation.
    """
    relation, head, tail = _only_relation(document, layer)
    masks = [
        (end.start, end.end, f"[{role}-{end.label}]")
        for role, end in (("SUBJ", head), ("OBJ", tail))
    ]
    (start, end, first), (second_start, second_end, second) = sorted(masks)
    if second_start < end:
        masks = [(start, max(end, second_end), f"{first} {second}")]
    text = Document(_edit(document.text, masks), (), document.name, document.meta)
    yield _with_class(text, name, relation.label)


def marked_pairs(document: Document, layer: str, name: str) -> Iterator[Document]:
    """Yield the text once for each two spans, with marks around them; the class is layer ``name``.

    The class says which of both, in the order of the text, is the head; spans without a relation
    have the class ``no_relation``. Of several relations of two spans the first counts.
    """
    relations = {
        (relation.head, relation.tail): relation for relation in reversed(document[layer].relations)
    }
    spans = sorted(document[layer].spans, key=lambda span: (span.start, -span.end))
    for (first_row, first), (second_row, second) in combinations(enumerate(spans, 1), 2):
        label = UNRELATED
        if relation := relations.get((first.id, second.id)):
            label = f"{relation.label}(e1,e2)"
        elif relation := relations.get((second.id, first.id)):
            label = f"{relation.label}(e2,e1)"
        marked = _edit(document.text, _marks(first, second))
        number = f"/{first_row}-{second_row}" if len(spans) > 2 else ""
        text = Document(marked, (), f"{document.name}{number}", document.meta)
        yield _with_class(text, name, label)


FORMS: dict[str, Callable[[Document, str, str], Iterator[Document]]] = {
    "text-pair": relation_as_text_pair,
    "masked": masked_ends,
    "marked": marked_pairs,
}


def _only_relation(document: Document, layer: str) -> tuple[Relation, Span, Span]:
    """Return the only relation of a layer, its head and its tail."""
    relations = document[layer].relations
    if len(relations) != 1:
        problem = f"expected one relation, got {len(relations)}"
        raise DataError(f"{document.name}: layer {layer!r}: {problem}")
    spans = {span.id: span for span in document[layer].spans}
    return relations[0], spans[relations[0].head], spans[relations[0].tail]


def _with_class(document: Document, name: str, label: str) -> Document:
    """Return the document with its class."""
    return document.with_layer(classify(document, name, label, None, document.id_generator()))


def _marks(first: Span, second: Span) -> list[Edit]:
    """Return the marks around two spans; those of a nested one are inside."""
    ends = (second.end, " [/E2]"), (first.end, " [/E1]")
    starts = (first.start, "[E1] "), (second.start, "[E2] ")
    return [(position, position, mark) for position, mark in (*ends, *starts)]


def _edit(text: str, edits: Iterable[Edit]) -> str:
    """Return the text after edits that do not overlap; those at one place stay in their order."""
    for start, end, replacement in reversed(sorted(edits, key=lambda edit: edit[0])):
        text = text[:start] + replacement + text[end:]
    return text
