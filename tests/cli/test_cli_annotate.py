"""``spanloom annotate`` through its door: every input, every form, every mistake."""

import json
import os
import shutil

import pytest

from spanloom.cli.outputs import needs_cuts
from spanloom.formats import conllu, jsonl
from spanloom.formats.brat import conf
from spanloom.formats.brat import folder as brat
from spanloom.model.serialization import load

TEXT = "add 5 ml cold buffer ."


@pytest.fixture(scope="module")
def annotate(home, spanloom):
    def run(*args, **options):
        return spanloom("annotate", *args, "-m", home / "model", "--precision", "fp32", **options)

    return run


@pytest.fixture(scope="module")
def expected(home):
    """What the model itself says, by document."""
    model = load(home / "model", precision="fp32")
    documents = [reading.document for reading in brat.read_all(home / "corpus")]
    return {each.name: each for each in model.annotate(documents)}


def test_a_text(annotate, home):
    result = annotate(TEXT)
    assert result.exit_code == 0
    assert result.stdout.startswith("# text\nmain  ╭Action╮")
    told = result.stderr.splitlines()
    assert len(told) == 1
    assert told[0].startswith(f"model {home / 'model'} on cpu")
    assert told[0].endswith("fp32; tasks: steps; encoder passes: 1")
    table = annotate(TEXT, "--to", "table")
    assert table.stdout.startswith("# text\nid  label")
    assert annotate(TEXT, "--to", "table", "--layers", "main").stdout == table.stdout
    assert annotate(TEXT, "--layers", "all").stdout == result.stdout
    assert annotate(TEXT, "-o", "-").stdout == result.stdout


def test_layers_are_chosen_for_readers_alone(annotate):
    result = annotate(TEXT, "--to", "json", "--layers", "main")
    assert result.exit_code == 2
    assert "--layers goes with --to text|table|html" in result.stderr


def test_a_wrong_layer_is_told_before_anything_is_computed(annotate, monkeypatch, tmp_path):
    def computing(*_args, **_options):
        raise AssertionError("it computes")

    with monkeypatch.context() as patched:
        patched.setattr("spanloom.model.model.Model.annotate_stretch", computing)
        for more in ((), ("-o", tmp_path / "out.txt"), ("--to", "html")):
            result = annotate(TEXT, "--layers", "main,spam", *more)
            assert result.exit_code == 2
            assert "no layer 'spam' (known: main)" in result.stderr
    assert "Action" in annotate(TEXT, "--layers", "words,main").stdout


def test_a_layer_that_is_often_wrong_is_off_and_named(annotate, monkeypatch):
    doubts = {"main": "relation_f1 12.3 on dev"}
    monkeypatch.setattr("spanloom.model.card_scores.doubtful_layers", lambda *_: doubts)
    why = "main is off, as it is often wrong (relation_f1 12.3 on dev); --layers main shows it"
    result = annotate(TEXT)
    assert result.stdout == "# text\nnothing to show\n"
    assert why in result.stderr.splitlines()
    assert '"doubt":"relation_f1 12.3 on dev"' in annotate(TEXT, "--to", "html").stdout
    for asked in (("--layers", "main"), ("--layers", "all"), ("--tasks", "steps")):
        result = annotate(TEXT, *asked)
        assert "Action" in result.stdout
        assert "often wrong" not in result.stderr
    for form in ("table", "json"):
        result = annotate(TEXT, "--to", form)
        assert "Action" in result.stdout
        assert "often wrong" not in result.stderr


@pytest.mark.parametrize("source", [[], ["-"]])
def test_stdin(annotate, source):
    result = annotate(*source, "--to", "json", input=TEXT)
    (document,) = jsonl.loads(result.stdout)
    assert (document.name, document.text) == ("stdin", TEXT)
    same = jsonl.loads(annotate(TEXT, "--to", "json").stdout)
    assert next(same).layers == document.layers


