"""Probe a model: what logistic regression finds in the vectors of its trunk and its levels.

HMTL, "What did the embeddings and encoders learn?": a sentence's vector is the maximum, or the
mean, of its words' vectors in each dimension. Beside the model stand a bag of vectors and the same
levels with random weights.
"""

import copy
import csv
import io
import json
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from spanloom.config.specs import TRUNK
from spanloom.config.yaml import SourceLocation
from spanloom.corpora.probing_sets import SPLITS, ProbingSet
from spanloom.data.collate import bucket_by_length, collate
from spanloom.data.instance_readers import InstanceReader, SentenceReader
from spanloom.data.instances import InstanceLimits
from spanloom.document import SENTENCE, SENTENCES, WORD, WORDS, Document, Layer, Span
from spanloom.embedders import static
from spanloom.embedders._base import BuildContext
from spanloom.errors import PackageMissing
from spanloom.model.model import BATCH_WORDS, Model
from spanloom.model.network import Network
from spanloom.tensors import Batch

BAG, UNTRAINED = "bag of vectors", "untrained "
POOLINGS = ("max", "mean")
_PENALTIES = (0.01, 0.1, 1.0)  # inverse strengths, one of which dev chooses
_ITERATIONS = 200
_Z = 1.959964  # of an interval that holds the accuracy in 95 of 100 cases

