"""Count what a corpus holds, and what a model cannot predict of it: ``spanloom check``."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from spanloom.annotation.events import (
    EventLosses,
    EventScheme,
    collect,
    losses,
    project,
    with_division,
)
from spanloom.annotation.label_sets import label_sets_of
from spanloom.annotation.text_pairs import classification_of, text_pair
from spanloom.annotation.word_index import WordIndex
from spanloom.corpora.folder import Corpus
from spanloom.corpora.layer_limits import CorpusLimits
from spanloom.corpora.locator import Locator
from spanloom.corpora.reachability import (
    LabelSets,
    ModelLimits,
    Reachability,
    Reason,
    relation_verdicts,
    span_verdicts,
)
from spanloom.corpora.statistics import CorpusStatistics, LayerStatistics, QueryCounts
from spanloom.document import GIVEN_WORDS, Document, Layer
from spanloom.errors import DataError
from spanloom.long_sentences import LONGEST, split_long
from spanloom.tokenization import Tokenization, words_of
from spanloom.workers.calls import Mapper, map_here

EXAMPLES = 5
_BATCH_CHARACTERS = 100_000  # checked at once; some tenths of a second
_PairIds = tuple[str, str]


@dataclass(slots=True)
class OracleScore:
    """Number of gold items that a model can predict, and the first few missed items per reason."""

    gold: int = 0
    missed: Counter[Reason] = field(default_factory=Counter)
    examples: dict[Reason, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, verdicts: Iterable[Reachability], locate: Locator) -> None:
        """Count one document's verdicts."""
        for verdict in verdicts:
            self.gold += 1
            if verdict.reason is None:
                continue
            self.missed[verdict.reason] += 1
            if len(self.examples[verdict.reason]) < EXAMPLES:
                self.examples[verdict.reason].append(locate(verdict.item))

    def merge(self, other: "OracleScore") -> None:
        """Add the verdicts of the documents that follow."""
        self.gold += other.gold
        self.missed.update(other.missed)
        for reason, examples in other.examples.items():
            self.examples[reason] = [*self.examples[reason], *examples][:EXAMPLES]

    @property
    def reachable(self) -> int:
        """Number of gold items that a model can predict."""
        return self.gold - self.missed.total()

    @property
    def recall(self) -> float:
        """Fraction of the gold items that can be predicted; 1.0 without gold."""
        return self.reachable / self.gold if self.gold else 1.0

    @property
    def f1(self) -> float:
        """F1 of a model that predicts exactly the items it can: precision 1."""
        return 2 * self.recall / (1 + self.recall)


@dataclass(slots=True)
class LayerReport:
    """One layer of one split.

    ``between_parts`` counts relations between the two parts of a document. No span model predicts
    them, so the oracle score leaves them out.
    """

    statistics: LayerStatistics
    events: EventLosses = field(default_factory=EventLosses)
    spans: OracleScore = field(default_factory=OracleScore)
    relations: OracleScore = field(default_factory=OracleScore)
    queries: QueryCounts = field(default_factory=QueryCounts)
    between_parts: int = 0

    def merge(self, other: "LayerReport") -> None:
        """Add the report of the documents that follow, but for statistics, which the split adds."""
        self.events += other.events
        self.spans.merge(other.spans)
        self.relations.merge(other.relations)
        self.queries.merge(other.queries)
        self.between_parts += other.between_parts


@dataclass(slots=True)
class SplitReport:
    """One split.

    ``seen`` counts sentences whose text also occurs in train (0 for train itself), ``long``
    sentences that are read in parts, ``two_texts`` documents with two parts.
    """

    statistics: CorpusStatistics = field(default_factory=CorpusStatistics)
    seen: int = 0
    long: int = 0
    two_texts: int = 0
    layers: dict[str, LayerReport] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def merge(self, other: "SplitReport") -> None:
        """Add the report of the documents that follow."""
        self.statistics.merge(other.statistics)
        self.seen += other.seen
        self.long += other.long
        self.two_texts += other.two_texts
        for name, layer in other.layers.items():
            statistics = self.statistics.layers[name]
            self.layers.setdefault(name, LayerReport(statistics)).merge(layer)
        self.problems += other.problems


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Documents (``split/name``) with equal text; ``annotation``: whether their spans agree too."""

    names: tuple[str, ...]
    leak: bool
    annotation: bool


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Reports of all splits, documents with equal texts, and the assumed limits of each layer."""

    splits: dict[str, SplitReport]
    duplicates: tuple[DuplicateGroup, ...]
    limits: CorpusLimits


