"""Pre-training from raw text: what comes out, against transformers; resume; shares of processes."""

import gzip
import importlib
import json
import math
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, processors
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, RoFormerConfig
from two_processes import torchrun

from spanloom.cli import pretrain as cli
from spanloom.cli.console import WrongUse
from spanloom.config import recipe as recipes
from spanloom.data.collate import collate
from spanloom.document import Document, Layer, Span
from spanloom.embedders import transformer
from spanloom.errors import DataError, ModelError, RecipeError, StorageError, TrainingError
from spanloom.formats import jsonl
from spanloom.model import serialization
from spanloom.model.evaluation import evaluate_task
from spanloom.model.plan import resolve
from spanloom.model.precision import compute
from spanloom.training import checkpoint, pretrain, text_data, utilization
from spanloom.training.collation import Collation
from spanloom.training.distributed import ProcessGroup
from spanloom.training.gradients import GradientSum
from spanloom.training.loop import METRICS, Run, StageTrainer
from spanloom.training.masked_lm_weights import load_published
from spanloom.training.metrics_log import MetricsLog
from spanloom.training.progress_line import LogIntervals
from spanloom.training.split_corpus import data_identity
from spanloom.training.train import new_model, run_folder
from spanloom.training.utilization import Utilization
from spanloom.training.validation import TrainingPredictor

TEXT = {"data": "text", "kind": "masked_lm", "sequences": "next-sentence"}
OBJECTIVES = ("", "boundary_", "next_sentence_")
STAGE = {"tasks": ["text"], "epochs": 1, "batch_words": 400, "precision": "fp32"}