Words = tuple[str, ...]
WordVectors = Callable[[Batch], Mapping[str, Float[Tensor, "word dim"]]]
Pooled = dict[tuple[str, str], Float[np.ndarray, "sentence dim"]]  # by vectors and pooling


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How many sentences of the test split a classifier labels right, of vectors and a pooling.

    ``low`` and ``high`` are Wilson's interval of 95 %. ``majority`` is the accuracy of always
    saying the most frequent label. ``sizes`` are the sentences of train, dev and test.
    """

    task: str
    vectors: str
    pooling: str
    accuracy: float
    low: float
    high: float
    majority: float
    classes: int
    sizes: tuple[int, int, int]


def probe(
    model: Model,
    sets: Sequence[ProbingSet],
    vectors: Path | None,
    log: Callable[[str], None],
    seed: int = 1,
) -> list[Accuracy]:
    """Return the accuracies of all tasks; ``vectors`` is a file of static vectors for the bag.

    Without a file the bag is the model's own static vectors, if its trunk has them. Raises
    ``PackageMissing`` without scikit-learn, and ``RecipeError`` for a file that is none of vectors.
    """
    PackageMissing.check("study probe", "studies", "sklearn")
    sentences = list(dict.fromkeys(example.words for task in sets for example in task.examples))
    log(f"{len(sentences):,} sentences are encoded")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        source = _word_vectors(model, vectors, sentences)
    pooled = encode(model, sentences, source)
    index = {words: row for row, words in enumerate(sentences)}
    accuracies = []
    for task in sets:
        log(f"{task.name}: {', '.join(f'{task.size(split):,} {split}' for split in SPLITS)}")
        rows = np.array([index[example.words] for example in task.examples])
        for (name, pooling), matrix in pooled.items():
            accuracies.append(_accuracy(task, name, pooling, matrix[rows]))
    return accuracies


def _word_vectors(model: Model, path: Path | None, sentences: Iterable[Words]) -> WordVectors:
    """Return a function from a batch to the vectors of its words, by what they are of."""
    network = model.network.eval()
    levels = list(network.levels)
    untrained = copy.deepcopy(network).eval()
    _reset(untrained.levels if levels else untrained.trunk)
    bag = _bag(network, path, sentences)

    def word_vectors(batch: Batch) -> dict[str, Float[Tensor, "word dim"]]:
        words = torch.cat([network.embed(row, batch) for row in range(len(network.trunk))], dim=-1)
        vectors = {} if bag is None else {BAG: bag(batch)}
        above = network.encode_above(words, batch, levels)
        vectors |= {name: above[name].word_vectors for name in (TRUNK, *levels)}
        if not levels:
            random = untrained.encode(batch, [TRUNK])
            return vectors | {f"{UNTRAINED}{TRUNK}": random[TRUNK].word_vectors}
        random = untrained.encode_above(words, batch, levels)
        return vectors | {f"{UNTRAINED}{name}": random[name].word_vectors for name in levels}

    return word_vectors


def _reset(part: nn.Module) -> None:
    """Give all modules of a part the random weights that torch starts with."""
    for module in part.modules():
        reset = getattr(module, "reset_parameters", None)
        if callable(reset):
            reset()


def _bag(network: Network, path: Path | None, sentences: Iterable[Words]) -> nn.Module | None:
    """Return the embedder of the bag of vectors, None if there are no static vectors."""
    if path is None:
        return next((part for part in network.trunk if isinstance(part, static.Static)), None)
    vocabulary = frozenset(word for words in sentences for word in words)
    context = BuildContext(path.parent, vocabulary)
    options = static.Options.model_validate({"static": path.name})
    return static.KIND.build(options, context, SourceLocation(str(path))).eval()


def encode(model: Model, sentences: Sequence[Words], word_vectors: WordVectors) -> Pooled:
    """Return the pooled vectors of sentences, in their order."""
    tokens = [model.tokenize(as_document(words)) for words in sentences]
    window = model.recipe.window
    reader, limits = InstanceReader(SentenceReader()), InstanceLimits(window, window)
    instances = [
        instance
        for row, tokenized in enumerate(tokens)
        for instance in reader.instances(row, tokenized, limits, model.tokenize_prompt)
    ]
    pooled: Pooled = {}
    counts = np.zeros((len(sentences), 1))
    for group in bucket_by_length(instances, BATCH_WORDS, window=window):
        batch = collate(group, model.subword_tokenizer, window).to(model.compute.device)
        with torch.no_grad(), model.compute.autocast():
            by_name = {name: rows.float().cpu() for name, rows in word_vectors(batch).items()}
        lengths = [len(instance.tokens) for instance in group]
        ends = list(accumulate(lengths))
        for instance, length, end in zip(group, lengths, ends, strict=True):
            row = instance.document  # a sentence that is too long for a window has several parts
            is_first = counts[row] == 0
            counts[row] += length
            for name, vectors in by_name.items():
                words = vectors[end - length : end].numpy()
                for pooling in POOLINGS:
                    shape = len(sentences), words.shape[1]
                    matrix = pooled.setdefault((name, pooling), np.zeros(shape, np.float32))
                    _add(matrix[row], words, pooling, is_first=bool(is_first))
    for (_, pooling), matrix in pooled.items():
        if pooling == "mean":
            matrix /= np.maximum(counts, 1)
    return pooled


def _add(row: np.ndarray, words: np.ndarray, pooling: str, *, is_first: bool) -> None:
    """Add words to the pooled vector of their sentence, in place."""
    if pooling == "mean":
        row += words.sum(0)
    else:
        row[:] = words.max(0) if is_first else np.maximum(row, words.max(0))


def as_document(words: Words) -> Document:
    """Return a document of one sentence that gives its words."""
    ends = list(accumulate(len(word) + 1 for word in words))
    bounds = [(end - len(word) - 1, end - 1) for word, end in zip(words, ends, strict=True)]
    spans = tuple(Span(f"T{n}", WORD, (bound,)) for n, bound in enumerate(bounds, 1))
    whole = Span(f"T{len(bounds) + 1}", SENTENCE, ((0, bounds[-1][1]),))
    return Document(" ".join(words), (Layer(WORDS, spans), Layer(SENTENCES, (whole,))))


def _accuracy(
    each: ProbingSet, name: str, pooling: str, matrix: Float[np.ndarray, "sentence dim"]
) -> Accuracy:
    """Train a classifier on train, choose its penalty on dev, and count what is right on test."""
    split_of = np.array([example.split for example in each.examples])
    labels = np.array([example.label for example in each.examples])
    train, dev, test = (split_of == split for split in SPLITS)
    mean, deviation = matrix[train].mean(0), matrix[train].std(0) + 1e-6
    scaled = (matrix - mean) / deviation
    fitted = [_fit(scaled[train], labels[train], penalty) for penalty in _PENALTIES]
    best = max(fitted, key=lambda model: (model.predict(scaled[dev]) == labels[dev]).sum())
    right, total = int((best.predict(scaled[test]) == labels[test]).sum()), int(test.sum())
    usual = Counter(labels[train].tolist()).most_common(1)[0][0]
    return Accuracy(
        each.name,
        name,
        pooling,
        right / total,
        *wilson(right, total),
        float((labels[test] == usual).mean()),
        len(set(labels.tolist())),
        (int(train.sum()), int(dev.sum()), total),
    )


def _fit(x: Float[np.ndarray, "sentence dim"], y: np.ndarray, penalty: float) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # dev chooses among what is there
        return LogisticRegression(C=penalty, max_iter=_ITERATIONS, tol=1e-3).fit(x, y)


def wilson(right: int, total: int) -> tuple[float, float]:
    """Return Wilson's interval of a proportion, 95 %."""
    p, square = right / total, _Z**2
    center = (p + square / (2 * total)) / (1 + square / total)
    half = _Z / (1 + square / total) * math.sqrt(p * (1 - p) / total + square / (4 * total**2))
    return center - half, center + half


