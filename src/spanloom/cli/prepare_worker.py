"""A worker of ``glad prepare``: ``python -m spanloom.cli.prepare_worker RAW OUT [MODULE]…``.

Answers the name of each dataset with what was made of its raw files, or an error, both as JSON.
The modules are plugins.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

from spanloom import plugins
from spanloom.cli.console import log
from spanloom.corpora import card as cards
from spanloom.corpora import prepare as making
from spanloom.corpora.fetch import fetch
from spanloom.corpora.prepare import Prepared
from spanloom.errors import DataError, SpanloomError
from spanloom.workers.process import Answerer, answer_jobs, module_command


@dataclass(frozen=True, slots=True)
class PrepareOutcome:
    """What was made, or the error; ``is_missing``: the dataset's files are not there."""

    prepared: Prepared | None = None
    error: str = ""
    is_missing: bool = False


OUTCOME = TypeAdapter(PrepareOutcome)


def make_answerer(raw: Path, out: Path, modules: Sequence[str]) -> Answerer:
    """Return what answers the name of a dataset by preparing it."""
    plugins.load(*modules)

    def answer(name: bytes) -> bytes:
        return OUTCOME.dump_json(_outcome(name.decode(), raw, out))

    return answer


def worker_command(raw: Path, out: Path) -> list[str]:
    """Return the command that starts a worker process."""
    return module_command(__name__, str(raw), str(out), *plugins.modules)


def _outcome(name: str, raw: Path, out: Path) -> PrepareOutcome:
    try:
        return PrepareOutcome(_prepare(name, raw, out))
    except DataError as error:
        return PrepareOutcome(error=str(error), is_missing=True)
    except SpanloomError as error:
        return PrepareOutcome(error=str(error))


def _prepare(name: str, raw: Path, out: Path) -> Prepared:
    """Prepare one dataset, downloaded if possible."""
    card = cards.load(name)
    fetch(card, raw, log)
    if card.download_instructions and not any(
        raw.glob(f) for s in card.sources.values() for f in s.files
    ):
        raise DataError(f"{name}: {card.download_instructions}")
    prepared = making.prepare(name, raw, out, lambda line: log(f"{name}: {line}"))
    log(f"{name}: {'made' if prepared.fresh else 'there already'}")
    return prepared


def main(arguments: Sequence[str]) -> None:
    """Answer names until the command that started this process is gone."""
    raw, out, *modules = arguments
    answerer = partial(make_answerer, Path(raw), Path(out), modules)
    answer_jobs(answerer, at_end=partial(os._exit, 0))


if __name__ == "__main__":
    main(sys.argv[1:])
