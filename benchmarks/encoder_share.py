"""The encoder's share of time, in training and in use (Jiang et al. 2020, section 4.3).

    python benchmarks/encoder_share.py RECIPE --data DIR [--set KEY=VALUE]… [--bert-base]

``--json FILE`` saves the result.

A few updates of an untrained model are timed whole, forward and backward, and then the encoder
alone on the very same inputs, forward and backward. The model then annotates some dev documents,
in turn with its encoder alone (``glad.speed``). ``--bert-base`` gives the encoder BERT-base's shape
(12 layers, 768 units) and random weights, as the paper's shares are of BERT-base. Time is CPU time.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from spanloom import freed_memory
from spanloom.config import recipe as recipes
from spanloom.embedders import _minilm
from spanloom.glad import speed
from spanloom.model.model import Model
from spanloom.model.plan import resolve
from spanloom.training.batch_schedule import Update, draw_epoch
from spanloom.training.distributed import ProcessGroup
from spanloom.training.gradients import GradientSum
from spanloom.training.prepare import PreparedData
from spanloom.training.train import new_model

BERT_BASE = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
}
WARM_UP = 1  # updates that are not timed


def bert_base(folder: Path) -> Path:
    """Write BERT-base's configuration with the word pieces of minilm, which are BERT's."""
    source = Path(_minilm.locate())
    for path in source.glob("*.json"):
        (folder / path.name).write_bytes(path.read_bytes())
    config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | BERT_BASE
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for path in source.glob("vocab.txt"):
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def seconds_of(work: Any) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def training_shares(model: Model, prepared: PreparedData, updates: Sequence[Update]) -> list[float]:
    """Return the encoder's share of each update's forward and backward passes."""
    encoder = model.network.transformer.encoder
    gradients = GradientSum(model, prepared, ProcessGroup("cpu"), model.recipe.stages[0])
    shares = []
    freed_memory.keep()  # as training does
    for update in updates:
        model.network.train().zero_grad(set_to_none=True)
        with speed.record_calls(encoder) as calls:
            whole = seconds_of(lambda now=update: gradients.add(now, lambda row, *process: row))

        def alone(calls: Sequence[dict[str, Any]] = calls) -> None:
            for call in calls:
                inputs = {key: _detached(value) for key, value in call.items()}
                with model.compute.autocast():
                    states = encoder(**inputs).hidden_states
                torch.autograd.backward(
                    torch.stack([state.float().sum() for state in states]).sum()
                )

        encoder.zero_grad(set_to_none=True)  # to add to gradients takes longer than to set them
        shares.append(seconds_of(alone) / whole)
    return shares[WARM_UP:]


def _detached(value: object) -> object:
    """Return a tensor's values alone; vectors of pieces take gradients as they do in training."""
    if not isinstance(value, Tensor):
        return value
    copied = value.detach()
    return copied.requires_grad_() if copied.is_floating_point() else copied


def main() -> None:
    """Print the shares, and write them to a file if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--bert-base", action="store_true")
    parser.add_argument("--updates", type=int, default=10)
    parser.add_argument("--words", type=int, default=5_000, help="of dev that are annotated")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        settings = [*options.settings, "stages.0.precision=fp32"]
        if options.bert_base:
            shape = bert_base(Path(folder))
            settings.append(f"trunk=[{{transformer: {shape}, init: random}}, {{casing: 16}}]")
        model, prepared = new_model(
            resolve(recipes.load(options.recipe, settings), options.data), "cpu"
        )
    (task,) = model.tasks
    updates = draw_epoch(
        model.recipe.stages[0],
        prepared.data,
        seed="share",
        epoch=0,
        window=model.recipe.window,
        tokenize_prompt=model.tokenize_prompt,
    )[: options.updates + WARM_UP]
    shares = training_shares(model, prepared, updates)
    dev = [document.unannotated() for document in prepared.data[task].dev]
    few = speed.first(model, dev, options.words)
    rates = speed.speeds(model, few, [task], rounds=3)
    result = {
        "recipe": options.recipe.name,
        "task": task,
        "encoder": "BERT-base, random weights" if options.bert_base else "the recipe's",
        "updates": len(shares),
        "training_share": round(median(shares), 3),
        "training_shares": [round(share, 3) for share in shares],
        "annotation_share_untrained": round(rates.ratio or 0.0, 3),
        "processor": speed.processor(),
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
