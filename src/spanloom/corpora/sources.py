"""Read the documents of each split of a card from raw files: sums checked, rules applied."""

import gzip
import hashlib
import math
import re
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from itertools import islice
from pathlib import Path

from spanloom.annotation.aspects import with_polarities
from spanloom.annotation.excerpt import clip, clip_each
from spanloom.annotation.relation_texts import FORMS
from spanloom.annotation.removal import without_annotations
from spanloom.annotation.syntactic_heads import spans_headed_by
from spanloom.config.yaml import SourceLocation
from spanloom.corpora.card import Card, Derived, Drop, Listed, SentenceRange, Source, Split
from spanloom.corpora.raw_files import GZIP_SUFFIX, TEXT, files, polarity_file, stem
from spanloom.corpora.word_layers import word_layer
from spanloom.document import GIVEN_WORDS, SENTENCES, Document, Layer, Span
from spanloom.errors import DataError
from spanloom.formats import _files
from spanloom.formats.brat import read as brat
from spanloom.tokenization import given_words

_LIST_ITEM = re.compile(r"[\s*-]*(\S+)\s*")  # a name, possibly an item of a Markdown list
FOLDS = 10


def documents(card: Card, split: str, raw: Path, load: Callable[[str], Card]) -> Iterator[Document]:
    """Yield the documents of a split, by the card's rules, in the order of their files.

    ``load`` returns other cards by name. Raises ``DataError``, and ``FormatError`` as readers do.
    """
    rule = card.splits[split]
    included = _included_names(rule, raw, split, load)
    excluded = {*rule.exclude, *_names_in(rule.names_not_in, raw, load)}
    candidates = (
        document
        for source in rule.source_names
        for document in _with_sentences(card, source, raw, included)
        if document.name not in excluded
    )
    names: set[str] = set()
    for document in _select(candidates, rule):
        if document.name in names:
            raise DataError(f"{raw}: split {split}: two documents have the name {document.name!r}")
        names.add(document.name)
        for text in _relation_texts(document, card):
            pruned = _keep_layers(text, card)
            layer = rule.requires_layer
            if not layer or (pruned.has_layer(layer) and pruned[layer].spans):
                yield from sentences_with(pruned, rule.sentences_with)


def _names_in(name: str, raw: Path, load: Callable[[str], Card]) -> Iterator[str]:
    """Yield the names of all documents of a dataset; none without a dataset."""
    other = load(name) if name else None
    for split in () if other is None else other.splits:
        assert other is not None
        yield from (document.name for document in documents(other, split, raw, load))


def _with_sentences(
    card: Card, name: str, raw: Path, included: Set[str] | None
) -> Iterator[Document]:
    """Yield the documents of a source, with sentences from another source if the card says so."""
    source = card.sources[name]
    if not source.sentences:
        yield from _read_source(source, raw, included)
        return
    sentence_source = card.sources[source.sentences]
    path_by_name = {stem(path): path for path in files(sentence_source, raw)}
    for document in _read_source(source, raw, included):
        if document.name not in path_by_name:
            raise DataError(f"{raw}: source {source.sentences!r} has no file {document.name!r}")
        for segmented in _read_file(sentence_source, path_by_name[document.name], raw):
            yield with_sentences(document, segmented)


def _read_source(source: Source, raw: Path, included: Set[str] | None) -> Iterator[Document]:
    """Yield the documents of a source whose names are included, all if None.

    If there are several files, documents are named after their file, so other files are not read.
    """
    paths = files(source, raw)
    for path in paths:
        in_file = _read_file(source, path, raw)
        if len(paths) > 1:
            unwanted = _is_unwanted(path, included)
            in_file = iter(()) if unwanted else _with_file_name(list(in_file), stem(path))
        yield from (
            document for document in in_file if included is None or document.name in included
        )


def _is_unwanted(path: Path, included: Set[str] | None) -> bool:
    """Whether a file, one of several, cannot hold any included document."""
    return included is not None and stem(path) not in {name.partition("/")[0] for name in included}


def _with_file_name(in_file: list[Document], name: str) -> Iterator[Document]:
    """Yield the documents of a file, named after the file."""
    for document in in_file:
        yield replace(document, name=name if len(in_file) == 1 else f"{name}/{document.name}")


