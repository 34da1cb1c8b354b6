"""Statistics of the prepared datasets as a markdown page (SpanRel, table 3 and appendix A)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from spanloom.annotation.nesting import has_nesting
from spanloom.corpora import card as cards
from spanloom.corpora import folder
from spanloom.corpora.card import Card
from spanloom.corpora.check import LayerReport, check
from spanloom.corpora.folder import Corpus
from spanloom.corpora.layer_limits import CorpusLimits
from spanloom.corpora.prepare import Prepared, read_summary
from spanloom.corpora.reachability import ModelLimits
from spanloom.document import GIVEN_WORDS, Document
from spanloom.errors import DataError
from spanloom.tokenization import word_tokenizer

_HEAD = "| split | documents | sentences | words | layer | spans | relations | ceiling, F1 |\n"
_RULE = "|---|---:|---:|---:|---|---:|---:|---:|\n"
_CHAINS = {"constituency"}  # layers where spans have several labels: a unary chain is one label
_ROOTS = {"dependency"}  # layers where a relation may lead from a word to itself


def statistics_page(data: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield the page, one section per dataset; raises ``DataError`` if none is prepared."""
    prepared = [
        (name, dataset) for name in names if (dataset := read_summary(data, name)) is not None
    ]
    if not prepared:
        raise DataError(f"{data}: no prepared dataset; spanloom glad prepare all makes them")
    yield (
        "# Open GLAD: the datasets\n\nMade by `spanloom glad stats`. The ceiling is the highest F1 "
        "that a model can reach that predicts spans of\nwhole words, of any width, and relations "
        "within one sentence; everything else counts as missed.\n"
    )
    for name, dataset in prepared:
        yield _section(name, cards.load(name), dataset, data / name)


def _section(name: str, card: Card, dataset: Prepared, folder: Path) -> str:
    """Return the section of a dataset: its source, its contents, notes on comparability."""
    facts = [
        f"{card.title}. {card.homepage}",
        f"Licence: {card.license}; data {_may(card.may_share_data)}, "
        f"weights {_may(card.may_share_weights)}.",
        f"Tasks: {', '.join(card.tasks)}; scored by `{card.metric}`.",
    ]
    if card.custom_split:
        facts.append("Own split: there is no official one.")
    facts += [f"{label}: {value}" for label, value in _card_notes(card) if value]
    facts += [f"**Differs from the card:** {fact}." for fact in dataset.differing(card)]
    rows = "".join(_rows(dataset, folder))
    return (
        f"\n## {name}\n\n" + "\n".join(f"* {fact}" for fact in facts) + f"\n\n{_HEAD}{_RULE}{rows}"
    )


def _card_notes(card: Card) -> list[tuple[str, str]]:
    notes = ("Paper", card.reported), ("Comparability", card.comparability)
    return [*notes, ("Cite", card.citation)]


def _may(allowed: bool) -> str:
    return "may be passed on" if allowed else "may not be passed on"


def _rows(dataset: Prepared, corpus_dir: Path) -> Iterator[str]:
    """Yield the rows of a dataset's table, one per split and layer."""
    corpora = {split: folder.read(corpus_dir, split) for split in dataset.counts}
    for split, counts in dataset.counts.items():
        sizes = [counts.get(what, 0) for what in ("documents", "sentences", "words")]
        head = " | ".join(f"{size:,}" for size in sizes)
        layers = _layers(corpora[split].documents)
        for number, layer in enumerate(layers or [""]):
            start = f"| {split} | {head}" if number == 0 else "| | | | "
            yield f"{start} | {_layer(corpora[split], layer)} |\n"


def _layers(documents: Iterable[Document]) -> list[str]:
    names = {layer.name for document in documents for layer in document.layers}
    return sorted(names.difference(GIVEN_WORDS))


def _layer(corpus: Corpus, layer: str) -> str:
    """Return the cells of one layer, with the ceiling if a span model can learn the layer."""
    if not layer:
        return " | | | "
    alone = tuple(document.unannotated([layer]) for document in corpus.documents)
    bounds = (
        [(span.start, span.end) for span in document[layer].spans]
        for document in alone
        if document.has_layer(layer)
    )
    reach = ModelLimits(
        word_tokenizer("whitespace", "newline"),
        nested=has_nesting(bounds),
        multi_label=layer in _CHAINS,
        self_pairs=layer in _ROOTS,
    )
    split = {"all": replace(corpus, documents=alone)}
    report = check(split, CorpusLimits(reach)).splits["all"]
    counts = report.layers[layer]
    return f"{layer} | {counts.spans.gold:,} | {counts.relations.gold:,} | {_ceiling(counts)}"


def _ceiling(layer: LayerReport) -> str:
    """Return the F1 ceiling of spans, and of relations if there are any."""
    scores = [c.f1 for c in (layer.spans, layer.relations) if c.gold]
    return " / ".join(f"{100 * f1:.1f}" for f1 in scores) or "–"


def differences(prepared: Mapping[str, Prepared]) -> list[str]:
    """Return a line for each count that differs from the card's."""
    return [
        f"{name}: {difference}"
        for name, dataset in prepared.items()
        for difference in dataset.differing(cards.load(name))
    ]
