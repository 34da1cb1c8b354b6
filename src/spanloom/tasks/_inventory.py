"""What span tasks ask for and what they collect from train: options, labels, limits."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from spanloom.config.options import Options
from spanloom.forms import attributes
from spanloom.forms.attributes import AttributeScheme
from spanloom.forms.events import EventScheme, collect, project
from spanloom.forms.looked_for import UNSURE
from spanloom.forms.nesting import nests
from spanloom.tasks._base import Train
from spanloom.tasks._spans import Labels, placed

_COVERED = 998  # of 1,000 of train's spans: the width a model looks at where the recipe names none
_WIDEST = 30
LIMIT = 1000  # words that a recipe may ask a span to be wide


class SpanOptions(Options):
    """Options of every span task; what is null is collected from train.

    With ``limits: paper`` what a recipe does not say is what SpanRel's table 8 has for the kind.
    """

    paper: ClassVar[Mapping[str, float]] = {"width": 10}

    limits: Literal["train", "paper"] = Field(
        "train", description="train (collected) | paper: width and pruning as in SpanRel, table 8"
    )
    width: int | None = Field(None, ge=1, le=LIMIT, description="widest span, in words")
    nested: bool | None = Field(None, description="whether spans may nest")
    size: int = Field(256, ge=8, le=4096, description="units of the perceptrons")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout of the head")
    attributes: bool = Field(True, description="whether attributes of spans are learnt")
    around: bool = Field(False, description="the words before and after a span are read with it")
    gate: float | None = Field(
        None, gt=0, description="score in full only so many times n spans, the likeliest at a look"
    )
    negatives: Literal["all"] | Annotated[float, Field(gt=0)] = Field(
        "all", description="negative spans in the loss: all, or the hardest so many times n"
    )

    @model_validator(mode="before")
    @classmethod
    def _as_in_the_paper(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or given.get("limits") != "paper":
            return given
        said = {"keep"} if "prune" in given else set()  # which would hide what the recipe says
        return {**{key: cls.paper[key] for key in cls.paper.keys() - said}, **given}


class RelationOptions(SpanOptions):
    """Options of tasks with relations."""

    paper: ClassVar[Mapping[str, float]] = {"width": 5, "keep": 5}

    prune: float = Field(0.5, gt=0, description="spans kept for pairs, times the sentence's words")
    keep: int | None = Field(None, ge=1, description="spans kept for pairs, whatever the length")
    given: bool = Field(False, description="gold spans are given, only relations are predicted")


@dataclass(frozen=True, slots=True)
class Inventory:
    """Labels and limits, collected from train alone."""

    spans: tuple[str, ...]
    relations: tuple[str, ...]
    events: EventScheme
    width: int
    nested: bool
    attributes: AttributeScheme = AttributeScheme({}, {})

    @property
    def labels(self) -> Labels:
        """What rows of scores mean."""
        attributes = self.attributes.spans, self.attributes.relations
        return Labels(self.spans, self.relations, *attributes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers for the saved recipe."""
        return {
            "spans": list(self.spans),
            "relations": list(self.relations),
            "triggers": sorted(self.events.trigger_labels),
            "roles": sorted(self.events.roles),
            "role_relations": sorted(self.events.relations),
            "width": self.width,
            "nested": self.nested,
            "attributes": {name: list(each) for name, each in self.attributes.spans.items()},
            "event_attributes": sorted(self.attributes.events),
            "relation_attributes": {
                name: list(each) for name, each in self.attributes.relations.items()
            },
        }


def inventory(data: Mapping[str, Any]) -> Inventory:
    """Read back what ``to_dict`` wrote."""
    named = (frozenset(data[key]) for key in ("triggers", "roles", "role_relations"))
    labels = tuple(data["spans"]), tuple(data["relations"])
    spans, relations = (
        {name: tuple(each) for name, each in data[key].items()}
        for key in ("attributes", "relation_attributes")
    )
    attributes = AttributeScheme(spans, relations, frozenset(data["event_attributes"]))
    limits = int(data["width"]), bool(data["nested"])
    return Inventory(*labels, EventScheme(*named), *limits, attributes)


def collect_inventory(
    options: SpanOptions, name: str, documents: Train, *, relations: bool
) -> Inventory:
    """Collect labels, widths and nesting of the layer of that name."""
    train = [(document[name], cut.words) for document, cut in documents]
    scheme = collect(layer for layer, _ in train)
    spans = Counter(span.label for layer, _ in train for span in layer.spans)
    pairs: Counter[str] = Counter()
    if relations:
        for layer, _ in train:
            pairs.update(relation.label for relation in project(layer, scheme)[1])
    there = [placed(layer, words) for layer, words in train]
    width = options.width or _width([b - a for each in there for a, b in each.values()])
    nested = options.nested
    if nested is None:
        nested = nests(each.values() for each in there)
    found = attributes.collect(layer for layer, _ in train if options.attributes)
    if not relations:
        found = replace(found, relations={})
    del spans[UNSURE]
    return Inventory(tuple(sorted(spans)), tuple(sorted(pairs)), scheme, width, nested, found)


def _width(widths: list[int]) -> int:
    """Return the least width that covers nearly all."""
    if not widths:
        return 1
    uncovered = (1000 - _COVERED) * len(widths) // 1000
    return min(sorted(widths)[-1 - uncovered], _WIDEST)
