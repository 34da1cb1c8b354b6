"""Recipe to network: the one place where names choose parts."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from tokenizers import Tokenizer, models, processors
from torch import nn

from spanloom.config.options import validate_options
from spanloom.config.recipe import PIECES, TRUNK, Recipe
from spanloom.data import tokenizer_file
from spanloom.data.subwords import SubwordTokenizer, subword_tokenizer
from spanloom.embedders import _encoder_check, load, transformer
from spanloom.embedders._base import Embedder, EmbedderType
from spanloom.errors import ModelError, NameNotFound
from spanloom.model import sharing
from spanloom.model.network import HeadRoute, Network, PieceInputs
from spanloom.nn import recurrent
from spanloom.tasks._base import HeadInputSpec, Task

MakeEmbedder = Callable[
    [int, EmbedderType, object], nn.Module
]  # row in the trunk, its kind, its options


def trunk(recipe: Recipe, make: MakeEmbedder) -> list[nn.Module]:
    """Make the recipe's embedders; raises ``RecipeError`` for names and options that are none."""
    return [make(row, kind, chosen) for row, (kind, chosen) in enumerate(_embedders(recipe))]


def network(recipe: Recipe, made: Mapping[str, Task], trunk: Sequence[nn.Module]) -> Network:
    """Put the network together on a trunk."""
    dims = {TRUNK: sum(cast(Embedder, part).dim for part in trunk)}
    levels = {}
    places = sharing.routes(recipe)
    _check_names(recipe, places)
    for index, spec in enumerate(recipe.levels):
        chosen = validate_options(recurrent.Options, spec.options, recipe.at("levels", index))
        levels[spec.name] = recurrent.build(chosen, sum(dims[read] for read in spec.inputs))
        dims[spec.name] = levels[spec.name].dim
    encoder = next((part for part in trunk if isinstance(part, transformer.Transformer)), None)
    table = (
        (0, 0)
        if encoder is None
        else (encoder.piece_embeddings.shape[0], encoder.piece_embeddings.shape[1])
    )
    if encoder is not None:
        dims[PIECES] = encoder.dim
    vectors = None
    if recipe.sharing == sharing.EMBEDDED:
        vectors = nn.Embedding(len(recipe.tasks), recipe.task_embedding_dim)
    tokens = _tokens(recipe, trunk) if recipe.sharing == sharing.TOKEN else None
    beside = 0 if vectors is None else recipe.task_embedding_dim
    heads: dict[str, nn.Module] = {}
    grounds: dict[str, HeadInputSpec] = {}
    for name, task in made.items():
        place = places[name]
        if place.level not in dims:
            raise recipe.at("tasks", name).error(f"reads {place.level}, which needs a transformer")
        if place.head not in heads:
            grounds[place.head] = HeadInputSpec(dims[place.level] + beside, *table)
            heads[place.head] = task.build_head(grounds[place.head])
    return Network(
        trunk,
        levels,
        recipe.levels,
        heads,
        places,
        grounds,
        PieceInputs(vectors, tokens),
        recipe.embedding_dropout,
    )


def _tokens(recipe: Recipe, trunk: Sequence[nn.Module]) -> list[nn.Embedding]:
    """Each embedder's vectors of the words that stand for tasks: of an encoder below all layers."""
    made = []
    for part in trunk:
        width, spread = cast(Embedder, part).dim, 1.0
        if isinstance(part, transformer.Transformer):
            width = part.piece_embeddings.shape[1]
            spread = float(getattr(part.encoder.config, "initializer_range", None) or 0.02)
        made.append(nn.Embedding(len(recipe.tasks), width))
        nn.init.normal_(made[-1].weight, std=spread)
    return made


def transformer_options(recipe: Recipe) -> transformer.Options | None:
    """Return the options of the recipe's transformer; raises ``RecipeError`` where it has two."""
    found = [each for _, each in _embedders(recipe) if isinstance(each, transformer.Options)]
    if len(found) > 1:
        raise recipe.at("trunk").error(f"takes one transformer at most, got {len(found)}")
    return found[0] if found else None


def load_tokenizer(folder: str) -> SubwordTokenizer:
    """Load the tokenizer that lies beside an encoder; raises ``ModelError`` for a slow one."""
    from spanloom.embedders import _hub

    loaded = _hub.tokenizer(folder)
    inner = getattr(loaded, "backend_tokenizer", None)
    if not isinstance(inner, Tokenizer):
        raise ModelError(f"{folder}: needs a fast tokenizer (tokenizer.json), got a slow one")
    tokenizer_file.read(inner.to_str().encode(), folder)  # as when what is saved is loaded
    padding = loaded.pad_token_id if loaded.pad_token_id is not None else 0
    unknown = loaded.unk_token_id if loaded.unk_token_id is not None else padding
    mask = loaded.mask_token_id if loaded.mask_token_id is not None else unknown
    return subword_tokenizer(inner, padding=padding, unknown=unknown, mask=mask)


def word_level_tokenizer() -> SubwordTokenizer:
    """Make the tokenizer of a trunk that reads words alone: each word is one piece."""
    made = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "[SEP]": 2}, unk_token="[UNK]"))
    made.post_processor = processors.TemplateProcessing(
        single="[SEP] $A [SEP]", special_tokens=[("[SEP]", 2)]
    )
    return subword_tokenizer(made, padding=0, unknown=1, mask=1)


def check_window(recipe: Recipe, pieces: SubwordTokenizer, network: Network) -> None:
    """Raise ``RecipeError`` where a window has more pieces than the encoder has positions."""
    if network.transformer is None:
        return
    around = len(pieces.prefix) + len(pieces.suffix)
    places = _encoder_check.positions(network.transformer.encoder)
    most = recipe.window if places is None else places - around
    if recipe.window > most:
        raise recipe.at("window").error(
            f"expected at most {most} (pieces the encoder can read at once), got {recipe.window}"
        )


def _check_names(recipe: Recipe, places: Mapping[str, HeadRoute]) -> None:
    """Raise ``RecipeError`` for a name that torch's containers of modules use themselves."""
    named = [(level.name, recipe.at("levels", row)) for row, level in enumerate(recipe.levels)]
    named += [(place.head, recipe.at("tasks", name)) for name, place in places.items()]
    for name, where in named:
        if hasattr(nn.ModuleDict(), name):
            raise where.error(f"the name {name!r} is taken (torch uses it); choose another")


def _embedders(recipe: Recipe) -> list[tuple[EmbedderType, object]]:
    """The kind and the options of each embedder."""
    found: list[tuple[EmbedderType, object]] = []
    for row, spec in enumerate(recipe.trunk):
        where = recipe.at("trunk", row)
        try:
            kind = load(spec.name)
        except NameNotFound as error:
            raise where.error(str(error)) from error
        found.append((kind, validate_options(kind.options, spec.options, where)))
    return found
