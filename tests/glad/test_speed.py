"""Speeds beside a clock that is known, and what a run says that it took."""

import json

import pytest
import tiny
import torch

from spanloom.config import recipe as recipes
from spanloom.config.specs import StageSpec
from spanloom.corpora import folder
from spanloom.data.windows import pack
from spanloom.errors import FormatError
from spanloom.glad.speed import Trained, first, read_training_cost, record_calls, speeds
from spanloom.model.plan import resolve
from spanloom.training.train import new_model

TASKS = {
    "steps": {"data": "corpus", "kind": "relations", "hidden_size": 16},
    "links": {"data": "corpus", "kind": "relations", "gold_spans": True, "hidden_size": 16},
}
STAGE = StageSpec(tasks=("a", "b"))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("speed")
    tiny.recipe(place, tasks=TASKS)
    return place


@pytest.fixture(scope="module")
def model(home):
    made, _ = new_model(resolve(recipes.load(home / "recipe.yaml"), home), "cpu")
    return made


@pytest.fixture(scope="module")
def texts(home):
    return folder.read(home / "corpus", "train").documents


def ticks(*spent):
    """A clock that says these seconds for each piece of work: it is read before and after."""
    times = [0.0]
    for each in spent:
        times += [times[-1] + each, times[-1] + each + 5]
    return iter(times).__next__


def test_speeds_are_words_by_the_clock(model, texts):
    words = sum(len(each.text.split()) for each in texts)
    bare = [each.unannotated() for each in texts]
    clock = ticks(1, 2, 3, 4, 2, 8)  # the encoder alone, then all of it; three rounds
    found = speeds(model, bare, ["steps"], clock=clock)
    assert (found.words, found.annotated, found.encoder) == (words, words / 2, words)
    assert found.ratios == (0.25, 0.5, 0.75)
    assert found.ratio == 0.5


def test_the_encoder_reads_alone_what_annotation_hands_it(model, texts):
    bare = [each.unannotated() for each in texts]
    encoder = model.network.transformer.encoder
    with record_calls(encoder) as calls:
        speeds(model, bare, ["steps"], rounds=2)
    times = 1 + 2 + 2  # ahead, then in turn
    assert len(calls) % times == 0
    once = len(calls) // times
    told = [(call["input_ids"].tolist(), call["output_hidden_states"]) for call in calls]
    whole, alone = told[:once], told[once : 2 * once]
    assert [ids for ids, _ in whole] == [ids for ids, _ in alone]
    assert {states for _, states in whole} == {True}
    assert {states for _, states in alone} == {False}
    # every piece of every text, and the special ones of each window
    cuts = [model.tokenize(each) for each in bare]
    lengths = [[sum(map(len, cut.pieces[a:b])) for a, b in cut.sentences] for cut in cuts]
    windows = sum(len(pack(each, model.recipe.window)) for each in lengths)
    read = sum(int(call["attention_mask"].sum()) for call in calls[:once])
    special = len(model.subword_tokenizer.prefix) + len(model.subword_tokenizer.suffix)
    assert read == sum(map(sum, lengths)) + special * windows


def test_a_task_with_given_spans_is_timed_on_what_it_may_see(model, texts):
    bare = [model.tasks["links"].without_gold(each) for each in texts]
    assert speeds(model, bare, ["links"], rounds=1).annotated > 0


def test_without_a_transformer_there_is_no_ratio(home, texts, tmp_path):
    (tmp_path / "vectors.txt").write_text("add 1 2\nbuffer 3 4\n")
    trunk = [{"static": str(tmp_path / "vectors.txt")}]
    said = json.loads((home / "recipe.yaml").read_text()) | {"trunk": trunk}
    made, _ = new_model(resolve(recipes.loads(json.dumps(said)), home), "cpu")
    found = speeds(made, [each.unannotated() for each in texts], ["steps"], rounds=1)
    assert found.annotated > 0
    assert (found.encoder, found.ratio) == (None, None)


def test_nothing_is_left_behind(model, texts, monkeypatch):
    encoder, handles = model.network.transformer.encoder, []
    register = encoder.register_forward_pre_hook

    def recorded_hook(*args, **options):
        handles.append(register(*args, **options))
        return handles[-1]

    monkeypatch.setattr(encoder, "register_forward_pre_hook", recorded_hook)
    speeds(model, [texts[0].unannotated()], ["steps"], rounds=1)
    assert handles
    assert not any(handle.id in handle.hooks_dict_ref() for handle in handles)


@pytest.mark.parametrize("words", [0, 1, 40, 10**9])
def test_the_first_documents_have_so_many_words(model, texts, words):
    sizes = [len(model.tokenize(each).words) for each in texts]
    found = first(model, iter(texts), words)
    assert found == list(texts[: len(found)])
    assert sum(sizes[: len(found)]) >= min(words, sum(sizes))
    assert not found or sum(sizes[: len(found) - 1]) < words


# what training left


