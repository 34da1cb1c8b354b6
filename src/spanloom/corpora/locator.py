"""Where an annotation of a document stands, in words for people: file, line, label and text."""

from functools import cached_property
from pathlib import Path

from spanloom.document import Document, Relation, Span
from spanloom.formats.brat.offsets import MARK


class Locator:
    """Locations of one document's annotations; its lines are indexed when first needed."""

    def __init__(self, document: Document, root: Path | None) -> None:
        """``root`` is the folder that the document's name is relative to."""
        self.document = document
        self.path_stem = document.name if root is None else str(root / document.name)

    @cached_property
    def _locations(self) -> dict[str, str]:
        """``file:line`` of each annotation, by id."""
        locations: dict[str, str] = {}
        line_numbers: dict[str, int] = {}
        source = self.document.source
        for line in source.lines if source else ():
            if line.raw == MARK and not line.end:
                continue  # a byte order mark: it begins the first line
            line_numbers[line.file] = line_numbers.get(line.file, 0) + 1
            if line.annotation is not None:
                locations.setdefault(
                    line.annotation.id, f"{self.path_stem}{line.file}:{line_numbers[line.file]}"
                )
        return locations

    @cached_property
    def _spans_by_id(self) -> dict[str, Span]:
        """All spans by id."""
        return {span.id: span for layer in self.document.layers for span in layer.spans}

    def __call__(self, item: Span | Relation) -> str:
        """Return location, label and text on one line; arguments have their event's location."""
        id_ = item.id if item.id in self._locations else item.id.partition(":")[0]
        if isinstance(item, Span):
            description = f"{item.label} {self._quoted_text(item)}"
        else:
            ends = (self._spans_by_id.get(end) for end in (item.head, item.tail))
            head, tail = (self._quoted_text(span) if span else "?" for span in ends)
            description = f"{item.label} {head} -> {tail}"
        return f"{self._locations.get(id_) or self._offset_location(item)} {description}"

    def _offset_location(self, item: Span | Relation) -> str:
        """Return ``document:offset`` of the first character of a span, or of a relation's head."""
        span = item if isinstance(item, Span) else self._spans_by_id.get(item.head)
        return f"{self.path_stem}:{span.start}" if span else self.path_stem

    def _quoted_text(self, span: Span) -> str:
        """Return the covered text in quotes, shortened to 40 characters."""
        text = self.document.text_of(span)
        return repr(text if len(text) <= 40 else f"{text[:37]}...")
