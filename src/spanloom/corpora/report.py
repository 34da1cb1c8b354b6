"""Format a check report as text for people and as JSON for programs."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from spanloom.corpora.check import (
    CheckReport,
    DuplicateGroup,
    LayerReport,
    OracleScore,
    SplitReport,
)
from spanloom.corpora.layer_limits import CorpusLimits, learnt_with
from spanloom.corpora.reachability import ModelLimits
from spanloom.corpora.statistics import LayerStatistics
from spanloom.long_sentences import LONGEST
from spanloom.quantity import quantity

MAX_LISTED = 10  # duplicates listed in the text; JSON has all
NAMES = 4  # documents listed per group of duplicates
BARS = 12  # widths listed in the text; wider ones share one line
QUANTILES = (0.5, 0.95, 0.99, 0.998)
EVENTS = {
    "shared": "events beyond the first on one trigger (lost, unless several_events divides them)",
    "merged": "arguments or relations that say the same as another (merged)",
    "unnamed": "spans with a trigger's label and no event (a model gives them one)",
    "swapped": "arguments that come back as relations, or relations as arguments",
    "cyclic": "events that are arguments of themselves",
    "without_arguments": "events without arguments",
}

WIDENED: Mapping[str, str] = {
    "across_sentences": "spans across sentences",
    "multi_label": "several labels on a span",
    "discontinuous": "spans with gaps",
    "relation_horizon": "relations across sentences",
    "document_relations": "relations of any distance",
    "several_events": "several events a trigger",
    "self_pairs": "relations from a span to itself",
}  # kinds and options of tasks that widen what a model can predict


def to_json(report: CheckReport) -> dict[str, object]:
    """Return the report as numbers and strings, ready for ``json.dump``."""
    return {
        "model": {
            layer: _limits_json(layer, report.limits)
            for layer in dict.fromkeys(
                layer for split in report.splits.values() for layer in split.layers
            )
        },
        "splits": {name: _split_json(split) for name, split in report.splits.items()},
        "duplicates": [asdict(group) for group in report.duplicates],
    }


def _limits_json(layer: str, corpus_limits: CorpusLimits) -> dict[str, object]:
    """Return the assumed limits of one layer; "task" says whether the model learns it."""
    limits = corpus_limits.of(layer)
    return {
        "kinds": list(limits.kinds),
        **({"task": False} if layer in corpus_limits.without_task else {}),
        "width": limits.width,
        "nested": limits.nested,
        **{name: value for name in ("overlapping", *WIDENED) if (value := getattr(limits, name))},
    }


def _split_json(split: SplitReport) -> dict[str, object]:
    """Return the numbers of one split."""
    sizes = split.statistics
    return {
        "documents": sizes.documents,
        "sentences": sizes.sentences,
        "words": sizes.words,
        "characters": sizes.characters,
        "sentences_in_train": split.seen,
        "long_sentences": split.long,
        "queries": sizes.queries,
        "two_texts": split.two_texts,
        "problems": split.problems,
        "layers": {name: _layer_json(layer) for name, layer in split.layers.items()},
    }


def _layer_json(layer: LayerReport) -> dict[str, object]:
    """Return the numbers of one layer of one split."""
    statistics = layer.statistics
    return {
        "documents": statistics.documents,
        "labels": {kind: dict(counts.most_common()) for kind, counts in statistics.labels.items()},
        "widths": {str(width): statistics.widths[width] for width in sorted(statistics.widths)},
        "spans": dict(statistics.shapes),
        "relations": dict(statistics.links),
        "events": asdict(layer.events),
        "queries": asdict(layer.queries),
        "between_parts": layer.between_parts,
        "oracle": {
            "spans": _oracle_json(layer.spans),
            "relations": _oracle_json(layer.relations),
        },
    }


def _oracle_json(oracle: OracleScore) -> dict[str, object]:
    """Return gold items, those that can be predicted, and the others by reason."""
    return {
        "gold": oracle.gold,
        "reachable": oracle.reachable,
        "recall": oracle.recall,
        "f1": oracle.f1,
        "missed": {
            str(reason): {"count": count, "examples": oracle.examples[reason]}
            for reason, count in oracle.missed.most_common()
        },
    }


def to_text(report: CheckReport) -> str:
    """Return aligned sections: sizes, duplicate texts, then each layer of each split."""
    parts = ["\n".join(_split_sizes(report)), *_duplicates(report.duplicates)]
    for name, split in report.splits.items():
        parts += _problems(name, split)
        parts += _input_counts(name, split)
        for layer, layer_report in split.layers.items():
            title = f"{name}, layer {layer}"
            parts.append("\n".join(_layer_text(title, layer, layer_report, report.limits)))
    return "\n\n".join(parts) + "\n"


def _split_sizes(report: CheckReport) -> Iterator[str]:
    """Yield a header and one line per split."""
    yield f"{'split':8}  documents  sentences     words  characters  sentences also in train"
    for name, split in report.splits.items():
        seen = "" if name == "train" or "train" not in report.splits else f"{split.seen:8}"
        sizes = split.statistics
        line = f"{name:8}  {sizes.documents:9}  {sizes.sentences:9}  {sizes.words:8}"
        yield f"{line}  {sizes.characters:10}  {seen}".rstrip()


def _duplicates(groups: tuple[DuplicateGroup, ...]) -> Iterator[str]:
    """Yield the groups of documents that share a text, leaks first."""
    if not groups:
        return
    leaks = sum(group.leak for group in groups)
    lines = [
        f"same text: {len(groups)} groups of documents, {leaks} of them across splits (a leak)"
    ]
    for group in groups[:MAX_LISTED]:
        spans = "same spans" if group.annotation else "different spans"
        names = " = ".join(group.names[:NAMES]) + (" = …" if len(group.names) > NAMES else "")
        lines.append(f"  {'LEAK' if group.leak else '    '} {names} ({spans})")
    yield "\n".join([*lines, *_count_rest(len(groups))])


def _problems(name: str, split: SplitReport) -> Iterator[str]:
    """Yield all problems of a split's files, as the tutorial and other commands promise."""
    if split.problems:
        lines = [f"{name}: {quantity(len(split.problems), 'problem')} in the files"]
        yield "\n".join([*lines, *(f"  {problem}" for problem in split.problems)])


