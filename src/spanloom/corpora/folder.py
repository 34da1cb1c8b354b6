"""Where the documents of a corpus lie: a folder of splits, one flat folder, or JSON lines.

corpus/train/… dev/… test/…            brat collections, nested as they like
corpus/train.jsonl dev.jsonl test.jsonl
corpus/…                               documents without splits: the split "all"
corpus.jsonl                           the split "all"
"""

from collections.abc import Iterable
from pathlib import Path

from spanloom.errors import DataError

ALL = "all"
SPLITS = {
    "train": ("train", "training"),
    "dev": ("dev", "valid", "validation", "development", "val"),
    "test": ("test",),
}


def splits(path: Path) -> dict[str, Path]:
    """Return the folder or .jsonl file of each split, in the order train, dev, test.

    Documents without splits are the split "all". Raises ``DataError`` where the path is missing or
    holds no documents, where a split has two names, and where annotated documents lie beside the
    split folders, because none of them may be left out silently.
    """
    if path.is_file() and path.suffix == ".jsonl":
        return {ALL: path}
    if not path.is_dir():
        raise DataError(f"{path}: expected a corpus folder or a .jsonl file, found none")
    found = {name: _only(path, spellings) for name, spellings in SPLITS.items()}
    present = {name: place for name, place in found.items() if place is not None}
    if not present:
        if not _has_documents(path):
            looked = ", ".join(f"{name}/" for name in SPLITS)
            raise DataError(f"{path}: no documents; looked for {looked} and *.txt, *.ann, *.jsonl")
        return {ALL: path}
    beside = sorted(path.glob("*.ann"))
    if beside:
        raise DataError(
            f"{beside[0]}: lies beside the splits {', '.join(present)}; "
            f"move it into one of them, or all documents into one folder"
        )
    return present


def _only(path: Path, spellings: Iterable[str]) -> Path | None:
    """The one folder or file that spells a split."""
    places = [path / name for name in spellings] + [path / f"{name}.jsonl" for name in spellings]
    found = [place for place in places if place.is_dir() or place.is_file()]
    found = [place for place in found if place.is_dir() or place.suffix == ".jsonl"]
    if len(found) > 1:
        raise DataError(f"{path}: expected one of {found[0].name}, {found[1].name}; got both")
    return found[0] if found else None


def _has_documents(path: Path) -> bool:
    """Whether a document lies anywhere below, hidden ones apart."""
    return any(
        each.suffix in {".txt", ".ann", ".jsonl"} and each.is_file()
        for each in path.rglob("*")
        if not any(part.startswith(".") for part in each.relative_to(path).parts)
    )


def place(path: Path, split: str) -> Path:
    """Return where one split lies; raises ``DataError`` with the splits there are."""
    known = splits(path)
    if split not in known:
        raise DataError(f"{path}: no split {split!r} (splits there: {', '.join(known)})")
    return known[split]
