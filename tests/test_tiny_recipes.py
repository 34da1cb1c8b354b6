"""Five papers, five recipes, one machine: each trains, resumes, is saved and annotates."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from spanloom.annotation.text_pairs import join_texts
from spanloom.config import recipe as recipes
from spanloom.data.collate import collate
from spanloom.document import Document, Query
from spanloom.model import serialization
from spanloom.model.plan import resolve
from spanloom.tasks import load
from spanloom.training import batch_schedule
from spanloom.training.distributed import ProcessGroup
from spanloom.training.loop import METRICS, Run
from spanloom.training.metrics_log import MetricsLog
from spanloom.training.progress_line import LogIntervals
from spanloom.training.train import new_model, run_folder, train

HERE = Path(__file__).parents[1] / "recipes" / "tiny"
CHILD = Path(__file__).parent / "training" / "child.py"
EVERY = [  # recipe, its sharing if that is changed, encoder passes of what it annotates
    ("spanrel", None, 1),
    ("spex", None, 4),
    ("tagging", "separate-heads", 1),
    ("tagging", "task-embedding", 1),
    ("tagging", "task-token", 3),
    ("hmtl", None, 1),
    ("spanbert", None, 2),
]
ONE = join_texts(
    "two", "Anna sleeps .", "She is at home ."
)  # two texts, for tasks that judge pairs
RAW = [
    Document("Anna saw Tom in Berlin .\nShe is happy now .", name="news"),
    Document("", name="empty"),
    replace(ONE, queries=(Query("Q1", "who sleeps ?"), Query("Q2", "where is the cat ?"))),
]


@dataclass(frozen=True)
class Case:
    """One way to train one recipe."""

    name: str
    sharing: str | None
    passes: int

    def recipe(self, *more):
        settings = [] if self.sharing is None else [f"sharing={self.sharing}"]
        return recipes.load(HERE / f"{self.name}.yaml", [*settings, *more])


def id_of(parameters):
    return "-".join(filter(None, parameters[:2]))


@pytest.fixture(scope="module", params=EVERY, ids=id_of)
def case(request):
    torch.set_num_threads(1)
    return Case(*request.param)


def calm(recipe):
    """The recipe in fp32 and without any dropout."""
    plain = recipes.to_plain(recipe)
    for part in (*plain["trunk"], *plain["levels"]):
        if {"transformer", "characters", "rnn"} & part.keys():
            part["dropout"] = 0.0
    for task in plain["tasks"].values():
        if "dropout" in load(task["kind"]).options.model_fields:
            task["dropout"] = 0.0
    for stage in plain["stages"]:
        stage["precision"] = "fp32"
    return recipes.loads(json.dumps(plain | {"embedding_dropout": 0.0}), "calm")


def written(recipe, path):
    """Write a recipe so that its data is found from anywhere."""
    plain = recipes.to_plain(recipe)
    for task in plain["tasks"].values():
        task["data"] = str((HERE / task["data"]).resolve())
    for part in plain["trunk"]:
        for key in ("transformer", "static"):
            if key in part:
                part[key] = str((HERE / part[key]).resolve())
    path.write_text(json.dumps(plain))
    return path


def losses_of(model, draw, gold):
    """What a task loses on a batch, as the training loop computes it, a thing learnt."""
    task = model.tasks[draw.tasks[0]]
    batch = collate(draw.instances, model.subword_tokenizer, model.recipe.window)
    batch, hidden = task.mask_inputs(batch, draw.instances, model.subword_tokenizer, 7)
    vectors = model.network.head_inputs(batch, draw.tasks)[draw.tasks[0]]
    targets = hidden or task.collate_targets(draw.instances, gold)
    return task.loss(model.network.head(draw.tasks[0]), vectors, batch, targets)


# heads are the same however they are shared, which tests/model/test_sharing.py tells apart
QUICK = (None, "separate-heads")
BY_HEART = [
    pytest.param(each, marks=() if each[1] in QUICK else pytest.mark.slow) for each in EVERY
]


@pytest.mark.parametrize("case", BY_HEART, indirect=True, ids=id_of)
def test_one_batch_of_each_task_is_learnt_by_heart(case):
    recipe = calm(case.recipe())
    model, prepared = new_model(resolve(recipe, HERE), "cpu")
    draws = {}
    for stage in recipe.stages:
        for name in stage.tasks:
            alone = stage.model_copy(update={"tasks": (name,), "batch_words": 24})
            (first, *_) = batch_schedule.draw_epoch(
                alone,
                prepared.data,
                seed="1",
                epoch=0,
                window=64,
                tokenize_prompt=model.tokenize_prompt,
            )
            draws[name] = replace(first[0], instances=first[0].instances[:4])
    optimiser = torch.optim.Adam(model.network.parameters(), lr=0.01)
    for _ in range(160):
        optimiser.zero_grad()
        worst = 0.0
        for name, draw in draws.items():
            losses = losses_of(model, draw, prepared.data[name].gold).values()
            means = [loss / draw.num_sentences for loss in losses]
            sum(means).backward()
            worst = max(worst, *(float(mean.detach()) for mean in means))
        if worst < 0.05:
            break
        torch.nn.utils.clip_grad_norm_(model.network.parameters(), 5.0)
        optimiser.step()
    assert worst < 0.05


def run(case, out):
    """Train in this process; returns the run, whose model holds the best weights."""
    model, prepared = new_model(resolve(case.recipe(), HERE), "cpu")
    out.mkdir()
    journal = MetricsLog(out / METRICS, lambda line: None, active=True)
    training = Run(model, prepared, out, ProcessGroup("cpu"), journal)
    training.train(LogIntervals(checkpoint=1e9), resume=False)
    return training


@pytest.fixture(scope="module")
def trained(case, tmp_path_factory):
    out = tmp_path_factory.mktemp("tiny") / "run"
    began = time.process_time()
    made = run(case, out)
    return made, out, time.process_time() - began


def test_training_takes_seconds(trained):
    assert trained[2] < 20


def test_a_saved_model_annotates_raw_text_as_the_one_in_memory(case, trained):
    training, out, _ = trained
    loaded = serialization.load(out / "best", device="cpu")
    assert len(loaded.encoder_passes()) == len(training.model.encoder_passes()) == case.passes
    predicting = {name: task for name, task in loaded.tasks.items() if task.predicts}
    for names in (
        [name for name in predicting if not predicting[name].inputs],
        *([name] for name in predicting),
    ):
        inputs = {layer for name in names for layer in predicting[name].inputs}
        texts = [text for text in RAW if all(text.has_layer(layer) for layer in inputs)]
        before, after = (list(model.annotate(texts, names)) for model in (training.model, loaded))
        assert [repr(document) for document in before] == [repr(document) for document in after]
        assert all(
            len(document.layers) == len(names) + len(text.layers)
            for text, document in zip(texts, after, strict=True)
        )
        assert [document.text for document in after] == [text.text for text in texts]


@pytest.mark.slow
def test_a_process_of_its_own_loads_a_saved_model(trained):
    """What was kept while the model was made is not there."""
    _, out, _ = trained
    load_it = f"from spanloom.model.serialization import load; load({str(out / 'best')!r})"
    subprocess.run([sys.executable, "-c", load_it], check=True)


def child(path, out, *how, limit=200):
    quiet = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, *how, str(CHILD), str(path), str(out)]
    done = subprocess.run(command, env=quiet, capture_output=True, text=True, timeout=limit)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_bits(case, tmp_path):
    path = written(case.recipe(), tmp_path / "recipe.yaml")
    plan, pace = resolve(recipes.load(path), tmp_path), LogIntervals(0.0)
    train(plan, tmp_path / "whole", str, pace=pace, device="cpu")
    out = tmp_path / "killed"
    command = [sys.executable, str(CHILD), str(path), str(out)]
    quiet = os.environ | {"OMP_NUM_THREADS": "1"}
    half = len((run_folder(tmp_path / "whole") / METRICS).read_text().splitlines()) // 2
    with subprocess.Popen(command, env=quiet, stdout=subprocess.DEVNULL) as running:
        log = run_folder(out) / METRICS
        while running.poll() is None:
            if log.is_file() and len(log.read_text().splitlines()) >= half:
                running.send_signal(signal.SIGKILL)
                break
            time.sleep(0.002)
    assert running.returncode == -signal.SIGKILL
    assert not out.exists()
    train(plan, out, str, resume=True, pace=pace, device="cpu")
    for file in sorted((tmp_path / "whole").iterdir()):
        assert file.read_bytes() == (out / file.name).read_bytes(), file.name


def losses(out):
    """The losses of each update of a run."""
    losses_of_step = {}
    for line in (run_folder(out) / METRICS).read_text().splitlines():
        row = json.loads(line)
        if "losses" in row:
            losses_of_step[row["step"]] = row["losses"]
    return losses_of_step


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(case, tmp_path):
    path = written(calm(case.recipe()), tmp_path / "recipe.yaml")
    pace = LogIntervals(checkpoint=1e9, log=1)
    train(resolve(recipes.load(path), tmp_path), tmp_path / "one", str, pace=pace, device="cpu")
    many = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    child(path, tmp_path / "two", *many)
    single, double = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert len(single) > 5
    assert single.keys() == double.keys()
    for update, expected in single.items():
        assert double[update] == pytest.approx(expected, rel=1e-3, abs=1e-4), update


needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


@needs_gpu
def test_a_gpu_learns_what_a_cpu_learns(case, tmp_path):
    path = written(calm(case.recipe()), tmp_path / "recipe.yaml")
    plan, pace = resolve(recipes.load(path), tmp_path), LogIntervals(checkpoint=1e9, log=1)
    train(plan, tmp_path / "cpu", str, pace=pace, device="cpu")
    train(plan, tmp_path / "cuda", str, pace=pace, device="cuda")
    of_cpu, of_gpu = losses(tmp_path / "cpu"), losses(tmp_path / "cuda")
    assert len(of_cpu) > 5
    assert of_gpu.keys() == of_cpu.keys()
    for update, expected in of_cpu.items():  # sums in another order, and each update adds to that
        allowed = 2e-3 if update <= 20 else 1e-2
        assert of_gpu[update] == pytest.approx(expected, rel=allowed, abs=1e-3), update


@needs_gpu
def test_a_model_of_a_gpu_resumes_there_and_annotates_as_on_a_cpu(case, tmp_path):
    path = written(case.recipe(), tmp_path / "recipe.yaml")  # bf16, with dropout
    plan, pace = resolve(recipes.load(path), tmp_path), LogIntervals(checkpoint=0, log=1)
    with pytest.raises(Halt):
        train(plan, tmp_path / "run", halt, pace=pace, device="cuda")
    train(plan, tmp_path / "run", str, resume=True, pace=pace, device="cuda")
    models = [
        serialization.load(tmp_path / "run", device=device, precision="fp32")
        for device in ("cpu", "cuda")
    ]
    names = [name for name, task in models[0].tasks.items() if task.predicts and not task.inputs]
    of_cpu, of_gpu = (list(model.annotate(RAW, names)) for model in models)
    assert [spans_of(text) for text in of_gpu] == [spans_of(text) for text in of_cpu]


class Halt(Exception):
    """A run was stopped when it told something."""


def halt(line):
    """Stop a run that tells how far it came."""
    if line.startswith("epoch"):
        raise Halt(line)


def spans_of(document):
    """The bounds and labels of a document's annotations."""
    layers = document.layers
    return [(span.label, span.start, span.end) for layer in layers for span in layer.spans]
