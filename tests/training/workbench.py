"""A folder with a random encoder, a small corpus, and recipes that use all training can do."""

import json
from pathlib import Path

import tiny

from spanloom.config import recipe as recipes
from spanloom.model.plan import resolve
from spanloom.training.distributed import ProcessGroup
from spanloom.training.loop import METRICS, Run
from spanloom.training.metrics_log import MetricsLog
from spanloom.training.progress_line import LogIntervals
from spanloom.training.train import new_model, train

TASKS = {
    "steps": {"data": "corpus", "kind": "relations", "level": "context", "hidden_size": 16},
    "names": {"data": "corpus", "kind": "entities", "hidden_size": 16},
}
LEVELS = [{"name": "context", "rnn": "lstm", "hidden_size": 8}]
FIRST = {
    "tasks": ["steps", "names"],
    "epochs": 1.5,
    "batch_words": 24,
    "gradient_accumulation_steps": 2,
    "ema_decay": 0.9,
    "lr_schedule": "plateau",
    "eval_every_epochs": 0.5,
    "precision": "fp32",
}
SECOND = {
    "tasks": ["steps"],
    "epochs": 1,
    "batch_words": 48,
    "ema_decay": 0.9,
    "eval_every_epochs": 0.4,
    "precision": "fp32",
}


class Bench:
    """A folder with an encoder and a corpus; recipes over them are made, prepared and trained."""

    def __init__(self, home):
        self.home = home
        tiny.recipe(home)

    def write(self, name="recipe.yaml", **changes):
        """Write the recipe above with some keys changed."""
        made = {"trunk": [{"transformer": str(self.home / "encoder")}], "window": 64, "seed": 5}
        made |= {"tasks": TASKS, "levels": LEVELS, "stages": [FIRST, SECOND], **changes}
        (self.home / name).write_text(json.dumps(made))
        return self.home / name

    def recipe(self, **changes):
        return recipes.load(self.write(**changes))

    def fresh(self, **changes):
        return new_model(resolve(self.recipe(**changes), self.home), "cpu")

    def run(self, out, **changes):
        """A run that is ready to train, nothing done yet."""
        model, prepared = self.fresh(**changes)
        out.mkdir(parents=True, exist_ok=True)
        journal = MetricsLog(out / METRICS, lambda line: None, active=True)
        return Run(model, prepared, out, ProcessGroup("cpu"), journal)

    def train(self, out, *, resume=False, pace=0.0, **changes):
        """Train to the end; returns what was said."""
        said = []
        recipe = self.recipe(**changes)
        train(
            resolve(recipe, self.home),
            out,
            said.append,
            resume=resume,
            pace=LogIntervals(pace),
            device="cpu",
        )
        return said


def events(out: Path):
    """What a run's metrics say, a dict a line."""
    lines = out.with_name(f"{out.name}.run").joinpath(METRICS).read_text().splitlines()
    return [json.loads(line) for line in lines]
