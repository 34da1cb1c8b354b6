"""Train a recipe in a process of its own: child.py RECIPE OUT [--resume]."""

import sys
from pathlib import Path

import torch

from spanloom.config import recipe as recipes
from spanloom.model.plan import resolve
from spanloom.training.progress_line import LogIntervals
from spanloom.training.train import train

if __name__ == "__main__":
    torch.set_num_threads(1)
    path, out = Path(sys.argv[1]), Path(sys.argv[2])
    pace = LogIntervals(checkpoint=0, log=1)
    resume = "--resume" in sys.argv
    train(
        resolve(recipes.load(path), path.parent), out, print, resume=resume, pace=pace, device="cpu"
    )