@dataclass(frozen=True, slots=True)
class _TrainLayer:
    """Event scheme and labels of one layer in train; None without a train split: any label."""

    scheme: EventScheme
    spans: frozenset[str] | None = None
    relations: frozenset[str] | None = None
    label_sets: LabelSets | None = None


def check(
    corpora: Mapping[str, Corpus], limits: CorpusLimits, mapper: Mapper = map_here
) -> CheckReport:
    """Return counts and oracle scores of a corpus's splits, by name; ``mapper`` checks batches.

    Labels, roles and sentences that dev and test may share with train are taken from the split
    "train" if there is one; otherwise the event schemes are collected from all splits.
    """
    train = corpora.get("train")
    train_layers = _train_layers(
        corpora.values() if train is None else [train], limits, closed=train is not None
    )
    train_sentences: set[str] = set()
    splits: dict[str, SplitReport] = {}
    for name in sorted(corpora, key=lambda name: name != "train"):
        corpus = corpora[name]
        prefix = "" if corpus.root is None else f"{corpus.root}/"
        report = SplitReport(problems=[f"{prefix}{problem}" for problem in corpus.problems])
        checker = _BatchChecker(limits, train_layers, corpus.root)
        for part, sentences in mapper(checker, _batches(corpus.documents)):
            report.merge(part)
            if name == "train":
                train_sentences.update(sentences)
            else:
                report.seen += sum(sentence in train_sentences for sentence in sentences)
        splits[name] = report
    documents = {name: corpus.documents for name, corpus in corpora.items()}
    ordered = {name: splits[name] for name in corpora}
    return CheckReport(ordered, duplicates(documents), limits)


def _batches(documents: Sequence[Document]) -> Iterator[Sequence[Document]]:
    """Yield the documents in runs of about as many characters."""
    first = size = 0
    for end, document in enumerate(documents, 1):
        size += len(document.text)
        if size >= _BATCH_CHARACTERS or end == len(documents):
            yield documents[first:end]
            first, size = end, 0


def _train_layers(
    corpora: Iterable[Corpus], limits: CorpusLimits, *, closed: bool
) -> dict[str, _TrainLayer]:
    """Return the event scheme and labels of each layer, by name."""
    documents = chain.from_iterable(corpus.documents for corpus in corpora)
    return {
        name: _collect_layer(same_name, limits.of(name), closed=closed)
        for name, same_name in layers_by_name(documents).items()
    }


def layers_by_name(documents: Iterable[Document]) -> dict[str, list[Layer]]:
    """Return the layers of all documents, by name."""
    layers: dict[str, list[Layer]] = defaultdict(list)
    for document in documents:
        for layer in document.layers:
            layers[layer.name].append(layer)
    return dict(layers)


def _collect_layer(layers: Sequence[Layer], limits: ModelLimits, *, closed: bool) -> _TrainLayer:
    """Collect the event scheme of a layer, and its labels if they are ``closed``."""
    scheme = collect(layers)
    if limits.several_events:
        scheme = with_division(scheme, layers)
    if not closed:
        return _TrainLayer(scheme)
    spans = frozenset(span.label for layer in layers for span in layer.spans)
    relations = (relation for layer in layers for relation in project(layer, scheme)[1])
    return _TrainLayer(
        scheme,
        spans,
        frozenset(relation.label for relation in relations),
        frozenset(labels for layer in layers for labels in label_sets_of(layer.spans)),
    )


