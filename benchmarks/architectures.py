"""Every architecture, as published but small: trained, saved, loaded; does it read a text equally?

    python benchmarks/architectures.py [--only NAME ...] [--json FILE]

Configurations and tokenizers are those of ``tests/embedders/published.py``: keys and values as the
published files have them, sizes and vocabularies smaller. Each encoder gets random weights, a
recipe trains for an epoch with it, the model is saved, and loaded from its folder. "Equal" is: the
vectors of a text with odd words, computed by the network that was trained and by the loaded one,
differ in no bit, and its words are cut into the same pieces.
"""

import argparse
import importlib
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import torch

from spanloom.config import recipe as recipes
from spanloom.data.collate import collate
from spanloom.data.instances import InstanceLimits
from spanloom.document import Document
from spanloom.errors import SpanloomError
from spanloom.glad.speed import processor
from spanloom.model import serialization
from spanloom.model.model import Model
from spanloom.model.plan import resolve
from spanloom.training import train

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path += [str(TESTS), str(TESTS / "embedders")]
published, tiny = map(importlib.import_module, ("published", "tiny"))

TEXT = "Add the cold buffer.\nDon't  mix 5ml (warm), or élan 中文 is lost."


def read(model: Model) -> tuple[torch.Tensor, Any]:
    """The vectors of the text's words, and their pieces."""
    tokenized = model.tokenize(Document(TEXT))
    instances = list(
        model.tasks["steps"].reader.instances(
            0, tokenized, InstanceLimits(64, 64), model.tokenize_prompt
        )
    )
    with torch.inference_mode():
        batch = collate(instances, model.subword_tokenizer, 64)
        return model.network.eval().encode(batch, ["trunk"])["trunk"].word_vectors, tokenized.pieces


def tried(name: str, folder: Path) -> dict[str, Any]:
    """Train, save and load one architecture."""
    published.save(name, folder / "encoder")
    tiny.recipe(folder)
    recipe = recipes.load(folder / "recipe.yaml")
    models: list[Model] = []
    verify = train.verify

    def kept(model: Model, saved: Path) -> None:
        verify(model, saved)
        models.append(model)

    train.verify = kept
    began = time.perf_counter()
    try:
        train.train(resolve(recipe, folder), folder / "model", lambda line: None, device="cpu")
        loaded = serialization.load(folder / "model", device="cpu", precision="fp32")
    except SpanloomError as error:
        return {"equal": False, "problem": str(error)}
    finally:
        train.verify = verify
    (trained, tokenized), (reloaded, tokenized_again) = read(models[0]), read(loaded)
    return {
        "type": published.PUBLISHED[name][0]["model_type"],
        "seconds": time.perf_counter() - began,
        "largest_difference": float((trained - reloaded).abs().max()),
        "equal": bool(trained.equal(reloaded)) and tokenized == tokenized_again,
    }


def main() -> None:
    """Try them all and write what came of it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", nargs="+", choices=list(published.PUBLISHED))
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    results = {}
    for name in options.only or published.PUBLISHED:
        with tempfile.TemporaryDirectory() as folder:
            results[name] = tried(name, Path(folder))
        verdict = (
            "equal" if results[name]["equal"] else f"NOT EQUAL {results[name].get('problem', '')}"
        )
        print(f"{name:45} {results[name].get('seconds', 0):6.1f} s  {verdict}", flush=True)
    equal = sum(result["equal"] for result in results.values())
    print(f"{equal} of {len(results)} equal")
    if options.json:
        result = {"processor": processor(), "equal": equal, "of": len(results), "encoders": results}
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if equal < len(results):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
