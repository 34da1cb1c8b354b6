"""A trained model: text in, Document out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

import torch

from spanloom.config.recipe import Recipe
from spanloom.data.batches import by_length, collate
from spanloom.data.pieces import Pieces
from spanloom.data.units import Unit, cut, units
from spanloom.document import Document
from spanloom.errors import NameNotFound
from spanloom.formats.brat.ids import FreshIds
from spanloom.model.network import Network
from spanloom.model.precision import Compute
from spanloom.tasks._base import Found, Gold, Task
from spanloom.tensors import Chosen, Linked
from spanloom.words import Splitter

BATCH_WORDS = 2048  # words through the encoder at once
_EMPTY = 16  # what a document counts beside its words, so that empty ones do not pile up
_STRETCH = 64 * BATCH_WORDS  # words read ahead, so that batches hold units of like length


@dataclass(slots=True)
class _Open:
    """A document under way: its gold input, where a task is given one, and what was found."""

    document: Document
    gold: dict[str, Gold]
    found: dict[str, Found]


@dataclass(frozen=True, slots=True)
class Model:
    """Parts that belong together: recipe, word splitter, tokenizer, network, tasks, arithmetic."""

    recipe: Recipe
    split: Splitter
    pieces: Pieces
    network: Network
    tasks: Mapping[str, Task]
    compute: Compute

    def __call__(self, text: str) -> Document:
        """Annotate one text with every task."""
        return next(self.annotate([Document(text)]))

    def annotate(
        self,
        documents: Iterable[Document],
        names: Iterable[str] | None = None,
        *,
        words: int = BATCH_WORDS,
    ) -> Iterator[Document]:
        """Yield each document, bare of all else, with the layers that the named tasks predict.

        One encoder pass serves all tasks. Memory is bounded: documents are read a stretch ahead,
        and a long one is encoded in windows. A task whose gold spans are given reads them from the
        document's layer of the same name (``LayerError`` where it has none); nothing else of a
        document but its text is looked at. Where several of the tasks write one layer, each writes
        to a layer of its own name instead, so that none hides another. Raises ``NameNotFound`` for
        an unknown task.
        """
        tasks = self._chosen(names)
        stream = enumerate(documents)
        while True:
            under_way: dict[int, _Open] = {}
            held: list[Unit] = []
            ahead = 0
            for number, document in stream:
                made = self._open(number, document, tasks, under_way)
                held += made
                ahead += sum(len(unit.forms) for unit in made) + _EMPTY
                if ahead >= _STRETCH:
                    break
            if not under_way:
                return
            self._run(held, under_way, tasks, words)
            yield from self._finish(under_way, tasks)

    def _chosen(self, names: Iterable[str] | None) -> dict[str, Task]:
        names = list(self.tasks if names is None else names)
        for name in names:
            if name not in self.tasks:
                raise NameNotFound("task", name, self.tasks)
        return {name: self.tasks[name] for name in names}

    def _open(
        self,
        number: int,
        document: Document,
        tasks: Mapping[str, Task],
        under_way: dict[int, _Open],
    ) -> list[Unit]:
        whole = cut(document.text, self.split, self.pieces)
        gold = {}
        for name, task in tasks.items():
            if task.given:
                gold[name] = task.gold(document[task.layer], whole.words)
        under_way[number] = _Open(document, gold, {name: Found() for name in tasks})
        return list(units(number, whole, self.recipe.window))

    def _run(
        self,
        held: list[Unit],
        under_way: dict[int, _Open],
        tasks: Mapping[str, Task],
        words: int,
    ) -> None:
        self.network.eval()
        for group in by_length(held, words, window=self.recipe.window):
            batch = collate(group, self.pieces, self.recipe.window).to(self.compute.device)
            with torch.inference_mode(), self.compute.autocast():
                levels = {name: self.recipe.tasks[name].level for name in tasks}
                vectors = self.network.encode(batch, levels.values())
                for name, task in tasks.items():
                    given = None
                    if task.given:
                        mine = {u.document: under_way[u.document].gold[name] for u in group}
                        given = task.targets(group, mine).to(self.compute.device)
                    head = self.network.heads[name]
                    found = task.predict(head, vectors[levels[name]], batch, given)
                    _spread(group, task, *found, under_way, name)

    def _finish(self, under_way: dict[int, _Open], tasks: Mapping[str, Task]) -> Iterator[Document]:
        shared = Counter(task.layer for task in tasks.values())
        for number in sorted(under_way):
            each = under_way.pop(number)
            fresh = FreshIds(())
            document = each.document.bare()
            for name, task in tasks.items():
                layer = task.write(each.found[name], fresh)
                own = replace(layer, name=name) if shared[layer.name] > 1 else layer
                document = document.with_layer(own)
            yield document


def _spread(
    group: list[Unit],
    task: Task,
    chosen: Chosen,
    linked: Linked,
    under_way: Mapping[int, _Open],
    name: str,
) -> None:
    """Give each span and link to its document, in characters."""
    span_labels, link_labels = task.label(chosen, linked)
    bases = list(accumulate((len(unit.forms) for unit in group), initial=0))
    place: list[tuple[Found, int]] = []
    owner = torch.bucketize(
        chosen.bounds[:, 0].contiguous().cpu(), torch.tensor(bases[1:]), right=True
    )
    rows = zip(
        chosen.bounds.tolist(), span_labels, chosen.scores.tolist(), owner.tolist(), strict=True
    )
    for (start, end), label, score, which in rows:
        unit, base = group[which], bases[which]
        found = under_way[unit.document].found[name]
        place.append((found, len(found.spans)))
        first, last = unit.words[start - base][0], unit.words[end - base - 1][1]
        found.spans.append((first, last, label, score))
    links = zip(linked.ends.tolist(), link_labels, linked.scores.tolist(), strict=True)
    for (head, tail), label, score in links:
        found, row = place[head]
        found.links.append((row, place[tail][1], label, score))
