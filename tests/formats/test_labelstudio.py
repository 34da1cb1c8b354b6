"""Label Studio's exports: regions, relations, choices."""

import json
from dataclasses import replace

import pytest
from door_checks import reads_or_refuses, same_again
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.text_pairs import classification_of
from spanloom.document import Document, Layer, Span
from spanloom.errors import FormatError
from spanloom.formats.labelstudio import KIND, LabelStudioOptions, dumps, loads


def region(id, start, end, text, *labels, **others):
    value = {"start": start, "end": end, "text": text, "labels": list(labels)}
    names = {"from_name": "label", "to_name": "text", "type": "labels"}
    return {"id": id, **names, "value": value, "origin": "manual", **others}


def exported(*results, **others):
    """A task as the export has it, with the keys that tell who did what when."""
    annotation = {"id": 9, "completed_by": 1, "was_cancelled": False, "result": list(results)}
    task = {"id": 7, "data": {"text": "Ada met Bob"}, "annotations": [annotation], **others}
    return json.dumps([task | {"drafts": [], "predictions": [], "meta": {}, "project": 1}])


def test_regions_relations_and_choices():
    first, second = loads(KIND.example)
    ada, bob = first["entities"].spans
    assert [first.text_of(ada), first.text_of(bob)] == ["Ada", "Bob"]
    (relation,) = first["entities"].relations
    assert (relation.head, relation.label, relation.tail) == (bob.id, "met by", ada.id)
    assert classification_of(first, "mood").label == "calm"
    assert second.text == "Not yet"
    assert second.layers == ()  # nobody annotated it


def test_what_a_model_found_is_written_as_predictions_with_scores():
    """People then correct it in Label Studio; what they annotated counts where a file has both."""
    span = Span("T1", "PER", ((0, 3),), 0.75)
    document = Document("Ada met Bob", (Layer("ner", (span, Span("T2", "PER", ((8, 11),)))),), "a")
    assert KIND.holding([document]) == {"predictions": True}
    options = LabelStudioOptions(predictions=True)
    text = dumps([document], options=options)
    assert KIND.sniff(text, "a.json")
    assert KIND.sniff_options(text) == {"predictions": True}
    (read,) = loads(text, options=options)
    assert read == document
    assert [span.score for span in read["ner"].spans] == [0.75, None]
    assert dumps([read], options=options) == text
    assert [*loads(text)] == [replace(document, layers=())]
    assert KIND.count_lost(document, options) == {}
    assert KIND.count_lost(document, LabelStudioOptions()) == {}  # annotations may have scores, too
    assert KIND.holding([*loads(KIND.example)]) == {}
    assert KIND.sniff_options(KIND.example) == {}
    both = json.loads(KIND.example)
    both[0]["predictions"] = json.loads(text)[0]["predictions"]
    assert KIND.sniff_options(json.dumps(both)) == {}
    wrong = text.replace("0.75", '"high"')
    with pytest.raises(FormatError, match=r"in\.json:1: expected a finite score, got 'high'"):
        [*loads(wrong, path="in.json", options=options)]


def test_choices_of_a_region_are_its_attributes():
    """They may stand before it, and those of the whole text beside them."""
    choice = {"type": "choices", "from_name": "polarity", "to_name": "text", "id": "a"}
    own = {"start": 0, "end": 3, "text": "Ada", "choices": ["good", "new"]}
    whole = {"type": "choices", "from_name": "mood", "id": "c", "value": {"choices": ["calm"]}}
    regions = region("a", 0, 3, "Ada", "X"), region("b", 8, 11, "Bob", "X")
    (document,) = loads(exported(choice | {"value": own}, *regions, whole))
    ada = document["label"].spans[0]
    found = [(each.target, each.label, each.value) for each in document["label"].attributes]
    assert found == [(ada.id, "polarity", "good"), (ada.id, "polarity", "new")]
    assert classification_of(document, "mood").label == "calm"
    assert [layer.name for layer in document.layers] == ["label", "mood"]
    with pytest.raises(FormatError, match="choices: expected the id of a region .* got 'z'"):
        [*loads(exported(*regions, choice | {"value": own, "id": "z"}))]


def test_an_annotation_without_regions_says_that_there_are_none():
    """So such a text is one to learn from, unlike one that nobody annotated."""
    text = "Ada met Bob"
    full = {"result": [region("a", 0, 3, "Ada", "X")]}
    tasks = [
        {"data": {"text": text}, "annotations": annotations}
        for annotations in ([{"result": []}], [full], [], [{"result": [], "was_cancelled": True}])
    ]
    read = [*loads(json.dumps(tasks))]
    assert [[layer.name for layer in document.layers] for document in read] == [
        ["label"],
        ["label"],
        [],
        [],
    ]
    assert [len(document["label"].spans) for document in read[:2]] == [0, 1]
    assert [*loads(dumps(read))] == read


