"""Questions, labels and ranges: the same from the command line, Python and the server."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spanloom.annotation import text_pairs
from spanloom.annotation.choices import Choices
from spanloom.annotation.queries import answer_layer
from spanloom.annotation.text_pairs import join_texts
from spanloom.annotation_ids import IdGenerator
from spanloom.cli.asking import Asked, format_replies
from spanloom.config import recipe as recipes
from spanloom.document import Document, Query
from spanloom.errors import DataError
from spanloom.formats import jsonl
from spanloom.model import serialization
from spanloom.model.asking import choosing_task, choosing_tasks, with_choices
from spanloom.model.plan import resolve
from spanloom.serve.jobs import ChoicesRefused
from spanloom.serve.limits import Limits
from spanloom.serve.messages import format_batch, parse_batch
from spanloom.serve.model_info import model_info
from spanloom.serve.requests import ask, classify
from spanloom.serve.worker import Options, _load, _replies
from spanloom.training.train import new_model

TINY = Path(__file__).parents[2] / "recipes" / "tiny"
TEXT = "Anna saw Tom in Berlin ."
PAIR = "She was in a town ."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An untrained model that extracts, with scores that differ."""
    model, _ = new_model(resolve(recipes.load(TINY / "spex.yaml"), TINY), "cpu")
    torch.manual_seed(3)
    with torch.no_grad():
        for weights in model.network.heads.parameters():
            weights.normal_()
    place = tmp_path_factory.mktemp("asking") / "model"
    serialization.save(model, place, figures={})
    return place


@pytest.fixture(scope="module")
def model(folder):
    return serialization.load(folder, device="cpu", precision="fp32")


def lines_of(spanloom, folder, *options):
    options = ("-m", folder, "--precision", "fp32", "--device", "cpu", *options)
    result = spanloom("annotate", TEXT, *options)
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


def test_a_question_is_answered_with_score_and_place(spanloom, folder, model):
    head, line = lines_of(spanloom, folder, "--question", "Who saw Tom?")
    answer = model.ask(TEXT, "Who saw Tom?")
    assert head == "# text"
    if answer.text is None:
        assert line == "Who saw Tom?  no answer"
    else:
        ((start, end),) = answer.fragments
        assert TEXT[start:end] == answer.text
        assert line == f"Who saw Tom?  {answer.text}  {answer.score:.2f}  {start}..{end}"


def test_a_file_of_text_has_the_same_lines(spanloom, folder, tmp_path):
    options = ("-m", folder, "--precision", "fp32", "--question", "Who?", "--question", "Where?")
    printed = spanloom("annotate", TEXT, *options).stdout
    assert spanloom("annotate", TEXT, *options, "-o", tmp_path / "x.txt").exit_code == 0
    assert (tmp_path / "x.txt").read_text(encoding="utf-8") == printed


def test_replies_are_one_line_and_without_codes_of_terminals():
    text = "red\x1b[31m\nTom"
    found = [("Q1", ((0, len(text)),), 0.5)]
    layer = answer_layer("main", found, IdGenerator(()))
    document = Document(text, (layer,), "d", queries=(Query("Q1", "Who\n?"),))
    (reply,) = format_replies([document], ["main"], Asked(("Who\n?",)))
    assert reply.count("\n") == 2
    assert "\x1b" not in reply


def test_large_numbers_are_told_with_all_digits():
    document = Document("a", (), "d")
    new_id = document.id_generator()
    layer = text_pairs.classify(document, "main", "number", 2000007.5, new_id)
    asked = Asked(choices=Choices(bounds=(2e6, 2000010.0)))
    (reply,) = format_replies([document.with_layer(layer)], ["main"], asked)
    assert reply.split("\n")[1].split("  ")[0] == "2000007.5"


def test_several_questions_have_a_line_each(spanloom, folder):
    _, *lines = lines_of(spanloom, folder, "--question", "Who?", "--question", "Where?")
    assert [line.split("  ")[0] for line in lines] == ["Who?", "Where?"]


def test_one_of_the_labels_is_chosen(spanloom, folder, model):
    _, line = lines_of(spanloom, folder, "--labels", "warm, cold , very hot")
    choice = model.classify(TEXT, ["warm", "cold", "very hot"])
    assert choice.label in ("warm", "cold", "very hot")
    assert line == f"{choice.label}  {choice.score:.2f}"


def test_a_number_of_the_range_is_chosen(spanloom, folder, model):
    _, line = lines_of(spanloom, folder, "--range", "0:5")
    choice = model.rate(TEXT, 0, 5)
    assert 0 <= choice.value <= 5
    assert line == f"{choice.value:g}  {choice.score:.2f}"
    assert model.rate(TEXT, 0, 5, PAIR).value in [n / 4 for n in range(21)]


def test_labels_are_chosen_though_a_document_brings_questions(spanloom, folder, tmp_path):
    """The reply is to what the command asks, whatever a document was asked before."""
    asked = Document(TEXT, queries=(Query("Q1", "Old question?"),), name="old")
    jsonl.write(tmp_path / "asked.jsonl", [asked])
    options = ("-m", folder, "--precision", "fp32", "--device", "cpu")
    for choices in (("--labels", "warm,cold"), ("--range", "0:5")):
        expected = lines_of(spanloom, folder, *choices)[1:]
        result = spanloom("annotate", tmp_path / "asked.jsonl", *options, *choices)
        assert result.stdout.splitlines() == ["# old", *expected]


