"""A model on disk: safetensors, its recipe, its tokenizer, a model card, a manifest of hashes.

    recipe.yaml  model.safetensors  tokenizer.json  README.md  manifest.json
    config.json (with a transformer)  trunk-0-vocabulary.txt (what other embedders keep)
    plugins.json (the parts of other packages that it needs)

Nothing in such a folder is ever run: no pickle, no code, no template. What it claims is checked
against the manifest, and the sizes its configuration asks for against the weights that are there,
before anything of that size is made. The plugins it names are compared with those that the user
installed or passed; nothing is imported because a folder names it.
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
from spanloom.data import tokenizer_file
from spanloom.data.subwords import SubwordTokenizer, subword_tokenizer
from spanloom.embedders import _encoder_check
from spanloom.embedders._base import Embedder, EmbedderType
from spanloom.embedders.static import Static
from spanloom.errors import DataError, ModelError, NameNotFound
from spanloom.model import build, model_card, plugin_parts, sharing
from spanloom.model.bounded import bounded
from spanloom.model.model import Model
from spanloom.model.network import Network, differing, shapes_of
from spanloom.model.precision import compute, prepare
from spanloom.model.quantization import StorageDtypes, pack, shapes, unpack
from spanloom.model.skip_init import SkipInit
from spanloom.tasks._base import Task
from spanloom.tokenization import word_tokenizer

RECIPE, WEIGHTS, TOKENIZER, CONFIG, CARD, LICENCE = (
    "recipe.yaml",
    "model.safetensors",
    "tokenizer.json",
    "config.json",
    "README.md",
    "LICENSE",
)
DEFAULT = "spanloom-en"
_NEEDED = (RECIPE, WEIGHTS, TOKENIZER)
_PARTS = ("*.yaml", "*.safetensors", "*.json", "*.md", "trunk-*", LICENCE)
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
    """Write a model in the place of the one before; ``figures`` are its dev scores.

    Raises ``ModelError`` for one whose weights were rounded to compute with.
    """
    if model.compute.int8:
        raise ModelError(f"{folder}: a model loaded as int8 cannot be saved; load it as fp32")
    with write_folder(folder, replace=True) as staging:
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
            for name, said in cast(Embedder, part).extra_files().items():
                (staging / _beside(row, name)).write_bytes(said.encode("utf-8"))
        (staging / CARD).write_text(model_card.write(model, figures), encoding="utf-8")


def default() -> Path:
    """Return the folder of the model that comes with the package; ``ModelError`` without one."""
    place = Path(str(inside("spanloom"))) / "models" / DEFAULT
    if not place.is_dir():
        raise ModelError(
            f"this copy of spanloom has no {DEFAULT}; name a model (-m MODEL), or make it: "
            f"recipes/{DEFAULT}.yaml"
        )
    return place


def load(
    place: str | Path | None = None, *, device: str | None = None, precision: str = "auto"
) -> Model:
    """Load a model from a folder, from the Hugging Face Hub by its id, or the default one.

    Raises ``ModelError`` where something is missing, altered, too large, or does not fit together,
    and what ``compute`` and ``prepare`` raise for a device and a precision.
    """
    folder, blobs = _fetched(default() if place is None else place)
    files = verify_folder(folder, blobs=blobs)
    missing = [name for name in _NEEDED if name not in files]
    if missing:
        raise ModelError(f"{folder}: no {missing[0]} (a model folder has {', '.join(_NEEDED)})")
    for name, path in files.items():
        if name != WEIGHTS and path.stat().st_size > _LARGEST_TEXT:
            raise ModelError(f"{path}: over {_LARGEST_TEXT} bytes; refused")
    weights = _weights(files[WEIGHTS])
    if CONFIG in files:
        _encoder_check.check(files[CONFIG], weights)
    recipe = plugin_parts.load_recipe(files[RECIPE], files.get(plugin_parts.FILE))
    tasks = _tasks(recipe, files[RECIPE])
    with torch.device("meta"), bounded(weights):
        planned = _network(recipe, tasks, files, folder)
    _check_shapes(files[WEIGHTS], weights, planned)
    encoder = planned.transformer
    cutter = _pieces(
        files[TOKENIZER], recipe, None if encoder is None else len(encoder.piece_embeddings)
    )
    build.check_window(recipe, cutter, planned)
    network = _network(recipe, tasks, files, folder)
    load_weights(folder, network)
    wanted = compute(precision, device)
    network.to(wanted.device).eval()
    chosen = prepare(network.transformer, wanted)
    split = word_tokenizer(recipe.tokenization.tokenizer, recipe.tokenization.sentence_splitter)
    return Model(recipe, split, cutter, network, tasks, chosen)


def card_of(place: str | Path | None = None) -> str:
    """Return the card of a model that ``load`` loads, "" where it has none; ``ModelError``."""
    folder, blobs = _fetched(default() if place is None else place)
    path = verify_folder(folder, blobs=blobs).get(CARD)
    return "" if path is None else path.read_text(encoding="utf-8", errors="replace")


def digest_of(place: str | Path | None = None) -> str:
    """Return SHA-256 of the manifest of a model that ``load`` loads, so of all that is in it."""
    folder, _ = _fetched(default() if place is None else place)
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()


def repack(place: str | Path, target: Path, store: StorageDtypes) -> None:
    """Write the model at ``place`` to ``target`` with its weights stored another way.

    Its card says so, once. Raises ``ModelError`` and ``StorageError``.
    """
    network = load(place, device="cpu", precision="fp32").network
    weights = pack(network.state_dict(), _tables(network), store)
    folder, blobs = _fetched(place)
    files = verify_folder(folder, blobs=blobs)
    with _copied(files, target) as staging:
        (staging / WEIGHTS).write_bytes(serialized(weights))
        before = (staging / CARD).read_text(encoding="utf-8") if CARD in files else ""
        (staging / CARD).write_text(model_card.stored(before, store), encoding="utf-8")


def rewrite(place: Path, texts: Mapping[str, str]) -> None:
    """Give a model other texts, by file: its card, its licence; all else stays as it is.

    Raises ``ModelError`` and ``StorageError``.
    """
    with _copied(verify_folder(place), place) as staging:
        for name, text in texts.items():
            (staging / name).write_text(text, encoding="utf-8")


def _tables(network: Network) -> frozenset[str]:
    """The names of the trunk's vectors that are looked up: of pieces, words, places, spellings."""
    found = set()
    for name, part in network.trunk.named_modules(prefix="trunk"):
        if isinstance(part, nn.Embedding):
            found.add(f"{name}.weight")
        elif isinstance(part, Static):
            found.add(f"{name}.table")
    return frozenset(found)