class Killed(BaseException):
    """As a kill: nothing in between catches it."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A folder with an encoder and raw text; its cache lies there, too."""
    folder = tmp_path_factory.mktemp("pretrain")
    torch.set_num_threads(1)
    tiny.encoder(folder / "encoder")
    tokenizer = Tokenizer.from_file(str(folder / "encoder" / "tokenizer.json"))
    ends = [(piece, tokenizer.token_to_id(piece)) for piece in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=ends
    )
    tokenizer.save(str(folder / "encoder" / "tokenizer.json"))
    rng = Random(3)
    texts = ["\n".join(tiny_line(rng) for _ in range(rng.randint(2, 9))) for _ in range(20)]
    (folder / "text").mkdir()
    with gzip.open(folder / "text" / "all.txt.gz", "wt") as stream:
        stream.write("\n\n".join(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANLOOM_CACHE", str(folder / "cache"))
        yield folder


def tiny_line(rng):
    return " ".join(rng.choice(tiny.WORDS) for _ in range(rng.randint(3, 15)))


def plan(bench, text=TEXT, trunk=None, **changes):
    spec = {"trunk": [{"transformer": "encoder", "dropout": 0.0, **(trunk or {})}], "window": 32}
    spec |= {"tasks": {"text": text}, "stages": [STAGE], "seed": 4, **changes}
    return resolve(recipes.loads(json.dumps(spec)), bench)


def rotary(bench, folder):
    """The shape of an encoder with rotary positions, and the bench's vocabulary."""
    shutil.copytree(bench / "encoder", folder)
    (folder / "model.safetensors").unlink()
    size = json.loads((folder / "config.json").read_text())["vocab_size"]
    RoFormerConfig(
        vocab_size=size,
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    ).save_pretrained(folder)
    return folder


def run(a_plan, out, **options):
    lines = []
    result = pretrain.pretrain(a_plan, out, lines.append, device="cpu", **options)
    return result, lines


@pytest.fixture(scope="module")
def encoder(bench):
    """An encoder that was trained on after another one."""
    result, lines = run(plan(bench), bench / "out", pace=LogIntervals(checkpoint=0))
    return bench / "out", result, lines


def test_what_is_printed_counts_pieces_and_says_how_blocks_and_masks_are(encoder):
    _, result, lines = encoder
    assert result.progress.pieces >= result.progress.words > 0
    assert result.pieces_per_second == result.progress.pieces / result.progress.seconds
    assert 0 < result.utilization.share < 1
    notes = [line for line in lines if line.startswith("text:")]
    assert "of them in blocks filled to 90%" in notes[0]
    assert "as they are drawn; those over the budget are drawn again" in notes[1]
    assert 14 < float(notes[1].split()[1].rstrip("%")) < 16  # a window holds both segments
    metrics = result.progress.metrics
    assert [*metrics] == [f"text.{name}inverse_perplexity" for name in OBJECTIVES]
    assert all(0 < value < 1 for value in metrics.values())


def test_each_process_is_measured_by_a_device_of_its_own(bench, encoder, monkeypatch):
    """The peak is one device's, so of what all processes do each has its part."""
    model = serialization.load(run_folder(encoder[0]) / "model", device="cpu", precision="fp32")
    stated = Utilization(0.0, 1e12, is_measured=False)
    monkeypatch.setattr(
        utilization, "of_peak", lambda flops, _: replace(stated, share=flops / stated.peak)
    )
    alone = pretrain._utilization(model, compute("fp32", "cpu"), 1000.0)
    monkeypatch.setenv("WORLD_SIZE", "4")
    beside = pretrain._utilization(model, compute("fp32", "cpu"), 4000.0)
    assert beside.share == pytest.approx(alone.share)


@pytest.mark.parametrize("positions", ["learnt", "rotary"])
def test_operations_are_those_that_torch_counts(bench, tmp_path, positions):
    """Forward passes of an encoder over full windows, and of the head over masked pieces."""
    text = {**TEXT, "sequences": "single", "span_boundary_objective": False}
    shape = bench / "encoder" if positions == "learnt" else rotary(bench, tmp_path / "rotary")
    trunk = {"transformer": str(shape), "init": "random"}
    model, _ = new_model(plan(bench, text, trunk), "cpu")
    network = model.network.eval().requires_grad_(False)
    encoder, head = network.transformer, network.head("text")
    rows, window, masked = 3, 20, 6
    ids, mask = torch.full((rows, window), 7), torch.ones(rows, window, dtype=torch.int64)
    counts = []
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):  # the counter knows no fused one on a CPU
        with FlopCounterMode(display=False) as counter:
            states = encoder.encoder(input_ids=ids, attention_mask=mask, output_hidden_states=True)
            hidden = states.hidden_states[-1]
        counts.append(counter.get_total_flops() / (rows * window))
        with FlopCounterMode(display=False) as counter:
            head(hidden.flatten(0, 1)[:masked], encoder.piece_embeddings)
        counts.append(counter.get_total_flops() / (rows * window))
    share = masked / (rows * window)
    of_both, of_encoder = (
        utilization.training_flops(encoder, head, window, masked) / 3 for masked in (share, 0.0)
    )
    assert of_encoder == pytest.approx(counts[0], rel=1e-6)
    assert of_both - of_encoder == pytest.approx(counts[1], rel=1e-6)


def test_a_task_of_masked_pieces_has_no_scores_of_its_own(bench):
    """A study asks for those of each of its tasks, dev documents at hand or not."""
    model, _ = new_model(plan(bench), "cpu")
    assert evaluate_task(model, "text", [Document("add mix")], print) is None


def test_the_identity_of_data_is_that_of_texts_once_each(bench):
    again = {**TEXT, "sequences": "single"}
    tasks = {"text": TEXT, "again": again}
    planned = plan(bench, tasks=tasks, stages=[{**STAGE, "tasks": [*tasks]}])
    _, prepared = new_model(planned, "cpu")
    assert prepared.fingerprint == data_identity(planned)
    assert data_identity(plan(bench)) == prepared.fingerprint  # of one text in both
    assert data_identity(plan(bench, {**TEXT, "exclude": ["all:3"]})) != prepared.fingerprint


def test_transformers_and_our_trunk_read_the_same_vectors(bench, encoder):
    out, *_ = encoder
    model, _ = new_model(plan(bench, trunk={"transformer": str(out)}), "cpu")
    tokenizer = AutoTokenizer.from_pretrained(out)
    words = "add 5 ml of the cold buffer".split()
    theirs = tokenizer(words, is_split_into_words=True, return_tensors="pt")
    ours = [piece for word in model.subword_tokenizer(words) for piece in word]
    assert theirs["input_ids"][0, 1:-1].tolist() == ours
    assert (
        tokenizer.model_max_length == AutoModel.from_pretrained(out).config.max_position_embeddings
    )
    pair = tokenizer("add buffer", "mix")
    assert [*pair] == ["input_ids", "token_type_ids", "attention_mask"]
    loaded = AutoModel.from_pretrained(out).eval()
    trunk = model.network.eval().transformer.encoder
    inputs = {"input_ids": theirs["input_ids"], "attention_mask": theirs["attention_mask"]}
    with torch.inference_mode():
        expected = loaded(**inputs, output_hidden_states=True).hidden_states
        for a, b in zip(trunk(**inputs).hidden_states, expected, strict=True):
            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)
    before = transformer.load_pretrained(str(bench / "encoder"), transformer.Options())
    assert not before.get_input_embeddings().weight.equal(trunk.get_input_embeddings().weight)


