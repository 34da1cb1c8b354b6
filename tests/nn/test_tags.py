"""The tags head, against every path of each sentence."""

import math
from itertools import product

import pytest
import torch
from torch.nn import functional as F

from spanloom.annotation.tag_schemes import SCHEMES
from spanloom.nn import tags as room
from spanloom.nn.initialization import xavier
from spanloom.nn.tags import Tagger, TagRules

DIM = 4
NAMES = SCHEMES["BIO"].tags(("P", "Q"))
SENTENCES = torch.tensor([[0, 3], [3, 4], [4, 8], [8, 10]])
GOLD = torch.tensor([1, 2, 0, 3, 0, 1, 3, 4, 0, 0])
BOTH = pytest.mark.parametrize("crf", [True, False])


def head(*, crf=True, scheme="BIO", transition_l2=0.0):
    """A head with random weights everywhere, its transitions too."""
    torch.manual_seed(5)
    masks = [torch.tensor(each) for each in SCHEMES[scheme].allowed_transitions(NAMES)]
    made = Tagger(DIM, rules=TagRules(*masks), dropout=0.2, crf=crf, transition_l2=transition_l2)
    for weight in made.parameters():
        torch.nn.init.normal_(weight)
    return made.eval()


@pytest.fixture
def words():
    torch.manual_seed(6)
    return torch.randn(10, DIM)


def every_path(made, words, tags):
    """Scores of all paths of a sentence that the scheme allows, of some tags."""
    emissions, chain = made(words), made.crf
    starts, follow, ends = (
        torch.tensor(each) for each in SCHEMES["BIO"].allowed_transitions(NAMES)
    )
    found = {}
    for path in product(tags, repeat=len(words)):
        steps = list(zip(path, path[1:], strict=False))
        if starts[path[0]] and ends[path[-1]] and all(follow[a, b] for a, b in steps):
            total = sum(emissions[word, tag] for word, tag in enumerate(path))
            total = total + chain.start_transitions[path[0]] + chain.end_transitions[path[-1]]
            found[path] = (total + sum(chain.transitions[a, b] for a, b in steps)).item()
    return found


def test_the_loss_is_that_of_all_paths(words):
    made = head()
    expected = 0.0
    for a, b in SENTENCES.tolist():
        every = every_path(made, words[a:b], range(len(NAMES)))
        expected += torch.tensor(list(every.values())).logsumexp(0).item()
        expected -= every[tuple(GOLD[a:b].tolist())]
    loss = made.loss(words, SENTENCES, GOLD)
    assert loss.item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("tags", [(0, 1, 2, 3, 4), (0, 3, 4), (0, 1), (0,)])
def test_the_best_path_and_its_chances_are_those_of_all_paths(words, tags):
    made = head()
    allowed = torch.tensor([tag in tags for tag in range(len(NAMES))])
    found, chances = made.best(words, SENTENCES, allowed)
    for a, b in SENTENCES.tolist():
        every = every_path(made, words[a:b], tags)
        assert tuple(found[a:b].tolist()) == max(every, key=every.get)
        whole = sum(math.exp(value) for value in every.values())
        for word, tag in enumerate(found[a:b].tolist()):
            share = sum(math.exp(value) for path, value in every.items() if path[word] == tag)
            assert chances[a + word].item() == pytest.approx(share / whole, rel=1e-4)


def test_all_tags_are_allowed_where_no_mask_is_given(words):
    made = head()
    one = made.best(words, SENTENCES, None)
    two = made.best(words, SENTENCES, torch.ones(len(NAMES), dtype=torch.bool))
    assert one[0].equal(two[0])
    assert one[1].equal(two[1])


@BOTH
@pytest.mark.parametrize("gone", range(len(NAMES)))
def test_a_masked_tag_is_never_returned(words, crf, gone):
    """Not even where the scheme then has no path: without O and B nothing may begin."""
    made = head(crf=crf)
    allowed = torch.arange(len(NAMES)) != gone
    assert not (made.best(words * 50, SENTENCES, allowed)[0] == gone).any()
    only = ~allowed
    tags, chances = made.best(words, SENTENCES, only)
    assert (tags == gone).all()
    torch.testing.assert_close(chances, torch.ones(10))


@BOTH
def test_permuted_sentences_give_permuted_results(words, crf):
    made = head(crf=crf)
    turn = [2, 0, 3, 1]
    bounds = SENTENCES.tolist()
    rows = torch.cat([torch.arange(*bounds[row]) for row in turn])
    ends = torch.tensor([bounds[row][1] - bounds[row][0] for row in turn]).cumsum(0)
    sentences = torch.stack([F.pad(ends[:-1], (1, 0)), ends], dim=1)
    tags, chances = made.best(words, SENTENCES, None)
    turned = made.best(words[rows], sentences, None)
    assert turned[0].equal(tags[rows])
    torch.testing.assert_close(turned[1], chances[rows])
    one = made.loss(words, SENTENCES, GOLD)
    torch.testing.assert_close(made.loss(words[rows], sentences, GOLD[rows]), one)


