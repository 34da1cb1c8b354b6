"""Immutable text with stand-off annotation: character offsets, no torch.

Offsets are code points, bounds are ``[start, end)``. Annotation ids are unique in their document;
relations, events, attributes, normalisations, notes and equivalences refer to ids, also across
layers. ``==`` compares everything but scores; ``comparable`` ignores ids and order. A query is
input, like the text; its answers are spans of a layer (``annotation.queries``).

An absent layer means "not annotated"; an empty one means "annotated, without any annotation".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from spanloom.annotation_ids import IdGenerator, IdRange, KnownIds, find_clash, find_ids
from spanloom.columns import AnnotationColumns
from spanloom.errors import DocumentError, LayerError

Fragment = tuple[int, int]
MAIN = "main"  # the layer of annotations whose source names no layer
WORDS, SENTENCES = "words", "sentences"  # layers that hold the tokenization
GIVEN_WORDS = (WORDS, SENTENCES)
BLANKS = " \t\n\r\f\v"  # a label of these alone is refused
WORD, SENTENCE = "word", "sentence"  # the labels of their spans


@dataclass(frozen=True, slots=True)
class Span:
    """A labelled piece of text: one or more fragments, in the order the annotator gave them."""

    id: str
    label: str
    fragments: tuple[Fragment, ...]
    score: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Refuse backward, negative or overlapping fragments; zero width is allowed."""
        if not self.fragments:
            raise DocumentError(f"span {self.id!r} has no fragment")
        previous_end = -1
        for start, end in sorted(self.fragments):
            if not 0 <= start <= end:
                raise DocumentError(f"span {self.id!r} needs 0 <= start <= end, got {start}..{end}")
            if start < previous_end:
                raise DocumentError(f"span {self.id!r} has fragments that overlap at {start}")
            previous_end = end

    @property
    def start(self) -> int:
        """Offset of the first character."""
        return min(self.fragments)[0]

    @property
    def end(self) -> int:
        """Offset after the last character."""
        return max(self.fragments)[1]  # none overlap, so the last one ends last


