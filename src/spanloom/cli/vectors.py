"""``spanloom vectors``: static word vectors made from plain text."""

from pathlib import Path
from typing import Annotated

import typer

from spanloom.cli.console import log

app = typer.Typer(
    help="Static word vectors for the embedder static.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    """Keep ``train`` a subcommand, although it is the only one."""


@app.command()
def train(
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="a text, or a folder of .txt")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="the vectors, text")],
    dim: Annotated[int, typer.Option(min=1, max=4096, help="size of a vector")] = 50,
    min_count: Annotated[int, typer.Option(min=1, help="occurrences that a word needs")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="passes over the text")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="start of all random numbers")] = 1,
) -> None:
    """Train word2vec (skip-grams) on plain text; a trunk reads the file as {static: FILE}.

    Words are lower-cased. Texts may be compressed (.txt.gz). The same call gives the same file.

    Example: spanloom vectors train texts/ -o vectors/en.50.txt
    """
    from spanloom.training.word_vectors import VectorOptions, train_vectors

    vectors = train_vectors(corpus, out, VectorOptions(dim, min_count, epochs, seed))
    log(f"{vectors.words:,} words with {dim} numbers each, of {vectors.text_words:,} words of text")
    log(f"written to {out}")
