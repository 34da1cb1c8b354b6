"""The extract head against sums over every row, and against BERT's own question answering."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig, BertForQuestionAnswering

from spanloom.nn.classifier import TextClassifier
from spanloom.nn.regressor import TextRegressor
from spanloom.nn.start_end import StartEndScorer

DIM = 6
UNITS = st.lists(st.integers(0, 4), min_size=1, max_size=4)  # words of each unit


def bounds(sizes):
    ends = torch.tensor(sizes).cumsum(0)
    return torch.stack([ends - torch.tensor(sizes), ends], dim=1)


def made(sizes, seed=0):
    """A head, words and openings, all random."""
    torch.manual_seed(seed)
    words, openings = torch.randn(sum(sizes), DIM), torch.randn(len(sizes), DIM)
    return StartEndScorer(DIM, 0.0), words.requires_grad_(), openings.requires_grad_()


@pytest.mark.parametrize("head", ["answers", "classes", "numbers"])
def test_last_scores_are_not_rounded_to_bf16(head):
    """Rounded ones would have ties: texts of one number, words of one score."""
    torch.manual_seed(0)
    vectors = torch.randn(500, DIM)
    if head == "answers":
        part, inputs = StartEndScorer(DIM, 0.0), (vectors, vectors[:1])
    elif head == "classes":
        part, inputs = TextClassifier(DIM, num_labels=3, dropout=0.0), (vectors,)
    else:
        part, inputs = TextRegressor(DIM, dropout=0.0), (vectors,)
        torch.nn.init.normal_(part.score.weight)
    exact = part(*inputs)
    with torch.autocast("cpu", torch.bfloat16):
        assert part(*inputs).equal(exact)


@st.composite
def cases(draw):
    """Sizes of units, and right answers: first row, last row, unit."""
    sizes = draw(UNITS)
    answers = set()
    for unit, (start, end) in enumerate(bounds(sizes).tolist()):
        rows = st.sampled_from([*range(start, end), sum(sizes) + unit])
        answers |= {(*pair, unit) for pair in draw(st.sets(st.tuples(rows, rows), max_size=3))}
    return sizes, torch.tensor(sorted(answers), dtype=torch.long).view(-1, 3)


def expected_loss(scores, sizes, answers, *, has_no_answer):
    """The loss by sums over every start and every end."""
    total = 0.0
    for unit, (a, b) in enumerate(bounds(sizes).tolist()):
        rows = [*range(a, b), *([sum(sizes) + unit] if has_no_answer else [])]
        right = {(first, last) for first, last, own in answers if own == unit}
        right &= {(first, last) for first in rows for last in rows}
        starts, ends = ({row: math.exp(scores[row][c]) for row in rows} for c in (0, 1))
        if right:
            mass = sum(starts[first] * ends[last] for first, last in right)
            total -= math.log(mass / sum(starts.values()) / sum(ends.values()))
    return total


@pytest.mark.parametrize("has_no_answer", [True, False])
@given(cases(), st.integers(0, 9))
def test_the_loss_is_that_of_each_unit_by_itself(has_no_answer, case, seed):
    sizes, answers = case
    head, words, openings = made(sizes, seed)
    losses = head.loss(words, openings, bounds(sizes), answers, has_no_answer=has_no_answer)
    scores = head(words, openings).tolist()
    expected = expected_loss(scores, sizes, answers.tolist(), has_no_answer=has_no_answer)
    assert losses["span"].item() == pytest.approx(expected, abs=1e-4)
    losses["span"].backward()
    for each in (words, openings, head.score.weight):
        assert torch.isfinite(each.grad).all()


def test_the_start_of_one_answer_and_the_end_of_another_are_no_answer():
    words = torch.tensor([[9.0, 0, 0, 0], [0, 9.0, 0, 0], [0, 0, 9.0, 0]])
    head = StartEndScorer(4, 0.0)
    head.score.weight.data = torch.tensor([[1.0, 0, -1, 0], [-1, 0, 1, 0]])  # from 0 to 2
    answers = torch.tensor([[0, 0, 0], [2, 2, 0]])
    loss = head.loss(words, torch.zeros(1, 4), bounds([3]), answers, has_no_answer=False)["span"]
    assert loss.item() > 8


def test_scores_and_loss_are_those_of_berts_own_head():
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=20,
        hidden_size=DIM,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        max_position_embeddings=12,
    )
    bert = BertForQuestionAnswering(config).eval()
    torch.nn.init.normal_(bert.qa_outputs.weight)
    torch.nn.init.normal_(bert.qa_outputs.bias)  # the same for every piece: it changes no loss
    ids, starts, ends = torch.randint(0, 20, (2, 5)), torch.tensor([2, 0]), torch.tensor([4, 0])
    theirs = bert(input_ids=ids, start_positions=starts, end_positions=ends)
    hidden = bert.bert(input_ids=ids).last_hidden_state
    head = StartEndScorer(DIM, 0.0)
    head.score.weight.data = bert.qa_outputs.weight.data
    openings, words = hidden[:, 0], hidden[:, 1:].flatten(0, 1)  # [CLS], and all that follows
    right = torch.tensor([[1, 3, 0], [9, 9, 1]])  # the second has no answer
    losses = head.loss(words, openings, bounds([4, 4]), right)
    mean = sum(losses.values()) / 4  # two units, starts and ends
    torch.testing.assert_close(mean, theirs.loss)
    scores = torch.stack([theirs.start_logits, theirs.end_logits], -1) - bert.qa_outputs.bias
    ours = head(words, openings)
    torch.testing.assert_close(ours[:8].view(2, 4, 2), scores[:, 1:])
    torch.testing.assert_close(ours[8:], scores[:, 0])


@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_scores_far_apart_make_a_large_loss_and_a_gradient(scale):
    head, words, openings = made([3])
    first, last = head(words, openings).argmin(0).tolist()
    right = torch.tensor([[first, last, 0]])
    loss = head.loss(words * scale, openings * scale, bounds([3]), right)["span"]
    spread = head(words * scale, openings * scale)
    assert loss.item() == pytest.approx((spread.amax(0) - spread.amin(0)).sum().item(), rel=1e-4)
    loss.backward()
    assert words.grad.abs().sum() > 0


def test_units_without_a_right_row_teach_nothing():
    head, words, openings = made([2, 3])
    losses = head.loss(words, openings, bounds([2, 3]), torch.zeros(0, 3, dtype=torch.long))
    for loss in losses.values():
        assert loss.item() == 0.0
        loss.backward(retain_graph=True)
    assert not words.grad.any()


def test_there_are_two_vectors_and_nothing_else():
    assert [tuple(each.shape) for each in StartEndScorer(DIM, 0.5).parameters()] == [(2, DIM)]


def test_half_precision_is_summed_in_full():
    head, words, openings = made([4, 2])
    right = torch.tensor([[1, 1, 0], [7, 7, 1]])
    exact = head.loss(words, openings, bounds([4, 2]), right)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = head.loss(words, openings, bounds([4, 2]), right)
    for name, loss in rough.items():
        assert loss.dtype == torch.float32
        torch.testing.assert_close(loss, exact[name], rtol=0.05, atol=0.05)
