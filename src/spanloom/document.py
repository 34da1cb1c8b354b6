"""A text and the annotation that stands off from it. Immutable; character offsets; no torch.

Offsets are code points, bounds are ``[start, end)``. Annotations carry ids that are unique in their
document; relations, events, attributes, normalisations, notes and equivalences refer to ids, across
layers too. ``==`` compares everything but scores; ``content`` compares apart from ids and order.
A query is input, as the text is; its answers are spans of a layer (``forms.queries``).

An absent layer means "not annotated"; an empty one means "nothing there".
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from spanloom.errors import DocumentError, LayerError

if TYPE_CHECKING:
    from pandas import DataFrame
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

Fragment = tuple[int, int]
MAIN = "main"  # the layer of annotations whose source names none
WORDS, SENTENCES = "words", "sentences"  # layers that say how the text is cut, not what it means
GIVEN = (WORDS, SENTENCES)
BLANKS = " \t\n\r\f\v"  # no label is made of these alone
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
        last = -1
        for start, end in sorted(self.fragments):
            if not 0 <= start <= end:
                raise DocumentError(f"span {self.id!r} needs 0 <= start <= end, got {start}..{end}")
            if start < last:
                raise DocumentError(f"span {self.id!r} has fragments that overlap at {start}")
            last = end

    @property
    def start(self) -> int:
        """First character."""
        return min(start for start, _ in self.fragments)

    @property
    def end(self) -> int:
        """One past the last character."""
        return max(end for _, end in self.fragments)


@dataclass(frozen=True, slots=True)
class Relation:
    """A labelled arrow from ``head`` to ``tail`` (ids); ``roles`` is what brat calls the ends."""

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
    """A property of any annotation: ``value`` is None where it is simply present."""

    id: str
    label: str
    target: str
    value: str | None = None
    score: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Normalization:
    """A link from an annotation to ``key`` in a ``resource``; ``text`` is its name there."""

    id: str
    label: str
    target: str
    resource: str
    key: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Free text about an annotation, or about anything ``target`` may name."""

    id: str
    label: str
    target: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Equivalence:
    """A set of annotations (ids) that mean the same."""

    id: str
    label: str
    members: tuple[str, ...]


Annotation = Span | Relation | Event | Attribute | Normalization | Note | Equivalence


