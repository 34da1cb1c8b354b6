"""Convert labelled texts and text pairs, as many table and line formats have them, to documents."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar, Self

from pydantic import Field

from spanloom.annotation.text_pairs import VALUE, classification_of, classify, join_texts, text_pair
from spanloom.config.options import Options
from spanloom.document import Document, Layer
from spanloom.errors import DataError

Meta = list[tuple[str, str]]
Fresh = Callable[[str], str]

CUT = "second text at"  # in meta: its offset, if blanks around it make it ambiguous
END = "line end"  # in meta: what ends the row, if not "\\n"
NLI = {
    **{"text": "sentence1", "text_pair": "sentence2", "label": "gold_label"},
    **{"id": "pairID", "missing_label": "-"},
}


class TextLabelOptions(Options):
    """Which layers hold the label and the number of a text."""

    layer: str = Field(
        default="label", description="the layer of the label, or of the number alone"
    )
    number_layer: str | None = Field(
        default=None, description="the layer of the number; null: that of the label"
    )
    missing_label: str | None = Field(
        default=None, description="the label that means that there is no gold label"
    )

    preset: str | None = Field(
        default=None, description="a public layout; other options override it"
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # the options of each public layout

    @property
    def whole(self) -> Self:
        """These options, completed by those of the preset."""
        preset = self.presets.get(self.preset or "", {})
        added = {key: preset[key] for key in preset if key not in self.model_fields_set}
        return self.model_copy(update=added) if added else self

    @property
    def requested_columns(self) -> list[Any]:
        """The columns or keys of texts, and those of label, number and id that the user set."""
        set_roles = [role for role in ("label", "number", "id") if role in self.model_fields_set]
        names = [getattr(self.whole, role) for role in ("text", "text_pair")]
        names += [getattr(self, role) for role in set_roles]
        return [name for name in names if name is not None]

    @property
    def layers(self) -> tuple[str, str]:
        """The layers of label and number."""
        return self.layer, self.number_layer or self.layer

    def is_gold(self, label: str) -> bool:
        """Whether a label is a gold label."""
        return label not in ("", self.missing_label)


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A row's texts, label, and number as written; None for what it lacks."""

    text: str
    text_pair: str | None = None
    label: str | None = None
    number: str | None = None


@dataclass(frozen=True, slots=True)
class TextLabelReader:
    """The layers of label and number, None if not annotated; ``name`` labels a number alone."""

    label: str | None
    number: str | None
    name: str = "value"

    def document(self, labeled: LabelledText, name: str, meta: Meta) -> Document:
        """Return the document of a row.

        Raises ``ValueError`` for an invalid number, and for one without the label in whose layer it
        should be.
        """
        if labeled.text_pair is None:
            unlabeled, cut_meta = Document(labeled.text), []
        else:
            unlabeled, cut_meta = (
                join_texts("", labeled.text, labeled.text_pair),
                [(CUT, str(len(labeled.text) + 1))],
            )
            cut_meta = (
                cut_meta if _split_pair(unlabeled) != (labeled.text, labeled.text_pair) else []
            )
        document = replace(unlabeled, name=name, meta=(*meta, *cut_meta))
        new_id = _new_ids(2 * (labeled.text_pair is not None))
        for layer in dict.fromkeys(
            layer for layer in (self.label, self.number) if layer is not None
        ):
            document = document.with_layer(self._build_layer(unlabeled, layer, labeled, new_id))
        return document

    def read_gold(self, document: Document, options: TextLabelOptions) -> LabelledText:
        """Return the row of a document; a number in the layer of a label needs a gold label."""
        labeled = self.read(document)
        if labeled.label is not None and options.is_gold(labeled.label):
            return labeled
        number = labeled.number if self.label != self.number else None
        return replace(labeled, label=None, number=number)

    def read(self, document: Document) -> LabelledText:
        """Return the row of a document, with None for what it lacks."""
        label, number = (
            self._classification_in(document, self.label),
            self._classification_in(document, self.number),
        )
        text, second = _split_pair(document) or (document.text, None)
        return LabelledText(
            text, second, label[0] if label else None, number[1] if number else None
        )

    def _build_layer(
        self,
        unlabeled: Document,
        layer: str,
        labeled: LabelledText,
        new_id: Callable[[str], str],
    ) -> Layer:
        """Return a layer with the row's label and number."""
        label = labeled.label if layer == self.label else self.name
        number = labeled.number if layer == self.number else None
        if number is None and (label is None or layer != self.label):
            return Layer(layer)
        if label is None:
            raise ValueError(
                f"expected a label beside the number {number!r:.60}, got none; "
                "option number_layer gives numbers a layer of their own"
            )
        value = None if number is None else _parse_number(number)
        layer_of_label = classify(unlabeled, layer, label, value, new_id)
        return replace(
            layer_of_label,
            attributes=tuple(
                replace(attribute, value=number) for attribute in layer_of_label.attributes
            ),
        )

    def _classification_in(
        self, document: Document, layer: str | None
    ) -> tuple[str, str | None] | None:
        """Return a layer's label, and its number as written; None without a single label."""
        if layer is None or not document.has_layer(layer):
            return None
        try:
            classification = classification_of(document, layer)
        except DataError:
            return None
        if classification is None:
            return None
        annotations = document[layer]
        target_ids = {span.id for span in annotations.spans} | {
            relation.id for relation in annotations.relations
        }
        number_texts = (
            attribute.value
            for attribute in annotations.attributes
            if attribute.label == VALUE and attribute.target in target_ids
        )
        return classification.label, None if classification.value is None else next(number_texts)


def join_rows(rows: Iterable[tuple[Document, str]], valid_end: re.Pattern[str]) -> str:
    """Return rows, each with its document's line end if it is valid there."""
    pairs = list(rows)
    parts: list[str] = []
    for number, (document, row) in enumerate(pairs, 1):
        end = dict(document.meta).get(END, "\n")
        fits = valid_end.fullmatch(end) and (number == len(pairs) or end.endswith("\n"))
        parts += [row, end if fits else "\n"]
    return "".join(parts)


def _split_pair(document: Document) -> tuple[str, str] | None:
    """Return the two texts of a pair, None for one text."""
    try:
        halves = text_pair(document)
    except DataError:
        return None
    if not halves:
        return None
    text, (first, second) = document.text, halves
    stated_cut = dict(document.meta).get(CUT, "")
    cut = (
        int(stated_cut) - 1
        if re.fullmatch(r"\d{1,12}", stated_cut)
        else text.find("\n", first.end, second.start)
    )
    if not first.end <= cut < len(text) or text[cut] != "\n":
        return text[: first.end], text[second.start :]
    return text[:cut], text[cut + 1 :]


def _parse_number(text: str) -> float:
    """Return a text as a finite number; raises ``ValueError``."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, got {text!r:.60}")
    return number


def _new_ids(spans: int) -> Fresh:
    """Return a function that creates ids, for a document with that many spans."""
    numbers = {"T": count(spans + 1), "R": count(1), "A": count(1)}
    return lambda letter: f"{letter}{next(numbers[letter])}"
