"""Types and columns of WebAnno TSV 3 files, and how their cells are written."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from spanloom.document import GIVEN_WORDS, Document, Layer

FORMAT, TEXT = "#FORMAT=WebAnno TSV 3", "#Text="
META = "webanno"  # in meta: the header
TOKEN = "token"  # the label of words that relations hold between
COREF = "coref"  # the label of links without one
RELATION_TYPE = "relation"  # the attribute with the type of a relation
SPAN, RELATION, CHAIN = "#T_SP=", "#T_RL=", "#T_CH="
BASE = "BT_"  # of the column of a relation's other end
NULL, ABSENT = "*", "_"  # a feature without a value, a row without an annotation
LINK = "->"
SLOT = "ROLE_"  # of the column of roles; the next one has what is in the slots
CUSTOM = "webanno.custom."
VALUE = "value"
LABELS = (VALUE, "PosValue", "DependencyType", "type", "referenceType")  # features that are labels

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPED = re.compile(r"->|[\\\[\]|_;*\t\n\r]")
_PLAIN = re.compile(r"\\(->|.)", re.DOTALL)
_BACK = {"t": "\t", "n": "\n", "r": "\r"}
_TEXT = re.compile(r"[\\\t\n\r]")
_ITEMS = re.compile(r"((?:\\.|[^\\|])*)(?:\||$)", re.DOTALL)
_ID = re.compile(r"((?:\\.|[^\\])*?)\[([0-9]{1,9})\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Type:
    """One type of annotation: a header line that says its columns.

    ``layer`` is the layer of its annotations, for relations that of their ends; ``base`` is the
    type of these ends.
    """

    mark: str
    name: str
    features: tuple[str, ...]
    base: str = ""

    @property
    def short_name(self) -> str:
        """The last part of the name: ``NamedEntity``."""
        return self.name.rpartition(".")[2]

    @property
    def layer(self) -> str:
        """The name of the layer."""
        return self.base.rpartition(".")[2] if self.base else self.short_name

    @property
    def columns(self) -> int:
        """The number of columns; one where there is no feature."""
        return max(1, len(self.features)) if self.mark != RELATION else len(self.features) + 1

    @property
    def label_feature(self) -> str | None:
        """The feature that is the label of an annotation."""
        usual = [name for name in LABELS if name in self.features]
        if usual or self.mark == CHAIN:
            return next(iter(usual), None)
        plain = (name for row, name in enumerate(self.features) if row not in self.slot_columns)
        return next((name for name in plain if name != "identifier"), None)

    @property
    def slot_columns(self) -> frozenset[int]:
        """The columns of slots: roles, each followed by the annotations in them."""
        roles = [row for row, name in enumerate(self.features) if name.startswith(SLOT)]
        return frozenset(column for role in roles for column in (role, role + 1))

    def without_slots(self) -> "Type":
        """Return the type without the columns of slots."""
        features = (name for row, name in enumerate(self.features) if row not in self.slot_columns)
        return replace(self, features=tuple(features))

    def label(self, values: Sequence[str]) -> str:
        """Return the label of an annotation with these values, as a file writes them."""
        by_name = dict(zip(self.features, values, strict=False))
        value = by_name.get(self.label_feature or "", NULL)
        return self.short_name if value == NULL else unescape(value)

    def line(self) -> str:
        """Return the header line."""
        parts = [self.name, *self.features, *([BASE + self.base] if self.base else [])]
        return self.mark + "|".join(parts if len(parts) > 1 else [*parts, ""])


def parse_type(line: str) -> Type | None:
    """Return the type of a header line, None for another line; raises ``ValueError``."""
    mark = next((mark for mark in (SPAN, RELATION, CHAIN) if line.startswith(mark)), None)
    if mark is None:
        return None
    name, *features = line.removeprefix(mark).split("|")
    features = [feature for feature in features if feature]
    base = ""
    if mark == RELATION:
        if not features or not features[-1].startswith(BASE):
            raise ValueError(f"expected a last column {BASE}TYPE, got {line:.60}")
        base = features.pop().removeprefix(BASE)
    short_names = [part.rpartition(".")[2] for part in (name, *([base] if base else []))]
    if not all(part.strip() for part in short_names) or len(set(features)) < len(features):
        raise ValueError(f"expected a name and different features, got {line:.60}")
    return Type(mark, name, tuple(features), base)


def types_of(document: Document, known: Sequence[Type]) -> list[Type]:
    """Return types for the layers of a document that the known ones have no place for."""
    names = {type_.name for type_ in known if type_.mark != RELATION}
    layers = {type_.layer for type_ in known if type_.mark != RELATION or type_.base not in names}
    linked = {type_.layer for type_ in known if type_.mark != SPAN}
    types: list[Type] = []
    for layer in document.layers:
        if layer.name in GIVEN_WORDS or layer.name != clean(layer.name):
            continue
        if layer.name not in layers and layer.spans:
            types.append(Type(SPAN, CUSTOM + layer.name, _features(layer, layer.spans)))
        if layer.name not in linked and layer.relations:
            features = _features(layer, layer.relations)
            base = next((t.name for t in [*known, *types] if t.layer == layer.name), "")
            name = f"{CUSTOM}{layer.name}Relation"
            types.append(Type(RELATION, name, features, base or CUSTOM + layer.name))
    return types


def _features(layer: Layer, annotations: Iterable[object]) -> tuple[str, ...]:
    ids = {getattr(annotation, "id", "") for annotation in annotations}
    names = {attribute.label for attribute in layer.attributes if attribute.target in ids}
    known = {name for name in names if name == clean(name) and not name.startswith(SLOT)}
    return (VALUE, *sorted(known.difference(LABELS)))


def clean(name: str) -> str:
    """Return a name that a header can hold."""
    return re.sub(r"[|.\t\n\r#]", "_", name).strip() or "_"


def escape(value: str) -> str:
    """Return a value as a cell holds it."""
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[0], "\\" + match[0]), value)


def unescape(value: str) -> str:
    """Return the value of a cell."""
    return _PLAIN.sub(lambda match: _BACK.get(match[1], match[1]), value)


def escape_text(text: str) -> str:
    """Return a text as one line."""
    return _TEXT.sub(lambda match: _ESCAPES[match[0]], text)


def items(cell: str) -> Iterator[tuple[str, int]]:
    """Yield the annotations of a cell: what is written, and the id, 0 for none."""
    end = 0
    while end <= len(cell):
        match = _ITEMS.match(cell, end)
        if match is None:
            raise ValueError(f"expected values between |, got {cell!r:.60}")
        named = _ID.fullmatch(match[1])
        yield (named[1], int(named[2])) if named else (match[1], 0)
        if match.end() == len(cell) and not match[0].endswith("|"):
            return
        end = match.end()


def attributes_of(layer: Layer) -> Mapping[str, dict[str, str]]:
    """Return name and value of the attributes of each annotation."""
    values_of: dict[str, dict[str, str]] = {}
    for attribute in layer.attributes:
        if attribute.value is not None:
            values_of.setdefault(attribute.target, {}).setdefault(attribute.label, attribute.value)
    return values_of
