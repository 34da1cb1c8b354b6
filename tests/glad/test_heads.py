"""A prepared corpus with a layer of head words: of its own trees, or of a parser's."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from spanloom.corpora import folder
from spanloom.document import Layer, Span
from spanloom.errors import DataError
from spanloom.formats import conllu, jsonl
from spanloom.formats.brat.save import save
from spanloom.glad import heads
from spanloom.glad.heads import Parser, prepare_heads

ROWS = (
    "1 the DET 3 det|2 old ADJ 3 amod|3 mayor NOUN 6 nsubj"
    "|4 of ADP 5 case|5 Rome PROPN 3 nmod|6 met VERB 0 root"
)


def _document(name):
    rows = (row.split() for row in ROWS.split("|"))
    cells = ((n, form, "_", tag, "_", "_", head, label) for n, form, tag, head, label in rows)
    lines = ["\t".join((*row, "_", "_")) for row in cells]
    (parsed,) = conllu.loads("\n".join(lines) + "\n\n")
    mentions = Layer(
        "entities", (Span("T101", "Person", ((0, 21),)), Span("T102", "Place", ((17, 21),)))
    )
    return replace(parsed, name=name, source=None).with_layer(mentions)


def _write(root, *, with_trees):
    for split in ("train", "dev"):
        document = _document(f"{split}1")
        if not with_trees:
            kept = [layer for layer in document.layers if layer.name != "dependency"]
            document = replace(document, layers=tuple(kept))
        save(document, root / split)


class _MadeParser:
    """A parser whose trees are the gold ones, and that was never shown the mentions."""

    def __init__(self):
        spec = SimpleNamespace(kind="dependency")
        self.plan = SimpleNamespace(kept_tasks={"trees": SimpleNamespace(spec=spec)})
        self.tasks = {"trees": SimpleNamespace(layer="dependency")}
        self.parsed = 0

    def predict(self, documents, name):
        for document in documents:
            self.parsed += 1
            yield _document(document.name)


@pytest.mark.parametrize("with_trees", [True, False])
def test_heads_are_of_gold_trees_or_marked_as_silver(tmp_path, monkeypatch, with_trees):
    monkeypatch.setattr(heads, "digest_of", lambda path: "abc")
    _write(tmp_path / "c", with_trees=with_trees)
    parser = Parser(_MadeParser(), None)
    counts = prepare_heads(tmp_path / "c", tmp_path / "c-heads", "entities", parser)
    assert parser.model.parsed == (0 if with_trees else 2)
    (document,) = folder.read(tmp_path / "c-heads", "dev").documents
    cut = [(s.label, document.text[s.start : s.end]) for s in document["heads"].spans]
    assert cut == [("Person", "mayor"), ("Place", "Rome")]
    assert document.has_layer("dependency") == with_trees  # silver trees are not kept
    assert len(document["entities"].spans) == 2
    told = json.loads((tmp_path / "c-heads/heads.json").read_text("utf-8"))
    origin = "gold" if with_trees else "silver, parsed by abc"
    assert told["trees"] == {"train": origin, "dev": origin}
    assert told["counts"] == counts
    assert counts["dev"]["heads"] == 2


def test_a_corpus_of_one_split_and_many_documents(tmp_path):
    documents = [_document(f"d{number}") for number in range(1_001)]  # 2,002 files of brat
    jsonl.write(tmp_path / "c.jsonl", documents)
    prepare_heads(
        tmp_path / "c.jsonl", tmp_path / "c-heads", "entities", Parser(_MadeParser(), None)
    )
    assert len([*folder.read(tmp_path / "c-heads", folder.ALL).documents]) == 1_001


def test_a_corpus_without_the_layer_and_a_model_without_trees_are_refused(tmp_path):
    _write(tmp_path / "c", with_trees=True)
    parser = Parser(_MadeParser(), None)
    with pytest.raises(DataError, match="no document has layer 'spam'"):
        prepare_heads(tmp_path / "c", tmp_path / "d", "spam", parser)
    assert not (tmp_path / "d").exists()
    parser.model.plan.kept_tasks.clear()
    with pytest.raises(DataError, match="no task of kind dependency"):
        _ = parser.task