@dataclass(frozen=True, slots=True)
class _BatchChecker:
    """Checks some documents of a split, whose names are relative to ``root``."""

    limits: CorpusLimits
    train_layers: Mapping[str, _TrainLayer]
    root: Path | None

    def __call__(self, documents: Sequence[Document]) -> tuple[SplitReport, list[str]]:
        """Return the report of the documents, and the texts of their sentences."""
        prefix = "" if self.root is None else f"{self.root}/"
        report = SplitReport()
        sentences: list[str] = []
        for document in documents:
            words = words_of(document, self.limits.default.split)
            report.statistics.add(document, words)
            sentences += _sentence_texts(document.text, words)
            pair = _pair_ids(document, report, prefix)
            report.two_texts += pair is not None
            _, inner = split_long(document.text, words.words, words.sentences)
            report.long += sum(end - start > LONGEST for start, end in words.sentences)
            word_index, locator = WordIndex(words, inner), Locator(document, self.root)
            for layer in document.layers:
                if layer.name not in GIVEN_WORDS:
                    self._add_layer(report, layer, word_index, locator, pair)
        return report, sentences

    def _add_layer(
        self,
        report: SplitReport,
        layer: Layer,
        word_index: WordIndex,
        locator: Locator,
        pair: _PairIds | None,
    ) -> None:
        """Count one document's layer and its oracle scores; ``pair``: ids of the two text parts."""
        train_layer = self.train_layers.get(
            layer.name, _TrainLayer(EventScheme(), frozenset(), frozenset(), frozenset())
        )
        statistics, limits = report.statistics.layers[layer.name], self.limits.of(layer.name)
        layer_report = report.layers.setdefault(layer.name, LayerReport(statistics))
        _, relations = project(layer, train_layer.scheme)
        statistics.add_shapes(layer, relations, word_index)
        layer_report.events += losses(layer, train_layer.scheme)
        span_results = span_verdicts(
            layer.spans, word_index, limits, train_layer.spans, train_layer.label_sets
        )
        layer_report.spans.add(span_results, locator)
        by_id = {span.id: span for span in layer.spans}
        scored_relations = [
            relation for relation in relations if (relation.head, relation.tail) != pair
        ]
        relation_results = relation_verdicts(
            scored_relations, span_results, by_id, word_index, limits, train_layer.relations
        )
        layer_report.relations.add(relation_results, locator)
        layer_report.between_parts += len(relations) - len(scored_relations)
        layer_report.queries.add(locator.document, layer.name)


def _sentence_texts(text: str, words: Tokenization) -> list[str]:
    """Return the texts of the sentences."""
    bounds = ((words.words[a][0], words.words[b - 1][1]) for a, b in words.sentences)
    return [text[start:end] for start, end in bounds]


def _pair_ids(document: Document, report: SplitReport, prefix: str) -> _PairIds | None:
    """Return the ids of the two text parts, if any; errors become problems of the split."""
    try:
        text_spans = text_pair(document)
        if not text_spans:
            return None
        first, second = (span.id for span in text_spans)
    except DataError as error:
        report.problems.append(f"{prefix}{error}")
        return None
    for layer in document.layers:
        if any((relation.head, relation.tail) == (first, second) for relation in layer.relations):
            try:
                classification_of(document, layer.name)
            except DataError as error:
                report.problems.append(f"{prefix}{error}")
    return first, second


def duplicates(splits: Mapping[str, Sequence[Document]]) -> tuple[DuplicateGroup, ...]:
    """Return the groups of documents with equal text, ignoring blank texts and outer blanks.

    A group is a leak if its documents come from several splits. Leaks come first.
    """
    groups: dict[str, list[tuple[str, Document]]] = defaultdict(list)
    for split, documents in splits.items():
        for document in documents:
            groups[document.text.strip()].append((split, document))
    duplicate_groups = [
        _describe_group(group) for text, group in groups.items() if text and len(group) > 1
    ]
    return tuple(sorted(duplicate_groups, key=lambda group: (not group.leak, group.names)))


def _describe_group(group: Sequence[tuple[str, Document]]) -> DuplicateGroup:
    """Describe one group."""
    names = tuple(f"{split}/{document.name}" for split, document in group)
    annotations = {_span_contents(document) for _, document in group}
    return DuplicateGroup(names, len({split for split, _ in group}) > 1, len(annotations) == 1)


def _span_contents(document: Document) -> frozenset[tuple[str, str, object]]:
    """Return the spans of all layers, with offsets from the first character that is not blank."""
    leading_blanks = len(document.text) - len(document.text.lstrip())
    return frozenset(
        (
            layer.name,
            span.label,
            tuple(sorted((a - leading_blanks, b - leading_blanks) for a, b in span.fragments)),
        )
        for layer in document.layers
        for span in layer.spans
    )