def test_the_masked_language_head_comes_along_and_is_taken_up_again(bench, encoder):
    out, _, first = encoder
    model, prepared = new_model(plan(bench, trunk={"transformer": str(out)}), "cpu")
    assert f"text: starts with the masked language head of {out}" in prepared.notes
    (line,) = (line for line in first if "starts with" in line)
    assert "text: starts with a new masked language head" in line
    theirs = AutoModelForMaskedLM.from_pretrained(out).eval()
    ids = torch.randint(5, 40, (2, 9))
    mask = torch.ones_like(ids)
    head, trunk = model.network.eval().head("text"), model.network.transformer
    with torch.inference_mode():
        hidden = trunk.encoder(input_ids=ids, attention_mask=mask).hidden_states[-1]
        ours = head(hidden.flatten(0, 1), trunk.piece_embeddings)
        logits = theirs(input_ids=ids, attention_mask=mask).logits
    torch.testing.assert_close(ours, logits.flatten(0, 1), atol=1e-4, rtol=1e-4)


def test_an_encoder_with_rotary_positions_has_its_masked_language_head_too(bench, tmp_path):
    shape = rotary(bench, tmp_path / "rotary")
    trunk = {"transformer": str(shape), "init": "random"}
    run(plan(bench, trunk=trunk), tmp_path / "out")
    theirs = AutoModelForMaskedLM.from_pretrained(tmp_path / "out").eval()
    assert type(theirs).__name__ == "RoFormerForMaskedLM"
    model, prepared = new_model(plan(bench, trunk={"transformer": str(tmp_path / "out")}), "cpu")
    assert any("starts with the masked language head of" in note for note in prepared.notes)
    ids = torch.randint(5, 40, (2, 9))
    mask = torch.ones_like(ids)
    head, own = model.network.eval().head("text"), model.network.transformer
    with torch.inference_mode():
        states = own.encoder(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        hidden = states.hidden_states[-1]
        scores = head(hidden.flatten(0, 1), own.piece_embeddings)
        logits = theirs(input_ids=ids, attention_mask=mask).logits
    torch.testing.assert_close(scores, logits.flatten(0, 1), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("change", [{"hidden_act": "relu"}, {"layer_norm_eps": 1e-2}], ids=str)
def test_a_head_of_another_configuration_is_neither_written_nor_taken(bench, tmp_path, change):
    """transformers would apply the encoder's own activation and norm to it."""
    shape = tmp_path / "shape"
    shutil.copytree(bench / "encoder", shape)
    (shape / "model.safetensors").unlink()
    config = json.loads((shape / "config.json").read_text())
    (shape / "config.json").write_text(json.dumps(config | change))
    result, _ = run(plan(bench, trunk={"transformer": str(shape), "init": "random"}), shape / "out")
    assert json.loads((shape / "out" / "config.json").read_text())["architectures"] == ["BertModel"]
    theirs = AutoModel.from_pretrained(shape / "out").eval()
    model, prepared = new_model(plan(bench, trunk={"transformer": str(shape / "out")}), "cpu")
    assert any("none of BERT's form lies beside" in note for note in prepared.notes)
    ids = torch.randint(5, 40, (2, 9))
    mask = torch.ones_like(ids)
    trunk = model.network.eval().transformer
    with torch.inference_mode():
        ours = trunk.encoder(input_ids=ids, attention_mask=mask).hidden_states[-1]
        states = theirs(input_ids=ids, attention_mask=mask).last_hidden_state
    torch.testing.assert_close(ours, states, atol=1e-4, rtol=1e-4)


def test_dev_without_any_block_has_no_score_to_be_the_best(bench):
    model, _ = new_model(plan(bench, {**TEXT, "sequences": "pair"}), "cpu")
    predictor = TrainingPredictor(model)
    expected = {f"{name}inverse_perplexity": 0.0 for name in ("", "boundary_")}
    assert model.tasks["text"].score(predictor, [Document("a")]) == expected


def test_metrics_on_dev_are_printed_with_the_losses_they_come_from(encoder, capsys):
    out, result, _ = encoder
    trained = serialization.load(run_folder(out) / "model", device="cpu", precision="fp32")
    model, prepared = new_model(plan(out.parent), "cpu")  # it knows the pieces of the corpus
    model.network.load_state_dict(trained.network.state_dict())
    losses = TrainingPredictor(model).losses(prepared.data["text"].dev, "text")
    cli._print_result(result, out)
    lines = capsys.readouterr().out.splitlines()
    for name, loss, line in zip(OBJECTIVES, losses.values(), lines, strict=False):
        assert line.startswith(f"dev text.{name}inverse_perplexity: ")
        assert float(line.split()[-2]) == pytest.approx(loss, abs=1e-3)
    record = json.loads((out / "pretraining.json").read_text())
    assert [*record["losses"].values()] == pytest.approx([*losses.values()], abs=1e-3)
    assert record["dev"] == result.progress.metrics
    assert record["pieces_per_second"] == result.pieces_per_second
    assert record["mfu"] == result.utilization.share


def test_the_head_of_berts_first_files_and_of_the_hubs_cache_is_found(
    bench, encoder, tmp_path, monkeypatch
):
    """The first files call the weights of norms gamma and beta; a hub id is no folder."""
    stored = load_file(encoder[0] / "model.safetensors")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): weight
        for name, weight in stored.items()
    }
    assert old.keys() != stored.keys()
    save_file(old, tmp_path / "model.safetensors")
    head = new_model(plan(bench), "cpu")[0].network.head("text")
    cached = {("me/old", "model.safetensors"): str(tmp_path / "model.safetensors")}
    monkeypatch.setattr(
        "huggingface_hub.try_to_load_from_cache", lambda id, name: cached.get((id, name))
    )
    for place, is_there in ((str(tmp_path), True), ("me/old", True), ("me/other", False)):
        head.transform.norm.weight.data.zero_()
        assert load_published(head, place) == is_there
        norm = stored["cls.predictions.transform.LayerNorm.weight"]
        assert head.transform.norm.weight.equal(norm) == is_there


