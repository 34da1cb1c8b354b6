"""Raw files become brat collections: whole or not at all, by the card's rules, counted."""

import gzip
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace

import pytest

from spanloom.annotation.comparable import comparable
from spanloom.corpora import card as cards
from spanloom.corpora import raw_files, sources
from spanloom.corpora.prepare import prepare, read_prompts
from spanloom.document import Document, Layer, Span
from spanloom.errors import DataError, FormatError, SpanloomError, StorageError
from spanloom.formats import jsonl
from spanloom.formats.brat import read as brat

ROWS = "".join(f"word{n}\t{'B-x' if n % 2 else 'O'}\n\n" for n in range(20))
TOP = """\
title: t
homepage: https://example.org
license: MIT
may_share_data: true
may_share_weights: true
citation: c
tasks: [entities]
metric: spans
"""
COLUMNS = """\
sources:
  a: {files: [a.conll], format: columns, options: {preset: btc}}
"""
PLAIN = f"""\
{TOP}{COLUMNS}splits:
  train: {{source: a, skip: 5}}
  test: {{source: a, limit: 5}}
counts:
  test: {{sentences: 5}}
  all: {{sentences: 20, entities: 10}}
"""


@pytest.fixture
def room(tmp_path, monkeypatch):
    """A raw folder, an output folder, and cards by name that tests write."""
    card_texts = {"tiny": PLAIN}
    monkeypatch.setattr(cards, "text", card_texts.__getitem__)
    (tmp_path / "raw").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "raw" / "a.conll").write_text(ROWS)
    return Room(tmp_path / "raw", tmp_path / "out", card_texts)


class Room:
    def __init__(self, raw, out, card_texts):
        self.raw, self.out, self.card_texts = raw, out, card_texts

    def rules(self, splits, top=COLUMNS, rest=""):
        """Make the card of these splits."""
        lines = "".join(f"  {name}: {rule}\n" for name, rule in splits.items())
        self.card_texts["tiny"] = f"{TOP}{top}splits:\n{lines}{rest}"

    def names(self, split):
        return [document.name for document in self.read(split)]

    def read(self, split, name="tiny"):
        return list(sources.documents(cards.load(name), split, self.raw, cards.load))

    def prepare(self):
        return prepare("tiny", self.raw, self.out)

    def files(self):
        paths = (path for path in self.out.rglob("*") if path.is_file())
        return {item.relative_to(self.out): item.read_bytes() for item in paths}


def cut_at_lines(document):
    """Return a document with spans over line breaks cut there, as brat has it."""
    layers = tuple(_cut(document, layer) for layer in document.layers)
    return replace(document, layers=layers)


def _cut(document, layer):
    spans = tuple(
        replace(span, fragments=tuple(line for f in span.fragments for line in _lines(document, f)))
        for span in layer.spans
    )
    return replace(layer, spans=spans)


def _lines(document, fragment):
    start, end = fragment
    bounds, offset = [], start
    for line in document.text[start:end].split("\n"):
        if line or start == end:
            bounds.append((offset, offset + len(line)))
        offset += len(line) + 1
    return bounds


def again(out, name, split):
    """Yield the documents of a prepared split, as brat has them."""
    for path in sorted((out / name / split).rglob("*.txt")):
        called = path.relative_to(out / name / split).as_posix().removesuffix(".txt")
        yield replace(brat.load(path, name=called).document, source=None)


def same(out, name, split, written):
    """Whether what is read again equals what was written."""
    expected = {document.name: comparable(cut_at_lines(document)) for document in written}
    actual = {document.name: comparable(document) for document in again(out, name, split)}
    return actual == expected


def test_a_dataset_is_made_counted_and_reads_as_it_was_written(room):
    prepared = room.prepare()
    assert prepared.fresh
    assert prepared.differing(cards.load("tiny")) == []
    assert prepared.counts["test"] == {"documents": 5, "sentences": 5, "words": 5, "entities": 2}
    assert {path.name for path in (room.out / "tiny").iterdir()} == {
        *("train", "test", "prepared.json")
    }
    assert (room.out / "tiny" / "train" / "annotation.conf").is_file()
    for split in ("train", "test"):
        assert same(room.out, "tiny", split, room.read(split))


def test_counts_that_differ_are_told_in_words(room):
    room.card_texts["tiny"] = PLAIN.replace("sentences: 20", "sentences: 1234")
    messages = room.prepare().differing(cards.load("tiny"))
    assert messages == ["all: 20 sentences, the card says 1,234"]


