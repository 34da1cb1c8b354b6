"""From corpora to what the loop needs, and what is said of what training will not see."""

import random
import shutil

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

from spanloom.config.recipe import loads
from spanloom.corpora import document_cache
from spanloom.errors import DataError, RecipeError
from spanloom.long_sentences import LONGEST
from spanloom.model import build
from spanloom.model.plan import resolve
from spanloom.tasks import SpanGold, cross_sentence_gold
from spanloom.training.prepare import prepare

RECIPE = """
trunk: [transformer: any]
tasks: {steps: {data: DATA, kind: relations}}
stages: [tasks: [steps]]
"""


@pytest.fixture(scope="module")
def cutter(bench):
    return build.load_tokenizer(str(bench.home / "encoder"))


@pytest.fixture
def ready(cutter, tmp_path):
    """Prepare a recipe over a corpus beside it."""

    def run(data="corpus", text=RECIPE):
        recipe = loads(text.replace("DATA", data))
        plan = resolve(recipe, tmp_path)
        return prepare(plan, plan.word_tokenizer, cutter)

    return run


def write(folder, text, ann):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "long.txt").write_text(text)
    (folder / "long.ann").write_text(ann)


def test_train_and_dev_are_the_folders(ready, tmp_path):
    tiny.corpus(tmp_path / "corpus")
    found = ready().data["steps"]
    assert (len(found.gold), len(found.dev)) == (6, 2)


@pytest.mark.parametrize("flat", [False, True])
def test_a_corpus_without_dev_holds_a_part_out(ready, tmp_path, flat):
    tiny.corpus(tmp_path / "corpus", train=20)
    shutil.rmtree(tmp_path / "corpus/dev")
    if flat:
        (tmp_path / "corpus/train").rename(tmp_path / "flat")
    found = ready("flat" if flat else "corpus").data["steps"]
    held = {each.name for each in found.dev}
    assert (len(found.gold), len(held)) == (18, 2)
    assert held < {f"train{row}" for row in range(20)}
    texts = {each.text for each in found.dev}
    learnt = {" ".join(whole.tokens) for whole in found.tokenized}
    assert not learnt & {" ".join(text.split()) for text in texts}


def test_one_document_is_not_enough(ready, tmp_path):
    tiny.corpus(tmp_path / "corpus", train=1)
    shutil.rmtree(tmp_path / "corpus/dev")
    with pytest.raises(DataError, match="at least 2 documents"):
        ready()


def test_test_is_never_learnt_from(ready, tmp_path):
    tiny.corpus(tmp_path / "corpus")
    shutil.rmtree(tmp_path / "corpus/dev")
    (tmp_path / "corpus/train").rename(tmp_path / "corpus/test")
    with pytest.raises(DataError, match="test/ alone"):
        ready()


def test_a_corpus_is_found_by_name_below_spanloom_data(ready, tmp_path, monkeypatch):
    with pytest.raises(DataError, match="SPANLOOM_DATA"):
        ready("mine")
    tiny.corpus(tmp_path / "shelf/mine")
    monkeypatch.setenv("SPANLOOM_DATA", str(tmp_path / "shelf"))
    assert len(ready("mine").data["steps"].gold) == 6


def test_the_fingerprint_is_of_train_and_dev(ready, tmp_path):
    tiny.corpus(tmp_path / "corpus")
    one = ready().fingerprint
    assert ready().fingerprint == one
    for place in ("train/train0.ann", "dev/dev0.ann"):
        path = tmp_path / "corpus" / place
        kept = path.read_text()
        path.write_text("".join(kept.splitlines(keepends=True)[:2]))
        assert ready().fingerprint != one
        path.write_text(kept)


def test_a_layer_that_is_not_there_is_an_error_with_the_choices(ready, tmp_path):
    tiny.corpus(tmp_path / "corpus")
    with pytest.raises(DataError, match=r"layer 'other' \(layers there: main\)"):
        ready(text=RECIPE.replace("kind:", "layer: other, kind:"))


