"""Tokenizers that would hang, abort or fill the memory: refused in a line, in a process apart."""

import base64
import json
import subprocess
import sys

import pytest
from tiny_tokenizers import bytes_bpe, wordpiece

from spanloom.data import tokenizer_file
from spanloom.data.subwords import subword_tokenizer
from spanloom.errors import ModelError

DOUBLE = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}


def charsmap(trie, replaced=b"a\0", size=None):
    raw = (len(trie) if size is None else size).to_bytes(4, "little") + trie + replaced
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(raw).decode()}


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def sequence(depth):
    made = {"type": "Lowercase"}
    for _ in range(depth):
        made = {"type": "Sequence", "normalizers": [made]}
    return made


def template(count):
    slot = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
    special = {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}
    pair = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}]
    return {
        "type": "TemplateProcessing", "single": [slot] * count, "pair": pair,
        "special_tokens": {"[CLS]": special},
    }  # fmt: skip


HOSTILE = {
    "doubled again and again": {
        "normalizer": {"type": "Sequence", "normalizers": [DOUBLE] * 24}
    },
    "sequences in sequences": {"normalizer": sequence(50)},
    "a sequence of thousands": {"normalizer": {"type": "Sequence", "normalizers": [DOUBLE] * 9000}},
    "50 MB put before": {"normalizer": {"type": "Prepend", "prepend": "a" * 50_000_000}},
    "1 MB in place of a letter": {"normalizer": DOUBLE | {"content": "b" * 1_000_000}},
    "replaces nothing": {"normalizer": DOUBLE | {"pattern": {"String": ""}}},
    "a pattern of exponential time": {"pre_tokenizer": split(r"(a+)+$")},
    "another": {"normalizer": DOUBLE | {"pattern": {"Regex": r"(x|xx)*y"}}},
    "a huge template": {"post_processor": template(10_000)},
    "a table of 4 GB": {"normalizer": charsmap(b"\0" * 8, size=2**32 - 4)},
    "a table cut short": {"normalizer": charsmap(b"\0" * 8, size=64)},
    "a table of 1 MB for a letter": {"normalizer": charsmap(b"\0" * 8, b"a" * 1_000_000)},
    "a table that is none": {
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": "????"}
    },
    "a part nobody knows": {"pre_tokenizer": {"type": "Evil"}},
    "a part in another's place": {"pre_tokenizer": {"type": "Lowercase"}},
    "a key nobody knows": {"normalizer": {"type": "Lowercase", "script": "x"}},
    "padding without end": {"padding": {"strategy": {"Fixed": 10**12}}},
    "another key": {"plugin": "evil"},
}  # fmt: skip


def file(changes):
    return json.dumps(json.loads(wordpiece().to_str()) | changes).encode()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_parts_are_refused(name):
    with pytest.raises(ModelError, match=r"tokenizer\.json: ") as caught:
        tokenizer_file.read(file(HOSTILE[name]), "tokenizer.json")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


MODELS = {
    "dropout": lambda model: model | {"dropout": 0.5},
    "a number out of all proportion": lambda model: model | {"vocab": {"a": 2**40}},
    "no pieces": lambda model: model | {"vocab": {}},
    "a piece of 1 MB": lambda model: model | {"vocab": model["vocab"] | {"x" * 10**6: 5}},
    "merges of pieces that are not there": lambda model: model | {"merges": [["no", "such"]]},
    "merges of three": lambda model: model | {"merges": [["a", "t", "c"]]},
    "another kind": lambda model: model | {"type": "Evil"},
}


@pytest.mark.parametrize("name", MODELS)
def test_hostile_vocabularies_are_refused(name):
    said = json.loads(bytes_bpe().to_str())
    said["model"] = MODELS[name](said["model"])
    with pytest.raises(ModelError, match=r"tokenizer\.json: model"):
        tokenizer_file.read(json.dumps(said).encode(), "tokenizer.json")


def test_a_key_that_stands_twice_is_refused():
    raw = wordpiece().to_str().replace('"normalizer":', '"normalizer":null,"normalizer":', 1)
    with pytest.raises(ModelError, match="twice"):
        tokenizer_file.read(raw.encode(), "tokenizer.json")


def test_the_name_of_a_known_tokenizer_cuts_as_before():
    for made in (wordpiece(), bytes_bpe()):
        read = tokenizer_file.read(made.to_str().encode(), "tokenizer.json")
        assert read.encode("the cats sat, 50ml").ids == made.encode("the cats sat, 50ml").ids


def test_a_panic_is_an_error_of_ours():
    """A table whose trie points outside of itself: no check sees it, the library panics."""
    trie = b"".join((0xFFFF_FC00 | row % 3).to_bytes(4, "little") for row in range(4))
    made = tokenizer_file.read(file({"normalizer": charsmap(trie)}), "tokenizer.json")
    with pytest.raises(ModelError, match="the tokenizer failed"):
        subword_tokenizer(made, padding=0, unknown=1, mask=1)(["abc", "élan"])


def test_an_error_of_the_library_is_one_of_ours():
    made = wordpiece()
    said = json.loads(made.to_str())
    said["model"]["unk_token"] = "nowhere"
    cut = subword_tokenizer(
        tokenizer_file.read(json.dumps(said).encode(), "t"), padding=0, unknown=1, mask=1
    )
    with pytest.raises(ModelError, match="the tokenizer failed"):
        cut(["中文"])


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
from spanloom.data import tokenizer_file
from spanloom.data.subwords import subword_tokenizer
from spanloom.errors import ModelError
try:
    made = tokenizer_file.read(open(sys.argv[1], "rb").read(), "tokenizer.json")
    subword_tokenizer(made, padding=0, unknown=1, mask=1)(["a" * 60, "word"])
except ModelError as error:
    print("refused", len(str(error)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_process_outlives_a_hostile_file(name, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(file(HOSTILE[name]))
    run = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("refused")