def test_small_groups_give_the_same(words, monkeypatch):
    made = head()
    whole = (*made.best(words, SENTENCES, None), made.loss(words, SENTENCES, GOLD))
    monkeypatch.setattr(room, "_CHUNK", 5 * len(NAMES))
    parts = (*made.best(words, SENTENCES, None), made.loss(words, SENTENCES, GOLD))
    assert parts[0].equal(whole[0])
    torch.testing.assert_close(parts[1:], whole[1:])


def test_words_by_themselves_are_softmax(words):
    made = head(crf=False)
    scores = made(words)
    tags, chances = made.best(words, SENTENCES, None)
    assert tags.equal(scores.argmax(1))
    torch.testing.assert_close(chances, scores.softmax(1).amax(1))
    expected = sum(-scores[row].log_softmax(0)[tag] for row, tag in enumerate(GOLD.tolist()))
    loss = made.loss(words, SENTENCES, GOLD)
    torch.testing.assert_close(loss, expected)


@BOTH
def test_one_batch_overfits(words, crf):
    made = head(crf=crf).train()
    made.dropout.dropped = 0
    optimiser = torch.optim.Adam(made.parameters(), lr=0.1)
    for _ in range(100):
        optimiser.zero_grad()
        made.loss(words, SENTENCES, GOLD).backward()
        optimiser.step()
    tags, chances = made.eval().best(words, SENTENCES, None)
    # gold has I-Q after B-Q only, as the scheme allows
    assert tags.equal(GOLD)
    assert chances.min() > 0.5


def test_gold_that_breaks_the_scheme_costs_much_but_not_infinitely_much(words):
    made = head()
    broken = GOLD.clone()
    broken[1:3] = torch.tensor([4, 2])
    total = made.loss(words, SENTENCES, broken)
    assert 1e4 < total.item() < 1e5
    total.backward()
    assert all(weight.grad.isfinite().all() for weight in made.parameters())


@BOTH
def test_no_words_no_loss(crf):
    made = head(crf=crf)
    none = torch.zeros(0, DIM), torch.zeros(0, 2, dtype=torch.long)
    loss = made.loss(*none, torch.zeros(0, dtype=torch.long))
    assert loss.item() == 0
    assert [len(each) for each in made.best(*none, None)] == [0, 0]


def test_a_task_may_be_stricter_than_its_head(words):
    """A head that allows any sequence decodes by the rules it is given, as if they were its own."""
    loose = head()
    everything = TagRules(*(torch.ones(size, dtype=torch.bool) for size in (5, (5, 5), 5)))
    for name, mask in zip(("never_first", "never_after", "never_last"), everything, strict=True):
        loose.crf.register_buffer(name, ~mask, persistent=False)
    own = TagRules(*(torch.tensor(mask) for mask in SCHEMES["BIO"].allowed_transitions(NAMES)))
    inside = words.clone()
    with torch.no_grad():
        loose.emission.bias[2] += 20  # I-P, which nothing may begin with
    tags, chances = loose.best(inside, SENTENCES, None, own)
    strict = head()
    with torch.no_grad():
        strict.emission.bias[2] += 20
    expected = strict.best(inside, SENTENCES, None)
    assert not tags.equal(loose.best(inside, SENTENCES, None)[0])
    assert tags.equal(expected[0])
    torch.testing.assert_close(chances, expected[1])


def test_the_penalty_is_that_of_each_sentence_and_of_transitions_alone(words):
    plain, fined = head(), head(transition_l2=0.25)
    squares = sum(
        weight.square().sum().item() for name, weight in plain.named_parameters() if "trans" in name
    )
    difference = fined.loss(words, SENTENCES, GOLD) - plain.loss(words, SENTENCES, GOLD)
    assert difference.item() == pytest.approx(0.25 * 4 * squares, rel=1e-3)
    parts = [(words[:4], SENTENCES[:2], GOLD[:4]), (words[4:], SENTENCES[2:] - 4, GOLD[4:])]
    whole = fined.loss(words, SENTENCES, GOLD)
    torch.testing.assert_close(sum(fined.loss(*part) for part in parts), whole)


def test_xavier_draws_matrices_and_clears_vectors():
    made = head()
    xavier(made)
    rows, columns = made.emission.weight.shape
    bound = math.sqrt(6 / (rows + columns))
    assert made.emission.weight.abs().max() <= bound
    assert made.emission.weight.abs().max() > bound / 2
    assert made.crf.transitions.abs().max() > 0
    assert not made.emission.bias.any()
    assert not made.crf.start_transitions.any()


def test_masks_are_not_saved():
    made = head()
    assert set(made.state_dict()) == {
        "emission.weight",
        "emission.bias",
        "crf.start_transitions",
        "crf.transitions",
        "crf.end_transitions",
    }


def test_mixed_precision_scores_in_single(words):
    made = head()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = made.loss(words, SENTENCES, GOLD)
        tags, chances = made.best(words, SENTENCES, None)
    assert (made(words).dtype, loss.dtype, chances.dtype) == (torch.float,) * 3
    torch.testing.assert_close(loss, made.loss(words, SENTENCES, GOLD), rtol=0.05, atol=0)
