"""Tell from a layer's annotations which kind of task can learn it, and with which options.

Each recognizer looks at one layer in all its documents, never at the layer's name. The first that
fits decides: from the most particular (answers of questions) to the most general (entities).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from spanloom.annotation.connected_spans import connected_spans
from spanloom.annotation.queries import QUERY
from spanloom.annotation.text_pairs import TEXT_PAIR, Classification, classification_of
from spanloom.document import GIVEN_WORDS, Document, Layer, Relation
from spanloom.errors import DataError
from spanloom.formats._conllu import TOKENS
from spanloom.formats.opinions import SOURCE, TARGET
from spanloom.viewer.shapes import CLUSTERS, CONSTITUENTS, DEPENDENCY, TUPLES, shapes_of

Options = Mapping[str, Any]

_INPUTS = frozenset({*GIVEN_WORDS, TOKENS, TEXT_PAIR})  # layers that no task predicts
_NEARLY_ALL = 0.95  # share of a text's characters from which on all words are labelled
_MAX_CLASSES = 50  # labels of texts; more are rather names of something
_LONG_CHAINS = 0.05  # share of clusters with three mentions or more, in coreference
_POLARITY = re.compile(r"(?:pos|neg|neu|con|mix)[a-z]*", re.IGNORECASE)
_OPINION_ROLES = {SOURCE, TARGET}
_TUPLE_ROLE = re.compile(r"A\d+$")  # of open IE: arguments in their order
_PROPBANK_ROLE = re.compile(r"(?:[RC]-)?(?:(?:ARG|A)(?:\d|A|M)|V)\b")
_COREFERENCE = re.compile(r"coref|ident|anaph|equiv|same", re.IGNORECASE)

KIND_OPTIONS: Mapping[str, Options] = {
    "coreference": {
        "antecedents": "coarse",
        "max_training_windows": 8,
        "max_span_width": 12,
        "attributes": False,
    },
    "constituency": {"hidden_size": 192, "boundary_context": True, "loss": "inside"},
    "dependency": {"hidden_size": 384, "dropout": 0.2},
    "extractive_regression": {"number": "expected"},
    "srl": {
        "max_span_width": 24,
        "argument_spans_per_word": 0.8,
        "predicate_spans_per_word": 0.25,
        "attributes": False,
    },
    "openie": {
        "max_span_width": 24,
        "argument_spans_per_word": 0.8,
        "predicate_spans_per_word": 0.25,
    },
    "opinions": {"argument_spans_per_word": 0.5, "attributes": False},
    "relations": {"spans_per_word": 0.4},
}  # settings that did well in the recipes of Open GLAD; other kinds have their defaults


@dataclass(frozen=True)
class LayerSample:
    """One layer in all documents that have it, and the shape as which the viewer draws it."""

    name: str
    documents: tuple[Document, ...]
    shape: str | None

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The layer of each document."""
        return tuple(document[self.name] for document in self.documents)

    @cached_property
    def filled(self) -> tuple[tuple[Document, Layer], ...]:
        """The documents in which the layer has annotations, each with the layer."""
        pairs = zip(self.documents, self.layers, strict=True)
        return tuple((document, layer) for document, layer in pairs if any(layer.annotations()))

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """All relations of the layer."""
        return tuple(relation for layer in self.layers for relation in layer.relations)

    @cached_property
    def span_labels(self) -> frozenset[str]:
        """The labels of all spans."""
        return frozenset(span.label for layer in self.layers for span in layer.spans)

    @cached_property
    def roles(self) -> frozenset[str]:
        """The labels of all relations."""
        return frozenset(relation.label for relation in self.relations)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A kind of task for a layer, and why."""

    kind: str
    reason: str
    options: Options = field(default_factory=dict)


Recognizer = Callable[[LayerSample], str | None]  # the reason why a kind fits, None if it does not


def samples(documents: Sequence[Document]) -> dict[str, LayerSample]:
    """Return the layers with annotations by name, without those that are input of tasks."""
    shapes = shapes_of(documents)
    by_name: dict[str, list[Document]] = {}
    for document in documents:
        for layer in document.layers:
            if layer.name in shapes and layer.name not in _INPUTS:
                by_name.setdefault(layer.name, []).append(document)
    return {
        name: LayerSample(name, tuple(having), shapes[name]) for name, having in by_name.items()
    }


def suggest(sample: LayerSample) -> Suggestion:
    """Return the kind of task that fits a layer with annotations."""
    for kind, recognize in _RECOGNIZERS:
        if reason := recognize(sample):
            return suggestion(kind, reason)
    return suggestion("entities", "labelled spans")


def suggestion(kind: str, reason: str) -> Suggestion:
    """Return a kind with the options that did well for it."""
    return Suggestion(kind, reason, KIND_OPTIONS.get(kind, {}))


def _answers(sample: LayerSample) -> str | None:
    """Recognize answers by their questions."""
    answered = sum(
        attribute.label == QUERY for layer in sample.layers for attribute in layer.attributes
    )
    asked = sum(len(document.queries) for document in sample.documents)
    return f"{answered} answers to {asked} questions" if answered and asked else None


def _numbers(sample: LayerSample) -> str | None:
    """Recognize texts or pairs of texts with a number each."""
    classes = _classifications(sample)
    if not classes or any(value.value is None for value in classes):
        return None
    values = [value.value for value in classes if value.value is not None]
    return f"a number for each text, from {min(values):g} to {max(values):g}"


def _classes(sample: LayerSample) -> str | None:
    """Recognize texts or pairs of texts with a class each."""
    labels = {value.label for value in _classifications(sample)}
    fits = 1 < len(labels) <= _MAX_CLASSES
    return f"one of {len(labels)} classes for each text" if fits else None


def _classifications(sample: LayerSample) -> list[Classification]:
    """Return the class of each text; nothing if a span is not a whole text."""
    classes = []
    for document, _ in sample.filled:
        try:
            value = classification_of(document, sample.name)
        except DataError:
            return []
        if value is not None:
            classes.append(value)
    return classes


def _word_labels(sample: LayerSample) -> str | None:
    """Recognize a label on every word: spans side by side that cover the text."""
    if any(layer.relations or layer.events for layer in sample.layers):
        return None
    num_spans = num_words = num_covered = num_characters = 0
    for document, layer in sample.filled:
        words = document.text.split()  # a text has at least so many
        bounds = sorted(fragment for span in layer.spans for fragment in span.fragments)
        if any(end > start for (_, end), (start, _) in zip(bounds, bounds[1:], strict=False)):
            return None
        num_spans += len(bounds)
        num_words += len(words)
        num_covered += sum(end - start for start, end in bounds)
        num_characters += sum(map(len, words))
    if num_covered < _NEARLY_ALL * num_characters or num_spans < _NEARLY_ALL * num_words:
        return None
    return f"a label on every word, {len(sample.span_labels)} labels"


def _heads(sample: LayerSample) -> str | None:
    """Recognize dependency trees: words with one head each, and roots."""
    fits = sample.shape == DEPENDENCY
    return "words with one head each" if fits else None


def _trees(sample: LayerSample) -> str | None:
    """Recognize constituents: spans that nest, and cover the text."""
    return "nested constituents of whole sentences" if sample.shape == CONSTITUENTS else None


def _chains(sample: LayerSample) -> str | None:
    """Recognize clusters of mentions by what their links are called, or by long ones."""
    named = len(sample.roles) == 1 and all(map(_COREFERENCE.search, sample.roles))
    if not (named or sample.shape == CLUSTERS):
        return None
    groups = [group for layer in sample.layers for group in connected_spans(layer)]
    sizes = [len(group) for group in groups if len(group) > 1]
    long_chains = sum(size > 2 for size in sizes)
    is_coreference = named or not sample.relations or long_chains >= _LONG_CHAINS * len(sizes)
    if not sizes or not is_coreference:
        return None
    return f"{len(sizes)} chains of mentions, {max(sizes)} mentions in the longest"


def _tuples(sample: LayerSample) -> str | None:
    """Recognize open IE: predicates with arguments that have only an order."""
    fits = sample.shape == TUPLES and all(map(_TUPLE_ROLE.match, sample.roles))
    one_predicate = len(sample.span_labels) == 2
    return "predicates with numbered arguments" if fits and one_predicate else None


def _opinions(sample: LayerSample) -> str | None:
    """Recognize opinions by the roles of those who hold them and of what they are about."""
    fits = bool(sample.roles) and sample.roles <= _OPINION_ROLES
    return "opinions with their sources and targets" if fits else None


def _semantic_roles(sample: LayerSample) -> str | None:
    """Recognize predicates with PropBank's roles."""
    fits = bool(sample.roles) and all(map(_PROPBANK_ROLE.match, sample.roles))
    return "predicates with PropBank's roles" if fits else None


def _polarities(sample: LayerSample) -> str | None:
    """Recognize aspect terms by labels that are polarities."""
    labels = sample.span_labels
    fits = len(labels) in (2, 3, 4) and all(map(_POLARITY.fullmatch, labels))
    if not fits or sample.relations:
        return None
    return f"terms that are {', '.join(sorted(labels))}"


def _relations(sample: LayerSample) -> str | None:
    """Recognize relations or events."""
    events = any(layer.events for layer in sample.layers)
    parts = [name for name, there in (("relations", sample.relations), ("events", events)) if there]
    return f"spans with {' and '.join(parts)}" if parts else None


_RECOGNIZERS: Sequence[tuple[str, Recognizer]] = (
    ("extractive_qa", _answers),
    ("extractive_regression", _numbers),
    ("text_classification", _classes),
    ("pos", _word_labels),
    ("dependency", _heads),
    ("constituency", _trees),
    ("coreference", _chains),
    ("openie", _tuples),
    ("opinions", _opinions),
    ("srl", _semantic_roles),
    ("aspects", _polarities),
    ("relations", _relations),
)