def _beside(row: int, name: str) -> str:
    """The file in a model folder that keeps what an embedder calls ``name``."""
    return CONFIG if name == CONFIG else f"trunk-{row}-{name}"


def copy(folder: Path, target: Path) -> None:
    """Copy a model folder whole to another place, in the place of the one before."""
    with _copied(verify_folder(folder), target):
        pass


@contextmanager
def _copied(files: Mapping[str, Path], target: Path) -> Iterator[Path]:
    """Yield a copy of some files, to be changed, which takes the place of the target at the end."""
    with write_folder(target, replace=True) as staging:
        for name, path in files.items():
            shutil.copyfile(path, staging / name)
        yield staging


def load_weights(folder: Path, network: nn.Module) -> None:
    """Load the weights of a model folder into a network of the same shape.

    Raises ``ModelError`` for a weight that is no number, or too large to be computed with.
    """
    weights = unpack(load_file(folder / WEIGHTS))
    for name, each in weights.items():
        if each.is_floating_point() and each.numel():
            least, most = map(float, each.aminmax())  # nan where any number is
            if not -_LARGEST <= least <= most <= _LARGEST:
                problem = f"expected numbers up to {_LARGEST:g}, got {least} to {most}"
                raise ModelError(f"{folder / WEIGHTS}: {name}: {problem}")
    network.load_state_dict(weights)


