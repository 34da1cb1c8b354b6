"""Words that stand for tasks: each is one word, and learns vectors of its own in every embedder."""

import json

import pytest
import tiny
import tiny_judged
import torch
from torch.nn.functional import cosine_similarity

from spanloom.config import recipe as recipes
from spanloom.data.collate import collate
from spanloom.data.instances import InstanceLimits
from spanloom.document import Document
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.training.train import new_model

TRUNKS = {
    "static": {"static": "vectors.txt"},
    "characters": {"characters": "cnn"},
    "casing": {"casing": 4},
    "transformer": {"transformer": "encoder"},
    "spelling": {"transformer": "encoder", "casing_embeddings": True},
}
EVERY = pytest.mark.parametrize("kind", TRUNKS)
TEXT = "add warm a . mix b ."


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    home = tiny_judged.corpora(tmp_path_factory.mktemp("tokens"))
    tiny.encoder(home / "encoder")
    words = "add mix warm a b c cold . the".split()
    (home / "vectors.txt").write_text(
        "".join(f"{word} {row}.5 {-row}.25 1.0\n" for row, word in enumerate(words))
    )
    return home


def made(place, *parts, **keys):
    trunk = [TRUNKS[each] for each in parts]
    raw = tiny_judged.recipe(place, sharing="task-token", trunk=trunk, **keys)
    return new_model(resolve(recipes.loads(json.dumps(raw)), place), "cpu")[0]


def read(model, task, text=TEXT):
    """The trunk's vectors of all words that are read, and the batch."""
    reading = model.tasks[task].reader
    units = list(
        reading.instances(
            0, model.tokenize(Document(text)), InstanceLimits(64, 64), model.tokenize_prompt
        )
    )
    batch = collate(units, model.subword_tokenizer, 64)
    network = model.network.eval()
    return torch.cat([network.embed(row, batch) for row in range(len(network.trunk))], -1), batch


@EVERY
def test_a_token_is_one_word_of_one_piece(place, kind):
    model = made(place, kind)
    _, batch = read(model, "heat")
    at = batch.task_tokens.ge(0).nonzero().flatten()
    assert len(at) == len(batch.instances) > 0
    for row in at.tolist():
        assert (batch.piece_to_word == row).sum() == len(batch.input_ids) / len(batch.instances)
        assert batch.words[row] == ""


@EVERY
def test_tokens_of_two_tasks_differ_from_the_start(place, kind):
    model = made(place, kind)
    one, two = (read(model, task) for task in ("heat", "act"))
    at = one[1].task_tokens >= 0
    assert at.equal(two[1].task_tokens >= 0)
    alike = cosine_similarity(one[0][at], two[0][at]).max()
    assert alike < 0.999
    others = one[0][~at].equal(two[0][~at])
    assert others != (kind in ("transformer", "spelling"))  # an encoder reads the token with them


@EVERY
def test_a_gradient_reaches_the_token_of_its_task_alone(place, kind):
    model = made(place, kind)
    vectors, batch = read(model, "act")
    number = list(model.recipe.tasks).index("act")
    (vectors * torch.randn(vectors.shape[1])).sum().backward()
    (table,) = model.network.task_tokens
    reached = table.weight.grad.abs().sum(1) > 0
    assert reached.tolist() == [row == number for row in range(len(model.recipe.tasks))]
    assert int(batch.task_tokens.max()) == number


def test_a_text_that_spells_a_token_is_not_taken_for_one(place):
    model = made(place, "static", "transformer")
    text = "<<heat>> warm <heat> a ."
    _, batch = read(model, "heat", text)
    assert batch.task_tokens.ge(0).sum() == len(batch.instances)
    assert all(batch.words[row] == "" for row in batch.task_tokens.ge(0).nonzero().flatten())
    assert all(word in text for word in batch.words)


def test_a_saved_model_has_its_tokens(place, tmp_path):
    model = made(place, *TRUNKS.keys() - {"spelling"})
    with torch.no_grad():
        for each in model.network.task_tokens.parameters():
            each.normal_()
    serialization.save(model, tmp_path / "saved", figures={})
    loaded = serialization.load(tmp_path / "saved", device="cpu", precision="fp32")
    for task in model.tasks:
        assert read(model, task)[0].equal(read(loaded, task)[0])


def test_a_later_model_takes_the_tokens_of_an_earlier_one(place, tmp_path):
    model = made(place, "static", "casing")
    serialization.save(model, tmp_path / "earlier", figures={})
    later = made(place, "static", "casing", init_from=str(tmp_path / "earlier"))
    for one, two in zip(model.network.task_tokens, later.network.task_tokens, strict=True):
        assert one.weight.equal(two.weight)


def test_onnx_reads_tokens_as_torch_does(place, tmp_path):
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    model = made(place, "transformer")
    serialization.save(model, tmp_path / "saved", figures={})
    loaded = serialization.load(tmp_path / "saved", device="cpu", precision="onnx")
    with torch.inference_mode():
        for task in model.tasks:
            torch.testing.assert_close(
                read(model, task)[0], read(loaded, task)[0], rtol=0.1, atol=0.1
            )
        one, two = (read(loaded, task)[0] for task in ("heat", "act"))
    assert not one.equal(two)


def test_vectors_of_tasks_start_as_large_as_those_of_words(place):
    tokens = made(place, "static", "characters").network.task_tokens
    table = read(made(place, "static"), "heat")[0]
    assert tokens[0].weight.abs().max() < 10 * table.abs().max()
    assert tokens[1].weight.norm(dim=1).max() <= 3**0.5
    raw = tiny_judged.recipe(place, sharing="task-embedding", trunk=[TRUNKS["static"]])
    model = new_model(resolve(recipes.loads(json.dumps(raw)), place), "cpu")[0]
    weight = model.network.task_embeddings.weight.detach()
    assert weight.norm(dim=1).max() <= 3**0.5
    assert weight.std() == pytest.approx(weight.shape[1] ** -0.5, rel=0.4)
