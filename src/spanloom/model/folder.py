"""A model on disk: safetensors, its recipe, its tokenizer, a model card, a manifest of hashes.

    recipe.yaml  model.safetensors  tokenizer.json  config.json  README.md  manifest.json

Nothing in such a folder is ever run: no pickle, no code, no template. What it claims is checked
against the manifest, and the sizes its configuration asks for against the weights that are there,
before anything of that size is made.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn

from spanloom.config import recipe as recipes
from spanloom.data.pieces import pieces
from spanloom.encoders import transformer
from spanloom.errors import ModelError
from spanloom.model import build, card
from spanloom.model.model import Model
from spanloom.model.precision import compute
from spanloom.storage import verify_folder, write_folder
from spanloom.words import splitter

RECIPE, WEIGHTS, TOKENIZER, CONFIG, CARD = (
    "recipe.yaml",
    "model.safetensors",
    "tokenizer.json",
    "config.json",
    "README.md",
)
_NEEDED = (RECIPE, WEIGHTS, TOKENIZER, CONFIG)
_PARTS = ("*.yaml", "*.safetensors", "*.json", "*.md")
_LARGEST_TEXT = 64_000_000  # bytes; a larger recipe, tokenizer or configuration is refused


def save(model: Model, folder: Path, *, figures: Mapping[str, float]) -> None:
    """Write a model in the place of the one before; ``figures`` are its dev scores."""
    encoder = next(
        part for part in model.network.trunk if isinstance(part, transformer.Transformer)
    )
    with write_folder(folder, replace=True) as staging:
        weights = {k: v.detach().cpu().contiguous() for k, v in model.network.state_dict().items()}
        save_file(weights, staging / WEIGHTS)
        text = recipes.dumps(model.recipe)
        (staging / RECIPE).write_text(text, encoding="utf-8")
        (staging / TOKENIZER).write_text(model.pieces.tokenizer.to_str(), encoding="utf-8")
        (staging / CONFIG).write_text(encoder.encoder.config.to_json_string(), encoding="utf-8")
        (staging / CARD).write_text(card.write(model, figures), encoding="utf-8")


def load(place: str | Path, *, device: str | None = None, precision: str = "auto") -> Model:
    """Load a model from a folder, or from the Hugging Face Hub by its id.

    Raises ``ModelError`` where something is missing, altered, too large, or does not fit together.
    """
    folder = _fetched(place)
    files = verify_folder(folder)
    missing = [name for name in _NEEDED if name not in files]
    if missing:
        raise ModelError(f"{folder}: no {missing[0]} (a model folder has {', '.join(_NEEDED)})")
    for name in (RECIPE, TOKENIZER, CONFIG):
        if files[name].stat().st_size > _LARGEST_TEXT:
            raise ModelError(f"{files[name]}: over {_LARGEST_TEXT} bytes; refused")
    _check_config(files[CONFIG])
    recipe = recipes.load(files[RECIPE])
    tasks = _tasks(recipe, folder)
    with torch.device("meta"):
        shape = build.network(recipe, tasks, transformer.untrained, str(folder))
    _check_shapes(files[WEIGHTS], shape)
    network = build.network(recipe, tasks, transformer.untrained, str(folder))
    load_weights(folder, network)
    chosen = compute(precision, device)
    split = splitter(recipe.words.splitter, recipe.words.sentences)
    cutter = _pieces(files[TOKENIZER], recipe)
    return Model(recipe, split, cutter, network.to(chosen.device).eval(), tasks, chosen)


def copy(folder: Path, target: Path) -> None:
    """Copy a model folder whole to another place, in the place of the one before."""
    files = verify_folder(folder)
    with write_folder(target, replace=True) as staging:
        for name, path in files.items():
            shutil.copyfile(path, staging / name)


def load_weights(folder: Path, network: nn.Module) -> None:
    """Load the weights of a model folder into a network of the same shape."""
    network.load_state_dict(load_file(folder / WEIGHTS))


def _fetched(place: str | Path) -> Path:
    folder = Path(place)
    if folder.exists() or isinstance(place, Path):
        if not folder.is_dir():
            raise ModelError(f"{folder}: expected a model folder, found none")
        return folder
    try:
        return Path(snapshot_download(str(place), allow_patterns=list(_PARTS)))
    except (HFValidationError, HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        first = str(error).splitlines()[0]
        raise ModelError(
            f"no model {str(place)!r}: no such folder, and the hub does not have it ({first})"
        ) from error


def _check_config(path: Path) -> None:
    """Refuse a configuration that names code to run."""
    try:
        config: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: expected JSON: {error}") from error
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise ModelError(f"{path}: expected a mapping with the key 'model_type'")
    if "auto_map" in config:
        raise ModelError(f"{path}: 'auto_map' names code of the model's own; that is never run")


def _tasks(recipe: recipes.Recipe, folder: Path) -> Mapping[str, build.Task]:
    missing = [name for name in recipe.tasks if name not in recipe.collected]
    if missing:
        raise ModelError(f"{folder / RECIPE}: no labels collected for task {missing[0]!r}")
    try:
        return build.tasks(recipe)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{folder / RECIPE}: the collected labels are broken: {error}") from error


def _check_shapes(path: Path, shape: nn.Module) -> None:
    """Compare the names and shapes of the weights with what the recipe needs."""
    needed = {name: tuple(each.shape) for name, each in shape.state_dict().items()}
    try:
        with safe_open(path, "pt") as weights:
            there = {name: tuple(weights.get_slice(name).get_shape()) for name in weights.keys()}
    except SafetensorError as error:
        raise ModelError(f"{path}: not a whole safetensors file: {error}") from error
    for name in sorted({*needed, *there}):
        if needed.get(name) != there.get(name):
            raise ModelError(
                f"{path}: {name}: expected shape {needed.get(name)}, got {there.get(name)}"
            )


def _pieces(path: Path, recipe: recipes.Recipe) -> build.Pieces:
    special = recipe.collected.get("pieces")
    if not isinstance(special, dict):
        raise ModelError(f"{path.parent / RECIPE}: no special pieces collected")
    return pieces(
        Tokenizer.from_file(str(path)), padding=special["padding"], unknown=special["unknown"]
    )
