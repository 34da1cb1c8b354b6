"""Hugging Face text classification: a pooler and a linear layer on the first token of the encoder.

    python benchmarks/peers/hf_classes.py DATA/cola label -o WORK/hf_classes --epochs 5

DATA/cola is what ``spanloom glad prepare`` made: brat folders train, dev and test, whose layer
(here label) is over a text, or between the two texts of a pair. As many rates are tried as for
ours; the best epoch is kept, by Matthews' correlation on dev or by accuracy.
"""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from exchange import Record, Seconds, minilm, versions, write_record
from precision import mixed
from sklearn.metrics import accuracy_score, matthews_corrcoef
from tries import Trained, try_rates

WINDOW = 128  # pieces
AT_ONCE = 64  # texts classified at once
METRICS = {"mcc": matthews_corrcoef, "accuracy": accuracy_score}


@dataclass(frozen=True, slots=True)
class Example:
    """A text, or two, and its class."""

    texts: tuple[str, ...]
    label: str


def read(folder: Path, layer: str) -> list[Example]:
    """Read the texts of a brat folder and their classes."""
    examples = []
    for path in sorted(folder.glob("*.ann")):
        text = path.with_suffix(".txt").read_text(encoding="utf-8")
        annotations = path.read_text(encoding="utf-8")
        parts = re.findall(r"^T\d+\tparts__part (\d+) (\d+)\t", annotations, re.MULTILINE)
        classes = re.findall(rf"^[TR]\d+\t{layer}__(\S+) ", annotations, re.MULTILINE)
        if len(classes) == 1:
            bounds = [(int(start), int(end)) for start, end in parts] or [(0, len(text))]
            examples.append(Example(tuple(text[a:b] for a, b in bounds), classes[0]))
    return examples


class Classifier:
    """The encoder with a classification head of these labels."""

    def __init__(self, labels: Sequence[str], *, bf16: bool) -> None:
        """The last layer starts at random."""
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        self.labels, self.bf16 = list(labels), bf16
        self.tokenizer = AutoTokenizer.from_pretrained(minilm())
        self.model = AutoModelForSequenceClassification.from_pretrained(
            minilm(), dtype=torch.float32, num_labels=len(self.labels)
        )

    def features(self, examples: Sequence[Example]) -> list[dict[str, Any]]:
        """Return what the encoder reads of each example, with its class."""
        return [
            {
                **self.tokenizer(*example.texts, truncation=True, max_length=WINDOW),
                "labels": self.labels.index(example.label),
            }
            for example in examples
        ]

    def __call__(self, examples: Sequence[Example]) -> list[str]:
        """Return the class of each example."""
        self.model.eval()
        chosen: list[str] = []
        features = self.features(examples)
        for begin in range(0, len(features), AT_ONCE):
            batch = self.tokenizer.pad(features[begin : begin + AT_ONCE], return_tensors="pt")
            with torch.inference_mode(), mixed(bf16=self.bf16):
                logits = self.model(**batch).logits
            chosen += [self.labels[row] for row in logits.argmax(1).tolist()]
        return chosen


def train(chosen: argparse.Namespace, rate: float) -> Trained[Classifier]:
    """Fine-tune with the Trainer's defaults; return the classifier of the best epoch."""
    from fine_tuning import fine_tune
    from transformers import DataCollatorWithPadding

    torch.set_num_threads(1)
    torch.manual_seed(chosen.seed)
    examples, dev = (read(chosen.data / split, chosen.layer) for split in ("train", "dev"))
    classifier = Classifier(sorted({each.label for each in examples}), bf16=chosen.bf16)
    gold, metric = [each.label for each in dev], METRICS[chosen.metric]
    watch = fine_tune(
        classifier.model,
        classifier.features(examples),
        DataCollatorWithPadding(classifier.tokenizer),
        lambda: float(metric(gold, classifier(dev))),
        chosen.out,
        learning_rate=rate,
        per_device_train_batch_size=chosen.batch,
        num_train_epochs=chosen.epochs,
        bf16=chosen.bf16,
        seed=chosen.seed,
    )
    return Trained(classifier, watch.best, watch.epoch)


def main() -> None:
    """Train at each rate, classify test with the best, write a record."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=Path, help="folder with train, dev and test")
    arguments.add_argument("layer", help="the layer of the classes")
    arguments.add_argument("-o", "--out", type=Path, required=True)
    arguments.add_argument("--rates", type=float, nargs="+", default=[2e-5, 5e-5, 1e-4, 2e-4])
    arguments.add_argument("--metric", choices=METRICS, default="mcc")
    arguments.add_argument("--epochs", type=float, default=5)
    arguments.add_argument("--batch", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--bf16", action="store_true", help="multiply in bf16 (autocast)")
    chosen = arguments.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    tries = try_rates("hf_classes", chosen.rates, partial(train, chosen))
    test = read(chosen.data / "test", chosen.layer)
    seconds = Seconds()
    with seconds.counted():
        classes = tries.best.annotate(test)
    gold = [each.label for each in test]
    figures = {name: float(metric(gold, classes)) for name, metric in METRICS.items()}
    print("test:", ", ".join(f"{name} {100 * figure:.2f}" for name, figure in figures.items()))
    words = sum(len(text.split()) for each in test for text in each.texts)
    settings = {name: getattr(chosen, name) for name in ("metric", "epochs", "batch", "bf16")}
    record = Record(
        peer="hf_classes",
        seed=chosen.seed,
        train_minutes=tries.winner["minutes"],
        words_per_second=round(words / max(seconds.taken, 1e-6), 1),
        settings={**settings, "rate": tries.winner["rate"], "test": figures},
        tries=tries.rows,
        versions=versions("torch", "transformers", "accelerate"),
    )
    write_record(record, chosen.out / "record.json")


if __name__ == "__main__":
    main()
