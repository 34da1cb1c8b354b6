"""Another loss, pruner or decoder of a span-relation task is one argument."""

from dataclasses import replace

import pytest
import torch
from sample_batches import head_of, lay, learn, make, predict, vectors_of

from spanloom.nn.candidates import Pruner
from spanloom.nn.losses import HeadSelectionLoss, all_spans_loss
from spanloom.nn.pair_generator import PairGenerator
from spanloom.nn.span_decoding import SelectedHeads
from spanloom.tasks import load

KIND = load("relations")


def _task(decoder=None, **parts):
    task = make(KIND, [KIND.example], hidden_size=16, dropout=0.0)
    decoder = task.decoder if decoder is None else replace(task.decoder, relate=decoder)
    return replace(task, parts=replace(task.parts, **parts), decoder=decoder)


def double_spans_loss(spans, target):
    return 2 * all_spans_loss(spans, target)


def _losses(task):
    laid, head = lay(task, [KIND.example]), head_of(KIND, task)
    losses = task.loss(head, vectors_of(KIND, laid), laid.batch, laid.targets)
    return {name: loss.item() for name, loss in losses.items()}


def test_another_span_loss_is_one_argument():
    plain, doubled = _losses(_task()), _losses(_task(span_loss=double_spans_loss))
    assert doubled["span"] == pytest.approx(2 * plain["span"])
    assert doubled["relation"] == plain["relation"]


@pytest.mark.parametrize(
    "part",
    [
        {"pair_loss": HeadSelectionLoss(dummy=True)},
        {"pruner": Pruner(spans_per_sentence=9)},
        {"pair_generator": PairGenerator(self_pairs=True)},
    ],
    ids=lambda part: next(iter(part)),
)
def test_parts_of_pairs_change_the_pair_loss_alone(part):
    plain, changed = _losses(_task()), _losses(_task(**part))
    assert changed["span"] == plain["span"]
    assert changed["relation"] != plain["relation"]


def test_another_loss_with_its_decoder_is_learnt_by_heart():
    task = _task(SelectedHeads(), pair_loss=HeadSelectionLoss(dummy=True))
    laid, head = lay(task, [KIND.example]), head_of(KIND, task)
    vectors = vectors_of(KIND, laid)
    learn(task, head, vectors, laid)
    found = predict(task, head, laid, [KIND.example], vectors)
    assert set(task.metrics(task.compute_metrics([KIND.example], found)).values()) == {1.0}


def test_a_head_has_the_weights_that_its_parts_ask_for_and_in_their_order():
    task = make(KIND, [KIND.example], hidden_size=16, coarse_spans_per_word=2.0)
    names = [name.split(".")[0] for name in head_of(KIND, task).state_dict()]
    assert list(dict.fromkeys(names)) == ["attention", "spans", "pairs", "coarse_scorer"]
    assert torch.equal(*(head_of(KIND, task).coarse_scorer.linear.words.weight for _ in range(2)))
