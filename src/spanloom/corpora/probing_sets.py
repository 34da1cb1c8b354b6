"""The ten probing tasks as sets of sentences: made of prepared corpora, or read from files.

A file is SentEval's: a line per sentence, its split (tr, va, te), label and words, with tabs
between. Made sets are balanced in each split, have no sentence twice, and no document in two
splits.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from spanloom.annotation import probing
from spanloom.annotation.probing import Bigrams, Sentence
from spanloom.corpora import folder
from spanloom.document import Document
from spanloom.errors import DataError, FormatError
from spanloom.tokenization import word_tokenizer, words_of

SPLITS = ("tr", "va", "te")
SIZE = 4000  # sentences of a task, at most
NUM_WORDS = 100  # whose content is asked for; 1,000 in SentEval
FILES = {
    "SentLen": "sentence_length",
    "WC": "word_content",
    "TreeDepth": "tree_depth",
    "TopConst": "top_constituents",
    "BShift": "bigram_shift",
    "Tense": "past_present",
    "SubjNum": "subj_number",
    "ObjNum": "obj_number",
    "SOMO": "odd_man_out",
    "CoordInv": "coordination_inversion",
}
# What is read where it is there: words, tags and dependencies; trees; plain text.
PARSED, TREES, TEXT = (
    (("ewt",), ("gum", "gum-open")),
    (("gum-trees", "gum-open-trees"),),
    ("novels",),
)
_SHARES = (0.7, 0.8)  # of documents: below, train; between, dev; above, test
_TEXT_CHARACTERS = 60_000  # of each plain text, so that long ones do not crowd out others
_TOP_CLASSES = 19  # the most frequent ones, besides all others together
_RARE = 40  # sentences; a class that has fewer is left out
_FREQUENT = 500  # words more frequent than so many others are not asked for
_MIN_WORDS, _MAX_WORDS = probing.LENGTHS[0][0], probing.LENGTHS[-1][1]
_OTHER = "OTHER"


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence, its label, and its split."""

    split: str
    label: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProbingSet:
    """The sentences of one probing task."""

    name: str
    examples: tuple[Example, ...]

    def size(self, split: str) -> int:
        """Return the number of sentences of a split."""
        return sum(example.split == split for example in self.examples)

    def dumps(self) -> str:
        """Return the set as SentEval writes it."""
        return "".join(f"{e.split}\t{e.label}\t{' '.join(e.words)}\n" for e in self.examples)


def loads(name: str, text: str, path: str = "text") -> ProbingSet:
    """Read a set as SentEval writes it; raises ``FormatError`` with the line."""
    examples = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split("\t")
        if len(cells) != 3 or cells[0] not in SPLITS or not cells[2].split():
            expected = f"expected tr, va or te, a label and a sentence, with tabs, got {line!r:.60}"
            raise FormatError(path, number, expected)
        examples.append(Example(cells[0], cells[1], tuple(cells[2].split())))
    return ProbingSet(name, tuple(examples))


def read(path: Path) -> list[ProbingSet]:
    """Read the sets of a folder, files named as SentEval's; raises ``DataError`` without any."""
    sets = [
        loads(name, (path / f"{stem}.txt").read_text("utf-8"), str(path / f"{stem}.txt"))
        for name, stem in FILES.items()
        if (path / f"{stem}.txt").is_file()
    ]
    if not sets:
        names = ", ".join(f"{stem}.txt" for stem in FILES.values())
        raise DataError(f"{path}: no probing tasks; looked for {names}")
    return sets


@dataclass(frozen=True, slots=True)
class Pool:
    """Sentences with the name of their document: parsed ones, those with trees, plain ones."""

    parsed: Sequence[tuple[str, Sentence]]
    trees: Sequence[tuple[str, Sentence]]
    plain: Sequence[tuple[str, Sentence]]

    @property
    def all(self) -> list[tuple[str, Sentence]]:
        """Parsed and plain sentences; those with trees are in part the same ones."""
        return [*self.parsed, *self.plain]


def read_pool(data: Path) -> Pool:
    """Read the corpora below ``data`` that are there; raises ``DataError`` without a parsed one."""
    parsed = [pair for names in PARSED for pair in _read_first(data, names)]
    if not parsed:
        names = ", ".join(name for names in PARSED for name in names)
        raise DataError(f"{data}: expected a prepared corpus of {names}, found none")
    trees = [pair for names in TREES for pair in _read_first(data, names)]
    return Pool(parsed, trees, list(_read_first(data, TEXT)))


def _read_first(data: Path, names: Iterable[str]) -> Iterator[tuple[str, Sentence]]:
    """Yield the sentences of the first of these corpora that is there."""
    tokenizer = word_tokenizer("treebank", "punctuation")
    name = next((name for name in names if (data / name).is_dir()), None)
    for split in () if name is None else folder.splits(data / name):
        for document in folder.read(data / str(name), split).documents:
            is_plain = not document.layers
            read_part = Document(document.text[:_TEXT_CHARACTERS]) if is_plain else document
            for sentence in probing.sentences(read_part, words_of(read_part, tokenizer)):
                if _MIN_WORDS <= len(sentence.words) <= _MAX_WORDS and _is_clean(sentence):
                    yield f"{name.removesuffix('-trees') if name else ''}/{document.name}", sentence


def _is_clean(sentence: Sentence) -> bool:
    """Return whether the words can be told apart by blanks."""
    return not any(" " in word or "\t" in word for word in sentence.words)


