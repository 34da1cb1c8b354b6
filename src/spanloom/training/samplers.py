"""Samplers: the order of tasks in an epoch, as a list of turns; a turn has the tasks of a step.

An epoch has as many batches as the sizes say together; ``balanced`` rounds to whole turns.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from spanloom.config.recipe import Recipe
from spanloom.config.registry import Registry
from spanloom.errors import NameNotFound

Turns = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a task: batches, and examples (sentences, documents, queries)."""

    batches: int
    examples: int


Sizes = Mapping[str, Size]
Sampler = Callable[[Sizes, Random, float], Turns]


def proportional(sizes: Sizes, rng: Random, temperature: float) -> Turns:
    """Each batch of each task once, in random order (HMTL's proportional sampling)."""
    turns: Turns = [(name,) for name, size in sizes.items() for _ in range(size.batches)]
    rng.shuffle(turns)
    return turns


def examples(sizes: Sizes, rng: Random, temperature: float) -> Turns:
    """Draw tasks in proportion to their numbers of examples."""
    return _sample(sizes, rng, [size.examples for size in sizes.values()])


def tempered(sizes: Sizes, rng: Random, temperature: float) -> Turns:
    """Draw tasks in proportion to the ``temperature``-th root of their numbers of examples."""
    return _sample(sizes, rng, [size.examples ** (1 / temperature) for size in sizes.values()])


def uniform(sizes: Sizes, rng: Random, temperature: float) -> Turns:
    """Draw every task equally often."""
    return _sample(sizes, rng, [1.0] * len(sizes))


def balanced(sizes: Sizes, rng: Random, temperature: float) -> Turns:
    """One batch of every task in each step."""
    return [tuple(sizes)] * max(1, round(_total(sizes) / len(sizes)))


def round_robin(sizes: Sizes, rng: Random, temperature: float) -> Turns:
    """One task after another, in their order in the stage."""
    names = list(sizes)
    return [(names[turn % len(names)],) for turn in range(_total(sizes))]


SAMPLERS: dict[str, Sampler] = {
    "proportional": proportional,
    "examples": examples,
    "temperature": tempered,
    "uniform": uniform,
    "balanced": balanced,
    "round-robin": round_robin,
}


_REGISTRY: Registry[Sampler] = Registry(
    "samplers", "sampler", Callable, lambda: SAMPLERS, SAMPLERS.__getitem__
)


def load(name: str) -> Sampler:
    """Return the sampler of that name; raises ``NameNotFound`` and ``PluginError``."""
    return _REGISTRY.load(name)


def check(recipe: Recipe) -> None:
    """Raise ``RecipeError`` for a stage with an unknown sampler."""
    for row, stage in enumerate(recipe.stages):
        try:
            load(stage.sampler)
        except NameNotFound as error:
            raise recipe.at("stages", row, "sampler").error(str(error)) from error


def _sample(sizes: Sizes, rng: Random, weights: Sequence[float]) -> Turns:
    return [(name,) for name in rng.choices(list(sizes), weights, k=_total(sizes))]


def _total(sizes: Sizes) -> int:
    return sum(size.batches for size in sizes.values())