@pytest.mark.parametrize("call", [2, 4])
def test_a_run_that_was_killed_ends_bit_by_bit_as_one_that_was_not(
    bench, encoder, monkeypatch, call
):
    real, calls = checkpoint.save, []

    def killing(*args):
        calls.append(1)
        if len(calls) == call:
            raise Killed
        real(*args)

    out = bench / f"killed-{call}"
    monkeypatch.setattr(checkpoint, "save", killing)
    with pytest.raises(Killed):
        run(plan(bench), out, pace=LogIntervals(checkpoint=0))
    assert not out.exists()
    monkeypatch.setattr(checkpoint, "save", real)
    run(plan(bench), out, resume=True, pace=LogIntervals(checkpoint=0))
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert (out / name).read_bytes() == (encoder[0] / name).read_bytes()


@pytest.fixture(scope="module")
def command(bench):
    """The command that trains an encoder from scratch on text, and what it makes undisturbed."""
    rng, path = Random(5), bench / "scratch.yaml"
    words = ["".join(rng.choices("abcdefgh", k=rng.randint(2, 6))) for _ in range(400)]
    (bench / "varied").mkdir()
    lines = (" ".join(rng.choices(words, k=12)) for _ in range(80))
    (bench / "varied" / "all.txt").write_text("\n\n".join(lines))
    recipe = {"trunk": [{"transformer": "encoder", "dropout": 0.0}], "window": 32, "seed": 4}
    recipe["tasks"] = {"text": {**TEXT, "data": "varied", "sequences": "single"}}
    recipe["stages"] = [{**STAGE, "epochs": 20}]
    path.write_text(json.dumps(recipe))
    options = ["--vocab-size", "100", "--cased", "--device", "cpu"]
    made = ["-m", "spanloom", "pretrain", str(path), *options]
    subprocess.run([sys.executable, *made, "-o", str(bench / "undisturbed")], check=True)
    return made, load_file(bench / "undisturbed" / "model.safetensors")


