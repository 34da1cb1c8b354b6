"""Studies over the tiny joint recipe."""

import json

import pytest
from made_rows import RECIPES

from spanloom.studies.spec import load


@pytest.fixture
def study(tmp_path):
    """Return a function that writes a study's file and reads it."""

    def write(designs, **keys):
        keys = {
            "recipe": str(RECIPES / "tiny-joint.yaml"),
            "tasks": ["pos", "ner", "dep"],
            **keys,
        }
        path = tmp_path / "study.yaml"
        path.write_text(json.dumps({**keys, "designs": designs}))
        return load(path)

    return write
