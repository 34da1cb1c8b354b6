"""Tell what the tasks that learn a layer can predict of it, by their kinds and options.

No task is built, so nothing here needs torch. A kind of another package counts as one of spans and
of relations inside a sentence.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from spanloom.annotation.nesting import has_nesting
from spanloom.corpora.reachability import RELATION_HORIZON, ModelLimits, Reason
from spanloom.document import Layer
from spanloom.tokenization import Split

Options = Mapping[str, Any]

_WORDS: Options = {"width": 1, "nested": False}
_PREDICATES: Options = {"multi_label": True, "overlapping": True}  # arguments of several predicates
_TEXTS: Options = {"across_sentences": True, "overlapping": True}  # answers of several questions
_KIND_LIMITS: Mapping[str, Options] = {
    "pos": _WORDS,
    "dependency": {**_WORDS, "self_pairs": True, "several_heads": False},  # roots: their own heads
    "constituency": {"nested": True, "multi_label": True},  # a unary chain is one label
    "coreference": {"document_relations": True},
    **dict.fromkeys(("srl", "openie", "opinions"), _PREDICATES),
    **dict.fromkeys(("text_classification", "text_regression"), _TEXTS),
    **dict.fromkeys(("extractive_classification", "extractive_regression"), _TEXTS),
    "extractive_qa": _TEXTS,
    "sequence_tagging": {"nested": False},
}  # limits of kinds that no option changes
LEARNS_NO_LAYER = frozenset({"masked_lm"})

_LEARNT_WITH: Mapping[Reason, Mapping[str, str]] = {
    Reason.SECOND: dict.fromkeys(("entities", "relations"), "multi_label: true"),
    Reason.GAPS: {
        "relations": "discontinuous: true",
        "entities": "kind: relations, discontinuous: true",
    },
    Reason.APART: {"relations": "relation_scope: document"},
    Reason.APART_PARTS: {"relations": "relation_scope: document"},
}  # by kind, the keys of a task that bring an item into reach


@dataclass(frozen=True, slots=True)
class CorpusLimits:
    """The limits of each layer, by name; ``default`` has those of a layer without annotations.

    ``without_task`` has the layers that no task of the model learns.
    """

    default: ModelLimits
    by_layer: Mapping[str, ModelLimits] = field(default_factory=dict)
    without_task: frozenset[str] = frozenset()

    def of(self, layer: str) -> ModelLimits:
        """Return the limits of a layer."""
        return self.by_layer.get(layer, self.default)


def limits_of_kind(
    split: Split, kind: str, options: Options, layers: Sequence[Layer]
) -> ModelLimits:
    """Return the limits of a task of a kind, whose options or vocabulary may lack any key.

    Spans of a task that does not say so nest where those of ``layers`` do, its layer in train.
    """
    discontinuous = bool(options.get("discontinuous"))
    nested = options.get("nested")
    across = options.get("relation_scope") == "document"
    limits = {
        "width": options.get("max_span_width"),
        "nested": _nest(layers, discontinuous=discontinuous) if nested is None else nested,
        "overlapping": options.get("span_decoding") == "greedy",
        "multi_label": bool(options.get("multi_label")),
        "discontinuous": discontinuous,
        "several_events": bool(options.get("several_events")),
        "relation_horizon": options.get("relation_horizon", RELATION_HORIZON) if across else None,
    }
    return ModelLimits(split, kinds=(kind,), **{**limits, **_KIND_LIMITS.get(kind, {})})


def join_limits(limits: Sequence[ModelLimits]) -> ModelLimits:
    """Return the limits of several tasks of one layer: what at least one of them can predict."""
    widths = [task.width for task in limits if task.width is not None]
    horizons = [task.relation_horizon for task in limits if task.relation_horizon is not None]
    flags = [item.name for item in fields(ModelLimits) if item.type is bool]
    return ModelLimits(
        limits[0].split,
        kinds=tuple(dict.fromkeys(kind for task in limits for kind in task.kinds)),
        width=max(widths) if len(widths) == len(limits) else None,
        relation_horizon=max(horizons, default=None),
        **{name: any(getattr(task, name) for task in limits) for name in flags},
    )


def learnt_with(reason: Reason, kinds: Iterable[str]) -> str | None:
    """Return the keys of a task of one of these kinds that bring an item into reach, if any."""
    by_kind = _LEARNT_WITH.get(reason, {})
    return next((by_kind[kind] for kind in sorted(kinds, reverse=True) if kind in by_kind), None)


def _nest(layers: Sequence[Layer], *, discontinuous: bool) -> bool:
    """Return whether spans without gaps nest, or all fragments if these are learnt."""
    return has_nesting(
        [
            bounds
            for span in layer.spans
            if discontinuous or len(span.fragments) == 1
            for bounds in span.fragments
        ]
        for layer in layers
    )
