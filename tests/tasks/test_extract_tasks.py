"""Questions, choices and numbers: what is right, what a head answers, one head for all three."""

import json
import math
from dataclasses import replace

import pytest
import tiny
import torch
from flat_bench import PIECES, SPLIT, answer, collect, cuts, lay, learn, make
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.annotation.comparable import comparable
from spanloom.annotation.number_scale import NumberScale
from spanloom.annotation.queries import answer_layer, answers
from spanloom.annotation.text_pairs import TEXT_PAIR, classification_of, classify, join_texts
from spanloom.annotation_ids import IdGenerator
from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.config.options import validate_options as checked
from spanloom.config.yaml import SourceLocation
from spanloom.data.instances import InstanceLimits, tokenize_prompt
from spanloom.document import Attribute, Document, Layer, Query, Span
from spanloom.errors import DataError, RecipeError
from spanloom.formats import jsonl
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.nn.start_end import StartEndScorer
from spanloom.tasks import HeadInputSpec, load
from spanloom.tensors import HeadInputs
from spanloom.training.train import new_model, train

QUESTION, CHOICE, NUMBER = (
    load(name) for name in ("extractive_qa", "extractive_classification", "extractive_regression")
)
SURE = 40.0
TEXT = "Ada met Bob\nin old London"


def asking(*said, text=TEXT, name="d", layer="main"):
    """A document with a query an entry, and the covered texts that answer it."""
    queries = tuple(Query(f"Q{row}", f"who is {row} ?") for row in range(len(said)))
    found = [
        (f"Q{row}", ((text.index(each), text.index(each) + len(each)),), None)
        for row, alternatives in enumerate(said)
        for each in alternatives
    ]
    return Document(text, (answer_layer(layer, found, IdGenerator(())),), name, queries=queries)


def told(document, label, value=None, layer="main"):
    return document.with_layer(classify(document, layer, label, value, document.id_generator()))


def knowing(laid):
    """A head and vectors that say gold: words and openings are their own scores."""
    head = StartEndScorer(2, 0.0)
    with torch.no_grad():
        head.score.weight.copy_(torch.eye(2))
    size = int(laid.batch.instances[-1, 1])
    rows = torch.zeros(size + len(laid.units), 2)
    rows[laid.targets[:, 0], 0] = SURE
    rows[laid.targets[:, 1], 1] = SURE
    return head, HeadInputs(rows[:size], rows[size:])


def recalled(task, documents, limit=100):
    laid = lay(task, documents, limit)
    head, vectors = knowing(laid)
    return answer(task, head, laid, vectors)


def random(laid, dim=16, seed=2):
    torch.manual_seed(seed)
    return HeadInputs(
        torch.randn(int(laid.batch.instances[-1, 1]), dim), torch.randn(len(laid.units), dim)
    )


def untrained(task, dim=16):
    torch.manual_seed(1)
    return task.build_head(HeadInputSpec(dim))


def said(document, layer="main"):
    """What answers each query."""
    found = answers(document, layer).items()
    return {query: [document.text_of(span) for span in spans] for query, spans in found}


# questions


@pytest.mark.parametrize("limit", [4, 10, 100])
def test_perfect_scores_answer_every_query_as_gold_does(limit):
    gold = [asking(["Ada"], [], ["met Bob"]), asking(name="none"), asking(["old London"], name="e")]
    task = make(QUESTION, gold)
    found = recalled(task, gold, limit)
    assert [said(each) for each in found] == [said(each) for each in gold]
    assert task.metrics(task.compute_metrics(gold, found)) == {"f1": 1.0, "exact_match": 1.0}
    assert all(0 <= span.score <= 1 for each in found for span in each["main"].spans)


def test_one_of_two_right_answers_is_given():
    gold = [asking(["in old London", "London"], text="Bob in old London")]
    task = make(QUESTION, gold)
    (found,) = recalled(task, gold)
    assert said(found)["Q0"][0] in ("in old London", "London")


