"""Speed of annotation, end to end, beside the bare encoder on the same batches in the same run.

    python benchmarks/annotate.py MODEL FOLDER [--repeat 5] [--json FILE]

Words a second of CPU time, all threads counted, so one number a core. Text goes in and Documents
come out on one side; on the other the encoder alone reads what annotation hands it, already made
(``spanloom.glad.speed``, as in the rows of the board).
"""

import argparse
import json
from pathlib import Path

from spanloom.corpora import folder as corpora
from spanloom.glad.speed import speeds
from spanloom.model import serialization


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
    model = serialization.load(chosen.model, precision=chosen.precision, device="cpu")
    texts = [each.unannotated() for each in corpora.read(chosen.data, chosen.split).documents]
    found = speeds(model, texts, list(model.layers), rounds=chosen.repeat)
    if found.encoder is None or found.ratio is None:
        raise SystemExit("expected a model with a transformer that torch computes")
    result = {
        "model": chosen.model.name,
        "documents": len(texts),
        "words": found.words,
        "compute": str(model.compute),
        "bare_encoder_words_per_cpu_second": round(found.encoder),
        "annotate_words_per_cpu_second": round(found.annotated),
        "ratio_median": round(found.ratio, 3),
        "ratio_range": [round(found.ratios[0], 3), round(found.ratios[-1], 3)],
    }
    print(json.dumps(result, indent=1))
    if chosen.json:
        chosen.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
