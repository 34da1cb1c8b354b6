"""``spanloom glad``: Open GLAD's datasets, runs and board."""

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanloom.cli.console import is_terminal, log, write_stdout
from spanloom.errors import DataError
from spanloom.quantity import quantity

if TYPE_CHECKING:
    from spanloom.corpora.prepare import Prepared
    from spanloom.glad.result import Result

app = typer.Typer(
    help="Open GLAD: datasets with cards, runs of recipes on them, the leaderboard.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
ALL = "all"
DATA, ROWS = Path("glad"), Path("benchmarks/results/glad")

_Data = Annotated[Path, typer.Option("--data", metavar="DIR", help="the prepared datasets")]
_Results = Annotated[Path, typer.Option("--results", metavar="DIR", help="saved results, JSON")]
_Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="seed=2")]


@app.command("list")
def listing() -> None:
    """List the datasets: tasks, licence, and what they are.

    Example: spanloom glad list
    """
    from spanloom.corpora import card as cards

    all_cards = {name: cards.load(name) for name in cards.names()}
    width = max(map(len, all_cards), default=0)
    for name, card in all_cards.items():
        shipped = "weights may ship" if card.may_share_weights else "research only"
        write_stdout(
            f"{name:{width}}  {', '.join(card.tasks)}: {card.title} ({card.license}; {shipped})"
        )


@app.command()
def prepare(
    names: Annotated[list[str], typer.Argument(metavar="NAME...|all", help="datasets (glad list)")],
    raw: Annotated[Path, typer.Option("--raw", metavar="DIR", help="raw files")] = Path("raw"),
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="brat corpora")] = DATA,
    workers: Annotated[
        int | None, typer.Option(min=1, help="datasets at once; by default free cores")
    ] = None,
) -> None:
    """Make brat corpora of raw files: sums checked, counts beside the card's.

    Files that have a public address are downloaded if they are not there. With ``all``, datasets
    whose files are missing are named and left out. A dataset that is there already stays as it is.

    Example: spanloom glad prepare wnut17 btc --raw downloads/ -o glad/
    """
    from spanloom.cli.dataset_preparer import DatasetPreparer
    from spanloom.cli.worker_count import CORPUS_WORK, default_workers
    from spanloom.corpora import card as cards
    from spanloom.corpora.call_worker import open_calls
    from spanloom.workers.calls import map_here

    is_all = list(names) == [ALL]
    names = list(cards.names()) if is_all else list(dict.fromkeys(names))
    size = workers or default_workers(len(names), "cpu", CORPUS_WORK)
    prepared: dict[str, Prepared] = {}
    failures: list[str] = []
    with nullcontext(map_here) if size == 1 else open_calls(min(size, len(names))) as mapper:
        outcomes = mapper(DatasetPreparer(raw, out), names)
        for name, outcome in zip(names, outcomes, strict=True):
            if outcome.prepared is not None:
                prepared[name] = outcome.prepared
            elif is_all and outcome.is_missing:
                log(f"{name}: left out: {outcome.error}")
            elif is_all:
                failures.append(f"{name}: {outcome.error}")
            else:
                raise DataError(outcome.error)
    if not prepared and not failures:
        raise DataError(f"{raw}: no dataset has its files here")
    _tell(prepared)
    if failures:
        raise DataError(f"{quantity(len(failures), 'dataset')} not made:\n" + "\n".join(failures))


def _tell(prepared: "dict[str, Prepared]") -> None:
    """Print the counts with those of the cards; raises ``DataError`` if they differ."""
    from spanloom.corpora import card as cards
    from spanloom.glad.statistics import differences

    for name, dataset in prepared.items():
        expected = cards.load(name).counts
        for split, counts in dataset.counts.items():
            parts = [
                f"{number:,} {what}{_beside(number, expected.get(split, {}).get(what))}"
                for what, number in counts.items()
            ]
            write_stdout(f"{name} {split}: {', '.join(parts)}")
    wrong = differences(prepared)
    for line in wrong:
        log(line)
    if wrong:
        raise DataError(f"{len(wrong)} counts are not the cards'")


def _beside(number: int, expected: int | None) -> str:
    if expected is None:
        return ""
    return " (as the card says)" if expected == number else f" (the card says {expected:,})"


@app.command()
def heads(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="prepared datasets")],
    data: _Data = DATA,
    layer: Annotated[str, typer.Option(help="the layer whose spans are cut")] = "entities",
    model: Annotated[
        str | None, typer.Option("-m", "--model", help="parser; default: the bundled model")
    ] = None,
) -> None:
    """Make NAME-heads of a prepared dataset: its spans, cut to their head words, as layer heads.

    Heads come from the layer dependency or, where a dataset has none, from a parser: these are
    silver, and heads.json says so.

    Example: spanloom glad heads scierc --data glad/
    """
    from spanloom.glad.heads import HEADS, Parser, prepare_heads
    from spanloom.model.serialization import load

    parser = Parser(load(model), model)
    for name in names:
        counts = prepare_heads(data / name, data / f"{name}-{HEADS}", layer, parser)
        for split, counted in counts.items():
            parts = [f"{number:,} {what}" for what, number in counted.items()]
            write_stdout(f"{name}-{HEADS} {split}: {', '.join(parts)}")


