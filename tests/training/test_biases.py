"""Biases of decisions: how they are searched, what they do, where they are kept."""

from pathlib import Path

import pytest
import tiny

from spanloom.annotation.queries import ANSWER, QUERY
from spanloom.annotation.source_corpus import set_source_corpus
from spanloom.config import recipe as recipes
from spanloom.document import Attribute, Document, Layer, Query, Span
from spanloom.errors import DataError
from spanloom.model import serialization
from spanloom.model.network import Network
from spanloom.model.plan import resolve
from spanloom.training import biases, train
from spanloom.training.biases import LIMIT, MIN_SPANS, climb, tune
from spanloom.training.loop import BEST
from spanloom.training.validation import TrainingPredictor, sample_evenly


@pytest.mark.parametrize("best", [-2.125, -0.5, 0.0, 0.375, 1.75])
def test_the_search_finds_the_top_of_a_hill(best):
    assert climb(lambda bias: -abs(bias - best)) == best


def test_without_a_better_score_the_bias_stays_zero():
    assert climb(lambda bias: 0.5) == 0.0


def test_the_search_looks_beyond_a_first_step_that_changes_nothing():
    assert climb(lambda bias: float(bias <= -1.0)) == -1.0


def test_the_search_stays_within_its_limit():
    assert climb(lambda bias: bias) == LIMIT
    assert climb(lambda bias: -bias) == -LIMIT


TEXT = (
    "Ada Lovelace met Charles Babbage in London. She told him that the engine could weave "
    "algebraic patterns, and he believed her. The Analytical Society of Cambridge printed it."
)


@pytest.fixture(scope="module")
def model():
    """The default model without its own biases."""
    return serialization.load(device="cpu", precision="fp32").with_biases({})


def num_predicted(model, task, decision, bias):
    biased = model.with_biases({task: {decision: bias}})
    (document,) = biased.predict([Document(TEXT)], task)
    layer = document[biased.tasks[task].layer]
    return len(layer.spans) + len(layer.relations)


@pytest.mark.slow
def test_each_decision_predicts_more_with_a_higher_bias(model):
    pairs = [(name, decision) for name, task in model.tasks.items() for decision in task.decisions]
    assert {decision for _, decision in pairs} >= {"span", "relation", "predicate", "antecedent"}
    for task, decision in pairs:
        few, some, many = (num_predicted(model, task, decision, bias) for bias in (-8.0, 0.0, 8.0))
        assert few <= some <= many, (task, decision)
        assert few < many, (task, decision)


def test_an_unknown_decision_is_refused(model):
    with pytest.raises(DataError, match="task 'ner': no decision 'spam' to bias.*span"):
        model.with_biases({"ner": {"spam": 1.0}})


def test_too_little_gold_leaves_the_biases(model):
    (document,) = model.predict([Document(TEXT)], "ner")
    assert len(document["ner"].spans) < MIN_SPANS
    tuned, metrics = tune(model, {"ner": [document]}, ["ner"])
    assert (tuned.recipe.biases, metrics) == ({}, {})


def test_tuning_finds_the_bias_that_dev_was_made_with(model):
    gold = model.with_biases({"ner": {"span": 1.5}})
    texts = [Document(TEXT, name=str(number)) for number in range(60)]
    dev = list(gold.predict(texts, "ner"))
    tuned, metrics = tune(model, {"ner": dev}, ["ner"])
    assert dev != list(model.predict(texts, "ner"))
    assert metrics["ner"]["span_f1"] == 1.0
    assert tuned.recipe.biases["ner"]["span"] > 0
    assert model.recipe.biases == {}


def test_the_encoder_reads_dev_once_for_all_biases_that_are_tried(model, monkeypatch):
    texts = [Document(TEXT, name=str(number)) for number in range(60)]
    dev = list(model.predict(texts, "ner"))
    batches = []
    encode = Network.head_inputs

    def counted(network, batch, tasks):
        batches.append(batch.words)
        return encode(network, batch, tasks)

    monkeypatch.setattr(Network, "head_inputs", counted)
    list(model.predict(texts, "ner"))
    once = len(batches)
    tune(model, {"ner": dev}, ["ner"])
    assert len(batches) == once * 2  # the metrics of the tuned model need no reading


def test_corpora_of_a_joined_one_count_alike(model):
    """Many documents for a high bias and few against it: pooled, the many would win by far."""
    texts = [Document(TEXT, name=str(number)) for number in range(62)]
    high = model.with_biases({"ner": {"span": 1.5}})
    low = model.with_biases({"ner": {"span": -8.0}})
    many = [set_source_corpus(doc, "many") for doc in high.predict(texts[:60], "ner")]
    few = [set_source_corpus(doc, "few") for doc in low.predict(texts[60:], "ner")]
    tuned, _ = tune(model, {"ner": [*many, *few]}, ["ner"])

    def mean_f1(candidate):
        task, predictor = candidate.tasks["ner"], TrainingPredictor(candidate)
        return sum(task.score(predictor, part)["span_f1"] for part in (many, few)) / 2

    assert mean_f1(tuned) >= max(map(mean_f1, (model, high, low)))


