"""What is in a corpus, and what a model cannot reach in it: the engine of ``spanloom check``."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from spanloom.corpora.census import Asked, Census
from spanloom.corpora.folder import Corpus
from spanloom.corpora.reach import Reach, Verdict, Why, relation_verdicts, span_verdicts
from spanloom.corpora.twins import Twins, twins
from spanloom.corpora.where import Locator
from spanloom.document import GIVEN, Document, Layer
from spanloom.errors import DataError
from spanloom.forms.events import EventLosses, EventScheme, collect, losses, project
from spanloom.forms.grid import Grid
from spanloom.forms.parts import judged, parts
from spanloom.long_sentences import LONGEST
from spanloom.long_sentences import parts as in_parts
from spanloom.words import Words, words_of

EXAMPLES = 5
_Ends = tuple[str, str]


@dataclass(slots=True)
class Ceiling:
    """How many gold items a model can reach, why not the others, with the first few of each."""

    gold: int = 0
    missed: Counter[Why] = field(default_factory=Counter)
    examples: dict[Why, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, verdicts: Iterable[Verdict], where: Locator) -> None:
        """Count one document's verdicts."""
        for verdict in verdicts:
            self.gold += 1
            if verdict.why is None:
                continue
            self.missed[verdict.why] += 1
            if len(self.examples[verdict.why]) < EXAMPLES:
                self.examples[verdict.why].append(where(verdict.item))

    @property
    def reached(self) -> int:
        """Gold items that a model can give."""
        return self.gold - self.missed.total()

    @property
    def recall(self) -> float:
        """Share of the gold items that can be reached; 1.0 without gold."""
        return self.reached / self.gold if self.gold else 1.0

    @property
    def f1(self) -> float:
        """F1 of a model that gives exactly what can be reached: precision 1."""
        return 2 * self.recall / (1 + self.recall)


@dataclass(slots=True)
class LayerReport:
    """One layer of one split; ``documents`` are those annotated with it.

    ``between_parts`` are relations between the two parts of a document: no span model gives them,
    so they are no part of the ceiling.
    """

    documents: int = 0
    census: Census = field(default_factory=Census)
    events: EventLosses = field(default_factory=EventLosses)
    spans: Ceiling = field(default_factory=Ceiling)
    relations: Ceiling = field(default_factory=Ceiling)
    asked: Asked = field(default_factory=Asked)
    between_parts: int = 0