def _fetched(place: str | Path) -> tuple[Path, Path | None]:
    """Return the folder, and where the hub's cache keeps the files that its links lead to."""
    folder = Path(place)
    if folder.exists() or isinstance(place, Path):
        if not folder.is_dir():
            raise ModelError(f"{folder}: expected a model folder, found none")
        return folder, None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(str(place), allow_patterns=list(_PARTS)))
    except (HFValidationError, HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        first = str(error).splitlines()[0]
        raise ModelError(
            f"no model {str(place)!r}: no such folder, and the hub does not have it ({first})"
        ) from error
    return folder, folder.parents[1] / "blobs"


def _weights(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights in a file; nothing but its header is read."""
    try:
        with safe_open(path, "pt") as weights:
            slices = {name: weights.get_slice(name) for name in weights.keys()}
            header = {k: (each.get_dtype(), tuple(each.get_shape())) for k, each in slices.items()}
        return shapes(header)
    except SafetensorError as error:
        raise ModelError(f"{path}: not a whole safetensors file: {error}") from error
    except ValueError as error:
        raise ModelError(f"{path}: {error}") from error


def _tasks(recipe: recipes.Recipe, path: Path) -> Mapping[str, Task]:
    """Make the tasks; raises ``ModelError`` where their labels are not as training writes them."""
    for name in recipe.tasks:
        found = recipe.vocabulary.get(name)
        if not isinstance(found, dict):
            raise ModelError(f"{path}: no labels collected for task {name!r}")
        for key, value in found.items():
            if not is_valid_vocabulary(value):
                expected = "expected a text, a number, texts, or texts by name"
                raise ModelError(f"{path}: collected.{name}.{key}: {expected}, got {value!r:.60}")
    try:
        return sharing.tasks(recipe)
    except (NameNotFound, DataError) as error:
        raise ModelError(f"{path}: {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{path}: the collected labels are broken: {error!r:.200}") from error


def is_valid_vocabulary(value: object) -> bool:
    """Say whether training can have collected it: a text, a number, texts, or texts by name."""
    if isinstance(value, dict):
        return all(_texts(each) for each in value.values())
    return _texts(value) or isinstance(value, str | int | float)


def _texts(value: object) -> bool:
    """Whether it is a list of different texts."""
    return (
        isinstance(value, list)
        and all(isinstance(each, str) for each in value)
        and len(set(value)) == len(value)
    )


def _network(
    recipe: recipes.Recipe, tasks: Mapping[str, Task], files: Mapping[str, Path], folder: Path
) -> Network:
    """Build it, its weights not filled yet; raises ``ModelError`` where recipe and files clash."""

    def saved(row: int, kind: EmbedderType, options: object) -> nn.Module:
        mine = {}
        for name, path in files.items():
            if name == CONFIG or name.startswith(f"trunk-{row}-"):
                mine[name.removeprefix(f"trunk-{row}-")] = path.read_bytes().decode("utf-8")
        return kind.restore(options, mine)

    try:
        with SkipInit():
            return build.network(recipe, tasks, build.trunk(recipe, saved))
    except _UNBUILDABLE as error:
        first = (str(error).strip() or repr(error)).splitlines()[0]
        made_of = " and ".join(name for name in (RECIPE, CONFIG) if name in files)
        raise ModelError(f"{folder}: no network can be made of {made_of}: {first}") from error


def _check_shapes(path: Path, there: Mapping[str, tuple[int, ...]], planned: Network) -> None:
    """Compare the names and shapes of the weights with what the recipe needs."""
    for name, needed, found in differing(shapes_of(planned), there):
        raise ModelError(f"{path}: {name}: expected shape {needed}, got {found}")


def _pieces(path: Path, recipe: recipes.Recipe, known: int | None) -> SubwordTokenizer:
    """Load the tokenizer; raises ``ModelError`` where it is broken or makes unknown pieces.

    ``known`` is how many pieces an encoder has, None without one.
    """
    made = tokenizer_file.read(path.read_bytes(), path)
    largest = max(made.get_vocab(with_added_tokens=True).values(), default=-1)
    rows = largest + 1 if known is None else known
    if not 0 <= largest < rows:
        raise ModelError(f"{path}: expected pieces from 0 to {rows - 1}, got {largest}")
    special = recipe.vocabulary.get(recipes.SPECIAL_IDS)
    if not isinstance(special, dict):
        raise ModelError(f"{path.parent / RECIPE}: no special pieces in its vocabulary")
    for name in ("pad", "unk", "mask"):
        if type(special.get(name)) is not int or not 0 <= special[name] < rows:
            raise ModelError(
                f"{path.parent / RECIPE}: vocabulary.{recipes.SPECIAL_IDS}.{name}: expected a "
                f"number from 0 to {rows - 1}, got {special.get(name)!r:.60}"
            )
    cut = subword_tokenizer(
        made, padding=special["pad"], unknown=special["unk"], mask=special["mask"]
    )
    around = max((*cut.prefix, *cut.suffix), default=0)
    if around >= rows:
        raise ModelError(
            f"{path}: expected pieces from 0 to {rows - 1} around a text, got {around}"
        )
    return cut
