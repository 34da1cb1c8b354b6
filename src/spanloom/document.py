"""Immutable text with stand-off annotation: character offsets, no torch.

Offsets are code points, bounds are ``[start, end)``. Annotation ids are unique in their document;
relations, events, attributes, normalisations, notes and equivalences refer to ids, also across
layers. ``==`` compares everything but scores; ``comparable`` ignores ids and order. A query is
input, like the text; its answers are spans of a layer (``annotation.queries``).

An absent layer means "not annotated"; an empty one means "annotated, without any annotation".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from spanloom.annotation_ids import IdGenerator, find_clash, find_ids
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
        names = [layer.name for layer in self.layers]
        if len(set(names)) < len(names):
            raise DocumentError(f"{self.name}: two layers have one name among {', '.join(names)}")
        query_ids: set[str] = set()
        for query in self.queries:
            if query.id in query_ids:
                raise DocumentError(f"{self.name}: two queries have the id {query.id!r}")
            query_ids.add(query.id)
        taken: set[str] = set()
        columns: list[AnnotationColumns[Annotation]] = []
        for layer in self.layers:
            for annotations in layer.kinds():
                if isinstance(annotations, AnnotationColumns):
                    columns.append(annotations)
                else:
                    self._check_ids_and_labels(annotations, taken)
            self._check_ends(layer.spans)
        self._check_columns(columns, taken)

    def _check_ids_and_labels(self, annotations: Iterable[Annotation], taken: set[str]) -> None:
        """Refuse ids that are taken and blank labels; add the ids to those taken."""
        for annotation in annotations:
            if annotation.id in taken:
                raise _duplicate_id(self.name, annotation.id)
            taken.add(annotation.id)
            require_label(annotation, self.name)

    def _check_columns(
        self, columns: Sequence[AnnotationColumns[Annotation]], taken: Iterable[str]
    ) -> None:
        """Refuse ids that are taken and blank labels without making objects."""
        clash = find_clash([annotations.ids for annotations in columns], taken)
        if clash is not None:
            raise _duplicate_id(self.name, clash)
        for annotations in columns:
            if not all(label.strip(BLANKS) for label in annotations.used_labels):
                for annotation in annotations:
                    require_label(annotation, self.name)

    def _check_ends(self, spans: Sequence[Span]) -> None:
        """Refuse spans that end outside the text."""
        if isinstance(spans, AnnotationColumns) and spans.max_end <= len(self.text):
            return
        for span in spans:
            if span.end > len(self.text):
                raise DocumentError(
                    f"{self.name}: span {span.id!r} ends at {span.end}, "
                    f"the text has {len(self.text)} characters"
                )

    def has_layer(self, layer: str) -> bool:
        """Return whether the document has that layer, even an empty one."""
        return any(candidate.name == layer for candidate in self.layers)

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
        used: list[str] = []
        for annotations in (kind for layer in self.layers for kind in layer.kinds()):
            if isinstance(annotations, AnnotationColumns):
                used.append(annotations.ids[len(annotations) - 1])
            else:
                used += (annotation.id for annotation in annotations)
        mentioned_ids = set(mentioned)
        if self.source:
            raw_lines = [line.raw for line in self.source.lines if line.file != ".txt"]
            used += [raw.partition("\t")[0].split(" ")[0] for raw in raw_lines]
            mentioned_ids.update(*map(find_ids, raw_lines))
        return IdGenerator(used, mentioned_ids)


def _duplicate_id(name: str, annotation_id: str) -> DocumentError:
    return DocumentError(f"{name}: two annotations have the id {annotation_id!r}")


def require_label(annotation: Annotation, name: str) -> None:
    """Raise ``DocumentError`` for a blank label; ``name`` is the document's."""
    if not annotation.label.strip(BLANKS):
        got = f"got {annotation.label!r:.60}"
        raise DocumentError(f"{name}: annotation {annotation.id!r} needs a label, {got}")
