"""Assign annotations to layers and merge equivalences that share members."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from spanloom.annotation.reference_graph import references
from spanloom.document import (
    MAIN,
    Annotation,
    Attribute,
    Equivalence,
    Event,
    Layer,
    Normalization,
    Note,
    Relation,
    Span,
)
from spanloom.formats.brat.ann_grammar import ParsedLine
from spanloom.formats.brat.draft import AnnFileParse
from spanloom.formats.brat.spelling import write_type


def layer_from(name: str, annotations: Iterable[Annotation]) -> Layer:
    """Return a layer of these annotations; each kind keeps the order given."""
    items = list(annotations)
    return Layer(
        name,
        tuple(item for item in items if isinstance(item, Span)),
        tuple(item for item in items if isinstance(item, Relation)),
        tuple(item for item in items if isinstance(item, Event)),
        tuple(item for item in items if isinstance(item, Attribute)),
        tuple(item for item in items if isinstance(item, Normalization)),
        tuple(item for item in items if isinstance(item, Note)),
        tuple(item for item in items if isinstance(item, Equivalence)),
    )


def layers_of(draft: AnnFileParse) -> list[str]:
    """Return the layer of each line's annotation ("" for a line without one)."""
    layer_of: dict[str, str | None] = {}
    target_of: dict[str, str] = {}
    for parsed in draft.parsed:
        # no line can refer to an equivalence
        if parsed and not isinstance(parsed.annotation, Equivalence):
            layer_of[parsed.annotation.id] = parsed.layer
            if parsed.layer is None:
                target_of[parsed.annotation.id] = references(parsed.annotation)[0]
    for start in target_of:
        path: list[str] = []
        current = start
        while current in target_of and layer_of[current] is None:
            layer_of[current] = MAIN  # notes that refer to each other in a cycle end here
            path.append(current)
            current = target_of[current]
        layer = layer_of.get(current)
        for annotation_id in path:
            layer_of[annotation_id] = MAIN if layer is None else layer
    return [_layer_of_line(parsed, layer_of) if parsed else "" for parsed in draft.parsed]


def _layer_of_line(parsed: ParsedLine, layer_of: Mapping[str, str | None]) -> str:
    """Return the layer that a line names, else the one inferred from its target."""
    layer = layer_of[parsed.annotation.id] if parsed.layer is None else parsed.layer
    return MAIN if layer is None else layer


def unite(draft: AnnFileParse, layers: Sequence[str]) -> None:
    """Merge the equivalences of a layer and label that share a member.

    Each of their lines then holds the merged one, so that they are kept, changed or removed
    together.
    """
    equivalences: dict[int, Equivalence] = {}
    for index, parsed in enumerate(draft.parsed):
        if parsed and isinstance(parsed.annotation, Equivalence):
            equivalences[index] = parsed.annotation
    first_lines = _first_linked(
        {
            index: [(layers[index], equivalence.label, member) for member in equivalence.members]
            for index, equivalence in equivalences.items()
        }
    )
    members: dict[int, dict[str, None]] = {}
    for index, equivalence in equivalences.items():
        members.setdefault(first_lines[index], {}).update(dict.fromkeys(equivalence.members))
    merged = {
        first_line: Equivalence(
            f"*{number}", equivalences[first_line].label, tuple(members[first_line])
        )
        for number, first_line in enumerate(members, start=1)
    }
    for index in equivalences:
        draft.parsed[index] = ParsedLine(merged[first_lines[index]], layers[index])


def _first_linked(keys: dict[int, list[tuple[str, str, str]]]) -> dict[int, int]:
    """Return, for each group of keys, the first group that is linked to it by shared keys."""
    parent = {index: index for index in keys}
    first_group: dict[tuple[str, str, str], int] = {}

    def top(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for index, group in keys.items():
        for key in group:
            root, other_root = top(first_group.setdefault(key, index)), top(index)
            parent[max(root, other_root)] = min(root, other_root)
    return {index: top(index) for index in keys}


def type_of(annotation: Annotation, layer: str, layer_of: Callable[[str, str], str | None]) -> str:
    """Return the brat type of an annotation; ``layer_of`` returns the layer of an
    id, or its second argument.

    Attributes, normalizations and notes name their layer only if it is not their target's; always
    if the target is a note, as notes may refer to each other in a cycle, or an equivalence, as its
    id is not written.
    """
    default_layer: str | None = MAIN
    if isinstance(annotation, Attribute | Normalization | Note):
        has_no_default = annotation.target.startswith(("#", "*"))
        default_layer = None if has_no_default else layer_of(annotation.target, MAIN)
    return write_type(annotation.label, None if layer == default_layer else layer)
