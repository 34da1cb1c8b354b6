"""From a card and raw files to the documents of each split: sums checked, rules applied."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from spanloom.config.yaml import Where
from spanloom.corpora.card import Card, Drop, Listed, Source, Split
from spanloom.document import GIVEN, Document, Layer
from spanloom.errors import DataError
from spanloom.formats import _files
from spanloom.formats.brat import read as brat
from spanloom.forms.aspects import with_polarities
from spanloom.forms.kept import without

_LISTED = re.compile(r"[\s*-]*(\S+)\s*")  # a name, as it may be an item of a list
FOLDS = 10


def files(source: Source, raw: Path) -> list[Path]:
    """Return the files of a source, sorted; raises ``DataError`` for one that is not there."""
    found: set[Path] = set()
    for pattern in source.files:
        here = {each for each in raw.glob(pattern) if each.is_file()}
        if not here:
            raise DataError(
                f"{raw / pattern}: no such file; the card's address says where to get it"
            )
        found |= here
    return sorted(found)


def digest(paths: Sequence[Path], raw: Path) -> str:
    """Return the SHA-256 of a list of names and SHA-256 sums, one a line, as sha256sum prints."""
    whole = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            one = hashlib.file_digest(stream, "sha256").hexdigest()
        whole.update(f"{one}  {path.relative_to(raw).as_posix()}\n".encode())
    return whole.hexdigest()


def check(card: Card, raw: Path) -> None:
    """Raise ``DataError`` where a file is missing or is not the one that the card means."""
    for name, source in card.sources.items():
        found = digest(files(source, raw), raw)
        if source.sha256 and found != source.sha256:
            problem = f"expected files with the sum {source.sha256}, got {found}"
            raise DataError(f"{raw}: source {name!r}: {problem}; another release?")


def documents(card: Card, split: str, raw: Path, load: Callable[[str], Card]) -> Iterator[Document]:
    """Yield the documents of a split, by the card's rules, in the order of their files.

    ``load`` finds other cards by name. Raises ``DataError``, and ``FormatError`` as readers do.
    """
    rule = card.splits[split]
    every = _read(card.sources[rule.of], raw)
    narrow = _rule(rule, raw, split, load)
    seen: set[str] = set()
    for each in narrow(every):
        if each.name in seen:
            raise DataError(f"{raw}: split {split}: two documents have the name {each.name!r}")
        seen.add(each.name)
        yield _pruned(each, card)


def _read(source: Source, raw: Path) -> Iterator[Document]:
    """Yield the documents of a source; those of one file among several are called by its name."""
    paths = files(source, raw)
    for path in paths:
        found = _file(source, path, raw)
        if len(paths) == 1:
            yield from found
            continue
        several = list(found)
        for each in several:
            name = path.stem if len(several) == 1 else f"{path.stem}/{each.name}"
            yield replace(each, name=name)


def _file(source: Source, path: Path, raw: Path) -> Iterator[Document]:
    """Yield the documents of one file."""
    if source.format == _files.BRAT:
        reading = brat.load(path, name=path.stem)
        yield replace(reading.document, source=None)
        return
    form = _files.load(source.format)
    options = _files.chosen(form, source.options, Where("card"))
    beside = {key: str(source.options[key]) for key in form.beside if key in source.options}
    found = _files.named(_files.read(path, form, options, beside), path)
    if source.polarities:
        seg = _files.load("absa_seg")
        said = _files.read(raw / source.polarities, seg, seg.options())
        found = iter(with_polarities(list(found), list(said)))
    yield from found


Narrow = Callable[[Iterator[Document]], Iterator[Document]]


def _rule(rule: Split, raw: Path, split: str, load: Callable[[str], Card]) -> Narrow:
    """Return what keeps the documents that a split's rules mean."""
    listed = None if rule.listed is None else _names(rule.listed, raw)
    unlisted = frozenset(name for each in rule.unlisted for name in _names(each, raw))
    if rule.like:
        other = load(rule.like)
        listed = frozenset(each.name for each in documents(other, split, raw, load))

    def narrowed(every: Iterator[Document]) -> Iterator[Document]:
        kept = (
            each
            for each in every
            if (listed is None or each.name in listed)
            and each.name not in unlisted
            and _says(each, rule.where)
        )
        ordered = kept if not (rule.share or rule.fold) else _drawn(list(kept), rule)
        for number, each in enumerate(ordered):
            if number >= rule.after and (rule.first is None or number < rule.after + rule.first):
                yield each

    return narrowed


def _says(document: Document, meta: Mapping[str, str]) -> bool:
    """Whether a document's meta says all that."""
    said = dict(document.meta)
    return all(said.get(key) == value for key, value in meta.items())


def _drawn(every: list[Document], rule: Split) -> Iterator[Document]:
    """Yield those of the rule's folds, or of its share, in their order.

    Folds deal the sorted names out in ten runs of like length; a share is taken from the names
    sorted by the SHA-256 of seed and name, so that it depends on nothing else.
    """
    names = sorted(each.name for each in every)
    if rule.fold:
        at = {name: place * FOLDS // len(names) for place, name in enumerate(names)}
        chosen = {name for name in names if at[name] in rule.fold}
    else:
        assert rule.share is not None
        seed, total = rule.share.seed, len(names)
        ranked = sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
        chosen = set(ranked[round(rule.share.low * total) : round(rule.share.high * total)])
    return (each for each in every if each.name in chosen)


def _names(listed: Listed, raw: Path) -> frozenset[str]:
    """Return the names that a file lists, all of them or those under a heading of markdown."""
    try:
        lines = (raw / listed.file).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{raw / listed.file}: cannot be read: {error}") from error
    found, inside = set(), not listed.heading
    for line in lines:
        if line.startswith("#") and listed.heading:
            inside = line.strip("# ").strip() == listed.heading
        elif inside and (item := _LISTED.fullmatch(line)):
            found.add(item[1])
    if not found:
        raise DataError(f"{raw / listed.file}: lists no names under {listed.heading or 'it'!r}")
    return frozenset(found)


def _pruned(document: Document, card: Card) -> Document:
    """Return the document with the annotation that the card keeps."""
    layers = [
        layer
        for layer in document.layers
        if not card.layers or layer.name in card.layers or layer.name in GIVEN
    ]
    for rule in card.drop:
        layers = [_dropped(layer, rule) if layer.name == rule.layer else layer for layer in layers]
    return replace(document, layers=tuple(layers), source=None)


def _dropped(layer: Layer, rule: Drop) -> Layer:
    """Return a layer without the spans that a rule names."""
    have = {each.target for each in layer.attributes if each.label == rule.without}
    gone = {
        span.id
        for span in layer.spans
        if span.label in rule.labels or (rule.without and span.id not in have)
    }
    return without(layer, gone)
