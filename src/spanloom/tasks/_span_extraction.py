"""Base of tasks that extract a span: answers, classes and numbers (SpEx-BERT).

An answer is a span of the text. A class or a number is one of the choices that are written behind
the text, or in its place, in natural language.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from spanloom.annotation.text_pairs import Classification, classification_of, classify
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.document import Document, Layer
from spanloom.nn.start_end import StartEndScorer
from spanloom.tasks._base import HeadInputSpec, LayerTask, NewId
from spanloom.tasks._classification import LabelGold, TextPairMixin
from spanloom.tensors import Batch, HeadInputs, Losses
from spanloom.tokenization import Bounds

FAMILY = "extract"
TokenBounds = Float[np.ndarray, "row 2"]  # scores as first and as last word
AnswerLogProbs = tuple[float, ...]  # of each choice, adding up to 1


# gold starts and ends as rows of ``nn.start_end``: all words, then "no answer" per instance
AnswerTargets = Bool[Tensor, "row 2"]


@dataclass(frozen=True, slots=True)
class ExtractTask(LayerTask):
    """Base of tasks that extract a span."""

    dropout: float

    loss_names = ("start", "end")

    def build_head(self, spec: HeadInputSpec) -> StartEndScorer:
        """Build the head; it is the same for all these tasks."""
        return StartEndScorer(spec.word_dim, self.dropout)

    def loss(
        self, head: StartEndScorer, vectors: HeadInputs, batch: Batch, targets: AnswerTargets
    ) -> Losses:
        """Return the losses of starts and of ends."""
        return head.loss(vectors.word_vectors, cls_vectors(vectors), batch.instances, targets)

    def count_items(self, batch: Batch, targets: AnswerTargets) -> int:
        """Return the number of instances that have an answer."""
        rows, num_words = targets[:, 0].nonzero()[:, 0], len(targets) - len(batch.instances)
        ends = batch.instances[:, 1].contiguous()
        instances = torch.searchsorted(ends, rows[rows < num_words], right=True)
        return len(torch.cat([instances, rows[rows >= num_words] - num_words]).unique())


@dataclass(frozen=True, slots=True)
class ExtractiveChoiceTask(TextPairMixin, ExtractTask):
    """Select one of several choices for a text or a pair of texts."""

    text_pairs: bool

    def index_of(self, gold: Classification) -> int | None:
        """Return the index of the choice with this label or value, None if there is none."""
        raise NotImplementedError

    def label_at(self, row: int) -> Classification:
        """Return the label or value of a choice."""
        raise NotImplementedError

    def encode_gold(self, document: Document, tokenized: TokenizedDocument) -> LabelGold:
        """Return the index of the gold choice."""
        gold = classification_of(document, self.layer)
        return LabelGold(None if gold is None else self.index_of(gold))

    def collate_targets(
        self, instances: Sequence[Instance], gold: Mapping[int, LabelGold]
    ) -> AnswerTargets:
        """Mark the words of the gold choice."""
        rows = [gold[instance.document].row for instance in instances]
        return collate_answers(
            instances,
            [
                None if row is None else [instance.choices[row]]
                for instance, row in zip(instances, rows, strict=True)
            ],
        )

    def predict(
        self,
        head: StartEndScorer,
        vectors: HeadInputs,
        batch: Batch,
        instances: Sequence[Instance],
        given: Any,
    ) -> Iterator[AnswerLogProbs]:
        """Yield the probabilities of the choices, from the scores of their first and last words."""
        for instance, (words, _) in zip(
            instances, iter_scores(head, vectors, instances), strict=True
        ):
            scores = [words[a, 0] + words[b - 1, 1] for a, b in instance.choices]
            weights = np.exp(np.array(scores, dtype=np.float64) - max(scores))
            yield tuple((weights / weights.sum()).tolist())

    def to_layer(
        self,
        document: Document,
        predictions: Sequence[tuple[Instance, AnswerLogProbs]],
        new_id: NewId,
    ) -> Layer:
        """Return a layer with the most probable choice; an empty one for blank text."""
        if not document.text.strip():
            return Layer(self.layer)
        mean_probs = np.mean([probs for _, probs in predictions], axis=0)
        row = int(mean_probs.argmax())
        label = self.label_at(row)
        return classify(
            document, self.layer, label.label, label.value, new_id, float(mean_probs[row])
        )


def merge_vocabularies(collected: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return an empty vocabulary: answers are in the text, so any tasks can share the head."""
    return {}


def cls_vectors(vectors: HeadInputs) -> Float[Tensor, "instance dim"]:
    """Return the "[CLS]" vectors of the instances; the readers of these tasks request them."""
    assert vectors.cls_vectors is not None, "units without openings: a reading that does not ask"
    return vectors.cls_vectors


def collate_answers(
    instances: Sequence[Instance], right: Iterable[Sequence[Bounds] | None]
) -> AnswerTargets:
    """Mark right answers in the words of a batch, and "no answer" after them.

    ``right`` has, per instance, the bounds of all right answers in its words, none for "no answer";
    None if the answer is unknown.
    """
    bases = list(accumulate((len(instance.tokens) for instance in instances), initial=0))
    starts: list[int] = []
    ends: list[int] = []
    for none, (base, bounds) in enumerate(zip(bases, right, strict=False), bases[-1]):
        if bounds is None:
            continue
        starts += [base + start for start, _ in bounds] or [none]
        ends += [base + end - 1 for _, end in bounds] or [none]
    rows = torch.zeros(bases[-1] + len(instances), 2, dtype=torch.bool)
    rows[starts, 0] = True
    rows[ends, 1] = True
    return rows


def iter_scores(
    head: StartEndScorer, vectors: HeadInputs, instances: Sequence[Instance]
) -> Iterator[tuple[TokenBounds, TokenBounds]]:
    """Yield the scores of each instance's words, and those of its "no answer" as one row."""
    scores = head(vectors.word_vectors, cls_vectors(vectors)).detach().cpu().numpy()
    bases = list(accumulate((len(instance.tokens) for instance in instances), initial=0))
    for none, (a, b) in enumerate(zip(bases, bases[1:], strict=False), bases[-1]):
        yield scores[a:b], scores[none : none + 1]
