"""``spanloom score`` and ``spanloom glad`` through their door."""

import json

import pytest
import tiny

from spanloom import scoring
from spanloom.corpora import card as cards
from spanloom.errors import NameNotFound
from spanloom.formats.brat import folder as brat
from spanloom.glad.result import load_results

GOLD = "Ada B-PER\nLovelace I-PER\nmet O\nBob B-PER\n\nOslo B-LOC\n"
SAID = "Ada B-PER\nLovelace I-PER\nmet O\nBob O\n\nOslo B-PER\n"


@pytest.fixture
def files(tmp_path):
    gold, said = tmp_path / "gold.txt", tmp_path / "said.txt"
    gold.write_text(GOLD)
    said.write_text(SAID)
    return gold, said


def test_score_prints_numbers_and_a_table(spanloom, files):
    told = json.loads(spanloom("score", *files, "--metric", "conlleval", "--json").stdout)
    assert told["precision"] == told["recall"] == 50.0 or told["recall"] == 33.33
    assert told["gold_phrases"] == 3
    assert "33.33" in spanloom("score", *files, "--metric", "conlleval").stdout


def test_official_options_come_last(spanloom, files):
    flags = ("--metric", "conlleval", "--json", "-d", " ")
    plain = spanloom("score", *files, "--metric", "conlleval", "--json").stdout
    assert spanloom("score", *files, *flags).stdout == plain


def test_score_mistakes(fails, files, tmp_path):
    metric = ("--metric", "conlleval")
    assert "did you mean 'conlleval'" in fails("score", *files, "--metric", "conleval", code=2)
    assert "no option '--nope'" in fails("score", *files, *metric, "--nope", code=2)
    assert "expected a value" in fails("score", *files, *metric, "-d", code=2)
    assert "cannot be read" in fails("score", tmp_path / "no", files[1], *metric, code=1)
    told = fails("score", *files, "--metric", "spans", "--layer", "entites", code=2)
    assert "no layer of gold 'entites'; did you mean 'entities'?" in told
    files[1].write_text("Ada\n")
    fails("score", *files, *metric, code=1)


def test_two_ann_files_are_scored(spanloom, fails, tmp_path):
    paths = [tmp_path / side / "a.ann" for side in ("gold", "said")]
    for path, label in zip(paths, "AB", strict=True):
        path.parent.mkdir()
        path.with_suffix(".txt").write_text("Ada met Bob", encoding="utf-8")
        path.write_text(f"T1\tA 0 3\tAda\nT2\t{label} 8 11\tBob\n", encoding="utf-8")
    whole = spanloom("score", *paths, "--metric", "spans", "--json").stdout
    folders = [path.parent for path in paths]
    assert whole == spanloom("score", *folders, "--metric", "spans", "--json").stdout
    paths[1].with_suffix(".txt").unlink()
    assert "a.txt: cannot be read" in fails("score", *paths, "--metric", "spans", code=1)
    (tmp_path / "x.pdf").write_text("%PDF", encoding="utf-8")
    told = fails("score", tmp_path / "x.pdf", paths[0], "--metric", "spans", code=1)
    assert "cannot tell its format (known: a folder of brat files, " in told


def test_documents_that_one_side_did_not_annotate_are_named(spanloom, tmp_path, caplog):
    for side, annotated in (("first", "ab"), ("second", "bc")):
        (tmp_path / side).mkdir()
        for name in "abc":
            (tmp_path / side / f"{name}.txt").write_text("May 1\n", encoding="utf-8")
            if name in annotated:
                text = "T1\tDate 0 5\tMay 1\n"
                (tmp_path / side / f"{name}.ann").write_text(text, encoding="utf-8")
    spanloom("score", tmp_path / "first", tmp_path / "second", "--metric", "spans")
    assert "first: without layer main, so they are not scored: c" in caplog.text
    assert "second: without layer main, so they count as empty: a" in caplog.text
    caplog.clear()
    with_itself = (tmp_path / "first", tmp_path / "first", "--metric", "spans", "--json")
    (layer,) = json.loads(spanloom("score", *with_itself).stdout)["layers"].values()
    assert layer["f1"] == 100.0
    assert "without layer" not in caplog.text


