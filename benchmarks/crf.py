"""Speed of the CRF beside pytorch-crf's, on the same scores in the same run, on one thread.

    pip install --no-deps --target FOLDER pytorch-crf
    PYTHONPATH=FOLDER python benchmarks/crf.py [--repeat 15] [--json FILE]

Milliseconds: loss and its gradient, and decoding; the median of runs taken in turn. Sequences are
half as long as the longest up to as long. Both must give the same loss, gradients and best paths.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spanloom.decoding.crf import LinearChain, log_partition, path_score, viterbi

SHAPES = ((32, 30, 9), (32, 60, 40), (8, 120, 100), (64, 25, 130))  # sequences, words, tags


def scores(shape: tuple[int, int, int]) -> tuple[LinearChain, Tensor]:
    """Random scores that ask for gradients, and random gold tags."""
    torch.manual_seed(0)
    seqs, words, tags = shape
    lengths = torch.randint(words // 2, words + 1, (seqs,))
    lengths[0] = words
    tensors = [torch.randn(*size) for size in (shape, (tags, tags), (tags,), (tags,))]
    emissions, *transitions = (tensor.requires_grad_() for tensor in tensors)
    return LinearChain(emissions, lengths, *transitions), torch.randint(tags, (seqs, words))


def leaves(chain: LinearChain) -> list[Tensor]:
    """What the gradient is taken by."""
    return [chain.emissions, chain.transitions, chain.starts, chain.ends]


def beside(chain: LinearChain, module: Any) -> Any:
    """pytorch-crf's layer with the very same transitions."""
    layer = module.CRF(len(chain.starts), batch_first=True)
    for name, parameter in (
        ("", chain.transitions),
        ("start_", chain.starts),
        ("end_", chain.ends),
    ):
        setattr(layer, f"{name}transitions", torch.nn.Parameter(parameter.detach()))
    return layer


def works(chain: LinearChain, gold: Tensor, layer: Any) -> dict[str, Callable[[], Any]]:
    """The four things to time: each returns what it found."""
    mask = chain.word_mask()
    parts = [chain.emissions, layer.transitions, layer.start_transitions, layer.end_transitions]

    def train_ours() -> list[Tensor]:
        total = (log_partition(chain) - path_score(chain, gold)).sum()
        return [total, *torch.autograd.grad(total, leaves(chain))]

    def train_theirs() -> list[Tensor]:
        total = -layer(chain.emissions, gold, mask=mask)
        return [total, *torch.autograd.grad(total, parts)]

    def decode_ours() -> list[list[int]]:
        tags, _ = viterbi(chain)
        lengths = chain.lengths.tolist()
        return [row[:length] for row, length in zip(tags.tolist(), lengths, strict=True)]

    def decode_theirs() -> list[list[int]]:
        with torch.no_grad():
            paths: list[list[int]] = layer.decode(chain.emissions, mask=mask)
        return paths

    return {
        "train_ms": train_ours,
        "train_ms_pytorch_crf": train_theirs,
        "decode_ms": decode_ours,
        "decode_ms_pytorch_crf": decode_theirs,
    }


def measure(shape: tuple[int, int, int], module: Any, repeat: int) -> dict[str, object]:
    """Check that both agree, then time all in turn."""
    chain, gold = scores(shape)
    work = works(chain, gold, beside(chain, module))
    for seconds, peer_seconds in zip(
        work["train_ms"](), work["train_ms_pytorch_crf"](), strict=True
    ):
        torch.testing.assert_close(seconds, peer_seconds, rtol=1e-3, atol=1e-3)
    if work["decode_ms"]() != work["decode_ms_pytorch_crf"]():
        raise SystemExit(f"{shape}: the best paths differ")
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(repeat):
        for name, call in work.items():
            began = time.perf_counter()
            call()
            times[name].append(1000 * (time.perf_counter() - began))
    medians = {name: round(statistics.median(values), 2) for name, values in times.items()}
    return {"sequences": shape[0], "words": shape[1], "tags": shape[2], **medians}


def main() -> None:
    """Measure every shape and print the times."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeat", type=int, default=15)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    try:
        import torchcrf  # type: ignore[import-not-found]
    except ImportError:
        raise SystemExit(
            "benchmarks/crf.py needs pytorch-crf beside it: see its first lines"
        ) from None
    torch.set_num_threads(1)
    result = {
        "command": f"python benchmarks/crf.py --repeat {options.repeat}",
        "threads": 1,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "pytorch_crf": version("pytorch-crf"),
        "shapes": [measure(shape, torchcrf, options.repeat) for shape in SHAPES],
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