@pytest.mark.parametrize(("direction", "ends"), [("right", "ab"), ("left", "ba"), ("bi", "ab")])
def test_directions(direction, ends):
    link = {"from_id": "a", "to_id": "b", "type": "relation", "direction": direction}
    text = exported(region("a", 0, 3, "Ada", "X"), region("b", 8, 11, "Bob", "X"), link)
    (document,) = loads(text)
    (relation,) = document["label"].relations
    of = dict(zip("ab", [span.id for span in document["label"].spans], strict=True))
    assert [relation.head, relation.tail] == [of[end] for end in ends]
    assert relation.label == "related"


def test_relations_between_regions_of_two_controls_come_back():
    other = region("b", 8, 11, "Bob", "X") | {"from_name": "other"}
    links = [{"from_id": a, "to_id": b, "type": "relation"} for a, b in ("ab", "ba")]
    text = dumps(loads(exported(region("a", 0, 3, "Ada", "X"), other, *links)))
    (document,) = loads(text)
    ends = [
        (layer.name, document.text_of(spans[relation.tail]))
        for spans in [{span.id: span for layer in document.layers for span in layer.spans}]
        for layer in document.layers
        for relation in layer.relations
    ]
    assert ends == [("label", "Bob"), ("other", "Ada")]
    assert dumps([document]) == text


def test_a_region_may_have_several_labels():
    (document,) = loads(exported(region("a", 0, 3, "Ada", "X", "Y")))
    assert [span.label for span in document["label"].spans] == ["X", "Y"]


def test_a_cancelled_annotation_does_not_count():
    text = exported(region("a", 0, 3, "Ada", "X")).replace("false", "true")
    (document,) = loads(text)
    assert document.layers == ()


def test_the_sample_comes_back():
    assert same_again(KIND, KIND.example)


@pytest.mark.parametrize("task_id", ["0", "-3", "9223372036854775807", "7" * 300])
def test_ids_of_tasks_come_back(task_id):
    text = KIND.example.replace('"id": 1,', f'"id": {task_id},', 1)
    assert dumps(loads(text)) == text


def test_the_id_of_a_task_is_not_that_of_its_data():
    tasks = ['{"id": 1, "data": {"text": "a", "id": 42}}', '{"id": 1, "data": {"text": "b"}}']
    text = f"[{tasks[0]},\n {tasks[1]}]\n"  # the second document gets another name
    assert dumps(loads(text)) == text


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (region("a", 0, 30, "Ada", "X"), "expected bounds in 0..11"),
        (region("a", 0, 3, "Bob", "X"), "expected the text 'Ada' of 0..3, got 'Bob'"),
        ({"type": "relation", "from_id": "a", "to_id": "b"}, "expected ids of regions, got 'a'"),
        ({"value": {}}, "expected the key 'type'"),
    ],
)
def test_errors_say_where_and_what(result, problem):
    with pytest.raises(FormatError, match=rf"in\.json:1: .*{problem}"):
        list(loads(exported(result), path="in.json"))


def test_a_region_of_html_has_its_place_beside_the_path_of_its_element():
    path = "/div[1]/p[1]/text()[1]"
    value = {"start": path, "end": path, "startOffset": 0, "hypertextlabels": ["P"], "text": "Ada"}
    entry = region("r", 0, 3, "Ada") | {"type": "hypertextlabels", "value": value}
    with pytest.raises(FormatError, match="start: expected a number, or globalOffsets"):
        list(loads(exported(entry)))
    value["globalOffsets"] = {"start": 0, "end": 3}
    (document,) = loads(exported(entry))
    (span,) = document["label"].spans
    assert (document.text_of(span), span.label) == ("Ada", "P")


def test_a_task_needs_one_text():
    text = '[{"data": {"a": "x", "b": "y"}}]'
    with pytest.raises(FormatError, match="expected a key 'text', or one string, got"):
        list(loads(text))


def test_damaged_samples():
    reads_or_refuses(KIND)


@given(st.lists(documents(), max_size=3))
def test_what_is_written_is_read_as_written(drawn):
    text = dumps(loads(dumps(drawn)))
    assert dumps(loads(text)) == text


@pytest.mark.parametrize(("start", "end"), [(7, 10), (5, 8)])
def test_offsets_are_code_points_or_utf16_units_whichever_fit_the_text(start, end):
    """The editor counts two units for each of the first two characters here."""
    text = "\U0001f600\U0001f600 · Ada met"
    record = json.loads(exported(region("r1", start, end, "Ada", "P")))
    record[0]["data"]["text"] = text
    (document,) = loads(json.dumps(record))
    (span,) = document["label"].spans
    assert (span.start, document.text_of(span)) == (5, "Ada")
