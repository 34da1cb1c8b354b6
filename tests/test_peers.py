"""Benchmarks beside peers: what they exchange, and how all are scored. No peer is installed."""

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation.events import collect
from spanloom.annotation.text_pairs import classify, join_texts
from spanloom.document import SENTENCES, WORDS, Argument, Document, Event, Layer, Relation, Span
from spanloom.errors import DataError
from spanloom.formats import jsonl
from spanloom.formats.brat import write
from spanloom.metrics.qa import normalize_answer, score_answer
from spanloom.metrics.report import score as report
from spanloom.tokenization import word_tokenizer, words_of

PEERS = Path(__file__).resolve().parents[1] / "benchmarks" / "peers"


@pytest.fixture(autouse=True, scope="module")
def _scripts():
    """Scripts import what lies beside them."""
    sys.path.insert(0, str(PEERS))
    yield
    sys.path.remove(str(PEERS))


@pytest.fixture
def page(monkeypatch):
    """What makes the page of benchmarks of results."""
    monkeypatch.syspath_prepend(PEERS.parents[1] / "docs")
    return importlib.import_module("ten_tasks")


@pytest.fixture
def exchange():
    import exchange

    return exchange


@pytest.fixture
def export():
    import export

    return export


@pytest.fixture
def score():
    import score

    return score


SPLIT = word_tokenizer("char-class", "newline")
STEPS = Document(
    "Mix 5ml buffer.\nAdd it twice.",
    (
        Layer(
            "main",
            (
                Span("T1", "Action", ((0, 3),)),
                Span("T2", "Amount", ((4, 7),)),
                Span("T3", "Reagent", ((8, 14),)),
                Span("T4", "Action", ((16, 19),)),
                Span("T5", "Reagent", ((9, 12),)),  # inside a word
                Span("T6", "Odd", ((0, 3), (8, 14))),  # with a gap
                Span("T7", "Reagent", ((8, 14),)),  # T3 once more
            ),
            (
                Relation("R1", "Measure", "T3", "T2"),
                Relation("R2", "Next", "T1", "T4"),  # from one sentence to another
                Relation("R3", "Measure", "T5", "T2"),
            ),
            (Event("E1", "Action", "T1", (Argument("Acts-on", "T3"), Argument("Acts-on2", "T2"))),),
        ),
    ),
    "steps",
)
TREE = Document(
    "Bob slept . He 2 1/2 snored",
    (
        Layer(
            WORDS,
            tuple(
                Span(f"w{row}", "word", (bounds,))
                for row, bounds in enumerate(
                    [(0, 3), (4, 9), (10, 11), (12, 14), (15, 20), (21, 27)]
                )
            ),
        ),
        Layer(
            SENTENCES,
            (Span("s0", "sentence", ((0, 11),)), Span("s1", "sentence", ((12, 27),))),
        ),
        Layer(
            "upos",
            tuple(
                Span(f"p{row}", tag, (bounds,))
                for row, (tag, bounds) in enumerate(
                    [
                        ("PROPN", (0, 3)),
                        ("VERB", (4, 9)),
                        ("PUNCT", (10, 11)),
                        ("PRON", (12, 14)),
                        ("NUM", (15, 20)),
                        ("VERB", (21, 27)),
                    ]
                )
            ),
        ),
        Layer(
            "dependency",
            tuple(
                Span(f"d{row}", "word", (bounds,))
                for row, bounds in enumerate(
                    [(0, 3), (4, 9), (10, 11), (12, 14), (15, 20), (21, 27)]
                )
            ),
            tuple(
                Relation(f"r{row}", label, f"d{head}", f"d{row}")
                for row, (head, label) in enumerate(
                    [
                        (1, "nsubj"),
                        (1, "root"),
                        (1, "punct"),
                        (5, "nsubj"),
                        (5, "obl:tmod"),
                        (5, "root"),
                    ]
                )
            ),
        ),
    ),
    "tree",
)


def sentences(export, document, **asked):
    wanted = export.Asked(**asked)
    scheme = export.scheme_of([document], wanted)
    return list(export.sentences(document, words_of(document, SPLIT), wanted, scheme))


