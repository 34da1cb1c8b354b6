"""``spanloom check``: what a corpus contains, and what a model cannot reach in it."""

import json
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanloom.cli.console import WrongUse, log, write_stdout
from spanloom.cli.options import Encoding, Workers
from spanloom.document import WORDS
from spanloom.errors import DataError
from spanloom.quantity import quantity

if TYPE_CHECKING:
    from spanloom.config.recipe import Recipe
    from spanloom.config.tokenization import TokenizationSpec
    from spanloom.corpora.folder import Corpus
    from spanloom.corpora.layer_limits import CorpusLimits
    from spanloom.corpora.reachability import ModelLimits
    from spanloom.document import Document, Layer
    from spanloom.tokenization import Split
    from spanloom.workers.calls import Mapper


def check(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="corpus folder or file")],
    recipe: Annotated[
        Path | None, typer.Option("--recipe", metavar="R", help="split words and limit as it says")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "-m", "--model", help="model folder or hub id: split words and limit as it does"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="numbers as JSON")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="exit 1 if files have problems")] = False,
    workers: Workers = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Count labels, widths and shapes; report mistakes in files, and what no model can find.

    A layer has the limits of the tasks that learn it or, without a recipe or model, of the kind
    that spanloom init proposes: spans may be of any width, and nest where those of the data do.
    Mistakes are also those of annotation.conf, and types that it does not declare.

    Example: spanloom check protocols/ --recipe recipe.yaml
    """
    from spanloom.cli.document_mapper import open_mapper
    from spanloom.corpora.check import check as judge
    from spanloom.corpora.conf_problems import conf_problems
    from spanloom.corpora.folder import pause_gc
    from spanloom.corpora.report import to_json, to_text

    if recipe is not None and model is not None:
        raise WrongUse("--recipe and -m name two models; say one of them")
    with open_mapper(workers, data) as mapper, pause_gc():
        corpora = _read(data, encoding, mapper)
        model_recipe = _recipe(recipe, model)
        limits = _corpus_limits(model_recipe, corpora)
        report = judge(corpora, limits, mapper)
        for name, problems in conf_problems(data, corpora, encoding).items():
            report.splits[name].problems += problems
    split = limits.default.split
    ceilings = _coreference_ceilings(model_recipe, corpora, split) if model_recipe else {}
    if as_json:
        more = {"coreference_ceilings": ceilings} if ceilings else {}
        write_stdout(json.dumps(to_json(report) | more, indent=1))
    else:
        write_stdout("\n".join([to_text(report), *_ceiling_lines(ceilings)]))
    num_problems = sum(len(checked.problems) for checked in report.splits.values())
    if strict and num_problems:
        raise DataError(f"{data}: {quantity(num_problems, 'problem')} in the files (--strict)")


def _ceiling_lines(ceilings: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a line for each coreference task."""
    return [
        f"{name}: the antecedents that the model looks at leave a CoNLL average of at most "
        + ", ".join(f"{100 * value:.1f} ({split})" for split, value in by_split.items())
        for name, by_split in ceilings.items()
    ]


def _read(data: Path, encoding: str, mapper: "Mapper") -> "dict[str, Corpus]":
    """Return the documents of each split; raises ``DataError`` if nothing can be read."""
    from spanloom.cli.document_batches import BratReader
    from spanloom.corpora import folder

    reader = BratReader(mapper)
    corpora = {
        split: folder.read(data, split, skip_unreadable=True, encoding=encoding, read_brat=reader)
        for split in folder.splits(data, encoding)
    }
    if not any(corpus.documents for corpus in corpora.values()):
        first = next(problem for corpus in corpora.values() for problem in corpus.problems)
        raise DataError(f"{data}: nothing can be read: {first}")
    formats = {name for corpus in corpora.values() for name in corpus.formats}
    log(f"{data}: read as {', '.join(sorted(formats))}")
    return corpora


