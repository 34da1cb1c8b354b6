"""The spaCy pipeline component ``spanloom``: a model annotates spaCy's own words.

    nlp = spacy.blank("en")
    nlp.add_pipe("spanloom", config={"model": "runs/mine"})

spaCy finds it by its entry point; no import is needed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from spacy.attrs import DEP, HEAD, POS, TAG
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import minibatch

from spanloom.document import SENTENCE, SENTENCES, Document, Layer
from spanloom.document import Span as DocumentSpan
from spanloom.interchange.spacy import attach, from_spacy, to_spacy
from spanloom.model.model import Model
from spanloom.model.serialization import load

_COLUMNS = (POS, TAG, DEP, HEAD)
_BATCH = 256  # documents


@dataclass(frozen=True)
class Component:
    """Set tags, tree, entities, groups of spans and ``_.spanloom`` of ``Doc`` objects.

    Words are those of the ``Doc``, and so are sentences if it has any. ``tasks`` are the names of
    those to run, None for all; ``entities`` is the layer that becomes ``doc.ents``.
    """

    model: Model
    tasks: tuple[str, ...] | None = None
    entities: str | None = None

    def __call__(self, doc: Doc) -> Doc:
        """Annotate one ``Doc`` and return it."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = _BATCH) -> Iterator[Doc]:
        """Annotate and yield ``Doc`` objects, ``batch_size`` at a time."""
        for batch in minibatch(stream, batch_size):
            docs = list(batch)
            documents = self.model.annotate([self._model_input(doc) for doc in docs], self.tasks)
            for doc, document in zip(docs, documents, strict=True):
                yield self._set_annotations(doc, document)

    def _model_input(self, doc: Doc) -> Document:
        """Return text, words and sentences of a ``Doc``; without sentences, the model splits it."""
        document = from_spacy(doc).unannotated()
        if document.has_layer(SENTENCES):
            return document
        bounds, new_id = self.model.word_tokenizer.sentences(doc.text), document.id_generator()
        spans = (DocumentSpan(new_id("S"), SENTENCE, (fragment,)) for fragment in bounds)
        return document.with_layer(Layer(SENTENCES, tuple(spans)))

    def _set_annotations(self, doc: Doc, document: Document) -> Doc:
        """Copy the annotations of a document to the ``Doc``."""
        predicted = to_spacy(document, entities=self.entities, vocab=doc.vocab)
        _copy_words(predicted, doc)
        if predicted.has_annotation("ENT_IOB"):
            doc.set_ents(_map_spans(predicted.ents, doc))
        for name, group in predicted.spans.items():
            doc.spans[name] = _map_spans(group, doc)
        return attach(doc, document)


@Language.factory(
    "spanloom", default_config={"model": None, "tasks": None, "entities": None, "precision": "auto"}
)
def make(
    nlp: Language,
    name: str,
    model: str | None,
    tasks: list[str] | None,
    entities: str | None,
    precision: str,
) -> Component:
    """Load a model (a folder, a hub id, or the default one) as a component.

    ``tasks`` are those to run (default: all); ``entities`` names the layer that becomes
    ``doc.ents`` (default: "ner", else "entities"). Raises ``ModelError`` as ``load`` does, and
    ``NameNotFound`` for a task that the model does not have.
    """
    loaded = load(model, precision=precision)
    task_names = None if tasks is None else tuple(tasks)
    loaded.encoder_passes(task_names)  # raises NameNotFound
    return Component(loaded, task_names, entities)


def _copy_words(predicted: Doc, doc: Doc) -> None:
    """Copy tags and tree to the words with the same first character; blanks may differ."""
    index_of = {token.idx: token.i for token in doc if not token.is_space}
    has_tree = predicted.has_annotation("DEP")
    columns = _COLUMNS if has_tree else _COLUMNS[:2]
    values: Any = np.asarray(doc.to_array(list(columns)), dtype=np.uint64)
    for token in predicted:
        if token.is_space:
            continue
        row = index_of[token.idx]
        head = index_of[token.head.idx] - row if has_tree and not token.head.is_space else 0
        cells = (token.pos, token.tag, token.dep, head % 2**64)
        for column in range(len(columns)):
            values[row, column] = cells[column] or values[row, column]
    doc.from_array(list(columns), values)


def _map_spans(spans: Iterable[Span], doc: Doc) -> list[Span]:
    """Return the spans of the same characters of another ``Doc``."""
    mapped = (doc.char_span(span.start_char, span.end_char, label=span.label) for span in spans)
    return [span for span in mapped if span is not None]
