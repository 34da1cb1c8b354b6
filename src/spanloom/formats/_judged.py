"""Texts and pairs of texts with a label or a number, as rows and lines of many files say them."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Self

from pydantic import Field

from spanloom.config.options import Options
from spanloom.document import Document, Layer
from spanloom.errors import DataError
from spanloom.forms.parts import VALUE, joined, judge, judged, parts

Meta = list[tuple[str, str]]
Fresh = Callable[[str], str]

CUT = "second text at"  # in meta: where it begins, if blanks around it could hide that


class JudgedOptions(Options):
    """Which layers say what is said of a text."""

    layer: str = Field(
        default="label", description="the layer of the label, or of the number alone"
    )
    number_layer: str | None = Field(
        default=None, description="the layer of the number; null: that of the label"
    )
    none: str | None = Field(
        default=None, description="the label that means that there is no gold label"
    )

    @property
    def layers(self) -> tuple[str, str]:
        """The layers of label and number."""
        return self.layer, self.number_layer or self.layer

    def is_gold(self, label: str) -> bool:
        """Whether a text that stands for a label is one."""
        return label not in ("", self.none)

    def over(self, preset: Self | None) -> Self:
        """Return these options, with those of a preset where they say nothing."""
        if preset is None:
            return self
        said = {key: getattr(self, key) for key in self.model_fields_set}
        return preset.model_copy(update=said)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a row says: its texts, a label, a number as it is written; None where it says none."""

    text: str
    second: str | None = None
    label: str | None = None
    number: str | None = None


@dataclass(frozen=True, slots=True)
class Judging:
    """Which layers label and number have, None for one that is not annotated; its ``name``."""

    label: str | None
    number: str | None
    name: str = "value"

    def document(self, said: Judged, name: str, meta: Meta) -> Document:
        """Return the document of a row.

        Raises ``ValueError`` for a number that is none, and for one without the label in whose
        layer it should stand.
        """
        if said.second is None:
            bare, cut = Document(said.text), []
        else:
            bare, cut = joined("", said.text, said.second), [(CUT, str(len(said.text) + 1))]
            cut = cut if _halves(bare) != (said.text, said.second) else []
        whole = replace(bare, name=name, meta=(*meta, *cut))
        fresh = _fresh(2 * (said.second is not None))
        for layer in dict.fromkeys(each for each in (self.label, self.number) if each is not None):
            whole = whole.with_layer(self._layer(bare, layer, said, fresh))
        return whole

    def said(self, document: Document) -> Judged:
        """Return the row of a document, as far as there can be one."""
        label, number = self._said(document, self.label), self._said(document, self.number)
        text, second = _halves(document) or (document.text, None)
        return Judged(text, second, label[0] if label else None, number[1] if number else None)

    def _layer(
        self, bare: Document, layer: str, said: Judged, fresh: Callable[[str], str]
    ) -> Layer:
        """Return what a layer says."""
        label = said.label if layer == self.label else self.name
        number = said.number if layer == self.number else None
        if number is None and (label is None or layer != self.label):
            return Layer(layer)
        if label is None:
            raise ValueError(
                f"expected a label beside the number {number!r:.60}, got none; "
                "option number_layer gives numbers a layer of their own"
            )
        value = None if number is None else _finite(number)
        made = judge(bare, layer, label, value, fresh)
        return replace(made, attributes=tuple(replace(a, value=number) for a in made.attributes))

    def _said(self, document: Document, layer: str | None) -> tuple[str, str | None] | None:
        """Return what a layer says: the label, and the number as it is written."""
        if layer is None or not document.has(layer):
            return None
        try:
            said = judged(document, layer)
        except DataError:
            return None
        if said is None:
            return None
        found = document[layer]
        about = {each.id for each in found.spans} | {each.id for each in found.relations}
        written = (a.value for a in found.attributes if a.label == VALUE and a.target in about)
        return said.label, None if said.value is None else next(written)


def _halves(document: Document) -> tuple[str, str] | None:
    """Return the two texts of a pair, None for one text."""
    try:
        ends = parts(document)
    except DataError:
        return None
    if not ends:
        return None
    text, (first, second) = document.text, ends
    told = dict(document.meta).get(CUT, "")
    cut = (
        int(told) - 1
        if re.fullmatch(r"\d{1,12}", told)
        else text.find("\n", first.end, second.start)
    )
    if not first.end <= cut < len(text) or text[cut] != "\n":
        return text[: first.end], text[second.start :]
    return text[:cut], text[cut + 1 :]


def _finite(written: str) -> float:
    """Return the number that is written; raises ``ValueError`` for none."""
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, got {written!r:.60}")
    return number


def _fresh(spans: int) -> Fresh:
    """Return a maker of ids, for a document that has so many spans."""
    numbers = {"T": count(spans + 1), "R": count(1), "A": count(1)}
    return lambda letter: f"{letter}{next(numbers[letter])}"