def test_json_lines_in_a_pipe(annotate, tmp_path):
    lines = f'\n{{"text":"{TEXT}"}}\n{{"name":"b","text":"{TEXT}"}}\n'
    result = annotate("--from", "jsonl", "--to", "json", input=lines)
    assert [(d.name, d.text) for d in jsonl.loads(result.stdout)] == [
        ("stdin-00001", TEXT),
        ("b", TEXT),
    ]
    annotate("--from", "jsonl", "-o", tmp_path / "out.jsonl", input=lines)
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == result.stdout
    annotate("--from", "jsonl", "-o", tmp_path / "out", input=lines)
    assert (tmp_path / "out" / "stdin-00001.ann").exists()
    hint = "stdin is read as one text, but begins as JSON lines do; --from jsonl reads those"
    assert hint in annotate("--to", "json", input=lines).stderr.splitlines()
    assert hint not in annotate("--from", "text", "--to", "json", input=lines).stderr
    assert hint not in annotate("--to", "json", input="{braces} are text").stderr
    assert "--to brat needs -o" in annotate("--from", "jsonl", "--to", "brat", input=lines).stderr
    wrong = annotate("--from", "jsonl", "--to", "json", input='{"text":"a"}\n{\n')
    assert (wrong.exit_code, "stdin:2: " in wrong.stderr) == (1, True)
    assert "for what is piped in" in annotate(TEXT, "--from", "jsonl").stderr


def test_forms_of_one_text(annotate, tmp_path):
    document = next(jsonl.loads(annotate(TEXT, "--to", "json").stdout))
    ann = annotate(TEXT, "--to", "brat").stdout
    assert [line.split("\t")[2] for line in ann.splitlines() if line[0] == "T"] == [
        document.text_of(span) for span in document["main"].spans
    ]
    assert "<html" in annotate(TEXT, "--to", "html").stdout
    for name, start in (("a.html", "<!"), ("a.jsonl", '{"name"'), ("a.txt", "# text")):
        assert annotate(TEXT, "-o", tmp_path / name).exit_code == 0
        assert (tmp_path / name).read_text(encoding="utf-8").lower().startswith(start)


def test_a_page_has_sentences_and_files_of_words_have_both(annotate):
    asked = {form: needs_cuts(form) for form in ("html", "conllu", "json", "brat", "text")}
    assert [form for form, needs in asked.items() if needs] == ["html", "conllu", "text"]
    assert "layers not drawn" not in annotate(TEXT, "--to", "html").stdout


def test_a_folder_keeps_its_structure(annotate, home, tmp_path, expected):
    result = annotate(home / "corpus", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    written = {each.document.name: each.document for each in brat.read_all(tmp_path / "out")}
    assert {k: v.layers for k, v in written.items()} == {k: v.layers for k, v in expected.items()}
    assert "[entities]" in (tmp_path / "out" / "annotation.conf").read_text(encoding="utf-8")


def test_brat_offers_labels_that_were_not_predicted(annotate, home, tmp_path):
    (tmp_path / "dot.txt").write_text(".", encoding="utf-8")
    assert annotate(tmp_path / "dot.txt", "--to", "brat", "-o", tmp_path / "out").exit_code == 0
    assert (tmp_path / "out/dot.ann").read_bytes() == b""
    config = conf.loads((tmp_path / "out/annotation.conf").read_text(encoding="utf-8"))
    known = load(home / "model").tasks["steps"].vocabulary
    assert {*config.labels("entities"), *config.labels("events")} == set(known.spans)
    assert set(config.labels("events")) == known.events.trigger_labels
    roles = known.events.roles - known.events.relations
    assert set(config.labels("relations")) == set(known.relations) - roles


def test_a_text_of_a_folder_that_cannot_be_read_is_left_out(annotate, tmp_path):
    source = tmp_path / "in"
    source.mkdir()
    for name in ("a", "c"):
        (source / f"{name}.txt").write_text(TEXT, encoding="utf-8")
    (source / "b.txt").write_bytes(b"caf\xe9")
    outs = (["-o", tmp_path / "out"], ["-o", tmp_path / "out.jsonl"], ["--to", "json"])
    for out in outs:
        result = annotate(source, *out)
        last = result.stderr.splitlines()[-1]
        assert result.exit_code == 1
        assert "b.txt" in result.stderr.partition("left out: ")[2]
        assert last == f"spanloom: {source}: 1 document was left out"
    assert {path.name for path in (tmp_path / "out").glob("*.txt")} == {"a.txt", "c.txt"}
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8")
    assert [document.name for document in jsonl.loads(lines)] == ["a", "c"]
    assert not list(tmp_path.glob("*.part"))
    assert "is not utf-8" in annotate(source / "b.txt").stderr.splitlines()[-1]
    for name in ("a", "c"):
        (source / f"{name}.txt").unlink()
    assert annotate(source, "--to", "json").stderr.endswith(f"{source}: no document can be read\n")


def test_any_format_and_the_words_it_needs(annotate, tmp_path):
    shown = annotate(TEXT, "--to", "conllu").stdout
    assert annotate(TEXT, "-o", tmp_path / "x.conllu").exit_code == 0
    assert (tmp_path / "x.conllu").read_text(encoding="utf-8") == shown
    (read,) = conllu.loads(shown)
    assert [read.text[span.start : span.end] for span in read["words"].spans] == TEXT.split()
    assert "# sent_id = text-1\n# text = " in shown
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "text.txt").write_text(TEXT, encoding="utf-8")
    assert annotate(tmp_path / "in", "-o", tmp_path / "y.conllu").exit_code == 0
    assert conllu.loads((tmp_path / "y.conllu").read_text(encoding="utf-8"))
    assert annotate(tmp_path / "in", "-o", tmp_path / "v1.2").exit_code == 0
    assert (tmp_path / "v1.2" / "text.ann").is_file()  # no format is called so: a folder


