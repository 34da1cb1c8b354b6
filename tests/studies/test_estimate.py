"""What runs take before any is finished."""

import json
from dataclasses import replace

import pytest
from made_rows import RECIPES, make_row, rows_reader

from spanloom.corpora import folder
from spanloom.glad import speed
from spanloom.studies.designs import plan
from spanloom.studies.estimate import (
    COPIES,
    WORDS_PER_SECOND,
    WORDS_PER_SECOND_WITHOUT_ENCODER,
    Estimates,
    corpus_size,
)


def test_a_trunk_with_fewer_weights_or_without_an_encoder_is_faster(study, tmp_path):
    """``minilm`` has six layers of 384; these encoders have nothing but a description."""
    trunks = {"minilm": [{"transformer": "minilm"}], "none": [{"casing": 4}]}
    for layers in (1, 3, 12):
        folder_of_encoder = tmp_path / str(layers)
        folder_of_encoder.mkdir()
        config = {"hidden_size": 384, "num_hidden_layers": layers, "vocab_size": 30522}
        (folder_of_encoder / "config.json").write_text(json.dumps(config))
        trunks[str(layers)] = [{"transformer": str(folder_of_encoder), "init": "random"}]
    spec = study([{"design": "joint"}], trunks=trunks)
    cells = plan(spec, RECIPES, rows_reader({})).cells
    hours = {cell.variant.trunk: Estimates(RECIPES).core_hours(cell.job) for cell in cells}
    times = {trunk: hours["minilm"] / taken for trunk, taken in hours.items()}
    without = WORDS_PER_SECOND_WITHOUT_ENCODER / WORDS_PER_SECOND
    assert times == pytest.approx({"minilm": 1, "none": without, "1": without, "3": 2, "12": 0.5})


def test_a_run_takes_as_long_as_those_on_the_same_processor_never_as_those_on_a_gpu(
    study, monkeypatch
):
    """A row on a GPU took a second, one on another processor two minutes, one on this an hour."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    (cell,) = plan(study([{"design": "single"}], tasks=["ner"]), RECIPES, rows_reader({})).cells
    elsewhere = make_row(cell.job, {"ner": 50.0})
    gpu = replace(
        elsewhere, compute="cuda:0, bf16", train_cpu_minutes=0.0, other_cpu_minutes=1 / 60
    )
    here = replace(
        elsewhere, processor=speed.processor(), train_cpu_minutes=60.0, other_cpu_minutes=0.0
    )
    hours = [
        Estimates(RECIPES, rows).core_hours(cell.job)
        for rows in ([gpu], [gpu, elsewhere], [gpu, elsewhere, here])
    ]
    assert hours == pytest.approx([Estimates(RECIPES).core_hours(cell.job), 2 / 60, 1.0])


def test_disk_follows_the_encoder(study, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(bytes(10_000_000))
    trunks = {"a": [{"transformer": str(tmp_path)}], "b": [{"casing": 4}]}
    tiny = str(RECIPES.parents[1] / "fixtures/tiny/encoder")
    trunks["c"] = [{"transformer": tiny, "init": "random"}]
    spec = study([{"design": "single"}], tasks=["ner"], trunks=trunks)
    jobs = {cell.variant.trunk: cell.job for cell in plan(spec, RECIPES, rows_reader({})).cells}
    space = {
        name: Estimates(RECIPES).gigabytes([job], 1, keep_models=False)
        for name, job in jobs.items()
    }
    assert space == pytest.approx(
        {"a": COPIES * 0.015, "b": COPIES * 0.005, "c": COPIES * 0.005}, rel=0.1
    )


def test_words_are_counted_without_annotation():
    for name in ("steps", "analyses"):  # brat, and JSON lines
        path = RECIPES.parents[1] / "fixtures/tiny" / name
        texts = [document.text for document in folder.read(path, "train").documents]
        assert corpus_size(path) == (sum(len(text.split()) for text in texts), 0)