@dataclass(slots=True)
class SplitReport:
    """One split.

    ``seen`` are sentences that stand in train too, word for word; 0 for train. ``long`` are
    sentences that are read in parts. ``two_texts`` are
    documents of two parts.
    """

    documents: int = 0
    sentences: int = 0
    words: int = 0
    characters: int = 0
    seen: int = 0
    long: int = 0
    queries: int = 0
    two_texts: int = 0
    layers: dict[str, LayerReport] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All splits, documents that share a text, and what was assumed of the model."""

    splits: dict[str, SplitReport]
    twins: tuple[Twins, ...]
    width: int | None
    nested: bool


@dataclass(frozen=True, slots=True)
class _Known:
    """What train knows of one layer; None without a train split: everything."""

    scheme: EventScheme
    spans: frozenset[str] | None = None
    relations: frozenset[str] | None = None


def check(corpora: Mapping[str, Corpus], reach: Reach) -> CheckReport:
    """Count and judge the splits of a corpus, by name.

    Labels, roles and sentences that dev and test may share with train are taken from the split
    "train", where there is one; events are understood by all splits otherwise.
    """
    train = corpora.get("train")
    known = _known(corpora.values() if train is None else [train], closed=train is not None)
    train_sentences: set[str] = set()
    splits: dict[str, SplitReport] = {}
    for name in sorted(corpora, key=lambda each: each != "train"):
        judge = _Judge(reach, known, train_sentences, learns=name == "train")
        splits[name] = judge.split(corpora[name])
    documents = {name: corpus.documents for name, corpus in corpora.items()}
    ordered = {name: splits[name] for name in corpora}
    return CheckReport(ordered, twins(documents), reach.width, reach.nested)


def _known(corpora: Iterable[Corpus], *, closed: bool) -> dict[str, _Known]:
    """What can be learnt of each layer."""
    layers: dict[str, list[Layer]] = defaultdict(list)
    for corpus in corpora:
        for document in corpus.documents:
            for layer in document.layers:
                layers[layer.name].append(layer)
    return {name: _learn(each, closed=closed) for name, each in layers.items()}


def _learn(layers: Sequence[Layer], *, closed: bool) -> _Known:
    """Collect the scheme of events, and the labels where they are ``closed``."""
    scheme = collect(layers)
    if not closed:
        return _Known(scheme)
    spans = frozenset(span.label for layer in layers for span in layer.spans)
    pairs = (relation for layer in layers for relation in project(layer, scheme)[1])
    return _Known(scheme, spans, frozenset(relation.label for relation in pairs))


@dataclass(frozen=True, slots=True)
class _Judge:
    """Goes through the documents of one split."""

    reach: Reach
    known: Mapping[str, _Known]
    train_sentences: set[str]
    learns: bool

    def split(self, corpus: Corpus) -> SplitReport:
        """Report on one split; train's sentences are remembered for the others."""
        start = "" if corpus.root is None else f"{corpus.root}/"
        report = SplitReport(problems=[f"{start}{problem}" for problem in corpus.problems])
        for document in corpus.documents:
            words = words_of(document, self.reach.split)
            report.documents += 1
            report.sentences += len(words.sentences)
            report.words += len(words.words)
            report.characters += len(document.text)
            report.seen += self._compare(document.text, words)
            report.queries += len(document.queries)
            ends = _ends(document, report, start)
            report.two_texts += ends is not None
            _, inner = in_parts(document.text, words.words, words.sentences)
            report.long += sum(end - first > LONGEST for first, end in words.sentences)
            grid, where = Grid(words, inner), Locator(document, corpus.root)
            for layer in document.layers:
                if layer.name not in GIVEN:
                    self._layer(report, layer, grid, where, ends)
        return report

    def _compare(self, text: str, words: Words) -> int:
        """How many sentences stand in train; train itself is learnt and counts none."""
        bounds = ((words.words[a][0], words.words[b - 1][1]) for a, b in words.sentences)
        sentences = [text[start:end] for start, end in bounds]
        if self.learns:
            self.train_sentences.update(sentences)
            return 0
        return sum(sentence in self.train_sentences for sentence in sentences)

    def _layer(
        self, report: SplitReport, layer: Layer, grid: Grid, where: Locator, ends: _Ends | None
    ) -> None:
        """Count and judge one layer of one document, whose parts have the ids ``ends``."""
        known = self.known.get(layer.name, _Known(EventScheme(), frozenset(), frozenset()))
        found = report.layers.setdefault(layer.name, LayerReport())
        _, relations = project(layer, known.scheme)
        found.documents += 1
        found.census.add(layer, relations, grid)
        found.events += losses(layer, known.scheme)
        spans = span_verdicts(layer.spans, grid, self.reach, known.spans)
        found.spans.add(spans, where)
        by_id = {span.id: span for span in layer.spans}
        inner = [each for each in relations if (each.head, each.tail) != ends]
        pairs = relation_verdicts(inner, spans, by_id, grid, self.reach, known.relations)
        found.relations.add(pairs, where)
        found.between_parts += len(relations) - len(inner)
        found.asked.add(where.document, layer.name)


def _ends(document: Document, report: SplitReport, start: str) -> _Ends | None:
    """Return the ids of the two parts; what is wrong with them is a problem of the split."""
    try:
        found = parts(document)
        if not found:
            return None
        first, second = (span.id for span in found)
    except DataError as error:
        report.problems.append(f"{start}{error}")
        return None
    for layer in document.layers:
        if any((each.head, each.tail) == (first, second) for each in layer.relations):
            try:
                judged(document, layer.name)
            except DataError as error:
                report.problems.append(f"{start}{error}")
    return first, second