def to_csv(accuracies: Sequence[Accuracy]) -> str:
    """Return a line per task, vectors and pooling."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = "task vectors pooling accuracy low high majority classes".split()
    writer.writerow([*names, "train", "dev", "test"])
    for accuracy in accuracies:
        row = asdict(accuracy)
        numbers = [f"{row[name]:.6f}" for name in ("accuracy", "low", "high", "majority")]
        kept = (
            accuracy.task,
            accuracy.vectors,
            accuracy.pooling,
            *numbers,
            accuracy.classes,
            *accuracy.sizes,
        )
        writer.writerow(kept)
    return stream.getvalue()


def to_json(accuracies: Sequence[Accuracy]) -> str:
    """Return the accuracies as JSON."""
    return json.dumps([asdict(accuracy) for accuracy in accuracies], indent=1) + "\n"


def to_text(accuracies: Sequence[Accuracy]) -> str:
    """Return a table like HMTL's table 6: a row per vectors, a column per task, in percent.

    Each number has half of its interval; below stand the majority and the sentences of test.
    """
    tasks = list(dict.fromkeys(accuracy.task for accuracy in accuracies))
    by_row: dict[str, dict[str, Accuracy]] = {}
    for accuracy in accuracies:
        by_row.setdefault(f"{accuracy.vectors}, {accuracy.pooling}", {})[accuracy.task] = accuracy
    first = next(iter(by_row.values()), {})
    lines = [["", *tasks]]
    for name, row in by_row.items():
        lines.append([name, *(_cell(row[task]) for task in tasks)])
    lines.append(["majority", *(f"{100 * first[task].majority:.1f}" for task in tasks)])
    lines.append(["train, dev, test", *("/".join(map(str, first[task].sizes)) for task in tasks)])
    widths = [max(len(line[column]) for line in lines) for column in range(len(tasks) + 1)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )


def _cell(accuracy: Accuracy) -> str:
    return f"{100 * accuracy.accuracy:.1f}±{50 * (accuracy.high - accuracy.low):.1f}"


def by_vectors(accuracies: Sequence[Accuracy]) -> Iterator[tuple[str, list[Accuracy]]]:
    """Yield what was measured of each kind of vectors."""
    for name in dict.fromkeys(accuracy.vectors for accuracy in accuracies):
        yield name, [accuracy for accuracy in accuracies if accuracy.vectors == name]
