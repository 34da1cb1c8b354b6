"""Text in, Document out: order, layers, bounds, and that gold never reaches an answer."""

import copy
import random
import resource
from dataclasses import replace
from itertools import chain

import pytest
import tiny
import torch

from spanloom.annotation.comparable import comparable
from spanloom.corpora import folder as corpora
from spanloom.document import Document, Layer, Relation, Span
from spanloom.errors import LayerError, NameNotFound
from spanloom.formats import jsonl
from spanloom.model.plan import output_layers
from spanloom.model.stretches import cut_stretches

FREE = ["steps", "names"]  # tasks that need no gold


def texts(count, seed=0):
    chance = random.Random(seed)
    return [tiny.document(chance, chance.randint(1, 9))[0] for _ in range(count)]


def close(one, two):
    """The same document, scores up to float noise."""
    mine, yours = list(one.annotations().values()), list(two.annotations().values())
    assert one == two
    for a, b in zip(mine, yours, strict=True):
        if getattr(a, "score", None) is not None:
            assert a.score == pytest.approx(b.score, abs=1e-5)


def test_it_says_something_of_every_kind(model):
    found = [next(model.annotate([Document(text)], ["steps"]))["steps"] for text in texts(4)]
    assert any(layer.spans for layer in found)
    assert any(layer.relations for layer in found)
    assert any(event.arguments for layer in found for event in layer.events)


def test_texts_are_annotated_as_documents_are(model):
    given = texts(2)
    documents = [Document(text) for text in given]
    assert list(model.annotate(given, ["steps"])) == list(model.annotate(documents, ["steps"]))
    alone = model.with_tasks({"steps": model.tasks["steps"]})
    assert alone(documents[0]) == alone(given[0])
    for one in ("a", documents[0], b"a"):
        with pytest.raises(TypeError, match=r"got one \w+; model\(text\) takes one"):
            model.annotate(one)
    for several in (["a"], iter("a")):
        with pytest.raises(TypeError, match=r"got \w+; model.annotate\(texts\) takes several"):
            model(several)
    with pytest.raises(TypeError, match="expected a text or a Document, got bytes"):
        list(model.annotate([b"a"]))


def test_a_document_reads_the_same_alone_and_among_others(model):
    documents = [Document(text, name=str(row)) for row, text in enumerate(texts(12))]
    together = list(model.annotate(documents, ["steps"]))
    for document, among in zip(documents, together, strict=True):
        close(next(model.annotate([document], ["steps"])), among)


@pytest.mark.parametrize("words", [1, 40, 100_000])
def test_the_size_of_batches_changes_nothing(model, words):
    documents = [Document(text) for text in texts(5, seed=1)]
    usual = model.annotate(documents, ["steps"])
    for one, two in zip(usual, model.annotate(documents, ["steps"], words=words), strict=True):
        close(one, two)


def test_stretches_change_nothing(model, monkeypatch):
    documents = [Document(text, name=str(row)) for row, text in enumerate(texts(9, seed=2))]
    usual = list(model.annotate(documents, ["steps"]))
    monkeypatch.setattr("spanloom.model.stretches._MAX_WORDS", 50)
    for one, two in zip(usual, model.annotate(iter(documents), ["steps"]), strict=True):
        close(one, two)


def test_a_stretch_by_itself_has_the_same_numbers(model, monkeypatch):
    monkeypatch.setattr("spanloom.model.stretches._MAX_WORDS", 2000)
    documents = [Document(text, name=str(row)) for row, text in enumerate(texts(40, seed=2))]
    whole = list(model.annotate(documents, ["steps"]))
    stretches = list(cut_stretches(documents))
    assert len(stretches) > 1
    parts = [model.annotate_stretch(stretch, ["steps"]) for stretch in reversed(stretches)]
    assert jsonl.dumps(chain(*reversed(parts))) == jsonl.dumps(whole)


def test_the_first_document_comes_when_a_batch_is_read(model):
    read = []

    def documents():
        for row, text in enumerate(texts(200, seed=2)):
            read.append(row)
            yield Document(text)

    next(model.annotate(documents(), ["steps"], words=100))
    assert len(read) < 10


def test_documents_come_out_in_order_with_names_texts_and_layers(model):
    documents = [Document(text, name=f"d{row}") for row, text in enumerate(["", *texts(6), " \n"])]
    found = list(model.annotate(documents, ["names"]))
    assert [(d.name, d.text) for d in found] == [(d.name, d.text) for d in documents]
    assert all([layer.name for layer in d.layers] == ["names"] for d in found)


@pytest.mark.parametrize("names", [["steps"], ["names"], ["names", "steps"], ["links", "steps"]])
def test_a_layer_is_called_the_same_whatever_else_is_asked_for(model, home, names):
    gold = corpora.read(home / "corpus", "dev").documents[0]
    found = next(model.annotate([gold], names))
    assert [layer.name for layer in found.layers] == names  # all three learn main


def test_one_task_predicts_the_layer_that_it_learnt(model):
    document = Document(texts(1)[0])
    (layer,) = next(model.predict([document], "steps")).layers
    assert layer == replace(next(model.annotate([document], ["steps"]))["steps"], name="main")


def test_a_layer_that_a_task_wrote_is_scored_against_that_task(model):
    documents = [Document(text, name=str(row)) for row, text in enumerate(texts(3))]
    written = list(model.annotate(documents, ["steps", "names"]))
    reports = model.evaluate(written)
    assert reports.keys() >= {"steps", "names"}
    assert all(reports[name].spans.micro.f1 == 1 for name in ("steps", "names"))


