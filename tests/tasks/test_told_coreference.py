"""Coreference with what is told beside words: speakers, genre, gold mentions."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from sample_batches import head_of, lay, learn, make, predict, vectors_of

from spanloom.document import Attribute, Document, Layer, Relation, Span
from spanloom.tasks import load

KIND = load("coreference")
TEXT = "I saw I .\nI saw I ."
SPANS = tuple(
    Span(f"T{n}", "mention", ((a, a + 1),)) for n, a in enumerate((0, 6, 10, 16), start=1)
)


def _document(name, first, second):
    """Two sentences by two speakers; whoever says "I" means themselves."""
    links = [(3, 1), (4, 2)] if first == second else [(2, 1), (4, 3)]
    said = Layer(
        "sentences",
        (Span("T801", "sentence", ((0, 9),)), Span("T901", "sentence", ((10, 19),))),
        attributes=(
            Attribute("A1", "speaker", "T801", first),
            Attribute("A2", "speaker", "T901", second),
        ),
    )
    relations = tuple(
        Relation(f"R{n}", "coref", f"T{a}", f"T{b}") for n, (a, b) in enumerate(links, start=1)
    )
    return Document(TEXT, (Layer("main", SPANS, relations), said), name)


ALONE, TOGETHER = _document("a_x", "Ada", "Bob"), _document("a_y", "Ada", "Ada")


def test_speakers_are_read_where_train_tells_them_and_asked_for():
    assert make(KIND, [ALONE]).use_speakers
    assert not make(KIND, [ALONE], speakers=False).use_speakers
    assert not make(KIND, [KIND.example]).use_speakers


def test_genres_are_parts_of_the_names_of_train():
    task = make(KIND, [ALONE, replace(TOGETHER, name="b_y")], genre_field=0)
    assert task.genres == ("a", "b")
    laid = lay(task, [ALONE, replace(TOGETHER, name="b_y"), replace(ALONE, name="c_z")])
    assert laid.targets.features.genre_ids.tolist() == [1] * 8 + [2] * 8 + [0] * 8


def test_voices_are_numbers_within_a_document():
    laid = lay(make(KIND, [ALONE]), [ALONE, TOGETHER])
    assert laid.targets.features.speaker_ids.tolist() == [1] * 4 + [2] * 4 + [1] * 8


@torch.no_grad()
def test_who_speaks_changes_what_a_pair_scores():
    task = make(KIND, [ALONE], hidden_size=16, dropout=0.0)
    laid, head = lay(task, [ALONE]), head_of(KIND, task)
    vectors = vectors_of(KIND, laid)
    bounds, pairs = torch.tensor([[0, 1], [4, 5]]), torch.tensor([[0, 1]])
    types = torch.tensor([[0.0, 1.0], [0.0, 1.0]])
    one = task.span_inputs(head, vectors, laid.batch, laid.targets)
    same = replace(one, features=replace(one.features, speaker_ids=torch.ones(8, dtype=torch.long)))
    nobody = replace(
        one, features=replace(one.features, speaker_ids=torch.zeros(8, dtype=torch.long))
    )
    scores = [head.pair_scorer(view, bounds, types)(pairs) for view in (one, same, nobody)]
    pairs_of = [(0, 1), (0, 2), (1, 2)]
    assert all(not torch.allclose(scores[a], scores[b]) for a, b in pairs_of)


def test_gold_mentions_are_given_without_their_links_and_are_all_kept():
    task = make(KIND, [ALONE], gold_mentions=True, hidden_size=16, dropout=0.0)
    bared = task.without_gold(ALONE)
    assert bared["main"].spans == ALONE["main"].spans
    assert bared["main"].relations == ()
    laid, head = lay(task, [ALONE]), head_of(KIND, task)
    assert (
        tuple(learn(task, head, vectors_of(KIND, laid), laid)) == task.loss_names == ("relation",)
    )
    laid = lay(task, [bared])
    found = predict(task, head, laid, [bared], vectors_of(KIND, laid))
    assert task.metrics(task.compute_metrics([ALONE], found))["conll_f1"] == 1.0
    assert task.metrics(task.compute_metrics([ALONE], found))["span_f1"] == 1.0


@pytest.mark.parametrize("seed", range(10))
def test_predicted_mentions_never_cross(seed):
    task = make(KIND, [ALONE], max_span_width=4, spans_per_word=2.0, hidden_size=16, dropout=0.0)
    laid, head = lay(task, [ALONE]), head_of(KIND, task, seed)
    layer = predict(task, head, laid, [ALONE], vectors_of(KIND, laid))[0]["main"]
    places = [(span.start, span.end) for span in layer.spans]
    crossing = [(a, b) for a in places for b in places if a[0] < b[0] < a[1] < b[1]]
    assert crossing == []


@pytest.mark.parametrize("antecedents", ["nearest", "coarse"])
def test_antecedents_out_of_reach_of_the_nearest_are_found_by_the_coarse_search(antecedents):
    """Three names return after 57 other words, 24 of which are kept as mentions."""
    names = ["".join(letters) for letters in product("bdfgkl", "aeiou", "nt")]
    words = [*names, *names[:3]]
    text = " ".join(words) + " ."
    starts = [sum(len(word) + 1 for word in words[:row]) for row in (0, 1, 2, 60, 61, 62)]
    spans = tuple(
        Span(f"T{row}", "mention", ((start, start + 3),)) for row, start in enumerate(starts, 1)
    )
    links = tuple(Relation(f"R{row}", "coref", f"T{row + 3}", f"T{row}") for row in (1, 2, 3))
    gold = Document(text, (Layer("main", spans, links),), "book")
    options = {"hidden_size": 16, "dropout": 0.0, "max_span_width": 1, "max_antecedents": 5}
    task = make(KIND, [gold], antecedents=antecedents, **options)
    laid, head = lay(task, [gold]), head_of(KIND, task)
    vectors = vectors_of(KIND, laid)
    learn(task, head, vectors, laid)
    (found,) = predict(task, head, laid, [gold], vectors)
    linked = [{relation.head, relation.tail} for relation in found["main"].relations]
    assert len(linked) == (3 if antecedents == "coarse" else 0)


def test_chains_are_learnt_and_found_with_mentions_that_read_their_antecedents():
    task = make(KIND, [ALONE], inference_order=2, hidden_size=16, dropout=0.0)
    laid, head = lay(task, [ALONE]), head_of(KIND, task)
    vectors = vectors_of(KIND, laid)
    learn(task, head, vectors, laid)
    assert head.refinement.gate.weight.grad.abs().sum() > 0
    (found,) = predict(task, head, laid, [ALONE], vectors)
    assert found.has_layer("main")


def test_other_pair_scorers_have_no_vectors_that_could_be_refined():
    with pytest.raises(ValueError, match="inference_order 2 needs pair_scorer: projected"):
        make(KIND, [ALONE], inference_order=2, pair_scorer="spanrel")


def test_a_model_that_finds_mentions_can_be_given_them_when_it_is_scored():
    task = make(KIND, [ALONE], hidden_size=16, dropout=0.0, add_mention_scores=True)
    told = task.with_gold_inputs()
    assert (task.inputs, told.inputs) == ((), ("main",))
    assert told.without_gold(ALONE)["main"] == Layer("main", SPANS)  # mentions, and no link
    assert task.without_gold(ALONE).layers == ALONE.unannotated(()).layers
    laid, head = lay(task, [ALONE]), head_of(KIND, task)
    vectors = vectors_of(KIND, laid)
    with torch.no_grad():
        inputs = told.span_inputs(head, vectors, laid.batch, laid.targets)
        spans, links = told.decoder(head, inputs, laid.targets)
        bounds = [tuple(pair) for pair in laid.targets.bounds.tolist()]
        # links are those between all mentions, each scored as the head scores spans it finds itself
        index = head.candidates.index(laid.targets.bounds, laid.batch.sentences)
        types = head.score_spans(inputs)[index, : head.spans.labels].softmax(-1)
        score = head.pair_scorer(inputs, laid.targets.bounds, types)
        chosen = set()
        for tail in range(1, len(bounds)):
            pairs = torch.tensor([(earlier, tail) for earlier in range(tail)])
            margin = score(pairs)[:, 1] - score(pairs)[:, 0]
            if margin.max() > 0:
                chosen.add((bounds[int(margin.argmax())], bounds[tail]))
    named = [tuple(pair) for pair in spans.bounds.tolist()]
    assert {(named[tail], named[head_]) for head_, tail in links.pairs.tolist()} == chosen
    assert named == bounds  # those without a link, too
