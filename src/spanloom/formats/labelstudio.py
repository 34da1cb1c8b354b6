"""Read and write Label Studio's JSON: labelled regions of texts, their relations, choices.

::

    [{"id": 1, "data": {"text": "Ada met Bob"}, "annotations": [{"result": [
      {"id": "a", "from_name": "label", "to_name": "text", "type": "labels",
       "value": {"start": 0, "end": 3, "text": "Ada", "labels": ["PER"]}},
      {"from_id": "a", "to_id": "b", "type": "relation", "direction": "right", "labels": ["met"]},
      {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": ["calm"]}}
    ]}]}]

A task is a document: raw text, named by ``document_name`` in ``data``, which we write where a name
is no number, else by its id, with the other keys of ``data`` in meta, as JSON.
Its text is ``data.text``, or the key that the results' ``to_name`` gives, or the only string. Of
several annotations the first that was not cancelled counts. Each ``from_name`` is a layer: regions
are spans, one for each label; choices are spans over the whole text, or attributes of the region
whose id they have. An annotation without regions has empty layers, those of the regions of other
tasks. Relations join the layer of the region they start from (``direction`` left turns them
around). Results of other types are left out.

The results of a model are ``predictions``, which Label Studio shows for people to correct:
documents with scores are written as such, regions with their ``score``, and a file that has nothing
else is read so. Beside annotations they are left out.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

from pydantic import Field

from spanloom.config.options import Options
from spanloom.document import GIVEN_WORDS, Document, Layer
from spanloom.formats._annotated_texts import (
    INTEGER,
    NAME,
    add_class,
    add_meta,
    bounds_within,
    json_or_none,
    name_entry,
    whole_text,
)
from spanloom.formats._base import Format
from spanloom.formats._document_builder import ID, DocumentBuilder, Names, default_name, id_in_file
from spanloom.formats._json import (
    JsonObject,
    a_list,
    a_number,
    a_score,
    a_string,
    an_object,
    elements,
    list_of,
    object_of,
    objects_of,
    string_of,
    strings_of,
    value_of,
)
from spanloom.formats._text import errors_at
from spanloom.formats._utf16 import UnitOffsets

TEXT = "text"
CHOICES = "choices"
ANNOTATIONS, PREDICTIONS = "annotations", "predictions"
TEXT_KEY, CHOICE_LAYERS = "labelstudio text", "labelstudio choices"  # in meta
DATA_ID = "labelstudio id"  # in meta: the key "id" of the data, which is not the task's
TASK_ID = "labelstudio task"  # in meta: the id of a task that is not named by it

_REGIONS = ("labels", "hypertextlabels")


class LabelStudioOptions(Options):
    """``{predictions: true}``: what a model found, not what people did."""

    predictions: bool = Field(
        default=False, description="the first prediction of a task, not what people annotated"
    )

    @property
    def key(self) -> str:
        """The key of a task's results."""
        return PREDICTIONS if self.predictions else ANNOTATIONS


def loads(
    text: str, *, path: str = "<string>", options: LabelStudioOptions = LabelStudioOptions()
) -> Iterator[Document]:
    """Yield a document per task; raises ``FormatError`` with the line where the task begins."""
    names = Names()
    annotated: list[tuple[Document, bool]] = []
    region_layers: dict[str, None] = {}
    for count, (line, task) in enumerate(elements(text.removeprefix("\ufeff"), path), 1):
        with errors_at(path, line):
            results = _results(an_object(task), options.key)
            document = _build_document(task, results or [], count, names)
        annotated.append((document, results is not None))
        region_layers |= {
            string_of(entry, "from_name"): None for entry in _regions_of(results or [])
        }
    for document, is_annotated in annotated:
        for name in region_layers if is_annotated else ():
            if not document.has_layer(name):
                document = document.with_layer(Layer(name))
        yield document


def dumps(
    documents: Iterable[Document], *, options: LabelStudioOptions = LabelStudioOptions()
) -> str:
    """Return the list of tasks, one a line."""
    tasks = (
        json.dumps(_format_task(document, options.key), ensure_ascii=False)
        for document in documents
    )
    return "[" + ",\n ".join(tasks) + "]\n"


def _build_document(
    task: JsonObject, results: list[JsonObject], count: int, names: Names
) -> Document:
    """Return the document of a task; raises ``ValueError``."""
    raw_id = task.get("id")
    id_name = str(raw_id) if type(raw_id) is int else default_name(count)
    data = object_of(task, "data")
    builder = names.making(string_of(data, NAME, id_name))
    if type(raw_id) is int and NAME in data:
        add_meta(builder, [(TASK_ID, raw_id)])
    key = _text_key(data, results)
    text = string_of(data, key)
    builder.add_text(text)
    others = ((name, value) for name, value in data.items() if name not in (key, NAME))
    add_meta(builder, ((DATA_ID if name == ID else name, value) for name, value in others))
    if key != TEXT:
        builder.meta.append((TEXT_KEY, key))
    _add_results(builder, text, results)
    return builder.build()


