"""A worker of a study: ``python -m spanloom.studies.worker DATA RUNS RESULTS [--plugin MODULE]…``.

Answers each job of its standard input (``workers.frames``), JSON, with JSON: its row, or an error.
It ends when its input ends; a run in training is then stopped with a checkpoint.
"""

import argparse
import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

from spanloom import plugins
from spanloom.errors import SpanloomError
from spanloom.studies.execute import Folders, execute
from spanloom.studies.job import Job
from spanloom.studies.row import Row
from spanloom.workers.process import Answerer, answer_jobs

NICENESS = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: with a row, with an error, or with neither, because its worker died."""

    key: str
    row: Row | None = None
    error: str | None = None


OUTCOME = TypeAdapter(Outcome)


def main(arguments: Sequence[str]) -> None:
    """Answer jobs until the input ends."""
    stop_training = partial(os.kill, os.getpid(), signal.SIGTERM)
    answer_jobs(partial(make_answerer, _parse(arguments)), at_end=stop_training)


def make_answerer(folders: Folders) -> Answerer:
    """Prepare a process, and return what answers its jobs."""
    prepare_process(folders.plugins)
    return partial(_answer_json, folders)


def _answer_json(folders: Folders, content: bytes) -> bytes:
    """Execute a job and return its outcome, both as JSON."""
    return OUTCOME.dump_json(answer(Job.from_json(json.loads(content)), folders))


def prepare_process(modules: Sequence[str]) -> None:
    """Lower the priority, use one thread, and load plugins; raises ``PluginError``."""
    import torch
    from transformers.utils import logging

    os.nice(NICENESS)
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    plugins.load(*modules)


def answer(job: Job, folders: Folders) -> Outcome:
    """Execute a job and return its row, or its error."""
    log_path = folders.runs / f"{job.key}.log"
    try:
        folders.runs.mkdir(parents=True, exist_ok=True)
        with log_path.open("a", encoding="utf-8", buffering=1) as log:
            row = execute(
                job,
                folders,
                lambda line: print(datetime.now().isoformat(timespec="seconds"), line, file=log),
            )
        log_path.unlink(missing_ok=True)
    except SpanloomError as error:
        return Outcome(job.key, error=str(error))
    except Exception as error:  # a defect of one run must not end the others
        with log_path.open("a", encoding="utf-8") as log:
            traceback.print_exc(file=log)
        return Outcome(job.key, error=f"{type(error).__name__}: {error} (see {log_path})")
    return Outcome(job.key, row)


def _parse(arguments: Sequence[str]) -> Folders:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("data", "runs", "results"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--plugin", action="append", default=[])
    options = parser.parse_args(arguments)
    return Folders(options.data, options.runs, options.results, tuple(options.plugin))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
