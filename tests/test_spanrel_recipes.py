"""SpanRel's recipes as written train, are saved and annotate, on tiny corpora."""

from pathlib import Path

import pytest
import torch

from spanloom.config import recipe as recipes
from spanloom.document import Document
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.nn.dropout import Dropout
from spanloom.training.train import new_model, train

ROOT = Path(__file__).parents[1]
PAPER, TINY = ROOT / "recipes/papers/spanrel-jiang2020", ROOT / "fixtures/tiny"
SMALL = [
    f"trunk=[{{transformer: {TINY / 'encoder'}, init: random, layers: last, pooling: first}}]",
    "window=64",
    "stages.0.updates_per_task=4",
    "stages.0.batch_words=96",
    "stages.0.eval_every_epochs=1",
    "tokenization.tokenizer=char-class",
]
CORPORA = {
    "wlp": [f"tasks.wlp.data={TINY / 'steps'}"],
    "ewt-dependency-pos": [
        f"tasks.dependency.data={TINY / 'analyses'}",
        f"tasks.xpos.data={TINY / 'analyses'}",
        "tasks.xpos.layer=pos",
    ],
}


@pytest.mark.parametrize("name", CORPORA)
def test_a_recipe_of_spanrel_trains_is_saved_and_loads(name, tmp_path):
    recipe = recipes.load(PAPER / f"{name}.yaml", [*SMALL, *CORPORA[name]])
    train(resolve(recipe, ROOT), tmp_path / "run", print, device="cpu")
    loaded = serialization.load(tmp_path / "run", device="cpu")
    (annotated,) = loaded.annotate([Document("Anna saw Tom in Berlin .")])
    assert {layer.name for layer in annotated.layers} >= {
        task.layer for task in recipe.tasks.values()
    }


@pytest.mark.parametrize("name", CORPORA)
def test_sizes_and_dropout_are_the_papers(name):
    recipe = recipes.load(PAPER / f"{name}.yaml", [*SMALL, *CORPORA[name]])
    model, _ = new_model(resolve(recipe, ROOT), "cpu")
    level = model.network.levels["context"]
    assert (level.rnn.num_layers, level.rnn.hidden_size, level.rnn.bidirectional) == (3, 256, True)
    assert (level.rnn.dropout, level.dropout.p, level.output_dropout.p) == (0.5, 0.0, 0.5)
    assert model.network.dropout.p == 0.5
    for head in model.network.heads.values():
        linears = {n: m for n, m in head.named_modules() if isinstance(m, torch.nn.Linear)}
        hidden = {m.out_features for n, m in linears.items() if n.endswith("output.hidden")}
        products = [m for n, m in linears.items() if n.endswith("product.linear")]
        assert hidden == {128}
        assert all(m.in_features in (32 + 512, 32 + 2 * 512) for m in products)
        assert {part.p for part in head.modules() if isinstance(part, Dropout)} <= {0.0, 0.5}
    assert recipe.stages[0].lr.encoder == 5e-5
    assert not any(isinstance(part, torch.nn.LayerNorm) for part in model.network.heads.modules())
