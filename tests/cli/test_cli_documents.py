"""``check``, ``view`` and ``convert`` through their door."""

import json
import shutil

import pytest

from spanloom.annotation.comparable import comparable
from spanloom.formats import jsonl
from spanloom.formats.brat import folder as brat


def read(root):
    return {each.document.name: comparable(each.document) for each in brat.read_all(root)}


def test_convert_there_and_back(spanloom, home, tmp_path):
    there = spanloom("convert", home / "corpus", tmp_path / "c.jsonl")
    assert "(brat) to" in there.stderr
    back = spanloom("convert", tmp_path / "c.jsonl", tmp_path / "back")
    assert "(jsonl) to" in back.stderr
    assert read(tmp_path / "back") == read(home / "corpus")
    assert (tmp_path / "back/annotation.conf").is_file()


def test_convert_by_word_not_by_name(spanloom, home, tmp_path):
    spanloom("convert", home / "corpus/dev/dev0.txt", tmp_path / "one", "--to", "jsonl")
    (document,) = jsonl.read(tmp_path / "one")
    assert document.name == "dev0"
    assert spanloom("convert", tmp_path / "one", tmp_path / "d", "--from", "jsonl").exit_code == 0
    assert list(read(tmp_path / "d")) == ["dev0"]


def test_nameless_lines_are_numbered(spanloom, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n', encoding="utf-8")
    spanloom("convert", tmp_path / "x.jsonl", tmp_path / "out")
    assert list(read(tmp_path / "out")) == ["x-00001", "x-00002"]


def test_lines_that_make_nothing_are_told(spanloom, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/a.txt").write_text("add", encoding="utf-8")
    (tmp_path / "a/a.ann").write_text("T1\tA 0 3\tadd\nbroken\n", encoding="utf-8")
    (tmp_path / "a/b.ann").write_text("", encoding="utf-8")
    told = spanloom("convert", tmp_path / "a", tmp_path / "a.jsonl").stderr
    assert f"{tmp_path / 'a'}/a.ann:2: " in told
    assert "b.ann: has no .txt beside it" in told


def test_convert_mistakes(fails, home, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "x.jsonl").write_text('{"name": "../out", "text": "a"}\n', encoding="utf-8")
    corpus = home / "corpus"
    assert "no such file" in fails("convert", tmp_path / "no", tmp_path / "y", code=1)
    assert "leads out of" in fails("convert", tmp_path / "x.jsonl", tmp_path / "d", code=1)
    assert "does not print to stdout" in fails("convert", corpus, "-", "--to", "jsonl", code=2)
    assert "is a folder" in fails("convert", corpus, tmp_path / "d", "--to", "jsonl", code=2)
    assert "is a folder" in fails("convert", corpus, tmp_path / "d", "--from", "jsonl", code=2)
    told = fails("convert", tmp_path / "x.jsonl", tmp_path / "d", "--from", "brat", code=2)
    assert "expected a brat folder" in told
    told = fails("convert", tmp_path / "x.jsonl", tmp_path / "x.jsonl", "--to", "docbin", code=2)
    assert "is IN, which would be replaced" in told
    told = fails("convert", corpus, corpus / "copy", "--to", "brat", code=2)
    assert "expected a place outside of the corpus" in told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "x.jsonl"]


def test_view_draws_one_document_or_many(spanloom, home, tmp_path):
    page = tmp_path / "page.html"
    result = spanloom("view", home / "corpus/dev/dev0.ann", "-o", page)
    assert result.stdout == f"{page}: 1 document; open it in a browser\n"
    assert "Reagent" in page.read_text(encoding="utf-8")
    many = spanloom("view", home / "corpus/dev", home / "corpus/train", "-o", page)
    assert ": 8 documents" in many.stdout
    assert '"differences":[]' in page.read_text(encoding="utf-8")


def test_view_lays_predictions_beside_gold(spanloom, home, tmp_path):
    page = tmp_path / "page.html"
    gold, found = home / "corpus/dev", tmp_path / "found.jsonl"
    spanloom("annotate", gold, "-m", home / "model", "-o", found)
    result = spanloom("view", gold, found, "-o", page)
    assert f"gold: {gold}, predicted: {found}" in result.stderr
    assert '"sides":["gold","predicted"]' in page.read_text(encoding="utf-8")


def test_view_compares_the_documents_that_both_sides_have(spanloom, home, tmp_path):
    page, part = tmp_path / "page.html", tmp_path / "part"
    part.mkdir()
    for suffix in ("txt", "ann"):
        shutil.copy(home / f"corpus/dev/dev0.{suffix}", part)
        (part / f"other.{suffix}").touch()
    result = spanloom("view", home / "corpus/dev", part, "-o", page)
    assert f"{home}/corpus/dev: 1 document not compared: dev1\n" in result.stderr
    assert f"{part}: 1 document not compared: other\n" in result.stderr
    assert ": 1 document, compared;" in result.stdout
    assert '"sides":["gold","predicted"]' in page.read_text(encoding="utf-8")
    apart = spanloom("view", home / "corpus/dev", home / "corpus/train", "-o", page)
    assert "have no document in common: nothing is compared" in apart.stderr


def test_view_mistakes(fails, home, tmp_path):
    assert "no such file" in fails("view", tmp_path / "no", code=1)
    (tmp_path / "x.ann").write_text("", encoding="utf-8")
    assert "x.txt: cannot be read" in fails("view", tmp_path / "x.ann", code=1)
    page = ("-o", tmp_path / "no/page.html")
    assert "no folder" in fails("view", home / "corpus/dev", *page, code=1)


def test_view_replaces_no_input(fails, tmp_path):
    text = tmp_path / "doc.txt"
    text.write_text("Add buffer.\n", encoding="utf-8")
    for source in (tmp_path, text):
        assert "ends in .html" in fails("view", source, "-o", text, code=2)
    page = tmp_path / "page.html"
    page.symlink_to(text)
    assert "is IN, which would be replaced" in fails("view", text, "-o", page, code=2)
    assert text.read_text(encoding="utf-8") == "Add buffer.\n"


def test_check_counts_and_limits(spanloom, home):
    free = json.loads(spanloom("check", home / "corpus", "--json").stdout)
    limits = {"kinds": ["relations"], "width": None, "nested": False}
    assert free["model"] == {"main": limits}
    assert free["splits"]["train"]["layers"]["main"]["oracle"]["spans"]["gold"] == 136
    told = spanloom("check", home / "corpus", "-m", home / "model", "--json")
    assert json.loads(told.stdout)["model"] == {"main": limits | {"width": 1}}
    assert (
        told.stderr == f"{home / 'corpus'}: read as brat\nwords: char-class, sentences: newline\n"
    )
    recipe = spanloom("check", home / "corpus", "--recipe", home / "recipe.yaml")
    assert recipe.exit_code == 0
    assert "Mod-Link" in recipe.stdout


@pytest.mark.parametrize(("second", "nested"), [("2 4", True), ("4 5", False)])
def test_check_sees_whether_spans_nest(spanloom, tmp_path, second, nested):
    (tmp_path / "a.txt").write_text("a b c", encoding="utf-8")
    (tmp_path / "a.ann").write_text(f"T1\tA 0 3\ta b\nT2\tA {second}\t", encoding="utf-8")
    found = json.loads(spanloom("check", tmp_path, "--json").stdout)
    assert found["model"]["main"]["nested"] is nested


def test_check_mistakes(fails, home, tmp_path):
    assert "no such file or folder" in fails("check", tmp_path / "no", code=1)
    assert "no documents" in fails("check", tmp_path, code=1)
    both = ("--recipe", "r.yaml", "-m", "m")
    assert "say one of them" in fails("check", home / "corpus", *both, code=2)
    assert "cannot be read" in fails("check", home / "corpus", "--recipe", tmp_path / "r", code=1)
    assert "no manifest.json" in fails("check", home / "corpus", "-m", tmp_path, code=1)


def test_the_configuration_of_a_brat_folder_stays_with_it(spanloom, home, tmp_path):
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.txt").write_text("Add it", encoding="utf-8")
    (source / "a.ann").write_text("T1\tAction 0 3\tAdd\nT2\tThing 4 6\tit\n", encoding="utf-8")
    conf = "# ours\n[entities]\n!Act\n Action|A\n[relations]\nto\tArg1:Action, Arg2:<ANY>\n"
    (source / "annotation.conf").write_text(conf + "[events]\n[attributes]\n", encoding="utf-8")
    spanloom("convert", source, tmp_path / "out")
    spanloom("annotate", source, "-m", home / "model", "--to", "brat", "-o", tmp_path / "said")
    for folder in ("out", "said"):
        text = (tmp_path / folder / "annotation.conf").read_text(encoding="utf-8")
        assert text.startswith("# ours\n[entities]\n!Act\n Action|A\n")
        assert "to\tArg1:Action, Arg2:<ANY>\n" in text
    assert "\nThing\n" in (tmp_path / "out/annotation.conf").read_text(encoding="utf-8")
    (source / "annotation.conf").write_text("[entitys]\n", encoding="utf-8")
    logged = spanloom("convert", source, tmp_path / "anew").stderr
    assert "did you mean [entities]?; a new annotation.conf is written" in logged.replace(
        " (known: entities, relations, events, attributes, spans)", ""
    )


def test_check_reads_the_configuration_of_a_brat_folder(spanloom, tmp_path):
    for split in ("train", "dev"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "a.txt").write_text(f"Add it {split}", encoding="utf-8")
        spans = "T1\tAction 0 3\tAdd\nT2\tThing 4 6\tit\nR1\tto Arg1:T1 Arg2:T2\n"
        (tmp_path / split / "a.ann").write_text(spans, encoding="utf-8")
    conf = tmp_path / "annotation.conf"

    def check(text, *options):
        conf.write_text(text, encoding="utf-8")
        return spanloom("check", tmp_path, *options)

    relations = "[relations]\nto Arg1:Action, Arg2:Thing\n[events]\n[attributes]\n"
    whole = check(f"[entities]\nAction\nThing\n{relations}", "--strict")
    assert (whole.exit_code, "problem" in whole.stdout) == (0, False)
    part = check(f"[entities]\nAction\n{relations}")
    lack = f"{conf}: [entities] does not declare Thing, which documents have"
    assert (part.exit_code, part.stdout.count(lack)) == (0, 1)
    strict = check(f"[entities]\nAction\n{relations}", "--strict")
    assert (strict.exit_code, lack in strict.stdout) == (1, True)
    assert "1 problem in the files (--strict)" in strict.stderr
    broken = check("[entities]\n  Action\n[relation]\n", "--strict", "--json")
    problems = json.loads(broken.stdout)["splits"]["train"]["problems"]
    assert [problem.split(":")[1] for problem in problems] == ["2", "3"]
    assert problems[1].startswith(f"{conf}:3: unknown section [relation]")


@pytest.mark.parametrize("command", ["annotate", "convert"])
def test_two_documents_of_one_name_are_told_before_a_brat_file_is_written(
    fails, home, tmp_path, command
):
    lines = ({"name": name, "text": f"add buffer {i}"} for i, name in enumerate(["a", "b", "a"]))
    path, out = tmp_path / "in.jsonl", tmp_path / "out"
    path.write_text("\n\n".join(map(json.dumps, lines)), encoding="utf-8")
    options = [path, "-o", out, "-m", home / "model"] if command == "annotate" else [path, out]
    line = fails(command, *options, "--to", "brat", code=1)
    assert f"{path}:5: the document of line 1 has the name 'a', too" in line
    assert not out.exists()
