"""Masked pieces: against plain loops over windows, and against the distributions of the paper."""

from dataclasses import fields, replace
from itertools import accumulate, groupby, pairwise
from random import Random

import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanloom.data.masking import (
    SAMPLERS,
    MaskableText,
    Masking,
    PieceDistribution,
    mask_pieces,
)
from spanloom.data.span_sampling import WordLine
from spanloom.tensors import Batch

MASK, VOCABULARY, FIRST = 1500, 1000, 2000  # pieces of texts begin at FIRST: no random one is like
OPEN, CLOSE, PAD = 1001, 1002, 0

# a window: pieces that count elsewhere, pieces of each word, pieces that count elsewhere
FOREIGN = st.integers(0, 3)
SIZES = st.lists(st.integers(1, 4), max_size=30)
WINDOWS = st.lists(st.tuples(FOREIGN, SIZES, FOREIGN), min_size=1, max_size=4)
SCHEMES = st.sampled_from(sorted(SAMPLERS))


def batch(windows):
    """Lay words of the sizes given into windows between special pieces; every id is another."""
    widths = [before + sum(sizes) + after + 2 for before, sizes, after in windows]
    ids = torch.full((len(windows), max(widths)), PAD)
    rows, words, word = [], [], 0
    for window, (before, sizes, _) in enumerate(windows):
        text = FIRST + window * 10_000 + torch.arange(widths[window] - 2)
        edges = torch.tensor([OPEN]), torch.tensor([CLOSE])
        ids[window, : widths[window]] = torch.cat([edges[0], text, edges[1]])
        place = window * ids.shape[1] + 1 + before
        for size in sizes:
            rows += range(place, place + size)
            words += [word] * size
            place, word = place + size, word + 1
    every = torch.tensor([[0, word]])
    return Batch(
        words=("w",) * word,
        sentences=every,
        windows=every,
        instances=every,
        input_ids=ids,
        attention_mask=ids != PAD,
        piece_index=(places := torch.tensor(rows, dtype=torch.long)),
        piece_to_word=(owners := torch.tensor(words, dtype=torch.long)),
        position_to_word=tiny.placed(ids, places, owners),
    )


def text(words, seed=0):
    """One long window of words of one to three pieces."""
    torch.manual_seed(seed)
    return batch([(0, torch.randint(1, 4, (words,)).tolist(), 0)])


ANY = PieceDistribution.of(torch.ones(VOCABULARY), ())


def draw(one, how, seed, spans=()):
    texts = [MaskableText(len(one.words), str(seed), spans)]
    masked, targets, num_masked = mask_pieces(one, how, texts, piece=MASK, random_pieces=ANY)
    assert num_masked.tolist() == [len(targets.rows)]
    return masked, targets


def stretches(rows):
    """Runs of neighbouring places, as lists."""
    runs = groupby(enumerate(rows), lambda pair: pair[1] - pair[0])
    return [[row for _, row in run] for _, run in runs]


def word_of(one):
    return dict(zip(one.piece_index.tolist(), one.piece_to_word.tolist(), strict=True))


def lengths(one, targets):
    """Words of each masked stretch."""
    words = word_of(one)
    return [len({words[row] for row in run}) for run in stretches(targets.rows.tolist())]


@settings(max_examples=150)
@given(windows=WINDOWS, scheme=SCHEMES, seed=st.integers(0, 10**6), rate=st.floats(0, 1))
def test_what_is_masked_is_told_and_nothing_else_changes(windows, scheme, seed, rate):
    one = batch(windows)
    masked, targets = draw(one, Masking(mlm_probability=rate, scheme=scheme), seed)
    old, new = one.input_ids.flatten().tolist(), masked.input_ids.flatten().tolist()
    rows = targets.rows.tolist()
    assert sorted(set(rows)) == rows
    assert set(rows) <= set(one.piece_index.tolist())
    assert bool(rows) == bool(one.words)
    assert targets.labels.tolist() == [old[row] for row in rows]
    kept = set(range(len(old))) - set(rows)
    assert [new[row] for row in kept] == [old[row] for row in kept]
    assert one.input_ids.flatten().tolist() == old
    for field in fields(Batch):
        if field.name != "input_ids":
            assert getattr(masked, field.name) is getattr(one, field.name)


