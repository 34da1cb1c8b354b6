"""A check's findings as text for people and as plain numbers for programs."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from spanloom.corpora.census import Census
from spanloom.corpora.check import Ceiling, CheckReport, LayerReport, SplitReport
from spanloom.corpora.twins import Twins
from spanloom.long_sentences import LONGEST

SHOWN = 10  # problems and twins in the text; JSON has them all
NAMES = 4  # of one group of twins
BARS = 12  # widths in the text, wider ones in one line
QUANTILES = (0.5, 0.95, 0.99, 0.998)
EVENTS = {
    "shared": "events beyond the first on one trigger (lost: a trigger has one event)",
    "merged": "arguments or relations that say the same as another (merged)",
    "unnamed": "spans with a trigger's label and no event (a model gives them one)",
    "swapped": "arguments that come back as relations, or relations as arguments",
    "cyclic": "events that are arguments of themselves",
    "bare": "events without arguments",
}


def to_json(report: CheckReport) -> dict[str, object]:
    """Return plain numbers and strings, ready for ``json.dump``."""
    return {
        "model": {"width": report.width, "nested": report.nested},
        "splits": {name: _split_json(split) for name, split in report.splits.items()},
        "same_text": [asdict(each) for each in report.twins],
    }


def _split_json(split: SplitReport) -> dict[str, object]:
    """One split."""
    return {
        "documents": split.documents,
        "sentences": split.sentences,
        "words": split.words,
        "characters": split.characters,
        "sentences_in_train": split.seen,
        "long_sentences": split.long,
        "queries": split.queries,
        "two_texts": split.two_texts,
        "problems": split.problems,
        "layers": {name: _layer_json(layer) for name, layer in split.layers.items()},
    }


def _layer_json(layer: LayerReport) -> dict[str, object]:
    """One layer of one split."""
    census = layer.census
    return {
        "documents": layer.documents,
        "labels": {kind: dict(table.most_common()) for kind, table in census.labels.items()},
        "widths": {str(width): census.widths[width] for width in sorted(census.widths)},
        "spans": dict(census.shapes),
        "relations": dict(census.links),
        "events": asdict(layer.events),
        "asked": asdict(layer.asked),
        "between_parts": layer.between_parts,
        "ceiling": {
            "spans": _ceiling_json(layer.spans),
            "relations": _ceiling_json(layer.relations),
        },
    }


def _ceiling_json(ceiling: Ceiling) -> dict[str, object]:
    """Gold items, those in reach, and the others by reason."""
    return {
        "gold": ceiling.gold,
        "reached": ceiling.reached,
        "recall": ceiling.recall,
        "f1": ceiling.f1,
        "missed": {
            str(why): {"count": count, "examples": ceiling.examples[why]}
            for why, count in ceiling.missed.most_common()
        },
    }


def to_text(report: CheckReport) -> str:
    """Return aligned sections: sizes, texts that occur twice, then each layer of each split."""
    parts = ["\n".join(_sizes(report)), *_twins(report.twins)]
    for name, split in report.splits.items():
        parts += _problems(name, split)
        parts += _inputs(name, split)
        for layer, found in split.layers.items():
            parts.append("\n".join(_layer(f"{name}, layer {layer}", found, report)))
    return "\n\n".join(parts) + "\n"


def _sizes(report: CheckReport) -> Iterator[str]:
    """A line a split."""
    yield f"{'split':8}  documents  sentences     words  characters  sentences also in train"
    for name, each in report.splits.items():
        seen = "" if name == "train" or "train" not in report.splits else f"{each.seen:8}"
        line = f"{name:8}  {each.documents:9}  {each.sentences:9}  {each.words:8}"
        yield f"{line}  {each.characters:10}  {seen}".rstrip()


def _twins(twins: tuple[Twins, ...]) -> Iterator[str]:
    """The documents that share a text, leaks first."""
    if not twins:
        return
    leaks = sum(each.leak for each in twins)
    lines = [f"same text: {len(twins)} groups of documents, {leaks} of them across splits (a leak)"]
    for each in twins[:SHOWN]:
        spans = "same spans" if each.annotation else "different spans"
        names = " = ".join(each.names[:NAMES]) + (" = …" if len(each.names) > NAMES else "")
        lines.append(f"  {'LEAK' if each.leak else '    '} {names} ({spans})")
    yield "\n".join([*lines, *_more(len(twins))])


def _problems(name: str, split: SplitReport) -> Iterator[str]:
    """The first lines that could not be read, or not as they stand."""
    if split.problems:
        lines = [f"{name}: {len(split.problems)} problems in the files"]
        lines += [f"  {each}" for each in split.problems[:SHOWN]]
        yield "\n".join([*lines, *_more(len(split.problems))])


def _inputs(name: str, split: SplitReport) -> Iterator[str]:
    """The long sentences, the queries and the pairs of texts, where there are any."""
    lines = []
    if split.long:
        lines.append(f"{name}: {split.long} sentences of over {LONGEST} words are read in parts")
    if split.queries:
        lines.append(f"{name}: {split.queries} queries")
    if split.two_texts:
        lines.append(f"{name}: {split.two_texts} documents of two texts")
    if lines:
        yield "\n".join(lines)


def _more(size: int) -> Iterator[str]:
    """How many were not shown."""
    if size > SHOWN:
        yield f"  … and {size - SHOWN} more"


def _layer(title: str, layer: LayerReport, report: CheckReport) -> Iterator[str]:
    """All about one layer."""
    yield f"== {title}: {layer.documents} documents annotated"
    for kind, table in layer.census.labels.items():
        yield f"{kind}: {table.total()}"
        yield from _table(dict(table.most_common()))
    yield from _widths(layer.census)
    yield from _found("spans", layer.census.shapes)
    yield from _found("relations (event arguments among them)", layer.census.links)
    yield from _found("events", {EVENTS[key]: n for key, n in asdict(layer.events).items()})
    yield from _answers(layer)
    shape = "nested" if report.nested else "flat"
    width = "any width" if report.width is None else f"up to {report.width} words"
    yield f"ceiling of a model of {shape} spans of {width}:"
    yield from _ceiling("spans", layer.spans)
    yield from _ceiling("relations", layer.relations)


def _answers(layer: LayerReport) -> Iterator[str]:
    """How queries are answered, where the layer answers any; what is said of two texts."""
    asked = layer.asked
    if asked.meant:
        none = f"{asked.unanswered} have none"
        yield f"answers: {asked.answers} to {asked.queries} queries, of which {none}"
    if asked.strays:
        yield f"answers that name no query of their text, or are no spans: {asked.strays}"
    if layer.between_parts:
        yield f"relations between two texts (not in the ceiling below): {layer.between_parts}"


def _table(counts: Mapping[str, int]) -> Iterator[str]:
    """Counts before their names, aligned."""
    size = max((len(str(count)) for count in counts.values()), default=0)
    for name, count in counts.items():
        yield f"  {count:{size}}  {name}"


def _found(title: str, counts: Mapping[str, int]) -> Iterator[str]:
    """What was found of some shapes; those that do not occur are left out."""
    present = {name: count for name, count in counts.items() if count}
    if present:
        yield f"{title}, of them:"
        yield from _table(present)


def _widths(census: Census) -> Iterator[str]:
    """Widths in words with a bar each, and quantiles."""
    total = census.widths.total()
    if not total:
        return
    shares = ", ".join(f"{100 * q:g} % up to {census.width_at(q)}" for q in QUANTILES)
    yield f"widths in words: {shares}, all up to {max(census.widths)}"
    largest = max(census.widths.values())
    for width in sorted(census.widths):
        if width <= BARS:
            count = census.widths[width]
            bar = "#" * round(40 * count / largest)
            yield f"  {width:>5}  {count:7}  {100 * count / total:5.1f} %  {bar}".rstrip()
    wider = sum(count for width, count in census.widths.items() if width > BARS)
    if wider:
        yield f"  wider  {wider:7}  {100 * wider / total:5.1f} %"


def _ceiling(kind: str, ceiling: Ceiling) -> Iterator[str]:
    """Recall and F1 at best, then each reason with its first items."""
    if not ceiling.gold:
        return
    best = f"recall {100 * ceiling.recall:.2f}, F1 {100 * ceiling.f1:.2f}"
    yield f"  {kind}: {ceiling.reached} of {ceiling.gold} in reach: {best}"
    for why, count in ceiling.missed.most_common():
        yield f"    {count:6}  {why}"
        for example in ceiling.examples[why]:
            yield f"              {example}"
