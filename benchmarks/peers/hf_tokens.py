"""Hugging Face token classification: a linear layer on the encoder, as its examples do it.

    python benchmarks/peers/hf_tokens.py WORK/ewt -o WORK/hf_tokens-ewt

A word's first piece bears its tag: parts of speech where the data has tags, else B-, I- and O of
its spans.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import torch
from exchange import Sentence, accuracy, bio, f1, minilm, unbio
from fine_tuning import fine_tune
from precision import mixed
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
)
from tries import Annotate, Data, Settings, Trained, parser, run, tagged

UNSEEN = -100  # the label that the loss passes over
AT_ONCE = 32  # sentences annotated at once, of like length


def tags_of(sentence: Sentence) -> Sequence[str]:
    """The tags that a sentence has, or that its spans make."""
    if sentence.tags is not None:
        return sentence.tags
    return bio(len(sentence.words), sentence.spans or ())


class Tagger:
    """The encoder with its linear layer, words in, tags out."""

    def __init__(self, train: Sequence[Sentence], *, bf16: bool) -> None:
        """Labels are those of train."""
        self.labels = sorted(set(chain.from_iterable(map(tags_of, train))))
        self.spans = train[0].tags is None
        self.bf16 = bf16
        self.tokenizer = AutoTokenizer.from_pretrained(minilm())
        self.model = AutoModelForTokenClassification.from_pretrained(
            minilm(), num_labels=len(self.labels), dtype=torch.float32
        )

    def features(self, sentence: Sentence) -> dict[str, list[int]]:
        """Pieces, and the label of each word's first piece."""
        known = {label: row for row, label in enumerate(self.labels)}
        cut = self._cut([sentence])
        words, tags = cut.word_ids(0), tags_of(sentence)
        first = [a is not None and a != b for a, b in zip(words, [None, *words], strict=False)]
        return {
            "input_ids": cut["input_ids"][0],
            "attention_mask": cut["attention_mask"][0],
            "labels": [
                known[tags[word]] if start else UNSEEN
                for word, start in zip(words, first, strict=True)
            ],
        }

    def __call__(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Annotate sentences, those of like length together."""
        self.model.eval()
        order = sorted(range(len(sentences)), key=lambda row: len(sentences[row].words))
        found: dict[int, Sentence] = {}
        for start in range(0, len(order), AT_ONCE):
            rows = order[start : start + AT_ONCE]
            group = [sentences[row] for row in rows]
            found |= zip(rows, self._annotated(group), strict=True)
        return [found[row] for row in range(len(sentences))]

    def _annotated(self, group: Sequence[Sentence]) -> list[Sentence]:
        cut = self._cut(group)
        batch = cut.convert_to_tensors("pt", prepend_batch_axis=False)
        with torch.inference_mode(), mixed(bf16=self.bf16):
            best = self.model(**batch).logits.argmax(-1).tolist()
        return [self._said(each, cut.word_ids(row), best[row]) for row, each in enumerate(group)]

    def _said(
        self, sentence: Sentence, words: Sequence[int | None], best: Sequence[int]
    ) -> Sentence:
        """The sentence with the label of each word's first piece, where it has one."""
        tags = [""] * len(sentence.words)
        for word, label in reversed(list(zip(words, best, strict=True))):
            if word is not None:
                tags[word] = self.labels[label]
        said = tagged(sentence, tags)
        return replace(said, tags=None, spans=tuple(unbio(said.tags or ()))) if self.spans else said

    def _cut(self, group: Sequence[Sentence]) -> Any:
        return self.tokenizer(
            [list(each.words) for each in group],
            is_split_into_words=True,
            truncation=True,
            padding=len(group) > 1,
        )


def train(data: Data, settings: Settings) -> Trained[Annotate]:
    """Fine-tune with the Trainer's defaults: AdamW, linear decay."""
    torch.set_num_threads(1)
    torch.manual_seed(settings.seed)
    tagger = Tagger(data.train, bf16=settings.bf16)
    figure = f1 if tagger.spans else accuracy
    watch = fine_tune(
        tagger.model,
        [tagger.features(each) for each in data.train],
        DataCollatorForTokenClassification(tagger.tokenizer),
        lambda: figure(data.dev, tagger(data.dev)),
        data.scratch,
        learning_rate=settings.rate,
        per_device_train_batch_size=settings.batch,
        num_train_epochs=settings.epochs,
        bf16=settings.bf16,
        seed=settings.seed,
    )
    return Trained(tagger, watch.best, watch.epoch)


if __name__ == "__main__":
    asked = parser(__doc__, rates=(5e-5, 2e-4, 5e-4), epochs=5, batch=8).parse_args()
    run(asked, "hf_tokens", train, ("torch", "transformers", "accelerate"), {})