def test_replies_of_several_tasks_begin_with_their_layers(spanloom, folder, model):
    names = ("sentiment", "entailment")
    lines = lines_of(spanloom, folder, "--labels", "warm,cold", "--tasks", ",".join(names))[1:]
    assert [line.split("  ")[0] for line in lines] == [model.tasks[name].layer for name in names]


def test_other_forms_have_documents(spanloom, folder):
    (line,) = lines_of(spanloom, folder, "--labels", "warm,cold", "--to", "json")
    record = json.loads(line)
    (layer,) = (layer for layer in record["layers"] if layer["spans"])
    assert layer["spans"][0]["label"] in ("warm", "cold")


def test_a_run_into_a_file_knows_what_was_asked(spanloom, folder, fails, tmp_path):
    out = tmp_path / "out.jsonl"
    options = ("-m", folder, "--labels", "warm,cold", "-o", out)
    assert spanloom("annotate", TEXT, *options).exit_code == 0
    (record,) = map(json.loads, out.read_text().splitlines())
    assert record["text"] == TEXT


@pytest.mark.parametrize(
    "body",
    [
        {"text": TEXT, "labels": ["warm", "cold"]},
        {"text": TEXT, "text_pair": PAIR, "labels": ["warm", "cold"]},
        {"text": TEXT, "range": [1.0, 3.0]},
    ],
)
def test_the_server_says_the_same_as_python(folder, model, body):
    info = model_info(model, str(folder), "")
    parsed = classify(dict(body), info, Limits())
    annotate, _ = _load(Options(str(folder), "cpu", "fp32", background=False))
    batch = parse_batch(
        json.loads(json.dumps(format_batch(1, parsed.request, parsed.request.documents)))
    )
    (reply,) = _replies(annotate, batch)
    (found,) = json.loads(reply).values()
    pair = body.get("text_pair")
    labels = body.get("labels")
    choice = model.classify(TEXT, labels, pair) if labels else model.rate(TEXT, 1.0, 3.0, pair)
    assert (found["label"], found["value"]) == (choice.label, choice.value)
    assert found["score"] == pytest.approx(choice.score, abs=1e-5)


@pytest.mark.parametrize(
    "choices",
    [
        {"labels": ["😀", "🤖"]},
        {"labels": ["Ünï", "uni"]},
        {"range": [1e15, 1000000000000001.0]},
    ],
)
def test_the_server_refuses_choices_that_the_model_reads_alike(folder, model, choices):
    parsed = classify({"text": TEXT} | choices, model_info(model, str(folder), ""), Limits())
    annotate, _ = _load(Options(str(folder), "cpu", "fp32", background=False))
    with pytest.raises(ChoicesRefused, match="the encoder reads the choices .* alike"):
        list(_replies(annotate, parsed.request))


def test_a_question_to_the_server_is_answered_as_in_python(folder, model):
    info = model_info(model, str(folder), "")
    parsed = ask({"text": TEXT, "question": "Where?"}, info, Limits())
    annotate, _ = _load(Options(str(folder), "cpu", "fp32", background=False))
    (reply,) = _replies(annotate, parsed.request)
    (found,) = json.loads(reply)["answers"].values()
    answer = model.ask(TEXT, "Where?")
    assert (found and found["text"]) == answer.text


def test_a_model_with_other_labels_leaves_the_first_as_it_was(model):
    other = with_choices(model, Choices(labels=("warm", "cold")))
    assert other.network is model.network
    assert model.tasks["sentiment"].labels != ("cold", "warm")
    assert other.tasks["sentiment"].labels == ("cold", "warm")
    assert other.tasks["likeness"] == model.tasks["likeness"]


@pytest.mark.parametrize("turned", [False, True])
def test_a_pair_is_for_a_task_of_pairs_and_a_text_for_one_of_texts(model, turned):
    names = sorted(model.tasks, reverse=turned)
    asked = model.with_tasks({name: model.tasks[name] for name in names})
    choices = Choices(labels=("warm", "cold"))
    assert choosing_task(asked, choices, is_pair=True) == "entailment"
    assert choosing_task(asked, choices, is_pair=False) == "sentiment"
    assert choosing_task(asked, Choices(bounds=(0.0, 5.0)), is_pair=False) == "likeness"
    assert choosing_tasks(asked, choices) == ("sentiment",)  # what the command line takes
    assert choosing_tasks(asked, choices, ["entailment"]) == ("entailment",)


def test_a_text_is_no_list_of_labels(model):
    with pytest.raises(DataError, match="expected a list of labels, got the text 'warm'"):
        model.classify(TEXT, "warm")


