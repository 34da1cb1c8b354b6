"""LAS and UAS of documents, against the scorer of Universal Dependencies on the same trees."""

import random

import pytest

from spanloom.document import Document
from spanloom.errors import LayerError
from spanloom.formats import conllu
from spanloom.metrics.dependencies import score
from spanloom.scoring import ud_eval

LABELS = ("nsubj", "nsubj:pass", "obj", "obl:tmod", "punct")


def _tree(drawn, n):
    """Heads of a random tree of one root, from 1, and labels."""
    order = drawn.sample(range(1, n + 1), n)
    heads = {order[0]: 0}
    for place, word in enumerate(order[1:], start=1):
        heads[word] = order[drawn.randrange(place)]
    return [
        (heads[word], "root" if heads[word] == 0 else drawn.choice(LABELS))
        for word in range(1, n + 1)
    ]


def _file(tree):
    rows = (
        f"{n}\tw{n}\t_\tX\t_\t_\t{head}\t{label}\t_\t_" for n, (head, label) in enumerate(tree, 1)
    )
    return "\n".join(rows) + "\n\n"


@pytest.mark.parametrize("seed", range(20))
def test_figures_are_the_scorers(seed, tmp_path):
    drawn = random.Random(seed)
    n = drawn.randrange(1, 12)
    one = _tree(drawn, n)
    two = [(head, drawn.choice(LABELS) if head else "root") for head, _ in one]
    texts = [_file(one), _file(_tree(drawn, n) if seed % 2 else two)]
    for name, text in zip(("gold", "other"), texts, strict=True):
        (tmp_path / name).write_text(text)
    official = ud_eval.score(tmp_path / "gold", tmp_path / "other", {})["full_precision"]
    found = score(*(list(conllu.loads(text, path="x")) for text in texts), "dependency")
    assert found.las.micro.f1 == pytest.approx(official["LAS"]["f1"])
    assert found.uas.micro.f1 == pytest.approx(official["UAS"]["f1"])
    assert "UAS" in found.to_table()


def test_a_layer_that_no_gold_has_is_named():
    with pytest.raises(LayerError, match="dependency"):
        score([Document("x", (), "a")], [Document("x", (), "a")], "dependency")
