"""Text on disk: the cache against documents tokenized one by one, and how it is built."""

import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import tiny
from tiny_tokenizers import letters
from tokenizers import Tokenizer

from spanloom.config.tokenization import TokenizationSpec
from spanloom.corpora import bounded_lines, raw_text
from spanloom.data import text_cache
from spanloom.data.instances import tokenize
from spanloom.data.text_cache import TextSource, hold_out, read_text
from spanloom.data.text_corpus import TextCorpus
from spanloom.document import Document, Layer, Span
from spanloom.errors import DataError, FormatError, ModelError
from spanloom.formats import jsonl
from spanloom.tokenization import word_tokenizer

SPEC, SPLIT = TokenizationSpec(), word_tokenizer("char-class", "newline")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPANLOOM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "text"


def made_text(num_documents, seed=0, words=60):
    rng = Random(seed)
    line = lambda: " ".join(rng.choice(tiny.WORDS) for _ in range(rng.randint(1, words)))  # noqa: E731
    return ["\n".join(line() for _ in range(rng.randint(1, 5))) for _ in range(num_documents)]


def folder_of(home, texts):
    """Half of the documents in a plain file, half in a compressed one further down."""
    half = len(texts) // 2
    (home / "b").mkdir(parents=True)
    (home / "a.txt").write_text("\n\n\n".join(texts[:half]) + "\n\n")
    with gzip.open(home / "b" / "more.txt.gz", "wt") as stream:
        stream.write("\n\n" + "\n \n".join(texts[half:]))
    (home / "SOURCES.tsv").write_text("not read")
    return home


def assert_equal(a, b):
    for name in ("pieces", "flags", "documents", "spans"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def test_documents_end_at_blank_lines_and_are_numbered(tmp_path):
    texts = made_text(7)
    home = folder_of(tmp_path / "text", texts)
    assert raw_text.is_raw_text(home)
    documents = list(raw_text.stream([home]))
    assert [document.text for document in documents] == texts
    names = [document.name for document in documents]
    assert names == ["a:1", "a:2", "a:3", "more:1", "more:2", "more:3", "more:4"]


def test_what_is_hidden_is_no_text(tmp_path):
    home, texts = tmp_path / "text", made_text(4)
    hidden = folder_of(home / "b" / ".git", texts)
    assert not raw_text.is_raw_text(home)
    assert raw_text.text_files(home) == ()
    assert len(raw_text.text_files(hidden)) == 2  # as that is asked for
    (hidden / "index.jsonl").write_text("{}")
    (home / "b" / ".notes.txt").write_text("not read")
    (home / "a.txt").write_text(texts[0])
    assert raw_text.is_raw_text(home)
    assert [document.text for document in raw_text.stream([home])] == texts[:1]


def test_listed_documents_are_left_out(tmp_path):
    home = folder_of(tmp_path / "text", made_text(8))
    kept = [document.name for document in raw_text.stream([home], ["a:2", "more:1-3"])]
    assert kept == ["a:1", "a:3", "a:4", "more:4"]
    assert {d.name[0] for d in raw_text.stream([home], ["a"])} == {"m"}
    for wrong in ("c", "a:x", ""):
        with pytest.raises(DataError, match=r"FILE:3-9 of the files there \(a, more\)"):
            list(raw_text.stream([home], [wrong]))
    with pytest.raises(DataError, match="exclude: a:5-9: expected numbers of documents"):
        list(raw_text.stream([home], ["a:5-9"]))
    with pytest.raises(DataError, match="the smaller first, got 'a:3-2'"):
        list(raw_text.stream([home], ["a:3-2"]))
    assert [d.name for d in raw_text.stream([home], ["a:2-99", "more", "more:99"])] == ["a:1"]


def test_a_compressed_line_has_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_lines, "MAX_LINE", 9)
    (tmp_path / "a.txt").write_text("a line of any length\n")
    assert len(list(raw_text.stream([tmp_path]))) == 1
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"\n12345678\n123456789\n"))
    with pytest.raises(FormatError, match=r"a\.txt\.gz:3: expected a line of at most 9 char"):
        list(raw_text.stream([tmp_path]))


