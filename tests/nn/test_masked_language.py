"""The masked language head against BERT's own, the boundary objective against its equations."""

import pytest
import torch
from torch.nn import functional as F
from transformers import BertConfig, BertForMaskedLM

from spanloom.nn.masked_language import MaskedLMHead

DIM, VOCABULARY = 16, 40
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def head(**changes):
    torch.manual_seed(0)
    sizes = {"piece_dim": DIM, "vocab_size": VOCABULARY, "use_boundary": True}
    return MaskedLMHead(DIM, **(sizes | changes))


def targets():
    """Two spans in two windows of eight pieces: places 2 to 4, and 9."""
    rows = torch.tensor([2, 3, 4, 9])
    left, right = torch.tensor([1, 1, 1, 8]), torch.tensor([5, 5, 5, 10])
    labels, place = torch.tensor([7, 30, 7, 12]), torch.tensor([0, 1, 2, 0])
    return {"masked": rows, "labels": labels, "left": left, "right": right, "span_position": place}


def states(width=DIM):
    torch.manual_seed(1)
    return torch.randn(16, DIM), torch.randn(VOCABULARY, width)


def copied(bert):
    """A head with the weights of BERT's."""
    made, source = head(), bert.cls.predictions
    pairs = (
        (made.transform.dense, source.transform.dense),
        (made.transform.norm, source.transform.LayerNorm),
    )
    for mine, theirs in pairs:
        mine.load_state_dict(theirs.state_dict())
    made.decoder.load_state_dict({"bias": source.bias})
    return made


def test_the_loss_is_that_of_berts_own_head():
    torch.manual_seed(2)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=DIM,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=12,
    )
    bert = BertForMaskedLM(config).eval()
    for weight in bert.cls.parameters():
        torch.nn.init.normal_(weight)
    ids, told = torch.randint(0, VOCABULARY, (2, 8)), targets()
    labels = torch.full((16,), -100)
    labels[told["masked"]] = told["labels"]
    theirs = bert(input_ids=ids, labels=labels.view(2, 8))
    hidden = bert.bert(input_ids=ids).last_hidden_state.flatten(0, 1)
    table = bert.get_input_embeddings().weight
    mine = copied(bert)
    loss = mine.loss(hidden, table, **told)["masked"]
    torch.testing.assert_close(loss / len(told["labels"]), theirs.loss, **CLOSE)
    torch.testing.assert_close(mine(hidden, table), theirs.logits.flatten(0, 1), **CLOSE)


@pytest.mark.parametrize("width", [DIM, 6])
def test_the_boundary_objective_is_equations_one_and_two(width):
    one, told = head(piece_dim=width), targets()
    hidden, table = states(width)
    weights = {name: weight.double() for name, weight in one.span_boundary.named_parameters()}
    torch.nn.init.normal_(one.span_boundary.decoder.bias)

    def layer(name, x):
        x = x @ weights[f"{name}.dense.weight"].T + weights[f"{name}.dense.bias"]
        x = x * 0.5 * (1 + torch.erf(x / 2**0.5))
        x = (x - x.mean()) / x.var(unbiased=False).sqrt()
        return x * weights[f"{name}.norm.weight"] + weights[f"{name}.norm.bias"]

    total = 0.0
    for left, right, place, label in zip(
        *(told[key].tolist() for key in ("left", "right", "span_position", "labels")), strict=True
    ):
        ends = hidden[left].double(), hidden[right].double()
        h0 = torch.cat([*ends, weights["position_embedding.weight"][place]])
        y = layer("second", layer("first", h0))
        scores = table.double() @ y + one.span_boundary.decoder.bias.double()
        total -= scores[label] - scores.exp().sum().log()
    loss = one.loss(hidden, table, **told)["boundary"]
    torch.testing.assert_close(loss.double(), total, **CLOSE)


def test_each_objective_reads_and_teaches_its_own_states_and_the_table():
    for name, rows in {"masked": {2, 3, 4, 9}, "boundary": {1, 5, 8, 10}}.items():
        hidden, table = (each.requires_grad_() for each in states())
        head().loss(hidden, table, **targets())[name].backward()
        taught = hidden.grad.abs().sum(1).nonzero()[:, 0].tolist()
        assert set(taught) == rows
        assert (table.grad.abs().sum(1) > 0).all()


def test_without_the_boundary_objective_there_is_one_loss_and_no_weight_for_another():
    one = head(use_boundary=False)
    assert set(one.loss(*states(), **targets())) == {"masked"}
    assert not [name for name in one.state_dict() if "boundary" in name]


def test_the_table_is_no_weight_of_the_head():
    shapes = [tuple(weight.shape) for weight in head(piece_dim=6).parameters()]
    assert (VOCABULARY, 6) not in shapes


def test_pieces_far_into_a_span_share_the_last_place():
    one, told = head(num_positions=3), targets()
    far = told | {"span_position": torch.tensor([0, 2, 9, 70])}
    near = told | {"span_position": torch.tensor([0, 2, 2, 2])}
    hidden, table = states()
    assert one.loss(hidden, table, **far)["boundary"].equal(
        one.loss(hidden, table, **near)["boundary"]
    )


def test_the_loss_of_next_sentences_is_summed_in_full_under_half_precision():
    torch.manual_seed(2)
    hidden, cls = torch.randn(64, DIM), torch.arange(64)
    told = {"cls": cls, "is_next": cls % 2, "weights": 10 + torch.rand(64)}
    made = head(use_next_sentence=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = made.next_sentence_loss(hidden, **told)["next_sentence"]
        scores = made.next_sentence(hidden)
    losses = F.cross_entropy(scores.float(), told["is_next"], reduction="none")
    torch.testing.assert_close(loss, (losses * told["weights"]).sum(), rtol=1e-5, atol=0)


def test_a_batch_of_nothing_costs_nothing():
    hidden, table = states()
    none = {key: each[:0] for key, each in targets().items()}
    for loss in head().loss(hidden.requires_grad_(), table, **none).values():
        assert loss.item() == 0.0
        loss.backward()


def test_one_batch_is_learnt_by_heart():
    one = head()
    hidden, table = states()
    optimiser = torch.optim.Adam(one.parameters(), lr=0.01)
    for _ in range(80):
        optimiser.zero_grad()
        losses = one.loss(hidden, table, **targets())
        sum(loss for loss in losses.values()).backward()
        optimiser.step()
    assert all(loss.item() < 0.1 for loss in losses.values())


def test_half_precision_scores_are_summed_in_full():
    hidden, table = states()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert head()(hidden, table).dtype == torch.float32
        losses = head().loss(hidden, table, **targets())
    exact = head().loss(hidden, table, **targets())
    for name, loss in losses.items():
        assert loss.dtype == torch.float32
        torch.testing.assert_close(loss, exact[name], rtol=0.05, atol=0.5)


def test_losses_are_summed_not_averaged():
    hidden, table = states()
    told = targets()
    parts = [
        head().loss(hidden, table, **{key: each[rows] for key, each in told.items()})
        for rows in (slice(0, 1), slice(1, 4))
    ]
    whole = head().loss(hidden, table, **told)
    for name in ("masked", "boundary"):
        split = sum(part[name] for part in parts)
        torch.testing.assert_close(split, whole[name], **CLOSE)
    direct = F.cross_entropy(head()(hidden[told["masked"]], table), told["labels"], reduction="sum")
    torch.testing.assert_close(whole["masked"], direct, **CLOSE)
