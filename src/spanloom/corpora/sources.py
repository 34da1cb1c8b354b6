"""From a card and raw files to the documents of each split: sums checked, rules applied."""

import gzip
import hashlib
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from glob import escape
from itertools import islice
from pathlib import Path

from spanloom.config.yaml import Where
from spanloom.corpora.card import Card, Drop, Listed, Run, Source, Split
from spanloom.corpora.excerpt import excerpt
from spanloom.corpora.sentences import with_sentences
from spanloom.document import GIVEN, SENTENCES, Document, Layer
from spanloom.errors import DataError
from spanloom.formats import _files
from spanloom.formats.brat import read as brat
from spanloom.forms.aspects import with_polarities
from spanloom.forms.kept import without

_LISTED = re.compile(r"[\s*-]*(\S+)\s*")  # a name, as it may be an item of a list
FOLDS = 10
TEXT = "text"  # a format that says nothing of its text
_ZIPPED = ".gz"


def files(source: Source, raw: Path, how: str = "") -> list[Path]:
    """Return the files of a source, sorted.

    Raises ``DataError`` for one that is not there, with ``how`` to get it.
    """
    found: set[Path] = set()
    for pattern in source.files:
        here = {each for each in raw.glob(pattern) if each.is_file()}
        if not here:
            raise DataError(f"{raw / pattern}: no such file; {how}".removesuffix("; "))
        found |= here
    return sorted(found)


def needed(card: Card, raw: Path) -> dict[str, list[Path]]:
    """Return all files that each source is read from, sorted, those beside others too.

    Under "" stand the lists of names. Raises ``DataError`` for a file that is not there.
    """
    rules = card.splits.values()
    lists = {each.file for rule in rules for each in (rule.listed, *rule.unlisted) if each}
    how = card.obtain or f"see {card.home}"
    found = {name: _with_beside(source, raw, how) for name, source in card.sources.items()}
    return found | {"": sorted(raw / each for each in lists)}


def _with_beside(source: Source, raw: Path, how: str) -> list[Path]:
    """Return the files of a source, and those that are read beside them, sorted."""
    found = set(files(source, raw, how))
    if source.format not in (TEXT, _files.BRAT):
        beside = _files.load(source.format).beside
        names = [str(source.options.get(key, name)) for key, name in beside.items()]
        found |= {path.parent / name for path in found for name in names}
    if source.format == _files.BRAT:
        found |= {place for path in found for place in path.parent.glob(f"{escape(path.stem)}.*")}
    found |= {raw / said for path in tuple(found) if (said := _polarities(source, path, raw))}
    return sorted(found)


def _polarities(source: Source, path: Path, raw: Path) -> str:
    """Return the file that says the polarities of a file, "" where none does."""
    said = source.polarities
    return said if isinstance(said, str) else said.get(path.relative_to(raw).as_posix(), "")


def digest(paths: Sequence[Path], raw: Path) -> str:
    """Return the SHA-256 of a list of names and SHA-256 sums, one a line, as sha256sum prints.

    Raises ``DataError`` for a file that cannot be read.
    """
    whole = hashlib.sha256()
    for path in paths:
        try:
            with path.open("rb") as stream:
                one = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from error
        whole.update(f"{one}  {path.relative_to(raw).as_posix()}\n".encode())
    return whole.hexdigest()


def check(card: Card, raw: Path) -> dict[str, str]:
    """Return the sum of each source's files, under "" that of the lists of names.

    Raises ``DataError`` where a file is missing or is not the one that the card means.
    """
    sums = {name: digest(paths, raw) for name, paths in needed(card, raw).items()}
    for name, source in card.sources.items():
        if source.sha256 and sums[name] != source.sha256:
            problem = f"expected files with the sum {source.sha256}, got {sums[name]}"
            raise DataError(f"{raw}: source {name!r}: {problem}; another release?")
    return sums


def documents(card: Card, split: str, raw: Path, load: Callable[[str], Card]) -> Iterator[Document]:
    """Yield the documents of a split, by the card's rules, in the order of their files.

    ``load`` finds other cards by name. Raises ``DataError``, and ``FormatError`` as readers do.
    """
    rule = card.splits[split]
    wanted = _wanted(rule, raw, split, load)
    gone = {*rule.unnamed, *(name for each in rule.unlisted for name in _names(each, raw))}
    every = (each for each in _parted(card, rule.of, raw, wanted) if each.name not in gone)
    seen: set[str] = set()
    for each in _narrowed(every, rule):
        if each.name in seen:
            raise DataError(f"{raw}: split {split}: two documents have the name {each.name!r}")
        seen.add(each.name)
        pruned = _pruned(each, card)
        if not rule.holding or (pruned.has(rule.holding) and pruned[rule.holding].spans):
            yield pruned


