"""Prepare a corpus whose mentions are also cut to their head words.

HMTL, "Entity Mention Detection": "we identify the head of the entity mention rather than the whole
mention". Trees are the corpus's own, or those of a parser.

OUT/{train,dev,test}.jsonl             the documents with one layer more, heads
OUT/heads.json                         where the trees come from, and what was lost
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanloom.annotation.syntactic_heads import TREE, head_words
from spanloom.atomic_io import write_folder
from spanloom.corpora import files, folder
from spanloom.document import Document, Layer
from spanloom.errors import DataError
from spanloom.formats import jsonl
from spanloom.model.model import Model
from spanloom.model.serialization import digest_of

HEADS = "heads"


@dataclass(frozen=True, slots=True)
class Parser:
    """A model that parses where a corpus has no gold trees; ``path`` is where it was loaded."""

    model: Model
    path: str | None

    @property
    def task(self) -> str:
        """Its task that writes dependency trees; raises ``DataError`` if there is none."""
        for name, task in self.model.plan.kept_tasks.items():
            if task.spec.kind == "dependency":
                return name
        raise DataError(f"{self.path}: the model has no task of kind dependency")

    def trees(self, documents: Sequence[Document]) -> Iterator[Layer]:
        """Yield the dependency tree of each document."""
        for document in self.model.predict(documents, self.task):
            yield document[self.model.tasks[self.task].layer]


def prepare_heads(corpus: Path, out: Path, layer: str, parser: Parser) -> dict[str, dict[str, int]]:
    """Write the corpus ``out`` with a layer of head words; return counts by split.

    Trees are the corpus's own where all documents of a split have layer ``dependency``, otherwise
    those of the parser: then the heads are silver, which ``heads.json`` says. Such trees are not
    kept. Documents without ``layer`` are left out. Raises ``DataError`` for a corpus without it,
    and ``StorageError``.
    """
    counts: dict[str, dict[str, int]] = {}
    origins = {}
    with write_folder(out) as staging:
        for split in folder.splits(corpus):
            documents = [
                document
                for document in folder.read(corpus, split).documents
                if document.has_layer(layer)
            ]
            if not documents:
                raise DataError(f"{corpus}, split {split}: no document has layer {layer!r}")
            is_gold = all(document.has_layer(TREE) for document in documents)
            origins[split] = "gold" if is_gold else f"silver, parsed by {digest_of(parser.path)}"
            trees = [doc[TREE] for doc in documents] if is_gold else [*parser.trees(documents)]
            counted: Counter[str] = Counter()
            with_heads = (
                _with_heads(document, layer, tree, counted)
                for document, tree in zip(documents, trees, strict=True)
            )
            jsonl.write(staging / f"{split}.jsonl", with_heads)
            counts[split] = dict(counted)
        summary = {"corpus": corpus.name, "layer": layer, "trees": origins, "counts": counts}
        (staging / files.HEADS).write_text(json.dumps(summary, indent=1) + "\n", "utf-8")
    return counts


def _with_heads(document: Document, layer: str, tree: Layer, counted: Counter[str]) -> Document:
    """Return the document with its new layer, and count what was lost."""
    source = document[layer]
    heads = head_words(source, tree, HEADS, document.id_generator())
    counted.update(
        {
            "spans": len(source.spans),
            "heads": len(heads.layer.spans),
            "shared heads": heads.shared,
            "heads with a second label": heads.clashing,
            "spans without words": heads.without_words,
            "relations": len(source.relations),
            "relations lost": heads.lost_relations,
        }
    )
    return document.with_layer(heads.layer)