def test_words_tags_and_trees_are_counted_from_their_sentence(export):
    first, second = sentences(export, TREE, tags="upos", tree="dependency")
    assert (first.words, second.words) == (("Bob", "slept", "."), ("He", "2 1/2", "snored"))
    assert second.tags == ("PRON", "NUM", "VERB")
    assert (first.heads, first.labels) == ((1, 1, 1), ("nsubj", "root", "punct"))
    assert (second.heads, second.labels) == ((2, 2, 2), ("nsubj", "obl:tmod", "root"))
    assert first.spans is None


def test_a_word_without_a_tag_is_told(export):
    tags = TREE["upos"]
    poor = TREE.with_layer(replace(tags, spans=tags.spans[:-1]))
    with pytest.raises(SystemExit, match="tree: layer upos says nothing of the word at 21"):
        sentences(export, poor, tags="upos")


def test_spans_and_relations_are_of_words_and_the_rest_is_counted(export):
    first, second = sentences(export, STEPS, spans="main")
    action, amount, reagent = (0, 1, "Action"), (1, 3, "Amount"), (3, 4, "Reagent")
    assert first.words == ("Mix", "5", "ml", "buffer", ".")
    assert first.spans == (action, amount, reagent)
    assert set(first.relations) == {
        (reagent, amount, "Measure"),
        (action, reagent, "Acts-on"),
        (action, amount, "Acts-on"),
    }
    assert (first.beyond, second.beyond) == ((2, 2), (0, 0))
    assert second.spans == ((0, 1, "Action"),)


def test_what_is_written_is_read(exchange, export, tmp_path):
    for document, asked in ((STEPS, {"spans": "main"}), (TREE, {"tags": "upos"})):
        exported = sentences(export, document, **asked)
        exchange.write(exported, tmp_path / "sentences.jsonl")
        assert exchange.read(tmp_path / "sentences.jsonl") == exported
    lines = (tmp_path / "sentences.jsonl").read_text().splitlines()
    assert set(json.loads(lines[0])) == {"document", "index", "words", "tags", "beyond"}


def test_a_limit_takes_whole_documents(export):
    taken = export.limited([TREE, STEPS, TREE], SPLIT, 3)
    assert [document.name for document in taken] == ["tree", "steps"]
    assert export.limited([TREE, STEPS], SPLIT, None) == [TREE, STEPS]
    assert export.limited([TREE], SPLIT, 99) == [TREE]


