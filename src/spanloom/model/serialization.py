"""A model on disk: safetensors, its recipe, its tokenizer, a model card, a manifest of hashes.

    recipe.yaml  model.safetensors  tokenizer.json  README.md  manifest.json
    config.json (with a transformer)  trunk-0-vocabulary.txt (what other embedders keep)
    plugins.json (the parts of other packages that it needs)

Nothing in such a folder is run: no pickle, no code, no template. Its files are checked against the
manifest, and the sizes in its configuration against the stored weights, before anything of that
size is allocated. The plugins it names are compared with those that the user installed or passed;
nothing is imported because a folder names it.
"""

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files as inside
from pathlib import Path
from typing import cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from safetensors.torch import save as serialized
from torch import nn

from spanloom.atomic_io import MANIFEST, verify_folder, write_folder
from spanloom.config import recipe as recipes
from spanloom.config.recipe import Recipe
from spanloom.config.specs import SPECIAL_IDS
from spanloom.data import tokenizer_file
from spanloom.data.subwords import SubwordTokenizer, num_ids, subword_tokenizer
from spanloom.embedders import _encoder_check
from spanloom.embedders._base import Embedder
from spanloom.embedders.static import Static
from spanloom.errors import DataError, ModelError, NameNotFound
from spanloom.model import build, model_card, plugin_parts
from spanloom.model.model import Model
from spanloom.model.network import Network, differing, shapes_of
from spanloom.model.plan import Plan, resolve
from spanloom.model.precision import compute, prepare
from spanloom.model.quantization import StorageDtypes, pack, shapes, unpack
from spanloom.model.skip_init import SkipInit, limit_parameters
from spanloom.tasks._base import Task