def test_a_very_long_line_is_read_in_parts_that_end_with_a_word(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_text, "_MAX_LINE", 9)
    monkeypatch.setattr(raw_text, "_MAX_CHARACTERS", 20)
    words = [f"word{row}" for row in range(9)]
    (tmp_path / "a.txt").write_text(" ".join(words) + " " + "x" * 12)
    documents = list(raw_text.stream([tmp_path]))
    assert len(documents) > 2
    assert {document.name for document in documents} == {"a:1"}
    text = " ".join(document.text for document in documents).split()
    assert text == [*words, "x" * 9, "xxx"]


def test_a_folder_whose_name_has_the_word_of_a_split_is_text_like_all_others(tmp_path):
    for name in ("training manuals", "novels"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("Ada\n")
    assert raw_text.is_raw_text(tmp_path)
    novels = tmp_path / "novels"
    (novels / "notes.jsonl").write_text("")
    with pytest.raises(DataError, match=r"documents alone, got a\.txt and notes\.jsonl"):
        raw_text.check_alone(novels)
    for name in ("train", "dev"):
        (tmp_path / "split" / name).mkdir(parents=True)
        (tmp_path / "split" / name / "a.txt").write_text("Ada\n")
    assert not raw_text.is_raw_text(tmp_path / "split")


def test_documents_in_several_parts_have_one_number(tmp_path, monkeypatch):
    """A long one is divided, wherever its last part ends: the next one has the next number."""
    monkeypatch.setattr(raw_text, "_MAX_CHARACTERS", 9)
    (tmp_path / "a.txt").write_text("one long line\n\nshort\n\nb\nanother long line\nc\n\n\nd\n")
    documents = [(d.name, d.text) for d in raw_text.stream([tmp_path])]
    assert documents == [
        ("a:1", "one long line"),
        ("a:2", "short"),
        ("a:3", "b\nanother long line"),
        ("a:3", "c"),
        ("a:4", "d"),
    ]


def test_what_a_file_is_by_its_ending_is_part_of_its_fingerprint(tmp_path):
    line = jsonl.dumps([Document("Ada slept .", name="a")])
    for name in ("a.txt", "a.jsonl"):
        (tmp_path / name).write_text(line)
    both = (raw_text.fingerprint([tmp_path / name]) for name in ("a.txt", "a.jsonl"))
    assert len(set(both)) == 2


def test_annotated_corpora_are_no_raw_text(tmp_path):
    assert not raw_text.is_raw_text(tiny.corpus(tmp_path / "brat"))
    (tmp_path / "brat.txt.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match="cannot be read"):
        list(raw_text.stream([tmp_path / "brat.txt.gz"]))


@pytest.mark.parametrize("num_processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_cache_holds_what_documents_are_one_by_one(tmp_path, monkeypatch, num_processes):
    monkeypatch.setattr(text_cache, "_CHUNK", 500)
    texts, pieces = made_text(20), letters()
    source = TextSource((folder_of(tmp_path / "text", texts),))
    cached, key = read_text(source, SPEC, pieces, num_processes=num_processes)
    tokenized = [tokenize(Document(text), SPLIT, pieces) for text in texts]
    assert_equal(cached, TextCorpus.of_tokenized(tokenized, [()] * len(texts)))
    assert isinstance(cached.pieces.base, np.memmap)
    assert not list((tmp_path / "cache" / "text").glob("*.parts"))
    assert read_text(source, SPEC, pieces)[1] == key


def test_a_build_goes_on_where_it_was_killed(tmp_path, monkeypatch, cache):
    monkeypatch.setattr(text_cache, "_CHUNK", 500)
    pieces = letters()
    source = TextSource((folder_of(tmp_path / "text", made_text(30)),))
    whole, key = read_text(source, SPEC, pieces, num_processes=1)
    whole = TextCorpus(*(np.array(getattr(whole, name)) for name in text_cache._ARRAYS))
    (cache / key).rename(cache / "before")
    encode, calls = text_cache._Encoder.encode, []

    def fails_once(self, documents):
        calls.append(len(documents))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(self, documents)

    monkeypatch.setattr(text_cache._Encoder, "encode", fails_once)
    with pytest.raises(KeyboardInterrupt):
        read_text(source, SPEC, pieces, num_processes=1)
    assert not (cache / key).exists()
    done = {p: p.stat().st_mtime_ns for p in (cache / f"{key}.parts").iterdir()}
    assert len(done) == 2
    num_chunks = len(list(text_cache._chunks(source.documents())))
    again, _ = read_text(source, SPEC, pieces, num_processes=1)
    assert_equal(again, whole)
    assert len(calls) == num_chunks + 1  # the chunk that failed was tried twice, others once


def test_pieces_are_stored_whole_where_ids_have_gaps(tmp_path, cache):
    """A vocabulary has few pieces here, with ids beyond what two bytes hold."""
    pieces = letters()
    plain = json.loads(pieces.tokenizer.to_str())
    vocabulary = plain["model"]["vocab"]
    shifted = {piece: index + 70_000 * (piece == "a") for piece, index in vocabulary.items()}
    plain["model"]["vocab"] = shifted
    wide = replace(pieces, tokenizer=Tokenizer.from_str(json.dumps(plain)))
    source = TextSource((folder_of(tmp_path / "text", ["a b a", "b a"]),))
    read = [read_text(source, SPEC, each, num_processes=1)[0].pieces for each in (pieces, wide)]
    assert read[0].max() < 70_000 < read[1].max()
    assert (read[1] % 70_000 == read[0]).all()


def test_the_name_follows_from_text_splitter_tokenizer_and_what_is_left_out(tmp_path):
    home, pieces = folder_of(tmp_path / "text", made_text(4)), letters()
    other = tmp_path / "other"
    folder_of(other, made_text(4, seed=1))
    keys = {
        read_text(TextSource((home,)), SPEC, pieces, num_processes=1)[1],
        read_text(TextSource((other,)), SPEC, pieces, num_processes=1)[1],
        read_text(TextSource((home,), ("a:1",)), SPEC, pieces, num_processes=1)[1],
        read_text(
            TextSource((home,)), TokenizationSpec(tokenizer="whitespace"), pieces, num_processes=1
        )[1],
    }
    assert len(keys) == 4


def test_a_changed_cache_is_refused(tmp_path, cache):
    source = TextSource((folder_of(tmp_path / "text", made_text(4)),))
    _, key = read_text(source, SPEC, letters(), num_processes=1)
    path = cache / key / "pieces.npy"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(ModelError, match="SHA-256"):
        read_text(source, SPEC, letters())


def test_dev_documents_are_not_learnt_from(tmp_path):
    texts = [f"{i} {text}" for i, text in enumerate(made_text(40))]
    source = TextSource((folder_of(tmp_path / "text", texts),))
    corpus, _ = read_text(source, SPEC, letters(), num_processes=1)
    train, dev = hold_out(source, corpus, seed=1)
    learnt = {tuple(corpus.pieces[a:b].tolist()) for a, b in train.documents.tolist()}
    tokenized = [tokenize(document, SPLIT, letters()) for document in dev]
    held = {tuple(piece for word in document.pieces for piece in word) for document in tokenized}
    assert len(held) + len(learnt) == 40
    assert not held & learnt
    assert hold_out(source, corpus, seed=1)[1] == dev
    assert len(hold_out(source, corpus, seed=1, at_least=8)[1]) == 8
    assert len(hold_out(source, corpus, seed=1, at_least=99)[1]) == 10
    single = TextSource((folder_of(tmp_path / "one", made_text(2)) / "a.txt",))
    alone, _ = read_text(single, SPEC, letters(), num_processes=1)
    with pytest.raises(DataError, match="blank line ends a document"):
        hold_out(single, alone, seed=1)


@pytest.mark.parametrize("gap", ["\n", " ", ""])
def test_long_documents_do_not_take_all_text_from_training(tmp_path, monkeypatch, gap):
    monkeypatch.setattr(text_cache, "_DEV_CHARACTERS", 100)
    texts = [gap.join("abcd" for _ in range(100)) for _ in range(60)]
    source = TextSource((folder_of(tmp_path / "text", texts),))
    corpus, _ = read_text(source, SPEC, letters(), num_processes=1)
    train, dev = hold_out(source, corpus, seed=1)
    assert 1 <= len(dev) == 60 - len(train) <= 2
    assert all(90 < len(document.text) <= 100 for document in dev)


def test_annotated_lines_bring_the_spans_of_a_layer(tmp_path):
    layer = Layer("ner", (Span("T1", "Person", ((0, 5),)), Span("T2", "Place", ((6, 9),))))
    documents = [Document("add 5 mix", (layer,)), Document("no names")]
    jsonl.write(tmp_path / "named.jsonl", documents)
    path = (tmp_path / "named.jsonl",)
    both, _ = read_text(TextSource(path, (), "ner"), SPEC, letters(), num_processes=1)
    one, _ = read_text(TextSource(path, (), "ner", ("Place",)), SPEC, letters(), num_processes=1)
    add, five, mix = (len(word) for word in letters()(["add", "5", "mix"]))
    name, place = [0, add + five], [add + five, add + five + mix]
    assert both.spans.tolist() == [name, place]
    assert one.spans.tolist() == [place]


_SCRIPT = """
import sys
from pathlib import Path
import tiny_tokenizers
from spanloom.config.tokenization import TokenizationSpec
from spanloom.data.text_cache import TextSource, read_text

source = TextSource((Path(sys.argv[1]),))
corpus, _ = read_text(source, TokenizationSpec(), tiny_tokenizers.letters(), num_processes=2)
print(len(corpus))
"""


def run_script(script, text):
    paths = os.pathsep.join(p for p in sys.path if p)
    return subprocess.run(
        [sys.executable, script, str(text)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout


@pytest.mark.slow
def test_a_script_needs_no_guard_against_its_own_workers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    assert run_script(script, folder_of(tmp_path / "text", made_text(6))) == "6\n"


_MEASURE = """
import resource, sys
from pathlib import Path
from random import Random
import tiny_tokenizers
from spanloom.config.tokenization import TokenizationSpec
from spanloom.data.blocks import BlockReader
from spanloom.data.text_cache import TextSource, read_text

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

pieces = tiny_tokenizers.letters()
before = peak()
source = TextSource((Path(sys.argv[1]),))
corpus, _ = read_text(source, TokenizationSpec(), pieces, num_processes=1)
built = peak() - before
blocks = BlockReader().draw(corpus, 512, Random(1))
words = sum(len(batch[0].tokens) for batch in blocks.batches(4096, Random(1))[:200])
print(built, peak() - before, corpus.num_pieces, corpus.pieces.nbytes / 2**20, words)
"""


@pytest.mark.slow
def test_memory_stays_bounded(tmp_path):
    """60 MB of text, which took gigabytes as documents, are tokenized in less than 150 MB."""
    text = "\n\n".join(made_text(400, words=600))
    with gzip.open(tmp_path / "large.txt.gz", "wt", compresslevel=1) as stream:
        for _ in range(60 * 10**6 // len(text)):
            stream.write(text + "\n\n")
    script = tmp_path / "measure.py"
    script.write_text(_MEASURE)
    output = run_script(script, tmp_path / "large.txt.gz")
    built, drawn, num_pieces, stored, _ = map(float, output.split())
    assert num_pieces > 10**7
    # the arrays of the cache are mapped: pages of files that the system takes back
    assert built < 150 + 2 * stored
    assert drawn < 200 + 4 * stored


def test_a_title_is_not_all_that_is_measured_of_a_long_document(tmp_path, monkeypatch):
    monkeypatch.setattr(text_cache, "_DEV_CHARACTERS", 100)
    texts = ["Title\n" + " ".join("abcd" for _ in range(100)) for _ in range(60)]
    source = TextSource((folder_of(tmp_path / "text", texts),))
    corpus, _ = read_text(source, SPEC, letters(), num_processes=1)
    _, dev = hold_out(source, corpus, seed=1)
    assert all(90 < len(document.text) <= 100 for document in dev)
