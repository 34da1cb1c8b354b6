"""Speed of annotation, end to end, beside the bare encoder on the same batches in the same run.

    python benchmarks/annotate.py MODEL FOLDER [--repeat 5] [--json FILE]

Words a second of CPU time, all threads counted, so one number a core. Text goes in and Documents
come out on one side; on the other the encoder alone reads the very batches, already made.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch

from spanloom.corpora import folder as corpora
from spanloom.data.batches import by_length, collate
from spanloom.data.units import Sizes, units
from spanloom.document import Document
from spanloom.model import folder
from spanloom.model.model import BATCH_WORDS, Model


def measure(work: Callable[[], None]) -> float:
    """CPU seconds of one call, all threads counted."""
    began = time.process_time()
    work()
    return time.process_time() - began


def bare(model: Model, documents: list[Document]) -> Callable[[], None]:
    """The encoder alone over the batches that annotation makes of these documents."""
    window = model.recipe.window
    sizes, cuts = Sizes(window, window), [model.cut(each) for each in documents]
    every = [unit for row, whole in enumerate(cuts) for unit in units(row, whole, sizes)]
    groups = by_length(every, BATCH_WORDS, window=window)
    batches = [collate(group, model.pieces, window) for group in groups]
    found = model.network.transformer
    if found is None:
        raise SystemExit("expected a model with a transformer")
    encoder = found.encoder

    def work() -> None:
        model.network.eval()
        with torch.inference_mode(), model.compute.autocast():
            for batch in batches:
                encoder(input_ids=batch.ids, attention_mask=batch.mask)

    return work


def main() -> None:
    """Measure both in turn, print the best of each and the median ratio."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--split", default="dev")
    arguments.add_argument("--precision", default="auto")
    arguments.add_argument("--repeat", type=int, default=5)
    arguments.add_argument("--json", type=Path)
    chosen = arguments.parse_args()
    model = folder.load(chosen.model, precision=chosen.precision, device="cpu")
    texts = [each.bare() for each in corpora.read(chosen.data, chosen.split).documents]
    words = sum(len(model.split(each.text).words) for each in texts)
    encoder = bare(model, texts)

    def whole() -> None:
        for _ in model.annotate(texts):
            pass

    for work in (encoder, whole):
        work()
    rounds = [(measure(encoder), measure(whole)) for _ in range(chosen.repeat)]
    ratios = sorted(alone / all_of_it for alone, all_of_it in rounds)
    result = {
        "model": chosen.model.name,
        "documents": len(texts),
        "words": words,
        "compute": str(model.compute),
        "bare_encoder_words_per_cpu_second": round(words / min(each for each, _ in rounds)),
        "annotate_words_per_cpu_second": round(words / min(each for _, each in rounds)),
        "ratio_median": round(ratios[len(ratios) // 2], 3),
        "ratio_range": [round(ratios[0], 3), round(ratios[-1], 3)],
    }
    print(json.dumps(result, indent=1))
    if chosen.json:
        chosen.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
