"""Files of other formats through the doors of convert, check, train and annotate."""

import json
import os

import pytest

from spanloom import formats
from spanloom.formats import jsonl
from spanloom.tokenization import given_words

CONLL = "".join(f"Ada\tB-person\nmet\tO\nBob\tB-person\n{n}\tO\n\n" for n in range(12))
CHUNKS = "Ada NNP B-NP\nmet VBD B-VP\nBob NNP B-NP\n\n"
IOB1 = "Ada I-PER\nmet O\nBob I-PER\nLee I-PER\n\n"
TABLE = "index\tsentence1\tsentence2\tlabel\n0\tA b c.\tD e.\tentailment\n"


@pytest.fixture
def file(tmp_path):
    def written(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize(
    ("name", "text", "form", "layer"),
    [
        ("a.conll", CONLL, "columns", "entities"),
        ("b.txt", CHUNKS, "columns", "chunks"),
        ("c.txt", IOB1, "columns", "entities"),
        ("d.tsv", TABLE, "table", "label"),
        ("e.conllu", formats.load("conllu").example, "conllu", "dependency"),
        ("f.json", formats.load("squad").example, "squad", "answers"),
    ],
)
def test_convert_guesses_and_says(spanloom, file, tmp_path, name, text, form, layer):
    source, out = file(name, text), tmp_path / "out.jsonl"
    told = spanloom("convert", source, out)
    assert told.exit_code == 0, told.stderr
    assert f"({form}) to" in told.stderr
    found = list(jsonl.read(out))
    assert all(each.has_layer(layer) for each in found)
    back = tmp_path / f"back{source.suffix}"
    told = spanloom("convert", out, back, "--to", form, *options(name))
    assert "has no place" not in told.stderr
    assert back.read_text(encoding="utf-8") == text


def test_the_name_of_a_csv_file_does_not_tell_its_format_but_the_separator(
    spanloom, fails, file, tmp_path
):
    source, out = file("r.csv", 'text,label\n"Good, really",pos\n'), tmp_path / "out.csv"
    assert fails("convert", source, out, code=2).endswith("say --to qasrl, table")
    assert spanloom("convert", source, out, "--to", "table").exit_code == 0
    assert out.read_text() == source.read_text()


def options(name):
    """What the reader guessed, said to the writer."""
    presets = {"b.txt": "conll2000", "c.txt": "wikigold", "d.tsv": "rte"}
    return ("--writer-option", f"preset={presets[name]}") if name in presets else ()


def test_what_is_lost_is_counted(spanloom, file, tmp_path):
    told = spanloom("convert", file("a.conll", CONLL), tmp_path / "x.mrg", "--to", "trees")
    assert "trees has no place for spans of layer entities: 24" in told.stderr


def test_options_of_formats(spanloom, fails, file, tmp_path):
    source, out = file("a.data", "Ada|x\n".replace("|", "\t")), tmp_path / "o.jsonl"
    told = fails("convert", source, out, code=1)
    assert "spanloom convert --from NAME reads it" in told
    assert spanloom(
        "convert", source, out, "--from", "columns", "--reader-option", "preset=semcor-traits"
    )
    (document,) = jsonl.read(out)
    assert [span.label for span in document["traits"].spans] == ["x"]
    assert "expected KEY=VALUE" in fails(
        "convert", source, out, "--from", "columns", "--reader-option", "preset", code=2
    )
    wrong = ("--from", "columns", "--reader-option", "preset=x")
    assert "--reader-option: preset: expected 'wnut17'" in fails(
        "convert", source, out, *wrong, code=2
    )
    assert "did you mean 'columns'" in fails("convert", source, out, "--from", "column", code=2)
    assert "does not tell the format" in fails(
        "convert", file("b.conll", CONLL), tmp_path / "x.zzz", code=2
    )
    assert "say --to conll04, e2e, semeval2010, table" in fails(
        "convert", file("b.conll", CONLL), tmp_path / "x.txt", code=2
    )


def test_check_and_train_read_them(spanloom, file, tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "train.conll").write_text(CONLL)
    (folder / "dev.conll").write_text(CONLL.split("\n\n")[0] + "\n\n")
    told = spanloom("check", folder, "--json")
    assert "read as columns" in told.stderr
    assert "words: those that documents give" in told.stderr
    split = json.loads(told.stdout)["splits"]["train"]
    assert (split["documents"], split["words"]) == (12, 48)
    recipe = tmp_path / "recipe.yaml"
    assert spanloom("init", folder, "-o", recipe).exit_code == 0
    assert "kind: entities" in recipe.read_text()


def test_annotate_keeps_the_words_that_are_given(spanloom, home, file):
    source = file("a.conllu", formats.load("conllu").example)
    told = spanloom("annotate", source, "-m", home / "model", "--to", "json")
    assert told.exit_code == 0, told.stderr
    before = list(formats.read(source, formats.load("conllu"), formats.load("conllu").options()))
    after = list(jsonl.loads(told.stdout))
    assert [given_words(each) for each in after] == [given_words(each) for each in before]
    assert all(each.has_layer("main") for each in after)


@pytest.mark.parametrize("name", ["columns", "conllu", "squad", "trees"])
def test_a_byte_order_mark_hides_no_format(spanloom, file, tmp_path, name):
    form = formats.load(name)
    source = file(f"a{form.suffixes[0]}", "\ufeff" + form.example)
    assert formats.guess(source) == name
    assert spanloom("convert", source, tmp_path / "o.jsonl").exit_code == 0
    assert list(jsonl.read(tmp_path / "o.jsonl"))


def test_pipes_are_refused_before_anything_of_them_is_read(fails, tmp_path):
    pipe = tmp_path / "a.conllu"
    os.mkfifo(pipe)
    for said in ((), ("--from", "conllu")):
        told = fails("convert", pipe, tmp_path / "o.jsonl", *said, code=1)
        assert "a.conllu: cannot be read: expected a file, got a pipe or device" in told
    assert not (tmp_path / "o.jsonl").exists()


def test_what_brat_drops_is_counted(spanloom, file, tmp_path):
    spans = [{"id": "T1", "label": "P", "fragments": [[0, 3]], "score": 0.5}]
    spans += [{"id": "T2", "label": "P", "fragments": [[8, 15]]}]
    said = {"name": "a", "text": "Ada met Bob.\nHe ran.", "layers": [{"name": "m", "spans": spans}]}
    told = spanloom("convert", file("a.jsonl", json.dumps(said)), tmp_path / "o").stderr
    assert "brat has no place for scores: 1" in told
    assert "brat has no place for spans over line breaks" in told
    told = spanloom("convert", file("b.conll", CONLL), tmp_path / "p").stderr
    assert "has no place" not in told
    spans = [{"id": f"T{n}", "label": "P", "fragments": [[n, n + 1]]} for n in range(3)]
    same = [{"id": f"*{n}", "label": "Same", "members": [f"T{n}", f"T{n + 1}"]} for n in (0, 1)]
    layer = {"name": "m", "spans": spans, "equivalences": same}
    said = {"name": "a", "text": "abc", "meta": [["k", "1"], ["k", "1"]], "layers": [layer]}
    told = spanloom("convert", file("c.jsonl", json.dumps(said)), tmp_path / "q").stderr
    assert "brat has no place for equivalences that share members" in told
    assert "brat has no place for values of the document that it has twice: 1" in told


def test_a_file_is_what_its_own_name_says_whatever_lies_beside_it(spanloom, file, tmp_path):
    file("a.ann", "T1\tPER 0 3\tAda\nT2\tPER 8 10\tBob\n")
    told = spanloom("convert", file("a.txt", "Ada met Bob"), tmp_path / "a.jsonl")
    assert "a.txt (brat)" in told.stderr
    assert "a.ann:2: " in told.stderr
    assert told.stderr.count("; not read") == 1
    told = spanloom("convert", tmp_path / "a.jsonl", tmp_path / "b.conllu")
    assert told.exit_code == 0, told.stderr
    assert "a.jsonl (jsonl)" in told.stderr


def test_options_may_be_lists_and_mappings(spanloom, fails, file, tmp_path):
    source, out = file("a.conll", "0 Ada S-PER\n\n"), tmp_path / "o.jsonl"
    said = ("--reader-option", "columns=[_, word, who]", "--reader-option", "schemes={who: IOBES}")
    told = spanloom("convert", source, out, "--from", "columns", *said)
    assert told.exit_code == 0, told.stderr
    (document,) = jsonl.read(out)
    assert [span.label for span in document["who"].spans] == ["PER"]
    broken = ("--from", "columns", "--reader-option", "columns=[word")
    assert "--reader-option" in fails("convert", source, out, *broken, code=2)
    beside = ("--from", "compression", "--reader-option", "compression=[a]")  # the name of a file
    assert "[a]: cannot be read: No such file" in fails("convert", source, out, *beside, code=1)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "brat"
    place.mkdir()
    (place / "a.txt").write_bytes("Add 5ml caf\u00e9. Mix it!\n".encode("latin-1"))
    ann = "T1\tAmount 4 7\t5ml\nT2\tDrink 8 12\tcaf\u00e9\nT3\tIt 18 20\tit\nT4\tBit 5 6\tm\n"
    (place / "a.ann").write_bytes(ann.encode("latin-1"))
    return place


def test_brat_to_words_keeps_its_spans_and_tells_the_rest(spanloom, fails, folder, tmp_path):
    out = tmp_path / "a.conll"
    said = ("--to", "columns", "--reader-option", "encoding=latin-1")
    told = spanloom("convert", folder, out, *said)
    assert told.exit_code == 0, told.stderr
    rows = "Add O|5 B-Amount|ml I-Amount|caf\u00e9 B-Drink|. O||Mix O|it B-It|! O||"
    expected = rows.replace(" ", "\t").replace("|", "\n")
    assert out.read_text(encoding="utf-8") == "-DOCSTART-\tO\n\n" + expected
    assert "columns has no place for spans of layer main: 1" in told.stderr
    assert "columns ('word', 'main'), by what there is" in told.stderr
    strict = fails("convert", folder, out, *said, "--strict", code=1)
    assert "a.conll: columns has no place for " in strict
    assert strict.endswith(" things (--strict)")
    every = spanloom("convert", folder, tmp_path / "b.jsonl", *said[2:], "--strict")
    assert every.exit_code == 0
    assert "encoding" not in every.stderr


@pytest.mark.parametrize("form", ["doccano", "prodigy"])
def test_an_annotation_with_nothing_in_it_is_one(spanloom, tmp_path, form):
    (tmp_path / "in").mkdir()
    for name in "ab":
        (tmp_path / "in" / f"{name}.txt").write_text("Ada met Bob", encoding="utf-8")
    (tmp_path / "in" / "a.ann").write_text("", encoding="utf-8")
    spanloom("convert", tmp_path / "in", tmp_path / "out.jsonl", "--to", form)
    first, second = formats.load(form).loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))
    assert first.has_layer("entities")
    assert not second.has_layer("entities")