@pytest.mark.slow
def test_the_command_that_a_stopped_run_prints_ends_it_bit_by_bit(bench, command):
    made, expected = command
    out = bench / "stopped"
    child = subprocess.Popen(
        [sys.executable, *made, "-o", str(out)], stderr=subprocess.PIPE, text=True
    )
    while not (run_folder(out) / "model.run").exists() and child.poll() is None:
        time.sleep(0.05)
    time.sleep(0.3)
    child.send_signal(signal.SIGTERM)
    _, told = child.communicate(timeout=120)
    assert child.returncode != 0
    assert not out.exists()
    (line,) = (line for line in told.splitlines() if "spanloom pretrain" in line)
    again = shlex.split(line[line.index("spanloom pretrain") :])
    assert again[-1] == "--resume" or "--resume" in again
    subprocess.run([sys.executable, "-m", *again], check=True)
    weights = load_file(out / "model.safetensors")
    assert weights.keys() == expected.keys()
    assert all(weights[name].equal(expected[name]) for name in expected)


def test_blocks_of_raw_text_are_not_counted_in_sentences(bench, tmp_path):
    stage = STAGE | {"batch_sentences": 8}
    problem = r"stages\.0\.batch_sentences: is not for raw text.*say batch_words"
    with pytest.raises(RecipeError, match=problem):
        run(plan(bench, stages=[stage]), tmp_path / "out")


@pytest.mark.slow
def test_an_encoder_from_scratch_has_the_positions_it_was_trained_with(bench, command):
    """A recipe with a longer window is refused, and told how long it may be."""
    out = bench / "undisturbed"
    assert AutoModel.from_pretrained(out).config.max_position_embeddings == 34
    assert len(command[1]["bert.embeddings.position_embeddings.weight"]) == 34
    trunk = {"transformer": str(out)}
    new_model(plan(bench, trunk=trunk), "cpu")
    with pytest.raises(RecipeError, match=r"window: expected at most 32 .* got 33"):
        new_model(plan(bench, trunk=trunk, window=33), "cpu")


