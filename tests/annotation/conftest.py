"""What the tests of annotation share."""

import random

import pytest


@pytest.fixture
def damaged():
    """Damage cells at random: ``damaged(cells, letters)`` yields 300 copies, one letter changed."""

    def damage(cells, letters):
        dice = random.Random(3)
        for _ in range(300):
            copy = list(cells)
            row = dice.randrange(len(copy))
            cell = list(copy[row])
            cell[dice.randrange(len(cell))] = dice.choice(letters)
            copy[row] = "".join(cell)
            yield copy

    return damage
