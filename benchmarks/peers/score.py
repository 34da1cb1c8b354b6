"""Score predicted sentences against gold ones, Spanloom's and its peers' alike.

    python benchmarks/peers/score.py GOLD.jsonl PREDICTED.jsonl --record RECORD.json --dataset wlp \
        -o benchmarks/results/peers

Runs in Spanloom's environment. What both files say is scored: tags, heads and labels, spans,
relations. Intervals are those of ``spanloom.metrics``: documents are drawn, not sentences.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from exchange import Sentence, read

from spanloom.errors import DataError
from spanloom.metrics.bootstrap import counts_per_document, interval
from spanloom.metrics.counts import Counts, total

Pair = tuple[Sentence, Sentence]
"""A sentence, gold and predicted."""


def couples(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> list[Pair]:
    """Return gold and predicted sentences in gold order.

    Raises ``DataError`` where one has no partner, occurs twice, or has other words.
    """
    known = {(each.document, each.index): each for each in predicted}
    if len(known) < len(predicted):
        raise DataError("predicted: expected each sentence once, got some twice")
    if len(gold) != len(predicted):
        raise DataError(f"predicted: expected {len(gold)} sentences, got {len(predicted)}")
    pairs = []
    for each in gold:
        other = known.get((each.document, each.index))
        if other is None or other.words != each.words:
            problem = "no such sentence" if other is None else "other words"
            raise DataError(f"predicted: {each.document}, sentence {each.index}: {problem}")
        pairs.append((each, other))
    return pairs


def tags(gold: Sentence, predicted: Sentence) -> Counts:
    """Count words with the right tag."""
    return _same(gold.tags or (), predicted.tags or ())


def attached(gold: Sentence, predicted: Sentence) -> Counts:
    """Count words with the right head, as UAS does."""
    return _same(gold.heads or (), predicted.heads or ())


def labelled(gold: Sentence, predicted: Sentence) -> Counts:
    """Count words with the right head and label, up to its first colon, as LAS does."""
    return _same(_arcs(gold), _arcs(predicted))


def spans(gold: Sentence, predicted: Sentence) -> Counts:
    """Count spans with the right bounds and label."""
    return _sets(gold.spans or (), predicted.spans or (), gold.beyond[0], predicted.beyond[0])


def relations(gold: Sentence, predicted: Sentence) -> Counts:
    """Count relations with the right label and bounds of both ends."""
    one, two = (
        {(a[:2], b[:2], label) for a, b, label in each.relations or ()}
        for each in (gold, predicted)
    )
    return _sets(one, two, gold.beyond[1], predicted.beyond[1])


def relations_typed(gold: Sentence, predicted: Sentence) -> Counts:
    """Count relations of which the labels of both ends are right, too."""
    sides = gold.relations or (), predicted.relations or ()
    return _sets(*sides, gold.beyond[1], predicted.beyond[1])


MEASURES: dict[str, Callable[[Sentence, Sentence], Counts]] = {
    "tags": tags,
    "uas": attached,
    "las": labelled,
    "span_f1": spans,
    "relation_f1": relations,
    "relation_f1_typed": relations_typed,
}
FIELDS = {
    "tags": "tags",
    "uas": "heads",
    "las": "labels",
    "span_f1": "spans",
    "relation_f1": "relations",
    "relation_f1_typed": "relations",
}


def scored(pairs: Sequence[Pair]) -> dict[str, dict[str, float]]:
    """Return each measure that both sides say something of: counts, ratios, the interval of F1.

    Where every word has one answer, F1 is accuracy. A measure of which neither side has anything is
    left out. Raises ``DataError`` where both sides say nothing of the same kind.
    """
    said = [
        name
        for name, key in FIELDS.items()
        if all(getattr(each, key) is not None for pair in pairs for each in pair)
    ]
    if not said or not pairs:
        raise DataError(f"expected sentences that both sides annotate, of {', '.join(FIELDS)}")
    metrics = {name: _measured(pairs, MEASURES[name]) for name in said}
    return {name: each for name, each in metrics.items() if each["gold"] or each["predicted"]}


def _measured(
    pairs: Sequence[Pair], measure: Callable[[Sentence, Sentence], Counts]
) -> dict[str, float]:
    documents: dict[str, Counts] = {}
    for gold, predicted in pairs:
        known = documents.get(gold.document, Counts())
        documents[gold.document] = known + measure(gold, predicted)
    counts, sure = (
        total(documents.values()),
        interval(counts_per_document(list(documents.values()))),
    )
    return {**asdict(counts), **asdict(counts.prf), "low": sure.low, "high": sure.high}


def _same(gold: Sequence[object], predicted: Sequence[object]) -> Counts:
    hits = sum(a == b for a, b in zip(gold, predicted, strict=True))
    return Counts(hits, len(predicted), len(gold))


def _sets(gold: Iterable[object], predicted: Iterable[object], missed: int, wrong: int) -> Counts:
    one, two = set(gold), set(predicted)
    return Counts(len(one & two), len(two) + wrong, len(one) + missed)


def _arcs(sentence: Sentence) -> list[tuple[int, str]]:
    labels = (label.partition(":")[0] for label in sentence.labels or ())
    return list(zip(sentence.heads or (), labels, strict=True))


def main() -> None:
    """Write OUT/PEER-DATASET.json and print its figures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("gold", type=Path)
    arguments.add_argument("predicted", type=Path)
    arguments.add_argument("--record", type=Path, required=True)
    arguments.add_argument("--dataset", required=True)
    arguments.add_argument("-o", "--out", type=Path, required=True)
    chosen = arguments.parse_args()
    pairs = couples(read(chosen.gold), read(chosen.predicted))
    record = json.loads(chosen.record.read_text(encoding="utf-8"))
    result = {
        "peer": record.pop("peer"),
        "dataset": chosen.dataset,
        "sentences": len(pairs),
        "words": sum(len(gold.words) for gold, _ in pairs),
        "metrics": scored(pairs),
        **record,
    }
    chosen.out.mkdir(parents=True, exist_ok=True)
    place = chosen.out / f"{result['peer']}-{chosen.dataset}.json"
    place.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    told = ", ".join(f"{name} {100 * each['f1']:.2f}" for name, each in result["metrics"].items())
    minutes, speed = result["train_minutes"], result["words_per_second"]
    print(f"{place.stem}: {told}; {minutes} CPU minutes; {speed:.0f} words/s")


if __name__ == "__main__":
    main()
