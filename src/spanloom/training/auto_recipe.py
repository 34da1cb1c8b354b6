"""Propose a recipe for a corpus: one task per layer, with settings that did well elsewhere."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.config.options import model_at
from spanloom.config.recipe import Recipe
from spanloom.config.yaml import Keys
from spanloom.corpora import folder
from spanloom.corpora.splits import is_split
from spanloom.document import MAIN, Document, Layer
from spanloom.errors import DataError
from spanloom.formats._text import UTF8
from spanloom.metrics.counts import Counts, total
from spanloom.quantity import quantity
from spanloom.tokenization import TOKENIZERS, given_words, word_tokenizer
from spanloom.training.layer_kinds import LayerSample, Suggestion, samples, suggest, suggestion
from spanloom.training.layer_shapes import with_shapes

LONG = 100  # words: a longer line is rather a paragraph than a sentence
SHORT_LINES = 0.95  # share of short lines from which on each line is taken for a sentence
_WRAPPED = 0.2  # share of line breaks in mid-sentence from which on text is taken for wrapped
_FULL = 0.7  # of the longest line: a line that long may have been wrapped
_FINAL = '.!?:;"”»)'  # what ends a line that is a sentence
_EPOCHS = 8, 250_000  # this many did well on so many words; fewer words need more
_FEWEST, _MOST = 4, 40
_FEW_WORDS = 50_000  # below that, more and smaller updates learn sooner
_SMALL_BATCHES: dict[str, Any] = {"batch_words": 384, "warmup_updates": 20}
_BATCHES: dict[str, Any] = {"batch_words": 768}
# kinds that judge whole texts: they need gentler rates, or the encoder unlearns what it knew
_OF_TEXTS = frozenset(
    {
        *("text_classification", "text_regression"),
        *("extractive_classification", "extractive_regression", "extractive_qa"),
    }
)
_SPAN_TRUNK = {"transformer": "minilm", "freeze_embeddings": True, "casing_embeddings": True}
_TEXT_TRUNK = {"transformer": "minilm", "layers": "last"}
_SPAN_STAGE: dict[str, Any] = {"lr": {"encoder": 2e-4, "task": 2e-3}, "ema_decay": 0.998}
_TEXT_STAGE: dict[str, Any] = {"lr": {"encoder": 2e-4, "task": 1e-3}}
_LOOKED = 200  # documents from which on some tell as well as all how words are split
_NAME = re.compile(r"[^\w-]+")
# single words that torch's containers of modules use; ``model.plan`` refuses them in any recipe
_RESERVED = frozenset(
    "apply bfloat16 buffers children clear compile cpu cuda double eval float forward half ipu "
    "items keys modules mtia parameters pop to train training type update values xpu".split()
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A recipe, notes on the data by the recipe's keys, and how many problems its files have."""

    recipe: Recipe
    notes: dict[Keys, str]
    num_problems: int = 0

    def lines(self) -> list[str]:
        """Return a line a task: its kind, why, and what there is to learn from."""
        return [
            f"task {name}: {task.kind} ({self.notes['tasks', name, 'kind']}; "
            f"{self.notes['tasks', name]})"
            for name, task in self.recipe.tasks.items()
        ]


def propose_recipe(
    path: Path, data: str, kinds: Mapping[str, str] = {}, encoding: str = UTF8
) -> Proposal:
    """Read the corpus at ``path`` and propose a recipe whose ``data`` is ``data``.

    ``kinds`` gives the kind of task of some layers; the annotations of others decide theirs. Raises
    ``DataError`` if no layer has annotations or ``kinds`` names another layer, ``NameNotFound`` for
    an unknown kind, and what ``corpora.folder.read`` raises.
    """
    splits = folder.splits(path, encoding)
    split = "train" if "train" in splits else next(iter(splits))
    corpus = folder.read(path, split, encoding=encoding)
    documents = corpus.documents
    layers = _samples(path, documents, kinds)
    word_splits = {"tokenizer": words(documents), "sentence_splitter": sentences(documents)}
    tokenizer = word_tokenizer(word_splits["tokenizer"], word_splits["sentence_splitter"])
    suggestions = {
        name: with_shapes(
            suggestion(kinds[name], "as asked") if name in kinds else suggest(sample),
            sample,
            tokenizer,
            keep_kind=name in kinds,
        )
        for name, sample in layers.items()
    }
    tasks, notes = _tasks(layers, suggestions, path, data)
    num_words = sum(len(document.text.split()) for document in documents)
    of_texts = all(task["kind"] in _OF_TEXTS for task in tasks.values())
    stage = {
        "tasks": list(tasks),
        "epochs": epochs(num_words),
        **(_SMALL_BATCHES if num_words < _FEW_WORDS else _BATCHES),
        **(_TEXT_STAGE if of_texts else _SPAN_STAGE),
    }
    raw = {
        "trunk": [_TEXT_TRUNK if of_texts else _SPAN_TRUNK],
        "tasks": tasks,
        "tokenization": word_splits,
        "encoding": encoding,
        "stages": [stage],
    }
    recipe = recipes.from_plain(raw, f"recipe for {path}")
    return Proposal(recipe, notes, len(corpus.problems))


def _samples(
    path: Path, documents: Sequence[Document], kinds: Mapping[str, str]
) -> dict[str, LayerSample]:
    """Return a sample of each layer that has annotations; check the kinds that layers are given."""
    layers = samples(documents)
    if not layers:
        layer_names = sorted({layer.name for document in documents for layer in document.layers})
        raise DataError(
            f"{path}: {quantity(len(documents), 'document')} without annotations to learn from "
            f"(layers there: {', '.join(layer_names) or 'none'})"
        )
    for layer, kind in kinds.items():
        if layer not in layers:
            raise DataError(f"{path}: no layer {layer!r} to learn ({', '.join(layers)})")
        _check_kind(kind)
    return layers


