"""Speed of training HMTL's hierarchy beside bare PyTorch modules of the same sizes, in one run.

    python benchmarks/hierarchy.py [--updates 40] [--json FILE]

One thread, one batch of made sentences per update, words a second of CPU time, the median of runs
taken in turn. Ours is the training loop's own update: forward, loss, backward, clipping, Adam. The
bare side has nn.Embedding, nn.Conv1d, nn.LSTM and nn.Linear of the same sizes over the same words,
padded. Both learn tags by cross-entropy, without a CRF, which torch does not have. The goal is a
ratio of at least 0.8.
"""

import argparse
import json
import platform
import random
import statistics
import tempfile
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spanloom.config import recipe as recipes
from spanloom.model.plan import resolve
from spanloom.training.distributed import ProcessGroup
from spanloom.training.loop import METRICS, Run, StageTrainer
from spanloom.training.metrics_log import MetricsLog
from spanloom.training.progress_line import LogIntervals
from spanloom.training.train import new_model

VOCABULARY, DIM, HIDDEN, LEVELS, TAGS = 2000, 100, 64, 2, 4
BATCH_WORDS, WORDS, CHARACTERS, FILTERS = 384, 16, 16, 64
RECIPE = """
trunk:
  - {static: vectors.txt, trainable: true}
  - {characters: cnn, embedding_dim: 16, num_filters: 64, ngram_sizes: [3]}
levels:
  - {name: entities, rnn: lstm, hidden_size: 64, inputs: [trunk], scope: sentence, dropout: 0.2}
  - {name: mentions, rnn: lstm, hidden_size: 64, inputs: [trunk, entities], dropout: 0.2}
tasks:
  emd: {data: corpus, kind: sequence_tagging, level: mentions, scheme: BIO, crf: false}
stages:
  - {tasks: [emd], batch_words: 384, epochs: 1, lr: {encoder: 1e-3, task: 1e-3}, precision: fp32}
embedding_dropout: 0.2
"""


def sentences(count: int) -> list[list[str]]:
    """Return made sentences of equal length; words have three to nine letters."""
    rng = random.Random(0)
    letters = "etaoinshrdlucmfwypvbgk"
    words = ["".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(VOCABULARY)]
    return [rng.choices(words, k=WORDS) for _ in range(count)]


def write(folder: Path, made: list[list[str]]) -> None:
    """Write a corpus whose every fifth word is a span, and vectors of all words."""
    for split, part in (("train", made), ("dev", made[:4])):
        (folder / "corpus" / split).mkdir(parents=True)
        for number, words in enumerate(part):
            ends = [len(" ".join(words[: n + 1])) for n in range(len(words))]
            spans = [
                f"T{n}\tX {ends[n] - len(words[n])} {ends[n]}\t{words[n]}"
                for n in range(0, len(words), 5)
            ]
            path = folder / "corpus" / split / f"{split}{number}"
            path.with_suffix(".txt").write_text(" ".join(words) + "\n", "utf-8")
            path.with_suffix(".ann").write_text("\n".join(spans) + "\n", "utf-8")
    rng = random.Random(1)
    lines = (
        f"{word} {' '.join(f'{rng.gauss(0, 0.3):.3f}' for _ in range(DIM))}"
        for word in sorted({word for words in made for word in words})
    )
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "recipe.yaml").write_text(RECIPE, "utf-8")


class Bare(nn.Module):
    """The same sizes in plain modules."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, DIM)
        self.letters = nn.Embedding(64, CHARACTERS)
        self.filters = nn.Conv1d(CHARACTERS, FILTERS, 3)
        trunk = DIM + FILTERS
        self.low = nn.LSTM(trunk, HIDDEN, batch_first=True, bidirectional=True)
        self.high = nn.LSTM(trunk + 2 * HIDDEN, HIDDEN, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(2 * HIDDEN, TAGS)

    def forward(self, words: Tensor, letters: Tensor) -> Tensor:
        """Return scores of tags (sentence, word, tag)."""
        spelled = self.letters(letters).flatten(0, 1).transpose(1, 2)
        read = self.filters(spelled).amax(-1).relu().view(*words.shape, -1)
        trunk = F.dropout(torch.cat([self.words(words), read], -1), 0.2)
        low, _ = self.low(F.dropout(trunk, 0.2))
        high, _ = self.high(F.dropout(torch.cat([trunk, low], -1), 0.2))
        scores: Tensor = self.tags(high)
        return scores


def main() -> None:
    """Time both sides in turn, and print or write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    per_update = BATCH_WORDS // WORDS
    made = sentences(per_update * options.updates)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, made)
        model, prepared = new_model(resolve(recipes.load(folder / "recipe.yaml"), folder), "cpu")
        (folder / "run").mkdir()
        log = MetricsLog(folder / "run" / METRICS, lambda line: None, active=True)
        run = Run(model, prepared, folder / "run", ProcessGroup("cpu"), log)
        stage = StageTrainer(run, run.recipe.stages[0])
        updates = stage.draw_epoch()
        run.progress.warmup_share = 0.0
        bare = Bare()
        optimizer = torch.optim.Adam(bare.parameters(), lr=1e-3, fused=True)
        words = torch.randint(VOCABULARY, (per_update, WORDS))
        letters, gold = torch.randint(64, (per_update, WORDS, 8)), torch.randint(TAGS, words.shape)

        def ours() -> int:
            for update in updates:
                stage.update(update, LogIntervals())
            return sum(len(i.tokens) for update in updates for b in update for i in b.instances)

        def theirs() -> int:
            for _ in updates:
                optimizer.zero_grad(set_to_none=True)
                F.cross_entropy(bare(words, letters).flatten(0, 1), gold.flatten()).backward()
                nn.utils.clip_grad_norm_(bare.parameters(), 5.0)
                optimizer.step()
            return len(updates) * words.numel()

        speeds: dict[str, list[float]] = {"spanloom": [], "torch": []}
        for _ in range(1 + options.repeat):  # the first round warms up
            for side, work in (("spanloom", ours), ("torch", theirs)):
                start = time.process_time()
                speeds[side].append(work() / (time.process_time() - start))
    medians = {side: round(statistics.median(each[1:]), 1) for side, each in speeds.items()}
    result = {
        "words_per_cpu_second": medians,
        "ratio": round(medians["spanloom"] / medians["torch"], 3),
        "torch": torch.__version__,
        "processor": platform.processor() or platform.machine(),
    }
    text = json.dumps(result, indent=1) + "\n"
    print(text, end="")
    if options.json is not None:
        options.json.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
