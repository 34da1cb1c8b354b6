"""Trees in documents, scored as the scorer of bracket files scores the same trees."""

import random

import pytest

from spanloom.document import Document, Layer, Span
from spanloom.errors import LayerError
from spanloom.formats import trees
from spanloom.metrics.constituents import score
from spanloom.scoring import evalb

GOLD = """(TOP (S (NP-SBJ (DT The) (JJ old) (NN man)) (VP (VBD slept)) (. .)))
(TOP (S (`` ``) (NP (NNP Ada)) (, ,) (VP (VBD met) (NP (NNP Bob))) (. .)))
"""
OTHER = """(TOP (S (NP (DT The)) (NP (JJ old) (NN man)) (VP (VBD slept) (. .))))
(TOP (S (`` ``) (NP (NP (NNP Ada)) (, ,)) (VP (VBD met) (NNP Bob)) (. .)))
"""


def _documents(text):
    return list(trees.loads(text, path="x.mrg"))


def _official(gold, other, tmp_path):
    for name, text in (("gold", gold), ("other", other)):
        (tmp_path / name).write_text(text)
    return evalb.score(tmp_path / "gold", tmp_path / "other", {})["All"]


@pytest.mark.parametrize("other", [GOLD, OTHER])
def test_figures_are_those_of_bracket_files(other, tmp_path):
    found = score(_documents(GOLD), _documents(other), "constituency").evalb.micro
    official = _official(GOLD, other, tmp_path)
    assert 100 * found.recall == pytest.approx(official["Bracketing Recall"], abs=0.01)
    assert 100 * found.precision == pytest.approx(official["Bracketing Precision"], abs=0.01)


def _tree(words, drawn):
    """A random tree over words, some of them punctuation."""
    if len(words) == 1:
        return f"({drawn.choice(['NN', ',', '.', 'VB'])} {words[0]})"
    middle = drawn.randrange(1, len(words))
    parts = f"{_tree(words[:middle], drawn)} {_tree(words[middle:], drawn)}"
    return f"({drawn.choice(['NP', 'VP', 'PRT', 'ADVP', 'S-1'])} {parts})"


@pytest.mark.parametrize("seed", range(30))
def test_random_trees_score_as_their_files_do(seed, tmp_path):
    drawn = random.Random(seed)
    words = [f"w{n}" for n in range(drawn.randrange(2, 9))]
    gold = f"(TOP {_tree(words, drawn)})\n"
    tags = [span.label for span in _documents(gold)[0]["xpos"].spans]
    other = f"(TOP {_tree(words, drawn)})\n"
    for leaf, tag in zip(_documents(other)[0]["xpos"].spans, tags, strict=True):
        word = words.pop(0)
        other = other.replace(f"({leaf.label} {word})", f"({tag} {word})")
    found = score(_documents(gold), _documents(other), "constituency").evalb.micro
    official = _official(gold, other, tmp_path)
    for mine, theirs in ((found.recall, "Recall"), (found.precision, "Precision")):
        said = official[f"Bracketing {theirs}"]
        if said != "-nan":  # the program divides by no brackets
            assert 100 * mine == pytest.approx(said, abs=0.01)


def test_without_tags_every_word_counts():
    spans = (Span("T1", "S", ((0, 7),)), Span("T2", "NP", ((0, 5),)))
    gold = [Document("Ada , .", (Layer("c", spans),), "a")]
    shorter = (spans[0], Span("T2", "NP", ((0, 3),)))
    found = score(gold, [Document("Ada , .", (Layer("c", shorter),), "a")], "c").evalb.micro
    assert (found.hits, found.predicted, found.gold) == (1, 2, 2)


def test_a_constituent_that_ends_inside_a_word_is_wrong():
    gold = [Document("abc def ghi", (Layer("c", (Span("T1", "NP", ((0, 3),)),)),), "a")]
    for end, hits in ((3, 1), (5, 0), (4, 0)):
        cut = [Document("abc def ghi", (Layer("c", (Span("T1", "NP", ((0, end),)),)),), "a")]
        found = score(gold, cut, "c").evalb.micro
        assert (found.hits, found.predicted, found.gold) == (hits, 1, 1)
    assert score(cut, cut, "c").evalb.micro.hits == 1  # gold cuts the same word


def test_a_layer_that_no_gold_has_is_named():
    with pytest.raises(LayerError, match="constituency"):
        score([Document("x", (), "a")], [Document("x", (), "a")], "constituency")


@pytest.mark.parametrize("root", ["TOP", "ROOT", "S1", ""])
def test_roots_count_nowhere_whatever_they_are_called(root):
    gold = _documents(f"({root} (S (NP (NN a)) (VP (VB b))))\n")
    nothing = _documents(f"({root} (NN a) (VB b))\n")
    found = score(gold, nothing, "constituency").evalb.micro
    assert (found.hits, found.predicted, found.gold) == (0, 0, 3)