def words(documents: Sequence[Document]) -> str:
    """Return the tokenizer with the highest F1 on words that documents give, else "char-class"."""
    given = [
        (document.text, set(tokenization.words))
        for document in documents
        if (tokenization := given_words(document)) is not None
    ]
    sample = given[:: max(1, len(given) // _LOOKED)]
    if not sample:
        return "char-class"

    def word_f1(name: str) -> float:
        pairs = [(words, set(TOKENIZERS[name](text))) for text, words in sample]
        return total(Counts(len(a & b), len(b), len(a)) for a, b in pairs).f1

    return max(TOKENIZERS, key=word_f1)


def sentences(documents: Iterable[Document]) -> str:
    """Return "newline" if lines seem to be sentences, else "punctuation".

    They do not where more than a few are as long as paragraphs, or many break in mid-sentence.
    """
    num_lines = num_long = num_breaks = num_wrapped = 0
    for document in documents:
        lines = document.text.splitlines()
        counts = [len(line.split()) for line in lines]
        num_lines += sum(count > 0 for count in counts)
        num_long += sum(count > LONG for count in counts)
        longest = max(map(len, lines), default=0)
        filled = [pair for pair in pairwise(lines) if all(line.strip() for line in pair)]
        num_breaks += len(filled)
        if document.text.lstrip()[:1].isupper():  # small letters mean something in this text
            num_wrapped += sum(_is_wrapped(*pair, longest) for pair in filled)
    has_paragraphs = num_long > (1 - SHORT_LINES) * num_lines
    is_wrapped = num_wrapped > _WRAPPED * num_breaks
    return "punctuation" if has_paragraphs or is_wrapped else "newline"


def _is_wrapped(line: str, following: str, longest: int) -> bool:
    """Return whether a sentence seems to go on after a line, which is almost the longest."""
    is_full = len(line) >= _FULL * longest
    return is_full and line.rstrip()[-1] not in _FINAL and following.lstrip()[0].islower()


def epochs(words: int) -> int:
    """Return a number of epochs for a corpus of so many words."""
    times, usual = _EPOCHS
    return min(max(round(times * sqrt(sqrt(usual / max(words, 1)))), _FEWEST), _MOST)


def _check_kind(kind: str) -> None:
    """Raise ``NameNotFound`` for a kind of task that does not exist."""
    from spanloom import tasks  # with torch, which nothing else here needs

    tasks.load(kind)


def _tasks(
    layers: Mapping[str, LayerSample],
    suggestions: Mapping[str, Suggestion],
    path: Path,
    data: str,
) -> tuple[dict[str, Any], dict[Keys, str]]:
    """Return one task per layer, and notes on each."""
    tasks: dict[str, Any] = {}
    notes: dict[Keys, str] = {}
    for layer, sample in layers.items():
        name = _name(_corpus_name(path) if layer == MAIN else layer, tasks)
        suggested = suggestions[layer]
        tasks[name] = {
            "data": data,
            "kind": suggested.kind,
            "layer": layer,
            **suggested.options,
        }
        notes["tasks", name] = _summary(sample.layers)
        notes["tasks", name, "kind"] = suggested.reason
        if "spans_per_word" in suggested.options:
            notes["tasks", name, "spans_per_word"] = (
                "spans kept for pairs, times the sentence's words"
            )
    return tasks, notes


def _corpus_name(path: Path) -> str:
    """Return how a folder or file is called; of one that is a split, how its folder is."""
    path = path.resolve()
    return path.parent.name if is_split(path.stem) else path.stem


def _name(stem: str, taken: Collection[str]) -> str:
    """Return a name for a task that is not taken, by another task or by torch."""
    name = base = _NAME.sub("-", stem).strip("-") or "task"
    number = 2
    while name in taken or name in _RESERVED:
        name, number = f"{base}-{number}", number + 1
    return name


def _summary(layers: Sequence[Layer]) -> str:
    """Return a summary of the annotations of a layer."""
    counts = [quantity(len(layers), "document")]
    for noun in ("span", "relation", "event", "attribute"):
        labels = Counter(
            annotation.label for layer in layers for annotation in getattr(layer, f"{noun}s")
        )
        if labels:
            of_labels = quantity(len(labels), "label")
            counts.append(f"{quantity(labels.total(), noun)} of {of_labels}")
    return ", ".join(counts)


def with_comments(recipe: Recipe, notes: Mapping[Keys, str]) -> str:
    """Return a recipe as YAML with a short comment per key; it loads back to an equal recipe.

    ``notes`` explains other keys, by their path: ``("tasks", "wlp", "spans_per_word")``.
    """
    lines = yaml.dump(recipes.to_plain(recipe), width=2**20).splitlines()
    comments: dict[int, str] = {}
    for keys, (_, line) in yaml.loads("\n".join(lines), "recipe").location.lines.items():
        note = notes.get(keys) or _description(keys)
        if note and line and line not in comments:  # of the first key of a line
            comments[line] = note
    return "".join(
        f"{line}  # {comments[number]}\n" if number in comments else f"{line}\n"
        for number, line in enumerate(lines, 1)
    )


def _description(keys: Keys) -> str | None:
    """Return the description of a key in the recipe's frame."""
    model = model_at(Recipe, keys[:-1]) if keys else None
    field = model.model_fields.get(str(keys[-1])) if model else None
    return field.description if field else None
