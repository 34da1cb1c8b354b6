"""``spanloom check``: what a corpus contains, and what a model cannot reach in it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanloom.cli.console import WrongUse, log, write_stdout
from spanloom.document import WORDS

if TYPE_CHECKING:
    from spanloom.config.recipe import Recipe
    from spanloom.config.tokenization import TokenizationSpec
    from spanloom.corpora.folder import Corpus


def check(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="corpus folder or file")],
    recipe: Annotated[
        Path | None, typer.Option("--recipe", metavar="R", help="split words and limit as it says")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("-m", "--model", help="split words and limit as it does")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="numbers as JSON")] = False,
) -> None:
    """Count labels, widths and shapes; report mistakes in files, and what no model can find.

    Without a recipe or model, spans may be of any width, and nest where those of the data do.

    Example: spanloom check protocols/ --recipe recipe.yaml
    """
    from spanloom.corpora import folder
    from spanloom.corpora.check import check as judge
    from spanloom.corpora.reachability import ModelLimits
    from spanloom.corpora.report import to_json, to_text
    from spanloom.tokenization import word_tokenizer

    if recipe is not None and model is not None:
        raise WrongUse("--recipe and -m name two models; say one of them")
    corpora = {split: folder.read(data, split) for split in folder.splits(data)}
    formats = {name for corpus in corpora.values() for name in corpus.formats}
    log(f"{data}: read as {', '.join(sorted(formats))}")
    model_recipe = _recipe(recipe, model)
    words = model_recipe.tokenization if model_recipe else _words(corpora)
    width, nested = _limits(model_recipe, corpora)
    given = any(
        document.has_layer(WORDS) for corpus in corpora.values() for document in corpus.documents
    )
    kept = "those that documents give, else " if given else ""
    log(f"words: {kept}{words.tokenizer}, sentences: {words.sentence_splitter}")
    reach = ModelLimits(word_tokenizer(words.tokenizer, words.sentence_splitter), width, nested)
    report = judge(corpora, reach)
    write_stdout(json.dumps(to_json(report), indent=1) if as_json else to_text(report))


def _recipe(recipe: Path | None, model: Path | None) -> "Recipe | None":
    """Return the recipe, or the model's; a model folder is verified before it is read."""
    from spanloom.atomic_io import verify_folder
    from spanloom.config.recipe import load
    from spanloom.model.plugin_parts import FILE, load_recipe

    if model is not None:
        files = verify_folder(model)
        return load_recipe(model / "recipe.yaml", files.get(FILE))
    return None if recipe is None else load(recipe)


def _words(corpora: Mapping[str, "Corpus"]) -> "TokenizationSpec":
    """Return how a recipe made from this data would split its texts."""
    from spanloom.config.options import validate_options
    from spanloom.config.tokenization import TokenizationSpec
    from spanloom.config.yaml import SourceLocation
    from spanloom.training.auto_recipe import sentences

    documents = [document for corpus in corpora.values() for document in corpus.documents]
    return validate_options(
        TokenizationSpec,
        {"sentence_splitter": sentences(documents)},
        SourceLocation("tokenization"),
    )


def _limits(recipe: "Recipe | None", corpora: Mapping[str, "Corpus"]) -> tuple[int | None, bool]:
    """Return the widest span of any task, and whether spans of a task may nest."""
    from spanloom.annotation.nesting import has_nesting

    tasks: list[dict[str, Any]] = []
    if recipe is not None:
        tasks = [
            {**spec.options, **recipe.vocabulary.get(name, {})}
            for name, spec in recipe.tasks.items()
        ]
    widths = [options.get("max_span_width") for options in tasks]
    known_widths = [width for width in widths if width is not None]
    nested_options = [options["nested"] for options in tasks if options.get("nested") is not None]
    first = corpora.get("train") or next(iter(corpora.values()))
    bounds = (
        [(span.start, span.end) for span in layer.spans]
        for document in first.documents
        for layer in document.layers
    )
    nested = any(nested_options) if nested_options else has_nesting(bounds)
    return (
        max(known_widths) if known_widths and len(known_widths) == len(widths) else None
    ), nested