def _results(task: JsonObject, key: str) -> list[JsonObject] | None:
    """Return the results of the first annotation that was not cancelled; None if there is none."""
    for annotation in objects_of(task, key, []):
        if not annotation.get("was_cancelled"):
            return objects_of(annotation, "result", [])
    return None


def _regions_of(results: Iterable[JsonObject]) -> list[JsonObject]:
    """Return the results that are regions; raises ``ValueError`` for a result without a type."""
    return [entry for entry in results if value_of(entry, "type") in _REGIONS]


def _text_key(data: JsonObject, results: list[JsonObject]) -> str:
    """Return the key of the text; raises ``ValueError`` if none or several could be it."""
    strings = [key for key, value in data.items() if isinstance(value, str) and key != NAME]
    named = [entry.get("to_name") for entry in results if entry.get("to_name") in strings]
    choices = [TEXT] if TEXT in strings else [str(key) for key in named[:1]] or strings
    if len(choices) != 1:
        raise ValueError(f"data: expected a key 'text', or one string, got {strings or 'none'}")
    return choices[0]


def _add_results(builder: DocumentBuilder, text: str, results: list[JsonObject]) -> None:
    """Add regions, relations and choices; raises ``ValueError``."""
    span_of: dict[str, tuple[str, str]] = {}
    choice_layers: dict[str, None] = {}
    offsets = UnitOffsets(text)
    for entry in _regions_of(results):
        layer, value = _layer_and_value(entry)
        bounds = _bounds(text, offsets, value)
        for label in list_of(value, entry["type"]):
            score = a_score(entry.get("score", value.get("score")))
            span = builder.span(layer, a_string(label), bounds, score=score)
            span_of.setdefault(str(entry.get("id")), (layer, span))
    for entry in results:
        if entry["type"] == "relation":
            _add_relation(builder, entry, span_of)
        elif entry["type"] == CHOICES:
            layer, value = _layer_and_value(entry)
            choices = strings_of(value, CHOICES)
            if "start" in value:
                _add_choices_of_region(builder, entry, span_of, layer, choices)
                continue
            choice_layers[layer] = None
            for choice in choices:
                add_class(builder, layer, choice, text)
    if choice_layers:
        add_meta(builder, [(CHOICE_LAYERS, [*choice_layers])])


def _layer_and_value(entry: JsonObject) -> tuple[str, JsonObject]:
    """Return the layer and the value of a result; raises ``ValueError``."""
    layer = string_of(entry, "from_name")
    if layer in GIVEN_WORDS:
        raise ValueError(f"from_name: expected a name but {', '.join(GIVEN_WORDS)}, got {layer!r}")
    return layer, object_of(entry, "value")


def _bounds(text: str, offsets: UnitOffsets, value: JsonObject) -> tuple[int, int]:
    """Return the bounds of a region; raises ``ValueError`` unless they are in the text.

    Label Studio's editor counts UTF-16 code units, other tools code points: where a region has its
    text, the unit that it fits is taken, else code points. A region of HTML begins at a path of
    elements, and has its place in the text beside it.
    """
    place = object_of(value, "globalOffsets", value)
    start, end = _offset(place, "start"), _offset(place, "end")
    covered = string_of(value, "text") if "text" in value else text[start:end]
    if text[start:end] != covered:
        first, last = offsets.point(start), offsets.point(end)
        if 0 <= first <= last and text[first:last] == covered:
            return first, last
    start, end = bounds_within(text, start, end)
    if (actual := text[start:end]) != covered:
        problem = f"expected the text {actual!r:.60} of {start}..{end}, got {covered!r:.60}"
        raise ValueError(problem)
    return start, end


def _offset(place: JsonObject, key: str) -> int:
    """Return where a region starts or ends; raises ``ValueError`` that names the key."""
    offset = value_of(place, key)
    if isinstance(offset, str):
        raise ValueError(
            f"{key}: expected a number, or globalOffsets beside it, got {offset!r:.40}"
        )
    return a_number(offset)


def _add_choices_of_region(
    builder: DocumentBuilder,
    entry: JsonObject,
    span_of: dict[str, tuple[str, str]],
    name: str,
    choices: list[str],
) -> None:
    """Add the choices made of a region as its attributes; raises ``ValueError``."""
    region = str(value_of(entry, "id"))
    if region not in span_of:
        raise ValueError(f"choices: expected the id of a region with a label, got {region!r:.40}")
    layer, span = span_of[region]
    for choice in choices:
        builder.attribute(layer, name, span, choice)


def _add_relation(
    builder: DocumentBuilder, entry: JsonObject, span_of: dict[str, tuple[str, str]]
) -> None:
    """Add a relation of each label; raises ``ValueError``."""
    ends = [str(value_of(entry, key)) for key in ("from_id", "to_id")]
    for end in ends:
        if end not in span_of:
            raise ValueError(f"relation: expected ids of regions, got {end!r:.40}")
    if entry.get("direction") == "left":
        ends.reverse()
    (layer, head), (_, tail) = (span_of[end] for end in ends)
    for label in a_list(entry.get("labels") or ["related"]):
        builder.relation(layer, a_string(label), head, tail)


