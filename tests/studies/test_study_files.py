"""The recipes and studies that come along can be read."""

from pathlib import Path

import pytest

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.studies.spec import load

ROOT = Path(__file__).parents[2] / "recipes"
FILES = sorted([*(ROOT / "papers").rglob("*.yaml"), *(ROOT / "studies").glob("*.yaml")])


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_each_file_is_a_study_or_the_recipe_of_one(path):
    if "designs" in yaml.load(path).data:
        assert load(path).designs
    else:
        assert recipes.load(path).tasks
