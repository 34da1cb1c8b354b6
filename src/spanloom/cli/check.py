"""``spanloom check``: what a corpus contains, and what a model cannot reach in it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanloom.cli.console import WrongUse, log, write_stdout
from spanloom.cli.options import Encoding, Workers
from spanloom.document import WORDS
from spanloom.errors import DataError

if TYPE_CHECKING:
    from spanloom.config.recipe import Recipe
    from spanloom.config.tokenization import TokenizationSpec
    from spanloom.corpora.folder import Corpus
    from spanloom.corpora.reachability import ModelLimits
    from spanloom.workers.calls import Mapper


def check(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="corpus folder or file")],
    recipe: Annotated[
        Path | None, typer.Option("--recipe", metavar="R", help="split words and limit as it says")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("-m", "--model", help="split words and limit as it does")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="numbers as JSON")] = False,
    workers: Workers = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Count labels, widths and shapes; report mistakes in files, and what no model can find.

    Without a recipe or model, spans may be of any width, and nest where those of the data do.

    Example: spanloom check protocols/ --recipe recipe.yaml
    """
    from spanloom.cli.document_mapper import open_mapper
    from spanloom.corpora.check import check as judge
    from spanloom.corpora.folder import pause_gc
    from spanloom.corpora.report import to_json, to_text

    if recipe is not None and model is not None:
        raise WrongUse("--recipe and -m name two models; say one of them")
    with open_mapper(workers, data) as mapper, pause_gc():
        corpora = _read(data, encoding, mapper)
        model_recipe = _recipe(recipe, model)
        limits = _model_limits(model_recipe, corpora)
        report = judge(corpora, limits, mapper)
    ceilings = _coreference_ceilings(model_recipe, corpora, limits) if model_recipe else {}
    if as_json:
        more = {"coreference_ceilings": ceilings} if ceilings else {}
        write_stdout(json.dumps(to_json(report) | more, indent=1))
        return
    lines = [
        f"{name}: the antecedents that the model looks at leave a CoNLL average of at most "
        + ", ".join(f"{100 * value:.1f} ({split})" for split, value in by_split.items())
        for name, by_split in ceilings.items()
    ]
    write_stdout("\n".join([to_text(report), *lines]))


def _read(data: Path, encoding: str, mapper: "Mapper") -> "dict[str, Corpus]":
    """Return the documents of each split; raises ``DataError`` if nothing can be read."""
    from spanloom.cli.document_batches import BratReader
    from spanloom.corpora import folder

    reader = BratReader(mapper)
    corpora = {
        split: folder.read(data, split, skip_unreadable=True, encoding=encoding, read_brat=reader)
        for split in folder.splits(data)
    }
    if not any(corpus.documents for corpus in corpora.values()):
        first = next(problem for corpus in corpora.values() for problem in corpus.problems)
        raise DataError(f"{data}: nothing can be read: {first}")
    formats = {name for corpus in corpora.values() for name in corpus.formats}
    log(f"{data}: read as {', '.join(sorted(formats))}")
    return corpora


def _model_limits(recipe: "Recipe | None", corpora: "Mapping[str, Corpus]") -> "ModelLimits":
    """Return the limits of a model, and log how it splits words and sentences."""
    from spanloom.corpora.reachability import ModelLimits
    from spanloom.tokenization import word_tokenizer

    words = recipe.tokenization if recipe else _words(corpora)
    given = any(
        document.has_layer(WORDS) for corpus in corpora.values() for document in corpus.documents
    )
    kept = "those that documents give, else " if given else ""
    log(f"words: {kept}{words.tokenizer}, sentences: {words.sentence_splitter}")
    tokenizer = word_tokenizer(words.tokenizer, words.sentence_splitter)
    return ModelLimits(tokenizer, **_limits(recipe, corpora))


def _recipe(recipe: Path | None, model: Path | None) -> "Recipe | None":
    """Return the recipe, or the model's; a model folder is verified before it is read."""
    from spanloom.atomic_io import verify_folder
    from spanloom.config.recipe import load
    from spanloom.model.plugin_parts import FILE, load_recipe

    if model is not None:
        files = verify_folder(model)
        return load_recipe(model / "recipe.yaml", files.get(FILE))
    return None if recipe is None else load(recipe)


def _coreference_ceilings(
    recipe: "Recipe", corpora: "Mapping[str, Corpus]", limits: "ModelLimits"
) -> dict[str, dict[str, float]]:
    """Return the CoNLL average of perfect scores, by coreference task and split."""
    from spanloom.corpora.antecedent_reach import AntecedentReach

    ceilings: dict[str, dict[str, float]] = {}
    for name, task in recipe.tasks.items():
        documents_by_split = {
            split: [document for document in corpus.documents if document.has_layer(task.layer)]
            for split, corpus in corpora.items()
        }
        if task.kind == "coreference":
            reach = AntecedentReach.of_task(task.options | recipe.vocabulary.get(name, {}))
            ceilings[name] = {
                split: reach.ceiling(documents, task.layer, limits.split)
                for split, documents in documents_by_split.items()
                if documents
            }
    return ceilings


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


def _limits(recipe: "Recipe | None", corpora: Mapping[str, "Corpus"]) -> dict[str, Any]:
    """Return the limits of a model: the widest span of any task, whether spans of a task may nest.

    What a task of the recipe has options for counts as in reach of the model.
    """
    from spanloom.annotation.nesting import has_nesting
    from spanloom.corpora.reachability import RELATION_HORIZON

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
    shaped = {
        name: any(options.get(name) for options in tasks)
        for name in ("multi_label", "discontinuous", "several_events")
    }
    bounds = (
        [
            bounds
            for span in layer.spans
            for bounds in (span.fragments if shaped["discontinuous"] else [(span.start, span.end)])
        ]
        for document in first.documents
        for layer in document.layers
    )
    horizons = [
        options.get("relation_horizon", RELATION_HORIZON)
        for options in tasks
        if options.get("relation_scope") == "document"
    ]
    return {
        "width": max(known_widths) if known_widths and len(known_widths) == len(widths) else None,
        "nested": any(nested_options) if nested_options else has_nesting(bounds),
        "relation_horizon": max(horizons, default=None),
        **shaped,
    }
