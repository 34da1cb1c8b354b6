"""The CRF, against every path of small chains and torch's own gradients."""

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spanloom.decoding.crf import LinearChain, log_partition, marginals, path_score, viterbi

FORBID = (-math.inf, -1e4)


def draw(lengths, tags, *, seed=0, spread=1.0, dtype=torch.double):
    """Random scores; the padding holds NaN, which nothing may read."""
    source = torch.Generator().manual_seed(seed)

    def scores(*shape):
        return torch.randn(*shape, generator=source, dtype=dtype) * spread

    lengths = torch.tensor(lengths)
    emissions = scores(len(lengths), max(1, int(lengths.max())), tags)
    chain = LinearChain(emissions, lengths, scores(tags, tags), scores(tags), scores(tags))
    return replace(chain, emissions=emissions.masked_fill(~chain.word_mask()[:, :, None], math.nan))


def forbid(chain, value, seed):
    """Forbid about a third of the moves, first tags and last tags; tag 0 stays free."""
    source = torch.Generator().manual_seed(seed)
    parts = {}
    for name in ("transitions", "starts", "ends"):
        scores = getattr(chain, name)
        gone = torch.rand(scores.shape, generator=source) < 0.35
        gone[..., 0] = False
        parts[name] = scores.masked_fill(gone, value)
    return replace(chain, **parts)


def sum_path(chain, row, path):
    """Add up one path, one number at a time."""
    if not path:
        return 0.0
    total = float(chain.starts[path[0]]) + float(chain.ends[path[-1]])
    total += sum(float(chain.emissions[row, word, tag]) for word, tag in enumerate(path))
    return total + sum(float(chain.transitions[a, b]) for a, b in zip(path, path[1:], strict=False))


def log_space_partition(chain):
    """Sum over all paths by logsumexp, one sequence and one word at a time, with its gradient."""

    def finite(scores):
        return scores.clamp(min=-1e8)  # minus infinity has no gradient here

    totals = []
    for row, length in enumerate(chain.lengths.tolist()):
        state = finite(chain.starts)
        for word in range(length):
            if word:
                state = torch.logsumexp(state[:, None] + finite(chain.transitions), 0)
            state = state + finite(chain.emissions[row, word])
        total = torch.logsumexp(state + finite(chain.ends), 0)
        totals.append(total if length else torch.zeros_like(total))
    return torch.stack(totals)


def paths(chain, row):
    """Every path of a sequence, with its score."""
    tags = range(len(chain.starts))
    all_paths = product(tags, repeat=int(chain.lengths[row]))
    return {path: sum_path(chain, row, path) for path in all_paths}


def slow(chain):
    """Partition and marginals of each sequence from the list of all its paths."""
    totals, chances = [], torch.zeros_like(chain.emissions)
    for row in range(len(chain.lengths)):
        all_paths = paths(chain, row)
        totals.append(torch.tensor(list(all_paths.values()), dtype=torch.double).logsumexp(0))
        for path, value in all_paths.items():
            for word, tag in enumerate(path):
                chances[row, word, tag] += math.exp(value - totals[-1])
    return torch.stack(totals), chances


CHAINS = st.builds(
    draw,
    st.lists(st.integers(0, 4), min_size=1, max_size=3).filter(any),
    st.integers(1, 3),
    seed=st.integers(0, 1000),
    spread=st.sampled_from([0.1, 1.0, 10.0]),
)


def check(chain):
    totals, chances = slow(chain)
    torch.testing.assert_close(log_partition(chain), totals, rtol=1e-9, atol=1e-8)
    torch.testing.assert_close(marginals(chain), chances, rtol=1e-6, atol=1e-9)
    tags, scores = viterbi(chain)
    torch.testing.assert_close(path_score(chain, tags), scores, rtol=1e-12, atol=1e-9)
    for row, length in enumerate(chain.lengths.tolist()):
        assert scores[row].item() == pytest.approx(max(paths(chain, row).values()), abs=1e-9)
        assert not tags[row, length:].any()


