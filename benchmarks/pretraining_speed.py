"""How much pre-training adds to what it cannot do without, both measured in one run.

    python benchmarks/pretraining_speed.py recipes/pretraining/tiny.yaml TEXT [--json FILE]

1. Updates of ``training.loop`` (blocks read from the cache, collated, masked, losses, clipping, the
   optimizer) against forward and backward passes alone over the same batches, prepared before.
2. Text to masked batches (words, pieces, the cache, blocks, masks) against ``tokenizers`` alone,
   which splits the same text into pieces: both in one process, without its threads.
3. Masked batches that the process which trains makes itself, against those that another process
   makes before they are used, as beside a GPU: only what they cost the process which trains.

TEXT is a file or folder of raw text; some megabytes are enough.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import torch

from spanloom.atomic_io import write_file
from spanloom.config import recipe as recipes
from spanloom.corpora import raw_text
from spanloom.data.collate import collate
from spanloom.data.text_cache import TextSource, read_text
from spanloom.glad.speed import processor
from spanloom.model.model import Model
from spanloom.model.plan import resolve
from spanloom.tasks.masked_lm import MaskedLMTask
from spanloom.training.distributed import ProcessGroup
from spanloom.training.loop import METRICS, Run, StageTrainer
from spanloom.training.metrics_log import MetricsLog
from spanloom.training.prepare import PreparedData
from spanloom.training.progress_line import LogIntervals
from spanloom.training.train import new_model

NUM_COLLATED = 256  # batches at most
ROUNDS = 3  # of each measurement, taking turns; the fastest counts
NEVER = 10**9


def first_stage(model: Model, prepared: PreparedData, folder: Path) -> StageTrainer:
    """Return the first stage of a run that logs nothing."""
    silent = MetricsLog(folder / METRICS, print, active=False)
    run = Run(model, prepared, folder, ProcessGroup("cpu"), silent)
    return StageTrainer(run, model.recipe.stages[0])


def training(stage: StageTrainer, updates: int) -> dict[str, float]:
    """Return pieces per CPU second of training, and of forward and backward passes alone."""
    model, gradients = stage.model, stage.gradients
    drawn = list(islice(stage.draw_epoch(), updates))
    num_pieces = sum(batch.num_pieces for update in drawn for batch in update)
    ready = [stage.collation.collate(update, stage._seed_of(0)) for update in drawn]
    pace = LogIntervals(log=NEVER, checkpoint=NEVER)

    def train() -> None:
        for update in drawn:
            stage.update(update, pace)

    def passes() -> None:
        for batches in ready:
            model.network.zero_grad(set_to_none=True)
            num_items = {
                name: model.tasks[name].count_items(batch.batch, target)
                for batch in batches
                for name, target in batch.targets.items()
            }
            for batch in batches:
                gradients._backward([batch], num_items)

    passes()  # kernels are chosen at the first one
    return {
        name: num_pieces / seconds for name, seconds in _fastest(train=train, passes=passes).items()
    }


def collation(stage: StageTrainer) -> dict[str, float]:
    """Return pieces per CPU second of collating here, and of receiving from another process."""
    updates = stage.draw_epoch()[:NUM_COLLATED]
    seeds = [stage._seed_of(row) for row in range(len(updates))]
    num_pieces = sum(batch.num_pieces for update in updates for batch in update)

    def read(num_workers: int) -> None:
        for batches in stage.collation.prefetch(updates, seeds, num_workers):
            assert batches

    seconds = _fastest(collated=lambda: read(0), received=lambda: read(1))
    return {name: num_pieces / seconds[name] for name in seconds}


def text(model: Model, source: TextSource, folder: Path) -> dict[str, float]:
    """Return pieces per CPU second from text to masked batches, and of ``tokenizers`` alone."""
    task, pieces = next(iter(model.tasks.values())), model.subword_tokenizer
    texts = [document.text for document in source.documents()]
    window, spec = model.recipe.window, model.recipe.tokenization
    os.environ["SPANLOOM_CACHE"] = str(folder)
    counts: dict[str, int] = {}
    assert isinstance(task, MaskedLMTask)
    rounds = iter(range(ROUNDS))

    def masked_batches() -> None:
        os.environ["SPANLOOM_CACHE"] = str(folder / str(next(rounds)))
        pieces.cache.clear()
        corpus, _ = read_text(source, spec, pieces, num_processes=1)
        counts["masked_batches"] = corpus.num_pieces
        blocks = task.blocks.draw(corpus, window, Random(0))
        for batch in blocks.batches(model.recipe.stages[0].batch_words, Random(0)):
            instances = list(batch)
            task.mask_inputs(collate(instances, pieces, window), instances, pieces, 0)

    def tokenizers() -> None:
        counts["tokenizers"] = 0
        for first in range(0, len(texts), 64):
            encodings = pieces.tokenizer.encode_batch(
                texts[first : first + 64], add_special_tokens=False
            )
            counts["tokenizers"] += sum(map(len, encodings))

    seconds = _fastest(masked_batches=masked_batches, tokenizers=tokenizers)
    return {name: counts[name] / seconds[name] for name in seconds}


def _fastest(**measured: Callable[[], None]) -> dict[str, float]:
    """Return the fewest CPU seconds of each function over some rounds in which they take turns."""
    best = dict.fromkeys(measured, float("inf"))
    for _ in range(ROUNDS):
        for name, run in measured.items():
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    return best


def main() -> None:
    """Print both comparisons as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--updates", type=int, default=8)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    torch.set_num_threads(1)
    name, *others = recipes.load(options.recipe).tasks
    settings = ["corpora={}", f"tasks.{name}.data={options.text.resolve()}", *options.settings]
    plan = resolve(recipes.load(options.recipe, settings), options.recipe.parent)
    assert not others, "expected one task"
    assert raw_text.is_raw_text(options.text), "expected raw text"
    with TemporaryDirectory() as folder:
        os.environ["SPANLOOM_CACHE"] = folder
        model, prepared = new_model(plan, "cpu")
        stage = first_stage(model, prepared, Path(folder))
        trained, made = training(stage, options.updates), collation(stage)
        read = text(model, TextSource((options.text,)), Path(folder))
    result = {
        "recipe": options.recipe.name,
        "processor": processor(),
        "compute": str(model.compute),
        "training_pieces_per_s": round(trained["train"]),
        "passes_pieces_per_s": round(trained["passes"]),
        "training_of_passes": round(trained["train"] / trained["passes"], 3),
        "collated_pieces_per_s": round(made["collated"]),
        "received_pieces_per_s": round(made["received"]),
        "received_of_collated": round(made["received"] / made["collated"], 1),
        "masked_batches_pieces_per_s": round(read["masked_batches"]),
        "tokenizers_pieces_per_s": round(read["tokenizers"]),
        "masked_batches_of_tokenizers": round(read["masked_batches"] / read["tokenizers"], 3),
    }
    line = json.dumps(result, indent=1) + "\n"
    print(line, end="")
    if options.json is not None:
        write_file(options.json, line.encode())


if __name__ == "__main__":
    main()