@dataclass(frozen=True, slots=True)
class Layer:
    """The annotations of one kind of analysis, each tuple in the order of its source."""

    name: str
    spans: tuple[Span, ...] = ()
    relations: tuple[Relation, ...] = ()
    events: tuple[Event, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    normalizations: tuple[Normalization, ...] = ()
    notes: tuple[Note, ...] = ()
    equivalences: tuple[Equivalence, ...] = ()

    def annotations(self) -> Iterator[Annotation]:
        """All of them, spans first."""
        yield from self.spans
        yield from self.relations
        yield from self.events
        yield from self.attributes
        yield from self.normalizations
        yield from self.notes
        yield from self.equivalences


@dataclass(frozen=True, slots=True)
class Query:
    """A question put to a text. Its prompt never enters the text; no offset points into it."""

    id: str
    prompt: str

    def __post_init__(self) -> None:
        """Refuse a blank id or prompt: neither could be told from none at all."""
        if not self.id.strip():
            raise DocumentError(f"a query needs an id, got {self.id!r} for {self.prompt!r:.60}")
        if not self.prompt.strip():
            raise DocumentError(f"query {self.id!r} needs a prompt, got {self.prompt!r:.60}")


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One raw line of the file a document came from, without its line end.

    ``made`` is the annotation as it was read, None for a line that made none (a query's too);
    ``file`` is the suffix of the file it stood in; ``end`` the line end as it stood ("" at the end
    of a file).
    """

    raw: str
    made: Annotation | None = None
    file: str = ".ann"
    end: str = "\n"


@dataclass(frozen=True, slots=True)
class Source:
    """What writing a document back unchanged needs: raw lines, and how offsets are counted.

    ``offsets`` is the unit in the file: ``points`` (code points, the rule), ``crlf-as-one``,
    ``utf16``, ``bytes``, ``bom`` (code points, a byte order mark counted).
    """

    lines: tuple[SourceLine, ...] = ()
    offsets: str = "points"


@dataclass(frozen=True, slots=True)
class Document:
    """One text with its named layers, and the queries put to it.

    ``name`` is its path inside its corpus, without a suffix.
    """

    text: str
    layers: tuple[Layer, ...] = ()
    name: str = ""
    meta: tuple[tuple[str, str], ...] = ()
    queries: tuple[Query, ...] = ()
    source: Source | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse layers of one name, annotations or queries of one id, spans outside the text.

        Blank labels are refused too: nobody could tell what they say.
        """
        names = [layer.name for layer in self.layers]
        if len(set(names)) < len(names):
            raise DocumentError(f"{self.name}: two layers have one name among {', '.join(names)}")
        asked: set[str] = set()
        for query in self.queries:
            if query.id in asked:
                raise DocumentError(f"{self.name}: two queries have the id {query.id!r}")
            asked.add(query.id)
        seen: set[str] = set()
        for layer in self.layers:
            for annotation in layer.annotations():
                if annotation.id in seen:
                    raise DocumentError(
                        f"{self.name}: two annotations have the id {annotation.id!r}"
                    )
                seen.add(annotation.id)
                require_label(annotation, self.name)
            for span in layer.spans:
                if span.end > len(self.text):
                    raise DocumentError(
                        f"{self.name}: span {span.id!r} ends at {span.end}, "
                        f"the text has {len(self.text)} characters"
                    )

    def has(self, layer: str) -> bool:
        """Whether that layer was annotated at all."""
        return any(each.name == layer for each in self.layers)

    def __getitem__(self, layer: str) -> Layer:
        """Return the layer of that name; raises ``LayerError`` where there is none."""
        for each in self.layers:
            if each.name == layer:
                return each
        raise LayerError(self.name or "document", layer, (each.name for each in self.layers))

    def bare(self, keep: Iterable[str] = ()) -> "Document":
        """Return what a model may read: text, given words and sentences, queries.

        Other layers are left out but those named, and the source is.
        """
        kept = {*keep, *GIVEN}
        layers = tuple(layer for layer in self.layers if layer.name in kept)
        return replace(self, layers=layers, source=None)

    def with_layer(self, layer: Layer) -> "Document":
        """Return the document with that layer added, or put in the place of its namesake."""
        others = tuple(each for each in self.layers if each.name != layer.name)
        return replace(self, layers=(*others, layer))

    def cover(self, span: Span) -> str:
        """Return the text of a span, its fragments joined by one space, as brat writes it."""
        return " ".join(self.text[start:end] for start, end in span.fragments)

    def annotations(self) -> dict[str, Annotation]:
        """Every annotation by id."""
        return {each.id: each for layer in self.layers for each in layer.annotations()}

    # Two short cuts upwards, imported when they are called: readers look for them here.

    def to_spacy(
        self, *, entities: str | None = None, vocab: "Vocab | None" = None, strict: bool = False
    ) -> "Doc":
        """Return the document as spaCy's ``Doc``; see ``interchange.spacy.to_spacy``."""
        from spanloom.interchange.spacy import to_spacy

        return to_spacy(self, entities=entities, vocab=vocab, strict=strict)

    def to_pandas(self) -> "DataFrame":
        """Return a row an annotation; see ``interchange.pandas.to_pandas``."""
        from spanloom.interchange.pandas import to_pandas

        return to_pandas(self)


def require_label(annotation: Annotation, name: str) -> None:
    """Raise ``DocumentError`` where a label is blank; ``name`` is the document's."""
    if not annotation.label.strip(BLANKS):
        got = f"got {annotation.label!r:.60}"
        raise DocumentError(f"{name}: annotation {annotation.id!r} needs a label, {got}")


def content(document: Document) -> tuple[Any, ...]:
    """Return what a document says apart from ids, order and source, so that it can be compared.

    A reference is replaced by what it refers to; an event that (directly or not) refers to itself
    is cut at the second visit, so cyclic events are safe. Queries keep their ids: an answer names
    its query by value.
    """
    known = document.annotations()

    def meaning(target: str, above: tuple[str, ...] = ()) -> Any:
        each = known.get(target)
        if each is None or target in above:
            return ("?", "cycle" if each else target)
        inner = (*above, target)
        match each:
            case Span():
                return ("span", each.label, tuple(sorted(each.fragments)))
            case Relation():
                ends = meaning(each.head, inner), meaning(each.tail, inner)
                return ("relation", each.label, each.roles, *ends)
            case Event():
                filled = sorted(repr((a.role, meaning(a.target, inner))) for a in each.arguments)
                return ("event", each.label, meaning(each.trigger, inner), tuple(filled))
            case Attribute():
                return ("attribute", each.label, each.value, meaning(each.target, inner))
            case Normalization():
                what = each.label, each.resource, each.key, each.text
                return ("normalization", *what, meaning(each.target, inner))
            case Note():
                return ("note", each.label, each.text, meaning(each.target, inner))
            case Equivalence():
                members = sorted(repr(meaning(m, inner)) for m in each.members)
                return ("equivalence", each.label, tuple(members))

    layers = sorted(
        (layer.name, tuple(sorted(repr(meaning(each.id)) for each in layer.annotations())))
        for layer in document.layers
    )
    asked = tuple(sorted((query.id, query.prompt) for query in document.queries))
    return (document.text, document.name, tuple(sorted(document.meta)), tuple(layers), asked)
