"""JSON lines with labels: every value comes back, what is wrong is told kindly."""

import json

import pytest
from damaged_texts import reads_or_tells, written_and_read
from drawn_documents import documents
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.annotation.text_pairs import Classification, classification_of, text_pair
from spanloom.document import Attribute, Document, Layer, Span
from spanloom.errors import FormatError
from spanloom.formats import label_lines
from spanloom.formats.label_lines import LineOptions

SNLI = (
    '{"annotator_labels": ["neutral", "entailment"], "captionID": "34.jpg#4", '
    '"gold_label": "neutral", "pairID": "34.jpg#4r1n", "sentence1": "A man rides.", '
    '"sentence1_binary_parse": "( ( A man ) ( rides . ) )", "sentence2": "He r\\u00eddes."}\n'
    '{"annotator_labels": ["neutral"], "captionID": "34.jpg#4", "gold_label": "-", '
    '"pairID": "34.jpg#4r1e", "sentence1": "A man.", "sentence2": "n/a"}\n'
)


def _loads(text, /, **options):
    return list(label_lines.loads(text, path="in.jsonl", options=LineOptions(**options)))


def _dumps(found, /, **options):
    return label_lines.dumps(found, options=LineOptions(**options))


def test_the_sample_says_what_it_means():
    found = list(label_lines.loads(label_lines.KIND.example))
    assert [each.name for each in found] == ["a/1", "s00002", "3", "b"]
    assert classification_of(found[0], "label") == Classification("positive")
    assert classification_of(found[1], "label") == Classification("0")
    assert classification_of(found[2], "label") is None
    assert not found[3].has_layer("label")
    assert dict(found[1].meta) == {"label": "0", "by": '["Ada", 7]', "sure": "0.5"}
    assert label_lines.dumps(found) == label_lines.KIND.example
    assert [label_lines.KIND.count_lost(each, LineOptions()) for each in found] == [{}] * 4
    assert label_lines.sniff(label_lines.KIND.example, "a.jsonl")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("preset", ["snli", "mnli"])
def test_inference_lines_come_back(preset, end):
    text = SNLI.replace("\n", end)
    first, second = _loads(text, preset=preset)
    assert first.name == "34.jpg#4r1n"
    assert first.text == "A man rides.\nHe rídes."
    assert [first.text_of(part) for part in text_pair(first)] == ["A man rides.", "He rídes."]
    assert classification_of(first, "label") == Classification("neutral")
    assert classification_of(second, "label") is None
    assert second.has_layer("label")
    assert dict(second.meta)["gold_label"] == "-"
    assert _dumps([first, second], preset=preset) == text
    assert _dumps([first, second], preset=preset)[:-1] == text[:-1]
    assert label_lines.sniff(text, "snli.jsonl")
    assert label_lines.KIND.count_lost(first, LineOptions(preset=preset)) == {}


def test_what_was_annotated_is_written_as_the_kind_it_was():
    number, text, absent = _loads(
        '{"text": "a", "label": 1}\n{"text": "b", "label": "1"}\n{"text": "c"}'
    )
    label = Layer("label", (Span("T1", "0", ((0, 1),)),))
    written = _dumps([each.with_layer(label) for each in (number, text, absent)])
    assert [json.loads(line)["label"] for line in written.splitlines()] == [0, "0", "0"]
    word = Layer("label", (Span("T1", "x", ((0, 1),)),))
    assert json.loads(_dumps([number.with_layer(word)]))["label"] == "x"


def test_numbers_have_the_layer_of_the_label_or_their_own():
    text = '{"text": "a", "label": "x", "n": 0.5}\n{"text": "b", "label": "y", "n": null}\n'
    first, second = _loads(text, number="n")
    assert classification_of(first, "label") == Classification("x", 0.5)
    assert classification_of(second, "label") == Classification("y")
    assert _dumps([first, second], number="n") == text
    first, second = _loads(text, number="n", number_layer="degree")
    assert classification_of(first, "degree") == Classification("n", 0.5)
    assert classification_of(second, "degree") is None
    assert _dumps([first, second], number="n", number_layer="degree") == text
    (alone,) = _loads('{"text": "a", "n": 4}', number="n")
    assert classification_of(alone, "label") == Classification("n", 4.0)
    assert _dumps([alone], number="n") == '{"text": "a", "n": 4}'
    assert label_lines.KIND.count_lost(alone, LineOptions(number="n")) == {}


def test_a_label_may_mean_that_there_is_none():
    text = '{"text": "a", "label": -1}\n{"text": "b", "label": ""}\n{"text": "c", "label": 1}\n'
    found = _loads(text, missing_label="-1")
    assert [classification_of(each, "label") for each in found] == [None, None, Classification("1")]
    assert _dumps(found, missing_label="-1") == text
    silent = Document("d", (Layer("label"),))
    assert _dumps([silent], missing_label="-1") == '{"id": "", "text": "d", "label": "-1"}\n'


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.sampled_from('ab1"{[-.\n'), max_size=4)
    | st.sampled_from(["null", "NaN", "[]"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=5,
)
LINES = st.fixed_dictionaries(
    {"text": st.text(st.sampled_from("ab \n\té"), max_size=5)},
    optional={
        "id": st.none() | st.integers() | st.sampled_from(["a", "1", "/", "s00001", "", "null"]),
        "second": st.text(st.sampled_from("ab \n"), max_size=4),
        "label": st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["x", "", "1"]),
        "score": VALUES,
        "other": VALUES,
    },
)
SPELLED = st.sampled_from(
    [{}, {"ensure_ascii": False}, {"separators": (",", ":")}, {"sort_keys": True}]
)