def left(place, updates=97, at=90, entered=0, looks=(), every=20, made="w"):
    """The folder of a run: 100 words and 0.1 s of CPU (0.2 s by the clock) an update."""
    out = place / "model"
    for folder_, digest in ((out, "w"), (place / "model.run/best", made)):
        folder_.mkdir(parents=True)
        manifest = {"files": {"model.safetensors": {"sha256": digest, "size": 1}}}
        (folder_ / "manifest.json").write_text(json.dumps(manifest))
    state = {
        "recipe": "r",
        "data": "d",
        "global_step": at,
        "words": 100 * at,
        "stage_start_step": entered,
    }
    state |= {"cpu_seconds": 0.1 * at, "seconds": 0.2 * at}
    (place / "model.run/state").mkdir()
    (place / "model.run/state/progress.json").write_text(json.dumps(state))
    logs = [
        {
            **{"step": n, "stage": 0, "seconds": 0.2 * (n - 1)},
            "words_per_cpu_second": 1000 * n / (n - 1),  # the time of this update comes after
        }
        for n in range(every, updates + 1, every)
    ]
    seen = [{"step": n, "epoch": e, "dev": {"a.f": a, "b.f": b}} for n, e, a, b in looks]
    lines = sorted([*logs, *seen], key=lambda each: each["step"])
    metrics = place / "model.run/metrics.jsonl"
    metrics.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return out


LOOKS = [(30, 1.0, 0.5, 0.9), (60, 2.0, 0.8, 0.6), (97, 3.0, 0.7, 0.5)]


def test_minutes_are_of_all_updates_to_the_end(tmp_path):
    found = read_training_cost(left(tmp_path, looks=LOOKS), STAGE)
    dev = {"a.f": 0.5, "b.f": 0.9}
    assert found == Trained(pytest.approx(97 * 0.1 / 60), 1000.0, 30, 1.0, dev, "d")


def test_a_curve_is_a_tasks_own_score_after_its_own_updates(tmp_path):
    out = left(tmp_path, looks=LOOKS)
    metrics = tmp_path / "model.run/metrics.jsonl"
    counted = [
        {**json.loads(line), "task_updates": {"a": 7}} for line in metrics.read_text().splitlines()
    ]
    metrics.write_text("".join(json.dumps(line) + "\n" for line in counted))
    curves = read_training_cost(out, STAGE).dev_curves
    assert curves == {"a": ((7, 0.5), (7, 0.8), (7, 0.7))}


def test_a_run_without_a_checkpoint_is_told_by_the_clock(tmp_path):
    assert read_training_cost(left(tmp_path, at=0, looks=LOOKS), STAGE).minutes == pytest.approx(
        97 * 0.2 / 60
    )


def test_a_run_without_a_log_says_nothing_of_time(tmp_path):
    found = read_training_cost(left(tmp_path, at=0, every=100, looks=LOOKS), STAGE)
    assert (found.minutes, found.speed, found.updates) == (None, None, 30)


def test_the_figure_that_decides_chooses(tmp_path):
    last = StageSpec(tasks=("a", "b"), validation_metric="a.f")
    assert read_training_cost(left(tmp_path, looks=LOOKS), last).updates == 60


def test_only_the_last_stage_counts(tmp_path):
    assert read_training_cost(left(tmp_path, entered=60, looks=LOOKS), STAGE).updates == 97


def test_of_equal_ones_the_first_was_kept(tmp_path):
    looks = [(30, 1.0, 0.5, 0.5), (60, 2.0, 0.5, 0.5), (97, 3.0, 0.4, 0.5)]
    assert read_training_cost(left(tmp_path, looks=looks), STAGE).updates == 30


def test_a_run_that_made_other_weights_says_nothing(tmp_path):
    assert read_training_cost(left(tmp_path, looks=LOOKS, made="other"), STAGE) is None


@pytest.mark.parametrize("gone", ["metrics.jsonl", "state/progress.json"])
def test_a_run_that_is_not_whole_says_nothing(tmp_path, gone):
    out = left(tmp_path, looks=LOOKS)
    (tmp_path / "model.run" / gone).unlink()
    assert read_training_cost(out, STAGE) is None


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"step": 1}',
        b'{"step": 99, "epoch": 1, "dev": {}}',
        b'{"step": 99, "epoch": 1, "dev": {"c.f": 1}}',
        b'{"step": 99, "epoch": 1, "dev": {"a.f": "x"}}',
        b'{"step": 99, "seconds": 1, "words_per_cpu_second": 0}',
        b'{"step": "x", "seconds": 1, "words_per_cpu_second": 1}',
    ],
)
def test_damaged_metrics_are_told(tmp_path, line):
    out = left(tmp_path, looks=LOOKS)
    with (tmp_path / "model.run/metrics.jsonl").open("ab") as lines:
        lines.write(line + b"\n")
    with pytest.raises(FormatError, match=r"metrics\.jsonl"):
        read_training_cost(out, STAGE)


def test_what_the_metrics_lack_is_told(tmp_path):
    out = left(tmp_path, looks=LOOKS)
    with pytest.raises(FormatError, match=r"expected a\.g on dev, got a\.f, b\.f"):
        read_training_cost(out, StageSpec(tasks=("a",), validation_metric="a.g"))
    (tmp_path / "model.run/state/progress.json").write_text("{}")
    with pytest.raises(FormatError, match=r"progress\.json"):
        read_training_cost(out, STAGE)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_while_nothing_is_found_the_later_model_is_the_best(tmp_path):
    """As training keeps it: ``checkpoint.is_better``."""
    looks = [(30, 1.0, 0.0, 0.0), (60, 2.0, 0.0, 0.0), (97, 3.0, 0.0, 0.0)]
    found = read_training_cost(left(tmp_path, looks=looks), STAGE)
    assert (found.updates, found.epoch) == (97, 3.0)