@pytest.mark.slow
def test_two_processes_export_one_encoder(bench, command):
    made, expected = command
    out = bench / "two"
    start = [sys.executable, *torchrun()]
    run = subprocess.run([*start, *made, "-o", str(out)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("next: trunk:") == 1
    assert load_file(out / "model.safetensors").keys() == expected.keys()
    assert AutoModelForMaskedLM.from_pretrained(out).config.vocab_size == 100


class Share(ProcessGroup):
    """One of several processes; what all of them count is known."""

    def __init__(self, rank, ranks, total):
        self.rank, self.world_size, self.device, self.total = (
            rank,
            ranks,
            torch.device("cpu"),
            total,
        )

    def sum(self, tensor):
        return torch.full_like(tensor, self.total)


def test_the_gradients_of_two_processes_add_up_to_those_of_one(bench, tmp_path):
    model, prepared = new_model(plan(bench), "cpu")
    journal = MetricsLog(tmp_path / METRICS, print, active=False)
    alone = ProcessGroup("cpu")
    stage = StageTrainer(Run(model, prepared, tmp_path, alone, journal), model.recipe.stages[0])
    update = next(update for update in stage.draw_epoch() if len(update[0].instances) > 2)
    model.network.train()

    def grads(processes):
        model.network.zero_grad()
        batches = Collation(model, prepared, processes).collate(update, lambda *_: 7)
        losses = GradientSum(model, prepared, processes, stage.spec).add(batches, lambda *_: 7)
        weights = model.network.named_parameters()
        return losses, {n: w.grad.clone() for n, w in weights if w.grad is not None}

    losses, whole = grads(alone)
    assert losses.keys() == {"text.masked", "text.boundary", "text.next_sentence"}
    total = sum(
        model.tasks["text"].count_items(c.batch, c.targets["text"])
        for c in stage.collation.collate(update, lambda *_: 7)
    )
    parts = [grads(Share(rank, 2, total)) for rank in range(2)]
    for name, loss in losses.items():
        torch.testing.assert_close(sum(part[0][name] for part in parts), loss)
    for name, grad in whole.items():
        torch.testing.assert_close(sum(part[1][name] for part in parts), grad, atol=1e-6, rtol=1e-3)


def test_losses_are_those_of_a_loop_over_masked_pieces(bench):
    """Per masked piece; next sentences weigh as much as their instance has masked pieces."""
    model, prepared = new_model(plan(bench), "cpu")
    task = model.tasks["text"]
    blocks = list(task.blocks.draw(prepared.data["text"].text, 32, Random(1)))[:6]
    assert {block.is_next for block in blocks} == {True, False}
    pieces = model.subword_tokenizer
    batch, targets = task.mask_inputs(collate(blocks, pieces, 32), blocks, pieces, 1)
    head, network = model.network.eval().head("text"), model.network
    with torch.inference_mode():
        inputs = network.head_inputs(batch, ["text"])["text"]
        losses = task.loss(head, inputs, batch, targets)
        hidden = inputs.word_vectors.view(*batch.input_ids.shape, -1)
        table, sums = inputs.piece_embeddings, dict.fromkeys(losses, 0.0)
        rows = zip(*(t.tolist() for t in _columns(targets.masked)), strict=True)
        num_masked = [0] * len(blocks)
        for row, label, left, right, position in rows:
            window, column = divmod(row, batch.input_ids.shape[1])
            num_masked[window] += 1
            mlm = head.transform(hidden[window, column][None])
            sums["masked"] -= _log_prob(mlm @ table.T + head.decoder.bias, label)
            boundary = head.span_boundary
            place = boundary.position_embedding.weight[position]
            flat = hidden.flatten(0, 1)
            h0 = torch.cat([flat[left], flat[right], place])[None]
            y = boundary.second(boundary.first(h0))
            sums["boundary"] -= _log_prob(y @ table.T + boundary.decoder.bias, label)
        for window, block in enumerate(blocks):
            pooled = torch.tanh(head.next_sentence.pooler(hidden[window, 0]))
            scores = head.next_sentence.classifier(pooled)[None]
            sums["next_sentence"] -= num_masked[window] * _log_prob(scores, int(block.is_next))
    assert sum(num_masked) == task.count_items(batch, targets)
    for name, loss in losses.items():
        assert math.isclose(float(loss), sums[name], rel_tol=1e-4)


def _columns(masked):
    return masked.rows, masked.labels, masked.left, masked.right, masked.span_position


def _log_prob(scores, label):
    return float(F.log_softmax(scores[0].double(), -1)[label])


def test_random_pieces_come_from_the_corpus(bench):
    model, prepared = new_model(plan(bench), "cpu")
    counts = model.tasks["text"].unigrams
    assert int(counts.sum()) == prepared.data["text"].text.num_pieces
    distribution = model.tasks["text"]._random_pieces(model.subword_tokenizer)
    drawn = set(distribution.at(torch.rand(2000, dtype=torch.float64)).tolist())
    assert drawn <= set(counts.nonzero()[:, 0].tolist()) - model.subword_tokenizer.special_ids


def test_the_benchmark_of_its_speed_measures_both(bench, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    benchmark = importlib.import_module("pretraining_speed")
    monkeypatch.setattr(benchmark, "ROUNDS", 1)
    stage = benchmark.first_stage(*new_model(plan(bench), "cpu"), tmp_path)
    found = benchmark.training(stage, updates=2)
    assert found.keys() == {"train", "passes"}
    assert min(found.values()) > 0


def test_other_tasks_and_other_trunks_are_refused(bench):
    for changes, problem in (
        ({"text": {"data": "text", "kind": "entities"}}, "expected masked_lm"),
        ({"levels": [{"name": "up", "rnn": "lstm"}]}, "a transformer alone"),
    ):
        with pytest.raises(RecipeError, match=problem):
            pretrain.check(plan(bench, **changes))
    with pytest.raises(RecipeError, match=r"casing_embeddings: expected false, .* got true"):
        pretrain.check(plan(bench, trunk={"casing_embeddings": True}))
    with pytest.raises(RecipeError, match="mask_layer"):
        plan(bench, text={**TEXT, "masking": "layer"})


def test_an_encoder_without_a_vocabulary_or_a_mask_piece_is_refused(bench, tmp_path):
    shutil.copytree(bench / "encoder", tmp_path / "bare")
    for file in (tmp_path / "bare").glob("*token*"):
        file.unlink()
    with pytest.raises(ModelError, match="has no vocabulary; spanloom pretrain --vocab-size N"):
        new_model(plan(bench, trunk={"transformer": str(tmp_path / "bare"), "init": "random"}))
    model, prepared = new_model(plan(bench), "cpu")
    pieces = replace(model.subword_tokenizer, mask=model.subword_tokenizer.unknown)
    with pytest.raises(TrainingError, match="expected a tokenizer with a mask piece"):
        model.tasks["text"].mask_inputs(None, [], pieces, 0)


def test_what_lies_at_its_place_is_told_and_a_place_needs_a_name(bench, encoder, monkeypatch):
    out, *_ = encoder
    monkeypatch.setattr(pretrain, "train", lambda *_args, **_options: 1 / 0)
    lines = []
    with pytest.raises(ZeroDivisionError):
        pretrain.pretrain(plan(bench), out, lines.append)
    assert "which is replaced when this run ends" in lines[0]
    with pytest.raises(StorageError, match="expected the name of a folder"):
        run_folder(Path("."))


def test_raw_text_beside_documents_is_told_with_both_names(bench):
    tiny.corpus(bench / "annotated")
    mixed = plan(
        bench, {**TEXT, "data": "both"}, corpora={"both": [{"data": "text"}, {"data": "annotated"}]}
    )
    with pytest.raises(DataError, match=r"raw text \(text\) and documents \(annotated\)"):
        text_data.streamed(mixed)


def named_lines(folder, name):
    """Twenty documents of words, whose first two are a name, as one file and as a folder."""
    layers = Layer("ner", (Span("T1", "Person", ((0, 7),)),))
    documents = [Document("add mix " * 4 + str(row), (layers,), f"d{row}") for row in range(40)]
    (folder / name / "train").mkdir(parents=True)
    jsonl.write(folder / f"{name}.jsonl", documents)
    jsonl.write(folder / name / "train" / "all.jsonl", documents)
    return f"{name}.jsonl", name


def test_options_without_effect_are_refused(bench, tmp_path):
    _, folder = named_lines(bench, "whole")
    text = {**TEXT, "data": folder, "exclude": ["all:3"]}
    with pytest.raises(DataError, match=r"'text': exclude: expected raw .*documents \(whole\)"):
        new_model(plan(bench, text), "cpu")
    with pytest.raises(WrongUse, match="--cased: expected --vocab-size"):
        cli.pretrain(bench / "none.yaml", tmp_path / "out", cased=True)


def test_text_from_which_nothing_can_be_learnt_is_refused(bench):
    def prepared(text, **changes):
        (bench / "some.txt").write_text(text)
        return new_model(plan(bench, {**TEXT, "data": "some.txt", **changes}), "cpu")[1]

    with pytest.raises(DataError, match=r"some\.txt: expected some words, found none"):
        prepared(" \n\n")
    with pytest.raises(DataError, match="blocks of two segments can be made, got documents of one"):
        prepared("add\n\nmix\n\nadd\n", sequences="pair")
    two = "add the cold buffer\n\nmix the cold buffer\n"
    with pytest.raises(DataError, match="'text': sequences: next-sentence needs several documents"):
        prepared(two)
    many = "\n\n".join(f"add the cold buffer {number}" for number in range(40))
    (note,) = (note for note in prepared(many).notes if "second segments" in note)
    assert 20 < int(note.partition("%")[0].split()[-1]) < 80


def test_next_sentences_of_dev_are_of_several_documents(bench):
    _, prepared = new_model(plan(bench), "cpu")
    assert len(prepared.data["text"].dev) == 5  # a quarter of twenty
    _, single = new_model(plan(bench, {**TEXT, "sequences": "single"}), "cpu")
    assert len(single.data["text"].dev) == 1


def test_a_layer_to_mask_that_no_document_has_is_refused(bench):
    for data in named_lines(bench, "named"):
        text = {**TEXT, "data": data, "masking": "layer", "mask_layer": "ner"}
        _, prepared = new_model(plan(bench, text), "cpu")
        (note,) = (note for note in prepared.notes if "in whole spans of ner" in note)
        assert ", 0.0% of these" not in note
        for wrong, problem in (
            ({"mask_layer": "nre"}, r"'nre', got none in any document \(layers there: ner\)"),
            ({"mask_labels": ["PER"]}, r"\(PER\), got none in any .*\(labels there: Person\)"),
        ):
            with pytest.raises(DataError, match=f"task 'text': mask_layer: expected .*{problem}"):
                new_model(plan(bench, {**text, **wrong}), "cpu")


def test_a_vocabulary_is_trained_where_half_a_character_stands(bench):
    odd = {"text": "add \ud800 buffer " * 40}
    (bench / "odd.jsonl").write_text(json.dumps(odd) + "\n")
    made = plan(bench, {"data": "odd.jsonl", "kind": "masked_lm"})
    folder = pretrain.untrained_encoder(made, bench / "o", print, vocab_size=24, cased=True)
    assert AutoTokenizer.from_pretrained(folder).tokenize("add") == ["add"]


def test_a_vocabulary_is_trained_on_the_text_itself(bench):
    out = bench / "scratch"
    folder = pretrain.untrained_encoder(plan(bench), out, print, vocab_size=70, cased=True)
    assert folder.parent == run_folder(out)
    config = json.loads((folder / "config.json").read_text())
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert config["vocab_size"] == len(tokenizer) == 70
    assert tokenizer.tokenize("add buffer") == ["add", "buffer"]
    assert tokenizer.mask_token == "[MASK]"
    pair = tokenizer("add buffer", "mix it")
    assert pair["token_type_ids"] == [0] * 4 + [1] * (len(pair["input_ids"]) - 4)
    fresh = plan(bench, trunk={"transformer": str(folder), "init": "random"})
    _, lines = run(fresh, out)
    assert AutoModel.from_pretrained(out).config.vocab_size == 70
    assert any("documents" in line for line in lines)
    card = (out / "README.md").read_text()
    assert f"transformer: {folder.name}\n" in card
    assert str(bench) not in card
    again, smaller, lower = (
        pretrain.untrained_encoder(plan(bench), out, print, vocab_size=size, cased=cased)
        for size, cased in ((70, True), (60, True), (60, False))
    )
    assert again == folder
    assert len({folder, smaller, lower}) == 3
    assert json.loads((smaller / "config.json").read_text())["vocab_size"] == 60
    with pytest.raises(TrainingError, match="has but"):
        pretrain.untrained_encoder(plan(bench), bench / "no", print, vocab_size=30_000, cased=False)
    nowhere = plan(bench, {**TEXT, "data": "no-such-text"})
    with pytest.raises(DataError, match="no-such-text"):
        pretrain.untrained_encoder(nowhere, bench / "no", print, vocab_size=70, cased=False)
    (bench / "empty.txt").write_text(" \n\n")
    empty = plan(bench, {**TEXT, "data": "empty.txt"})
    with pytest.raises(TrainingError, match="text with words, got none in empty.txt"):
        pretrain.untrained_encoder(empty, bench / "no", print, vocab_size=70, cased=False)
