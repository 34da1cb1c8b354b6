"""What the drawing is handed: documents as plain JSON (``draw/draw.js`` draws it).

::

    {"title": "…", "sides": ["gold", "predicted"], "layers": [{"name": "main", "shape": "spans"}],
     "documents": [{"name": "…", "text": "…", "lines": [[0, 12]], "notes": ["…"], "equal": 3,
       "sides": [{"spans": [{"id": "T1", "layer": 0, "label": "A", "fragments": [[0, 3]],
                             "colour": 4, "cluster": 2, "parent": 0, "bare": true, …}],
                  "links": [{"id": "R1", "layer": 0, "label": "r", "source": 0, "target": 1, …}],
                  "loose": ["…"]}]}],
     "differences": [{"document": 0, "kind": "label", "what": "spans", "items": [4, null]}]}

Offsets are code points. Spans and links are named by their places in ``spans`` and ``links``, so is
a difference on either side. A picture of one side has a side without a name. A layer with ``aside``
is not shown before the reader asks for it. What is empty or as usual is left out.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from spanloom.document import SENTENCES, Document, Fragment
from spanloom.forms.links import linked
from spanloom.page.aside import set_aside
from spanloom.page.compare import Comparison, Item, compare
from spanloom.page.marks import Link, Mark, Picture, drawn_layers, picture
from spanloom.page.palette import SIZE, numbers
from spanloom.page.partners import lone_layers, partners, shared_layers
from spanloom.page.shapes import CLUSTERS, CONSTITUENTS, DEPENDENCY, nesting, shapes_of

Json = dict[str, Any]


def drawing(
    documents: Iterable[Document], *, title: str, layers: Collection[str] | None = None
) -> Json:
    """Return documents as one picture each.

    ``layers`` names the layers to draw; None draws all but words and sentences, and sets dense ones
    aside. Raises ``LayerError`` for a layer that a document does not have.
    """
    given = tuple(documents)
    pictures = [picture(document, layers) for document in given]
    page = _Page(given, pictures, all_asked=layers is not None)
    shown = []
    for document, drawn in zip(given, pictures, strict=True):
        names = {layer.name for layer in drawn_layers(document, layers)} | {SENTENCES}  # lines
        hidden = [layer.name for layer in document.layers if layer.name not in names]
        note = [f"layers not drawn: {', '.join(hidden)}"] if hidden else []
        shown.append(_document(document, [page.side(document, drawn)], note))
    return page.whole(title, [""], shown, [])


def comparison(
    gold: Iterable[Document],
    predicted: Iterable[Document],
    *,
    title: str,
    layers: Collection[str] | None = None,
) -> Json:
    """Return gold beside predicted, and where they differ.

    Documents belong together by name; layers that only one side has are named and not compared.
    Raises ``DataError`` where a name has no partner or stands twice, ``DocumentError`` where two
    texts differ, ``LayerError`` for a layer in ``layers`` that a document does not have.
    """
    pairs = partners(tuple(gold), tuple(predicted))
    pictures: list[Picture] = []
    for pair in pairs:
        names = shared_layers(*pair) if layers is None else layers
        pictures += [picture(side, names) for side in pair]
    given = [side for pair in pairs for side in pair]
    page = _Page(given, pictures, all_asked=layers is not None)
    shown, differences = [], []
    for at, (one, other) in enumerate(pairs):
        both = pictures[2 * at], pictures[2 * at + 1]
        compared = compare(*both)
        sides = [page.side(one, compared.gold), page.side(other, compared.predicted)]
        alone = lone_layers(one, other)
        note = [f"layers on one side only: {', '.join(alone)}"] if alone else []
        shown.append(_document(one, sides, note) | {"equal": compared.equal})
        differences += [{"document": at, **each} for each in _differences(compared, *both)]
    return page.whole(title, ["gold", "predicted"], shown, differences)


class _Page:
    """What all documents of a page have in common: layers, their shapes, colours of labels.

    Where all layers were asked for by their names, none is set aside.
    """

    def __init__(
        self, documents: Sequence[Document], pictures: Iterable[Picture], *, all_asked: bool
    ) -> None:
        marks = [mark for drawn in pictures for mark in drawn.marks]
        named = {layer.name: None for document in documents for layer in document.layers}
        links = {link.layer for drawn in pictures for link in drawn.links}
        used = {mark.layer for mark in marks} | links
        self.layers = {name: at for at, name in enumerate(name for name in named if name in used)}
        self.shapes = shapes_of(documents)
        names = tuple(self.layers)
        self.aside = frozenset() if all_asked else set_aside(names, self.shapes, documents)
        self.colours = numbers(mark.label for mark in marks)
        labels = {(mark.layer, mark.label) for mark in marks}
        self.single = {name for name in used if sum(layer == name for layer, _ in labels) == 1}

    def whole(
        self, title: str, sides: list[str], shown: list[Json], differences: list[Json]
    ) -> Json:
        """Return all that the page shows."""
        layers = [
            {"name": name, "shape": self.shapes[name], **_said(aside=name in self.aside or None)}
            for name in self.layers
        ]
        return {
            "title": title,
            "sides": sides,
            "layers": layers,
            "documents": shown,
            "differences": differences,
        }

    def side(self, document: Document, drawn: Picture) -> Json:
        """Return one picture of a document."""
        places = {mark.id: at for at, mark in enumerate(drawn.marks)}
        clusters, parents = self._clusters(document), self._parents(document)
        spans = [
            self._span(mark, clusters.get(mark.id), places.get(parents.get(mark.id, "")))
            for mark in drawn.marks
        ]
        links = [self._link(link, places) for link in drawn.links]
        return {"spans": spans, "links": links, "loose": list(drawn.loose)}

    def _clusters(self, document: Document) -> dict[str, int]:
        """Return the number of the cluster of each mention that has one, from 1."""
        found: dict[str, int] = {}
        for layer in document.layers:
            if self.shapes.get(layer.name) == CLUSTERS:
                first = max(found.values(), default=0) + 1
                for number, group in enumerate(linked(layer), first):
                    found |= dict.fromkeys(group, number)
        return found

    def _parents(self, document: Document) -> dict[str, str]:
        """Return the constituent above each constituent, "" above the outermost ones."""
        found: dict[str, str] = {}
        for layer in document.layers:
            if self.shapes.get(layer.name) == CONSTITUENTS:
                above = nesting(layer.spans) or []
                for span, at in zip(layer.spans, above, strict=True):
                    found[span.id] = "" if at is None else layer.spans[at].id
        return found

    def _span(self, mark: Mark, cluster: int | None, parent: int | None) -> Json:
        bare = self.shapes[mark.layer] == DEPENDENCY and mark.layer in self.single
        caption = mark.caption
        if cluster is not None:
            caption = str(cluster) if mark.layer in self.single else f"{caption} {cluster}"
        colour = self.colours[mark.label] if cluster is None else (cluster - 1) % SIZE
        return {
            **self._common(mark, caption),
            "fragments": [list(each) for each in mark.fragments],
            "colour": colour,
            **_said(cluster=cluster, parent=parent, bare=bare or None),
        }

    def _link(self, link: Link, places: Mapping[str, int]) -> Json:
        return {
            **self._common(link, link.caption),
            "source": places[link.source],
            "target": places[link.target],
            **_said(undirected=not link.directed or None),
        }

    def _common(self, item: Item, caption: str) -> Json:
        score = item.score if item.score is not None and math.isfinite(item.score) else None
        return {
            "id": item.id,
            "layer": self.layers[item.layer],
            "label": item.label,
            **_said(
                caption=caption if caption != item.label else None,
                score=score,
                about=list(item.about) or None,
                state=item.state or None,
            ),
        }


def _said(**given: Any) -> Json:
    """Leave out what is None."""
    return {key: value for key, value in given.items() if value is not None}


def _document(document: Document, sides: list[Json], notes: list[str]) -> Json:
    asked = [f"{query.id}: {query.prompt}" for query in document.queries]
    return {
        "name": document.name,
        "text": document.text,
        "lines": [list(line) for line in _lines(document)],
        "notes": [*asked, *notes],
        "sides": sides,
    }


def _lines(document: Document) -> Iterator[Fragment]:
    """Yield the lines of a text without their ends; where sentences are given, each opens one.

    Blanks before the first sentence of a line belong to it.
    """
    text = document.text
    opened = {0, *(at + 1 for at, char in enumerate(text[:-1]) if char == "\n")}
    found = document[SENTENCES].spans if document.has(SENTENCES) else ()
    begun = {span.start for span in found if span.start < len(text)}
    starts: list[int] = []
    for at in sorted(opened | begun):
        if at in opened or text[starts[-1] : at].strip():
            starts.append(at)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if text[start:end].endswith("\n"):
            end -= 2 if text[start:end].endswith("\r\n") else 1
        yield start, end


def _differences(compared: Comparison, gold: Picture, predicted: Picture) -> Iterator[Json]:
    places = _places(gold), _places(predicted)
    for each in compared.differences:
        item = each.gold or each.predicted
        what = "spans" if isinstance(item, Mark) else "links"
        items = [
            place.get(id(i)) for place, i in zip(places, (each.gold, each.predicted), strict=True)
        ]
        yield {"kind": each.kind, "what": what, "items": items}


def _places(drawn: Picture) -> dict[int, int]:
    """Return the place of each mark among the marks, of each link among the links."""
    return {id(item): at for items in (drawn.marks, drawn.links) for at, item in enumerate(items)}