def _read_file(source: Source, path: Path, raw: Path) -> Iterator[Document]:
    """Yield the documents of one file."""
    if source.format == TEXT:
        yield Document(_read_text(path), name=stem(path))
        return
    if source.format == _files.BRAT:
        reading = brat.load(path, name=path.stem)
        yield replace(reading.document, source=None)
        return
    file_format = _files.load(source.format)
    options = _files.validate_format_options(file_format, source.options, SourceLocation("card"))
    sidecars = {
        key: str(source.options[key]) for key in file_format.sidecars if key in source.options
    }
    in_file = _files.name_documents(_files.read(path, file_format, options, sidecars), path.stem)
    if polarities := polarity_file(source, path, raw):
        seg = _files.load("absa_seg")
        with_polarity = _files.read(raw / polarities, seg, seg.options())
        in_file = iter(with_polarities(list(in_file), list(with_polarity)))
    yield from in_file


def _read_text(path: Path) -> str:
    """Return the text of a plain or gzipped file, with line ends normalized."""
    try:
        content = path.read_bytes()
        if path.suffix == GZIP_SUFFIX:
            content = gzip.decompress(content)
        text = content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError(f"{path}: expected a text in UTF-8: {error}") from error
    return text.replace("\r\n", "\n")


def _select(candidates: Iterator[Document], rule: Split) -> Iterator[Document]:
    """Yield the documents that a split's rules select; rules about names are applied elsewhere."""
    matching = (document for document in candidates if _has_meta(document, rule.meta))
    ordered = matching if not (rule.fraction or rule.folds) else _sample(list(matching), rule)
    end = None if rule.limit is None else rule.skip + rule.limit
    selected = islice(ordered, rule.skip, end)
    yield from selected if rule.sentences is None else _sentence_range(selected, rule.sentences)


def _included_names(
    rule: Split, raw: Path, split: str, load: Callable[[str], Card]
) -> frozenset[str] | None:
    """Return the names that a split's rules include, None if they include all."""
    name_sets = [] if rule.listed_in is None else [_listed_names(rule.listed_in, raw)]
    name_sets += [frozenset(rule.include)] if rule.include else []
    if rule.same_names_as:
        name_source = load(rule.same_names_as)
        name_sets.append(
            frozenset(document.name for document in documents(name_source, split, raw, load))
        )
    return frozenset.intersection(*name_sets) if name_sets else None


def _sentence_range(candidates: Iterator[Document], rule: SentenceRange) -> Iterator[Document]:
    """Yield the sentences of a range; documents at its borders are cut."""
    stop = math.inf if rule.limit is None else rule.skip + rule.limit
    num_before = 0
    for document in candidates:
        num_sentences = len(document[SENTENCES].spans)
        first, end = max(rule.skip - num_before, 0), int(min(stop - num_before, num_sentences))
        num_before += num_sentences
        if first < end:
            yield document if (first, end) == (0, num_sentences) else excerpt(document, first, end)
        if num_before >= stop:
            return


def _has_meta(document: Document, meta: Mapping[str, str]) -> bool:
    """Whether a document's meta has all these values."""
    values = dict(document.meta)
    return all(values.get(key) == value for key, value in meta.items())