def test_a_dataset_becomes_three_files_with_the_default_words(exchange, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for split in ("train", "dev", "test"):
        jsonl.write(data / f"{split}.jsonl", [STEPS])
    command = [sys.executable, PEERS / "export.py", data, "-o", tmp_path / "out"]
    subprocess.run([*command, "--spans", "main"], capture_output=True, check=True)
    for split in ("train", "dev", "test"):
        first, second = exchange.read(tmp_path / "out" / f"{split}.jsonl")
        assert first.words == ("Mix", "5", "ml", "buffer", ".")
        assert second.spans == ((0, 1, "Action"),)


def test_datasets_name_words_and_sentences_that_spanloom_has():
    import run

    for options in run.EXPORTS.values():
        values = dict(zip(options[::2], options[1::2], strict=True))
        word_tokenizer(values.get("--words", "char-class"), values.get("--sentences", "newline"))


SPANS = st.lists(
    st.tuples(st.integers(0, 11), st.integers(1, 4), st.sampled_from("AB")).map(
        lambda each: (each[0], min(12, each[0] + each[1]), each[2])
    ),
    max_size=6,
)


@given(SPANS)
def test_tags_tell_all_spans_that_lie_apart(spans):
    import exchange

    kept = exchange.apart(spans)
    covered = [word for start, end, _ in kept for word in range(start, end)]
    assert len(set(covered)) == len(covered)
    assert set(kept) <= set(spans)
    assert exchange.unbio(exchange.bio(12, spans)) == kept
    longest = max((end - start for start, end, _ in spans), default=0)
    assert max((end - start for start, end, _ in kept), default=0) == longest


def test_an_inside_without_a_beginning_begins(exchange):
    tags = ["I-A", "I-A", "O", "B-A", "I-B", "B-B", "I-B"]
    assert exchange.unbio(tags) == [(0, 2, "A"), (3, 4, "A"), (4, 5, "B"), (5, 7, "B")]


BEYOND = {"T5", "T6", "R2", "R3"}  # what words and sentences cannot express, so no one predicts it
DROPPED = st.sets(st.sampled_from(["T1", "T2", "T3", "T4", "T7"]))


@given(DROPPED, st.sets(st.sampled_from(["R1", "E1"])), st.booleans())
def test_scores_are_those_of_spanlooms_report(spans, links, turned):
    """What peers and Spanloom get here, Spanloom's own report gives for the same annotation."""
    import export
    import score

    layer = STEPS["main"]
    kept = {span.id for span in layer.spans} - spans - BEYOND
    said = {
        "relations": tuple(
            replace(each, head=each.tail, tail=each.head) if turned else each
            for each in layer.relations
            if {each.head, each.tail} <= kept and each.id not in links | BEYOND
        ),
        "events": tuple(
            each for each in layer.events if {"T1", "T2", "T3"} <= kept and each.id not in links
        ),
        "spans": tuple(span for span in layer.spans if span.id in kept),
    }
    predicted = STEPS.with_layer(replace(layer, **said))
    asked, scheme = export.Asked(spans="main"), collect([layer])
    sides = [
        list(export.sentences(each, words_of(each, SPLIT), asked, scheme))
        for each in (STEPS, predicted)
    ]
    found = score.scored(score.couples(*sides))
    whole = report([STEPS], [predicted], "main")
    for name, theirs in {
        "span_f1": whole.spans,
        "relation_f1": whole.relations,
        "relation_f1_typed": whole.relations_typed,
    }.items():
        assert found[name]["f1"] == pytest.approx(theirs.micro.f1)
        counts = [found[name][each] for each in ("hits", "predicted", "gold")]
        assert counts == [theirs.micro.hits, theirs.micro.predicted, theirs.micro.gold]
        assert (found[name]["low"], found[name]["high"]) == (
            theirs.interval.low,
            theirs.interval.high,
        )


def test_accuracy_uas_and_las(export, score):
    gold = sentences(export, TREE, tags="upos", tree="dependency")
    predicted = [
        replace(gold[1], heads=(1, 2, 2), labels=("obj", "obl", "root")),
        replace(gold[0], tags=("NOUN", "VERB", "PUNCT")),
    ]
    scores = score.scored(score.couples(gold, predicted))
    assert set(scores) == {"tags", "uas", "las"}
    assert scores["tags"]["f1"] == pytest.approx(5 / 6)
    assert scores["uas"]["f1"] == pytest.approx(5 / 6)
    assert scores["las"]["f1"] == pytest.approx(5 / 6)  # obl is an obl:tmod
    wrong = [replace(predicted[0], labels=("obj", "iobj", "root")), predicted[1]]
    assert score.scored(score.couples(gold, wrong))["las"]["f1"] == pytest.approx(4 / 6)


def test_what_no_one_has_is_not_scored(export, score):
    alone = [
        replace(sentence, relations=(), beyond=(0, 0))
        for sentence in sentences(export, STEPS, spans="main")
    ]
    assert set(score.scored(score.couples(alone, alone))) == {"span_f1"}


def test_only_the_same_sentences_are_scored(export, score):
    gold = sentences(export, TREE, tags="upos")
    with pytest.raises(DataError, match="expected 2 sentences, got 1"):
        score.couples(gold, gold[:1])
    with pytest.raises(DataError, match="some twice"):
        score.couples(gold, gold[:1] * 2)
    with pytest.raises(DataError, match="tree, sentence 1: other words"):
        score.couples(gold, [gold[0], replace(gold[1], words=("He", "2", "snored"))])
    with pytest.raises(DataError, match="both sides annotate"):
        score.scored(score.couples(gold, [replace(sentence, tags=None) for sentence in gold]))


def test_scoring_writes_one_file_a_run(exchange, export, page, tmp_path):
    gold = sentences(export, STEPS, spans="main")
    exchange.write(gold, tmp_path / "gold.jsonl")
    record = exchange.Record("mine", 1, 2.5, 99.0, {"epochs": 3}, [{"dev": 0.5}], {"torch": "2"})
    exchange.write_record(record, tmp_path / "record.json")
    files = [tmp_path / "gold.jsonl", tmp_path / "gold.jsonl", "--record", tmp_path / "record.json"]
    done = subprocess.run(
        [sys.executable, PEERS / "score.py", *files, "--dataset", "tiny", "-o", tmp_path / "out"],
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads((tmp_path / "out" / "mine-tiny.json").read_text())
    assert "| mine | tiny | span_f1 " in page.peers(tmp_path / "out")
    assert done.stdout.startswith("mine-tiny: span_f1 66.67, relation_f1 60.00")
    assert (result["sentences"], result["words"], result["train_minutes"]) == (2, 9, 2.5)
    assert result["metrics"]["relation_f1"]["gold"] == 5


def test_every_run_has_its_script_environment_and_data():
    import run

    assert len({peer.name for peer in run.RUNS}) == len(run.RUNS)
    for peer in run.RUNS:
        assert (PEERS / peer.script).is_file()
        assert peer.dataset in run.EXPORTS
        requirements = PEERS / "requirements" / f"{peer.environment}.txt"
        assert peer.environment == run.OURS or requirements.read_text().startswith("torch==")
        recipes = [Path(option) for option in peer.options if option.endswith(".yaml")]
        assert all(recipe.is_file() for recipe in recipes)


@pytest.fixture
def questions():
    import hf_questions

    return hf_questions


@given(
    st.lists(st.tuples(st.text("ab the.", max_size=8), st.text("ab the.", max_size=8)), min_size=1)
)
def test_the_peer_that_answers_questions_is_scored_as_we_are(pairs):
    sys.path.insert(0, str(PEERS))
    import hf_questions

    asked = [
        hf_questions.Question(str(row), "?", right, ((0, right),))
        for row, (right, _) in enumerate(pairs)
    ]
    said = {str(row): answer for row, (_, answer) in enumerate(pairs)}
    exact, f1 = hf_questions.exact_and_f1(asked, said)
    equal = [normalize_answer(a) == normalize_answer(b) for a, b in pairs]
    assert exact == pytest.approx(100 * sum(equal) / len(pairs))
    assert f1 == pytest.approx(100 * sum(score_answer([a], b).f1 for a, b in pairs) / len(pairs))


def test_the_peer_learns_the_pieces_of_an_answer_and_says_the_same_text(questions):
    context = "Ada met Bob in old London ."
    offsets = [None, None, (0, 3), (4, 7), (8, 11), (12, 14), (15, 18), (19, 25), (26, 27), None]
    assert questions.target(offsets, 15, 25) == (6, 7)
    assert questions.target(offsets, 4, 11) == (3, 4)
    assert questions.target(offsets[:7], 15, 25) == (0, 0)  # the window ends inside the answer
    question = questions.Question("q", "where?", context, ((15, "old London"),))
    starts, ends = np.zeros(10), np.zeros(10)
    starts[[0, 6]], ends[[1, 7]] = (9, 5), (9, 5)  # what stands outside the text is never said
    assert questions.best_span(question, [(offsets, starts, ends)]) == "old London"


def test_the_peer_that_classifies_reads_texts_and_pairs_as_we_write_them(tmp_path):
    import hf_classes

    single, pair = Document("Good .", name="a"), join_texts("b", "It rains .", "It is wet .")
    single = single.with_layer(classify(single, "label", "1", None, single.id_generator()))
    pair = pair.with_layer(classify(pair, "label", "entailment", None, pair.id_generator()))
    for document in (single, pair, Document("No class .", name="c")):
        (tmp_path / f"{document.name}.txt").write_text(document.text, encoding="utf-8")
        (tmp_path / f"{document.name}.ann").write_text(write.dumps(document), encoding="utf-8")
    assert hf_classes.read(tmp_path, "label") == [
        hf_classes.Example(("Good .",), "1"),
        hf_classes.Example(("It rains .", "It is wet ."), "entailment"),
    ]
