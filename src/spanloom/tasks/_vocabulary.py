"""Options of span tasks, and the labels and limits that are inferred from train."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from spanloom.annotation import attributes
from spanloom.annotation.attributes import AttributeScheme
from spanloom.annotation.events import EventScheme, collect, project
from spanloom.annotation.nesting import has_nesting
from spanloom.annotation.partial_labels import UNKNOWN_LABEL
from spanloom.config.options import Options
from spanloom.corpora.reachability import RELATION_HORIZON
from spanloom.errors import DataError
from spanloom.tasks._base import TrainDocuments
from spanloom.tasks._spans import Labels, word_bounds

_COVERED = 998  # of 1,000 of train's spans: the width a model looks at where the recipe names none
_WIDEST = 30
LIMIT = 1000  # words that a recipe may ask a span to be wide


class SpanHeadOptions(Options):
    """Options of what the head of a span task is made of.

    SpanRel as written: contents and their attention read the trunk, no widths are read, perceptrons
    are plain (section 3, equations 1 to 4).
    """

    hidden_size: int = Field(256, ge=8, le=4096, description="units of the perceptrons")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout of the head")
    input_dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout of the vectors that the head reads; null: as dropout"
    )
    span_content: Literal["level", "trunk"] = Field(
        "level", description="level | trunk: whose vectors the content of a span averages"
    )
    span_attention: Literal["level", "trunk"] = Field(
        "level", description="level | trunk: whose vectors weight the words in that average"
    )
    width_embedding: bool = Field(True, description="whether the width of a span is read")
    perceptron: Literal["normed", "plain"] = Field(
        "normed", description="normed (layer norm, GELU) | plain (ReLU)"
    )


class SpanOptions(SpanHeadOptions):
    """Options of every span task; those that are null are inferred from train.

    With ``limits: spanrel`` the defaults are those of SpanRel's table 8 for the kind.
    """

    spanrel_limits: ClassVar[Mapping[str, float]] = {"max_span_width": 10}

    limits: Literal["train", "spanrel"] = Field(
        "train",
        description="train (seen there) | spanrel: the widths and pruning of SpanRel's table 8",
    )
    max_span_width: int | None = Field(
        None, ge=1, le=LIMIT, description="widest span, in words; null: by train"
    )
    nested: bool | None = Field(None, description="whether spans may nest; null: as in train")
    attributes: bool = Field(True, description="whether attributes of spans are learnt")
    boundary_context: bool = Field(
        False, description="the words before and after a span are read with it"
    )
    coarse_spans_per_word: float | None = Field(
        None,
        gt=0,
        description="coarse-to-fine: spans per word that are scored in full, chosen by a linear "
        "score; null: all",
    )
    hard_negatives_per_word: Literal["all"] | Annotated[float, Field(gt=0)] = Field(
        "all",
        description="negative spans in the loss: all, or so many per word, those with the highest "
        "scores",
    )

    @model_validator(mode="before")
    @classmethod
    def _with_spanrel_limits(cls, options: Any) -> Any:
        if not isinstance(options, Mapping) or options.get("limits") != "spanrel":
            return options
        limits = dict(cls.spanrel_limits)
        if "spans_per_word" in options:
            limits.pop("spans_per_sentence", None)  # it would hide the recipe's spans_per_word
        return {**limits, **options}


class SelectedSpanOptions(SpanOptions):
    """Options of tasks that write the spans whose label is likelier than "none"."""

    span_decoding: Literal["best-set", "greedy"] = Field(
        "best-set", description="best-set (no overlap, or no crossing) | greedy (each by itself)"
    )


class LabeledSpanOptions(SelectedSpanOptions):
    """Options of tasks whose spans may have several labels."""

    multi_label: bool = Field(
        False, description="a span may have several labels, in sets that train has"
    )


class PairScorerOptions(Options):
    """The option of tasks that score pairs of spans."""

    pair_scorer: Literal["projected", "spanrel"] = Field(
        "projected",
        description="projected (spans, labels, context, distance) | "
        "spanrel ([zj; zk; zj * zk] alone)",
    )


class RelationOptions(LabeledSpanOptions, PairScorerOptions):
    """Options of tasks with relations."""

    spanrel_limits: ClassVar[Mapping[str, float]] = {"max_span_width": 5, "spans_per_sentence": 5}

    spans_per_word: float = Field(
        0.5, gt=0, description="spans kept for pairs, times the sentence's words"
    )
    spans_per_sentence: int | None = Field(
        None, ge=1, description="spans kept for pairs, whatever the length"
    )
    gold_spans: bool = Field(
        False, description="gold spans are given, only relations are predicted"
    )
    relation_scope: Literal["sentence", "document"] = Field(
        "sentence", description="sentence | document: where the two spans of a relation may stand"
    )
    relation_horizon: int = Field(
        RELATION_HORIZON,
        ge=1,
        le=1000,
        description="of a document: words that two related spans are apart",
    )
    max_training_windows: int = Field(
        2, ge=1, le=64, description="of a document: windows that training reads at once"
    )
    several_events: bool = Field(
        False, description="a trigger may have several events, divided by roles as in train"
    )
    discontinuous: bool = Field(
        False, description="spans with gaps are learnt, as linked fragments"
    )


class PredicateOptions(SpanOptions, PairScorerOptions):
    """Options of predicates and their arguments."""

    spanrel_limits: ClassVar[Mapping[str, float]] = {
        "max_span_width": 30,
        "argument_spans_per_word": 0.3,
    }

    argument_spans_per_word: float = Field(
        1.0, gt=0, description="spans looked at as arguments, times n words"
    )
    predicate_spans_per_word: float = Field(
        0.4, gt=0, description="spans looked at as predicates in training, times n words"
    )
    gold_predicates: bool = Field(
        False, description="gold predicates are given, arguments are predicted"
    )


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Labels and limits, collected from train alone."""

    spans: tuple[str, ...]
    relations: tuple[str, ...]
    events: EventScheme
    max_span_width: int
    nested: bool
    attributes: AttributeScheme = AttributeScheme({}, {})

    @property
    def labels(self) -> Labels:
        """The names of the indices that the head predicts."""
        attributes = self.attributes.spans, self.attributes.relations
        return Labels(self.spans, self.relations, *attributes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers for the saved recipe."""
        dividing: dict[str, list[str]] = {}
        for label, role in sorted(self.events.dividing):
            dividing.setdefault(label, []).append(role)
        return {
            "span_labels": list(self.spans),
            "relation_labels": list(self.relations),
            "trigger_labels": sorted(self.events.trigger_labels),
            "roles": sorted(self.events.roles),
            "role_relations": sorted(self.events.relations),
            "max_span_width": self.max_span_width,
            "nested": self.nested,
            "attributes": {name: list(values) for name, values in self.attributes.spans.items()},
            "event_attributes": sorted(self.attributes.events),
            "relation_attributes": {
                name: list(values) for name, values in self.attributes.relations.items()
            },
            **({"dividing_roles": dividing} if dividing else {}),
        }


def read_vocabulary(data: Mapping[str, Any]) -> Vocabulary:
    """Return the vocabulary that ``to_dict`` wrote."""
    triggers, roles, role_relations = (
        frozenset(data[key]) for key in ("trigger_labels", "roles", "role_relations")
    )
    labels = tuple(data["span_labels"]), tuple(data["relation_labels"])
    spans, relations = (
        {name: tuple(values) for name, values in data[key].items()}
        for key in ("attributes", "relation_attributes")
    )
    attributes = AttributeScheme(spans, relations, frozenset(data["event_attributes"]))
    limits = int(data["max_span_width"]), bool(data["nested"])
    dividing = data.get("dividing_roles", {})  # absent where no trigger has several events
    pairs = frozenset((label, role) for label, roles in dividing.items() for role in roles)
    events = EventScheme(triggers, roles, role_relations, pairs)
    return Vocabulary(*labels, events, *limits, attributes)


def labels_of(task: str, collected: Iterable[str]) -> tuple[str, ...]:
    """Return the labels of a task; raises ``DataError`` if there are none."""
    labels = tuple(collected)
    if not labels:
        raise DataError(f"task {task!r}: expected a label to learn, its layer has none in train")
    return labels


def infer_span_vocabulary(
    options: SpanOptions, name: str, documents: TrainDocuments, *, relations: bool
) -> Vocabulary:
    """Collect labels, widths and nesting of the layer of that name."""
    train = [(document[name], tokenized.words) for document, tokenized in documents]
    scheme = collect(layer for layer, _ in train)
    spans = Counter(span.label for layer, _ in train for span in layer.spans)
    pairs: Counter[str] = Counter()
    if relations:
        for layer, _ in train:
            pairs.update(relation.label for relation in project(layer, scheme)[1])
    bounds_of_layers = [word_bounds(layer, words) for layer, words in train]
    width = options.max_span_width or _width(
        [b - a for layer_bounds in bounds_of_layers for a, b in layer_bounds.values()]
    )
    nested = options.nested
    if nested is None:
        nested = has_nesting(layer_bounds.values() for layer_bounds in bounds_of_layers)
    attribute_scheme = attributes.collect(layer for layer, _ in train if options.attributes)
    if not relations:
        attribute_scheme = replace(attribute_scheme, relations={})
    del spans[UNKNOWN_LABEL]
    return Vocabulary(
        tuple(sorted(spans)), tuple(sorted(pairs)), scheme, width, nested, attribute_scheme
    )


def _width(widths: list[int]) -> int:
    """Return the least width that covers nearly all."""
    if not widths:
        return 1
    uncovered = (1000 - _COVERED) * len(widths) // 1000
    return min(sorted(widths)[-1 - uncovered], _WIDEST)