def _input_counts(name: str, split: SplitReport) -> Iterator[str]:
    """Yield the number of long sentences, queries and text pairs, where there are any."""
    lines = []
    if split.long:
        lines.append(f"{name}: {split.long} sentences of over {LONGEST} words are read in parts")
    if split.statistics.queries:
        lines.append(f"{name}: {split.statistics.queries} queries")
    if split.two_texts:
        lines.append(f"{name}: {quantity(split.two_texts, 'document')} of two texts")
    if lines:
        yield "\n".join(lines)


def _count_rest(total: int) -> Iterator[str]:
    """Yield how many items are not listed."""
    if total > MAX_LISTED:
        yield f"  … and {total - MAX_LISTED} more"


def _layer_text(
    title: str, name: str, layer: LayerReport, corpus_limits: CorpusLimits
) -> Iterator[str]:
    """Yield all lines about one layer."""
    yield f"== {title}: {quantity(layer.statistics.documents, 'document')} annotated"
    for kind, counts in layer.statistics.labels.items():
        yield f"{kind}: {counts.total()}"
        yield from _aligned_counts(dict(counts.most_common()))
    yield from _width_histogram(layer.statistics)
    yield from _counts_text("spans", layer.statistics.shapes)
    yield from _counts_text("relations (event arguments among them)", layer.statistics.links)
    yield from _counts_text("events", {EVENTS[key]: n for key, n in asdict(layer.events).items()})
    yield from _answer_counts(layer)
    if not layer.spans.gold and not layer.relations.gold:
        return
    limits = corpus_limits.of(name)
    yield _ceiling_head(limits, has_task=name not in corpus_limits.without_task)
    yield from _oracle_text("spans", layer.spans, limits)
    yield from _oracle_text("relations", layer.relations, limits)


def _ceiling_head(limits: ModelLimits, *, has_task: bool) -> str:
    """Return the line that says which model the ceiling is of."""
    shape = "overlapping" if limits.overlapping else "nested" if limits.nested else "flat"
    width = "any width" if limits.width is None else f"up to {quantity(limits.width, 'word')}"
    more = [words for name, words in WIDENED.items() if getattr(limits, name)]
    more += [] if limits.several_heads else ["one head per span"]
    noun = "kind" if len(limits.kinds) == 1 else "kinds"
    kinds = f" ({noun} {', '.join(limits.kinds)})" if limits.kinds else ""
    start = "ceiling of a model" if has_task else "no task learns this layer; ceiling of a model"
    return ", ".join([f"{start}{kinds} of {shape} spans of {width}", *more]) + ":"


def _answer_counts(layer: LayerReport) -> Iterator[str]:
    """Yield the answers to queries, if the layer has any, and the relations between two texts."""
    queries = layer.queries
    if queries.meant:
        unanswered = f"{queries.unanswered} have none"
        yield f"answers: {queries.answers} to {queries.queries} queries, of which {unanswered}"
    if queries.dangling:
        yield f"answers that name no query of their text, or are no spans: {queries.dangling}"
    if layer.between_parts:
        yield f"relations between two texts (not in the ceiling below): {layer.between_parts}"


def _aligned_counts(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield aligned counts, each before its name."""
    width = max((len(str(count)) for count in counts.values()), default=0)
    for name, count in counts.items():
        yield f"  {count:{width}}  {name}"


def _counts_text(title: str, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield the counts that are not zero under a title."""
    nonzero = {name: count for name, count in counts.items() if count}
    if nonzero:
        yield f"{title}, of them:"
        yield from _aligned_counts(nonzero)


def _width_histogram(statistics: LayerStatistics) -> Iterator[str]:
    """Yield the quantiles of span widths in words, and a histogram."""
    total = statistics.widths.total()
    if not total:
        return
    shares = ", ".join(f"{100 * q:g} % up to {statistics.width_at(q)}" for q in QUANTILES)
    yield f"widths in words: {shares}, all up to {max(statistics.widths)}"
    largest = max(statistics.widths.values())
    for width in sorted(statistics.widths):
        if width <= BARS:
            count = statistics.widths[width]
            bar = "#" * round(40 * count / largest)
            yield f"  {width:>5}  {count:7}  {100 * count / total:5.1f} %  {bar}".rstrip()
    wider = sum(count for width, count in statistics.widths.items() if width > BARS)
    if wider:
        yield f"  wider  {wider:7}  {100 * wider / total:5.1f} %"


def _oracle_text(items: str, oracle: OracleScore, limits: ModelLimits) -> Iterator[str]:
    """Yield oracle recall and F1, then each reason with its first items."""
    if not oracle.gold:
        return
    oracle_scores = f"recall {100 * oracle.recall:.2f}, F1 {100 * oracle.f1:.2f}"
    yield f"  {items}: {oracle.reachable} of {oracle.gold} in reach: {oracle_scores}"
    for reason, count in oracle.missed.most_common():
        option = learnt_with(reason, limits.kinds)
        yield f"    {count:6}  {reason}" + (f" (learnt with {option})" if option else "")
        for example in oracle.examples[reason]:
            yield f"              {example}"