@pytest.mark.parametrize("tags", [1, 2, 3, 4])
@pytest.mark.parametrize("lengths", [[5], [1], [2, 5, 1, 4], [0, 3, 0, 5]])
def test_all_four_agree_with_the_list_of_all_paths(lengths, tags):
    check(draw(lengths, tags))


@given(chain=CHAINS)
def test_any_small_chain(chain):
    check(chain)


@pytest.mark.parametrize("value", FORBID)
@given(chain=CHAINS, seed=st.integers(0, 1000))
def test_what_is_forbidden_has_no_share(value, chain, seed):
    check(forbid(chain, value, seed))


@given(chain=CHAINS, seed=st.integers(0, 1000))
def test_path_scores_are_sums(chain, seed):
    source = torch.Generator().manual_seed(seed)
    shape = chain.emissions.shape
    tags = torch.randint(shape[2], shape[:2], generator=source)
    rows = enumerate(chain.lengths.tolist())
    expected = [sum_path(chain, row, tags[row, :length].tolist()) for row, length in rows]
    tags = tags.masked_fill(~chain.word_mask(), -7)
    assert path_score(chain, tags).tolist() == pytest.approx(expected, abs=1e-9)


def leaves(chain):
    """Scores without NaN that ask for gradients."""
    parts = (chain.emissions.nan_to_num(), chain.transitions, chain.starts, chain.ends)
    return [part.clone().requires_grad_() for part in parts]


@pytest.mark.parametrize("spread", [1.0, 400.0])
@pytest.mark.parametrize("lengths", [[4], [1], [3, 1, 4, 2], [2, 0, 1]])
def test_gradients_are_those_of_finite_differences(lengths, spread):
    chain = draw(lengths, 3, spread=spread)
    tags = torch.randint(3, chain.emissions.shape[:2])

    def both(emissions, *rest):
        changed = LinearChain(emissions, chain.lengths, *rest)
        return log_partition(changed), path_score(changed, tags)

    # far apart, one path takes all, so that values are large and differences round off
    loose = {"atol": 1e-4, "rtol": 1e-2} if spread > 1 else {}
    assert torch.autograd.gradcheck(both, leaves(chain), **loose)


@pytest.mark.parametrize("value", FORBID)
def test_gradients_beside_forbidden_scores_are_those_of_the_plain_sum(value):
    chain = forbid(draw([4, 2, 1, 3], 4), value, 3)
    weight = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.double)
    fast, plain = leaves(chain), leaves(chain)
    (log_partition(LinearChain(fast[0], chain.lengths, *fast[1:])) * weight).sum().backward()
    (
        log_space_partition(LinearChain(plain[0], chain.lengths, *plain[1:])) * weight
    ).sum().backward()
    for one, two in zip(fast, plain, strict=True):
        torch.testing.assert_close(one.grad, two.grad)


def test_a_chain_that_no_path_fits_has_no_sum_and_no_gradient():
    chain = draw([3, 2], 2)
    chain = replace(chain, transitions=torch.full_like(chain.transitions, -math.inf))
    emissions, *rest = leaves(chain)
    total = log_partition(LinearChain(emissions, chain.lengths, *rest))
    assert total.tolist() == [-math.inf] * 2
    total.sum().backward()
    assert not any(part.grad.any() for part in (emissions, *rest))
    assert not marginals(chain).any()
    assert viterbi(chain)[1].tolist() == [-math.inf] * 2


def test_a_forbidden_move_that_cannot_be_avoided_is_paid_for():
    chain = draw([3, 1, 2], 2)
    check(replace(chain, transitions=chain.transitions - 1e4))


def test_a_path_that_starts_a_thousand_behind_and_wins_is_found():
    """Tag 1 is only reached from tag 1, and falls behind before its last word pays."""
    emissions = torch.tensor([[[0.0, -1000.0], [0.0, 0.0], [0.0, 1500.0]]], dtype=torch.double)
    moves = torch.tensor([[0.0, -math.inf], [0.0, 0.0]], dtype=torch.double)
    edge = torch.zeros(2, dtype=torch.double)
    check(LinearChain(emissions, torch.tensor([3]), moves, edge, edge))
    assert viterbi(LinearChain(emissions, torch.tensor([3]), moves, edge, edge))[0].tolist() == [
        [1, 1, 1]
    ]


