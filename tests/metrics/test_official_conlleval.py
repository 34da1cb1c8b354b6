"""Span scores equal the official conlleval, on its cases of IOB1 and IOB2 tags."""

import json

import pytest

from spanloom.document import MAIN, Document, Layer, Span
from spanloom.metrics.report import score

CASES = ["case01", "case02", "case03", "case05", "case06", "case08", "case10"]


def chunks(tags):
    """Spans of IOB tags; I-X after O or another type opens one, as the official program does."""
    found, label, start = [], None, 0
    for place, tag in enumerate([*tags, "O"]):
        prefix, _, kind = tag.partition("-")
        if label is not None and (prefix != "I" or kind != label):
            found.append((label, start, place))
            label = None
        if label is None and prefix in {"B", "I"}:
            label, start = kind, place
    return found


def document(name, tags):
    """A text of one character a token."""
    spans = (Span(f"T{i}", a, ((b, c),)) for i, (a, b, c) in enumerate(chunks(tags), 1))
    return Document("x" * len(tags), (Layer(MAIN, tuple(spans)),), name)


def sentences(text):
    rows = [[line.split() for line in block.split("\n") if line] for block in text.split("\n\n")]
    return [block for block in rows if block]


@pytest.mark.parametrize("case", CASES)
def test_case(case, golden):
    folder = golden("conlleval") / case
    expected = json.loads((folder / "scores.json").read_text(encoding="utf-8"))["scores"]
    blocks = sentences((folder / "input.txt").read_text(encoding="utf-8"))
    columns = {
        side: [document(str(i), [row[at] for row in rows]) for i, rows in enumerate(blocks)]
        for side, at in (("gold", -2), ("predicted", -1))
    }
    spans = score(columns["gold"], columns["predicted"], MAIN).spans
    micro = spans.micro
    counts = [expected[f"{side}_phrases"] for side in ("correct", "found", "gold")]
    assert [micro.hits, micro.predicted, micro.gold] == counts
    for ratio in ("precision", "recall", "f1"):
        assert f"{100 * getattr(micro, ratio):.2f}" == f"{expected[ratio]:.2f}"
        by_type = {label: getattr(each, ratio) for label, each in spans.by_label.items()}
        printed = {label: f"{each[ratio]:.2f}" for label, each in expected["per_type"].items()}
        assert {label: f"{100 * each:.2f}" for label, each in by_type.items()} == printed
    golden.count(1)