def _corpus_limits(recipe: "Recipe | None", corpora: "Mapping[str, Corpus]") -> "CorpusLimits":
    """Return the limits of each layer, and log how words and sentences are split.

    They are those of the tasks that learn a layer, else of the kind that ``init`` proposes for it.
    """
    from spanloom.corpora.check import layers_by_name
    from spanloom.corpora.layer_limits import CorpusLimits, limits_of_kind
    from spanloom.corpora.reachability import ModelLimits
    from spanloom.tokenization import word_tokenizer

    words = recipe.tokenization if recipe else _words(corpora)
    given = any(
        document.has_layer(WORDS) for corpus in corpora.values() for document in corpus.documents
    )
    kept = "those that documents give, else " if given else ""
    log(f"words: {kept}{words.tokenizer}, sentences: {words.sentence_splitter}")
    tokenizer = word_tokenizer(words.tokenizer, words.sentence_splitter)
    first = corpora.get("train") or next(iter(corpora.values()))
    layers = layers_by_name(first.documents)
    of_tasks = {} if recipe is None else _limits_of_tasks(recipe, tokenizer, layers)
    proposed = {
        layer: limits_of_kind(tokenizer, kind, {}, layers[layer])
        for layer, kind in _proposed_kinds(first.documents, layers.keys() - of_tasks).items()
    }
    without_task = frozenset() if recipe is None else frozenset(proposed)
    return CorpusLimits(ModelLimits(tokenizer), proposed | of_tasks, without_task)


def _proposed_kinds(documents: Sequence["Document"], layers: Set[str]) -> dict[str, str]:
    """Return the kind that ``spanloom init`` proposes for each of some layers with annotations."""
    from spanloom.training.layer_kinds import samples
    from spanloom.training.layer_shapes import proposed_kind

    if not layers:
        return {}
    return {
        name: proposed_kind(sample) for name, sample in samples(documents).items() if name in layers
    }


def _recipe(recipe: Path | None, model: str | None) -> "Recipe | None":
    """Return the recipe, or the model's; a model folder is verified before it is read."""
    from spanloom.config.recipe import load

    if model is not None:
        from spanloom.model.serialization import load_recipe  # with torch

        return load_recipe(model)
    return None if recipe is None else load(recipe)


def _coreference_ceilings(
    recipe: "Recipe", corpora: "Mapping[str, Corpus]", split: "Split"
) -> dict[str, dict[str, float]]:
    """Return the CoNLL average of perfect scores, by coreference task and split."""
    from spanloom.corpora.antecedent_reach import AntecedentReach

    ceilings: dict[str, dict[str, float]] = {}
    for name, task in recipe.tasks.items():
        documents_by_split = {
            part: [document for document in corpus.documents if document.has_layer(task.layer)]
            for part, corpus in corpora.items()
        }
        if task.kind == "coreference":
            reach = AntecedentReach.of_task(task.options | recipe.vocabulary.get(name, {}))
            ceilings[name] = {
                part: reach.ceiling(documents, task.layer, split)
                for part, documents in documents_by_split.items()
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


def _limits_of_tasks(
    recipe: "Recipe", split: "Split", layers: Mapping[str, Sequence["Layer"]]
) -> dict[str, "ModelLimits"]:
    """Return the limits of each layer that tasks of the recipe learn; vocabularies come first."""
    from spanloom.corpora.layer_limits import LEARNS_NO_LAYER, join_limits, limits_of_kind

    limits: dict[str, list[ModelLimits]] = {}
    for name in recipe.kept_tasks:
        task = recipe.tasks[name]
        if task.kind in LEARNS_NO_LAYER:
            continue
        options = task.options | recipe.vocabulary.get(name, {})
        for layer in {task.layer, *(part.layer for part in recipe.corpora.get(task.data, ()))}:
            task_limits = limits_of_kind(split, task.kind, options, layers.get(layer, ()))
            limits.setdefault(layer, []).append(task_limits)
    return {layer: join_limits(of_tasks) for layer, of_tasks in limits.items()}
