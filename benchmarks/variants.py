"""What a change of a recipe does on dev: the recipe, and the same with settings, trained alike.

    python benchmarks/variants.py RECIPE DATA FOLDER --set stages.0.epochs=2 --json FILE \\
        --vary 'plain: trunk=[{transformer: minilm}]' \\
        --vary 'casing: trunk=[{transformer: minilm}, {casing: 16}]'

Runs lie in FOLDER, one a variant and seed; what is there already is not trained again, what was
stopped goes on. No test set is looked at.
"""

import argparse
import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spanloom.config import recipe as recipes
from spanloom.glad.speed import trained
from spanloom.model.plan import resolve
from spanloom.training import train


def _variants(arguments: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Names and settings; a variant may have several settings, parted by ``;``."""
    for argument in arguments:
        name, sign, settings = argument.partition(":")
        if not sign:
            raise SystemExit(f"--vary {argument}: expected NAME: KEY=VALUE; KEY=VALUE")
        yield name.strip(), [setting.strip() for setting in settings.split(";") if setting.strip()]


def _run(options: argparse.Namespace, name: str, settings: list[str], seed: int) -> dict[str, Any]:
    """Train one variant and return its best figures on dev."""
    recipe = recipes.load(options.recipe, [*options.set, *settings, f"seed={seed}"])
    out = options.folder / f"{options.recipe.stem}-{name}-{seed}"
    if not out.exists():
        train.train(
            resolve(recipe, options.data), out, print, resume=out.with_suffix(".run").exists()
        )
    result = trained(out, recipe.stages[-1])
    if result is None:
        raise SystemExit(f"{out}: the run beside it is gone; remove it to train again")
    return {"seed": seed, "dev": result.dev, "epoch": result.epoch, "minutes": result.minutes}


def main() -> None:
    """Train all variants in turn and write what they reached."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("recipe", type=Path)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--vary", action="append", required=True)
    arguments.add_argument("--set", action="append", default=[])
    arguments.add_argument("--seeds", type=int, nargs="+", default=[1])
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    result = {"recipe": options.recipe.stem, "settings": options.set, "variants": {}}
    for name, settings in _variants(options.vary):
        runs = [_run(options, name, settings, seed) for seed in options.seeds]
        means = {key: statistics.mean(run["dev"][key] for run in runs) for key in runs[0]["dev"]}
        result["variants"][name] = {"settings": settings, "dev": means, "runs": runs}
        print(name, {key: round(100 * value, 2) for key, value in means.items()})
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