def test_a_second_run_does_nothing(room):
    first = room.prepare()
    folder = room.out / "tiny" / "train"
    before = folder.stat().st_mtime_ns, folder.stat().st_ino
    second = room.prepare()
    assert (folder.stat().st_mtime_ns, folder.stat().st_ino) == before
    assert not second.fresh
    assert second.counts == first.counts


@pytest.mark.parametrize("what", ["raw", "card"])
def test_what_has_changed_is_made_anew(room, what):
    room.prepare()
    if what == "raw":
        (room.raw / "a.conll").write_text(ROWS + "more\tO\n\n")
    else:
        room.card_texts["tiny"] = PLAIN.replace("5", "6")
    prepared = room.prepare()
    assert prepared.fresh
    assert prepared.total["all"]["documents"] == 20 + (what == "raw")
    assert len(list(again(room.out, "tiny", "test"))) == prepared.counts["test"]["documents"]


@pytest.mark.parametrize("there", ["raw/file", "prepared.json"])
def test_a_folder_of_another_origin_is_not_replaced(room, there):
    path = room.out / "tiny" / there
    path.parent.mkdir(parents=True)
    path.write_text("{")
    with pytest.raises(StorageError, match="tiny: not replaced: expected nothing, an empty folder"):
        room.prepare()
    assert room.files() == {path.relative_to(room.out): b"{"}


def test_an_empty_folder_is_filled(room):
    (room.out / "tiny").mkdir()
    assert room.prepare().fresh


def test_a_run_that_is_killed_while_it_replaces_leaves_no_part_under_the_name(room, monkeypatch):
    room.prepare()
    room.card_texts["tiny"] = PLAIN.replace("5", "6")
    partial = []

    def is_partial(path, **how):
        partial.append(path == room.out / "tiny")

    with monkeypatch.context() as patched:
        patched.setattr("spanloom.corpora.prepare.shutil.rmtree", is_partial)
        room.prepare()
    assert partial
    assert not any(partial)
    room.card_texts["tiny"] = PLAIN
    assert room.prepare().fresh
    assert sorted(path.name for path in room.out.iterdir()) == ["tiny"]


def test_two_runs_at_once_make_a_dataset_once(room, monkeypatch):
    runs = ThreadPoolExecutor()
    second = []

    def read(*arguments, documents=sources.documents):
        if not second:
            second.append(runs.submit(room.prepare))
            wait(second, timeout=0.5)
        yield from documents(*arguments)

    monkeypatch.setattr(sources, "documents", read)
    with runs:
        first = room.prepare()
    assert (first.fresh, second[0].result().fresh) == (True, False)
    assert sorted(path.name for path in room.out.iterdir()) == ["tiny"]


def test_a_list_of_names_that_changed_is_seen(room):
    room.rules({"all": "{source: a, listed_in: {file: list.md, heading: dev}}"})
    listed = room.raw / "list.md"
    listed.write_text("# dev\n * s00001\n# test\n * s00002\n")
    assert room.prepare().counts["all"]["documents"] == 1
    listed.write_text("## dev\n- s00001\n- s00003\n")
    assert room.prepare().counts["all"]["documents"] == 2