def test_columns_are_the_same_on_stdout_and_in_a_file(annotate, tmp_path):
    shown = annotate(TEXT, "--to", "columns")
    assert annotate(TEXT, "-o", tmp_path / "x.conll", "--to", "columns").exit_code == 0
    assert shown.stdout == (tmp_path / "x.conll").read_text(encoding="utf-8")
    assert "add\tB-Action\n" in shown.stdout
    assert "--to columns: columns ('word', 'main'), by what there is" in shown.stderr
    assert "no place for spans" not in shown.stderr


@pytest.mark.parametrize(
    ("form", "key"), [("doccano", "label"), ("prodigy", "spans"), ("dygie", "ner")]
)
def test_the_only_layer_of_spans_is_written_where_files_have_one(annotate, tmp_path, form, key):
    for written in (
        annotate(TEXT, "--to", form),
        annotate(TEXT, "--to", form, "-o", tmp_path / "x.jsonl"),
    ):
        assert "layer main is written as entities, the only one with spans" in written.stderr
        assert "no place for spans" not in written.stderr  # of words neither
    record = json.loads((tmp_path / "x.jsonl").read_text(encoding="utf-8"))
    assert "Action" in json.dumps(record[key])
    assert annotate(TEXT, "--to", form).stdout == (tmp_path / "x.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["conll04", "crossre", "docred", "pubtator", "uner"])
def test_so_is_it_where_files_have_words_of_their_own(annotate, form):
    written = annotate(TEXT, "--to", form)
    assert "layer main is written as entities, the only one with spans" in written.stderr
    assert "spans of layer main" not in written.stderr
    assert "Action" in written.stdout


def test_json_has_one_spelling(annotate):
    assert annotate(TEXT, "--to", "jsonl").stdout == annotate(TEXT, "--to", "json").stdout


def test_a_packed_model_annotates(annotate, home, spanloom, tmp_path):
    said = spanloom("quantize", home / "model", "-o", tmp_path / "small", "--weights", "fp32")
    assert said.exit_code == 0, said.stderr
    assert said.stdout.endswith(" MB of weights\n")
    again = spanloom("annotate", TEXT, "-m", tmp_path / "small", "--precision", "fp32")
    assert again.stdout.startswith("# text\n")
    wrong = spanloom("quantize", home / "model", "-o", tmp_path / "x", "--embeddings", "fp8")
    assert (wrong.exit_code, "no form 'fp8'" in wrong.stderr) == (2, True)


def test_jsonl_in_and_out(annotate, home, spanloom, tmp_path, expected):
    spanloom("convert", home / "corpus", tmp_path / "in.jsonl")
    annotate(tmp_path / "in.jsonl", "-o", tmp_path / "out.jsonl")
    written = list(jsonl.read(tmp_path / "out.jsonl"))
    assert {each.name: each.layers for each in written} == {
        name: each.layers for name, each in expected.items()
    }


def test_in_place_adds_and_changes_no_byte(annotate, home, tmp_path):
    shutil.copytree(home / "corpus", tmp_path / "corpus")
    (tmp_path / "corpus/dev/dev0.ann").write_bytes(b"T1\tAction 0 3\tadd\nbroken")
    before = {path: path.read_bytes() for path in (tmp_path / "corpus").rglob("*.*")}
    first = annotate(tmp_path / "corpus", "--in-place")
    assert first.exit_code == 0, first.stderr
    after = {path: path.read_bytes() for path in (tmp_path / "corpus").rglob("*.*")}
    assert after.keys() == before.keys()
    assert all(after[path].startswith(content) for path, content in before.items())
    assert after != before
    second = annotate(tmp_path / "corpus", "--in-place")
    assert second.stderr.splitlines()[-1].endswith("0 of 8 documents have new annotations")
    assert {path: path.read_bytes() for path in after} == after


def test_one_task(annotate):
    assert annotate(TEXT, "--tasks", "steps").exit_code == 0


def test_tasks_on_request_run_where_all_or_they_are_named(spanloom, annotate, fails, tmp_path):
    told = "--layers relations: its task does not run; say --tasks relations (with the others), or"
    for out in ((), ("-o", tmp_path / "out.txt", "--workers", "1")):
        assert told in fails("annotate", TEXT, "--layers", "relations", *out, code=2)
    everything = spanloom("annotate", TEXT, "--tasks", "all", "--layers", "relations")
    assert everything.exit_code == 0
    assert "relations" in everything.stderr.partition("tasks: ")[2]
    assert annotate(TEXT, "--tasks", "all").stdout == annotate(TEXT, "--tasks", "steps").stdout


def test_it_reads_as_it_goes(annotate, monkeypatch, tmp_path):
    """After so many words the first documents are out before the last are read."""
    from spanloom.model import stretches

    monkeypatch.setattr(stretches, "_MAX_WORDS", 50)
    lines = [json.dumps({"name": str(row), "text": TEXT}) for row in range(40)]
    (tmp_path / "in.jsonl").write_text("\n".join([*lines, "broken"]), encoding="utf-8")
    result = annotate(tmp_path / "in.jsonl", "--to", "json")
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) > 20
    assert "in.jsonl:41: not JSON" in result.stderr