def test_lines_that_cannot_be_read_are_told(spanloom, tmp_path, caplog):
    for name, line in (("gold", "T2\tDay 0 99\tMay"), ("system", "T2\tDay 4 5\t1")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("May 1\n", encoding="utf-8")
        text = f"T1\tDate 0 5\tMay 1\n{line}\n"
        (tmp_path / name / "a.ann").write_text(text, encoding="utf-8")
    told = "gold: 1 problem in its files (spanloom check tells which); what cannot be read is not "
    spanloom("score", tmp_path / "gold", tmp_path / "system", "--metric", "spans")
    assert f"{told}scored" in caplog.text  # a logger, which writes to stderr
    assert "system: " not in caplog.text
    result = spanloom("init", tmp_path / "gold", "-o", tmp_path / "recipe.yaml")
    assert f"{told}learnt" in result.stderr


def test_help_names_every_metric(spanloom):
    told = spanloom("score", "--help").stdout.replace("\n  ", " ")
    for name in scoring.names():
        assert name in told


@pytest.fixture
def card(monkeypatch):
    """One dataset of its own, whose raw files are made here."""
    written = (
        "title: Tiny\nhomepage: https://example.org\nlicense: CC0\n"
        "may_share_data: true\nmay_share_weights: true\n"
        "citation: none\ntasks: [entities]\nmetric: conlleval\n"
        "sources:\n"
        "  train: {files: [tiny/train.conll], format: columns, options: {preset: wnut17}}\n"
        "  test: {files: [tiny/test.conll], format: columns, options: {preset: wnut17}}\n"
        "splits: {train: {source: train}, test: {source: test}}\n"
        "counts: {train: {sentences: 20}}\n"
    )

    def text(name):
        if name != "tiny":
            raise NameNotFound("dataset", name, ["tiny"])
        return written

    monkeypatch.setattr(cards, "names", lambda: ["tiny"])
    monkeypatch.setattr(cards, "text", text)


@pytest.fixture
def raw(tmp_path):
    folder = tmp_path / "raw/tiny"
    folder.mkdir(parents=True)
    sentence = "Ada\tB-person\nmet\tO\nBob\tB-person\n.\tO\n\n"
    (folder / "train.conll").write_text(sentence * 20)
    (folder / "test.conll").write_text(sentence * 3)
    return folder.parent


def test_prepare_list_stats(spanloom, card, raw, tmp_path):
    assert "Tiny (CC0; weights may ship)" in spanloom("glad", "list").stdout
    out = ("--raw", raw, "-o", tmp_path / "glad")
    first = spanloom("glad", "prepare", "tiny", *out)
    assert "20 sentences (as the card says), 80 words, 40 entities" in first.stdout
    assert "tiny: made" in first.stderr
    assert "there already" in spanloom("glad", "prepare", "all", *out).stderr
    twice = spanloom("glad", "prepare", "tiny", "tiny", *out)
    assert twice.stderr.count("there already") == 1
    assert len(list(brat.read_all(tmp_path / "glad/tiny/train"))) == 20
    page = tmp_path / "glad.md"
    assert spanloom("glad", "stats", "--data", tmp_path / "glad", "-o", page).exit_code == 0
    assert "| train | 20 | 20 | 80 | entities | 40 | 0 | 100.0 |" in page.read_text()


def test_prepare_mistakes(fails, card, raw, tmp_path):
    out = ("-o", tmp_path / "glad")
    nowhere = ("--raw", tmp_path)
    assert "no such file" in fails("glad", "prepare", "tiny", *nowhere, *out, code=1)
    assert "no dataset has its files" in fails("glad", "prepare", "all", *nowhere, *out, code=1)
    assert "did you mean 'tiny'" in fails("glad", "prepare", "tini", "--raw", raw, *out, code=1)
    with (raw / "tiny/train.conll").open("a") as more:
        more.write("One\tO\n\n")
    assert "1 counts are not" in fails("glad", "prepare", "tiny", "--raw", raw, *out, code=1)
    assert "no results" in fails("glad", "leaderboard", "--results", tmp_path / "none", code=1)
    assert "no prepared dataset" in fails("glad", "stats", "--data", tmp_path, code=1)


@pytest.mark.slow
def test_prepare_in_processes(fails, tmp_path):
    out = ("--raw", tmp_path, "-o", tmp_path / "glad", "--workers", "2")
    assert "did you mean 'wnut17'" in fails("glad", "prepare", "wnut18", "btc", *out, code=1)


def test_run_and_board(spanloom, card, raw, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spanloom("glad", "prepare", "tiny", "--raw", raw, "-o", tmp_path / "glad")
    tiny.encoder(tmp_path / "encoder")
    recipe = tmp_path / "ner.yaml"
    recipe.write_text(
        f"trunk: [{{transformer: {tmp_path / 'encoder'}}}]\n"
        "tasks:\n"
        "  ner: {data: tiny, kind: entities, layer: entities, hidden_size: 16, max_span_width: 2}\n"
        "stages: [{tasks: [ner], epochs: 2, precision: fp32}]\nwindow: 64\n"
    )
    rows = tmp_path / "rows"
    run = ("glad", "run", recipe, "--data", tmp_path / "glad", "--results", rows)
    result = spanloom(*run, "-o", tmp_path / "model")
    assert result.exit_code == 0, result.stderr
    (row,) = load_results(rows)
    assert (row.dataset, row.task, row.kind, row.seed) == ("tiny", "ner", "entities", 1)
    assert row.metrics["span_f1"] == row.report["spans"]["micro"]["f1"]
    low, high = row.intervals["span_f1"]
    assert low <= row.main[1] <= high
    assert row.command.endswith("ner.yaml")
    assert len((tmp_path / "test-evaluations.jsonl").read_text().splitlines()) == 1
    page = tmp_path / "board.html"
    shown = spanloom("glad", "leaderboard", "--results", rows, "--html", page)
    assert "| tiny | ner | entities | span_f1 |" in shown.stdout
    assert '<td data-head="dataset">tiny</td>' in page.read_text()
