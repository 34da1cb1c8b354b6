"""Read from a model's card which language it reads and which of its tasks are often wrong."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import mean

from spanloom.model.model_card import front_matter_value, tables

LEAST_SCORE = 50.0  # percent; below it a layer is wrong more often than right
_FIGURE = re.compile(r"([\w.]+) (-?\d+(?:\.\d+)?)")
_SHARE = re.compile(r"(?:f1|precision|accuracy|las|uas|evalb)$")  # of items that are right
_DEV = "dev"


def language(card: str) -> str | None:
    """Return the language of a card's front matter, as ``en``; None if it has none."""
    return front_matter_value(card, "language")


def main_scores(card: str) -> str:
    """Return the first score of each task and data set on one line, "" for a card without any."""
    return ", ".join(
        f"{task} {figures[0][0]} {figures[0][1]:.1f} on {dataset}"
        for task, dataset, figures in _rows(card)
        if figures
    )


def doubtful_tasks(card: str) -> dict[str, str]:
    """Return the tasks that are wrong more often than right, each with the score that says so.

    The score is the precision of the test sets, or of dev, and where a card has none, the metric
    that the model was chosen by; the mean of all data sets counts. Tasks whose scores are no
    shares of right items, such as correlations, are not judged. If all tasks were doubtful, none
    is, so that a model with one weak task still shows something.
    """
    by_task: dict[str, list[tuple[str, float, str]]] = defaultdict(list)
    for task, dataset, figures in _rows(card):
        shares = [(name, value) for name, value in figures if _SHARE.search(name)]
        precisions = [(name, value) for name, value in shares if name.endswith("precision")]
        if shares and (precisions or figures[0] == shares[0]):
            by_task[task].append((*(precisions or shares)[0], dataset))
    doubtful = {
        task: ", ".join(f"{name} {value:.1f} on {dataset}" for name, value, dataset in scores)
        for task, scores in by_task.items()
        if mean(value for _, value, _ in scores) < LEAST_SCORE
    }
    return doubtful if len(doubtful) < len(by_task) else {}


def _rows(card: str) -> Iterator[tuple[str, str, list[tuple[str, float]]]]:
    """Yield task, data set and figures in percent of each row of scores, the main one first."""
    dev: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for row in tables(card):
        if {"task", "dataset", "test"} <= row.keys():
            figures = [(name, float(value)) for name, value in _FIGURE.findall(row["test"])]
            yield row["task"], row["dataset"], figures
        elif {"figure", "score"} <= row.keys():
            task, _, name = row["figure"].rpartition(".")
            dev[task].append((name, float(row["score"])))
    yield from ((task, _DEV, figures) for task, figures in dev.items() if task)


def doubtful_layers(card: str, layers: Mapping[str, str]) -> dict[str, str]:
    """Return the layers of doubtful tasks with their scores; ``layers`` are named by task."""
    return {layers[task]: why for task, why in doubtful_tasks(card).items() if task in layers}
