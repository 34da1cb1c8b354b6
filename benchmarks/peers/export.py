"""Write the splits of a prepared dataset as JSON lines, words and sentences as Spanloom sees them.

    python benchmarks/peers/export.py DATA/ewt -o WORK/ewt --tags upos --tree dependency
    python benchmarks/peers/export.py DATA/wlp -o WORK/wlp --spans main

Runs in Spanloom's environment. Events become relations from their trigger. What words and
sentences cannot express is counted in ``beyond``, so that no peer's recall profits from it. With
--limit whole documents are taken until they hold so many sentences; --excerpt keeps them for
Spanloom to read.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from exchange import Relation, Sentence, Span, write

from spanloom.annotation.events import EventScheme, collect, project
from spanloom.annotation.word_index import WordIndex
from spanloom.corpora import folder
from spanloom.document import Document, Layer
from spanloom.formats import jsonl
from spanloom.tokenization import Tokenization, WordTokenizer, word_tokenizer, words_of

SPLITS = ("train", "dev", "test")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """Which layer says the tags, the tree, and the spans with their relations; None for none."""

    tags: str | None = None
    tree: str | None = None
    spans: str | None = None

    def of(self, document: Document) -> bool:
        """Whether the document is annotated with all of them."""
        names = (self.tags, self.tree, self.spans)
        return all(document.has_layer(name) for name in names if name is not None)


@dataclass(frozen=True, slots=True)
class Found:
    """What a layer says of the sentences of a text: by sentence, places counted from its start."""

    spans: tuple[tuple[Span, ...], ...]
    relations: tuple[tuple[Relation, ...], ...]
    beyond: tuple[tuple[int, int], ...]


def sentences(
    document: Document, words: Tokenization, asked: Asked, scheme: EventScheme
) -> Iterator[Sentence]:
    """Yield the sentences of a document; raises ``SystemExit`` where a word lacks tag or head."""
    grid = WordIndex(words)
    tags = _tags(document, grid, asked.tags)
    heads = _heads(document, grid, asked.tree)
    found = None if asked.spans is None else _found(document[asked.spans], words, grid, scheme)
    for index, (first, end) in enumerate(words.sentences):
        inside = range(first, end)
        yield Sentence(
            document.name,
            index,
            tuple(document.text[slice(*words.words[word])] for word in inside),
            tags=None if asked.tags is None else tuple(tags[word] for word in inside),
            heads=None if asked.tree is None else tuple(heads[word][0] - first for word in inside),
            labels=None if asked.tree is None else tuple(heads[word][1] for word in inside),
            spans=None if found is None else found.spans[index],
            relations=None if found is None else found.relations[index],
            beyond=(0, 0) if found is None else found.beyond[index],
        )


def _tags(document: Document, grid: WordIndex, layer: str | None) -> dict[int, str]:
    """The tag of each word."""
    if layer is None:
        return {}
    tags = {grid.locate(each).first: each.label for each in document[layer].spans}
    return _complete(tags, document, grid, layer)


def _heads(document: Document, grid: WordIndex, layer: str | None) -> dict[int, tuple[int, str]]:
    """The head of each word and the label of its arc; a root is its own head."""
    if layer is None:
        return {}
    places = {each.id: grid.locate(each).first for each in document[layer].spans}
    heads = {
        places[each.tail]: (places[each.head], each.label) for each in document[layer].relations
    }
    return _complete(heads, document, grid, layer)


def _complete(said: dict[int, T], document: Document, grid: WordIndex, layer: str) -> dict[int, T]:
    missing = [word for word in range(len(grid.starts)) if word not in said]
    if missing:
        start = grid.starts[missing[0]]
        raise SystemExit(f"{document.name}: layer {layer} says nothing of the word at {start}")
    return said


def _found(layer: Layer, words: Tokenization, grid: WordIndex, scheme: EventScheme) -> Found:
    """The spans and relations of each sentence, those that compare equal once."""
    bases = [first for first, _ in words.sentences]
    spans: list[set[Span]] = [set() for _ in bases]
    relations: list[set[Relation]] = [set() for _ in bases]
    beyond: list[tuple[set[object], set[object]]] = [(set(), set()) for _ in bases]
    where: dict[str, tuple[int, Span | None, object]] = {}
    all_spans, all_relations = project(layer, scheme)
    for each in all_spans:
        place, key = grid.locate(each), (each.label, tuple(sorted(each.fragments)))
        fits = place.aligned and place.sentence == place.last_sentence and len(each.fragments) == 1
        base = bases[place.sentence]
        span = (place.first - base, place.end - base, each.label) if fits else None
        where[each.id] = place.sentence, span, key
        if span is None:
            beyond[place.sentence][0].add(key)
        else:
            spans[place.sentence].add(span)
    for link in all_relations:
        (here, head, one), (there, tail, two) = where[link.head], where[link.tail]
        if head is None or tail is None or here != there:
            beyond[here][1].add((link.label, one, two))
        else:
            relations[here].add((head, tail, link.label))
    return Found(
        tuple(tuple(sorted(each)) for each in spans),
        tuple(tuple(sorted(each)) for each in relations),
        tuple((len(one), len(two)) for one, two in beyond),
    )


def scheme_of(documents: Iterable[Document], asked: Asked) -> EventScheme:
    """What events look like in these documents."""
    annotated = (each for each in documents if asked.spans is not None and asked.of(each))
    return collect(each[asked.spans] for each in annotated if asked.spans is not None)


def exported(
    documents: Iterable[Document], split: WordTokenizer, asked: Asked, scheme: EventScheme
) -> Iterator[Sentence]:
    """Yield the sentences of all annotated documents."""
    for each in documents:
        if asked.of(each):
            yield from sentences(each, words_of(each, split), asked, scheme)


def limited(
    documents: Sequence[Document], split: WordTokenizer, limit: int | None
) -> Sequence[Document]:
    """Return the first documents, so many that they hold ``limit`` sentences; None: all."""
    if limit is None:
        return documents
    sizes = accumulate(len(words_of(each, split).sentences) for each in documents)
    enough = next((row for row, size in enumerate(sizes, 1) if size >= limit), len(documents))
    return documents[:enough]


def main() -> None:
    """Write train.jsonl, dev.jsonl and test.jsonl."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("-o", "--out", type=Path, required=True)
    arguments.add_argument("--tags")
    arguments.add_argument("--tree")
    arguments.add_argument("--spans")
    arguments.add_argument("--words", default="char-class")
    arguments.add_argument("--sentences", default="newline")
    arguments.add_argument("--limit", type=int, help="about so many sentences a split")
    arguments.add_argument("--excerpt", type=Path, help="folder for the documents taken")
    chosen = arguments.parse_args()
    asked = Asked(chosen.tags, chosen.tree, chosen.spans)
    split = word_tokenizer(chosen.words, chosen.sentences)
    scheme = scheme_of(folder.read(chosen.data, "train").documents, asked)
    for place in filter(None, (chosen.out, chosen.excerpt)):
        place.mkdir(parents=True, exist_ok=True)
    for name in SPLITS:
        documents = limited(folder.read(chosen.data, name).documents, split, chosen.limit)
        found = list(exported(documents, split, asked, scheme))
        write(found, chosen.out / f"{name}.jsonl")
        if chosen.excerpt:
            jsonl.write(chosen.excerpt / f"{name}.jsonl", documents)
        print(f"{chosen.out.name} {name}: {len(found)} sentences")


if __name__ == "__main__":
    main()