@pytest.mark.parametrize("shift", [-3000.0, 3000.0])
def test_scores_of_any_size_may_be_handed_in(shift):
    chain = draw([3, 1, 2], 3)
    check(replace(chain, emissions=chain.emissions + shift))


def test_single_precision_stays_single_and_close():
    chain = draw([200, 57, 1], 21, spread=3.0, dtype=torch.float)
    double = LinearChain(
        chain.emissions.double(),
        chain.lengths,
        *(part.double() for part in (chain.transitions, chain.starts, chain.ends)),
    )
    total = log_partition(chain)
    assert (total.dtype, marginals(chain).dtype, viterbi(chain)[1].dtype) == (torch.float,) * 3
    torch.testing.assert_close(total.double(), log_space_partition(double), rtol=1e-6, atol=1e-4)
    emissions = double.emissions.clone().requires_grad_()
    log_space_partition(replace(double, emissions=emissions)).sum().backward()
    torch.testing.assert_close(marginals(chain).double(), emissions.grad, atol=1e-6, rtol=0)


@pytest.mark.parametrize("value", FORBID)
def test_scores_as_models_give_them_need_no_logarithms(value, monkeypatch):
    """The quick way is exact here, and taken: spans of 40 kinds in BIO tags, far apart in score."""
    chain = draw([200, 57, 1], 81, spread=15.0, dtype=torch.float)
    inside = torch.arange(2, 81, 2)
    moves = chain.transitions.clone()
    kept = torch.stack([moves[inside, inside], moves[inside - 1, inside]])
    moves[:, inside] = value
    moves[inside, inside], moves[inside - 1, inside] = kept
    chain = replace(chain, transitions=moves, starts=chain.starts.index_fill(0, inside, value))
    scores = (chain.emissions, chain.transitions, chain.starts, chain.ends)
    emissions, *others = (part.double() for part in scores)
    expected = log_space_partition(LinearChain(emissions, chain.lengths, *others)).float()
    monkeypatch.setattr(torch, "logsumexp", None)
    torch.testing.assert_close(log_partition(chain), expected, rtol=1e-6, atol=1e-4)


def test_order_and_company_change_nothing():
    chain = draw([3, 7, 1, 7, 5], 4)
    turn = torch.tensor([4, 2, 0, 3, 1])
    other = replace(chain, emissions=chain.emissions[turn], lengths=chain.lengths[turn])
    torch.testing.assert_close(log_partition(other), log_partition(chain)[turn])
    torch.testing.assert_close(marginals(other), marginals(chain)[turn])
    assert viterbi(other)[0].equal(viterbi(chain)[0][turn])
    alone = replace(chain, emissions=chain.emissions[:1], lengths=chain.lengths[:1])
    torch.testing.assert_close(log_partition(alone), log_partition(chain)[:1])


def test_sequences_decoded_in_several_chunks_have_the_paths_they_have_alone():
    chain = draw([3, 7, 1, 7, 5], 300)  # so many tags that a chunk has two sequences
    tags, scores = viterbi(chain)
    for row, length in enumerate(chain.lengths.tolist()):
        emissions, lengths = chain.emissions[row : row + 1, :length], chain.lengths[row : row + 1]
        path, score = viterbi(replace(chain, emissions=emissions, lengths=lengths))
        assert path[0].tolist() == tags[row, :length].tolist()
        assert score.tolist() == [float(scores[row])]


@pytest.mark.parametrize("spread", [1.0, 2000.0])
def test_marginals_are_there_where_gradients_are_off(spread):
    chain = draw([4, 2], 3, spread=spread)
    expected = marginals(chain)
    with torch.inference_mode():
        inside = marginals(replace(chain, emissions=chain.emissions * 1))
    torch.testing.assert_close(inside, expected)


def test_only_empty_sequences():
    chain = draw([0, 0], 3)
    assert log_partition(chain).tolist() == [0, 0]
    assert not marginals(chain).any()
    assert viterbi(chain)[1].tolist() == [0, 0]