@settings(max_examples=150)
@given(windows=WINDOWS, scheme=SCHEMES, seed=st.integers(0, 10**6), rate=st.floats(0, 1))
def test_boundaries_are_the_nearest_pieces_that_are_not_masked(windows, scheme, seed, rate):
    one = batch(windows)
    _, targets = draw(one, Masking(mlm_probability=rate, scheme=scheme), seed)
    rows, seq = targets.rows.tolist(), one.input_ids.shape[1]
    sides = zip(rows, targets.left.tolist(), targets.right.tolist(), strict=True)
    for (row, left, right), place in zip(sides, targets.span_position.tolist(), strict=True):
        a, b = row, row
        while a in rows:
            a -= 1
        while b in rows:
            b += 1
        assert (left, right, place) == (a, b, row - a - 1)
        assert a // seq == row // seq == b // seq
        assert one.attention_mask.flatten()[[a, b]].all()


@settings(max_examples=150)
@given(windows=WINDOWS, scheme=SCHEMES, seed=st.integers(0, 10**6), longest=st.integers(1, 12))
def test_words_are_masked_whole_and_spans_are_no_longer_than_said(windows, scheme, seed, longest):
    one = batch(windows)
    how = Masking(mlm_probability=0.4, max_span_length=longest, scheme=scheme)
    masked, targets = draw(one, how, seed)
    words, rows = word_of(one), set(targets.rows.tolist())
    if scheme != "subword":
        hidden = {words[row] for row in rows}
        assert rows == {row for row, word in words.items() if word in hidden}
    if scheme == "span":
        assert max(lengths(one, targets), default=0) <= longest


@pytest.mark.parametrize("scheme", sorted(SAMPLERS))
@pytest.mark.parametrize("words", [40, 400])
def test_the_share_of_masked_pieces_is_the_rate(scheme, words):
    one = text(words)
    how = Masking(mlm_probability=0.15, scheme=scheme)
    shares = torch.tensor(
        [len(draw(one, how, seed)[1].rows) / len(one.piece_index) for seed in range(300)]
    )
    error = float(shares.std()) / len(shares) ** 0.5
    assert abs(float(shares.mean()) - 0.15) < 4 * error + 0.0005


@pytest.mark.parametrize(
    ("p", "longest", "mean"), [(0.2, 10, 3.8), (0.4, 10, None), (0.2, 3, None)]
)
def test_lengths_follow_the_clipped_geometric_distribution(p, longest, mean):
    one, q = text(4000), 1 - p
    how = Masking(geometric_p=p, max_span_length=longest)
    found = [length for seed in range(12) for length in lengths(one, draw(one, how, seed)[1])]
    share = torch.bincount(torch.tensor(found), minlength=longest + 1)[1:] / len(found)
    expected = torch.tensor([p * q**k / (1 - q**longest) for k in range(longest)])
    assert (share - expected).abs().max() < 4 * (0.25 / len(found)) ** 0.5
    closed = 1 / p - longest * q**longest / (1 - q**longest)
    assert abs(sum(found) / len(found) - closed) < 4 * 3 / len(found) ** 0.5
    if mean is not None:
        assert round(closed, 1) == mean


def test_every_word_far_from_an_edge_is_masked_as_often():
    one = batch([(0, [1] * 60, 0)])
    hits = torch.zeros(60)
    for seed in range(1500):
        hits[draw(one, Masking(), seed)[1].rows - 1] += 1
    middle = hits[15:45] / 1500
    assert (middle - middle.mean()).abs().max() < 4.5 * (0.16 * 0.84 / 1500) ** 0.5


@pytest.mark.parametrize("scheme", sorted(SAMPLERS))
def test_a_portion_is_replaced_drawn_or_kept_as_a_whole(scheme):
    one, words = text(3000), word_of(text(3000))
    portion = {"span": None, "subword": lambda row: row}.get(scheme, words.get)
    fates = []
    for seed in range(6):
        masked, targets = draw(one, Masking(scheme=scheme), seed)
        new = masked.input_ids.flatten()[targets.rows]
        fate = torch.where(new == MASK, 0, torch.where(new < VOCABULARY, 1, 2)).tolist()
        rows, stretch = targets.rows.tolist(), targets.left.tolist()
        keys = stretch if portion is None else list(map(portion, rows))
        for _, group in groupby(zip(keys, fate, strict=True), lambda pair: pair[0]):
            (same,) = {index for _, index in group}
            fates.append(same)
        assert new[torch.tensor(fate) == 2].equal(targets.labels[torch.tensor(fate) == 2])
        assert len(new[torch.tensor(fate) == 1].unique()) > 10
    share = torch.bincount(torch.tensor(fates), minlength=3) / len(fates)
    spread = 4 * (0.16 / len(fates)) ** 0.5
    assert (share - torch.tensor([0.8, 0.1, 0.1])).abs().max() < spread


