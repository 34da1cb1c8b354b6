"""Read and write FrameNet's full texts: sentences with their annotation sets (from release 1.5).

::

    <sentence corpID="1" docID="2" sentNo="1" paragNo="1" aPos="0" ID="3">
        <text>Ada met Bob .</text>
        <annotationSet luName="meet.v" frameName="Meeting" status="MANUAL" ID="4">
            <layer rank="1" name="Target">
                <label end="6" start="4" name="Target"/>
            </layer>
            <layer rank="1" name="FE">
                <label feID="5" end="2" start="0" name="Party_1"/>
            </layer>
        </annotationSet>
    </sentence>

A file is a document, named as releases name files: CORPUS__DESCRIPTION. Blanks separate its words.
A set with a frame is, in layer ``frames``, a target labelled with the frame (of several fragments
if it has gaps, of width 0 if it has no words), an ``element`` for each frame element with words,
with the attributes ``GF`` and ``PT``, and a relation to it; an element without words is an
attribute of the target whose value is the kind of null instantiation (CNI, DNI, INI). The layers
PENN and NER of sets without a frame are ``xpos`` and ``entities``. A note ``set`` at the target, or
at the sentence, keeps each original set, so that unchanged sets are written back as they were.

Several files in one text, one after the other, are several documents.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from spanloom.config.options import Options
from spanloom.document import SENTENCES, Document, Relation, Span
from spanloom.errors import DocumentError, FormatError
from spanloom.formats._base import Format
from spanloom.formats._document_builder import DocumentBuilder, Names
from spanloom.formats._framenet import (
    GRAMMAR,
    NAME,
    Frame,
    Labels,
    Sentence,
    Set,
    XmlAttributes,
    fragment_of,
    frame_of,
    kept_in,
    labels_of,
    same,
    set_of,
)
from spanloom.formats._xml import (
    check_element,
    child_elements,
    escape_text,
    parse_xml,
    quote_attribute,
)
from spanloom.tokenization import blank_words, line_sentences

LAYER = "frames"
ELEMENT = "element"
SET = "set"  # the label of notes
PLAIN = {"PENN": "xpos", "NER": "entities"}  # layers of sets without a frame

_SPACE = "{http://framenet.icsi.berkeley.edu}"
_SCHEMA = "{http://www.w3.org/2001/XMLSchema-instance}schemaLocation"
_OPENING = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    '<?xml-stylesheet type="text/xsl" href="fullText.xsl"?>\n'
    '<fullTextAnnotation xsi:schemaLocation="../schema/fullText.xsd" '
    'xmlns="http://framenet.icsi.berkeley.edu" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n'
)
_DECLARATION = re.compile(r"<\?xml .*?\?>", re.DOTALL)
_FILE = re.compile(r"^\ufeff?<\?xml ", re.MULTILINE)


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the document of each file; raises ``FormatError``: path, line, what was expected."""
    names = Names()
    starts = [match.start() for match in _FILE.finditer(text)]
    for start, end in pairwise([0, *starts, len(text)]):
        if not text[start:end].strip():
            continue
        padding = "\n" * text.count("\n", 0, start)
        file_text = _DECLARATION.sub(_keep_line_ends, text[start:end].lstrip("\ufeff"), count=1)
        root = parse_xml(padding + file_text, path)
        yield _parse_document(root, names, path)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return one file per document; characters that XML cannot hold become U+FFFD."""
    return "".join(line + "\n" for document in documents for line in _format_document(document))


def _keep_line_ends(match: re.Match[str]) -> str:
    """Return the line ends of an XML declaration, which is valid only at the beginning."""
    return "\n" * match[0].count("\n")


def _parse_document(root: Any, names: Names, path: str) -> Document:
    """Return the document of a file; raises ``FormatError``."""
    check_element(root, "fullTextAnnotation", path, (_SCHEMA,), namespace=_SPACE)
    children = _children(root, path, "header", "sentence")
    if [child.tag for child in children[:1]] != [_SPACE + "header"]:
        raise FormatError(path, root.sourceline, "expected a <header> first")
    header = _parse_header(children[0], path)
    builder = names.making(
        f"{header.get('corpus.name', '')}__{header.get('document.description', '')}"
    )
    builder.meta += header.items()
    builder.layer(LAYER)
    for child in children[1:]:
        check_element(child, "sentence", path, namespace=_SPACE)
        _add_sentence(builder, child, path)
    return builder.build()


def _parse_header(header: Any, path: str) -> XmlAttributes:
    """Return the attributes of corpus and document; raises ``FormatError``."""
    header_attributes: XmlAttributes = {}
    for tag in ("corpus", "document"):
        children = _children(header, path, tag)
        if len(children) != 1:
            raise FormatError(path, header.sourceline, f"expected one <{tag}>, got {len(children)}")
        header = children[0]
        header_attributes |= {f"{tag}.{key}": value for key, value in header.attrib.items()}
    return header_attributes


def _add_sentence(builder: DocumentBuilder, element: Any, path: str) -> None:
    """Add a sentence and its sets; raises ``FormatError``."""
    children = _children(element, path, "text", "annotationSet")
    if [child.tag for child in children[:1]] != [_SPACE + "text"] or len(children[0]):
        raise FormatError(path, element.sourceline, "expected a <text> first, without elements")
    text = children[0].text or ""
    builder.add_pretokenized(text, blank_words(text))
    sentence = builder.sentences[-1]
    for key, value in element.attrib.items():
        builder.attribute(SENTENCES, key, sentence, value)
    start = builder.size - len(text)
    for child in children[1:]:
        annotation_set = _parse_set(child, path)
        try:
            target = _add_set(builder, annotation_set, start, builder.size) or sentence
        except DocumentError as error:
            raise FormatError(path, child.sourceline, str(error)) from error
        builder.note(LAYER, SET, target, json.dumps(annotation_set))


def _parse_set(element: Any, path: str) -> Set:
    """Return the annotation set of an element."""
    layers: list[Labels] = []
    for layer in _children(element, path, "layer"):
        labels = [dict(label.attrib) for label in _children(layer, path, "label")]
        layers.append((dict(layer.attrib), labels))
    return Set(dict(element.attrib), layers)


def _add_set(builder: DocumentBuilder, annotation_set: Set, start: int, end: int) -> str | None:
    """Add a set's annotations in the sentence ``[start, end)``; return a frame's target."""
    frame = frame_of(annotation_set, start, end)
    if frame is None:
        for name, layer in PLAIN.items():
            for item in annotation_set.labels(name):
                builder.span(layer, item.get("name", ""), fragment_of(item, start, end))
        return None
    target = builder.span(LAYER, frame.name, *frame.target)
    for label, bounds, *grammar in frame.elements:
        element = builder.span(LAYER, ELEMENT, bounds)
        builder.relation(LAYER, label, target, element)
        for name, value in zip(GRAMMAR, grammar, strict=True):
            if value is not None:
                builder.attribute(LAYER, name, element, value)
    for label, instantiation in frame.absent:
        builder.attribute(LAYER, label, target, instantiation)
    return target


def _children(element: Any, path: str, *tags: str) -> list[Any]:
    """Return the child elements; raises ``FormatError`` for other tags, and for text."""
    return child_elements(element, path, *tags, namespace=_SPACE)


def _format_document(document: Document) -> Iterator[str]:
    """Yield the lines of a document."""
    meta = dict(document.meta)
    header_attributes = {
        tag: {key.partition(".")[2]: meta[key] for key in meta if key.startswith(f"{tag}.")}
        for tag in ("corpus", "document")
    }
    if not any(header_attributes.values()):
        corpus, _, description = document.name.rpartition("__")
        header_attributes = {"corpus": {"name": corpus}, "document": {"description": description}}
    yield _OPENING.rstrip()
    yield "    <header>"
    yield f"        <corpus{_format_attributes(header_attributes['corpus'])}>"
    yield f"            <document{_format_attributes(header_attributes['document'])}/>"
    yield "        </corpus>"
    yield "    </header>"
    sentences = _sentences_of(document)
    writer = _SetWriter(document, sentences)
    for number, sentence in enumerate(sentences):
        yield f"    <sentence{_format_attributes(sentence.attributes)}>"
        yield f"        <text>{escape_text(document.text[sentence.start : sentence.end])}</text>"
        for annotation_set in writer.sets(number, sentence):
            yield from _format_set(annotation_set)
        yield "    </sentence>"
    yield "</fullTextAnnotation>"


def _sentences_of(document: Document) -> list[Sentence]:
    """Return the sentences of a document, lines if it has none."""
    if not document.has_layer(SENTENCES):
        return [Sentence("", start, end, {}) for start, end in line_sentences(document.text)]
    layer = document[SENTENCES]
    attributes_of: dict[str, XmlAttributes] = {}
    for attribute in layer.attributes:
        if NAME.fullmatch(attribute.label) and attribute.value is not None:
            attributes_of.setdefault(attribute.target, {})[attribute.label] = attribute.value
    spans = sorted(layer.spans, key=lambda span: (span.start, span.end))
    return [
        Sentence(span.id, span.start, span.end, attributes_of.get(span.id, {})) for span in spans
    ]


class _SetWriter:
    """The sets of a document: its kept notes, rebuilt where the frames have changed."""

    def __init__(self, document: Document, sentences: Sequence[Sentence]) -> None:
        """Group targets by sentence, relations and attributes by span."""
        layer = document.layer_or_empty(LAYER)
        self.spans = {span.id: span for span in layer.spans}
        self.relations: dict[str, list[Relation]] = {}
        for relation in layer.relations:
            self.relations.setdefault(relation.head, []).append(relation)
        self.attributes: dict[str, list[tuple[str, str]]] = {}
        for attribute in layer.attributes:
            if attribute.value is not None:
                self.attributes.setdefault(attribute.target, []).append(
                    (attribute.label, attribute.value)
                )
        starts = [sentence.start for sentence in sentences]
        self.plain = {layer: _by_sentence(document, layer, starts) for layer in PLAIN.values()}
        sentence_of = {
            sentence.id: number for number, sentence in enumerate(sentences) if sentence.id
        }
        self.targets: list[list[tuple[str, str | None]]] = [[] for _ in sentences]  # id, its note
        for span in layer.spans:
            if sentences and span.label != ELEMENT:
                sentence_of[span.id] = max(0, bisect_right(starts, span.start) - 1)
        notes = [
            (note.target, note.text)
            for note in layer.notes
            if note.label == SET and note.target in sentence_of
        ]
        noted_targets = {target for target, _ in notes}
        without_note = [
            (key, None) for key in self.spans if key in sentence_of and key not in noted_targets
        ]
        for target, note in [*notes, *without_note]:
            self.targets[sentence_of[target]].append((target, note))

    def sets(self, number: int, sentence: Sentence) -> Iterator[Set]:
        """Yield the sets of a sentence."""
        if not any(target == sentence.id for target, _ in self.targets[number]):
            yield from self._words_and_names(number, sentence)
        for target, note in self.targets[number]:
            kept = kept_in(note)
            if target not in self.spans:
                if kept is not None:
                    yield kept
                continue
            frame = self._frame(self.spans[target], sentence)
            if frame is not None and kept is not None and same(frame, kept, sentence):
                yield kept
            elif frame is not None:
                yield set_of(frame, kept or Set({"status": "MANUAL"}, []), sentence.start)

    def _words_and_names(self, number: int, sentence: Sentence) -> Iterator[Set]:
        """Yield the set of words and names of a sentence that has no kept set."""
        layers: list[Labels] = []
        for name, layer in PLAIN.items():
            spans = [span for span in self.plain[layer].get(number, ()) if sentence.has(span)]
            labeled = [(span.label, span.fragments[0]) for span in spans]
            layers.append(({"rank": "1", "name": name}, labels_of(labeled, sentence.start)))
        if any(labels for _, labels in layers):
            yield Set({"status": "UNANN"}, layers)

    def _frame(self, target: Span, sentence: Sentence) -> Frame | None:
        """Return the frame of a target, None if the target is not within the sentence."""
        is_empty = target.fragments == ((sentence.start, sentence.start),)
        if not is_empty and not sentence.has(target, allow_gaps=True):
            return None
        elements = []
        for relation in self.relations.get(target.id, []):
            tail = self.spans.get(relation.tail)
            if tail is not None and tail.label == ELEMENT and sentence.has(tail):
                attributes = dict(self.attributes.get(tail.id, []))
                grammar = attributes.get(GRAMMAR[0]), attributes.get(GRAMMAR[1])
                elements.append((relation.label, tail.fragments[0], *grammar))
        null_elements = tuple(self.attributes.get(target.id, []))
        return Frame(target.label, target.fragments, tuple(elements), null_elements)


def _by_sentence(document: Document, layer: str, starts: Sequence[int]) -> dict[int, list[Span]]:
    """Return the spans of a layer by the last sentence that starts before them."""
    spans: dict[int, list[Span]] = {}
    for span in document.layer_or_empty(layer).spans:
        spans.setdefault(bisect_right(starts, span.start) - 1, []).append(span)
    return spans


def _format_set(annotation_set: Set) -> Iterator[str]:
    """Yield the lines of a set."""
    yield f"        <annotationSet{_format_attributes(annotation_set.attributes)}>"
    for attributes, labels in annotation_set.layers:
        if not labels:
            yield f"            <layer{_format_attributes(attributes)}/>"
            continue
        yield f"            <layer{_format_attributes(attributes)}>"
        yield from (f"                <label{_format_attributes(label)}/>" for label in labels)
        yield "            </layer>"
    yield "        </annotationSet>"


def _format_attributes(attributes: XmlAttributes) -> str:
    """Return attributes in XML."""
    return "".join(f" {key}={quote_attribute(value)}" for key, value in attributes.items())


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by the first element."""
    return re.match(r"\s*(<\?[^>]*\?>\s*)*<fullTextAnnotation[\s>]", head) is not None


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".xml",),
    _OPENING
    + """    <header>
        <corpus name="Notes" ID="1">
            <document description="a" ID="2"/>
        </corpus>
    </header>
    <sentence corpID="1" docID="2" sentNo="1" paragNo="1" aPos="0" ID="3">
        <text>Ada picked &lt;it&gt; up .</text>
        <annotationSet cDate="1/1/2020" status="UNANN" ID="4">
            <layer rank="1" name="PENN">
                <label end="2" start="0" name="NP"/>
                <label end="9" start="4" name="VVD"/>
            </layer>
            <layer rank="1" name="NER">
                <label end="2" start="0" name="person"/>
            </layer>
            <layer rank="1" name="WSL"/>
        </annotationSet>
        <annotationSet cDate="1/2/2020" luName="pick up.v" frameName="Getting" ID="6">
            <layer rank="1" name="Target">
                <label cBy="7" end="9" start="4" name="Target"/>
                <label cBy="7" end="17" start="16" name="Target"/>
            </layer>
            <layer rank="1" name="FE">
                <label cBy="7" feID="8" end="2" start="0" name="Recipient"/>
                <label bgColor="FF0000" feID="9" end="14" start="11" name="Theme"/>
                <label cBy="7" feID="10" itype="INI" name="Source"/>
            </layer>
            <layer rank="1" name="GF">
                <label end="2" start="0" name="Ext"/>
            </layer>
            <layer rank="1" name="PT">
                <label end="2" start="0" name="NP"/>
            </layer>
            <layer rank="1" name="Verb"/>
        </annotationSet>
    </sentence>
</fullTextAnnotation>
""",
)