def _parted(card: Card, name: str, raw: Path, wanted: Set[str] | None) -> Iterator[Document]:
    """Yield the documents of a source, with sentences from another where the card says so."""
    source = card.sources[name]
    if not source.sentences:
        yield from _read(source, raw, wanted)
        return
    other = card.sources[source.sentences]
    places = {stem(path): path for path in files(other, raw)}
    for each in _read(source, raw, wanted):
        if each.name not in places:
            raise DataError(f"{raw}: source {source.sentences!r} has no file {each.name!r}")
        for said in _file(other, places[each.name], raw):
            yield with_sentences(each, said)


def _read(source: Source, raw: Path, wanted: Set[str] | None) -> Iterator[Document]:
    """Yield the documents of a source that have the wanted names, all if None.

    Those of one file among several are called by its name, so files of other names are not read.
    """
    paths = files(source, raw)
    for path in paths:
        found = _file(source, path, raw)
        if len(paths) > 1:
            found = iter(()) if _elsewhere(path, wanted) else _called(list(found), stem(path))
        yield from (each for each in found if wanted is None or each.name in wanted)


def _elsewhere(path: Path, wanted: Set[str] | None) -> bool:
    """Whether no wanted document can be in a file that is one of several."""
    return wanted is not None and stem(path) not in {name.partition("/")[0] for name in wanted}


def _called(found: list[Document], name: str) -> Iterator[Document]:
    """Yield the documents of a file under its name."""
    for each in found:
        yield replace(each, name=name if len(found) == 1 else f"{name}/{each.name}")


def _file(source: Source, path: Path, raw: Path) -> Iterator[Document]:
    """Yield the documents of one file."""
    if source.format == TEXT:
        yield Document(_plain(path), name=stem(path))
        return
    if source.format == _files.BRAT:
        reading = brat.load(path, name=path.stem)
        yield replace(reading.document, source=None)
        return
    form = _files.load(source.format)
    options = _files.chosen(form, source.options, Where("card"))
    beside = {key: str(source.options[key]) for key in form.beside if key in source.options}
    found = _files.named(_files.read(path, form, options, beside), path)
    if polarities := _polarities(source, path, raw):
        seg = _files.load("absa_seg")
        said = _files.read(raw / polarities, seg, seg.options())
        found = iter(with_polarities(list(found), list(said)))
    yield from found


def stem(path: Path) -> str:
    """Return a file's name without its suffix, and without that of its compression."""
    return Path(path.name.removesuffix(_ZIPPED)).stem


def _plain(path: Path) -> str:
    """Return a plain text, unzipped if it is; line ends are made the same."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == _ZIPPED else data).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError(f"{path}: expected a text in UTF-8: {error}") from error
    return text.replace("\r\n", "\n")


def _narrowed(every: Iterator[Document], rule: Split) -> Iterator[Document]:
    """Yield the documents that a split's rules mean, those about names apart."""
    kept = (each for each in every if _says(each, rule.where))
    ordered = kept if not (rule.share or rule.fold) else _drawn(list(kept), rule)
    stop = None if rule.first is None else rule.after + rule.first
    found = islice(ordered, rule.after, stop)
    yield from found if rule.sentences is None else _run(found, rule.sentences)


def _wanted(
    rule: Split, raw: Path, split: str, load: Callable[[str], Card]
) -> frozenset[str] | None:
    """Return the names that a rule says documents must have, None where it says none."""
    said = [] if rule.listed is None else [_names(rule.listed, raw)]
    said += [frozenset(rule.names)] if rule.names else []
    if rule.like:
        other = load(rule.like)
        said.append(frozenset(each.name for each in documents(other, split, raw, load)))
    return frozenset.intersection(*said) if said else None


def _run(every: Iterator[Document], rule: Run) -> Iterator[Document]:
    """Yield the sentences of a run; documents that lie across its bounds are cut."""
    stop = math.inf if rule.first is None else rule.after + rule.first
    done = 0
    for each in every:
        total = len(each[SENTENCES].spans)
        low, high = max(rule.after - done, 0), int(min(stop - done, total))
        done += total
        if low < high:
            yield each if (low, high) == (0, total) else excerpt(each, low, high)
        if done >= stop:
            return


def _says(document: Document, meta: Mapping[str, str]) -> bool:
    """Whether a document's meta says all that."""
    said = dict(document.meta)
    return all(said.get(key) == value for key, value in meta.items())


def _drawn(every: list[Document], rule: Split) -> Iterator[Document]:
    """Yield those of the rule's folds, or of its share, in their order.

    Folds deal the sorted names out in ten runs of like length; a share is taken from the names (of
    groups, where the rule says what makes them) sorted by the SHA-256 of seed and name, so that it
    depends on nothing else.
    """
    key = "" if rule.share is None else rule.share.by
    groups = [dict(each.meta).get(key, "") if key else each.name for each in every]
    names = sorted(set(groups))
    if rule.fold:
        at = {name: place * FOLDS // len(names) for place, name in enumerate(names)}
        chosen = {name for name in names if at[name] in rule.fold}
    else:
        assert rule.share is not None
        seed, total = rule.share.seed, len(names)
        ranked = sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
        chosen = set(ranked[round(rule.share.low * total) : round(rule.share.high * total)])
    return (each for each, group in zip(every, groups, strict=True) if group in chosen)


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
