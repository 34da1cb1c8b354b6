"""Documents drawn from raw text, to be annotated by one model and learnt by another.

    python benchmarks/sample_texts.py TEXTS/open-text/guides TEXTS/open-text/dialogue-sgd \\
        --words 300000 -o sample.jsonl

From each folder whole documents are drawn until they have so many words (by blanks). They are named
``FILE:NUMBER``, as ``exclude`` of a pre-training recipe calls them, and may be left out likewise.
"""

import argparse
import random
from pathlib import Path

from spanloom.corpora.raw_text import stream
from spanloom.document import Document
from spanloom.formats import jsonl


def draw(folder: Path, words: int, exclude: list[str], chance: random.Random) -> list[Document]:
    """Draw documents of at least so many words together, all if there are not as many."""
    documents = list(stream([folder], exclude))
    chance.shuffle(documents)
    drawn = []
    for document in documents:
        if words <= 0:
            break
        drawn.append(document)
        words -= len(document.text.split())
    return drawn


def main() -> None:
    """Draw, write, and print what was drawn."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--words", type=int, default=300_000, help="of each folder")
    parser.add_argument("--exclude", nargs="*", default=[], help="FILE, FILE:3, FILE:3-9")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--out", type=Path, required=True)
    args = parser.parse_args()
    chance = random.Random(args.seed)
    drawn = []
    for folder in args.folders:
        drawn += draw(folder, args.words, args.exclude, chance)
    jsonl.write(args.out, drawn)
    words = sum(len(document.text.split()) for document in drawn)
    print(f"{args.out}: {len(drawn):,} documents, {words:,} words")


if __name__ == "__main__":
    main()