def test_one_batch_is_learnt_by_heart():
    gold = [QUESTION.example, asking(["Bob"], [], ["old"], name="e")]
    task = make(QUESTION, gold, dropout=0.0)
    laid = lay(task, gold)
    vectors, head = random(laid, dim=64), untrained(task, dim=64)
    losses = learn(task, head, vectors, laid)
    assert list(losses) == list(task.loss_names)
    assert task.count_items(laid.batch, laid.targets) == 5
    assert all(loss < 0.1 for loss in losses.values())
    found = answer(task, head, laid, vectors)
    assert task.compute_metrics(gold, found).exact == 1


def gold_of(task, document):
    return task.encode_gold(document, cuts([document])[0]).answers


def spanned(*fragments, text=TEXT):
    span = Span("T1", "answer", fragments)
    layer = Layer("main", (span,), attributes=(Attribute("A1", "query", "T1", "Q0"),))
    return Document(text, (layer,), "d", queries=(Query("Q0", "what ?"),))


@pytest.mark.parametrize(
    ("fragments", "known"),
    [
        (((0, 3),), ((0, 1),)),
        (((8, 14),), ((2, 4),)),
        (((8, 11), (12, 14)), ((2, 4),)),  # as brat writes a span over two lines
        (((12, 14), (8, 11)), ((2, 4),)),
        (((0, 3), (8, 11)), None),  # a word between
        (((0, 2),), None),
        (((1, 3),), None),
        (((3, 4),), None),
        (((0, 0),), None),
    ],
)
def test_answers_stand_on_word_borders_in_one_piece(fragments, known):
    task = make(QUESTION, [QUESTION.example])
    assert gold_of(task, spanned(*fragments)) == (known,)


def test_a_query_whose_answers_words_cannot_express_teaches_nothing():
    lost, plain = spanned((0, 2)), asking(["Ada"], [])
    task = make(QUESTION, [plain])
    laid = lay(task, [lost, plain])
    assert task.count_items(laid.batch, laid.targets) == 2
    gold = {row: task.encode_gold(each, cuts([each])[0]) for row, each in enumerate((lost, plain))}
    assert [len(each) for each in gold.values()] == [0, 2]
    (line,) = task.coverage_notes([], [], gold)
    assert "2 documents, 2 queries to learn from (1 without an answer), 1 more" in line


def test_numbers_outside_of_the_scale_are_told():
    documents = [told(asking([]), "n", value) for value in (-2.0, 0.0, 4.0, 9.5)]
    task = make(NUMBER, documents, min=0, max=4, step=2)
    train = list(zip(documents, cuts(documents), strict=True))
    *_, line = task.coverage_notes(train, [], {})
    assert line.endswith("numbers of train outside of 0 to 4, learnt as the nearest: 2")


def test_an_answer_outside_a_unit_is_no_answer_there():
    document = asking(["London"], ["Ada"])
    task = make(QUESTION, [document])
    whole = cuts([document])[0]
    (one, two) = task.reader.instances(
        0, whole, InstanceLimits(99, 99), lambda text: tokenize_prompt(text, SPLIT, PIECES)
    )
    rest = [
        replace(
            each, first_word=3, words=each.words[3:], tokens=each.tokens[3:], pieces=each.pieces[3:]
        )
        for each in (one, two)
    ]
    rows = task.collate_targets(rest, {0: task.encode_gold(document, whole)})
    assert rows.tolist() == [[2, 2, 0], [7, 7, 1]]


@settings(max_examples=60)
@given(
    st.lists(st.integers(-4, 4), min_size=14, max_size=14),
    st.integers(1, 6),
    st.sampled_from([-2.5, 0.0, 1.5]),
)
def test_the_best_span_is_given_where_it_beats_none_by_the_threshold(scores, widest, threshold):
    document = asking([])
    task = make(QUESTION, [document], max_answer_length=widest, no_answer_threshold=threshold)
    laid = lay(task, [document])
    head, vectors = knowing(laid)
    rows = torch.tensor(scores, dtype=torch.float32).view(7, 2)
    vectors = HeadInputs(rows[:6], rows[6:])
    (found,) = task.predict(head, vectors, laid.batch, laid.units, None)
    spans = {
        (a, b): float(rows[a, 0] + rows[b - 1, 1] - rows[6].sum())
        for a in range(6)
        for b in range(a + 1, min(a + widest, 6) + 1)
    }
    best = max(spans.values())
    if best <= threshold:
        assert found is None
    else:
        assert spans[found[:2]] == best
        assert found[2] == pytest.approx(1 / (1 + math.exp(-best)))


