"""The loss of n-gram models on masked pieces: what a masked language model has to beat.

    python benchmarks/ngram_baselines.py recipes/pretraining/tiny.yaml [--trigram] [--json FILE]
    python benchmarks/ngram_baselines.py RECIPE --tasks spans-sbo spans

The text, the dev documents and the masks are those that ``spanloom pretrain`` evaluates with. The
bigram knows the true left neighbour of each masked piece, the trigram the true two. Both are
interpolated with shorter ones; the weights are those that EM finds on every fiftieth document
(Jelinek and Mercer 1980), which is not counted.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt

from spanloom.atomic_io import write_file
from spanloom.config import recipe as recipes
from spanloom.data.collate import collate
from spanloom.data.text_corpus import TextCorpus
from spanloom.model.model import Model
from spanloom.model.plan import resolve
from spanloom.studies.job import subset
from spanloom.tasks.masked_lm import MaskedLMTask
from spanloom.training.prepare import PreparedData
from spanloom.training.train import new_model

STEPS = 20  # of EM
HELD_OUT = 50  # every so many documents one, so of all sources of the text

Pieces = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


class NGrams:
    """Relative frequencies of pieces after 0 to ``order - 1`` pieces, to be mixed."""

    def __init__(self, sequences: Sequence[Pieces], order: int, vocabulary: int) -> None:
        """``sequences`` are arrays of pieces; no n-gram crosses the end of one."""
        self.order, self.vocabulary = order, vocabulary
        self.counts = [self._count(sequences, n) for n in range(1, order + 1)]
        self.weights = np.full(order + 1, 1 / (order + 1))  # uniform, unigram, bigram, …

    def _codes(self, pieces: Pieces, n: int) -> Pieces:
        """Return a number per position for the n pieces that end there; -1 for fewer."""
        codes = np.zeros(len(pieces), np.int64)
        for back in range(n - 1, -1, -1):
            shifted = np.full(len(pieces), -1, np.int64)
            shifted[back:] = pieces[: len(pieces) - back]
            codes = np.where((codes < 0) | (shifted < 0), -1, codes * self.vocabulary + shifted)
        return codes

    def _count(self, sequences: Sequence[Pieces], n: int) -> tuple[Pieces, Pieces]:
        codes = np.concatenate([self._codes(pieces, n) for pieces in sequences])
        known, counts = np.unique(codes[codes >= 0], return_counts=True)
        return known, counts.astype(np.int64)

    def _frequency(self, codes: Pieces, n: int) -> Pieces:
        known, counts = self.counts[n - 1]
        rows = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        frequency: Pieces = np.where(known[rows] == codes, counts[rows], 0)
        return frequency

    def probabilities(self, pieces: Pieces) -> Numbers:
        """Return (position, order + 1): each model's probability of the pieces of a sequence."""
        columns = [np.full(len(pieces), 1 / self.vocabulary)]
        total = self.counts[0][1].sum()
        for n in range(1, self.order + 1):
            ends = self._frequency(self._codes(pieces, n), n)
            if n == 1:
                starts = np.full(len(pieces), total)
            else:
                before = self._codes(pieces, n - 1)
                starts = np.concatenate([[0], self._frequency(before[:-1], n - 1)])
            columns.append(ends / np.maximum(starts, 1))
        return np.stack(columns, axis=1)

    def fit(self, sequences: Sequence[Pieces]) -> None:
        """Choose the weights of the mixture by EM on held-out sequences."""
        probs = np.concatenate([self.probabilities(pieces) for pieces in sequences])
        for _ in range(STEPS):
            shares = probs * self.weights
            self.weights = (shares / shares.sum(1, keepdims=True)).mean(0)

    def losses(self, pieces: Pieces) -> Numbers:
        """Return the negative log-probability (nats) of each piece of a sequence."""
        losses: Numbers = -np.log(self.probabilities(pieces) @ self.weights)
        return losses


def masked_losses(
    model: Model, prepared: PreparedData, name: str, orders: Sequence[int]
) -> tuple[Numbers, int]:
    """Return the mean loss of each order on the masked pieces of dev."""
    task, pieces = model.tasks[name], model.subword_tokenizer
    assert isinstance(task, MaskedLMTask)
    text, vocabulary = prepared.data[name].text, pieces.tokenizer.get_vocab_size(True)
    assert text is not None
    train = [text.pieces[a:b].astype(np.int64) for a, b in text.documents.tolist() if b > a]
    counted = [document for row, document in enumerate(train) if row % HELD_OUT]
    models = [NGrams(counted, order, vocabulary) for order in orders]
    for ngrams in models:
        ngrams.fit(train[::HELD_OUT])
    documents = prepared.data[name].dev
    tokenized = [model.tokenize(document) for document in documents]
    gold = [task.encode_gold(*pair) for pair in zip(documents, tokenized, strict=True)]
    dev = TextCorpus.of_tokenized(tokenized, [document.spans for document in gold])
    blocks = list(task.blocks.draw(dev, model.recipe.window, Random(0)))
    sums, count = np.zeros(len(orders)), 0
    for block in blocks:
        batch = collate([block], pieces, model.recipe.window)
        _, targets = task.mask_inputs(batch, [block], pieces, 0)
        masked = np.isin(batch.piece_index.numpy(), targets.masked.rows.numpy())
        sequence = batch.input_ids.flatten()[batch.piece_index].numpy()
        first = sum(len(word) for word in block.prompt.pieces)
        for part, hidden in (
            (sequence[:first], masked[:first]),
            (sequence[first:], masked[first:]),
        ):
            if hidden.any():
                sums += [ngrams.losses(part)[hidden].sum() for ngrams in models]
        count += int(masked.sum())
    return sums / max(1, count), count


def main() -> None:
    """Print the losses, and write them as JSON where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--tasks", nargs="+", help="of a recipe that has others, too")
    parser.add_argument("--trigram", action="store_true", help="takes more memory")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    recipe = recipes.load(options.recipe, options.settings)
    if options.tasks:
        recipe = subset(recipes.to_plain(recipe), options.tasks, (), options.recipe.name)
    model, prepared = new_model(resolve(recipe, options.recipe.parent), "cpu")
    orders = (1, 2, 3) if options.trigram else (1, 2)
    names = ("unigram", "bigram", "trigram")
    results: dict[str, dict[str, float]] = {}
    for task in model.tasks:
        losses, count = masked_losses(model, prepared, task, orders)
        results[task] = dict(zip(names, np.round(losses, 4).tolist(), strict=False))
        results[task]["masked_pieces"] = count
    text = json.dumps({"recipe": options.recipe.name, "losses": results}, indent=1) + "\n"
    print(text, end="")
    if options.json is not None:
        write_file(options.json, text.encode())


if __name__ == "__main__":
    main()