@pytest.mark.parametrize(
    ("learnt", "written"),
    [
        ({"a": "x"}, {"a": "x"}),
        ({"a": "x", "b": "y"}, {"a": "x", "b": "y"}),
        ({"a": "x", "b": "x", "c": "y"}, {"a": "a", "b": "b", "c": "y"}),
        ({"a": "c", "b": "x", "c": "x"}, {"a": "a", "b": "b", "c": "c"}),  # c is taken twice
        ({"a": "b", "b": "b"}, {"a": "a", "b": "b"}),
    ],
)
def test_layers_are_called_as_they_were_learnt_or_else_as_their_task(learnt, written):
    assert output_layers(learnt) == written


def test_what_runs_on_request_runs_only_when_it_is_named(model):
    tasks = {
        name: spec.model_copy(update={"on_request": name != "names"})
        for name, spec in model.recipe.tasks.items()
    }
    asking = replace(model, plan=model.plan.noting(tasks=tasks))
    document = Document(texts(1)[0])
    assert [layer.name for layer in asking(document.text).layers] == ["names"]
    assert asking.encoder_passes() == [("names",)]
    steps = next(asking.annotate([document], ["steps"]))
    assert steps == next(model.annotate([document], ["steps"]))


def test_tasks_of_one_layer_do_not_hide_each_other(model):
    document = Document(texts(1)[0])
    both = next(model.annotate([document], FREE))
    assert [layer.name for layer in both.layers] == FREE
    for name in FREE:
        alone = next(model.annotate([document], [name]))[name]
        assert [s.fragments for s in both[name].spans] == [s.fragments for s in alone.spans]
        assert [s.label for s in both[name].spans] == [s.label for s in alone.spans]


def test_what_is_not_read_as_it_stands_is_told_once_a_document(model, caplog):
    long = " ".join(["water"] * 700)
    documents = [
        Document(f"{long}\n{long}\nadd water", name="long"),
        Document("add water", name="short"),
        Document("w" * 5000, name="word"),
    ]
    found = list(model.annotate(documents, ["steps"], with_tokens=True))
    assert [len(each["sentences"].spans) for each in found] == [3, 1, 1]
    assert [record.getMessage() for record in caplog.records] == [
        "'long': sentences of over 256 words, read in parts: 2",
        "'word': words of over 2,000 characters or 512 pieces, of which the first are read: 1",
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "\t \r\n", "\u3000\u2028"])
def test_texts_without_words_give_empty_layers(model, text):
    document = next(model.annotate([Document(text)], ["steps"]))
    assert document.text == text
    assert document["steps"] == Layer("steps")


def test_no_document_gives_none(model):
    assert list(model.annotate([])) == []


def test_spans_lie_on_the_words_of_their_text(model):
    for text in texts(5, seed=3):
        words = {bounds for bounds in model.word_tokenizer(text).words}
        starts, ends = {a for a, _ in words}, {b for _, b in words}
        for span in next(model.annotate([Document(text)], ["steps"]))["steps"].spans:
            assert span.start in starts
            assert span.end in ends
            assert 0 <= span.score <= 1


def test_gold_never_reaches_a_prediction(model, home):
    gold = corpora.read(home / "corpus", "dev").documents
    for marked, bare in zip(
        model.annotate(gold, FREE),
        model.annotate((d.unannotated() for d in gold), FREE),
        strict=True,
    ):
        close(marked, bare)
        assert marked.source is None


def test_given_spans_come_from_the_task_layer_alone(model, home):
    gold = corpora.read(home / "corpus", "dev").documents[0]
    other = Layer("other", (Span("X1", "Reagent", ((0, 3),)),))
    found = next(model.annotate([gold.with_layer(other)], ["links"]))["links"]
    placed = {span.fragments for span in gold["main"].spans}
    assert {span.fragments for span in found.spans} == placed
    alone = replace(gold, layers=(replace(gold["main"], relations=(), events=()),))
    assert next(model.annotate([alone], ["links"]))["links"] == found


def test_given_spans_do_not_bring_their_relations(model, home):
    gold = corpora.read(home / "corpus", "dev").documents[0]
    main = gold["main"]
    every = tuple(
        Relation(f"R{i}-{j}", "Mod-Link", a.id, b.id)
        for i, a in enumerate(main.spans)
        for j, b in enumerate(main.spans)
        if i != j
    )
    full = gold.unannotated().with_layer(replace(main, relations=every, events=()))
    none = gold.unannotated().with_layer(replace(main, relations=(), events=()))
    mine, yours = (comparable(next(model.annotate([each], ["links"]))) for each in (full, none))
    assert mine == yours


def test_a_given_layer_that_is_missing_is_an_error(model):
    with pytest.raises(LayerError, match="main"):
        list(model.annotate([Document("add water")], ["links"]))


def test_an_unknown_task_is_an_error_with_the_choices(model):
    with pytest.raises(NameNotFound, match="steps"):
        list(model.annotate([Document("add water")], ["step"]))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def quiet(model):
    """A copy that finds no relations, though it looks for them, and fewer spans."""
    network = copy.deepcopy(model.network)
    head = network.heads["steps"]
    with torch.no_grad():
        head.pairs.output.labels.bias[0] += 1000
        head.spans.output.labels.bias[0] += 5
    return replace(model, network=network)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        " ".join(random.Random(1).choices(tiny.WORDS, k=10_000)),
        "x" * 1_000_000,
        "".join(random.Random(1).choices("abx12.", k=20_000)),
    ],
    ids=["ten thousand words", "a megabyte of one word", "no blanks"],
)
def test_monstrous_sentences_pass_with_bounded_memory(model, text):
    before = peak()
    document = next(quiet(model).annotate([Document(text)], ["steps"]))
    assert document.text == text
    assert all(span.end <= len(text) for span in document["steps"].spans)
    assert peak() - before < 1_500  # MiB
