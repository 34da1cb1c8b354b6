"""Which document of one side stands beside which of the other, and what they have in common."""

from collections import Counter

from spanloom.document import Document
from spanloom.errors import DataError, DocumentError
from spanloom.page.marks import drawn_layers

Documents = tuple[Document, ...]


def partners(gold: Documents, predicted: Documents) -> list[tuple[Document, Document]]:
    """Return the documents of both sides by name, in the order of the gold ones.

    Raises ``DataError`` where a name has no partner or stands twice, ``DocumentError`` where the
    two texts differ.
    """
    guesses = {document.name: document for document in predicted}
    for side, given in (("gold", gold), ("predicted", predicted)):
        twice = [name for name, n in Counter(each.name for each in given).items() if n > 1]
        if twice:
            raise DataError(f"{side}: expected one document of each name, got two of {twice[0]!r}")
    odd = sorted({document.name for document in gold} ^ set(guesses))
    if odd:
        side = "predicted" if odd[0] not in guesses else "gold"
        raise DataError(f"{side}: no document named {odd[0]!r} to stand beside the other side's")
    for document in gold:
        if document.text != guesses[document.name].text:
            raise DocumentError(f"{document.name}: gold and predicted have different texts")
    return [(document, guesses[document.name]) for document in gold]


def shared_layers(one: Document, other: Document) -> list[str]:
    """Return the layers to draw that both have."""
    return [layer.name for layer in drawn_layers(one, None) if other.has(layer.name)]


def lone_layers(one: Document, other: Document) -> list[str]:
    """Return the layers to draw that only one of them has."""
    names = [{layer.name for layer in drawn_layers(side, None)} for side in (one, other)]
    return sorted(names[0] ^ names[1])
