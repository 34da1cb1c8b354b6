"""Data that is not in UTF-8: ``--encoding`` of each command that reads files."""

import json

import pytest

LINES = "Zo\xe9\tB-person\nslept\tO\n\nBob\tB-person\nsl\xe9pt\tO\n\n" * 12


@pytest.fixture
def columns(tmp_path):
    path = tmp_path / "words.conll"
    path.write_text(LINES, encoding="latin-1")
    return path


@pytest.fixture
def brat(tmp_path):
    folder = tmp_path / "brat"
    folder.mkdir()
    (folder / "a.txt").write_text("Zo\xe9 slept", encoding="latin-1")
    (folder / "a.ann").write_text("T1\tperson 0 3\tZo\xe9\n", encoding="latin-1")
    return folder


def test_each_command_hears_it(spanloom, fails, columns, brat, tmp_path, home):
    latin = ("--encoding", "latin-1")
    hint = "is not utf-8; --encoding NAME reads others, as --encoding latin-1"
    for number, data in enumerate((columns, brat)):
        assert hint in fails("convert", data, tmp_path / "no.jsonl", code=1)
        out = tmp_path / f"{number}.jsonl"
        spanloom("convert", data, out, *latin)
        assert "Zo\xe9" in out.read_text(encoding="utf-8")
        assert hint in fails("check", data, code=1)
        report = json.loads(spanloom("check", data, *latin, "--json").stdout)
        assert report["splits"]["all"]["problems"] == []
        spanloom("view", data, *latin, "-o", tmp_path / f"{number}.html")
        assert "Zo\xe9" in (tmp_path / f"{number}.html").read_text(encoding="utf-8")
        spanloom(
            "annotate", data, "-m", home / "model", *latin, "-o", tmp_path / f"p{number}.jsonl"
        )
    assert "--in-place" in fails("annotate", brat, *latin, "--in-place", code=2)
    assert "unknown encoding 'latin-0'" in fails("check", columns, "--encoding", "latin-0", code=1)


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        ("Zoe\xe9 slept".encode("utf-16"), "--encoding utf-16 reads"),
        (b"PK\3\4\x14\0\0\0\xe9", "it has null bytes, so it is no text"),
    ],
)
def test_what_is_no_text_is_told(fails, tmp_path, home, data, hint):
    (tmp_path / "a.txt").write_bytes(data)
    assert hint in fails("annotate", tmp_path / "a.txt", "-m", home / "model", code=1)


def test_a_check_names_the_file_that_is_in_another_encoding(spanloom, brat, fails):
    (brat / "a.txt").write_text("Zoe slept", encoding="utf-8")
    assert "a.ann:1: byte 16 (0xe9) is not utf-8" in fails("check", brat, code=1)
    (brat / "b.txt").write_text("Bob", encoding="utf-8")
    (problem,) = json.loads(spanloom("check", brat, "--json").stdout)["splits"]["all"]["problems"]
    assert "a.ann:1: byte 16" in problem


CONLL2003 = "Zo\xe9 NNP I-NP I-PER\nmet VBD I-VP O\nBob NNP I-NP I-PER\n. . O O\n\n" * 3


def test_a_file_is_recognized_in_it(spanloom, tmp_path):
    (tmp_path / "data").mkdir()
    data = tmp_path / "data" / "train.conll"
    data.write_text(CONLL2003, encoding="utf-16")
    given = ("--encoding", "utf-16")
    for number, names in enumerate(((), ("--from", "columns"))):
        spanloom("convert", data, tmp_path / f"{number}.jsonl", *names, *given)
        first = json.loads(
            (tmp_path / f"{number}.jsonl").read_text(encoding="utf-8").split("\n")[0]
        )
        assert first["text"].startswith("Zo\xe9 met Bob")
        layers = {layer["name"]: [span["label"] for span in layer["spans"]]
                  for layer in first["layers"]}  # fmt: skip
        assert layers["entities"][:2] == ["PER", "PER"]
        assert layers["xpos"][:3] == ["NNP", "VBD", "NNP"]
    for source in (data, data.parent):
        report = json.loads(spanloom("check", source, *given, "--json").stdout)
        (split,) = report["splits"].values()
        assert split["problems"] == []
        assert split["documents"] == len((tmp_path / "0.jsonl").read_text().splitlines())
    spanloom("view", data, *given, "-o", tmp_path / "x.html")
    assert "Zo\xe9" in (tmp_path / "x.html").read_text(encoding="utf-8")
    spanloom("init", data.parent, "-o", tmp_path / "r.yaml", *given)
    small = ("--set", "trunk=[{characters: cnn, num_filters: 8, ngram_sizes: [3]}]")
    spanloom("train", tmp_path / "r.yaml", "-o", tmp_path / "m", *small, "--dry-run")


def test_json_lines_are_utf8_in_any(spanloom, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "Zo\xe9"}\n', encoding="utf-8")
    spanloom("convert", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--encoding", "utf-16")
    assert "Zo\xe9" in (tmp_path / "b.jsonl").read_text(encoding="utf-8")


def test_stdin_is_read_in_it(spanloom, fails, home):
    text = "Zo\xe9 slept .".encode("latin-1")
    annotate = ("annotate", "-", "-m", home / "model", "--to", "json")
    told = fails(*annotate, input=text, code=1)
    assert "stdin:1: byte 2 (0xe9) is not utf-8; --encoding NAME reads others" in told
    (line,) = spanloom(*annotate, "--encoding", "latin-1", input=text).stdout.splitlines()
    assert json.loads(line)["text"] == "Zo\xe9 slept ."


@pytest.mark.parametrize("encoding", ["undefined", "punycode"])
def test_a_codec_that_decodes_no_byte_is_one_line(fails, columns, tmp_path, encoding):
    told = fails("convert", columns, tmp_path / "x.jsonl", "--encoding", encoding, code=1)
    assert "words.conll" in told
    assert f"is not {encoding}" in told


def test_training_keeps_it_in_the_recipe(spanloom, fails, columns, tmp_path):
    assert "is not utf-8" in fails("init", columns, "-o", tmp_path / "r.yaml", code=1)
    spanloom("init", columns, "-o", tmp_path / "r.yaml", "--encoding", "latin-1")
    assert "encoding: latin-1" in (tmp_path / "r.yaml").read_text(encoding="utf-8")
    small = ("--set", "trunk=[{characters: cnn, num_filters: 8, ngram_sizes: [3]}]")
    dry = spanloom("train", tmp_path / "r.yaml", "-o", tmp_path / "m", *small, "--dry-run")
    assert "24 documents" in dry.stdout or "22 documents" in dry.stdout
    other = ("--encoding", "latin-1", "--dry-run")
    again = spanloom("train", columns, "-o", tmp_path / "m", *small, *other)
    assert "nothing was trained" in again.stdout


def test_a_file_in_another_encoding_does_not_stop_a_check(spanloom, tmp_path):
    (tmp_path / "train.conll").write_text(LINES.replace("\xe9", "e"), encoding="utf-8")
    (tmp_path / "dev.conll").write_text(LINES, encoding="latin-1")
    report = json.loads(spanloom("check", tmp_path, "--json").stdout)
    assert report["splits"]["train"]["documents"] == 24
    assert report["splits"]["dev"]["documents"] == 0
    (problem,) = report["splits"]["dev"]["problems"]
    assert "dev.conll" in problem
    assert "byte 2 (0xe9) is not utf-8" in problem
