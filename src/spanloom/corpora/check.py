"""Count what a corpus holds, and what a model cannot predict of it: ``spanloom check``."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
from spanloom.corpora.reachability import (
    LabelSets,
    ModelLimits,
    Reachability,
    Reason,
    relation_verdicts,
    span_verdicts,
)
from spanloom.corpora.statistics import CorpusStatistics, LayerStatistics, QueryCounts
from spanloom.document import GIVEN_WORDS, Document, Layer, Relation, Span
from spanloom.errors import DataError
from spanloom.long_sentences import LONGEST, split_long
from spanloom.tokenization import Tokenization, words_of

EXAMPLES = 5
_PairIds = tuple[str, str]


class Locator:
    """Locations of one document's annotations; its lines are indexed when first needed."""

    def __init__(self, document: Document, root: Path | None) -> None:
        """``root`` is the folder that the document's name is relative to."""
        self.document = document
        self.path_stem = document.name if root is None else str(root / document.name)

    @cached_property
    def _locations(self) -> dict[str, str]:
        """``file:line`` of each annotation, by id."""
        locations: dict[str, str] = {}
        line_numbers: dict[str, int] = {}
        source = self.document.source
        for line in source.lines if source else ():
            line_numbers[line.file] = line_numbers.get(line.file, 0) + 1
            if line.annotation is not None:
                locations.setdefault(
                    line.annotation.id, f"{self.path_stem}{line.file}:{line_numbers[line.file]}"
                )
        return locations

    @cached_property
    def _spans_by_id(self) -> dict[str, Span]:
        """All spans by id."""
        return {span.id: span for layer in self.document.layers for span in layer.spans}

    def __call__(self, item: Span | Relation) -> str:
        """Return location, label and text on one line; arguments have their event's location."""
        id_ = item.id if item.id in self._locations else item.id.partition(":")[0]
        if isinstance(item, Span):
            description = f"{item.label} {self._quoted_text(item)}"
        else:
            ends = (self._spans_by_id.get(end) for end in (item.head, item.tail))
            head, tail = (self._quoted_text(span) if span else "?" for span in ends)
            description = f"{item.label} {head} -> {tail}"
        return f"{self._locations.get(id_) or self._offset_location(item)} {description}"

    def _offset_location(self, item: Span | Relation) -> str:
        """Return ``document:offset`` of the first character of a span, or of a relation's head."""
        span = item if isinstance(item, Span) else self._spans_by_id.get(item.head)
        return f"{self.path_stem}:{span.start}" if span else self.path_stem

    def _quoted_text(self, span: Span) -> str:
        """Return the covered text in quotes, shortened to 40 characters."""
        text = self.document.text_of(span)
        return repr(text if len(text) <= 40 else f"{text[:37]}...")


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


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Documents (``split/name``) with equal text; ``annotation``: whether their spans agree too."""

    names: tuple[str, ...]
    leak: bool
    annotation: bool


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Reports of all splits, documents with equal texts, and the assumed limits of the model."""

    splits: dict[str, SplitReport]
    duplicates: tuple[DuplicateGroup, ...]
    limits: ModelLimits


@dataclass(frozen=True, slots=True)
class _TrainLayer:
    """Event scheme and labels of one layer in train; None without a train split: any label."""

    scheme: EventScheme
    spans: frozenset[str] | None = None
    relations: frozenset[str] | None = None
    label_sets: LabelSets | None = None


def check(corpora: Mapping[str, Corpus], limits: ModelLimits) -> CheckReport:
    """Return counts and oracle scores of a corpus's splits, by name.

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
        checker = _SplitChecker(limits, train_layers, train_sentences, is_train=name == "train")
        splits[name] = checker.split(corpora[name])
    documents = {name: corpus.documents for name, corpus in corpora.items()}
    ordered = {name: splits[name] for name in corpora}
    return CheckReport(ordered, duplicates(documents), limits)


def _train_layers(
    corpora: Iterable[Corpus], limits: ModelLimits, *, closed: bool
) -> dict[str, _TrainLayer]:
    """Return the event scheme and labels of each layer, by name."""
    layers: dict[str, list[Layer]] = defaultdict(list)
    for corpus in corpora:
        for document in corpus.documents:
            for layer in document.layers:
                layers[layer.name].append(layer)
    return {
        name: _collect_layer(same_name, limits, closed=closed) for name, same_name in layers.items()
    }


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
class _SplitChecker:
    """Checks the documents of one split."""

    limits: ModelLimits
    train_layers: Mapping[str, _TrainLayer]
    train_sentences: set[str]
    is_train: bool

    def split(self, corpus: Corpus) -> SplitReport:
        """Report on one split; the sentences of train are remembered for the other splits."""
        prefix = "" if corpus.root is None else f"{corpus.root}/"
        report = SplitReport(problems=[f"{prefix}{problem}" for problem in corpus.problems])
        for document in corpus.documents:
            words = words_of(document, self.limits.split)
            report.statistics.add(document, words)
            report.seen += self._count_seen(document.text, words)
            pair = _pair_ids(document, report, prefix)
            report.two_texts += pair is not None
            _, inner = split_long(document.text, words.words, words.sentences)
            report.long += sum(end - start > LONGEST for start, end in words.sentences)
            word_index, locator = WordIndex(words, inner), Locator(document, corpus.root)
            for layer in document.layers:
                if layer.name not in GIVEN_WORDS:
                    self._add_layer(report, layer, word_index, locator, pair)
        return report

    def _count_seen(self, text: str, words: Tokenization) -> int:
        """Return the number of sentences that occur in train; train's own are stored and give 0."""
        bounds = ((words.words[a][0], words.words[b - 1][1]) for a, b in words.sentences)
        sentences = [text[start:end] for start, end in bounds]
        if self.is_train:
            self.train_sentences.update(sentences)
            return 0
        return sum(sentence in self.train_sentences for sentence in sentences)

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
        statistics = report.statistics.layers[layer.name]
        layer_report = report.layers.setdefault(layer.name, LayerReport(statistics))
        _, relations = project(layer, train_layer.scheme)
        statistics.add_shapes(layer, relations, word_index)
        layer_report.events += losses(layer, train_layer.scheme)
        span_results = span_verdicts(
            layer.spans, word_index, self.limits, train_layer.spans, train_layer.label_sets
        )
        layer_report.spans.add(span_results, locator)
        by_id = {span.id: span for span in layer.spans}
        scored_relations = [
            relation for relation in relations if (relation.head, relation.tail) != pair
        ]
        relation_results = relation_verdicts(
            scored_relations, span_results, by_id, word_index, self.limits, train_layer.relations
        )
        layer_report.relations.add(relation_results, locator)
        layer_report.between_parts += len(relations) - len(scored_relations)
        layer_report.queries.add(locator.document, layer.name)


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
