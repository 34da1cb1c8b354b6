"""Speed of training the joint tagger of Changpinyo et al. (2018), beside bare PyTorch modules.

    python benchmarks/tagging_speed.py DATA [--updates 20] [--tasks upos chunk ...] [--json FILE]

Both train on the same sentences, taken in turn in one process on one thread, and both have the
same sizes: embeddings of words (50) and characters (25), a character biGRU and a word biGRU of two
layers each, a linear layer and a CRF per task, Adam, gradients cut at 5. Ours is the update of the
training loop with all it does: batches made of documents, the embedders, the CRF. The bare modules
get tensors that were made before the clock starts. Their recurrent layers read packed sequences
(``pack_padded_sequence``), each distinct word of a batch is spelt once, and their CRF is the
forward algorithm as a loop over the words of padded sentences; ``bare_without_crf`` has
cross-entropy in its place. These read each task's sentences by themselves; ``bare_in_one_pass``
reads the sentences of all tasks at once, as ours does, and has cross-entropy, too. Seconds are of
the processor, so that other work counts less.
"""

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from spanloom.config import recipe as recipes
from spanloom.model.plan import resolve
from spanloom.training.batch_schedule import TrainBatch, Update
from spanloom.training.distributed import ProcessGroup
from spanloom.training.loop import METRICS, Run, StageTrainer
from spanloom.training.metrics_log import MetricsLog
from spanloom.training.progress_line import LogIntervals
from spanloom.training.train import new_model

RECIPE = Path("recipes/papers/mtl-tagging-changpinyo2018/joint.yaml")
_QUIET = LogIntervals(checkpoint=1e9, log=10**9)


class BareTagger(nn.Module):
    """The modules of the paper, one linear layer and one table of transitions per task."""

    def __init__(self, tags: dict[str, int], num_words: int) -> None:
        """``tags`` are the numbers of tags by task; ``num_words`` vectors are as many as ours."""
        super().__init__()
        self.words = nn.Embedding(num_words, 50)
        self.characters = nn.Embedding(256, 25)
        shape = {"batch_first": True, "bidirectional": True, "num_layers": 2}
        self.spelling = nn.GRU(25, 25, dropout=0.25, **shape)
        self.context = nn.GRU(100, 300, dropout=0.5, **shape)
        self.outputs = nn.ModuleDict({task: nn.Linear(600, size) for task, size in tags.items()})
        self.transitions = nn.ParameterDict(
            {task: nn.Parameter(torch.zeros(size + 2, size)) for task, size in tags.items()}
        )

    def forward(self, batch: "BareBatch") -> Tensor:
        """Return emissions (sentence, word, tag)."""
        emissions: Tensor = self.outputs[batch.task](self.read(batch))
        return emissions

    def read(self, batch: "BareBatch") -> Tensor:
        """Return the vectors that outputs read (sentence, word, 600)."""
        packed = pack_padded_sequence(
            self.characters(batch.spellings), batch.spelling_lengths, True, enforce_sorted=False
        )
        _, states = self.spelling(packed)
        spelt = torch.cat((states[-2], states[-1]), dim=1)[batch.word_rows]
        vectors = torch.cat((self.words(batch.words), spelt), dim=2)
        read = pack_padded_sequence(vectors, batch.lengths, True, enforce_sorted=False)
        context: Tensor = pad_packed_sequence(self.context(read)[0], batch_first=True)[0]
        return context


@dataclass(frozen=True)
class BareBatch:
    """The tensors of one task's sentences, padded."""

    task: str
    words: Tensor
    lengths: Tensor
    spellings: Tensor
    spelling_lengths: Tensor
    word_rows: Tensor
    tags: Tensor