@dataclass(frozen=True, slots=True)
class Relation:
    """A labelled edge from ``head`` to ``tail`` (ids); ``roles`` are brat's names of its ends."""

    id: str
    label: str
    head: str
    tail: str
    roles: tuple[str, str] = ("Arg1", "Arg2")
    score: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an event: ``role`` as written (``Theme2``), ``target`` a span or event id."""

    role: str
    target: str


@dataclass(frozen=True, slots=True)
class Event:
    """A trigger span (id) with labelled arguments."""

    id: str
    label: str
    trigger: str
    arguments: tuple[Argument, ...] = ()
    score: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Attribute:
    """A property of any annotation; ``value`` is None for an attribute without a value."""

    id: str
    label: str
    target: str
    value: str | None = None
    score: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Normalization:
    """A link from an annotation to ``key`` in a ``resource``; ``text`` is the entry's name."""

    id: str
    label: str
    target: str
    resource: str
    key: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Free text about an annotation, or about whatever ``target`` names."""

    id: str
    label: str
    target: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Equivalence:
    """A set of annotations (ids) that mean the same, such as coreferent mentions."""

    id: str
    label: str
    members: tuple[str, ...]


Annotation = Span | Relation | Event | Attribute | Normalization | Note | Equivalence


@dataclass(frozen=True, slots=True)
class Layer:
    """The annotations of one kind of analysis, each kind in the order of its source.

    Spans and relations are tuples, or columns (``annotation_columns``) that equal such tuples and
    make an object when it is read.
    """

    name: str
    spans: Sequence[Span] = ()
    relations: Sequence[Relation] = ()
    events: tuple[Event, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    normalizations: tuple[Normalization, ...] = ()
    notes: tuple[Note, ...] = ()
    equivalences: tuple[Equivalence, ...] = ()
    _checks: "_LayerChecks | None" = field(default=None, init=False, compare=False, repr=False)

    def annotations(self) -> Iterator[Annotation]:
        """Yield all annotations, spans first."""
        for annotations in self.kinds():
            yield from annotations

    def kinds(self) -> tuple[Sequence[Annotation], ...]:
        """Return the annotations of each kind, spans first."""
        return (
            self.spans,
            self.relations,
            self.events,
            self.attributes,
            self.normalizations,
            self.notes,
            self.equivalences,
        )

    def __reduce__(self) -> tuple[type["Layer"], tuple[object, ...]]:
        """Return what a copy is made of: what a document checks is found again by its reader."""
        return type(self), (self.name, *self.kinds())

    @property
    def checks(self) -> "_LayerChecks | None":
        """What a document checks, found once for all documents with this layer; None if wrong."""
        if self._checks is not None:
            return self._checks
        checks = _check(self)
        if all(isinstance(annotations, tuple | AnnotationColumns) for annotations in self.kinds()):
            object.__setattr__(self, "_checks", checks)  # a list might change
        return checks


@dataclass(frozen=True, slots=True, eq=False)
class _LayerChecks:
    """What a document checks of a layer: ids of objects and of columns, where spans end."""

    known: KnownIds
    ranges: tuple[IdRange, ...]
    max_end: int


def _check(layer: Layer) -> _LayerChecks | None:
    """Return what is known of a layer, None where it has an id twice or a blank label."""
    objects: list[Annotation] = []
    columns: list[AnnotationColumns[Annotation]] = []
    for annotations in layer.kinds():
        if isinstance(annotations, AnnotationColumns):
            columns.append(annotations)
        else:
            objects += annotations
    known = KnownIds(frozenset(annotation.id for annotation in objects))
    ranges = tuple(annotations.ids for annotations in columns)
    labels = [annotation.label for annotation in objects]
    labels += [label for annotations in columns for label in annotations.used_labels]
    has_ids_once = len(known.ids) == len(objects) and not _share_ids([known], ranges)
    if not has_ids_once or not all(label.strip(BLANKS) for label in labels):
        return None
    spans = layer.spans
    if isinstance(spans, AnnotationColumns):
        return _LayerChecks(known, ranges, spans.max_end)
    return _LayerChecks(known, ranges, max((span.end for span in spans), default=0))


def _share_ids(taken: Sequence[KnownIds], ranges: Sequence[IdRange]) -> bool:
    """Return whether an id is in two ranges, or in a range and among those taken."""
    others = (known.ids for known in taken if not known.are_below(ranges))
    return find_clash(ranges, chain.from_iterable(others)) is not None


@dataclass(frozen=True, slots=True)
class Query:
    """A question about a text. Its prompt is not part of the text; no offset points into it."""

    id: str
    prompt: str

    def __post_init__(self) -> None:
        """Refuse a blank id or prompt: it could not be distinguished from a missing one."""
        if not self.id.strip():
            raise DocumentError(f"a query needs an id, got {self.id!r} for {self.prompt!r:.60}")
        if not self.prompt.strip():
            raise DocumentError(f"query {self.id!r} needs a prompt, got {self.prompt!r:.60}")


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One raw line of the file a document was read from, without its line end.

    ``annotation`` is the annotation as it was read, None for a line without one (or with a query);
    ``file`` is the suffix of its file; ``end`` the line end as written ("" at the end of a file).
    """

    raw: str
    annotation: Annotation | None = None
    file: str = ".ann"
    end: str = "\n"


@dataclass(frozen=True, slots=True)
class Source:
    """What is needed to write a document back unchanged: raw lines, and the unit of offsets.

    ``offsets`` is the unit in the file: ``points`` (code points, the rule), ``crlf-as-one``,
    ``utf16``, ``bytes``, ``bom`` (code points, a byte order mark counted).
    """

    lines: tuple[SourceLine, ...] = ()
    offsets: str = "points"