def test_a_text_without_words_answers_nothing():
    empty = asking([], [], text=" \n")
    task = make(QUESTION, [asking(["Ada"])])
    laid = lay(task, [empty])
    losses = task.loss(untrained(task), random(laid), laid.batch, laid.targets)
    assert all(loss.item() == 0 for loss in losses.values())  # there is nothing else to say
    (found,) = answer(task, untrained(task), laid, random(laid))
    assert said(found) == {"Q0": [], "Q1": []}


# choices


def reviews(*labels):
    return [
        told(Document(f"The film is {row} .", name=str(row)), each)
        for row, each in enumerate(labels)
    ]


def test_labels_are_read_as_words_or_as_the_options_say():
    gold = reviews("not-good", "so_so", "-")
    units = lay(make(CHOICE, gold), gold).units
    assert units[0].tokens == ("-", "not", "good", "so", "so")
    assert units[0].choices == ((0, 1), (1, 3), (3, 5))
    assert units[0].prompt.tokens == ("The", "film", "is", "0", ".")
    texts = {"not-good": "it is bad", "fine": "it is fine"}
    task = make(CHOICE, gold, verbalizer=texts)
    assert task.labels == ("-", "fine", "not-good", "so_so")
    forms = ("-", *"it is fine".split(), *"it is bad".split(), "so", "so")
    assert lay(task, gold).units[0].tokens == forms


def test_choices_of_blanks_are_refused():
    with pytest.raises(RecipeError, match="verbalizer.a"):
        checked(CHOICE.options, {"verbalizer": {"a": " "}}, SourceLocation())


def pairs(*labels, value=None):
    made = [join_texts(str(row), f"It rains {row} .", "It is\nwet .") for row in range(len(labels))]
    return [told(each, label, value) for each, label in zip(made, labels, strict=True)]


@pytest.mark.parametrize("limit", [5, 8, 100])
@pytest.mark.parametrize("gold", [reviews("good", "not-good", "so_so"), pairs("no", "yes", "no")])
def test_perfect_scores_say_the_gold_label(gold, limit):
    task = make(CHOICE, gold)
    found = recalled(task, gold, limit)
    report = task.compute_metrics(gold, found)
    assert task.metrics(report) == {"accuracy": 1.0, "macro_f1": 1.0, "mcc": 1.0}
    assert tuple(task.metrics(report)) == task.metric_names
    assert task.inputs == ((TEXT_PAIR,) if gold[0].has_layer(TEXT_PAIR) else ())
    with_parts = [
        each.with_layer(one[TEXT_PAIR]) if one.has_layer(TEXT_PAIR) else each
        for one, each in zip(gold, found, strict=True)
    ]
    assert [comparable(each) for each in with_parts] == [comparable(each) for each in gold]


def test_the_first_of_two_parts_stands_before_the_choices_and_the_second_ahead_of_all():
    (unit,) = lay(make(CHOICE, pairs("no")), pairs("no")).units
    assert unit.tokens == ("It", "rains", "0", ".", "no")
    assert unit.prompt.tokens == ("It", "is", "wet", ".")
    assert unit.choices == ((4, 5),)


def test_a_long_text_says_what_its_stretches_say_on_average():
    gold = [told(Document("a b c d e f g h"), label) for label in ("no", "yes")]
    gold = [Document(each.text, each.layers, str(row)) for row, each in enumerate(gold)]
    task = make(CHOICE, gold)
    laid = lay(task, gold[:1], limit=7)
    assert len(laid.units) == 2
    vectors, head = random(laid, seed=5), untrained(task).eval()
    scores = head(vectors.word_vectors, vectors.cls_vectors)[:4].detach()  # each word is a choice
    chances = scores.sum(1).view(2, 2).softmax(-1).mean(0)
    (found,) = answer(task, head, laid, vectors)
    assert classification_of(found, "main").label == task.labels[int(chances.argmax())]
    assert found["main"].spans[0].score == pytest.approx(float(chances.max()))


