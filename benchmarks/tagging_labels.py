"""Sizes, labels and entropies of the tasks of a recipe of taggers, beside a paper's table 1.

    python benchmarks/tagging_labels.py DATA [--recipe FILE] [--json FILE]

DATA has the prepared corpora. Counted as the code of Changpinyo et al. (2018) does
(``dataset/analyze_stats.py``): words and tags in lower case; sentences, and words per distinct
word, of train and of all splits; distinct tags, O too, of all splits; the entropy of the tags of
train, in nats. What tags cannot hold is left out, as in training.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spanloom.annotation.tag_schemes import OUTSIDE, SCHEMES, Plain, Scheme, Tagged
from spanloom.config import recipe as recipes
from spanloom.corpora import folder
from spanloom.document import Document
from spanloom.formats._word_view import WordView, encodable_spans

RECIPE = Path("recipes/papers/mtl-tagging-changpinyo2018/joint.yaml")
PAPER = {  # table 1: sentences of train and in all, tokens per type likewise, labels, entropy
    "upos": (12543, 16622, 12.3, 13.2, 17, 2.5),
    "xpos": (12543, 16622, 12.3, 13.2, 50, 3.1),
    "chunk": (8936, 10948, 12.3, 13.3, 42, 2.3),
    "ner": (14041, 20744, 9.7, 11.2, 17, 0.9),
    "mwe": (2723, 3812, 8.6, 9.3, 3, 0.5),
    "supsense": (2723, 3812, 8.6, 9.3, 212, 2.2),
    "sem": (13851, 20092, 13.2, 16.2, 75, 2.2),
    "semtr": (13851, 20092, 13.2, 16.2, 11, 1.3),
    "com": (880, 1370, 5.2, 6.1, 2, 0.6),
    "frame": (3711, 5711, 8.6, 9.1, 2, 0.5),
    "hyp": (2000, 3974, 6.7, 9.0, 2, 0.4),
}
KEYS = ("train_sentences", "sentences", "train_tokens_per_type", "tokens_per_type", "labels")
KEYS += ("train_entropy",)


def sentences(document: Document, layer: str, scheme: Scheme) -> Iterator[tuple[list[str], ...]]:
    """Yield the words and the tags of each sentence."""

    def has_tags(span: Tagged) -> bool:
        is_word = span[1] - span[0] == 1 and span[2] != OUTSIDE
        return is_word or not isinstance(scheme, Plain)

    view = WordView(document)
    placed = encodable_spans(view, layer, has_tags)
    for (first, end), spans in zip(view.words.sentences, placed, strict=True):
        tags = scheme.encode([(a, b, span.label) for a, b, span in spans], end - first)
        yield view.tokens[first:end], tags


def entropy(counts: Counter[str]) -> float:
    """Return the entropy of a distribution in nats."""
    total = counts.total()
    return -sum(number / total * math.log(number / total) for number in counts.values())


def statistics(corpus: Path, layer: str, scheme: Scheme) -> dict[str, float]:
    """Return the statistics of a task by ``KEYS``."""
    words: dict[str, Counter[str]] = {"train": Counter(), "all": Counter()}
    tags = {name: Counter[str]() for name in words}
    sizes: Counter[str] = Counter()
    for split in folder.splits(corpus):
        for document in folder.read(corpus, split).documents:
            for forms, labels in sentences(document, layer, scheme):
                for part in ("all", *(["train"] if split == "train" else [])):
                    words[part].update(form.lower() for form in forms)
                    tags[part].update(label.lower() for label in labels)
                    sizes[part] += 1
    ratios = [round(words[part].total() / len(words[part]), 2) for part in ("train", "all")]
    values = (sizes["train"], sizes["all"], *ratios, len(tags["all"]))
    return dict(zip(KEYS, (*values, round(entropy(tags["train"]), 2)), strict=True))


def table(tasks: dict[str, Any]) -> str:
    """Return a markdown table: ours, and the paper's in brackets."""
    head = "| task | data | sentences, train / all | tokens per type | labels | entropy |\n"
    lines = [head, "|---|---|---|---|---|---|\n"]
    for name, task in tasks.items():
        o, p = task["ours"], task["paper"] or dict.fromkeys(KEYS, "–")
        cells = [f"{o[a]:,} / {o[b]:,} ({p[a]} / {p[b]})" for a, b in (KEYS[:2], KEYS[2:4])] + [
            f"{o[key]} ({p[key]})" for key in KEYS[4:]
        ]
        lines.append(f"| {name} | {task['data']} | {' | '.join(cells)} |\n")
    return "".join(lines)


def main() -> None:
    """Print the table and write the numbers."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--recipe", type=Path, default=RECIPE)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    tasks = {}
    for name, spec in recipes.load(options.recipe).tasks.items():
        corpus = folder.locate(spec.data, options.data)
        scheme = SCHEMES[spec.options.get("scheme", "BIOES")]
        paper = dict(zip(KEYS, PAPER[name], strict=True)) if name in PAPER else None
        ours = statistics(corpus, spec.layer, scheme)
        tasks[name] = {"data": spec.data, "ours": ours, "paper": paper}
    print(table(tasks), end="")
    if options.json:
        command = f"python benchmarks/tagging_labels.py DATA --recipe {options.recipe.as_posix()}"
        text = json.dumps({"command": command, "tasks": tasks}, indent=1) + "\n"
        options.json.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
