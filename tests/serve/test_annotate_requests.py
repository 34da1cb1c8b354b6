"""What is sent to /v1/annotate, /v1/ask and /v1/classify, and what comes back."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from fake_model import ABOUT, ALIKE, MOOD, NAMES, WHO, annotated
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spanloom.annotation.choices import Choices
from spanloom.annotation.comparable import comparable
from spanloom.annotation.text_pairs import TEXT_PAIR
from spanloom.config import recipe as recipes
from spanloom.config.abilities import (
    ANSWERS,
    CHOOSES_LABEL,
    CHOOSES_NUMBER,
    JUDGES_PAIR,
    JUDGES_TEXT,
)
from spanloom.document import (
    Argument,
    Attribute,
    Document,
    Equivalence,
    Event,
    Layer,
    Normalization,
    Note,
    Query,
    Relation,
    Span,
)
from spanloom.formats import conllu, jsonl
from spanloom.formats.brat import read as brat
from spanloom.serve import openapi, replies, reply_schemas, requests
from spanloom.serve.limits import Limits
from spanloom.serve.messages import format_batch, parse_batch

RECIPES = Path(__file__).parents[2] / "recipes"
ABILITIES = (ANSWERS, CHOOSES_LABEL, CHOOSES_NUMBER, JUDGES_TEXT, JUDGES_PAIR)
TEXTS = [
    "Ada met Bob.",
    "😀 Ada 👩‍👩‍👧 met\nBöb 😀 !",
    "A\u0301da e\u0301 E\u0301va",
    "שלום Ada עולם Bob",
    "مرحبا Ada\u200f !",
    "",
    "   ",
    "Ada\tmet  Bob\u2028and\x0cCarl",
]


def documents(reply):
    assert reply.status_code == 200, reply.text
    lines = (json.dumps(document) for document in reply.json()["documents"])
    return [next(jsonl.loads(line)) for line in lines]


@pytest.mark.parametrize("text", TEXTS)
def test_offsets_slice_the_text_that_was_sent(asked, text):
    (found,) = documents(asked("/v1/annotate", {"text": text, "tasks": [NAMES]}))
    assert found.text == text
    covers = [found.text_of(span) for span in found[NAMES].spans]
    assert all(cover[0].isupper() for cover in covers)
    assert len(covers) == sum(word[0].isupper() for word in text.split() if word)


@pytest.mark.parametrize("text", TEXTS)
def test_json_says_what_the_model_said(asked, text):
    (found,) = documents(asked("/v1/annotate", {"text": text}))
    assert found == annotated(Document(text, name="text"), (NAMES, MOOD), False)


def test_many_texts_come_back_in_order(asked):
    found = documents(asked("/v1/annotate", {"texts": TEXTS}))
    assert [document.text for document in found] == TEXTS
    assert [document.name for document in found] == [f"text-{n}" for n in range(len(TEXTS))]


def test_only_the_tasks_that_are_asked_for(asked):
    (found,) = documents(asked("/v1/annotate", {"text": "Ada!", "tasks": [MOOD, MOOD][:1]}))
    assert [layer.name for layer in found.layers] == ["moods"]


WHOLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), max_size=40)


@settings(max_examples=60)
@given(WHOLE)
@example("\ufeffAda met Bob")
def test_brat_reads_back_as_the_same(text):
    made = annotated(Document(text, name="text"), (NAMES, MOOD), False)
    files = json.loads(replies.ReplyFormat("brat")(made))
    parts = {f".{suffix}": file for suffix, file in files.items() if suffix != "txt"}
    reading = brat.loads_parts(files["txt"], parts, name="text")
    # U+FEFF at the front of a .txt is a byte order mark there, and no part of the text
    assert files["txt"] == "\ufeff" * text.startswith("\ufeff") + text
    assert not reading.problems
    assert comparable(on_lines(reading.document)) == comparable(on_lines(made))


def on_lines(document):
    """The document with spans cut at line ends, as brat has them."""

    def cut(span):
        pieces = [
            (start + a, start + b)
            for start, end in span.fragments
            for a, b in line_bounds(document.text[start:end])
        ]
        return replace(span, fragments=tuple(pieces) or span.fragments)

    layers = (replace(layer, spans=tuple(map(cut, layer.spans))) for layer in document.layers)
    return replace(document, layers=tuple(layers))


def line_bounds(text):
    start = 0
    for line in text.split("\n"):
        if line:
            yield start, start + len(line)
        start += len(line) + 1


@pytest.mark.parametrize("text", ["Ada met Bob.", "Ada  met\nBob and A\u0301da 😀", "שלום Ada", ""])
def test_conllu_reads_back_as_the_same(asked, text):
    reply = asked("/v1/annotate", {"text": text, "format": "conllu", "tasks": [NAMES]})
    assert reply.status_code == 200
    made = reply.json()["documents"][0]["conllu"]
    expected = annotated(Document(text, name="text"), (NAMES,), True)
    assert conllu.dumps(conllu.loads(made)) == made
    spelled = conllu.dumps([expected], options=conllu.Columns(add_sent_metadata=True))
    assert made == spelled
    words = [expected.text_of(span) for span in expected["words"].spans]
    assert [row.split("\t")[1] for row in made.splitlines() if "\t" in row] == words
    lost = conllu.KIND.count_lost(expected, conllu.Columns(add_sent_metadata=True))
    warnings = reply.json()["documents"][0].get("warnings", [])
    assert warnings == [f"conllu has no place for {what}: {n}" for what, n in lost.items()]


def test_a_question_is_answered_from_the_text(asked):
    body = {"text": "Ada met Bob.", "questions": ["Who?", "Whom?"]}
    found = asked("/v1/ask", body).json()["answers"]
    answer = {"text": "Ada", "fragments": [[0, 3]], "score": 0.25}
    assert found == [
        {"question": question, "answers": {WHO: answer}} for question in body["questions"]
    ]


def test_no_answer_is_null(asked):
    (found,) = asked("/v1/ask", {"text": " ", "question": "Who?"}).json()["answers"]
    assert found == {"question": "Who?", "answers": {WHO: None}}


def test_texts_are_classified(asked):
    found = asked("/v1/classify", {"texts": ["Ada!", "Ada.", ""]}).json()["classifications"]
    labels = [result[MOOD] and result[MOOD]["label"] for result in found]
    assert labels == ["loud", "calm", None]


def test_two_texts_are_compared(asked):
    found = asked("/v1/classify", {"text": "Ada", "text_pair": "Bob"}).json()["classifications"]
    assert found == [{ALIKE: {"label": "alike", "value": 2.5, "score": 0.5}}]


@pytest.mark.parametrize(
    ("body", "task", "choices"),
    [
        ({"text": "a", "labels": ["warm", " cold "]}, MOOD, Choices(labels=("warm", "cold"))),
        ({"text": "a", "text_pair": "b", "range": [0, 5]}, ALIKE, Choices(bounds=(0.0, 5.0))),
        ({"text": "a", "range": [0, 5]}, ALIKE, Choices(bounds=(0.0, 5.0))),
    ],
)
def test_labels_and_ranges_reach_the_model(body, task, choices):
    parsed = requests.classify(requests.parse_json(json.dumps(body).encode()), ABOUT, Limits())
    assert (parsed.request.tasks, parsed.request.choices) == ((task,), choices)
    message = json.loads(json.dumps(format_batch(1, parsed.request, parsed.request.documents)))
    assert parse_batch(message).choices == choices


@pytest.mark.parametrize("is_pair", [False, True])
def test_labels_go_to_a_task_that_was_trained_on_what_is_given(is_pair):
    mood = next(task for task in ABOUT.tasks if task.name == MOOD)
    pairs = replace(mood, name="entailment", given=(TEXT_PAIR,))
    body = {"text": "a", "labels": ["warm", "cold"]} | ({"text_pair": "b"} if is_pair else {})
    for tasks in ((mood, pairs), (pairs, mood)):
        parsed = requests.classify(body, replace(ABOUT, tasks=tasks), Limits())
        assert parsed.request.tasks == ("entailment" if is_pair else MOOD,)


def test_labels_are_classified_with(asked):
    body = {"text": "Ada!", "labels": ["warm", "cold"]}
    assert list(asked("/v1/classify", body).json()["classifications"][0]) == [MOOD]


@pytest.mark.parametrize(
    ("where", "choices"), [("labels", ["😀", "🤖"]), ("range", [1e15, 1000000000000001])]
)
def test_choices_that_the_model_cannot_tell_apart_are_the_requests_fault(asked, where, choices):
    about = replace(ABOUT, tasks=tuple(replace(task, given=()) for task in ABOUT.tasks))
    reply = asked("/v1/classify", {"texts": ["Ada", "Bob"], where: choices}, about=about)
    assert (reply.status_code, reply.json()["where"]) == (422, where)
    assert reply.json()["detail"] == f"{where}: the choices are alike"


@pytest.mark.parametrize(
    ("path", "body", "what"),
    [
        ("/v1/classify", {"text": "a", "labels": ["b", "c"]}, "chooses among labels"),
        ("/v1/classify", {"text": "a", "range": [0, 1]}, "chooses a number"),
        ("/v1/ask", {"text": "a", "question": "b"}, "answers questions"),
        ("/v1/classify", {"text": "a"}, "judges a text"),
        ("/v1/classify", {"text": "a", "text_pair": "b"}, "judges two texts"),
    ],
)
def test_a_model_without_such_a_task_says_so_and_how_to_train_one(asked, path, body, what):
    reply = asked(path, body, about=replace(ABOUT, tasks=ABOUT.tasks[:1]))
    assert reply.status_code == 404
    assert what in reply.json()["detail"]
    assert "names (relations)" in reply.json()["detail"]
    (ability,) = (ability for ability in ABILITIES if ability.verb == what)
    assert f"to train one, of kind {ability.kind}: {ability.command}" in reply.json()["detail"]


@pytest.mark.parametrize("ability", ABILITIES)
def test_the_recipe_that_trains_such_a_task_exists(ability):
    path = RECIPES / "papers/spex-bert-keskar2019/tasks" / f"{ability.recipe}.yaml"
    assert path.relative_to(RECIPES.parent).as_posix() in ability.command.split()
    (spec,) = recipes.load(path).tasks.values()
    assert spec.kind == ability.kind


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/v1/annotate", openapi.ANNOTATE),
        ("/v1/ask", openapi.ASK),
        ("/v1/classify", openapi.CLASSIFY),
    ],
)
def test_the_examples_of_openapi_run(asked, path, address):
    (asking,) = address["openapi_extra"]["requestBody"]["content"].values()
    (answer,) = address["responses"][200]["content"].values()
    reply = asked(path, asking["example"])
    assert reply.status_code == 200
    assert reply.json().keys() == answer["example"].keys()
    for value in (answer["example"], reply.json()):
        jsonschema.validate(value, answer["schema"])


@pytest.mark.parametrize("form", replies.FORMATS)
@pytest.mark.parametrize("text", TEXTS)
def test_annotations_follow_their_schema(asked, text, form):
    reply = asked("/v1/annotate", {"text": text, "format": form}).json()
    jsonschema.validate(reply, reply_schemas.ANNOTATE)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**reply, "documents": [{"extra": 1}]}, reply_schemas.ANNOTATE)


def test_all_kinds_of_annotation_follow_the_schema():
    text = "Ada met Bob."
    layer = Layer(
        "main",
        (Span("T1", "A", ((0, 3),)), Span("T2", "B", ((4, 7), (8, 11)), score=0.5)),
        (Relation("R1", "r", "T1", "T2", ("Agent", "Theme")),),
        (Event("E1", "B", "T2", (Argument("Agent", "T1"),)),),
        (Attribute("A1", "Negated", "E1"), Attribute("A2", "Level", "T1", "high")),
        (Normalization("N1", "Reference", "T1", "Wikidata", "Q7259", "Ada"),),
        (Note("#1", "AnnotatorNotes", "T1", "a note"),),
        (Equivalence("*1", "Equiv", ("T1", "T2")),),
    )
    document = Document(text, (layer,), "a", (("k", "v"),), (Query("Q1", "Who?"),))
    reply = {"format": "json", "documents": [json.loads(jsonl.dumps([document]))]}
    jsonschema.validate(reply, reply_schemas.ANNOTATE)


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/v1/model", openapi.MODEL),
        ("/health/live", openapi.LIVE),
        ("/health/ready", openapi.READY),
    ],
)
def test_descriptions_of_the_server_follow_their_schemas(asked, path, endpoint):
    content = endpoint["responses"][200]["content"]["application/json"]
    for value in (content["example"], asked(path).json()):
        jsonschema.validate(value, content["schema"])


def test_openapi_knows_every_address(asked):
    told = asked("/openapi.json").json()
    assert {*told["paths"], "/openapi.json"} == set(openapi.PATHS)
    assert told["paths"]["/v1/annotate"]["post"]["requestBody"]["content"]["application/json"]
