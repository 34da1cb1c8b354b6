"""docs/serve.md says what the server does, and a card's tables are read as they were written."""

import re
from dataclasses import asdict
from pathlib import Path

from spanloom.model import model_card
from spanloom.serve import openapi
from spanloom.serve.limits import Limits

PAGE = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
CARD = """---
library_name: spanloom
license: cc-by-sa-4.0
---

# A model

| task | dataset | license | test |
|---|---|---|---|
| ner | wnut17 | cc-by-4.0 | spans 45.00 |
| dep | ewt (labels mapped) | cc-by-sa-4.0 | las 88.00 |

| figure | score |
|:--|--:|
| ner.spans | 45.00 |
"""


def test_every_address_is_told():
    told = re.findall(r"^\| `(?:GET|POST) (\S+)`", PAGE, re.MULTILINE)
    assert sorted(told) == sorted(openapi.PATHS)


def test_limits_are_those_that_hold():
    told = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE, re.MULTILINE))
    assert told == {name: f"{value:.0f}" for name, value in asdict(Limits()).items()}


def test_a_card_tells_licence_and_scores():
    assert model_card.weights_license(CARD) == "cc-by-sa-4.0"
    assert list(model_card.tables(CARD)) == [
        {"task": "ner", "dataset": "wnut17", "license": "cc-by-4.0", "test": "spans 45.00"},
        {
            "task": "dep",
            "dataset": "ewt (labels mapped)",
            "license": "cc-by-sa-4.0",
            "test": "las 88.00",
        },
        {"figure": "ner.spans", "score": "45.00"},
    ]


def test_a_card_may_tell_nothing():
    for text in ("", "# A model\n", "---\ntags: [a]\n---\nlicense: none\n", "| a\n|\n||\n"):
        assert model_card.weights_license(text) is None
        assert not [row for row in model_card.tables(text) if any(row.values())]