@dataclass(frozen=True, slots=True)
class Document:
    """One text with its named layers and queries.

    ``name`` is its path inside its corpus, without a suffix.
    """

    text: str
    layers: tuple[Layer, ...] = ()
    name: str = ""
    meta: tuple[tuple[str, str], ...] = ()
    queries: tuple[Query, ...] = ()
    source: Source | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse duplicate layer names, annotation ids and query ids, and spans outside the text.

        Blank labels are refused too: they say nothing.
        """
        if isinstance(self.layers, str):
            raise TypeError(f"expected layers, got {self.layers!r:.60}; Document(text, name=…)")
        names = [layer.name for layer in self.layers]
        if len(set(names)) < len(names):
            raise DocumentError(f"{self.name}: two layers have one name among {', '.join(names)}")
        query_ids: set[str] = set()
        for query in self.queries:
            if query.id in query_ids:
                raise DocumentError(f"{self.name}: two queries have the id {query.id!r}")
            query_ids.add(query.id)
        if not self._has_valid_layers():
            self._check_layers()

    def _has_valid_layers(self) -> bool:
        """Return whether the layers are surely right, from what is known of each."""
        checks = [layer.checks for layer in self.layers]
        valid = [known for known in checks if known is not None and known.max_end <= len(self.text)]
        if len(valid) < len(checks):
            return False
        sets = [layer.known.ids for layer in valid if layer.known.ids]
        if len(sets) > 1 and len(frozenset().union(*sets)) < sum(map(len, sets)):
            return False
        ranges = [ids for layer in valid for ids in layer.ranges]
        return not _share_ids([layer.known for layer in valid], ranges)

    def _check_layers(self) -> None:
        """Refuse ids that are there twice, blank labels, and spans outside the text."""
        taken: set[str] = set()
        for layer in self.layers:
            for annotation in layer.annotations():
                if annotation.id in taken:
                    problem = f"two annotations have the id {annotation.id!r}"
                    raise DocumentError(f"{self.name}: {problem}")
                taken.add(annotation.id)
                require_label(annotation, self.name)
            for span in layer.spans:
                if span.end > len(self.text):
                    raise DocumentError(
                        f"{self.name}: span {span.id!r} ends at {span.end}, "
                        f"the text has {len(self.text)} characters"
                    )

    def has_layer(self, layer: str) -> bool:
        """Return whether the document has that layer, even an empty one."""
        return any(candidate.name == layer for candidate in self.layers)

    def layer_or_empty(self, layer: str) -> Layer:
        """Return the layer of that name, an empty one if there is none."""
        return self[layer] if self.has_layer(layer) else Layer(layer)

    def __getitem__(self, layer: str) -> Layer:
        """Return the layer of that name; raises ``LayerError`` if there is none."""
        for candidate in self.layers:
            if candidate.name == layer:
                return candidate
        names = (candidate.name for candidate in self.layers)
        raise LayerError(self.name or "document", layer, names)

    def unannotated(self, keep: Iterable[str] = ()) -> "Document":
        """Return what a model may read: the text, given words and sentences, and queries.

        Of the other layers only those in ``keep`` are kept; the source is dropped.
        """
        kept_names = {*keep, *GIVEN_WORDS}
        layers = tuple(layer for layer in self.layers if layer.name in kept_names)
        if self.source is None and len(layers) == len(self.layers):
            return self
        return replace(self, layers=layers, source=None)

    def with_layer(self, layer: Layer) -> "Document":
        """Return the document with that layer added, or replaced if the name exists."""
        others = tuple(other for other in self.layers if other.name != layer.name)
        return replace(self, layers=(*others, layer))

    def text_of(self, span: Span) -> str:
        """Return the text of a span, its fragments joined by one space, as brat writes it."""
        return " ".join(self.text[start:end] for start, end in span.fragments)

    def annotations(self) -> dict[str, Annotation]:
        """Return all annotations by id."""
        return {
            annotation.id: annotation for layer in self.layers for annotation in layer.annotations()
        }

    def id_generator(self, mentioned: Iterable[str] = ()) -> IdGenerator:
        """Return a generator of ids for new annotations.

        It reuses no id of an annotation, of an unreadable line, or of an annotation that was
        removed since the document was read, and no id that any line mentions: a reference to a
        missing annotation must not become a reference to a new one. ``mentioned`` are more such
        ids.
        """
        checks = [layer.checks for layer in self.layers]
        used = [ids[ids.count - 1] for known in checks if known for ids in known.ranges]
        used += [
            f"{prefix}{number}"
            for layer in checks
            if layer
            for prefix, number in layer.known.highest.items()
        ]
        mentioned_ids = set(mentioned)
        if self.source:
            raw_lines = [line.raw for line in self.source.lines if line.file != ".txt"]
            used += [raw.partition("\t")[0].split(" ")[0] for raw in raw_lines]
            mentioned_ids.update(*map(find_ids, raw_lines))
        return IdGenerator(used, mentioned_ids)


def require_label(annotation: Annotation, name: str) -> None:
    """Raise ``DocumentError`` for a blank label; ``name`` is the document's."""
    if not annotation.label.strip(BLANKS):
        got = f"got {annotation.label!r:.60}"
        raise DocumentError(f"{name}: annotation {annotation.id!r} needs a label, {got}")