def test_labels_that_train_never_had_teach_nothing_and_are_told():
    train, dev = reviews("good", "bad"), reviews("fine", "good")
    task = make(CHOICE, train)
    assert task.unseen_labels([*train, *dev]) == {"fine"}
    laid = lay(task, dev)
    assert task.count_items(laid.batch, laid.targets) == 1


def test_nothing_is_said_of_no_text_or_learnt_from_no_label():
    silent = [Document(" ", (Layer("main"),), "a"), Document("b", (Layer("main"),), "b")]
    task = make(CHOICE, reviews("good", "bad"))
    laid = lay(task, silent)
    assert not laid.targets.any()
    one, two = answer(task, untrained(task), laid, random(laid))
    assert classification_of(one, "main") is None
    assert classification_of(two, "main").label in task.labels


# numbers


def rated(*values, label="likeness"):
    return [
        told(Document(f"text {row}", name=str(row)), label, each) for row, each in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "low", "high", "step"),
    [
        ((0.0, 1.3, 5.0), 0.0, 5.0, 0.25),
        ((0.1, 4.9), 0.0, 5.0, 0.25),
        ((-1.0, 1.0), -1.0, 1.0, 0.1),
        ((3.0, 97.0), 0.0, 100.0, 5.0),
        ((7.5,), 7.5, 7.5, 7.5),
        ((0.0,), 0.0, 0.0, 1.0),
        ((1e-7, 3e-7), 1e-7, 3e-7, 1e-8),
    ],
)
def test_the_range_is_that_of_train_in_round_steps(values, low, high, step):
    found = collect(NUMBER, rated(*values))
    assert [found[key] for key in ("min", "max", "step")] == pytest.approx([low, high, step])
    assert found["label"] == "likeness"


def test_numbers_are_written_as_in_the_paper():
    task = make(NUMBER, rated(0.0, 5.0))
    said = task.reader.reader.choices
    assert said[:5] == ("0.0", "0.25", "0.5", "0.75", "1.0")
    assert (said[-1], len(said)) == ("5.0", 21)


FINITE = st.floats(-1e6, 1e6).map(lambda each: round(each, 3))


@given(st.lists(FINITE, min_size=1, max_size=6))
def test_every_number_of_train_has_a_bucket_within_half_a_step(values):
    found = collect(NUMBER, rated(*values))
    buckets = NumberScale(found["min"], found["max"], found["step"])
    assert 1 <= len(buckets) <= 23
    every = [buckets.value(row) for row in range(len(buckets))]
    assert every == sorted(set(every))
    assert [buckets.nearest(each) for each in every] == list(range(len(buckets)))
    for value in values:
        off = abs(every[buckets.nearest(value)] - value)
        assert off == pytest.approx(min(abs(each - value) for each in every), abs=1e-6)
        assert off <= buckets.step * 0.5001


def test_options_say_range_and_step():
    task = make(NUMBER, rated(1.0, 9.0), min=0, max=2, step=0.5)
    assert task.reader.reader.choices == ("0.0", "0.5", "1.0", "1.5", "2.0")
    (one,) = recalled(task, rated(9.0))
    assert classification_of(one, "main").value == 2
    with pytest.raises(RecipeError, match="expected min below max, got min"):
        checked(NUMBER.options, {"min": 2, "max": 2}, SourceLocation())
    for options, told in (({"step": 1e-5}, "at most 200 steps"), ({"min": 20}, "20.0 and 9.0")):
        with pytest.raises(DataError, match=f"numbers of layer 'main': expected .*{told}"):
            make(NUMBER, rated(1.0, 9.0), **options)


@pytest.mark.parametrize("bad", [(0, 1, 0), (1, 0, 1), (0, 1e9, 1), (0, math.nan, 1), (0, 1, -1)])
def test_buckets_without_sense_are_refused(bad):
    with pytest.raises(ValueError, match="at most 200 steps"):
        NumberScale(*bad)


def test_numbers_that_differ_beyond_all_range_are_refused():
    with pytest.raises(DataError, match="numbers of layer"):
        collect(NUMBER, rated(-1.5e308, 1.5e308))