def test_spans_that_no_word_carries_are_an_error(ready, tmp_path):
    for split in ("train", "dev"):
        write(tmp_path / "corpus" / split, "adding water", "T1\tAction 0 3\tadd\n")
    with pytest.raises(DataError, match="expressed over words"):
        ready()


def test_a_task_may_not_take_the_tokenizers_place(ready, tmp_path):
    with pytest.raises(RecipeError, match="taken"):
        ready(text=RECIPE.replace("steps", "special_ids"))


def test_unreadable_lines_are_told(ready, tmp_path):
    tiny.corpus(tmp_path / "corpus")
    with (tmp_path / "corpus/train/train0.ann").open("a") as lines:
        lines.write("nonsense\n")
    assert any("1 problem in its files (" in line for line in ready().notes)


def test_what_long_sentences_cost_is_told(ready, tmp_path):
    """One line of 600 words: a span over the first cut, a relation over it, one within."""
    tiny.corpus(tmp_path / "corpus")
    words = ["water"] * (2 * LONGEST + 88)
    starts = [6 * row for row in range(len(words))]
    a, b = starts[LONGEST - 1], starts[LONGEST] + 5
    lines = [
        f"T1\tReagent {a} {b}\twater water",
        "T2\tReagent 0 5\twater",
        "T3\tReagent 6 11\twater",
        f"T4\tReagent {starts[-1]} {starts[-1] + 5}\twater",
        "R1\tMod-Link Arg1:T2 Arg2:T3",
        "R2\tMod-Link Arg1:T2 Arg2:T4",
    ]
    write(tmp_path / "corpus/train", " ".join(words), "\n".join(lines) + "\n")
    found = ready()
    lengths = {b - a for whole in found.data["steps"].tokenized for a, b in whole.sentences}
    assert max(lengths) == LONGEST
    told = [line for line in found.notes if "cut" in line]
    assert told == ["steps: long sentences of 1 document are cut; that costs 1 span and 1 relation"]


def test_what_reaches_across_sentences_is_told(ready, tmp_path):
    tiny.corpus(tmp_path / "corpus")
    ann = "T1\tAction 0 3\tadd\nT2\tReagent 4 9\twater\nR1\tMod-Link Arg1:T1 Arg2:T2\n"
    write(tmp_path / "corpus/train", "add\nwater", ann)
    told = [line for line in ready().notes if "across" in line]
    assert told == ["steps: not learnt, as they reach across sentences: 0 spans and 1 relation"]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.integers(0, 10**9))
def test_across_counts_as_brute_force_does(lengths, seed):
    chance = random.Random(seed)
    ends = [sum(lengths[: row + 1]) for row in range(len(lengths))]
    sentences = list(zip([0, *ends], ends, strict=False))
    spans = []
    for _ in range(5):
        a = chance.randrange(ends[-1])
        spans.append((a, chance.randint(a + 1, ends[-1]), 1))
    pairs = [(chance.randrange(5), chance.randrange(5), 1) for _ in range(5)]

    def held(*some):
        return any(all(a <= s and e <= b for s, e, _ in some) for a, b in sentences)

    expected = (
        sum(not held(span) for span in spans),
        sum(not held(spans[i], spans[j]) for i, j, _ in pairs),
    )
    assert cross_sentence_gold(sentences, SpanGold(tuple(spans), tuple(pairs))) == expected


def test_the_cache_of_documents_changes_nothing(ready, tmp_path, monkeypatch):
    tiny.corpus(tmp_path / "corpus")
    monkeypatch.setenv("SPANLOOM_CACHE", str(tmp_path / "cache"))
    without = ready()
    assert not (tmp_path / "cache").exists()
    monkeypatch.setattr(document_cache, "_MIN_BYTES", 1)
    cold, warm = ready(), ready()
    assert len(list((tmp_path / "cache" / "documents").glob("*/manifest.json"))) == 2
    for prepared in (cold, warm):
        assert prepared.fingerprint == without.fingerprint
        assert prepared.notes == without.notes
        assert prepared.words == without.words
        assert repr(prepared.data) == repr(without.data)