def test_without_a_model_the_default_one_annotates(spanloom, home, fails, monkeypatch, tmp_path):
    monkeypatch.setattr("spanloom.model.serialization.inside", lambda package: tmp_path / package)
    told = fails("annotate", TEXT, code=1)
    assert "this copy of spanloom has no spanloom-en; name a model (-m MODEL)" in told
    shutil.copytree(home / "model", tmp_path / "spanloom" / "models" / "spanloom-en")
    result = spanloom("annotate", TEXT)
    assert result.exit_code == 0
    assert result.stderr.startswith("model spanloom-en on cpu")
    assert result.stdout == spanloom("annotate", TEXT, "-m", home / "model").stdout


MISTAKES = {
    "nosuch.txt": (1, "nosuch.txt: no such file or folder"),
    "no/such": (1, "no/such: no such file or folder"),
    "nosuch.parquet": (1, "nosuch.parquet: no such file or folder"),
    "nosuch.CoNLLU": (1, "nosuch.CoNLLU: no such file or folder"),
    "nosuch.jsonl.gz": (1, "nosuch.jsonl.gz: no such file or folder"),
    "{tmp}/latin1.txt": (1, "latin1.txt:2: byte 7 (0xe9) is not utf-8"),
    "{tmp}/broken.jsonl": (1, "broken.jsonl:1: not a document"),
    "{tmp}/empty": (1, "empty: no documents"),
    "{tmp}/x.pdf": (1, "cannot tell its format"),
    "{tmp}/x.ann": (2, "did you mean x.txt?"),
    "{tmp}/folder --to brat": (2, "--to brat needs -o OUT"),
    "{tmp}/folder --in-place -o x": (2, "goes with no -o"),
    "text --in-place": (2, "--in-place needs a DIR"),
    "text --tasks nosuch": (2, "no task 'nosuch' (known: steps)"),
    "text --precision fp8": (2, "no precision 'fp8'"),
    "text --device abacus": (2, "no device 'abacus'"),
    "text -o {tmp}/x.doc": (2, "cannot tell the form"),
    "text --to conlu": (2, "no form 'conlu'; did you mean 'conllu'?"),
    "text --to docbin": (2, "--to docbin makes no text; say -o OUT"),
    "text --to qamr": (2, "--to qamr makes several files; say -o OUT"),
    "text -o {tmp}/no/x.html": (1, "no folder"),
    "text --to json -o {tmp}/folder": (1, "folder: could not be written"),
    "{tmp}/folder -o {tmp}/x.pdf/out": (1, "x.pdf"),
    # what a second run would read, or not know what to make of
    "{tmp}/folder -o {tmp}/folder/out": (2, "expected a place outside of the corpus"),
    "{tmp}/folder -o {tmp}/folder": (2, "expected a place outside of the corpus"),
    "{tmp}/folder -o {tmp}/folder/out.jsonl": (2, "expected a place outside of the corpus"),
    "{tmp}/folder -o {tmp}/folder/out.txt": (2, "expected a place outside of the corpus"),
    "text\udcff": (1, "TEXT: byte 4 (0xff) is not utf-8"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("mistakes")
    (place / "latin1.txt").write_bytes(b"add\ncaf\xe9")
    (place / "broken.jsonl").write_text("{}\n", encoding="utf-8")
    (place / "empty").mkdir()
    (place / "folder").mkdir()
    (place / "folder/a.txt").write_text(TEXT, encoding="utf-8")
    (place / "x.pdf").write_text("%PDF-1.4\n", encoding="utf-8")
    for name in ("x.ann", "x.txt"):
        (place / name).write_text("", encoding="utf-8")
    return place


def test_a_form_that_is_a_format_too_is_listed_once(fails, home):
    told = fails("annotate", TEXT, "--to", "jsno", "-m", home / "model", code=2)
    assert told.count(" table,") == 1


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes(fails, home, place, line):
    code, told = MISTAKES[line]
    words = line.format(tmp=place).split(" ")
    assert told in fails("annotate", *words, "-m", home / "model", code=code)


def test_no_model_there(fails, tmp_path):
    assert "no such folder" in fails("annotate", TEXT, "-m", tmp_path / "x", code=1)
    assert "no manifest.json" in fails("annotate", TEXT, "-m", tmp_path, code=1)


def test_a_full_disk(fails, home, tmp_path, monkeypatch):
    def full(handle, data):
        raise OSError(28, "No space left on device")

    (tmp_path / "out.jsonl").write_text("before", encoding="utf-8")
    monkeypatch.setattr(os, "write", full)
    model = home / "model"
    told = fails("annotate", TEXT, "-m", model, "-o", tmp_path / "out.jsonl", code=1)
    monkeypatch.undo()
    assert told.endswith("out.jsonl.part: could not be written: No space left on device")
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["before"]


def test_an_interrupt_is_one_line(fails, home, monkeypatch):
    from spanloom.model import serialization

    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(serialization, "load", interrupted)
    assert fails("annotate", TEXT, "-m", home / "model", code=1) == "spanloom: interrupted"


def test_a_text_that_the_encoder_hardly_knows_is_warned_of(spanloom):
    told = spanloom("annotate", "Собака спит в саду, а кошка сидит на крыше.", "--tasks", "ner")
    assert "text: 100 % of the letters are of scripts that the encoder hardly knows" in told.stderr
    assert "docs/start.md names encoders for other languages" in told.stderr
    assert "hardly knows" not in spanloom("annotate", "Ada met Bob.", "--tasks", "ner").stderr
