import math

import pytest
import yaml as pyyaml
from hypothesis import given
from hypothesis import strategies as st

from spanloom.config import yaml
from spanloom.errors import RecipeError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["1", "010", "1e5", "3e-4", "no", "Yes", "~", "", "null", ".inf", "a: b", "# x", "- x", "a\nb"]
    + [
        "<<",
        "=",
        "2020-01-01",
        "1:30",
        "0x1f",
        "1_000",
        "{a",
        "[b",
        "&c",
        "*d",
        "!e",
        "é\u2028\x85",
    ]
)
SCALAR = st.none() | st.booleans() | st.integers(-(10**17), 10**17) | TEXT
NUMBER = st.floats(allow_nan=False)
DATA = st.recursive(
    SCALAR | NUMBER,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


def same(left, right):
    """Equality that tells 1 from 1.0 and True, and the order of keys."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        pairs = zip(left.items(), right.items(), strict=True)
        return len(left) == len(right) and all(same(a, b) for a, b in pairs)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


@given(DATA, st.sampled_from([20, 100, 2**20]))
def test_what_is_dumped_loads_back_the_same(data, width):
    assert same(yaml.loads(yaml.dump(data, width=width), "x").data, data)


@given(st.lists(SCALAR | NUMBER, max_size=4))
def test_other_readers_of_yaml_see_no_other_text(data):
    """A text that YAML 1.1 would read as a number or a bool is quoted."""
    texts = [each for each in data if isinstance(each, str)]
    assert pyyaml.safe_load(yaml.dump(texts)) == texts


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3e-4", 3e-4),
        ("2E3", 2000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.inf", -math.inf),
        ("no", "no"),
        ("on", "on"),
        ("010", "010"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("+7", 7),
        ("9" * 30, "9" * 30),
        ("~", None),
        ("", None),
        ("true", True),
        ("'1'", "1"),
        ("!!int '1'", 1),
        ("!!str 1", "1"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text, value):
    assert same(yaml.loads(f"a: {text}\n", "x").data, {"a": value})


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("a: 1\nb: 2\na: 3", 3, "key 'a' stands twice"),
        ("a:\n  b: 1\n  b: 1", 3, "key 'b' stands twice"),
        ("a: 1\nb: !!python/object/apply:os.system [x]", 2, "tag .*python.* refused"),
        ("a: !!python/name:os.system", 1, "tag .* refused"),
        ("a: !mine {b: 1}", 1, "tag '!mine' refused"),
        ("a: !!binary aGk=", 1, "tag .* refused"),
        ("a: !!set {x}", 1, "tag .* refused"),
        ("a: !!int soon", 1, "tag .* refused"),
        ("a: !!int ''", 1, "tag .* refused"),
        ("a: &x 1\nb: *x", 2, "aliases are not supported"),
        ("a: &x {b: 1}\nc:\n  <<: *x", 3, "aliases are not supported"),
        ("a: [1,\nb: 2", 2, "not valid YAML"),
        ("a: 'b", 1, "not valid YAML"),
        ("a: 1\n\tb: 2", 2, "not valid YAML"),
        ("a: 1\n2: 3", 2, "expected a text key, got '2'"),
        ("a: 1\n~: 3", 2, "expected a text key, got '~'"),
        ("? [a]\n: 1", 1, "expected a text key, got a list"),
        ("a: 1\n---\nb: 2", 2, "single document"),
        ("a: \x01", None, "not valid YAML: .*not allowed"),
        ("a: 1\nb: " + "[" * 60, 2, "deeper than 50 levels"),
        ("[" * 100_000, 1, "deeper than 50 levels"),
        ("\n".join(" " * i + "a:" for i in range(60)), 50, "deeper than 50 levels"),
        ("a: " + "b" * 1_000_000, None, "larger than 1000000 bytes"),
    ],
)
def test_what_breaks_the_rules_is_told_with_its_line(text, line, told):
    with pytest.raises(RecipeError, match=told) as error:
        yaml.loads(text, "r.yaml")
    assert error.value.path == "r.yaml"
    assert error.value.line == line
    assert "\n" not in str(error.value)


def test_every_key_and_item_has_its_line():
    loaded = yaml.loads("# first\na: 1\nb:\n- c: 2\n  d:\n    3\n- [4,\n   5]\n", "r.yaml")
    lines = {keys: line for keys, (_, line) in loaded.location.lines.items()}
    assert lines[("a",)] == 2
    assert lines[("b",)] == 3
    assert lines[("b", 0, "d")] == 5
    assert lines[("b", 1, 1)] == 8
    assert loaded.location.location_of("b", 0, "nothing", "there").file_line() == ("r.yaml", 4)
    assert str(loaded.location.location_of("b", 0, "d").error("bad")) == "r.yaml:5: b.0.d: bad"


def test_files_that_cannot_be_read_are_told(tmp_path):
    with pytest.raises(RecipeError, match="none.yaml: cannot be read: No such file"):
        yaml.load(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes("a: é".encode("latin-1"))
    with pytest.raises(RecipeError, match="expected UTF-8"):
        yaml.load(tmp_path / "latin.yaml")
    (tmp_path / "large.yaml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(RecipeError, match="larger than"):
        yaml.load(tmp_path / "large.yaml")
    (tmp_path / "bom.yaml").write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert yaml.load(tmp_path / "bom.yaml").data == {"a": 1, "b": 2}