def _sample(candidates: list[Document], rule: Split) -> Iterator[Document]:
    """Return the documents in the rule's folds, or in its fraction, in their order.

    Folds cut the sorted names into ten runs of about equal length. A fraction is taken from the
    names (or group names) sorted by the SHA-256 of seed and name, so it depends on nothing else.
    """
    key = "" if rule.fraction is None else rule.fraction.group_by
    groups = [dict(document.meta).get(key, "") if key else document.name for document in candidates]
    names = sorted(set(groups))
    if rule.folds:
        fold_of = {name: rank * FOLDS // len(names) for rank, name in enumerate(names)}
        sampled = {name for name in names if fold_of[name] in rule.folds}
    else:
        assert rule.fraction is not None
        seed, total = rule.fraction.seed, len(names)
        ranked = sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
        sampled = set(ranked[round(rule.fraction.low * total) : round(rule.fraction.high * total)])
    return (
        document for document, group in zip(candidates, groups, strict=True) if group in sampled
    )


def _listed_names(listed: Listed, raw: Path) -> frozenset[str]:
    """Return the names that a file lists, all of them or those under a Markdown heading."""
    try:
        lines = (raw / listed.file).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{raw / listed.file}: cannot be read: {error}") from error
    names, is_in_section = set(), not listed.heading
    for line in lines:
        if line.startswith("#") and listed.heading:
            is_in_section = line.strip("# ").strip() == listed.heading
        elif is_in_section and (item := _LIST_ITEM.fullmatch(line)):
            names.add(item[1])
    if not names:
        raise DataError(f"{raw / listed.file}: lists no names under {listed.heading or 'it'!r}")
    return frozenset(names)


def _relation_texts(document: Document, card: Card) -> Iterator[Document]:
    """Yield the texts whose classes are the document's relations, or the document itself."""
    rule = card.relation_texts
    return iter([document]) if rule is None else FORMS[rule.form](document, rule.layer, rule.name)


def _keep_layers(document: Document, card: Card) -> Document:
    """Return the document with the layers and spans that the card keeps."""
    new_id = document.id_generator()
    derived = [
        word_layer(document, name, rule, new_id) if rule.words else _derive(document, name, rule)
        for name, rule in card.derived.items()
    ]
    layers = [
        layer
        for layer in (*document.layers, *derived)
        if not card.layers or layer.name in card.layers or layer.name in GIVEN_WORDS
    ]
    for drop in card.drop:
        layers = [
            _drop_spans(layer, drop) if layer.name == drop.layer else layer for layer in layers
        ]
    return replace(document, layers=tuple(layers), source=None)


def _derive(document: Document, name: str, rule: Derived) -> Layer:
    """Return the new layer that a rule makes of a layer of the document."""
    layer = document[rule.layer]
    kept = spans_headed_by(document, rule.layer, rule.head_upos)
    return replace(without_annotations(layer, {span.id for span in layer.spans} - kept), name=name)


def _drop_spans(layer: Layer, rule: Drop) -> Layer:
    """Return a layer without the spans that a rule drops."""
    dropped = {span.id for span in layer.spans if span.label in rule.labels}
    return without_annotations(layer, dropped)


def sentences_with(document: Document, layer: str) -> Iterator[Document]:
    """Yield the sentences that have a span in a layer, or the whole document if none is named.

    Each is a document whose name ends in the number of the sentence.
    """
    if not layer:
        yield document
        return
    spans = sorted((span.start, span.end) for span in document[SENTENCES].spans)
    starts = sorted(span.start for span in document[layer].spans)
    kept = {
        number: (start, end)
        for number, (start, end) in enumerate(spans, 1)
        if bisect_left(starts, start) < bisect_left(starts, end)
    }
    parts = clip_each(document, list(kept.values()))
    for number, part in zip(kept, parts, strict=True):
        yield replace(part, name=f"{document.name}/{number:05}")


def with_sentences(document: Document, source: Document) -> Document:
    """Return the document with the sentences of ``source``, aligned word by word.

    Raises ``DataError`` if the documents lack words or differ in their number.
    """
    words, source_words = given_words(document), given_words(source)
    if words is None or source_words is None or len(words.words) != len(source_words.words):
        counts = [
            0 if tokenization is None else len(tokenization.words)
            for tokenization in (words, source_words)
        ]
        problem = f"expected the same words, got {counts[0]:,} and {counts[1]:,}"
        raise DataError(f"{document.name}: sentences of {source.name}: {problem}")
    spans = tuple(
        Span(f"S{n}", "sentence", ((words.words[first][0], words.words[stop - 1][1]),))
        for n, (first, stop) in enumerate(source_words.sentences, 1)
    )
    return document.with_layer(Layer(SENTENCES, spans))


def excerpt(document: Document, first: int, stop: int) -> Document:
    """Return a document of the given sentences ``[first, stop)``, in text order.

    Spans that are not inside these sentences are removed, with the annotations that refer to them;
    queries and meta are kept. Raises ``LayerError`` for a document without given sentences.
    """
    bounds = sorted((span.start, span.end) for span in document[SENTENCES].spans)[first:stop]
    return clip(document, bounds[0][0], bounds[-1][1])
