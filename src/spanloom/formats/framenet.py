"""FrameNet's full texts: a file of sentences, each with its sets of labels (release 1.5 and later).

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

A file is a document, named as releases name files: CORPUS__DESCRIPTION. Blanks part its words. A
set with a frame is, in layer ``frames``, a target labelled with the frame (of several fragments
where it has gaps, without width where it has none), an ``element`` for each frame element with
words, with the attributes ``GF`` and ``PT``, and a relation to it; an element without words is an
attribute of the target whose value says how it is left out (CNI, DNI, INI). The layers PENN and NER
of sets without a frame are ``xpos`` and ``entities``. A note ``set`` at the target, or at the
sentence, keeps each set as it stands, so that one that nobody changed is written back.

Several files in one text, one after the other, are several documents.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from spanloom.config.options import Options
from spanloom.document import SENTENCES, Document, Layer, Relation, Span
from spanloom.errors import DocumentError, FormatError
from spanloom.formats._base import Format, Losses
from spanloom.formats._framenet import (
    GRAMMAR,
    NAME,
    Frame,
    Labels,
    Said,
    Sentence,
    Set,
    framed,
    kept_in,
    labels_of,
    placed,
    same,
    set_of,
)
from spanloom.formats._making import Making
from spanloom.formats._names import Names
from spanloom.formats._regained import missing
from spanloom.formats._xml import escaped, parsed, quoted
from spanloom.words import blank_words, line_sentences

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
_DECLARED = re.compile(r"<\?xml .*?\?>", re.DOTALL)
_FILE = re.compile(r"^\ufeff?<\?xml ", re.MULTILINE)


def loads(text: str, *, path: str = "<string>", options: Options = Options()) -> Iterator[Document]:
    """Yield the document of each file; raises ``FormatError``: path, line, what was expected."""
    names = Names()
    starts = [match.start() for match in _FILE.finditer(text)]
    for start, end in pairwise([0, *starts, len(text)]):
        if not text[start:end].strip():
            continue
        before = "\n" * text.count("\n", 0, start)
        one = _DECLARED.sub(_line_ends, text[start:end].lstrip("\ufeff"), count=1)
        root = parsed(before + one, path)
        yield _document(root, names, path)


def dumps(documents: Iterable[Document], *, options: Options = Options()) -> str:
    """Return a file a document, one after the other; what XML may not hold becomes U+FFFD."""
    return "".join(line + "\n" for each in documents for line in _file(each))


def _line_ends(match: re.Match[str]) -> str:
    """Return what stands for an XML declaration, which may stand at the beginning alone."""
    return "\n" * match[0].count("\n")


def _document(root: Any, names: Names, path: str) -> Document:
    """Return the document of a file."""
    _known(root, "fullTextAnnotation", path, {_SCHEMA})
    children = list(_children(root, path, "header", "sentence"))
    if [each.tag for each in children[:1]] != [_SPACE + "header"]:
        raise FormatError(path, root.sourceline, "expected a <header> first")
    said = _header(children[0], path)
    made = names.making(f"{said.get('corpus.name', '')}__{said.get('document.description', '')}")
    made.meta += said.items()
    made.layer(LAYER)
    for each in children[1:]:
        _known(each, "sentence", path)
        _sentence(made, each, path)
    return made.done()


def _header(header: Any, path: str) -> Said:
    """Return what the header says of corpus and document."""
    said: Said = {}
    for tag in ("corpus", "document"):
        inside = list(_children(header, path, tag))
        if len(inside) != 1:
            raise FormatError(path, header.sourceline, f"expected one <{tag}>, got {len(inside)}")
        header = inside[0]
        said |= {f"{tag}.{key}": value for key, value in header.attrib.items()}
    return said


def _sentence(made: Making, element: Any, path: str) -> None:
    """Add a sentence and its sets."""
    children = list(_children(element, path, "text", "annotationSet"))
    if [each.tag for each in children[:1]] != [_SPACE + "text"] or len(children[0]):
        raise FormatError(path, element.sourceline, "expected a <text> first, without elements")
    text = children[0].text or ""
    made.given(text, blank_words(text))
    sentence = made.sentences[-1]
    for key, value in element.attrib.items():
        made.attribute(SENTENCES, key, sentence, value)
    start = made.size - len(text)
    for each in children[1:]:
        found = _set(each, path)
        try:
            target = _add(made, found, start, made.size) or sentence
        except DocumentError as error:
            raise FormatError(path, each.sourceline, str(error)) from error
        made.note(LAYER, SET, target, json.dumps(found))


def _set(element: Any, path: str) -> Set:
    """Return a set as it stands."""
    layers: list[Labels] = []
    for layer in _children(element, path, "layer"):
        labels = [dict(each.attrib) for each in _children(layer, path, "label")]
        layers.append((dict(layer.attrib), labels))
    return Set(dict(element.attrib), layers)


def _add(made: Making, found: Set, start: int, end: int) -> str | None:
    """Add what a set of the sentence ``[start, end)`` says; return the target of a frame."""
    frame = framed(found, start, end)
    if frame is None:
        for name, layer in PLAIN.items():
            for each in found.labels(name):
                made.span(layer, each.get("name", ""), placed(each, start, end))
        return None
    target = made.span(LAYER, frame.name, *frame.target)
    for label, place, *grammar in frame.elements:
        element = made.span(LAYER, ELEMENT, place)
        made.relation(LAYER, label, target, element)
        for name, value in zip(GRAMMAR, grammar, strict=True):
            if value is not None:
                made.attribute(LAYER, name, element, value)
    for label, how in frame.absent:
        made.attribute(LAYER, label, target, how)
    return target


def _children(element: Any, path: str, *tags: str) -> Iterator[Any]:
    """Yield the elements in an element; ``FormatError`` for others, and for text."""
    loose = [element.text]
    for each in element:
        if each.tag not in [_SPACE + tag for tag in tags]:
            got = str(each.tag).removeprefix(_SPACE) if isinstance(each.tag, str) else "a comment"
            problem = f"expected <{'> or <'.join(tags)}>, got {got:.60}"
            raise FormatError(path, each.sourceline, problem)
        loose.append(each.tail)
        yield each
    if "".join(each or "" for each in loose).strip():
        raise FormatError(path, element.sourceline, f"expected no text in {element.tag}")


def _known(element: Any, tag: str, path: str, keys: set[str] | None = None) -> None:
    """Raise ``FormatError`` unless an element has this name and no attribute but these."""
    if element.tag != _SPACE + tag:
        problem = f"expected <{tag}> of FrameNet, got {element.tag!r:.60}"
        raise FormatError(path, element.sourceline, problem)
    odd = [key for key in element.attrib if keys is not None and key not in keys]
    if odd:
        raise FormatError(path, element.sourceline, f"unknown attribute {odd[0]!r:.60} of <{tag}>")


def _file(document: Document) -> Iterator[str]:
    """Yield the lines of a document."""
    meta = dict(document.meta)
    said = {
        tag: {key.partition(".")[2]: meta[key] for key in meta if key.startswith(f"{tag}.")}
        for tag in ("corpus", "document")
    }
    if not any(said.values()):
        corpus, _, description = document.name.rpartition("__")
        said = {"corpus": {"name": corpus}, "document": {"description": description}}
    yield _OPENING.rstrip()
    yield "    <header>"
    yield f"        <corpus{_attributes(said['corpus'])}>"
    yield f"            <document{_attributes(said['document'])}/>"
    yield "        </corpus>"
    yield "    </header>"
    sentences = _sentences(document)
    written = _Written(document, sentences)
    for number, sentence in enumerate(sentences):
        yield f"    <sentence{_attributes(sentence.said)}>"
        yield f"        <text>{escaped(document.text[sentence.start : sentence.end])}</text>"
        for each in written.sets(number, sentence):
            yield from _set_lines(each)
        yield "    </sentence>"
    yield "</fullTextAnnotation>"


def _sentences(document: Document) -> list[Sentence]:
    """Return the sentences of a document, lines where it gives none."""
    if not document.has(SENTENCES):
        return [Sentence("", start, end, {}) for start, end in line_sentences(document.text)]
    layer = document[SENTENCES]
    said: dict[str, Said] = {}
    for each in layer.attributes:
        if NAME.fullmatch(each.label) and each.value is not None:
            said.setdefault(each.target, {})[each.label] = each.value
    spans = sorted(layer.spans, key=lambda span: (span.start, span.end))
    return [Sentence(span.id, span.start, span.end, said.get(span.id, {})) for span in spans]


class _Written:
    """The sets of a document: those that its notes keep, made anew where its frames differ."""

    def __init__(self, document: Document, sentences: Sequence[Sentence]) -> None:
        """Find out which targets each sentence has, and what is said of them."""
        self.document = document
        layer = document[LAYER] if document.has(LAYER) else Layer(LAYER)
        self.spans = {span.id: span for span in layer.spans}
        self.relations: dict[str, list[Relation]] = {}
        for each in layer.relations:
            self.relations.setdefault(each.head, []).append(each)
        self.said: dict[str, list[tuple[str, str]]] = {}
        for said in layer.attributes:
            if said.value is not None:
                self.said.setdefault(said.target, []).append((said.label, said.value))
        starts = [each.start for each in sentences]
        home = {each.id: number for number, each in enumerate(sentences) if each.id}
        self.targets: list[list[tuple[str, str | None]]] = [[] for _ in sentences]  # id, its note
        for span in layer.spans:
            if sentences and span.label != ELEMENT:
                home[span.id] = max(0, bisect_right(starts, span.start) - 1)
        kept = [(n.target, n.text) for n in layer.notes if n.label == SET and n.target in home]
        noted = {target for target, _ in kept}
        new = [(key, None) for key in self.spans if key in home and key not in noted]
        for target, note in [*kept, *new]:
            self.targets[home[target]].append((target, note))

    def sets(self, number: int, sentence: Sentence) -> Iterator[Set]:
        """Yield the sets of a sentence."""
        if not any(target == sentence.id for target, _ in self.targets[number]):
            yield from self._plain(sentence)
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

    def _plain(self, sentence: Sentence) -> Iterator[Set]:
        """Yield the set of words and names of a sentence that keeps none."""
        layers: list[Labels] = []
        for name, layer in PLAIN.items():
            spans = self.document[layer].spans if self.document.has(layer) else ()
            inside = [(span.label, span.fragments[0]) for span in spans if sentence.has(span)]
            layers.append(({"rank": "1", "name": name}, labels_of(inside, sentence.start)))
        if any(labels for _, labels in layers):
            yield Set({"status": "UNANN"}, layers)

    def _frame(self, target: Span, sentence: Sentence) -> Frame | None:
        """Return what the layer says of a target, None where that leaves the sentence."""
        nowhere = target.fragments == ((sentence.start, sentence.start),)
        if not nowhere and not sentence.has(target, gaps=True):
            return None
        elements = []
        for each in self.relations.get(target.id, []):
            tail = self.spans.get(each.tail)
            if tail is not None and tail.label == ELEMENT and sentence.has(tail):
                said = dict(self.said.get(tail.id, []))
                grammar = said.get(GRAMMAR[0]), said.get(GRAMMAR[1])
                elements.append((each.label, tail.fragments[0], *grammar))
        absent = tuple(self.said.get(target.id, []))
        return Frame(target.label, target.fragments, tuple(elements), absent)


def _set_lines(found: Set) -> Iterator[str]:
    """Yield the lines of a set."""
    yield f"        <annotationSet{_attributes(found.said)}>"
    for said, labels in found.layers:
        if not labels:
            yield f"            <layer{_attributes(said)}/>"
            continue
        yield f"            <layer{_attributes(said)}>"
        yield from (f"                <label{_attributes(each)}/>" for each in labels)
        yield "            </layer>"
    yield "        </annotationSet>"


def _attributes(said: Said) -> str:
    """Return attributes as they stand in a tag."""
    return "".join(f" {key}={quoted(value)}" for key, value in said.items())


def _lost(document: Document, options: Options) -> Losses:
    """Count all but sentences, frames, and the words and names of sets without a frame."""
    return missing(document, loads(dumps([document])))


def _looks(head: str, name: str) -> bool:
    """Tell by the first element."""
    return re.match(r"\s*(<\?[^>]*\?>\s*)*<fullTextAnnotation[\s>]", head) is not None


KIND = Format(
    loads,
    dumps,
    _lost,
    _looks,
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
