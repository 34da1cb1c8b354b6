"""Where the spans of one task go wrong: by width, and how many have no proper noun.

    python benchmarks/span_errors.py MODEL CORPUS --task NAME [--upos TAGGED] [--split dev]

Precision and recall in percent of labelled spans of 1, 2-3, 4-6 and over 6 words; of constituents,
which are counted as evalb does. Where the corpus, or ``TAGGED`` with the same texts, has parts of
speech (layer ``upos``), also how many gold and predicted spans lack a proper noun.
"""

import argparse
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spanloom.corpora import folder as corpora
from spanloom.document import Document
from spanloom.metrics.constituents import (
    Bracket,
    countable_brackets,
    counted_words,
    word_brackets,
)
from spanloom.model import serialization
from spanloom.model.evaluation import map_to_task_labels, source

LIMITS = {1: "1", 3: "2-3", 6: "4-6"}
SIDES = ("gold", "predicted")


def width(bracket: Bracket) -> str:
    """The class of a span by its number of words."""
    num_words = bracket[1] - bracket[0]
    return next((name for limit, name in LIMITS.items() if num_words <= limit), "over 6")


def brackets(
    words: Sequence[tuple[int, int]], layer: str, kind: str, document: Document
) -> Counter[Bracket]:
    """The spans of a layer over words; constituents as evalb counts them."""
    over_words = word_brackets(document, layer, words)
    return Counter(countable_brackets(over_words) if kind == "constituency" else over_words)


def proper_nouns(document: Document) -> list[int] | None:
    """Where proper nouns start, in order; None without parts of speech."""
    if not document.has_layer("upos"):
        return None
    return sorted(word.start for word in document["upos"].spans if word.label == "PROPN")


def count(
    documents: Sequence[Document],
    gold: Sequence[Document],
    predicted: Sequence[Document],
    layer: str,
    kind: str,
) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """Spans by width and side, and those without a proper noun; ``documents`` have all layers."""
    by_width: Counter[tuple[str, str]] = Counter()
    nameless: Counter[str] = Counter()
    for document, *annotated in zip(documents, gold, predicted, strict=True):
        words = counted_words(document)
        sides = [brackets(words, layer, kind, side) for side in annotated]
        for name, counted in (*zip(SIDES, sides, strict=True), ("hits", sides[0] & sides[1])):
            by_width.update((width(bracket), name) for bracket in counted.elements())
        nouns = proper_nouns(document)
        if nouns is None:
            continue
        for name, side in zip(SIDES, annotated, strict=True):
            starts = [(span.start, span.end) for span in side[layer].spans]
            nameless[name] += sum(
                bisect_left(nouns, start) == bisect_left(nouns, end) for start, end in starts
            )
            nameless[f"{name} total"] += len(starts)
    return by_width, nameless


def percent(part: int, whole: int) -> float | None:
    """A share in percent; None of nothing."""
    return round(100 * part / whole, 2) if whole else None


def figures(by_width: Counter[tuple[str, str]], nameless: Counter[str]) -> dict[str, Any]:
    """The counts as percentages."""
    row: dict[str, Any] = {
        name: {
            "recall": percent(by_width[name, "hits"], by_width[name, "gold"]),
            "precision": percent(by_width[name, "hits"], by_width[name, "predicted"]),
            "gold": by_width[name, "gold"],
        }
        for name in (*LIMITS.values(), "over 6")
    }
    if nameless:
        row["without_proper_noun"] = {
            name: percent(nameless[name], nameless[f"{name} total"]) for name in SIDES
        }
    return row


def main() -> None:
    """Read the arguments, predict, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--task", required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--upos", type=Path, help="corpus of the same texts, with parts of speech")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    model = serialization.load(options.model)
    planned = model.plan.tasks[options.task]
    documents = corpora.read(options.corpus, options.split).documents
    gold = map_to_task_labels(planned, source(planned, options.corpus), documents)
    predicted = list(model.predict(gold, options.task))
    layer = model.tasks[options.task].layer
    if options.upos is not None:
        tagged = {each.name: each for each in corpora.read(options.upos, options.split).documents}
        documents = [tagged[document.name] for document in documents]
    counted = count(documents, gold, predicted, layer, planned.spec.kind)
    row = {"model": Path(options.model).name, "corpus": options.corpus.name}
    row |= {"task": options.task, "split": options.split, **figures(*counted)}
    print(json.dumps(row, indent=1))
    if options.json:
        options.json.write_text(json.dumps(row, indent=1) + "\n")


if __name__ == "__main__":
    main()
