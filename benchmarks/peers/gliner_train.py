"""GLiNER from the bare encoder: spans are matched with the names of labels, read before the text.

    python benchmarks/peers/gliner_train.py WORK/wnut17 -o WORK/gliner-wnut17

Nothing but the encoder is pretrained, so this is GLiNER's architecture, not its published models.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import torch
from best_epoch import BestEpoch
from exchange import Sentence, f1, minilm
from gliner import GLiNER, GLiNERConfig  # type: ignore[import-not-found]
from gliner.training import Trainer, TrainingArguments  # type: ignore[import-not-found]
from precision import mixed
from tries import Data, Settings, Trained, parser, run

# Of GLiNER's own configuration for a start from an encoder: the rate of all else by the encoder's,
# the share of steps that warm up, and the focal loss of its examples of fine-tuning.
OTHERS_RATE, WARMUP = 5.0, 0.1
ALPHA, GAMMA = 0.75, 2.0
AT_ONCE = 32  # sentences annotated at once
_RUN = re.compile(r"[^ ]+")


def blank_words(text: str) -> Iterator[tuple[str, int, int]]:
    """Split at blanks alone, in the place of GLiNER's own tokenizer: the words are given."""
    for match in _RUN.finditer(text):
        yield match.group(), match.start(), match.end()


def sample(sentence: Sentence, labels: Sequence[str]) -> dict[str, Any]:
    """Return what GLiNER trains on; last words are inclusive, all labels are asked for."""
    spans = [[start, end - 1, label] for start, end, label in sentence.spans or ()]
    return {"tokenized_text": _plain(sentence), "ner": spans, "ner_labels": list(labels)}


def _plain(sentence: Sentence) -> list[str]:
    """Words without blanks inside, so that they can be joined by blanks."""
    return [each.replace(" ", "_") for each in sentence.words]


class Annotator:
    """A model, words in, spans out."""

    def __init__(self, model: GLiNER, labels: Sequence[str], *, bf16: bool) -> None:
        """Words are those given."""
        self.model = model
        self.labels = list(labels)
        self.bf16 = bf16
        model.data_processor.words_splitter = blank_words

    def __call__(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Annotate sentences, those of like length together."""
        order = sorted(range(len(sentences)), key=lambda row: len(sentences[row].words))
        texts = [" ".join(_plain(sentences[row])) for row in order]
        with mixed(bf16=self.bf16):
            found = self.model.inference(texts, self.labels, batch_size=AT_ONCE)
        said = dict(zip(order, found, strict=True))
        return [_said(each, said[row]) for row, each in enumerate(sentences)]


def _said(sentence: Sentence, found: Sequence[dict[str, Any]]) -> Sentence:
    """The sentence with its spans, found by character."""
    ends = list(accumulate(len(each) + 1 for each in sentence.words))
    starts = {
        end - len(each) - 1: row
        for row, (each, end) in enumerate(zip(sentence.words, ends, strict=True))
    }
    last = {end - 1: row + 1 for row, end in enumerate(ends)}
    spans = tuple((starts[x["start"]], last[x["end"]], x["label"]) for x in found)
    return replace(sentence, spans=spans)


def train(data: Data, settings: Settings) -> Trained:
    """Train with GLiNER's Trainer, all labels asked of every sentence."""
    torch.set_num_threads(1)
    torch.manual_seed(settings.seed)
    labels = sorted({label for each in data.train for _, _, label in each.spans or ()})
    config = GLiNERConfig(model_name=minilm(), max_types=len(labels))
    model = GLiNER.from_config(config)
    annotate = Annotator(model, labels, bf16=settings.bf16)
    watch = BestEpoch(model, lambda: f1(data.dev, annotate(data.dev)))
    arguments = TrainingArguments(
        str(data.scratch / "trainer"),
        learning_rate=settings.rate,
        others_lr=OTHERS_RATE * settings.rate,
        per_device_train_batch_size=settings.batch,
        num_train_epochs=settings.epochs,
        warmup_ratio=WARMUP,
        focal_loss_alpha=ALPHA,
        focal_loss_gamma=GAMMA,
        masking="none",
        bf16=settings.bf16,
        use_cpu=True,
        seed=settings.seed,
        save_strategy="no",
        report_to="none",
        logging_strategy="no",
        disable_tqdm=True,
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=[sample(each, labels) for each in data.train],
        processing_class=model.data_processor.transformer_tokenizer,
        data_collator=model._create_data_collator(),
        callbacks=[watch],
    )
    trainer.train()
    watch.restore()
    return Trained(annotate, watch.best, watch.epoch)


if __name__ == "__main__":
    asked = parser(__doc__, rates=(5e-5, 2e-4), epochs=5, batch=8).parse_args()
    packages = ("torch", "transformers", "gliner")
    said = {"warmup": WARMUP, "others_rate": OTHERS_RATE, "focal": [ALPHA, GAMMA]}
    run(asked, "gliner", train, packages, said)