@pytest.mark.parametrize(
    "gold",
    [rated(0.0, 2.5, 5.0), [*pairs("like", value=1.0), *pairs("like", "like", value=3.0)[1:]]],
)
def test_perfect_scores_say_the_gold_number(gold):
    task = make(NUMBER, gold)
    found = recalled(task, gold)
    report = task.compute_metrics(gold, found)
    assert report.squared_error == 0
    assert task.metrics(report) == pytest.approx({"pearson": 1, "spearman": 1})
    assert tuple(task.metrics(report)) == task.metric_names


def test_a_label_without_a_number_teaches_nothing():
    gold = [*rated(1.0, 2.0), told(Document("other", name="z"), "likeness")]
    task = make(NUMBER, gold)
    assert len(task.encode_gold(gold[2], cuts(gold)[2])) == 0


# all three


EVERY = pytest.mark.parametrize("kind", [QUESTION, CHOICE, NUMBER])


@EVERY
def test_gold_never_reaches_the_answer(kind):
    gold = [kind.example]
    blank = [kind.example.unannotated([TEXT_PAIR]).with_layer(Layer("main"))]
    task = make(kind, gold)
    found = []
    for documents in (gold, blank):
        laid = lay(task, documents)
        found.append(answer(task, untrained(task), laid, random(laid)))
    assert [comparable(each) for each in found[0]] == [comparable(each) for each in found[1]]


@EVERY
def test_the_head_knows_nothing_of_the_task(kind):
    task = make(kind, [kind.example])
    assert [each.shape for each in task.build_head(HeadInputSpec(5)).parameters()] == [(2, 5)]
    assert kind.merge_vocabularies([{}, {}]) == {}
    assert kind.family == "extract"


WORDS = "add mix warm cold buffer water cells tube".split()


def corpus(place):
    """Texts of a few words: who is asked for, is it warm or cold, how often is there water."""
    ask = (("Q1", "add what ?"), ("Q2", "spin what ?"))
    for split, size in (("train", 12), ("dev", 4)):
        texts, couples = [], []
        for row in range(size):
            warm, water = ("warm", "cold")[row % 2], row % 3
            text = f"add {warm} {WORDS[4 + row % 4]} .\nmix" + " water" * water + " .\n"
            at = text.index(WORDS[4 + row % 4])
            queries = tuple(Query(*each) for each in ask)
            made = Document(text, (), f"{split}{row}", queries=queries)
            end = at + len(WORDS[4 + row % 4])
            made = made.with_layer(
                answer_layer("answers", [("Q1", ((at, end),), None)], IdGenerator(()))
            )
            made = made.with_layer(classify(made, "heat", f"is-{warm}", None, made.id_generator()))
            texts.append(made)
            pair = join_texts(
                f"{split}{row}", f"mix {warm} .", f"add {warm}" + " tube" * water + " ."
            )
            couples.append(told(pair, "tubes", float(water), layer="tubes"))
        for name, documents in (("texts", texts), ("couples", couples)):
            (place / name).mkdir(parents=True, exist_ok=True)
            (place / name / f"{split}.jsonl").write_text(jsonl.dumps(documents), encoding="utf-8")


