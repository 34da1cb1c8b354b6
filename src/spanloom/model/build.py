"""Build the network of a plan, and the tokenizer of its encoder."""

from collections.abc import Mapping, Sequence
from typing import cast

from tokenizers import Tokenizer, models, processors
from torch import nn

from spanloom.config.specs import PIECES, TRUNK
from spanloom.data import tokenizer_file
from spanloom.data.subwords import SubwordTokenizer, subword_tokenizer
from spanloom.embedders import _encoder_check
from spanloom.embedders._base import Embedder
from spanloom.embedders.static import Static
from spanloom.embedders.transformer import Transformer
from spanloom.errors import ModelError
from spanloom.model.network import Heads, Network, TaskInputs
from spanloom.model.plan import EMBEDDING, TOKEN, Plan
from spanloom.nn import recurrent
from spanloom.nn.corpus_vectors import CorpusVectors
from spanloom.nn.span_layer import SpanLayer
from spanloom.tasks._base import HeadInputSpec, Task


def network(plan: Plan, tasks: Mapping[str, Task], trunk: Sequence[nn.Module]) -> Network:
    """Build levels and heads on a trunk; raises ``RecipeError`` for a task without its level."""
    recipe = plan.recipe
    dims = {TRUNK: sum(cast(Embedder, part).dim for part in trunk)}
    levels = {}
    for planned in plan.levels:
        level = recurrent.build(planned.options, sum(dims[name] for name in planned.spec.inputs))
        levels[planned.spec.name], dims[planned.spec.name] = level, level.dim
    encoder = next((part for part in trunk if isinstance(part, Transformer)), None)
    vocab_size, piece_dim = (0, 0) if encoder is None else encoder.piece_embeddings.shape
    if encoder is not None:
        dims[PIECES] = encoder.dim
    embeddings, extra_dim = None, 0
    if recipe.sharing == EMBEDDING:
        extra_dim = recipe.task_embedding_dim
        embeddings = _embedding_table(len(recipe.tasks), extra_dim)
    tokens = _task_tokens(len(recipe.tasks), trunk) if recipe.sharing == TOKEN else None
    routes = {name: task.route for name, task in plan.kept_tasks.items()}
    span_layers = _span_layers(plan, dims)
    heads: dict[str, nn.Module] = {}
    specs: dict[str, HeadInputSpec] = {}
    for name, task in tasks.items():
        level_name, head = routes[name].level, routes[name].head
        if level_name not in dims:
            raise recipe.at("tasks", name).error(f"reads {level_name}, which needs a transformer")
        if head not in heads:
            layer = routes[name].span_layer
            span_dim = None if layer is None else span_layers[layer].dim
            sizes = vocab_size, piece_dim, dims[TRUNK], span_dim
            specs[head] = HeadInputSpec(dims[level_name] + extra_dim, *sizes)
            heads[head] = task.build_head(specs[head])
    return Network(
        trunk,
        levels,
        recipe.levels,
        span_layers,
        Heads(heads, routes, specs),
        TaskInputs(embeddings, tokens, _corpus_vectors(plan, specs)),
        recipe.embedding_dropout,
    )


def _span_layers(plan: Plan, dims: Mapping[str, int]) -> dict[str, SpanLayer]:
    """Make the span layers; ``dims`` are the sizes of the levels that they read."""
    return {
        spec.name: SpanLayer(
            dims[spec.level],
            spec.hidden_size,
            dropout=spec.dropout,
            boundary_context=spec.boundary_context,
        )
        for spec in plan.recipe.span_layers
    }


def _corpus_vectors(plan: Plan, specs: Mapping[str, HeadInputSpec]) -> dict[str, CorpusVectors]:
    """Make the corpus vectors of the tasks that ask for them, by task."""
    return {
        name: CorpusVectors(task.sources, task.guidelines, specs[task.route.head].word_dim)
        for name, task in plan.kept_tasks.items()
        if task.spec.corpus_vectors
    }


def _task_tokens(num_tasks: int, trunk: Sequence[nn.Module]) -> list[nn.Embedding]:
    """Make each embedder's vectors of the task tokens; those of an encoder enter its first layer.

    An encoder's start from a normal distribution of its own ``initializer_range``, those of static
    vectors from one of their mean and deviation, as rows of unknown words do in the tables of
    Changpinyo et al. (2018).
    """
    tables = []
    for part in trunk:
        table = _embedding_table(num_tasks, cast(Embedder, part).dim)
        if isinstance(part, Transformer):
            table = nn.Embedding(num_tasks, part.piece_embeddings.shape[1])
            std = float(getattr(part.encoder.config, "initializer_range", None) or 0.02)
            nn.init.normal_(table.weight, std=std)
        elif isinstance(part, Static):
            vectors = part.vectors.detach()  # on "meta" where a saved model is built
            nn.init.normal_(table.weight)
            table.weight.data *= vectors.std(correction=0)
            table.weight.data += vectors.mean(0)
        tables.append(table)
    return tables


def _embedding_table(size: int, dim: int) -> nn.Embedding:
    """Make a table whose rows have a length of about 1, as AllenNLP starts its embeddings."""
    table = nn.Embedding(size, dim)
    nn.init.uniform_(table.weight, -((3 / dim) ** 0.5), (3 / dim) ** 0.5)
    return table


def load_tokenizer(folder: str) -> SubwordTokenizer:
    """Load the tokenizer that lies beside an encoder.

    Raises ``ModelError`` for a slow one, and for one without words, as transformers makes it where
    there is no file.
    """
    from spanloom.embedders import _hub

    loaded = _hub.tokenizer(folder)
    fast = getattr(loaded, "backend_tokenizer", None)
    if not isinstance(fast, Tokenizer):
        raise ModelError(f"{folder}: needs a fast tokenizer (tokenizer.json), got a slow one")
    tokenizer_file.read(fast.to_str().encode(), folder)  # as when what is saved is loaded
    if fast.get_vocab_size(with_added_tokens=True) <= len(set(loaded.all_special_ids)):
        problem = "has no vocabulary; spanloom pretrain --vocab-size N makes one of the text"
        raise ModelError(f"{folder}: {problem}")
    padding = loaded.pad_token_id if loaded.pad_token_id is not None else 0
    unknown = loaded.unk_token_id if loaded.unk_token_id is not None else padding
    mask = loaded.mask_token_id if loaded.mask_token_id is not None else unknown
    return subword_tokenizer(fast, padding=padding, unknown=unknown, mask=mask)


def word_level_tokenizer() -> SubwordTokenizer:
    """Make the tokenizer of a trunk without an encoder: each word is one piece."""
    tokenizer = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "[SEP]": 2}, unk_token="[UNK]"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[SEP] $A [SEP]", special_tokens=[("[SEP]", 2)]
    )
    return subword_tokenizer(tokenizer, padding=0, unknown=1, mask=1)


def check_window(plan: Plan, tokenizer: SubwordTokenizer, network: Network) -> None:
    """Raise ``RecipeError`` where a window has more pieces than the encoder has positions."""
    if network.transformer is None:
        return
    window = plan.recipe.window
    positions = _encoder_check.positions(network.transformer.encoder)
    num_special = len(tokenizer.prefix) + len(tokenizer.suffix)
    limit = window if positions is None else positions - num_special
    if window > limit:
        raise plan.recipe.at("window").error(
            f"expected at most {limit} (pieces the encoder can read at once), got {window}"
        )