def test_labels_that_hide_in_their_own_question_are_read_one_after_the_other(model):
    task = model.tasks["sentiment"]
    reader = replace(task.reader.reader, wording=" or ".join(task.reader.reader.choices))
    asked = replace(task, reader=replace(task.reader, reader=reader))
    asking = model.with_tasks({**model.tasks, "sentiment": asked})
    for labels, wording in ((("warm", "cold"), "cold or warm?"), (("and", "or"), "")):
        chooser = with_choices(asking, Choices(labels=labels))
        assert chooser.tasks["sentiment"].reader.reader.wording == wording


def test_labels_that_the_encoder_cannot_tell_apart_are_refused(model):
    unknown = model.tokenize_prompt("😀").pieces, model.tokenize_prompt("🤖").pieces
    assert unknown[0] == unknown[1]
    with pytest.raises(DataError, match="reads the choices '😀' and '🤖' alike"):
        model.classify(TEXT, ["😀", "🤖"])


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (
            ["--question", "Who?"],
            1,
            "no task that answers questions.*extractive_qa: spanloom train .*/tasks/squad11.yaml",
        ),
        (["--labels", "a,b"], 1, "no task that chooses among labels.*train .*/tasks/sst2.yaml"),
        (["--range", "0:5"], 1, "no task that chooses a number.*train .*/tasks/stsb.yaml"),
        (["--labels", "a"], 2, "--labels: expected 2 to 64 labels"),
        (["--range", "5:0"], 2, "--range: expected a range from low to high"),
        (["--range", "zero"], 2, "--range: expected LOW:HIGH, got 'zero'"),
        (["--range", "0-5"], 2, "--range: expected LOW:HIGH, got '0-5'"),
        (["--range", "0:5:9"], 2, "--range: expected LOW:HIGH, got '0:5:9'"),
        (["--labels", ""], 2, '--labels: expected choices, got none .as in --labels "positive'),
        (["--range", ""], 2, '--range: expected choices, got none .as in --range "0:5"'),
        (["--labels", "", "--range", "0:5"], 2, "--labels and --range ask for different"),
        (["--question", " "], 2, "--question"),
        (["--question", "Who?", "--labels", "a,b"], 2, "--question and --labels ask for different"),
    ],
)
def test_mistakes_and_models_without_such_tasks_are_told(fails, home, options, code, message):
    import re

    line = fails("annotate", TEXT, "-m", home / "model", *options, code=code)
    assert re.search(message, line), line


def test_a_task_that_cannot_answer_is_named_with_those_that_can(fails, folder):
    line = fails(
        "annotate", TEXT, "-m", folder, "--question", "Who?", "--tasks", "sentiment", code=1
    )
    assert "task 'sentiment' is none that answers questions; the model has: questions" in line
    options = ("-m", folder, "--question", "Who?", "--tasks", "question")
    assert "did you mean 'questions'" in fails("annotate", TEXT, *options, code=2)
    line = fails("annotate", TEXT, "-m", folder, "--question", " ", code=2)
    assert "--question: expected a question, got ' '" in line


def test_questions_of_documents_stay_without_the_option(model):
    document = Document(TEXT, queries=(Query("Q1", "Who?"),))
    (found,) = model.annotate([document], ["questions"])
    assert found.queries == document.queries


def test_tasks_for_pairs_and_questions_are_left_out_where_there_are_none(
    spanloom, folder, tmp_path
):
    options = ("-m", folder, "--precision", "fp32", "--to", "json")
    result = spanloom("annotate", TEXT, *options)
    (document,) = jsonl.loads(result.stdout)
    assert [layer.name for layer in document.layers] == ["sentiment"]
    pairs = "entailment, likeness (no pair of texts)"
    line = f"left out: questions (no question; --question TEXT asks one); {pairs}"
    assert line in result.stderr.splitlines()
    spanloom("annotate", TEXT, *options, "-o", tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == result.stdout


def test_a_document_has_the_tasks_that_suit_it_whatever_stands_beside_it(
    spanloom, folder, tmp_path
):
    query = (Query("Q1", "Who?"),)
    documents = [Document(TEXT), Document(TEXT, queries=query), join_texts("", TEXT, PAIR)]
    named = [replace(document, name=str(i)) for i, document in enumerate(documents)]
    jsonl.write(tmp_path / "in.jsonl", named)
    result = spanloom("annotate", tmp_path / "in.jsonl", "-m", folder, "--to", "json")
    layers = [[layer.name for layer in doc.layers] for doc in jsonl.loads(result.stdout)]
    pair_layers = ["parts", "sentiment", "entailment", "likeness"]
    assert layers == [["sentiment"], ["answers", "sentiment"], pair_layers]
    assert "left out" not in result.stderr


def test_the_task_for_questions_says_what_it_needs(spanloom, folder):
    result = spanloom("annotate", TEXT, "-m", folder, "--tasks", "questions")
    assert "left out: questions (no question; --question TEXT asks one)" in result.stderr


@pytest.mark.parametrize("form", ["text", "table", "html"])
def test_a_layer_that_is_left_out_can_be_asked_for(spanloom, folder, form):
    layers = ("--layers", "sentiment,entailment")
    result = spanloom("annotate", TEXT, "-m", folder, "--to", form, *layers)
    assert result.exit_code == 0, result.stderr