TASKS = {
    "ask": {"data": "texts", "kind": "extractive_qa", "layer": "answers"},
    "heat": {"data": "texts", "kind": "extractive_classification", "layer": "heat"},
    "tubes": {"data": "couples", "kind": "extractive_regression", "layer": "tubes", "step": 1.0},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    torch.set_num_threads(1)
    found = tmp_path_factory.mktemp("extract")
    corpus(found)
    stage = {"tasks": list(TASKS), "epochs": 2, "batch_words": 64, "precision": "fp32"}
    tiny.recipe(found, tasks=TASKS, sharing="shared-head", stages=[stage])
    return found


@pytest.mark.parametrize(
    ("sharing", "anew"), [("shared-head", "nothing"), ("separate-heads", "ask, tubes")]
)
def test_the_pointer_goes_on_from_one_task_to_others(place, tmp_path, sharing, anew):
    """What one task taught the shared head is there when the next one begins (section 5)."""
    recipe = recipes.load(place / "recipe.yaml", [f"sharing={sharing}", "stages.0.epochs=1"])
    plain = recipes.to_plain(recipe)

    def plan(names, **keys):
        stage = plain["stages"][0] | {"tasks": names}
        own = {"tasks": {name: plain["tasks"][name] for name in names}, "stages": [stage]}
        return resolve(recipes.loads(yaml.dump(plain | own | keys), "stage"), place)

    first = tmp_path / "first"
    train(plan(["heat"]), first, lambda line: None, device="cpu")
    model, prepared = new_model(plan(["ask", "tubes"], init_from=str(first)))
    assert prepared.notes[-1] == f"starting from {first}; anew: {anew}"
    earlier = serialization.load(first, device="cpu").network.state_dict()
    kept = [
        name
        for name, weights in model.network.state_dict().items()
        if name in earlier and weights.equal(earlier[name])
    ]
    assert any(name.startswith("heads.") for name in kept) == (anew == "nothing")


def test_one_head_without_any_parameter_of_a_task_learns_all_three(place, tmp_path):
    recipe = recipes.load(place / "recipe.yaml")
    lines = []
    progress = train(resolve(recipe, place), tmp_path / "model", lines.append, device="cpu")
    assert set(progress.metrics) == {
        *("ask.f1", "ask.exact_match", "heat.accuracy", "heat.macro_f1", "heat.mcc"),
        *("tubes.pearson", "tubes.spearman"),
    }
    assert any("24 queries to learn from (12 without an answer)" in line for line in lines)
    model = serialization.load(tmp_path / "model", device="cpu")
    assert list(model.network.heads) == ["extract"]
    assert len(model.encoder_passes()) == 3
    text = Document("add warm tube .", queries=(Query("Q1", "add what ?"),))
    pair = join_texts("p", "mix warm .", "add tube tube .")
    found = [*model.annotate([text], ["ask", "heat"]), *model.annotate([pair], ["tubes"])]
    assert classification_of(found[0], "heat").label in ("is-cold", "is-warm")
    assert list(said(found[0], "answers")) == ["Q1"]
    spoken = classification_of(found[1].with_layer(pair[TEXT_PAIR]), "tubes")
    assert (spoken.label, spoken.value in (0.0, 1.0, 2.0)) == ("tubes", True)
    serialization.save(model, tmp_path / "again", figures={})
    again = serialization.load(tmp_path / "again", device="cpu")
    for name in TASKS:
        one, two = (list(each.annotate([text, pair], [name])) for each in (model, again))
        assert [repr(each) for each in one] == [repr(each) for each in two]


def test_annotation_reads_queries_and_parts_but_no_gold(place):
    model, _ = new_model(resolve(recipes.load(place / "recipe.yaml"), place), "cpu")
    texts, couples = (
        list(jsonl.loads((place / name / "dev.jsonl").read_text())) for name in ("texts", "couples")
    )
    for name, documents in (("ask", texts), ("heat", texts), ("tubes", couples)):
        bare = [each.unannotated([TEXT_PAIR]) for each in documents]
        one, two = (list(model.annotate(each, [name])) for each in (documents, bare))
        assert [repr(each) for each in one] == [repr(each) for each in two]


def test_a_long_text_and_a_long_query_are_read_in_windows(place):
    model, _ = new_model(resolve(recipes.load(place / "recipe.yaml"), place), "cpu")
    lines = "\n".join(f"add {each} {each} ." for each in WORDS * 20)
    queries = (Query("Q1", "add what ?"), Query("Q2", "spin " * 90))
    (found,) = model.annotate([Document(lines, queries=queries)], ["ask", "heat"])
    assert list(said(found, "answers")) == ["Q1", "Q2"]
    assert classification_of(found, "heat") is not None


def test_tasks_of_one_head_read_one_level(place):
    levels = [{"name": "context", "rnn": "gru", "hidden_size": 4}]
    tasks = TASKS | {"heat": TASKS["heat"] | {"level": "context"}}
    plain = json.loads((place / "recipe.yaml").read_text()) | {"tasks": tasks, "levels": levels}
    with pytest.raises(RecipeError, match="tasks that share a head read one level"):
        new_model(resolve(recipes.loads(json.dumps(plain)), place), "cpu")