def test_a_bias_of_before_goes_where_none_is_better(model):
    texts = [Document(TEXT, name=str(number)) for number in range(60)]
    dev = list(model.predict(texts, "ner"))
    biases = {"ner": {"span": 2.0}, "mentions": {"span": 0.5}}
    tuned, _ = tune(model.with_biases(biases), {"ner": dev}, ["ner"])
    assert tuned.recipe.biases == {"mentions": {"span": 0.5}}


@pytest.mark.parametrize("num_words", [1, 400, 10**6])
def test_biases_are_tried_on_documents_from_all_parts_of_dev(num_words):
    sizes = [3, 50, 1, 10] * 50
    documents = [Document("word " * size, name=str(row)) for row, size in enumerate(sizes)]
    sample = [int(document.name) for document in sample_evenly(documents, num_words)]
    assert sample == sorted(set(sample))
    wanted = min(num_words, sum(sizes))
    assert wanted <= sum(sizes[row] for row in sample) < wanted + max(sizes)
    if num_words == 400:
        assert sample[0] < 10
        assert sample[-1] > 180


def test_training_keeps_biases_that_dev_is_too_small_for(tmp_path):
    tiny.corpus(tmp_path / "corpus", dev=2)
    path = tiny.recipe(tmp_path, epochs=1, tune_biases=True, biases={"steps": {"span": 0.25}})
    train.train(resolve(recipes.load(path), tmp_path), tmp_path / "model", print)
    assert serialization.load(tmp_path / "model").recipe.biases == {"steps": {"span": 0.25}}


@pytest.fixture
def trained(tmp_path):
    """Train a tiny model that tunes its biases; return its folder and that of its data."""
    tiny.corpus(tmp_path / "corpus", dev=8)
    path = tiny.recipe(tmp_path, epochs=2, tune_biases=True)
    train.train(resolve(recipes.load(path), tmp_path), tmp_path / "model", print)
    return tmp_path / "model", tmp_path


def test_training_keeps_the_biases_that_it_tuned(trained):
    model = serialization.load(trained[0], device="cpu", precision="fp32")
    biases = model.recipe.biases["steps"]
    assert biases.keys() <= {"span", "relation", "relation_end"}
    assert any(biases.values())
    assert "biases" in (trained[0] / serialization.RECIPE).read_text()


@pytest.mark.parametrize("evaluations", [1, 3])
def test_a_tasks_own_best_model_has_tuned_biases(tmp_path, monkeypatch, evaluations):
    tiny.corpus(tmp_path / "corpus", dev=8)
    path = tiny.recipe(tmp_path, epochs=2, tune_biases=True)
    stage = {"save_best_per_task": True, "num_evaluations": evaluations}
    settings = [f"stages.0.{name}={value}" for name, value in stage.items()]
    plan = resolve(recipes.load(path, settings), tmp_path)
    tuned = []
    tune_weights = biases.tune_weights

    def counted(model, folder, dev, names, log):
        tuned.append(folder.name)
        return tune_weights(model, folder, dev, names, log)

    monkeypatch.setattr(biases, "tune_weights", counted)
    train.train(plan, tmp_path / "model", print)
    assert tuned[-1] == BEST
    assert evaluations > 1 or tuned == [BEST]
    own = serialization.load(train.own_model(train.run_folder(tmp_path / "model"), "steps"))
    assert any(own.recipe.biases["steps"].values())


@pytest.mark.parametrize(
    ("used", "tuned"), [(None, {"steps"}), (["steps"], {"steps"}), ([], set())]
)
def test_only_the_biases_of_used_tasks_are_tuned(tmp_path, used, tuned):
    tiny.corpus(tmp_path / "corpus", dev=8)
    path = tiny.recipe(tmp_path, epochs=2, tune_biases=True)
    train.train(resolve(recipes.load(path), tmp_path), tmp_path / "model", print, used=used)
    biases = serialization.load(tmp_path / "model").recipe.biases
    assert {task for task, values in biases.items() if any(values.values())} == tuned


@pytest.mark.parametrize("no_answer", ["cls", "word"])
def test_how_sure_an_answer_must_be_is_chosen_on_dev(no_answer):
    """Most questions have no answer, and the model knows none: so it is best to give none."""
    folder = Path(__file__).parents[2] / "recipes" / "tiny"
    recipe = recipes.load(folder / "spex.yaml", [f"tasks.questions.no_answer={no_answer}"])
    untrained, _ = train.new_model(resolve(recipe, folder), "cpu")
    text = "Anna saw Tom in Berlin . Tom met Eva in Rome ."
    queries = tuple(Query(f"Q{row}", f"Who is {row} ?") for row in range(4))
    span, query = Span("T1", ANSWER, ((5, 8),)), Attribute("A1", QUERY, "T1", "Q0")
    layer = Layer("answers", (span,), attributes=(query,))
    dev = [Document(text, (layer,), f"d{row}", queries=queries) for row in range(MIN_SPANS)]
    tuned, metrics = tune(untrained, {"questions": dev}, ["questions"])
    assert tuned.recipe.biases["questions"]["answer"] < 0
    before = untrained.tasks["questions"].score(TrainingPredictor(untrained), dev)
    assert metrics["questions"]["exact_match"] == 0.75 > before["exact_match"]