def bare_batch(batch: TrainBatch, tags: Sequence[int], num_words: int) -> BareBatch:
    """Make the tensors of a batch; ``tags`` are those of its words, one after the other."""
    tokens = [i.tokens[a:b] for i in batch.instances for a, b in i.sentences]
    row_of = {word: row for row, word in enumerate(dict.fromkeys(w for ws in tokens for w in ws))}
    spellings = [torch.tensor([0, *(ord(c) % 254 + 1 for c in word), 255]) for word in row_of]
    rows = [torch.tensor([row_of[word] for word in words]) for words in tokens]
    ids = [torch.tensor([hash(word) % num_words for word in words]) for words in tokens]
    gold = torch.tensor(tags).split([len(words) for words in tokens])
    return BareBatch(
        batch.tasks[0],
        pad_sequence(ids, True),
        torch.tensor([len(words) for words in tokens]),
        pad_sequence(spellings, True),
        torch.tensor([len(spelling) for spelling in spellings]),
        pad_sequence(rows, True),
        pad_sequence(list(gold), True),
    )


def join(batches: Sequence[BareBatch]) -> BareBatch:
    """Make one batch of those of several tasks; words that two have are spelt twice."""
    longest = max(batch.words.shape[1] for batch in batches)
    letters = max(batch.spellings.shape[1] for batch in batches)
    first_rows = [0, *accumulate(len(batch.spellings) for batch in batches)]

    def padded(tensors: Iterable[Tensor], size: int) -> Tensor:
        return torch.cat([nn.functional.pad(x, (0, size - x.shape[1])) for x in tensors])

    rows = (batch.word_rows + row for batch, row in zip(batches, first_rows, strict=False))
    return BareBatch(
        "all",
        padded((batch.words for batch in batches), longest),
        torch.cat([batch.lengths for batch in batches]),
        padded((batch.spellings for batch in batches), letters),
        torch.cat([batch.spelling_lengths for batch in batches]),
        padded(rows, longest),
        padded((batch.tags for batch in batches), longest),
    )


def crf_loss(model: BareTagger, batch: BareBatch, emissions: Tensor) -> Tensor:
    """Return the negative log-likelihood of the gold tags, word by word."""
    *between, first, last = model.transitions[batch.task].split([emissions.shape[2], 1, 1])
    (between_tags,) = between
    is_word = torch.arange(emissions.shape[1]) < batch.lengths[:, None]
    state = first + emissions[:, 0]
    for word in range(1, emissions.shape[1]):
        following = torch.logsumexp(state[:, :, None] + between_tags, 1) + emissions[:, word]
        state = torch.where(is_word[:, word, None], following, state)
    total = torch.logsumexp(state + last, 1)
    gold = torch.where(is_word, emissions.gather(2, batch.tags[:, :, None])[:, :, 0], 0).sum(1)
    steps = torch.where(is_word[:, 1:], between_tags[batch.tags[:, :-1], batch.tags[:, 1:]], 0)
    ends = last[0][batch.tags.gather(1, batch.lengths[:, None] - 1)[:, 0]]
    return (total - gold - steps.sum(1) - first[0][batch.tags[:, 0]] - ends).sum()


def word_loss(model: BareTagger, batch: BareBatch, emissions: Tensor) -> Tensor:
    """Return the cross-entropy of the words' tags."""
    is_word = torch.arange(emissions.shape[1]) < batch.lengths[:, None]
    return nn.functional.cross_entropy(emissions[is_word], batch.tags[is_word], reduction="sum")


@dataclass
class Bare:
    """The bare modules in training with one of the losses."""

    model: BareTagger
    loss: Callable[[BareTagger, BareBatch, Tensor], Tensor]
    in_one_pass: bool = False

    def __post_init__(self) -> None:
        """Make the optimiser."""
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, fused=True)

    def update(self, batches: Sequence[BareBatch], joined: BareBatch) -> None:
        """Take one step on the sum of the batches' mean losses; ``joined`` are all of them."""
        self.optimizer.zero_grad(set_to_none=True)
        losses = [
            self.loss(self.model, batch, emissions) / batch.lengths.sum()
            for batch, emissions in zip(batches, self._emissions(batches, joined), strict=True)
        ]
        torch.stack(losses).sum().backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()

    def _emissions(self, batches: Sequence[BareBatch], joined: BareBatch) -> Iterator[Tensor]:
        """Yield the emissions of each batch."""
        if not self.in_one_pass:
            yield from map(self.model, batches)
            return
        contexts = self.model.read(joined).split([len(batch.words) for batch in batches])
        for batch, context in zip(batches, contexts, strict=True):
            yield self.model.outputs[batch.task](context[:, : batch.words.shape[1]])


