"""The relation of two spans as the class of a text pair: what a model judges without spans.

Ada is a poet .             entities: Ada PERSON, poet TITLE, per:title Ada -> poet
Ada (person), poet (title)  relation: per:title from the first text to the second
"""

from dataclasses import replace

from spanloom.annotation.text_pairs import classify, join_texts
from spanloom.document import Document
from spanloom.errors import DataError


def relation_as_text_pair(document: Document, layer: str, name: str) -> Document:
    """Return a pair of the document's text and its relation's ends; the class is layer ``name``.

    Ends are written with their labels, the head first. All other annotation is left out. Raises
    ``DataError`` unless the layer has one relation.
    """
    relations = document[layer].relations
    if len(relations) != 1:
        problem = f"expected one relation, got {len(relations)}"
        raise DataError(f"{document.name}: layer {layer!r}: {problem}")
    spans = {span.id: span for span in document[layer].spans}
    ends = (spans[relations[0].head], spans[relations[0].tail])
    text = " ".join(document.text.split())
    second = ", ".join(
        f"{' '.join(document.text_of(end).split())} ({end.label.lower().replace('_', ' ')})"
        for end in ends
    )
    pair = replace(join_texts(document.name, text, second), meta=document.meta)
    label = relations[0].label
    return pair.with_layer(classify(pair, name, label, None, pair.id_generator()))
