"""Train from whatever there is: a recipe, a folder or file of documents, or documents in memory."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from spanloom.config import recipe as recipes
from spanloom.config.recipe import Recipe
from spanloom.corpora.files import LINES, holds_documents, is_file, problem_of
from spanloom.corpora.folder import with_names
from spanloom.document import Document
from spanloom.errors import DataError, RecipeError
from spanloom.formats import _files, jsonl
from spanloom.formats._text import UTF8
from spanloom.model import serialization
from spanloom.model.model import Model
from spanloom.model.plan import resolve
from spanloom.training import train as training
from spanloom.training.auto_recipe import propose_recipe
from spanloom.training.metrics_log import Log

RECIPES = (".yaml", ".yml", ".json")
_DOCUMENTS = "documents.jsonl"


def train(
    source: str | Path | Iterable[Document],
    out: str | Path | None = None,
    *,
    settings: Sequence[str] = (),
    encoding: str = UTF8,
    device: str | None = None,
    log: Log = print,
) -> Model:
    """Train a model as ``spanloom train`` does, and return the best one.

    ``source`` is a recipe, a folder or file of documents, or the documents themselves; without a
    recipe one is proposed, and without a dev split a tenth of the documents is held out. The model
    is written to ``out``; without ``out`` it is kept in memory alone. ``settings`` change the
    recipe, as ``["stages.0.epochs=3"]``; ``encoding`` is that of text files. Raises
    what ``training.train.train`` does.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="spanloom-")))
        if not isinstance(source, str | Path):
            if not (documents := list(with_names(source))):
                raise DataError("expected documents to learn from, got none")
            jsonl.write(folder / _DOCUMENTS, documents)
            proposal = propose_recipe(folder / _DOCUMENTS, _DOCUMENTS).recipe
            recipe, recipe_dir = recipes.loads(recipes.dumps(proposal), "recipe", settings), folder
        else:
            recipe, recipe_dir = read_recipe(Path(source), settings, log, encoding=encoding)
        model_dir = folder / "model" if out is None else Path(out)
        training.train(resolve(recipe, recipe_dir), model_dir, log, device=device)
        return serialization.load(model_dir, device=device)


def read_recipe(
    source: Path,
    settings: Sequence[str],
    log: Log,
    kinds: Mapping[str, str] = {},
    encoding: str = UTF8,
) -> tuple[Recipe, Path]:
    """Return a file's recipe, or one for data, and the folder where its relative paths begin.

    ``kinds`` gives the kind of task of some layers of data, ``encoding`` that of its text files;
    one other than UTF-8 replaces that of a recipe. Raises ``DataError`` for what is
    neither a recipe nor data, and what ``propose_recipe`` does; ``RecipeError`` for a wrong recipe,
    or for one with ``kinds``.
    """
    if source.suffix in RECIPES and not (source.suffix == ".json" and is_file(source, encoding)):
        if kinds:
            raise RecipeError(str(source), None, "is a recipe: its kinds of tasks stand in it")
        encoding_setting = [] if encoding == UTF8 else [f"encoding={encoding}"]
        return recipes.load(source, [*settings, *encoding_setting]), source.parent
    if not source.exists():
        raise DataError(f"{source}: no such recipe, folder or file")
    if not source.is_dir() and not holds_documents(source, encoding):
        if broken := problem_of(source, encoding):
            raise broken
        expected = "expected a recipe (.yaml), a folder or a file of documents"
        hint = "spanloom convert --from NAME reads other files"
        raise DataError(f"{source}: {expected}; {hint}")
    if source.is_file() and source.suffix != f".{LINES}":
        log(f"{source}: read as {_files.describe(source, encoding)}")
    proposal = propose_recipe(source, str(source.absolute()), kinds, encoding)
    for line in proposal.lines():
        log(line)
    return recipes.loads(recipes.dumps(proposal.recipe), str(source), settings), Path()