def _format_task(document: Document, results_key: str) -> JsonObject:
    """Return the task of a document; ``results_key`` is the key of its annotation."""
    meta = dict(document.meta)
    name, key = id_in_file(document), meta.get(TEXT_KEY, TEXT)
    data: JsonObject = {key: document.text}
    for other, value in document.meta:
        if other not in (ID, TASK_ID, TEXT_KEY, CHOICE_LAYERS) and (parsed := json_or_none(value)):
            data.setdefault(ID if other == DATA_ID else other, parsed.value)
    task: JsonObject = {"id": int(name)} if INTEGER.fullmatch(name) else {}
    if not task and (raw_id := json_or_none(meta.get(TASK_ID, ""))):
        task["id"] = raw_id.value
    task["data"] = data | name_entry(document, task.get("id"))
    layers = [layer for layer in document.layers if layer.name not in GIVEN_WORDS]
    if layers:
        listed = json_or_none(meta.get(CHOICE_LAYERS, ""))
        choice_layers = listed.value if listed and isinstance(listed.value, list) else []
        task[results_key] = [{"result": [*_results_of(document, layers, key, choice_layers)]}]
    return task


def _results_of(
    document: Document, layers: Sequence[Layer], key: str, choice_layers: Sequence[Any]
) -> Iterator[JsonObject]:
    """Yield the results of all layers; those of ``choice_layers`` have choices, no regions."""
    region_layers = [layer for layer in layers if layer.name not in choice_layers]
    spans = (span for layer in region_layers for span in layer.spans)
    region_ids = {span.id for span in spans if len(span.fragments) == 1}
    for layer in layers:
        if layer.name in choice_layers:
            yield from _choices(document, layer, key)
        else:
            yield from _regions(document, layer, key, region_ids)


def _regions(
    document: Document, layer: Layer, key: str, region_ids: Set[str]
) -> Iterator[JsonObject]:
    """Yield the results of contiguous spans, and of relations between regions of all layers."""
    for span in layer.spans:
        if span.id in region_ids:
            covered = document.text_of(span)
            value = {"start": span.start, "end": span.end, "text": covered, "labels": [span.label]}
            names = {"from_name": layer.name, "to_name": key, "type": "labels"}
            scored = {} if span.score is None else {"score": span.score}
            yield {"id": span.id, **names, "value": value, **scored}
    for relation in layer.relations:
        if {relation.head, relation.tail} <= region_ids:
            ends = {"from_id": relation.head, "to_id": relation.tail}
            kind = {"type": "relation", "direction": "right", "labels": [relation.label]}
            yield {**ends, **kind}


def _choices(document: Document, layer: Layer, key: str) -> Iterator[JsonObject]:
    """Yield the result of a layer of classes."""
    whole = whole_text(document.text)
    labels = [span.label for span in layer.spans if span.fragments == (whole,)]
    names = {"from_name": layer.name, "to_name": key, "type": CHOICES}
    yield {**names, "value": {CHOICES: labels}}


def _sniff(head: str, name: str) -> bool:
    """Recognize the format by its beginning: a list of objects with ``data``, then annotations."""
    start = head.removeprefix("\ufeff").lstrip()[:2000]
    is_list = re.match(r"\[\s*\{", start) is not None
    has_data = re.search(r'"data"\s*:\s*\{', start) is not None
    return is_list and has_data and any(f'"{key}"' in head for key in (ANNOTATIONS, PREDICTIONS))


def _sniff_options(head: str) -> dict[str, bool]:
    """Tell whether the first tasks have predictions and no annotation."""
    keys = (ANNOTATIONS, PREDICTIONS)
    is_annotated, is_predicted = (re.search(rf'"{key}"\s*:\s*\[\s*\{{', head) for key in keys)
    return {"predictions": True} if is_predicted and not is_annotated else {}


def _holding(documents: Sequence[Document]) -> dict[str, bool]:
    """Return the options with which scores of spans have a place."""
    layers = (layer for document in documents for layer in document.layers)
    is_scored = any(span.score is not None for layer in layers for span in layer.spans)
    return {"predictions": True} if is_scored else {}


KIND = Format(
    loads,
    dumps,
    _sniff,
    (".json",),
    '[{"id": 1, "data": {"text": "Ada met Bob", "by": "é"}, "annotations": [{"result": ['
    '{"id": "T1", "from_name": "entities", "to_name": "text", "type": "labels", '
    '"value": {"start": 0, "end": 3, "text": "Ada", "labels": ["PER"]}}, '
    '{"id": "T2", "from_name": "entities", "to_name": "text", "type": "labels", '
    '"value": {"start": 8, "end": 11, "text": "Bob", "labels": ["PER"]}}, '
    '{"from_id": "T2", "to_id": "T1", "type": "relation", "direction": "right", '
    '"labels": ["met by"]}, '
    '{"from_name": "mood", "to_name": "text", "type": "choices", '
    '"value": {"choices": ["calm"]}}]}]},\n'
    ' {"id": 2, "data": {"review": "Not yet"}}]\n',
    LabelStudioOptions,
    sniff_options=_sniff_options,
    holding=_holding,
)
