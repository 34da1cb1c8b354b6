"""What the candidate antecedents of a coreference model leave of gold clusters.

A model with perfect scores links each mention to its nearest antecedent among the mentions that it
looks back at. What refers farther begins a new entity, so its cluster is cut there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spanloom.annotation.connected_spans import connected_spans
from spanloom.annotation.word_index import WordIndex
from spanloom.document import Document, Layer, Relation
from spanloom.metrics.clusters import score
from spanloom.tokenization import Split, words_of

SPANS_PER_WORD, MAX_ANTECEDENTS, HORIZON = 0.4, 50, 4000  # defaults of a task's options


@dataclass(frozen=True, slots=True)
class AntecedentReach:
    """Limits of a model: kept mentions per word, how many of them it looks back, widest mention."""

    spans_per_word: float = SPANS_PER_WORD
    num_antecedents: int = MAX_ANTECEDENTS
    max_span_width: int | None = None

    @classmethod
    def of_task(cls, options: Mapping[str, Any]) -> "AntecedentReach":
        """Return the limits of a task with these options of a recipe."""
        coarse = options.get("antecedents") == "coarse"
        kept = options.get("max_antecedents", MAX_ANTECEDENTS)
        num_antecedents = options.get("antecedent_horizon", HORIZON) if coarse else kept
        per_word = options.get("spans_per_word", SPANS_PER_WORD)
        return cls(per_word, num_antecedents, options.get("max_span_width"))

    def ceiling(self, documents: Sequence[Document], layer: str, split: Split) -> float:
        """Return the CoNLL average of a model with perfect scores."""
        gold = [document for document in documents if document.has_layer(layer)]
        return score(
            gold, [self.linked(document, layer, split) for document in gold], layer
        ).clusters.average

    def linked(self, document: Document, name: str, split: Split) -> Document:
        """Return the document with the links that the model can predict."""
        layer, index = document[name], WordIndex(words_of(document, split))
        word_spans = {span.id: index.locate(span) for span in layer.spans}
        width = self.max_span_width
        spans = [
            span
            for span in layer.spans
            if word_spans[span.id].aligned and (width is None or word_spans[span.id].width <= width)
        ]
        starts = {span.id: word_spans[span.id].first for span in spans}
        rank = {id: row for row, id in enumerate(sorted(starts, key=starts.__getitem__))}
        relations: list[Relation] = []
        for cluster in connected_spans(layer):
            mentions = sorted((id for id in cluster if id in rank), key=rank.__getitem__)
            for before, mention in zip(mentions, mentions[1:], strict=False):
                # gold mentions are kept before others, which fill up to the number per word
                between = self.spans_per_word * (starts[mention] - starts[before])
                if max(between, rank[mention] - rank[before]) <= self.num_antecedents:
                    relations.append(Relation(f"R{len(relations) + 1}", "coref", mention, before))
        return document.unannotated().with_layer(Layer(name, tuple(spans), tuple(relations)))
