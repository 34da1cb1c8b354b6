"""Convert a column with one label per word (``_``: none) to a layer and back."""

from collections.abc import Callable, Iterable

from spanloom.formats._document_builder import DocumentBuilder
from spanloom.formats._word_view import WordView

XPOS = "xpos"
NONE = "_"


def label(
    builder: DocumentBuilder,
    layer: str,
    first: int,
    labels: Iterable[str],
    missing_label: str = NONE,
) -> list[str | None]:
    """Add a span for each labelled word from ``first`` on; return the span ids by word.

    If no word has a label, the layer is not created.
    """
    return [
        None
        if word_label == missing_label
        else builder.add_word_span(layer, word_label, word, word + 1)
        for word, word_label in enumerate(labels, first)
    ]


def labels(
    view: WordView, layer: str, is_writable: Callable[[str], object], missing_label: str = NONE
) -> list[list[str]]:
    """Return the word labels by sentence; of several on a word the first that is writable."""
    labels_by_sentence = [[missing_label] * (end - first) for first, end in view.words.sentences]
    for sentence_labels, spans in zip(labels_by_sentence, view.by_sentence(layer)[0], strict=True):
        for start, end, span in spans:
            if (
                end - start == 1
                and sentence_labels[start] == missing_label
                and is_writable(span.label)
            ):
                sentence_labels[start] = span.label
    return labels_by_sentence