def test_a_run_that_was_killed_leaves_nothing_that_hinders(room, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(*arguments, read=sources.documents):
        for document in read(*arguments):
            if document.name == "s00012":
                raise Killed
            yield document

    with monkeypatch.context() as patched:
        patched.setattr(sources, "documents", killed)
        with pytest.raises(Killed):
            room.prepare()
    assert room.files() == {}
    staging = room.out / ".tiny.staging" / "train"  # as a run leaves it that was killed at once
    staging.mkdir(parents=True)
    (staging / "s00099.txt").write_text("left over")
    assert room.prepare().fresh
    assert not staging.exists()
    assert "s00099.txt" not in {path.name for path in room.files()}


def test_a_dataset_stays_whole_where_another_fails(room):
    room.prepare()
    before = room.files()
    (room.raw / "a.conll").write_text(ROWS + "more\tO\tthree\n\n")
    with pytest.raises(FormatError, match=r"a\.conll:41"):
        room.prepare()
    wrong = PLAIN.replace("format: columns", f"sha256: {'0' * 64}, format: columns")
    room.card_texts["tiny"] = wrong
    (room.raw / "a.conll").write_text(ROWS)
    with pytest.raises(DataError, match=f"source 'a': expected files with the sum {'0' * 64}"):
        room.prepare()
    assert room.files() == before


def test_the_right_sum_is_accepted(room):
    digest = raw_files.digest([room.raw / "a.conll"], room.raw)
    room.card_texts["tiny"] = PLAIN.replace("format: columns", f"sha256: {digest}, format: columns")
    assert room.prepare().fresh


def test_files_that_are_not_there_say_how_to_get_them(room):
    (room.raw / "a.conll").unlink()
    with pytest.raises(DataError, match=r"a\.conll: no such file; see https://example\.org"):
        room.prepare()
    room.card_texts["tiny"] = PLAIN.replace(
        "title: t", "title: t\ndownload_instructions: Ask the LDC."
    )
    with pytest.raises(DataError, match=r"no such file; Ask the LDC\."):
        room.prepare()


@pytest.mark.parametrize("name", ["../../out/x", "/tmp/x", "a/../../x"])
def test_a_document_that_leaves_the_folder_is_refused(room, name):
    room.rules({"all": "{source: a}"}, "sources:\n  a: {files: [a.jsonl], format: jsonl}\n")
    (room.raw / "a.jsonl").write_text(json.dumps({"name": name, "text": "a"}) + "\n")
    with pytest.raises(SpanloomError):
        room.prepare()
    assert room.files() == {}


def test_two_documents_of_one_name_are_refused(room):
    room.rules({"all": "{source: a}"}, "sources:\n  a: {files: [a.jsonl], format: jsonl}\n")
    (room.raw / "a.jsonl").write_text('{"name": "a", "text": "a"}\n{"name": "a", "text": "b"}\n')
    with pytest.raises(DataError, match="two documents have the name 'a'"):
        room.prepare()


def test_a_split_without_documents_is_refused(room):
    room.rules({"train": "{source: a}", "dev": "{source: a, skip: 20}"})
    with pytest.raises(DataError, match="split dev has no documents"):
        room.prepare()


def test_shares_and_folds_part_the_documents(room):
    all_names = [f"s{n:05}" for n in range(1, 21)]
    for rules in (
        {"train": "fraction: {low: 0.3, high: 1}", "dev": "fraction: {low: 0, high: 0.3}"},
        {"train": "folds: [1, 2, 3, 4, 5, 6, 7, 8, 9]", "dev": "folds: [0]"},
        {"train": "skip: 6", "dev": "limit: 6"},
        {"train": "exclude: [s00001, s00007]", "dev": "include: [s00001, s00007]"},
    ):
        room.rules({name: f"{{source: a, {rule}}}" for name, rule in rules.items()})
        train, dev = room.names("train"), room.names("dev")
        assert sorted(train + dev) == all_names
        assert train == sorted(train)
        assert len(dev) in (2, 6)
    room.rules({"dev": "{source: a, fraction: {low: 0, high: 0.3, seed: 2}}"})
    dev_names = room.names("dev")
    room.rules({"dev": "{source: a, fraction: {low: 0, high: 0.3}}"})
    assert dev_names != room.names("dev")


def test_a_share_by_groups_keeps_them_together(room):
    top = "sources:\n  a: {files: [a.jsonl], format: jsonl}\n"
    lines = [
        json.dumps({"name": f"{n:02}", "text": "a", "meta": [["title", f"t{n % 5}"]]})
        for n in range(20)
    ]
    (room.raw / "a.jsonl").write_text("\n".join(lines) + "\n")
    share = "{{source: a, fraction: {{low: {}, high: {}, group_by: title}}}}"
    room.rules({"train": share.format(0.4, 1), "test": share.format(0, 0.4)}, top)
    groups = [
        {dict(document.meta)["title"] for document in room.read(s)} for s in ("train", "test")
    ]
    assert [len(group) for group in groups] == [3, 2]
    assert not groups[0] & groups[1]
    room.rules({"all": "{source: a, meta: {title: t1}}"}, top)
    assert room.names("all") == ["01", "06", "11", "16"]


def test_runs_of_sentences_cut_documents_that_lie_across(room):
    (room.raw / "a.conll").write_text("-DOCSTART-\tO\n\na\tB-x\n\nb\tO\n\nc\tO\n\n" * 3)
    room.rules(
        {
            "train": "{source: a, sentences: {limit: 4}}",
            "dev": "{source: a, sentences: {skip: 4, limit: 1}}",
            "test": "{source: a, sentences: {skip: 5}}",
        }
    )
    texts = {
        split: [document.text for document in room.read(split)]
        for split in ("train", "dev", "test")
    }
    assert texts == {"train": ["a\nb\nc", "a"], "dev": ["b"], "test": ["c", "a\nb\nc"]}


def test_what_is_dropped_and_documents_that_hold_nothing_then(room):
    rest = "layers: [entities]\ndrop:\n- {layer: entities, labels: [x]}\n"
    (room.raw / "a.conll").write_text("a\tB-x\n\nb\tB-y\n\nc\tO\n\n")
    room.rules({"all": "{source: a, requires_layer: entities}"}, rest=rest)
    (only,) = room.read("all")
    assert only.text == "b"
    assert [layer.name for layer in only.layers] == ["words", "sentences", "entities"]


MENTIONS = """\
# global.Entity = GRP-etype-infstat-salience-centering-minspan-link-identity
1\tAda\tAda\tPROPN\tNNP\t_\t2\tnsubj\t_\tEntity=(1-person-new-n-cf1-1-coref-Ada)
2\tsaid\tsay\tVERB\tVBD\t_\t0\troot\t_\t_
3\tI\tI\tPRON\tPRP\t_\t4\tnsubj\t_\tEntity=(1-person-giv-n-cf1-1-coref-Ada)
4\tran\trun\tVERB\tVBD\t_\t2\tccomp\t_\t_

"""


def test_names_are_the_named_mentions_whose_head_is_a_proper_noun(room):
    (room.raw / "a.conllu").write_text(MENTIONS)
    top = "sources:\n  a: {files: [a.conllu], format: conllu}\n"
    derived = "derived:\n  names: {layer: named, head_upos: [PROPN]}\n"
    room.rules({"all": "{source: a}"}, top, f"{derived}layers: [names]\n")
    (document,) = room.read("all")
    assert [layer.name for layer in document.layers] == ["words", "sentences", "names"]
    assert [document.text_of(span) for span in document["names"].spans] == ["Ada"]
    assert [link.key for link in document["names"].normalizations] == ["Ada"]
    room.prepare()
    assert same(room.out, "tiny", "all", [document])


def test_a_split_like_that_of_another_dataset(room):
    room.rules({"dev": "{source: a, limit: 3}"})
    room.card_texts["other"] = room.card_texts["tiny"]
    room.rules({"dev": "{source: a, same_names_as: other, exclude: [s00002]}"})
    assert room.names("dev") == ["s00001", "s00003"]


def test_sentences_of_another_source(room):
    top = """\
sources:
  a: {files: [a/*], format: columns, options: {preset: btc}, sentences: b}
  b: {files: [b/*], format: columns, options: {preset: btc}}
"""
    room.rules({"all": "{source: a}"}, top)
    start = "-DOCSTART-\tO\n\n"
    for name in ("one", "two"):
        for folder, text in (("a", "a\tB-x\nb\tI-x\nc\tO\n"), ("b", "A\tO\nB\tO\n\nC\tO\n")):
            (room.raw / folder).mkdir(exist_ok=True)
            (room.raw / folder / f"{name}.conll").write_text(start + text)
    first, second = room.read("all")
    assert [first.text_of(span) for span in first["sentences"].spans] == ["a b", "c"]
    assert first["entities"].spans == second["entities"].spans
    room.prepare()
    assert same(room.out, "tiny", "all", [first, second])
    (room.raw / "b" / "one.conll").write_text(start + "A\tO\n")
    with pytest.raises(DataError, match="one: sentences of s00001: expected the same words"):
        room.read("all")
    (room.raw / "b" / "one.conll").unlink()
    with pytest.raises(DataError, match="source 'b' has no file 'one'"):
        room.read("all")


def test_plain_texts_may_be_gzipped(room):
    top = "sources:\n  a: {files: [n/*], format: text}\n"
    (room.raw / "n").mkdir()
    (room.raw / "n" / "ada.txt.gz").write_bytes(gzip.compress("Über\r\nAda".encode()))
    (room.raw / "n" / "bob.v1.txt").write_text("Bob")
    room.rules({"all": "{source: a}"}, top)
    assert [(document.name, document.text) for document in room.read("all")] == [
        *(("ada", "Über\nAda"), ("bob.v1", "Bob"))
    ]
    room.prepare()
    assert same(room.out, "tiny", "all", room.read("all"))
    for damaged in (b"no gzip", gzip.compress(b"cut off")[:-9], gzip.compress(b"\xff")):
        (room.raw / "n" / "ada.txt.gz").write_bytes(damaged)
        with pytest.raises(DataError, match=r"ada\.txt\.gz: expected a text in UTF-8"):
            room.prepare()


def test_spans_over_lines_are_cut_there_as_brat_wants(room):
    span = Span("T1", "x", ((0, 5),))
    document = Document("a b\nc d", (Layer("entities", (span,)),), "one")
    (room.raw / "a.jsonl").write_text(jsonl.dumps([document]))
    room.rules({"all": "{source: a}"}, "sources:\n  a: {files: [a.jsonl], format: jsonl}\n")
    room.prepare()
    (prepared,) = again(room.out, "tiny", "all")
    assert prepared["entities"].spans[0].fragments == ((0, 3), (4, 5))
    assert same(room.out, "tiny", "all", [document])


AT_HAND = [name for name in cards.names() if not cards.load(name).download_instructions]

MAKE_ALL = """
import json, resource, sys, time
from pathlib import Path
from spanloom.corpora import card as cards, raw_files
from spanloom.corpora.prepare import prepare, read_prompts
raw, out, *names = sys.argv[1:]
wrong = {}
for name in names:
    made = prepare(name, Path(raw), Path(out))
    if found := made.differing(cards.load(name)):
        wrong[name] = found
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([wrong, time.process_time(), used.ru_maxrss / 2**20]))
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Where all datasets at hand are made."""
    return tmp_path_factory.mktemp("prepared")


@pytest.mark.slow
def test_everything_at_hand_prepares_with_the_counts_of_its_card(data, prepared):
    """Processor time is measured, as others may use the machine too."""
    raw = data(".")
    done = subprocess.run(
        [sys.executable, "-c", MAKE_ALL, str(raw), str(prepared), *AT_HAND],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    wrong, seconds, gigabytes = json.loads(done.stdout)
    assert wrong == {}
    assert seconds < 600
    assert gigabytes < 2


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_HAND)
def test_what_was_prepared_reads_as_it_was_written(data, prepared, name):
    raw = data(".")
    prepare(name, raw, prepared)
    card = cards.load(name)
    for split in card.splits:
        compared = 0
        for document in sources.documents(card, split, raw, cards.load):
            path = prepared / name / split / f"{document.name}.txt"
            actual = replace(brat.load(path, name=document.name).document, source=None)
            assert comparable(actual) == comparable(cut_at_lines(document)), document.name
            compared += 1
        assert compared == len(list((prepared / name / split).rglob("*.txt")))


def test_how_labels_are_read_is_kept_with_the_corpus(room):
    rest = 'prompts:\n  entities: {verbalizer: {x: a thing}, prompt: "a thing or none?"}\n'
    room.rules({"train": "{source: a}"}, rest=rest)
    room.prepare()
    found = read_prompts(room.out / "tiny")
    assert found == cards.load("tiny").prompts
    assert found["entities"].verbalizer == {"x": "a thing"}
    room.rules({"train": "{source: a}"})
    room.prepare()
    assert read_prompts(room.out / "tiny") == {}
    assert read_prompts(room.raw) == {}
    (room.out / "tiny" / "prepared.json").write_text(
        '{"prompts": {"a": {"verbalizer": {"x": " "}}}}'
    )
    with pytest.raises(SpanloomError, match="prepared.json"):
        read_prompts(room.out / "tiny")


def test_a_split_may_have_several_sources_and_leave_out_the_names_of_others(room):
    for name in "bc":
        (room.raw / f"{name}.conll").write_text(ROWS)
    sources_ = "".join(
        f"  {name}: {{files: [{name}.conll], format: columns, options: {{preset: btc}}}}\n"
        for name in "abc"
    )
    room.rules({"train": "{source: a, limit: 3}"}, f"sources:\n{sources_}")
    room.card_texts["other"] = room.card_texts["tiny"]
    room.rules({"train": "{source: b, names_not_in: other}"}, f"sources:\n{sources_}")
    names = room.names("train")
    assert names == [document.name for document in room.read("train", "tiny")]
    assert len(names) == 17
    assert set(names).isdisjoint(document.name for document in room.read("train", "other"))
    room.rules({"train": "{source: [a, b]}"}, f"sources:\n{sources_}")
    with pytest.raises(DataError, match="two documents have the name"):  # both files number theirs
        room.names("train")
