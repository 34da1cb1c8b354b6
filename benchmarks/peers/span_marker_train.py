"""SpanMarker (tomaarsen) on spans: each candidate span is a pair of markers behind the sentence.

    python benchmarks/peers/span_marker_train.py WORK/wnut17 -o WORK/span_marker-wnut17

Candidates are up to eight words wide, its default; spans that overlap cannot be learnt.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import torch
from best_epoch import BestEpoch
from datasets import (  # type: ignore[import-not-found]
    Dataset,
    disable_caching,
    disable_progress_bars,
)
from exchange import OUTSIDE, Sentence, bio, f1, minilm
from precision import mixed
from span_marker import SpanMarkerModel, Trainer  # type: ignore[import-not-found]
from transformers import TrainingArguments
from tries import Data, Settings, Trained, parser, run

WARMUP = 0.1  # of all steps, as its model cards have it
AT_ONCE = 32  # samples annotated at once
# Every sample is padded to LENGTH + 2 * MARKERS pieces: half as many as of 256 and 128, the usual
# choice, which one core needs far longer for.
LENGTH, MARKERS = 128, 64


def labels_of(train: Sequence[Sentence]) -> list[str]:
    """O, then B- and I- of each label of train."""
    found = sorted({label for each in train for _, _, label in each.spans or ()})
    return [OUTSIDE, *chain.from_iterable((f"B-{each}", f"I-{each}") for each in found)]


def dataset(train: Sequence[Sentence], labels: Sequence[str]) -> Dataset:
    """Return words and tags by number, as SpanMarker reads them."""
    known = {label: row for row, label in enumerate(labels)}
    tags = [[known[tag] for tag in bio(len(each.words), each.spans or ())] for each in train]
    return Dataset.from_dict({"tokens": [list(each.words) for each in train], "ner_tags": tags})


class Annotator:
    """A trained model, words in, spans out."""

    def __init__(self, model: SpanMarkerModel, *, bf16: bool) -> None:
        """Annotate in bf16 or fp32."""
        self.model = model
        self.bf16 = bf16

    def __call__(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Annotate sentences, those of like length together."""
        order = sorted(range(len(sentences)), key=lambda row: len(sentences[row].words))
        with mixed(bf16=self.bf16):
            found = self.model.predict([list(sentences[row].words) for row in order], AT_ONCE)
        spans = {
            row: tuple((x["word_start_index"], x["word_end_index"], x["label"]) for x in said)
            for row, said in zip(order, found, strict=True)
        }
        return [replace(each, spans=spans[row]) for row, each in enumerate(sentences)]


def train(data: Data, settings: Settings) -> Trained:
    """Fine-tune with SpanMarker's Trainer."""
    torch.set_num_threads(1)
    torch.manual_seed(settings.seed)
    disable_caching()
    disable_progress_bars()
    labels = labels_of(data.train)
    model = SpanMarkerModel.from_pretrained(
        minilm(), labels=labels, model_max_length=LENGTH, marker_max_length=MARKERS
    )
    annotate = Annotator(model, bf16=settings.bf16)
    watch = BestEpoch(model, lambda: f1(data.dev, annotate(data.dev)))
    arguments = TrainingArguments(
        str(data.scratch / "trainer"),
        learning_rate=settings.rate,
        per_device_train_batch_size=settings.batch,
        num_train_epochs=settings.epochs,
        warmup_ratio=WARMUP,  # type: ignore[call-arg]  # of transformers 4
        bf16=settings.bf16,
        use_cpu=True,
        seed=settings.seed,
        save_strategy="no",
        report_to="none",
        logging_strategy="no",
        disable_tqdm=True,
    )
    Trainer(model, arguments, dataset(data.train, labels), callbacks=[watch]).train()
    watch.restore()
    return Trained(annotate, watch.best, watch.epoch)


if __name__ == "__main__":
    asked = parser(__doc__, rates=(5e-5, 2e-4), epochs=3, batch=8).parse_args()
    packages = ("torch", "transformers", "span-marker")
    said = {"warmup": WARMUP, "length": LENGTH, "markers": MARKERS}
    run(asked, "span_marker", train, packages, said)
