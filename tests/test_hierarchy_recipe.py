"""The recipe of a hierarchy for one's own brat folder trains on one, and annotates all of it."""

from pathlib import Path

import pytest

from spanloom.config import recipe as recipes
from spanloom.document import Document
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.training.train import train

ROOT = Path(__file__).parents[1]
TEXT = "Ada met Bob in Rome .\nShe liked Rome .\n"
LINES = (
    "T1\tPerson 0 3\tAda",
    "T2\tPerson 8 11\tBob",
    "T3\tPlace 15 19\tRome",
    "R1\tMet Arg1:T1 Arg2:T2",
    "T4\tchains__Mention 0 3\tAda",
    "T5\tchains__Mention 22 25\tShe",
    "R2\tchains__same Arg1:T5 Arg2:T4",
)


@pytest.mark.slow
def test_the_recipe_trains_on_a_brat_folder_with_all_three(tmp_path):
    for split in ("train", "dev"):
        (tmp_path / "my-corpus" / split).mkdir(parents=True)
        for number in range(4):
            path = tmp_path / "my-corpus" / split / f"{split}{number}"
            path.with_suffix(".txt").write_text(TEXT, "utf-8")
            path.with_suffix(".ann").write_text("\n".join(LINES) + "\n", "utf-8")
    encoder = ROOT / "fixtures/tiny/encoder"
    trunk = f"trunk=[{{transformer: {encoder}, init: random}}, {{casing: 4}}]"
    settings = ("stages.0.epochs=1", "stages.0.eval_every_epochs=1", "window=64")
    plan = resolve(recipes.load(ROOT / "recipes/hierarchy.yaml", (trunk, *settings)), tmp_path)
    train(plan, tmp_path / "model", print, device="cpu")
    model = serialization.load(tmp_path / "model")
    assert set(model.tasks["relations"].vocabulary.relations) == {"Met"}
    assert set(model.tasks["chains"].vocabulary.spans) == {"Mention"}
    annotated = model(TEXT)
    assert isinstance(annotated, Document)
    assert {layer.name for layer in annotated.layers} == {"entities", "relations", "chains"}
