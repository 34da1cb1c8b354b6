"""Span F1 and relation F1 of files and folders: counted by hand, by loops, against another."""

import random
from contextlib import suppress

import pytest

from spanloom.errors import FormatError, NameNotFound
from spanloom.scoring import relations, spans

TEXT = "Add 5 ml buffer.\n"
GOLD = "T1\tAction 0 3\tAdd\nT2\tAmount 4 8\t5 ml\nT3\tReagent 9 15\tbuffer\n"
ACTS = "R1\tActs-on Arg1:T1 Arg2:T3\nR2\tMeasure Arg1:T3 Arg2:T2\n"


@pytest.fixture
def folder(tmp_path):
    """Write annotations of one text as a brat folder."""

    def write(name, *annotations):
        place = tmp_path / name
        place.mkdir()
        for number, each in enumerate(annotations):
            (place / f"{number}.txt").write_text(TEXT, encoding="utf-8")
            (place / f"{number}.ann").write_text(each, encoding="utf-8")
        return place

    return write


def counts(row):
    return row["hits"], row["predicted"], row["gold"]


def test_spans_by_hand(folder):
    other = GOLD.replace("Reagent", "Device").replace("4 8\t5 ml", "4 5\t5")
    scores = spans.KIND.score(folder("gold", GOLD, GOLD), folder("pred", GOLD, other), {})
    layer = scores["layers"]["main"]
    assert (counts(layer), layer["documents"]) == ((4, 6, 6), 2)
    assert layer["f1"] == pytest.approx(400 / 6)
    assert counts(layer["labels"]["Reagent"]) == (1, 1, 2)
    assert layer["macro"]["f1"] == pytest.approx(100 * (1 + 1 / 2 + 2 / 3 + 0) / 4)
    low, high = layer["interval"]
    assert (low, high) == (pytest.approx(100 / 3), 100.0)


def test_relations_ask_for_bounds_and_typed_for_labels_too(folder):
    gold = folder("gold", GOLD + ACTS)
    pred = folder("pred", GOLD.replace("Reagent", "Device") + ACTS)
    assert counts(relations.KIND.score(gold, pred, {})["layers"]["main"]) == (2, 2, 2)
    typed = relations.KIND.score(gold, pred, {"--typed": ""})["layers"]["main"]
    assert counts(typed) == (0, 2, 2)
    turned = ACTS.replace("Arg1:T1 Arg2:T3", "Arg1:T3 Arg2:T1")
    pred = folder("turned", GOLD + turned)
    assert counts(relations.KIND.score(gold, pred, {})["layers"]["main"]) == (1, 2, 2)


def test_the_layer_that_is_asked_for(folder):
    both = GOLD + "T4\tlab__Tool 9 15\tbuffer\n"
    gold, pred = folder("gold", both), folder("pred", both)
    assert sorted(spans.KIND.score(gold, pred, {})["layers"]) == ["lab", "main"]
    assert [*spans.KIND.score(gold, pred, {"--layer": "lab"})["layers"]] == ["lab"]
    with pytest.raises(NameNotFound, match="known: lab, main"):
        spans.KIND.score(gold, pred, {"--layer": "law"})
    bare = folder("bare", "")  # predicts nothing
    assert counts(spans.KIND.score(gold, bare, {"--layer": "lab"})["layers"]["lab"]) == (0, 0, 1)


def test_against_another_prediction(folder):
    worse = [GOLD.replace("Action", "Name").replace("Amount", "Name")] * 6
    gold, pred, other = (
        folder("gold", *[GOLD] * 6),
        folder("pred", *[GOLD] * 6),
        folder("other", *worse),
    )
    scores = spans.KIND.score(gold, pred, {"--against": str(other)})
    against = scores["layers"]["main"]["against"]
    assert counts(against) == (6, 18, 18)
    assert against["difference"] == pytest.approx(100 * 2 / 3)
    assert against["p_permutation"] == 2 / 2**6  # all kept, or all exchanged
    assert against["p_bootstrap"] is None, "of six documents it says nothing"
    shown = spans.KIND.table(scores)
    assert "against 33.33: +66.67" in shown
    same = spans.KIND.score(gold, pred, {"--against": str(pred)})["layers"]["main"]["against"]
    assert (same["difference"], same["p_permutation"]) == (0, 1.0)


def test_files_whose_documents_have_other_names_go_together_by_order(tmp_path):
    one, two = tmp_path / "a.conll", tmp_path / "b.conll"
    one.write_text("Ada B-PER\nslept O\n\nBob B-PER\n", encoding="utf-8")
    two.write_text("Ada B-PER\nslept O\n\nBob O\n", encoding="utf-8")
    layers = spans.KIND.score(one, two, {})["layers"]
    assert [counts(each) for each in layers.values()] == [(1, 1, 2)]


@pytest.mark.parametrize("others", [[GOLD], [GOLD, GOLD, GOLD]])
def test_documents_that_do_not_match(folder, others):
    with pytest.raises(FormatError, match="no document"):
        spans.KIND.score(folder("gold", GOLD, GOLD), folder("pred", *others), {})


def test_other_texts(folder):
    gold, pred = folder("gold", GOLD), folder("pred", GOLD)
    (pred / "0.txt").write_text("Add 5 mg buffer.\n", encoding="utf-8")
    with pytest.raises(FormatError, match="character 7"):
        spans.KIND.score(gold, pred, {})


def test_a_file_of_no_format(tmp_path):
    (tmp_path / "a.xyz").write_bytes(b"\x00\x01")
    with pytest.raises(FormatError, match="cannot tell"):
        spans.KIND.score(tmp_path / "a.xyz", tmp_path / "a.xyz", {})
    with pytest.raises(FormatError):
        spans.KIND.score(tmp_path / "none", tmp_path / "none", {})


def test_broken_files_are_told(folder):
    rng = random.Random(7)
    gold, pred = folder("gold", GOLD + ACTS), folder("pred", GOLD)
    for _ in range(40):
        letters = list(GOLD + ACTS)
        for _ in range(3):
            letters[rng.randrange(len(letters))] = rng.choice("\tT1R :-\n9")
        (pred / "0.ann").write_text("".join(letters), encoding="utf-8")
        with suppress(FormatError):
            relations.KIND.score(gold, pred, {})
            spans.KIND.score(gold, pred, {"--layer": "main"})


@pytest.mark.slow
def test_gold_against_itself_on_a_corpus(data):
    place = data("wlp") / "dev"
    for each in (spans, relations):
        (layer,) = each.KIND.score(place, place, {})["layers"].values()
        assert (layer["f1"], layer["interval"]) == (100, [100, 100])


def test_a_file_is_scored_with_the_options_that_its_beginning_shows(tmp_path):
    rows = ["Ada NNP I-NP I-PER", "met VBD I-VP O", "Bob NNP I-NP {bob}", ". . O O", ""]
    for name, tag in (("gold", "I-PER"), ("predicted", "O")):
        text = "\n".join(rows).format(bob=tag) + "\n"
        (tmp_path / f"{name}.conll").write_text(text, encoding="utf-8")
    scores = spans.KIND.score(tmp_path / "gold.conll", tmp_path / "predicted.conll", {})
    layers = scores["layers"]
    assert counts(layers["entities"]) == (1, 1, 2)
    assert counts(layers["chunks"]) == (3, 3, 3)