RECIPE, WEIGHTS, TOKENIZER, CONFIG, CARD, LICENSE = (
    "recipe.yaml",
    "model.safetensors",
    "tokenizer.json",
    "config.json",
    "README.md",
    "LICENSE",
)
DEFAULT = "spanloom-en"
_NEEDED = (RECIPE, WEIGHTS, TOKENIZER)
_PARTS = ("*.yaml", "*.safetensors", "*.json", "*.md", "trunk-*", LICENSE)
_UNBUILDABLE = (  # what is raised for a shape that makes no sense, by torch, too
    ModelError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
_LARGEST = 1e8  # of a weight: no training gets near, and products of two sum up to a number
_LARGEST_TEXT = 64_000_000  # bytes; a larger recipe, tokenizer or configuration is refused


def save(model: Model, folder: Path, *, figures: Mapping[str, float]) -> None:
    """Write a model folder, replacing an earlier one; ``figures`` are its dev scores.

    Raises ``ModelError`` for a model whose weights were rounded to int8.
    """
    if model.compute.int8:
        raise ModelError(f"{folder}: a model loaded as int8 cannot be saved; load it as fp32")
    with write_folder(folder) as staging:
        weights = {k: v.detach().cpu().contiguous() for k, v in model.network.state_dict().items()}
        (staging / WEIGHTS).write_bytes(serialized(weights))
        text = recipes.dumps(model.recipe)
        (staging / RECIPE).write_text(text, encoding="utf-8")
        if parts := plugin_parts.parts_of(model.recipe):
            (staging / plugin_parts.FILE).write_text(plugin_parts.dumps(parts), encoding="utf-8")
        (staging / TOKENIZER).write_text(
            model.subword_tokenizer.tokenizer.to_str(), encoding="utf-8"
        )
        for row, part in enumerate(model.network.trunk):
            for name, content in cast(Embedder, part).extra_files().items():
                path = staging / (CONFIG if name == CONFIG else f"trunk-{row}-{name}")
                path.write_bytes(content.encode("utf-8"))
        (staging / CARD).write_text(model_card.write(model, figures), encoding="utf-8")


def default() -> Path:
    """Return the folder of the bundled model; raises ``ModelError`` if there is none."""
    path = Path(str(inside("spanloom"))) / "models" / DEFAULT
    if not path.is_dir():
        raise ModelError(
            f"this copy of spanloom has no {DEFAULT}; name a model (-m MODEL), or make it: "
            f"recipes/{DEFAULT}.yaml"
        )
    return path


def load(
    source: str | Path | None = None, *, device: str | None = None, precision: str = "auto"
) -> Model:
    """Load a model from a folder, by its id on the Hugging Face Hub, or the bundled one.

    The bundled one is meant by its name, unless a folder has this name, and by no name at all.

    Raises ``ModelError`` where something is missing, altered, too large, or does not fit together,
    and what ``compute`` and ``prepare`` raise for a device and a precision.
    """
    folder, files = _verify(source)
    for name, path in files.items():
        if name != WEIGHTS and path.stat().st_size > _LARGEST_TEXT:
            raise ModelError(f"{path}: over {_LARGEST_TEXT} bytes; refused")
    weights = _stored_shapes(files[WEIGHTS])
    if CONFIG in files:
        _encoder_check.check(files[CONFIG], weights)
    recipe = plugin_parts.load_recipe(files[RECIPE], files.get(plugin_parts.FILE))
    plan, tasks = _plan(recipe, files[RECIPE])
    with torch.device("meta"), limit_parameters(weights):
        empty = _network(plan, tasks, files, folder)
    for name, needed, stored in differing(shapes_of(empty), weights):
        raise ModelError(f"{files[WEIGHTS]}: {name}: expected shape {needed}, got {stored}")
    encoder = empty.transformer
    tokenizer = _subword_tokenizer(
        files[TOKENIZER], plan.recipe, None if encoder is None else len(encoder.piece_embeddings)
    )
    build.check_window(plan, tokenizer, empty)
    network = _network(plan, tasks, files, folder)
    load_weights(folder, network)
    requested = compute(precision, device)
    network.to(requested.device).eval()
    config = prepare(network.transformer, requested)
    return Model(plan, plan.word_tokenizer, tokenizer, network, tasks, config)


def load_recipe(source: str | Path) -> Recipe:
    """Return the recipe of a model that ``load`` loads; raises ``ModelError`` as it does."""
    _, files = _verify(source)
    return plugin_parts.load_recipe(files[RECIPE], files.get(plugin_parts.FILE))


def _verify(source: str | Path | None) -> tuple[Path, dict[str, Path]]:
    """Return a model's folder and its files by name, compared with the manifest."""
    folder, blobs = _fetch(source)
    files = verify_folder(folder, blobs=blobs)
    missing = [name for name in _NEEDED if name not in files]
    if missing:
        raise ModelError(f"{folder}: no {missing[0]} (a model folder has {', '.join(_NEEDED)})")
    return folder, files


def push_to_hub(
    folder_path: str | Path, repo: str, *, private: bool = False, token: str | None = None
) -> str:
    """Upload a model folder to ``repo`` ("me/protocols") and return its address.

    ``spanloom.load(repo)`` loads it from there. A missing repository is created, ``private`` or
    not; ``token`` defaults to the one stored by ``hf auth login``. The model is loaded first, so a
    damaged one is never uploaded; nothing but its own files is uploaded. Raises ``ModelError`` for
    a damaged folder, and for what the hub refuses.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    folder = Path(folder_path)
    load(folder, device="cpu", precision="fp32")
    files = [*verify_folder(folder), MANIFEST]
    api = HfApi(token=token)
    try:
        address = api.create_repo(repo, private=private, exist_ok=True)
        api.upload_folder(
            repo_id=address.repo_id,
            folder_path=folder,
            allow_patterns=files,
            commit_message="A model of Spanloom",
        )
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"{repo}: the hub did not take {folder}: {first}") from error
    return str(address)


def card_of(source: str | Path | None = None) -> str:
    """Return the card of a model that ``load`` loads, "" without one; raises ``ModelError``."""
    folder, blobs = _fetch(source)
    path = verify_folder(folder, blobs=blobs).get(CARD)
    return "" if path is None else path.read_text(encoding="utf-8", errors="replace")


def digest_of(source: str | Path | None = None) -> str:
    """Return the SHA-256 of the manifest of a model that ``load`` loads; raises ``ModelError``."""
    folder, _ = _fetch(source)
    try:
        return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
    except OSError as error:
        raise ModelError(f"{folder}: no {MANIFEST}, so it is no model of spanloom") from error


def repack(source: str | Path, target: Path, dtypes: StorageDtypes) -> None:
    """Write the model at ``source`` to ``target`` with its weights stored in other types.

    Its card says so, once. Raises ``ModelError`` and ``StorageError``.
    """
    network = load(source, device="cpu", precision="fp32").network
    weights = pack(network.state_dict(), _embedding_tables(network), dtypes)
    folder, blobs = _fetch(source)
    files = verify_folder(folder, blobs=blobs)
    with _copied(files, target) as staging:
        (staging / WEIGHTS).write_bytes(serialized(weights))
        before = (staging / CARD).read_text(encoding="utf-8") if CARD in files else ""
        (staging / CARD).write_text(model_card.note_storage(before, dtypes), encoding="utf-8")


def rewrite(source: str | Path, texts: Mapping[str, str], target: Path | None = None) -> None:
    """Replace some texts of a model by file name, as its card; in a copy if ``target`` is given.

    Raises ``ModelError`` and ``StorageError``.
    """
    folder, files = _verify(source)
    with _copied(files, target or folder) as staging:
        for name, text in texts.items():
            (staging / name).write_text(text, encoding="utf-8")


def _embedding_tables(network: Network) -> frozenset[str]:
    """Return the names of the trunk's weights that are looked up by row."""
    names = set()
    for name, part in network.trunk.named_modules(prefix="trunk"):
        if isinstance(part, nn.Embedding):
            names.add(f"{name}.weight")
        elif isinstance(part, Static):
            names |= {f"{name}.vectors", f"{name}.fixed_vectors"}
    return frozenset(names)


def copy(folder: Path, target: Path) -> None:
    """Copy a model folder, replacing an earlier one at ``target``."""
    with _copied(verify_folder(folder), target):
        pass


@contextmanager
def _copied(files: Mapping[str, Path], target: Path) -> Iterator[Path]:
    """Yield a copy of some files, to be changed; at the end it replaces ``target``."""
    with write_folder(target) as staging:
        for name, path in files.items():
            shutil.copyfile(path, staging / name)
        yield staging


def load_weights(folder: Path, network: nn.Module) -> None:
    """Load the weights of a model folder into a network of the same shape.

    Raises ``ModelError`` for a weight that is not finite, or too large to be computed with.
    """
    weights = unpack(load_file(folder / WEIGHTS))
    for name, weight in weights.items():
        if weight.is_floating_point() and weight.numel():
            low, high = map(float, weight.aminmax())  # nan where any number is
            if not -_LARGEST <= low <= high <= _LARGEST:
                problem = f"expected numbers up to {_LARGEST:g}, got {low} to {high}"
                raise ModelError(f"{folder / WEIGHTS}: {name}: {problem}")
    network.load_state_dict(weights)


def _fetch(source: str | Path | None) -> tuple[Path, Path | None]:
    """Return a model's folder, and the folder of the hub's cache to which its links lead."""
    if source is None or (source == DEFAULT and not Path(source).exists()):
        return default(), None
    folder = Path(source)
    if folder.exists() or isinstance(source, Path):
        if not folder.is_dir():
            raise ModelError(f"{folder}: expected a model folder, found none")
        return folder, None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(str(source), allow_patterns=list(_PARTS)))
    except (HFValidationError, HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        first = str(error).splitlines()[0]
        raise ModelError(
            f"no model {str(source)!r}: no such folder, and the hub does not have it ({first})"
        ) from error
    return folder, folder.parents[1] / "blobs"


def _stored_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights in a file; only its header is read."""
    try:
        with safe_open(path, "pt") as weights:
            slices = {name: weights.get_slice(name) for name in weights.keys()}
            header = {k: (part.get_dtype(), tuple(part.get_shape())) for k, part in slices.items()}
        return shapes(header)
    except SafetensorError as error:
        raise ModelError(f"{path}: not a whole safetensors file: {error}") from error
    except ValueError as error:
        raise ModelError(f"{path}: {error}") from error


def _plan(recipe: Recipe, path: Path) -> tuple[Plan, dict[str, Task]]:
    """Resolve a stored recipe with its vocabulary, and build its tasks.

    Raises ``ModelError`` where a vocabulary is not as training writes it.
    """
    for name in recipe.tasks:
        vocabulary = recipe.vocabulary.get(name)
        if not isinstance(vocabulary, dict):
            raise ModelError(f"{path}: no vocabulary for task {name!r}")
        for key, value in vocabulary.items():
            if not is_valid_vocabulary(value):
                expected = "expected a text, a number, texts, or texts by name"
                raise ModelError(f"{path}: vocabulary.{name}.{key}: {expected}, got {value!r:.60}")
    try:
        plan = resolve(recipe).with_vocabulary(recipe.vocabulary)
        return plan, plan.build_tasks()
    except (NameNotFound, DataError) as error:
        raise ModelError(f"{path}: {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{path}: the vocabulary is broken: {error!r:.200}") from error


def is_valid_vocabulary(value: object) -> bool:
    """Return whether a value is a valid vocabulary entry: text, number, texts, texts by name."""
    if isinstance(value, dict):
        return all(_is_label_list(labels) for labels in value.values())
    return _is_label_list(value) or isinstance(value, str | int | float)


def _is_label_list(value: object) -> bool:
    """Return whether a value is a list of distinct strings."""
    return (
        isinstance(value, list)
        and all(isinstance(label, str) for label in value)
        and len(set(value)) == len(value)
    )


def _network(
    plan: Plan, tasks: Mapping[str, Task], files: Mapping[str, Path], folder: Path
) -> Network:
    """Build the network without filling its weights; raises ``ModelError`` if files do not fit."""

    def extra_files(row: int) -> dict[str, str]:
        return {
            name.removeprefix(f"trunk-{row}-"): path.read_bytes().decode("utf-8")
            for name, path in files.items()
            if name == CONFIG or name.startswith(f"trunk-{row}-")
        }

    try:
        with SkipInit():
            trunk = [
                embedder.type.restore(embedder.options, extra_files(row))
                for row, embedder in enumerate(plan.embedders)
            ]
            return build.network(plan, tasks, trunk)
    except _UNBUILDABLE as error:
        first = (str(error).strip() or repr(error)).splitlines()[0]
        sources = " and ".join(name for name in (RECIPE, CONFIG) if name in files)
        raise ModelError(f"{folder}: no network can be made of {sources}: {first}") from error


def _subword_tokenizer(path: Path, recipe: Recipe, vocab_size: int | None) -> SubwordTokenizer:
    """Load the tokenizer; raises ``ModelError`` if it is broken or yields unknown pieces.

    ``vocab_size`` is the number of pieces of the encoder, None without one.
    """
    tokenizer = tokenizer_file.read(path.read_bytes(), path)
    largest = num_ids(tokenizer) - 1
    size = largest + 1 if vocab_size is None else vocab_size
    if not 0 <= largest < size:
        raise ModelError(f"{path}: expected pieces from 0 to {size - 1}, got {largest}")
    special = recipe.vocabulary.get(SPECIAL_IDS)
    if not isinstance(special, dict):
        raise ModelError(f"{path.parent / RECIPE}: no special pieces in its vocabulary")
    for name in ("pad", "unk", "mask"):
        if type(special.get(name)) is not int or not 0 <= special[name] < size:
            raise ModelError(
                f"{path.parent / RECIPE}: vocabulary.{SPECIAL_IDS}.{name}: expected a "
                f"number from 0 to {size - 1}, got {special.get(name)!r:.60}"
            )
    subwords = subword_tokenizer(
        tokenizer, padding=special["pad"], unknown=special["unk"], mask=special["mask"]
    )
    largest_affix = max((*subwords.prefix, *subwords.suffix), default=0)
    if largest_affix >= size:
        raise ModelError(
            f"{path}: expected pieces from 0 to {size - 1} around a text, got {largest_affix}"
        )
    return subwords