@app.command()
def run(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="its data are datasets")],
    data: _Data = DATA,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="MODEL", help="runs/RECIPE if not said")
    ] = None,
    results: _Results = ROWS,
    settings: _Settings = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on where a run stopped")] = False,
) -> None:
    """Train a recipe, score it on the test sets of its datasets, and save one row per task.

    A model that is at MODEL already is only scored; RECIPE and --set must be those it was made
    with. Each evaluation on a test set is logged.

    Example: spanloom glad run recipes/glad/wnut17.yaml --data glad/ --set seed=2
    """
    from spanloom.glad.run import run as runs

    model = out or Path("runs", recipe.stem)
    _save(runs(recipe, data, model, log, settings or [], resume=resume), results)


def _save(results: "Iterable[Result]", folder: Path) -> None:
    """Save each row as soon as it is there, then print all."""
    from spanloom.glad.leaderboard import table
    from spanloom.glad.result import save

    kept = []
    for row in results:
        log(f"written to {save(row, folder)}")
        kept.append(row)
    write_stdout(table(kept), end="")


@app.command()
def release(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="on datasets with cards")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="MODEL", help="the model to share")],
    data: _Data = DATA,
    trained: Annotated[
        Path | None, typer.Option("--run", metavar="DIR", help="default: runs/RECIPE")
    ] = None,
    results: _Results = ROWS,
    settings: _Settings = None,
    embeddings: Annotated[str, typer.Option(help="fp32 | fp16 | int8: embeddings")] = "int8",
    weights: Annotated[str, typer.Option(help="fp32 | fp16 | int8: all other matrices")] = "fp16",
) -> None:
    """Train a model, or take the trained one in DIR, and prepare it for sharing.

    The weights are stored small, and the stored weights are scored. The model card lists the data,
    licence and test scores of each layer. Datasets that forbid sharing weights are refused.

    Example: spanloom glad release recipes/spanloom-en.yaml --data glad/ -o spanloom-en
    """
    from spanloom.glad.release import release as released
    from spanloom.model.quantization import StorageDtypes
    from spanloom.model.serialization import WEIGHTS

    run = trained or Path("runs", recipe.stem)
    store = StorageDtypes(embeddings, weights)
    results_of_release = released(recipe, data, run, out, store, log, settings or [])
    _save(results_of_release, results)
    log(f"{out}: {(out / WEIGHTS).stat().st_size / 1e6:.1f} MB of weights")


@app.command()
def rescore(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="what release wrote")],
    data: _Data = DATA,
    results: _Results = ROWS,
    tasks: Annotated[
        str | None, typer.Option(help="score these anew, with commas; else only the card is made")
    ] = None,
) -> None:
    """Score tasks of a released model anew, and write its card from all its saved results.

    For a model whose recipe says more than when it was scored. Each look at a test set is noted.

    Example: spanloom glad rescore spanloom-en --tasks relations --data glad/
    """
    from spanloom.glad.leaderboard import table
    from spanloom.glad.release import rescore as rescored

    names = None if tasks is None else [task.strip() for task in tasks.split(",")]
    rescored_results = rescored(model, data, results, log, names)
    if rescored_results:
        write_stdout(table(rescored_results), end="")
    log(f"{model}: its card is made of the results in {results}")


@app.command()
def leaderboard(
    results: _Results = ROWS,
    page: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="as a page")] = None,
) -> None:
    """Print the table of all saved results; with --html, write it as a page too.

    Example: spanloom glad leaderboard --html leaderboard.html
    """
    from spanloom.atomic_io import write_file
    from spanloom.glad import leaderboard as boards
    from spanloom.glad.result import load_results

    rows = load_results(results)
    if not rows:
        raise DataError(f"{results}: no results; spanloom glad run saves them")
    write_stdout(boards.table(rows), end="")
    if page is not None:
        write_file(page, boards.page(rows).encode())
        log(f"written to {page}")


@app.command()
def stats(
    data: _Data = DATA,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="default: stdout")
    ] = None,
) -> None:
    """Write a Markdown page about the prepared datasets: licences, sizes, highest possible F1.

    Example: spanloom glad stats --data glad/ -o docs/glad.md
    """
    from spanloom.atomic_io import write_file
    from spanloom.corpora import card as cards
    from spanloom.glad.statistics import statistics_page

    pieces = []
    for piece in statistics_page(data, cards.names()):
        pieces.append(piece)
        if is_terminal() and out is not None:
            log(piece.strip().splitlines()[0])
    text = "".join(pieces)
    if out is None:
        write_stdout(text, end="")
    else:
        write_file(out, text.encode())
        log(f"written to {out}")
