"""Where an annotation stands: file and line of a document read from files, else its offset."""

from functools import cached_property
from pathlib import Path

from spanloom.document import Document, Relation, Span


class Locator:
    """Places of one document's annotations; its lines are only indexed when one is asked for."""

    def __init__(self, document: Document, root: Path | None) -> None:
        """``root`` is the folder that the document's name starts from."""
        self.document = document
        self.base = document.name if root is None else str(root / document.name)

    @cached_property
    def _lines(self) -> dict[str, str]:
        """``file:line`` of each annotation's id."""
        found: dict[str, str] = {}
        numbers: dict[str, int] = {}
        source = self.document.source
        for line in source.lines if source else ():
            numbers[line.file] = numbers.get(line.file, 0) + 1
            if line.made is not None:
                found.setdefault(line.made.id, f"{self.base}{line.file}:{numbers[line.file]}")
        return found

    @cached_property
    def _spans(self) -> dict[str, Span]:
        """All spans by id."""
        return {span.id: span for layer in self.document.layers for span in layer.spans}

    def __call__(self, item: Span | Relation) -> str:
        """Return place, label and text on one line; an event's argument stands where it does."""
        id_ = item.id if item.id in self._lines else item.id.partition(":")[0]
        if isinstance(item, Span):
            says = f"{item.label} {self._text(item)}"
        else:
            ends = (self._spans.get(each) for each in (item.head, item.tail))
            head, tail = (self._text(each) if each else "?" for each in ends)
            says = f"{item.label} {head} -> {tail}"
        return f"{self._lines.get(id_) or self._offset(item)} {says}"

    def _offset(self, item: Span | Relation) -> str:
        """``document:first character`` of a span, or of a relation's head."""
        span = item if isinstance(item, Span) else self._spans.get(item.head)
        return f"{self.base}:{span.start}" if span else self.base

    def _text(self, span: Span) -> str:
        """The covered text in quotes, shortened to 40 characters."""
        text = self.document.cover(span)
        return repr(text if len(text) <= 40 else f"{text[:37]}...")
