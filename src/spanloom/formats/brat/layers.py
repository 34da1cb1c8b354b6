"""Which layer an annotation belongs to, and which equivalences are one."""

from collections.abc import Iterable, Mapping, Sequence

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
from spanloom.formats.brat.draft import Draft
from spanloom.formats.brat.lines import Said
from spanloom.formats.brat.references import references
from spanloom.formats.brat.spelling import write_type


def layer_from(name: str, made: Iterable[Annotation]) -> Layer:
    """Return the layer of these annotations, each kind in the order given."""
    every = list(made)
    return Layer(
        name,
        tuple(each for each in every if isinstance(each, Span)),
        tuple(each for each in every if isinstance(each, Relation)),
        tuple(each for each in every if isinstance(each, Event)),
        tuple(each for each in every if isinstance(each, Attribute)),
        tuple(each for each in every if isinstance(each, Normalization)),
        tuple(each for each in every if isinstance(each, Note)),
        tuple(each for each in every if isinstance(each, Equivalence)),
    )


def layers_of(draft: Draft) -> list[str]:
    """Return the layer of every line's annotation ("" for a line that made none)."""
    known: dict[str, str | None] = {}
    above: dict[str, str] = {}
    for said in draft.said:
        if said and not isinstance(said.annotation, Equivalence):  # no line can refer to one
            known[said.annotation.id] = said.layer
            if said.layer is None:
                above[said.annotation.id] = references(said.annotation)[0]
    for start in above:
        path: list[str] = []
        here = start
        while here in above and known[here] is None:
            known[here] = MAIN  # notes about each other in a circle end here
            path.append(here)
            here = above[here]
        found = known.get(here)
        for each in path:
            known[each] = MAIN if found is None else found
    return [_own(said, known) if said else "" for said in draft.said]


def _own(said: Said, known: Mapping[str, str | None]) -> str:
    """Return the layer a line names, else the one that was found for it."""
    found = known[said.annotation.id] if said.layer is None else said.layer
    return MAIN if found is None else found


def unite(draft: Draft, layers: Sequence[str]) -> None:
    """Make one of the equivalences of a layer and label that share a member.

    Each of their lines then makes that one, so that all of them stay, change or go together.
    """
    found: dict[int, Equivalence] = {}
    for index, said in enumerate(draft.said):
        if said and isinstance(said.annotation, Equivalence):
            found[index] = said.annotation
    tops = _tops(
        {i: [(layers[i], each.label, m) for m in each.members] for i, each in found.items()}
    )
    members: dict[int, dict[str, None]] = {}
    for index, each in found.items():
        members.setdefault(tops[index], {}).update(dict.fromkeys(each.members))
    made = {
        top: Equivalence(f"*{place}", found[top].label, tuple(members[top]))
        for place, top in enumerate(members, start=1)
    }
    for index in found:
        draft.said[index] = Said(made[tops[index]], layers[index])


def _tops(keys: dict[int, list[tuple[str, str, str]]]) -> dict[int, int]:
    """Return, for every group of keys, the first group that is linked to it by shared keys."""
    above = {index: index for index in keys}
    first: dict[tuple[str, str, str], int] = {}

    def top(index: int) -> int:
        while above[index] != index:
            above[index] = above[above[index]]
            index = above[index]
        return index

    for index, group in keys.items():
        for key in group:
            one, other = top(first.setdefault(key, index)), top(index)
            above[max(one, other)] = min(one, other)
    return {index: top(index) for index in keys}


def type_of(annotation: Annotation, layer_of: Mapping[str, str]) -> str:
    """Return the brat type of an annotation; ``layer_of`` names the layer of every id.

    What follows its target names its layer only where it is another one; about a note always, for
    notes may be about each other in a circle, and about an equivalence, for its id is not written.
    """
    own = layer_of[annotation.id]
    usual: str | None = MAIN
    if isinstance(annotation, Attribute | Normalization | Note):
        vague = annotation.target.startswith(("#", "*"))
        usual = None if vague else layer_of.get(annotation.target, MAIN)
    return write_type(annotation.label, None if own == usual else own)