Labelled = Iterable[tuple[str, str, tuple[str, ...]]]  # document, label, words


def make(pool: Pool, size: int = SIZE, seed: int = 1) -> list[ProbingSet]:
    """Make the ten sets of a pool; one that too few sentences allow is left out."""
    makers: dict[str, Callable[[Pool, int], Labelled]] = {
        "SentLen": lambda pool, _: _by_label(pool.all, probing.sentence_length),
        "WC": lambda pool, _: _word_content(pool.all),
        "TreeDepth": lambda pool, _: _by_label(pool.trees, probing.tree_depth),
        "TopConst": lambda pool, _: _top_constituents(pool.trees),
        "BShift": lambda pool, seed: _changed(pool.all, seed, probing.shifted_bigram, ("O", "I")),
        "Tense": lambda pool, _: _by_label(pool.parsed, probing.tense),
        "SubjNum": lambda pool, _: _by_label(pool.parsed, probing.subject_number),
        "ObjNum": lambda pool, _: _by_label(pool.parsed, probing.object_number),
        "SOMO": _odd_man_out,
        "CoordInv": lambda pool, seed: _changed(
            pool.parsed,
            seed,
            lambda sentence, _: probing.inverted_coordination(sentence),
            ("O", "I"),
        ),
    }
    sets = (ProbingSet(name, _balanced(maker(pool, seed), size)) for name, maker in makers.items())
    return [task for task in sets if all(task.size(split) for split in SPLITS)]


def _by_label(
    pairs: Iterable[tuple[str, Sentence]], label_of: Callable[[Sentence], str | None]
) -> Labelled:
    for document, sentence in pairs:
        label = label_of(sentence)
        if label is not None:
            yield document, label, sentence.words


def _word_content(pairs: Sequence[tuple[str, Sentence]]) -> Labelled:
    """Label by the words that follow the most frequent ones, as many as are asked for."""
    counts = Counter(
        word.lower() for _, sentence in pairs for word in sentence.words if word.isalpha()
    )
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    words = frozenset(ranked[_FREQUENT : _FREQUENT + NUM_WORDS])
    return _by_label(pairs, lambda sentence: probing.word_content(sentence, words))


def _top_constituents(pairs: Sequence[tuple[str, Sentence]]) -> Labelled:
    """Label by the most frequent sequences; all others are one class."""
    labelled = list(_by_label(pairs, probing.top_constituents))
    counts = Counter(label for _, label, _ in labelled)
    frequent = {label for label, n in counts.most_common(_TOP_CLASSES) if n >= _RARE}
    return ((doc, label if label in frequent else _OTHER, words) for doc, label, words in labelled)


def _changed(
    pairs: Iterable[tuple[str, Sentence]],
    seed: int,
    change: Callable[[Sentence, Random], tuple[str, ...] | None],
    labels: tuple[str, str],
) -> Labelled:
    """Yield sentences that can be changed; half of them, drawn at random, are."""
    for document, sentence in pairs:
        rng = Random(f"{seed}/{' '.join(sentence.words)}")
        words = change(sentence, rng)
        if words is not None:
            is_changed = rng.random() < 0.5
            yield document, labels[is_changed], words if is_changed else sentence.words


def _odd_man_out(pool: Pool, seed: int) -> Labelled:
    bigrams = Bigrams()
    for _, sentence in pool.all:
        bigrams.add(sentence)
    return _changed(
        pool.parsed,
        seed,
        lambda sentence, rng: probing.odd_man_out(sentence, bigrams, rng),
        ("O", "C"),
    )


def _balanced(labelled: Labelled, size: int) -> tuple[Example, ...]:
    """Return as many sentences of each class, in each split, as the rarest class has, up to a size.

    A sentence is kept once, of its first document; classes with few sentences are left out.
    """
    seen: set[tuple[str, ...]] = set()
    by_class: dict[str, dict[str, list[tuple[str, ...]]]] = defaultdict(lambda: defaultdict(list))
    for document, label, words in labelled:
        key = tuple(sorted(word.lower() for word in words))  # also what differs in order alone
        if key not in seen:
            seen.add(key)
            by_class[label][_split_of(document)].append(words)
    kept = {
        label: splits
        for label, splits in by_class.items()
        if sum(map(len, splits.values())) >= min(_RARE, size)
        and all(splits.get(split) for split in SPLITS)
    }
    return tuple(_draw(kept, size)) if len(kept) > 1 else ()


def _draw(
    classes: Mapping[str, Mapping[str, Sequence[tuple[str, ...]]]], size: int
) -> Iterator[Example]:
    shares = dict(zip(SPLITS, (_SHARES[0], _SHARES[1] - _SHARES[0], 1 - _SHARES[1]), strict=True))
    for split in SPLITS:
        fair = max(1, round(shares[split] * size / len(classes)))
        count = min(fair, *(len(splits[split]) for splits in classes.values()))
        for label in sorted(classes):
            ranked = sorted(classes[label][split], key=_rank)
            for words in ranked[:count]:
                yield Example(split, label, words)


def _split_of(document: str) -> str:
    """Return the split of a document; it follows from its name alone."""
    share = int.from_bytes(hashlib.sha256(document.encode()).digest()[:8], "big") / 2**64
    return SPLITS[sum(share >= limit for limit in _SHARES)]


def _rank(words: Sequence[str]) -> bytes:
    return hashlib.sha256(" ".join(words).encode()).digest()
