"""Pair gold and predicted documents by name, and find their common layers."""

from collections import Counter

from spanloom.document import Document
from spanloom.errors import DataError, DocumentError
from spanloom.viewer.marks import drawn_layers

Documents = tuple[Document, ...]


def pair_documents(gold: Documents, predicted: Documents) -> list[tuple[Document, Document]]:
    """Return the documents of both sides by name, in the order of the gold ones.

    Raises ``DataError`` if a document has no counterpart or a name occurs twice, ``DocumentError``
    if the two texts differ.
    """
    predicted_by_name = {document.name: document for document in predicted}
    for side, documents in (("gold", gold), ("predicted", predicted)):
        repeated = [
            name for name, n in Counter(document.name for document in documents).items() if n > 1
        ]
        if repeated:
            raise DataError(
                f"{side}: expected one document of each name, got two of {repeated[0]!r}"
            )
    unpaired = sorted({document.name for document in gold} ^ set(predicted_by_name))
    if unpaired:
        side = "predicted" if unpaired[0] not in predicted_by_name else "gold"
        raise DataError(
            f"{side}: no document named {unpaired[0]!r} to stand beside the other side's"
        )
    for document in gold:
        if document.text != predicted_by_name[document.name].text:
            raise DocumentError(f"{document.name}: gold and predicted have different texts")
    return [(document, predicted_by_name[document.name]) for document in gold]


def shared_layers(gold: Document, predicted: Document) -> list[str]:
    """Return the names of the layers to draw that both documents have."""
    return [layer.name for layer in drawn_layers(gold, None) if predicted.has_layer(layer.name)]


def lone_layers(gold: Document, predicted: Document) -> list[str]:
    """Return the names of the layers to draw that only one of the documents has."""
    names = [
        {layer.name for layer in drawn_layers(document, None)} for document in (gold, predicted)
    ]
    return sorted(names[0] ^ names[1])