def measure(trainer: StageTrainer, updates: Sequence[Update], warm: int) -> dict[str, object]:
    """Time every update by each of the four in turn; the first ``warm`` do not count."""
    prepared, tasks = trainer.run_.prepared, trainer.model.tasks
    sizes = {name: len(task.tags) for name, task in tasks.items()}
    num_words = len(trainer.model.network.trunk[0].rows)
    torch.manual_seed(1)
    bare = {
        "bare_with_crf": Bare(BareTagger(sizes, num_words), crf_loss),
        "bare_without_crf": Bare(BareTagger(sizes, num_words), word_loss),
        "bare_in_one_pass": Bare(BareTagger(sizes, num_words), word_loss, in_one_pass=True),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ("spanloom", *bare)}
    words = 0
    for number, update in enumerate(updates):
        targets = [
            tasks[b.tasks[0]].collate_targets(b.instances, prepared.data[b.tasks[0]].gold)
            for b in update
        ]
        batches = [
            bare_batch(b, t.tolist(), num_words) for b, t in zip(update, targets, strict=True)
        ]
        joined = join(batches)
        calls = {"spanloom": lambda update=update: trainer.update(update, _QUIET)}
        calls |= {
            name: lambda module=module, batches=batches, joined=joined: module.update(
                batches, joined
            )
            for name, module in bare.items()
        }
        for name, call in calls.items():
            start = time.process_time()
            call()
            if number >= warm:
                seconds[name].append(time.process_time() - start)
        words += sum(len(t) for t in targets) if number >= warm else 0
    medians = {name: round(statistics.median(values), 4) for name, values in seconds.items()}
    ours = sum(seconds["spanloom"])
    ratios = {name: round(sum(seconds[name]) / ours, 3) for name in bare}
    return {
        "cpu_seconds_per_update": medians,
        "words_per_cpu_second": {name: round(words / sum(s)) for name, s in seconds.items()},
        "speed_of_ours_beside": ratios,
    }


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--recipe", type=Path, default=RECIPE)
    arguments.add_argument("--tasks", nargs="*", default=[])
    arguments.add_argument("--static", default="vectors/en.50.txt")
    arguments.add_argument("--updates", type=int, default=20)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    settings = [f"trunk.0.static={options.static}", "sharing=separate-heads"]
    if options.tasks:
        settings.append(f"stages.0.tasks=[{', '.join(options.tasks)}]")
    recipe = recipes.load(options.recipe, settings)
    kept = {name: recipe.tasks[name] for name in recipe.stages[0].tasks}
    recipe = recipe.model_copy(update={"tasks": kept})
    model, prepared = new_model(resolve(recipe, options.data), "cpu")
    with tempfile.TemporaryDirectory() as folder:
        log = MetricsLog(Path(folder) / METRICS, lambda line: None, active=False)
        run = Run(model, prepared, Path(folder), ProcessGroup("cpu"), log)
        trainer = StageTrainer(run, recipe.stages[0])
        warm = 3
        updates = trainer.draw_epoch()[: options.updates + warm]
        result = {
            "command": f"python benchmarks/tagging_speed.py DATA --updates {options.updates}"
            + (f" --tasks {' '.join(options.tasks)}" if options.tasks else ""),
            "tasks": list(kept),
            "sentences_per_update": recipe.stages[0].batch_sentences,
            "rows_of_vectors": len(model.network.trunk[0].rows),
            "threads": 1,
            "python": platform.python_version(),
            "torch": torch.__version__,
            **measure(trainer, updates, warm),
        }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
