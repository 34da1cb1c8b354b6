"""Base of tasks that extract a span: answers, classes and numbers (SpEx-BERT).

An answer is a span of the text. A class or a number is one of the choices that are written behind
the text, or in its place, in natural language.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from spanloom.annotation.text_pairs import Classification, classification_of, classify
from spanloom.data.instances import Instance, TokenizedDocument
from spanloom.document import Document, Layer
from spanloom.nn.start_end import StartEndScorer
from spanloom.tasks._base import HeadInputSpec, LayerTask, NewId
from spanloom.tasks._classification import LabelGold, TextOptions, TextPairMixin
from spanloom.tensors import Batch, HeadInputs, Losses
from spanloom.tokenization import Bounds

FAMILY = "extract"
TokenBounds = Float[np.ndarray, "row 2"]  # scores as first and as last word
ChoiceProbs = tuple[float, ...]  # of each choice, adding up to 1 at most


# first and last word as rows of ``nn.start_end`` (all words, then "no answer" per instance), and
# the instance
AnswerTargets = Int[Tensor, "answer 3"]


class ExtractOptions(TextOptions):
    """Options of all tasks that extract a span."""

    order: Literal["prompt-first", "source-first"] = Field(
        "prompt-first",
        description="prompt-first | source-first: what the encoder reads first, the question (or "
        "the text that is judged) or the text that holds the answers",
    )

    @property
    def source_first(self) -> bool:
        """Whether the text with the answers is read before the prompt, as in the paper."""
        return self.order == "source-first"


class SelectionOptions(ExtractOptions):
    """Options of tasks that choose how start and end make a span."""

    span_selection: Literal["joint", "independent"] = Field(
        "joint",
        description="joint | independent: the best span, or the best start and the best end, each "
        "by itself (equation 7)",
    )


@dataclass(frozen=True, slots=True)
class ExtractTask(LayerTask):
    """Base of tasks that extract a span."""

    dropout: float

    loss_names = ("span",)

    @property
    def has_no_answer(self) -> bool:
        """Whether "no answer" competes with the words, by the "[CLS]" vector."""
        return False

    def build_head(self, spec: HeadInputSpec) -> StartEndScorer:
        """Build the head; it is the same for all these tasks."""
        return StartEndScorer(spec.word_dim, self.dropout)

    def loss(
        self, head: StartEndScorer, vectors: HeadInputs, batch: Batch, targets: AnswerTargets
    ) -> Losses:
        """Return the loss of starts and ends."""
        return head.loss(
            vectors.word_vectors,
            cls_vectors(vectors),
            batch.instances,
            targets,
            has_no_answer=self.has_no_answer,
        )

    def count_items(self, batch: Batch, targets: AnswerTargets) -> int:
        """Return the number of instances that have an answer."""
        return len(targets[:, 2].unique())


@dataclass(frozen=True, slots=True)
class ExtractiveChoiceTask(TextPairMixin, ExtractTask):
    """Select one of several choices for a text or a pair of texts.

    ``is_independent``: the best start and the best end, each by itself, may make no choice.
    """

    text_pairs: bool
    is_independent: bool

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
    ) -> Iterator[ChoiceProbs]:
        """Yield the probabilities of the choices, from the scores of their first and last words."""
        for instance, (words, _) in zip(
            instances, iter_scores(head, vectors, instances), strict=True
        ):
            yield self.choice_probs(words, instance.choices)

    def choice_probs(self, words: TokenBounds, choices: Sequence[Bounds]) -> ChoiceProbs:
        """Return the probability of each choice, of one alone where both ends are independent."""
        if self.is_independent:
            return independent_probs(words, choices)
        scores = [words[a, 0] + words[b - 1, 1] for a, b in choices]
        weights = np.exp(np.array(scores, dtype=np.float64) - max(scores))
        return tuple((weights / weights.sum()).tolist())

    def to_layer(
        self,
        document: Document,
        predictions: Sequence[tuple[Instance, ChoiceProbs]],
        new_id: NewId,
    ) -> Layer:
        """Return a layer with the most probable choice; an empty one for blank text.

        It is empty, too, where no choice has a probability.
        """
        if not document.text.strip():
            return Layer(self.layer)
        label, prob = self.choose(np.mean([probs for _, probs in predictions], axis=0))
        if not prob:
            return Layer(self.layer)
        return classify(document, self.layer, label.label, label.value, new_id, prob)

    def choose(self, probs: Float[np.ndarray, " choice"]) -> tuple[Classification, float]:
        """Return the label or value of the most probable choice, and its probability."""
        row = int(probs.argmax())
        return self.label_at(row), float(probs[row])


def independent_probs(words: TokenBounds, choices: Sequence[Bounds]) -> ChoiceProbs:
    """Return the probability of the choice from the best start to the best end, 0 for the others.

    Both are taken from all words, each by itself (equation 7), so that what is extracted may be no
    choice at all.
    """
    start, end = (int(row) for row in words.argmax(0))
    weights = np.exp(words.astype(np.float64) - words.max(0))
    prob = float(1 / weights.sum(0).prod())
    return tuple(prob if (start, end + 1) == choice else 0.0 for choice in choices)


def merge_vocabularies(collected: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return an empty vocabulary: answers are in the text, so any tasks can share the head."""
    return {}


def cls_vectors(vectors: HeadInputs) -> Float[Tensor, "instance dim"]:
    """Return the "[CLS]" vectors of the instances; the readers of these tasks request them."""
    assert vectors.cls_vectors is not None, "no [CLS] vectors: the reader must set wants_cls"
    return vectors.cls_vectors


def collate_answers(
    instances: Sequence[Instance], right: Iterable[Sequence[Bounds] | None]
) -> AnswerTargets:
    """Return the right answers in the words of a batch, and "no answer" after them.

    ``right`` has, per instance, the bounds of all right answers in its words, none for "no answer";
    None if the answer is unknown.
    """
    bases = list(accumulate((len(instance.tokens) for instance in instances), initial=0))
    rows: list[tuple[int, int, int]] = []
    for number, (base, bounds) in enumerate(zip(bases, right, strict=False)):
        if bounds is None:
            continue
        none = bases[-1] + number
        rows += [(base + a, base + b - 1, number) for a, b in dict.fromkeys(bounds)] or [
            (none, none, number)
        ]
    return torch.tensor(rows, dtype=torch.long).view(-1, 3)


def iter_scores(
    head: StartEndScorer, vectors: HeadInputs, instances: Sequence[Instance]
) -> Iterator[tuple[TokenBounds, TokenBounds]]:
    """Yield the scores of each instance's words, and those of its "no answer" as one row."""
    scores = head(vectors.word_vectors, cls_vectors(vectors)).detach().cpu().numpy()
    bases = list(accumulate((len(instance.tokens) for instance in instances), initial=0))
    for none, (a, b) in enumerate(zip(bases, bases[1:], strict=False), bases[-1]):
        yield scores[a:b], scores[none : none + 1]
