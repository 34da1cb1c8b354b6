"""Training and scoring from Python: documents in memory, folders, recipes."""

import sys
from types import SimpleNamespace

import pytest
import tiny

import spanloom
from spanloom.corpora import folder
from spanloom.errors import DataError, StorageError

SETTINGS = ["stages.0.epochs=1", "stages.0.eval_every_epochs=1"]
SMALL = "trunk=[{characters: cnn, num_filters: 8, ngram_sizes: [3]}]"


def documents():
    names = ("Ada", "Bob", "Cleo", "Dan", "Eve", "Fay")
    return [
        spanloom.from_markup(f"[{first}](person) met [{second}](person).", layer="ner")
        for first in names
        for second in names
    ]


def test_documents_in_memory_train_a_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = spanloom.train(documents(), settings=[*SETTINGS, SMALL])
    assert list(tmp_path.iterdir()) == []
    assert model("Ada met Eve.")["ner"] is not None
    assert "epoch" in capsys.readouterr().out
    reports = model.evaluate(documents()[:5])
    assert list(reports) == ["ner"]
    assert 0 <= reports["ner"].spans.micro.f1 <= 1
    with pytest.raises(DataError, match="no document has a layer that the model predicts"):
        model.evaluate([spanloom.from_words(["a"])])


def test_a_recipe_trains_into_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiny.corpus(tmp_path / "corpus", dev=2)
    lines = []
    model = spanloom.train(tiny.recipe(tmp_path, epochs=1), "model", log=lines.append)
    assert (tmp_path / "model/manifest.json").is_file()
    assert lines
    assert model.evaluate(tmp_path / "corpus").keys() == {"steps"}
    assert not (tmp_path / "test-evaluations.jsonl").exists()


def test_what_is_not_ours_is_refused_before_training(tmp_path):
    (tmp_path / "file").write_text("mine")
    lines = []
    with pytest.raises(StorageError, match="something else is there"):
        spanloom.train(tiny.recipe(tmp_path, epochs=1), tmp_path / "file", log=lines.append)
    assert not [line for line in lines if "epoch" in line]


def test_a_look_at_a_test_set_is_noted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiny.corpus(tmp_path / "corpus", dev=2)
    model = spanloom.train(tiny.recipe(tmp_path, epochs=1), log=lambda line: None)
    (tmp_path / "corpus/dev").rename(tmp_path / "corpus/test")
    assert folder.splits(tmp_path / "corpus").keys() >= {"test"}
    model.evaluate(str(tmp_path / "corpus"), "test")
    assert '"split": "test"' in (tmp_path / "test-evaluations.jsonl").read_text()


def test_what_are_no_documents_is_told():
    with pytest.raises(TypeError, match="expected annotated documents, got str"):
        spanloom.train(["Ada met Bob."])
    with pytest.raises(DataError, match="expected documents to learn from, got none"):
        spanloom.train([])


def test_names_of_tasks_are_no_text():
    with pytest.raises(TypeError, match=r"expected a list of names of tasks, as \['ner'\]"):
        list(spanloom.load().annotate(["Ada met Bob."], "ner"))


def test_what_is_no_data_is_refused(tmp_path):
    with pytest.raises(DataError, match="nowhere: no such recipe, folder or file"):
        spanloom.train(tmp_path / "nowhere")
    (tmp_path / "a.bin").write_bytes(b"\0")
    with pytest.raises(DataError, match=r"a\.bin: expected a recipe"):
        spanloom.train(tmp_path / "a.bin")


def test_a_notebook_draws_documents(monkeypatch):
    drawn = {}
    formatter = SimpleNamespace(for_type_by_name=lambda *names: drawn.update({names[:2]: names[2]}))
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": formatter}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    spanloom._draw_in_notebooks()
    draw = drawn["spanloom.document", "Document"]
    frame = draw(spanloom.from_markup("[Ada](per<son) met Bob."))
    assert frame.startswith('<iframe srcdoc="&lt;!')
    assert "<" not in frame[1:].split('"')[1]