@given(st.lists(LINES, max_size=4), SPELLED, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_line_comes_back(said, how, end, pairs):
    said = [each | {"second": each.get("second", "")} for each in said]
    text = "".join(json.dumps(each, **how) + end for each in said)
    options = {"text_pair": "second", "layer": "main", "missing_label": "-1"} if pairs else {}
    found = _loads(text, **options)
    assert _dumps(found, **options) == text
    assert [each.has_layer(options.get("layer", "label")) for each in found] == [
        "label" in each for each in said
    ]


OPTIONS = [
    {},
    {"preset": "snli", "layer": "main"},
    {"number": "n", "layer": "main", "label": "a"},
    {"number": "a_b", "number_layer": "main", "text_pair": "main", "missing_label": "B-PER"},
    {"label": None, "number": "n", "layer": "main"},
    {"id": None, "label": "l", "number": "l"},
]


@given(st.lists(documents(lines=False, scores=True), max_size=3), st.sampled_from(OPTIONS))
@settings(max_examples=40)
def test_any_document_is_written_and_read_again(many, said):
    options = LineOptions(**said)
    found = written_and_read(label_lines.KIND, many, options)
    assert len(found) == len(many)
    assert written_and_read(label_lines.KIND, found, options) == found
    for each in many:
        label_lines.KIND.count_lost(each, options)


@pytest.mark.parametrize(
    "meta",
    [("n", "abc"), ("n", "1"), ("label", "[1]"), ("label", "x"), ("id", "{}"), ("text", "3")],
)
def test_meta_from_elsewhere_makes_no_annotation(meta):
    options = LineOptions(number="n")
    (again,) = written_and_read(label_lines.KIND, [Document("a", (), "x", (meta,))], options)
    assert again.text == "a"
    assert not any(layer.spans for layer in again.layers)


def test_what_is_no_text_is_counted():
    spans = Span("T1", "x", ((0, 3),), 0.5), Span("T2", "y", ((0, 1),))
    two = Document("a b", (Layer("label", spans),), "n")
    assert label_lines.KIND.count_lost(two, LineOptions()) == {
        "spans of layer label": 2,
        "scores": 1,
    }
    value = Attribute("A1", "value", "T1", " 1_0 ")
    one = Document(
        "a b", (Layer("label", spans[:1], attributes=(value,)), Layer("main", spans[1:]))
    )
    assert json.loads(_dumps([one], number="n"))["n"] == 10.0
    assert label_lines.KIND.count_lost(one, LineOptions())["spans of layer main"] == 1


@pytest.mark.parametrize(
    ("line", "options", "problem"),
    [
        ('{"txt": "a", "label": 1}', {}, "no key 'text'; did you mean 'txt'? (known: label, txt)"),
        ('{"text": "a"}', {"label": "lable"}, "no key 'lable' (known: text)"),
        ("[]", {}, "expected an object, got []"),
        ('{"text": 3}', {}, "expected a string, got 3"),
        ('{"text": "a", "label": [1]}', {}, "expected a label (text, whole number, true, false)"),
        ('{"text": "a", "n": "x"}', {"number": "n"}, "expected a finite number, got 'x'"),
        ('{"text": "a", "n": 1e999}', {"number": "n"}, "expected a finite number, got inf"),
        ('{"text": "a", "n": true}', {"number": "n"}, "expected a finite number, got True"),
        (f'{{"text": "a", "n": 1{"0" * 400}}}', {"number": "n"}, "expected a finite number"),
        ('{"text": "a", "id": [1]}', {}, "expected a text or a whole number as id, got [1]"),
        ('{"text": "a", "label": null, "n": 1}', {"number": "n"}, "expected a label beside"),
        ('{"text": "a", "line end": 1}', {}, "expected no key of the name 'line end'"),
        ('{"text": "a", "x": 1e999}', {}, "Out of range float"),
        ('{"text": "a"', {}, "not JSON"),
        ("[" * 100_000, {}, "nested too deeply"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(line, options, problem):
    fine = json.dumps(dict.fromkeys(["text", *options.values(), "label"], "a") | {"n": 1})
    with pytest.raises(FormatError, match=r"in\.jsonl:3: ") as caught:
        _loads(f"{fine}\n\n{line}\n", **options)
    assert problem in caught.value.problem
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "head",
    [
        "",
        "[1]",
        '{"text": "a"}',
        '{"name": "a", "text": "b", "layers": []}',
        '{"text": "a", "label": [[0, 1, "PER"]]}',
        '{"text": "a", "label',
        "text\tlabel\na\tb\n",
    ],
)
def test_only_texts_with_labels_are_looked_for(head):
    assert not label_lines.sniff(head, "a.jsonl")


def test_damaged_files_are_read_or_refused():
    reads_or_tells(label_lines.KIND, 400)


@pytest.mark.slow
def test_twenty_thousand_damaged_files_are_read_or_refused():
    reads_or_tells(label_lines.KIND, 20_000, seed=2)
