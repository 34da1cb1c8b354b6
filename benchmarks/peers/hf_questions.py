"""Hugging Face question answering: a start and an end vector on the encoder, as its examples do it.

    spanloom convert DATA/squad11-dev/train train.json --to squad     # and dev.json, test.json
    python benchmarks/peers/hf_questions.py SQUAD -o WORK/hf_questions --epochs 2
    spanloom score SQUAD/test.json WORK/hf_questions/test.json --metric squad-v1.1

SQUAD is the folder of the three files. ``--updates`` trains for as many steps as a row of
``spanloom study run`` says, instead of epochs. A question comes first, its paragraph in windows
that overlap; the best span of all windows is the answer, of 30 words at most.
"""

import argparse
import json
import re
import string
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from exchange import Record, Seconds, minilm, versions, write_record
from precision import mixed
from tries import Trained, try_rates

WINDOW, STRIDE, LONGEST = 384, 128, 30  # pieces, pieces, words of an answer
AT_ONCE = 16  # windows annotated at once


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a paragraph, and its right answers: character offset and text."""

    id: str
    text: str
    context: str
    answers: tuple[tuple[int, str], ...]


def read(path: Path) -> list[Question]:
    """Read the questions of a file of SQuAD."""
    data = json.loads(path.read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in data for paragraph in article["paragraphs"]]
    return [
        Question(
            qa["id"],
            qa["question"],
            paragraph["context"],
            tuple((answer["answer_start"], answer["text"]) for answer in qa["answers"]),
        )
        for paragraph in paragraphs
        for qa in paragraph["qas"]
    ]


def windows(question: Question, tokenizer: Any) -> Iterator[tuple[dict[str, list[int]], list[Any]]]:
    """Yield what the encoder reads, window by window, and the bounds of the paragraph's pieces."""
    cut = tokenizer(
        question.text,
        question.context,
        truncation="only_second",
        max_length=WINDOW,
        stride=STRIDE,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    for row in range(len(cut["input_ids"])):
        kinds = cut.sequence_ids(row)
        offsets = [
            bounds if kind == 1 else None
            for bounds, kind in zip(cut["offset_mapping"][row], kinds, strict=True)
        ]
        keys = [key for key in ("input_ids", "token_type_ids", "attention_mask") if key in cut]
        yield {key: cut[key][row] for key in keys}, offsets


def target(offsets: Sequence[Any], start: int, end: int) -> tuple[int, int]:
    """Return the first and last piece of an answer; [CLS] twice where the window lacks it."""
    inside = [
        row
        for row, bounds in enumerate(offsets)
        if bounds is not None and bounds[0] < end and start < bounds[1]
    ]
    if not inside or offsets[inside[0]][0] > start or offsets[inside[-1]][1] < end:
        return 0, 0
    return inside[0], inside[-1]


def best_span(
    question: Question, scored: Iterable[tuple[Sequence[Any], np.ndarray, np.ndarray]]
) -> str:
    """Return the text of the best span of all windows; "" without any."""
    best, text = -np.inf, ""
    for offsets, starts, ends in scored:
        rows = [row for row, bounds in enumerate(offsets) if bounds is not None]
        for first in sorted(rows, key=lambda row: -starts[row])[:20]:
            for last in sorted(rows, key=lambda row: -ends[row])[:20]:
                score = starts[first] + ends[last]
                if last < first or score <= best:
                    continue
                span = question.context[offsets[first][0] : offsets[last][1]]
                if len(span.split()) <= LONGEST:
                    best, text = score, span
    return text


def exact_and_f1(questions: Sequence[Question], said: dict[str, str]) -> tuple[float, float]:
    """Return exact match and F1 as SQuAD's program does, from 0 to 100."""
    exact, f1 = 0.0, 0.0
    for question in questions:
        pairs = [_compare(right, said[question.id]) for _, right in question.answers]
        exact += max((pair[0] for pair in pairs), default=0.0)
        f1 += max((pair[1] for pair in pairs), default=0.0)
    return 100 * exact / len(questions), 100 * f1 / len(questions)


def _compare(right: str, said: str) -> tuple[float, float]:
    a, b = (_normal(text).split() for text in (right, said))
    shared = sum((Counter(a) & Counter(b)).values())
    return float(a == b), 2 * shared / (len(a) + len(b)) if a or b else 1.0


def _normal(text: str) -> str:
    bare = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", bare)


class Reader:
    """The encoder with its question-answering head."""

    def __init__(self, *, bf16: bool) -> None:
        """The head starts at random."""
        from transformers import AutoModelForQuestionAnswering, AutoTokenizer

        self.bf16 = bf16
        self.tokenizer = AutoTokenizer.from_pretrained(minilm())
        self.model = AutoModelForQuestionAnswering.from_pretrained(minilm(), dtype=torch.float32)

    def features(self, questions: Iterable[Question]) -> list[dict[str, Any]]:
        """Return a training example per window; the first right answer is learnt."""
        made = []
        for question in questions:
            start, text = question.answers[0] if question.answers else (-1, "")
            for inputs, offsets in windows(question, self.tokenizer):
                first, last = target(offsets, start, start + len(text)) if text else (0, 0)
                made.append({**inputs, "start_positions": first, "end_positions": last})
        return made

    def __call__(self, questions: Sequence[Question]) -> dict[str, str]:
        """Return the answer to each question, by its id; windows of like length together."""
        self.model.eval()
        cut = [
            (row, inputs, offsets)
            for row, question in enumerate(questions)
            for inputs, offsets in windows(question, self.tokenizer)
        ]
        cut.sort(key=lambda window: len(window[1]["input_ids"]))
        scored = defaultdict(list)
        for begin in range(0, len(cut), AT_ONCE):
            group = cut[begin : begin + AT_ONCE]
            batch = self.tokenizer.pad([inputs for _, inputs, _ in group], return_tensors="pt")
            device = self.model.device
            with torch.inference_mode(), mixed(bf16=self.bf16, device=device.type):
                out = self.model(**batch.to(device))
            logits = zip(out.start_logits.float().cpu(), out.end_logits.float().cpu(), strict=True)
            for (row, _, offsets), (starts, ends) in zip(group, logits, strict=True):
                scored[row].append((offsets, starts.numpy(), ends.numpy()))
        return {
            question.id: best_span(question, scored[row]) for row, question in enumerate(questions)
        }


def train(chosen: argparse.Namespace, rate: float) -> Trained[Reader]:
    """Fine-tune with the Trainer's defaults; return the reader of the best epoch."""
    from fine_tuning import fine_tune
    from transformers import DataCollatorWithPadding

    torch.set_num_threads(1)
    torch.manual_seed(chosen.seed)
    reader = Reader(bf16=chosen.bf16)
    dev = read(chosen.data / "dev.json")
    watch = fine_tune(
        reader.model,
        reader.features(read(chosen.data / "train.json")),
        DataCollatorWithPadding(reader.tokenizer),
        lambda: exact_and_f1(dev, reader(dev))[1],
        chosen.out,
        learning_rate=rate,
        per_device_train_batch_size=chosen.batch,
        num_train_epochs=chosen.epochs,
        max_steps=chosen.updates or -1,
        bf16=chosen.bf16,
        seed=chosen.seed,
        use_cpu=not torch.cuda.is_available(),
    )
    return Trained(reader, watch.best, watch.epoch)


def main() -> None:
    """Train at each rate, answer test with the best, write answers and a record."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=Path, help="folder with train, dev and test.json")
    arguments.add_argument("-o", "--out", type=Path, required=True)
    arguments.add_argument("--rates", type=float, nargs="+", default=[1e-4, 3e-4])
    arguments.add_argument("--epochs", type=float, default=2)
    arguments.add_argument("--updates", type=int, default=0, help="steps; 0: by epochs")
    arguments.add_argument("--batch", type=int, default=16)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--bf16", action="store_true", help="multiply in bf16 (autocast)")
    chosen = arguments.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    tries = try_rates("hf_questions", chosen.rates, partial(train, chosen))
    test = read(chosen.data / "test.json")
    seconds = Seconds()
    with seconds.counted():
        said = tries.best.annotate(test)
    (chosen.out / "test.json").write_text(json.dumps(said), encoding="utf-8")
    exact, f1 = exact_and_f1(test, said)
    print(f"test: exact match {exact:.2f}, F1 {f1:.2f}")
    figures = {"exact_match": exact, "f1": f1}
    device = tries.best.annotate.model.device.type
    words = sum(len(question.context.split()) for question in test)
    settings = {name: getattr(chosen, name) for name in ("epochs", "updates", "batch", "bf16")}
    record = Record(
        peer="hf_questions",
        seed=chosen.seed,
        train_minutes=tries.winner["minutes"],
        words_per_second=round(words / max(seconds.taken, 1e-6), 1),
        settings={
            **settings,
            "device": device,
            "rate": tries.winner["rate"],
            "test": figures,
        },
        tries=tries.rows,
        versions=versions("torch", "transformers", "accelerate"),
    )
    write_record(record, chosen.out / "record.json")


if __name__ == "__main__":
    main()