@pytest.mark.parametrize("scheme", sorted(SAMPLERS))
def test_the_seed_decides_the_masks(scheme):
    one, how = text(200), Masking(scheme=scheme)
    masks = [draw(one, how, seed) for seed in (1, 1, 2)]
    for field in fields(type(masks[0][1])):
        assert getattr(masks[0][1], field.name).equal(getattr(masks[1][1], field.name))
    assert masks[0][0].input_ids.equal(masks[1][0].input_ids)
    assert not masks[0][0].input_ids.equal(masks[2][0].input_ids)


@settings(max_examples=100)
@given(windows=WINDOWS, scheme=SCHEMES, seed=st.integers(0, 10**6), rate=st.floats(0.05, 1))
def test_the_budget_is_never_passed_and_filled_as_far_as_portions_fit(windows, scheme, seed, rate):
    one = batch(windows)
    _, targets = draw(one, Masking(mlm_probability=rate, scheme=scheme), seed)
    words, rows = word_of(one), set(targets.rows.tolist())
    sizes = {w: [*words.values()].count(w) for w in words.values()}
    budget = max(1, int(rate * len(words)) + 1)
    if words:
        assert len(rows) <= max(budget, min(sizes.values(), default=0)) or len(rows) == max(
            size for word, size in sizes.items() if word in {words[row] for row in rows}
        )
    if scheme in ("whole-word", "layer"):
        free = [size for word, size in sizes.items() if word not in {words[r] for r in rows}]
        assert min(free, default=budget) + len(rows) >= int(rate * len(words))


def test_annotated_spans_are_half_of_the_portions():
    one = batch([(0, [1] * 400, 0)])
    spans = [(first, first + 3) for first in range(0, 400, 4)]
    num_spans = num_words = 0
    for seed in range(100):
        rows = draw(one, Masking(scheme="layer"), seed, spans)[1].rows.tolist()
        covered = [span for span in spans if all(i + 1 in rows for i in range(*span))]
        num_spans += len(covered)
        num_words += len(rows) - 3 * len(covered)
    share = num_spans / (num_spans + num_words)
    # words of spans are single portions, too, and the last span of a text may not fit
    assert abs(share - 0.5) < 4 * 0.5 / (num_spans + num_words) ** 0.5 + 0.02


def test_overlong_spans_and_those_used_up_leave_single_words():
    one = batch([(0, [1] * 20, 0)])
    for spans in ((), [(0, 20)], [(3, 4)]):
        rows = draw(one, Masking(mlm_probability=0.3, scheme="layer"), 1, spans)[1].rows
        assert len(rows) == 6


def test_random_pieces_follow_the_unigrams_and_are_never_special():
    weights = torch.tensor([5.0, 1.0, 0.0, 3.0, 90.0])
    torch.manual_seed(0)
    drawn = PieceDistribution.of(weights, {4}).at(torch.rand(20_000, dtype=torch.float64))
    share = torch.bincount(drawn, minlength=5) / 20_000
    expected = torch.tensor([5 / 9, 1 / 9, 0.0, 3 / 9, 0.0])
    assert (share - expected).abs().max() < 4 * 0.5 / 20_000**0.5
    assert not share[[2, 4]].any()
    unknown = PieceDistribution.of(torch.tensor([0.0, 0.0, 7.0]), {2}).at(
        torch.rand(1000, dtype=torch.float64)
    )
    assert set(unknown.tolist()) == {0, 1}