def test_strict_counts_lines_of_brat_files_that_were_not_read(spanloom, fails, folder, tmp_path):
    said = ("--reader-option", "encoding=latin-1", "--strict")
    with (folder / "a.ann").open("a") as stream:
        stream.write("T5\tNumber five 7\tfive\nR1\tOf Arg1:T9\n")
    for source, out in ((folder, "all.jsonl"), (folder / "a.ann", "one.jsonl")):
        strict = fails("convert", source, tmp_path / out, *said, code=1)
        assert strict.endswith(f"{out}: 2 lines of the source not read (--strict)")
    assert spanloom("convert", folder, tmp_path / "again", *said).exit_code == 0
    assert (tmp_path / "again" / "a.ann").read_text().count("five 7") == 1


def test_options_of_brat_are_heard(fails, folder, tmp_path):
    out = tmp_path / "o.jsonl"
    hint = "is not utf-8; --encoding NAME reads others, as --encoding latin-1"
    assert hint in fails("convert", folder, out, code=1)
    known = "unknown key; did you mean 'encoding'? (known: encoding)"
    assert known in fails("convert", folder, out, "--reader-option", "encodin=latin-1", code=2)
    wrong = fails("convert", folder, out, "--reader-option", "encoding=latin-0", code=1)
    assert "unknown encoding 'latin-0'" in wrong
    said = ("--reader-option", "encoding=latin-1", "--writer-option", "encoding=utf-16")
    assert "--writer-option: encoding: unknown key" in fails(
        "convert", folder, tmp_path / "x", *said, code=2
    )
    assert not (tmp_path / "x").exists()
    fine = formats.load("conllu").example
    (tmp_path / "a.conllu").write_text(fine, encoding="utf-8")
    told = fails("convert", tmp_path / "a.conllu", out, *said[:2], code=2)
    assert (
        "--reader-option: encoding: unknown key (known: add_sent_metadata, entities, infer_mwt)"
        in told
    )


def test_half_a_character_costs_no_other_line(spanloom, fails, home, file, tmp_path):
    lines = [{"name": "a", "text": "add water"}, {"name": "b", "text": "add \ud800 water"}]
    source = file("s.jsonl", "\n".join(map(json.dumps, [*lines, lines[0] | {"name": "c"}])))
    told = spanloom("annotate", source, "-m", home / "model", "--to", "json")
    assert told.exit_code == 0, told.stderr
    assert [each.text for each in jsonl.loads(told.stdout)] == [
        *("add water", "add \ud800 water", "add water")
    ]
    out = ("-m", home / "model", "-o", tmp_path / "out", "--to", "brat")
    assert "b.txt: cannot be written as utf-8" in fails("annotate", source, *out, code=1)
    assert (tmp_path / "out" / "a.txt").exists()