def test_where_room_is_rare_all_of_it_is_as_likely():
    """Only the first window's three words hold a span of two: at either end."""
    one, starts = batch([(0, [1] * 3, 0)] + [(0, [1], 0)] * 60), []
    for seed in range(600):
        _, targets = draw(
            one, Masking(mlm_probability=2 / 63, geometric_p=1e-6, max_span_length=2), seed
        )
        starts += [run[0] for run in stretches(targets.rows.tolist()) if len(run) == 2]
    assert set(starts) == {1, 2}
    assert abs(starts.count(1) / len(starts) - 0.5) < 4 * 0.5 / len(starts) ** 0.5


def spans_by_list(sizes, budget, weights, rng):
    """Draw spans as ``WordLine.fill`` does, with a list of free words; a gap has the size 0."""
    free, spans = [size > 0 for size in sizes], []
    lengths, num_redraws = [], 0
    while budget and any(free) and num_redraws < 32:
        lengths = lengths or rng.choices(range(1, 11), cum_weights=weights, k=16)
        length = lengths.pop()
        firsts = []
        while not firsts:
            firsts = [i for i in range(len(free)) if all((free + [False] * 10)[i : i + length])]
            length -= not firsts
        first = None
        while first not in firsts:
            first = int(rng.random() * len(sizes))
        if sum(sizes[first : first + length]) > budget:
            num_redraws += 1
            continue
        num_redraws = 0
        spans.append((first, first + length))
        budget -= sum(sizes[first : first + length])
        free[max(0, first - 1) : first + length + 1] = [False] * len(
            free[max(0, first - 1) : first + length + 1]
        )
    return spans


@settings(max_examples=200)
@given(
    runs=st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=30), min_size=1, max_size=3),
    share=st.floats(0.05, 1),
    seed=st.integers(0, 99),
)
def test_spans_are_drawn_as_from_a_list_of_free_words(runs, share, seed):
    sizes = [size for run in runs for size in (*run, 0)]
    ends = list(accumulate(sizes))
    start = [end - size if size else 0 for end, size in zip(ends, sizes, strict=True)]
    end = [end if size else 0 for end, size in zip(ends, sizes, strict=True)]
    free = sum(1 << i for i, size in enumerate(sizes) if size)
    weights, budget = [*accumulate(0.8**i for i in range(10))], max(1, int(share * ends[-1]))
    expected = spans_by_list(sizes, budget, weights, Random(seed))
    drawn = WordLine(start, end, free).fill(budget, weights, Random(seed))
    assert drawn[: len(expected)] == [(start[a], end[b - 1]) for a, b in expected]


def test_spans_that_fit_nowhere_are_shortened():
    one = batch([(0, [1] * 3, 0), (0, [1] * 2, 0)] * 6)
    _, targets = draw(one, Masking(mlm_probability=1.0, geometric_p=1e-6), 0)
    assert {2, 3} <= set(lengths(one, targets)) <= {1, 2, 3}
    rows = set(targets.rows.tolist())
    left = set(one.piece_index.tolist()) - rows
    assert all({place - 1, place + 1} & rows for place in left)


def test_a_word_that_two_windows_share_is_masked_window_by_window():
    one = batch([(0, [1, 3], 0), (0, [2, 1], 0)])
    one = replace(one, piece_to_word=torch.tensor([0, 1, 1, 1, 1, 1, 2]))
    seen = set()
    for seed in range(80):
        _, targets = draw(one, Masking(mlm_probability=0.45, scheme="whole-word"), seed)
        seen.add(tuple(targets.rows.tolist()))
    assert {(2, 3, 4), (1, 7, 8), (7, 8, 9)} <= seen


def test_touching_portions_share_their_boundaries():
    one = batch([(0, [1] * 6, 0)])
    _, targets = draw(one, Masking(mlm_probability=1.0, scheme="subword"), 0)
    assert targets.left.tolist() == [0] * 6
    assert targets.right.tolist() == [7] * 6
    assert targets.span_position.tolist() == list(range(6))


def test_spans_never_touch():
    one = text(500)
    for seed in range(20):
        _, targets = draw(one, Masking(mlm_probability=0.3), seed)
        runs = stretches(targets.rows.tolist())
        assert all(after[0] - before[-1] > 1 for before, after in pairwise(runs))
        assert max(lengths(one, targets)) <= 10


def test_all_targets_move_to_another_device():
    moved = draw(text(30), Masking(), 0)[1].to(torch.device("meta"))
    assert all(getattr(moved, field.name).is_meta for field in fields(moved))
