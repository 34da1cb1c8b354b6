"""Universal Dependencies: the official program's cases, and small treebanks counted by hand."""

import json
import random
import sys
import unicodedata
from contextlib import suppress
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import DataError, FormatError
from spanloom.metrics.universal_dependencies import common
from spanloom.scoring.ud_eval import KIND

CASES = [f"case{number:02}" for number in range(1, 13)]
FORMS = st.lists(st.sampled_from("abc"), max_size=7)


@pytest.mark.parametrize("case", CASES)
def test_official_case(case, golden):
    folder = golden("ud-eval") / case
    told = json.loads((folder / "scores.json").read_text())
    options = dict(zip(told["options"][::2], told["options"][1::2], strict=True))
    files = folder / "gold.conllu", folder / "system.conllu"
    if told["exit_code"]:
        with pytest.raises(FormatError, match=r"system\.conllu:\d+: expected"):
            KIND.score(*files, options)
    else:
        found = json.loads(json.dumps(KIND.score(*files, options)))
        assert found == told["scores"]
        assert KIND.table(found).count("\n") == 17
    golden.count(1)


def conllu(*sentences):
    """Sentences, each a text of ``id form lemma upos xpos feats head deprel deps`` lines.

    Cells at the end may be left out; ``·`` stands for a blank inside a form.
    """
    lines = []
    for sentence in sentences:
        for row in sentence.strip().split("\n"):
            cells = [*row.split(), *["_"] * 10][:10]
            lines.append("\t".join(cells).replace("·", " "))
        lines.append("")
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def scored(tmp_path):
    """Score two texts; what comes is ``counts`` by measure: correct, gold, predicted, aligned."""

    def run(gold, predicted, **options):
        for name, text in (("gold", gold), ("system", predicted)):
            (tmp_path / name).write_bytes(text.encode())
        given_options = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
        return KIND.score(tmp_path / "gold", tmp_path / "system", given_options)

    return run


def counts(scores):
    return {name: tuple(each.values()) for name, each in scores["counts"].items()}


GOLD = """
1 She she PRON P Case=Nom|Foo=x 2 nsubj 2:nsubj
2 left leave VERB V Tense=Past 0 root 0:root
3 the the DET D Definite=Def 4 det 4:det
4 house _ NOUN N Number=Sing 2 obj 2:obj|5:nsubj:xsubj
5 empty empty ADJ J _ 2 xcomp 2:xcomp
"""


def test_what_counts_of_a_word(scored):
    system = """
1 She she PRON P Foo=y|Case=Nom 2 nsubj:outer 2:nsubj:outer
2 left Leave VERB X Tense=Past 0 root 0:root
3 the the DET D _ 4 det 4:det
4 house anything NOUN N Number=Sing 2 obj 2:obj|5:nsubj
5 empty empty NOUN J _ 4 amod 4:amod
"""
    found = counts(scored(conllu(GOLD), conllu(system)))
    assert found["Tokens"] == (5, 5, 5, None)
    assert found["Words"] == (5, 5, 5, 5)
    assert found["UPOS"] == (4, 5, 5, 5)  # NOUN for ADJ
    assert found["XPOS"] == (4, 5, 5, 5)
    assert found["UFeats"] == (4, 5, 5, 5)  # Foo is of no account, Definite is
    assert found["AllTags"] == (2, 5, 5, 5)
    assert found["Lemmas"] == (4, 5, 5, 5)  # gold has no lemma for house; case counts
    assert found["UAS"] == found["LAS"] == (4, 5, 5, 5)  # a subtype is of no account
    assert found["CLAS"] == (3, 4, 4, 4)  # all but the
    assert found["MLAS"] == (2, 4, 4, 4)  # below house the is not analysed alike
    assert found["BLEX"] == (2, 4, 4, 4)
    assert found["ELAS"] == (3, 6, 6, None)  # root, det, obj
    assert found["EULAS"] == (5, 6, 6, None)


def test_gold_decides_which_aligned_words_carry_content(scored):
    gold = "1 a a X X _ 0 root\n2 b b X X _ 1 obj\n3 c c X X _ 1 case"
    system = "1 a a X X _ 0 root\n2 b b X X _ 1 case\n3 c c X X _ 1 case"
    found = counts(scored(conllu(gold), conllu(system)))
    assert found["CLAS"] == (1, 2, 1, 2)
    assert found["MLAS"] == (0, 2, 1, 2)  # a has two function words in place of one


def test_words_inside_tokens_are_aligned_by_form(scored):
    gold = """
1-3 dámelo
1 Da x X X _ 0 root
2 me x X X _ 1 iobj
3 lo x X X _ 1 obj
4 ya x X X _ 1 x
"""
    system = """
1-2 dámelo
1 da x X X _ 0 root
2 lo x X X _ 1 obj
3 ya x X X _ 1 x
"""
    found = counts(scored(conllu(gold), conllu(system)))
    assert found["Tokens"] == (2, 2, 2, None)
    assert found["Words"] == (3, 4, 3, 3)  # case counts for nothing
    assert found["LAS"] == (3, 4, 3, 3)


def test_tokens_that_stick_out_of_each_other_make_one_stretch(scored):
    gold = "1-2 ab\n1 A x X X _ 0 root\n2 B x X X _ 1 x\n3 cd cd X X _ 1 x\n4 e x X X _ 1 x"
    system = "1 a x X X _ 0 root\n2-3 bcd\n2 b x X X _ 1 x\n3 CD x X X _ 1 x\n4 e x X X _ 1 x"
    found = counts(scored(conllu(gold), conllu(system)))
    assert found["Tokens"] == (1, 3, 3, None)  # e
    assert found["Words"] == (4, 4, 4, 4)  # cd, a token, meets a word inside bcd by its form
    assert found["UAS"] == (4, 4, 4, 4)


def test_other_tokens_of_the_same_characters(scored):
    gold = conllu("1 New·York x X X _ 0 root\n2 a x X X _ 1 x\n3 bc x X X _ 1 x")
    system = conllu("1 NewYork x X X _ 0 root\n2 ab x X X _ 1 x\n3 c x X X _ 1 x")
    found = counts(scored(gold, system))
    assert found["Tokens"] == (1, 3, 3, None)
    assert found["Words"] == (1, 3, 3, 1)
    assert found["Sentences"] == (1, 1, 1, None)
    parted = conllu("1 NewYork x X X _ 0 root", "1 ab x X X _ 0 root\n2 c x X X _ 1 x")
    assert counts(scored(gold, parted))["Sentences"] == (0, 1, 2, None)


def test_heads_are_compared_across_other_cuts(scored):
    gold = """
1 ab x X X _ 2 x
2 c x X X _ 0 root
3 d x X X _ 2 x
4 e x X X _ 1 x
"""
    system = """
1 a x X X _ 3 x
2 b x X X _ 3 x
3 c x X X _ 0 root
4 d x X X _ 3 x
5 e x X X _ 1 x
"""
    found = counts(scored(conllu(gold), conllu(system)))
    assert found["UAS"] == (2, 4, 5, 3)  # e hangs from ab, which the system has not


def test_ratios_and_lines_follow_from_counts(scored):
    gold = conllu("1 a x X X _ 0 root\n2 b x X X _ 1 x\n3 cd x X X _ 1 x")
    system = conllu("1 a x X X _ 2 x\n2 b x X X _ 0 root\n3 c x X X _ 1 x\n4 d x X X _ 3 x")
    found = scored(gold, system)
    assert found["counts"]["UPOS"] == {"correct": 2, "gold": 3, "predicted": 4, "aligned": 2}
    assert found["printed"]["UPOS"] == {
        **{"precision": 50.0, "recall": 66.67, "f1": 57.14},
        "aligned_accuracy": 100.0,
    }
    assert found["full_precision"]["UPOS"]["f1"] == 2 * 2 / (3 + 4)
    assert found["default_output"][0] == "LAS F1 Score: 0.00"
    assert "UPOS       |     50.00 |     66.67 |     57.14 |    100.00\n" in KIND.table(found)


def test_nothing_at_all(scored):
    found = scored("", "# nothing\n")
    assert {each[:3] for each in counts(found).values()} == {(0, 0, 0)}
    assert found["full_precision"]["LAS"]["aligned_accuracy"] == 0
    assert found["printed"]["Words"]["f1"] == 0


def test_nothing_aligned_is_a_blank_but_for_words(scored):
    system = conllu("1 a x X X _ 2 x\n2 b x X X _ 0 root")
    found = scored(conllu("1 ab x X X _ 0 root"), system)
    assert found["counts"]["Words"]["aligned"] == 0
    assert found["counts"]["UPOS"]["aligned"] is None
    assert found["printed"]["UPOS"]["aligned_accuracy"] == 0


ROOT = "1 a x X X _ 0 root 0:root\n"
RULED = {
    "0": (ROOT + "2 b x X X _ 1 obj 1:c|1:c", (5, 3)),  # each of two against each of two
    "1": ("1 a x X X _ 0 root 2:a>b\n2 b x X X _ 1 obj 1:a>b|1:c|1:c", (2, 3)),  # not at a root
    "2": (ROOT + "2 b x X X _ 1 obj 1:obj|1:conj|1:conj:and", (2, 2)),
    "3": (ROOT + "2 b x X X _ 1 obj 1:obj|1:conj|1:conj:and", (4, 4)),
    "4": (ROOT + "2 b x X X _ 1 xcomp 1:xcomp\n3 c x X X _ 1 obj 1:obj|2:nsubj:x", (3, 3)),
    "5": (
        "1 a x X X _ 0 root 0:root|3:obj\n2 b x X X _ 1 obj 1:obj|3:nsubj\n"
        "3 c x X X _ 1 acl:relcl 1:acl:relcl\n4 d x X X _ 3 obj 1:ref",
        (5, 5),
    ),
}


@pytest.mark.parametrize("digit", RULED)
def test_enhancements_that_gold_has_not(scored, digit):
    rows, expected = RULED[digit]
    found = counts(scored(conllu(rows), conllu(rows), enhancements=digit))
    assert found["ELAS"] == (*expected, expected[1], None)


def test_case_in_relations_is_left_out_on_both_sides(scored):
    gold = ROOT + "2 b x X X _ 1 obl 1:obl:in|1:nmod:of>conj:and|1:conj:pass|1:nmod:a:b"
    system = ROOT + "2 b x X X _ 1 obl 1:obl:on|1:nmod:to>conj:or|1:conj|1:nmod"
    files = conllu(gold), conllu(system)
    assert counts(scored(*files))["ELAS"] == (1, 5, 5, None)
    assert counts(scored(*files))["EULAS"] == (5, 5, 5, None)
    assert counts(scored(*files, enhancements="6"))["ELAS"] == (3, 5, 5, None)


def test_enhanced_measures_can_be_left_out(scored):
    found = scored(conllu(GOLD), conllu(GOLD), no_enhanced="")
    assert len(found["printed"]) == len(found["counts"]) == 13
    assert len(found["default_output"]) == 3


def test_empty_nodes_are_passed_over_or_refused(scored):
    rows = "1-2 ab\n1 a x X X _ 0 root 0:root\n1.1 e\n2 b x X X _ 1 x 1.1:x|1:x\n2.1 e"
    plain = "1-2 ab\n1 a x X X _ 0 root 0:root\n2 b x X X _ 1 x 1:x"
    assert counts(scored(conllu(rows), conllu(plain)))["ELAS"] == (2, 2, 2, None)
    with pytest.raises(FormatError, match="gold:3: expected no empty node, got '1.1'"):
        scored(conllu(rows), conllu(plain), no_empty_nodes="1")
    with pytest.raises(FormatError, match="gold:1: expected no empty node, got '1.1'"):
        scored(conllu("1 a x X X _ 0 root 1.1:x"), conllu(plain), no_empty_nodes="1")


def test_several_roots_are_right_where_asked_for(scored):
    two = conllu("1 a x X X _ 0 root\n2 b x X X _ 0 root")
    with pytest.raises(FormatError, match="gold:3: expected one root in a sentence, got 2"):
        scored(two, two)
    assert counts(scored(two, two, multiple_roots_okay=""))["LAS"] == (2, 2, 2, 2)


def test_line_ends_and_comments_do_not_matter(scored):
    text = "# one\n# two\n" + conllu(GOLD)
    assert scored(text.replace("\n", "\r\n"), conllu(GOLD)) == scored(text, text)
    assert scored(text.replace("\n", "\r"), conllu(GOLD)) == scored(text, text)


@pytest.mark.parametrize("digits", ["7", "x", "", "1,2"])
def test_enhancements_are_digits(scored, digits):
    with pytest.raises(DataError, match="expected digits from 0"):
        scored(conllu(GOLD), conllu(GOLD), enhancements=digits)


REFUSED = {
    "1\ta\n\n": "1: expected 10 columns with tabs between",
    "\n": "1: expected a word, got an empty line",
    "# c\n\n": "2: expected a word",
    conllu(GOLD) + "\n": "7: expected a word",
    conllu(GOLD)[:-1]: "5: expected an empty line after the last sentence",
    conllu("1 a x X X _ 0 root").replace("\n\n", "\n# c\n\n"): "2: expected 10 columns",
    conllu("1 ·\xa0 x X X _ 0 root"): "1: expected a form, got none",
    conllu("1-x ab\n1 a x X X _ 0 root"): "1: expected the numbers of words",
    conllu("1-2-3 ab\n1 a x X X _ 0 root"): "1: expected the numbers of words",
    conllu("1-2 ab\n1 a x X X _ 0 root"): "3: expected 1 more words of a token, got none",
    conllu("2-1 ab"): "2: expected a tree of words",
    conllu("2 a x X X _ 0 root"): "1: expected the word's number 1, got '2'",
    conllu("x a x X X _ 0 root"): "1: expected the word's number 1, got 'x'",
    conllu("1 a x X X _ x root"): "1: expected a head from 0 to 1, got 'x'",
    conllu("1 a x X X _ -1 root"): "1: expected a head from 0 to 1, got '-1'",
    conllu("1 a x X X _ 2 root"): "1: expected a head from 0 to 1, got '2'",
    conllu("1 a x X X _ 1 root"): "2: expected a tree of words, got a circle",
    conllu("1 a x X X _ 0 root\n2 b x X X _ 3 x\n3 c x X X _ 2 x"): "4: expected a tree",
    conllu("1 a x X X _ 0 root root"): "1: expected enhanced relations, head:relation",
    conllu("1 a x X X _ 0 root 2:x"): "1: expected a head from 0 to 1, got '2'",
    conllu("1 a x X X _ 0 root x:y"): "1: expected a head from 0 to 1, got 'x'",
    conllu("1 b x X X _ 0 root"): "1: expected the gold characters 'a', got 'b'",
    conllu("1 a x X X _ 0 root", "1 b x X X _ 0 root"): "3: expected the gold characters ''",
    "": " expected the gold characters 'a', got ''",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_what_the_program_refuses(scored, text):
    with pytest.raises(FormatError, match="system:?" + REFUSED[text].replace("(", r"\(")):
        scored(conllu("1 a x X X _ 0 root"), text)


def test_files_that_are_none(scored, tmp_path):
    scored(conllu(GOLD), conllu(GOLD))
    with pytest.raises(FormatError, match="cannot be read"):
        KIND.score(tmp_path / "gold", tmp_path / "nothing", {})
    (tmp_path / "system").write_bytes(b"1\ta\xff")
    with pytest.raises(FormatError, match="system:1: byte 3"):
        KIND.score(tmp_path / "gold", tmp_path / "system", {})


def test_whatever_bytes_come(tmp_path):
    text = conllu(GOLD, "1-2 ab\n1 a a X X _ 2 x 2:x\n2 b b X X _ 0 root 0:root").encode()
    (tmp_path / "gold").write_bytes(text)
    draw = random.Random(1)
    for _ in range(200):
        data = bytearray(text)
        for _ in range(draw.randint(1, 3)):
            data[draw.randrange(len(data))] = draw.choice(b"\t\n\r 019-.|:#a\xff\x00")
        (tmp_path / "system").write_bytes(bytes(data))
        for digits in ("0", "123456"):
            with suppress(FormatError):
                files = tmp_path / "gold", tmp_path / "system"
                assert KIND.table(KIND.score(*files, {"--enhancements": digits}))


def test_blanks_are_those_of_unicode(scored):
    """Blanks in forms are ignored; other signs without a shape of their own are not."""
    signs = {chr(code): unicodedata.category(chr(code)) for code in range(sys.maxunicode + 1)}
    line = "{} a{}b a X X _ 0 root 0:root"
    for sign in (sign for sign, category in signs.items() if category == "Zs"):
        spaced = conllu(line.format(1, "·")).replace(" ", sign)
        scores = scored(spaced, conllu(line.format(1, "")))
        assert counts(scores)["Words"][0] == 1, ascii(sign)
    for sign in (s for s, category in signs.items() if category in ("Cf", "Zl", "Zp")):
        with pytest.raises(FormatError):
            scored(conllu(line.format(1, sign)), conllu(line.format(1, "")))


@given(FORMS, FORMS)
def test_common_is_a_longest_common_subsequence(ours, theirs):
    @cache
    def longest(i, j):
        if i == len(ours) or j == len(theirs):
            return 0
        both = 1 + longest(i + 1, j + 1) if ours[i] == theirs[j] else 0
        return max(both, longest(i + 1, j), longest(i, j + 1))

    pairs = common(ours, theirs)
    assert len(pairs) == longest(0, 0)
    assert all(ours[i] == theirs[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in zip(pairs, pairs[1:], strict=False))


def words(draw, sizes):
    """Rows of sentences as lists: upos, feats, head, deprel, one edge."""
    labels = st.sampled_from(["nsubj", "nsubj:pass", "det", "case", "obl:in", "x"])
    for size in sizes:
        top = draw(st.integers(1, size))
        for number in range(1, size + 1):
            # heads between a word and the top of its sentence make no circle
            step = 1 if number < top else -1
            head = 0 if number == top else draw(st.sampled_from([top, number + step]))
            feats = draw(st.sampled_from(["_", "Case=A", "Foo=B"]))
            edge = f"{draw(st.integers(0, size))}:{draw(labels)}"
            yield size, number, draw(st.sampled_from("AB")), feats, head, draw(labels), edge


@st.composite
def two_banks(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    return list(words(draw, sizes)), list(words(draw, sizes))


def spelt(rows):
    """The rows as a file."""
    lines = []
    for size, number, upos, feats, head, deprel, edge in rows:
        lines.append(f"{number}\tw\tw\t{upos}\t_\t{feats}\t{head}\t{deprel}\t{edge}\t_")
        lines += [""] * (number == size)
    return "".join(f"{line}\n" for line in lines)


@given(two_banks())
def test_same_tokens_are_compared_row_by_row(tmp_path_factory, banks):
    folder = tmp_path_factory.mktemp("banks")
    gold, system = banks
    (folder / "gold").write_text(spelt(gold))
    (folder / "system").write_text(spelt(system))
    found = counts(KIND.score(folder / "gold", folder / "system", {}))
    rows = list(zip(gold, system, strict=True))
    las = [g[4] == s[4] and g[5].split(":")[0] == s[5].split(":")[0] for g, s in rows]
    assert found["UPOS"][0] == sum(g[2] == s[2] for g, s in rows)
    assert found["UFeats"][0] == sum((g[3] == "Case=A") == (s[3] == "Case=A") for g, s in rows)
    assert found["UAS"][0] == sum(g[4] == s[4] for g, s in rows)
    assert found["LAS"][0] == sum(las)
    core = ("nsubj", "nsubj:pass", "obl:in")
    assert found["CLAS"][0] == sum(r and g[5] in core for r, (g, _) in zip(las, rows, strict=True))
    assert found["ELAS"][0] == sum(g[6] == s[6] for g, s in rows)
    same = counts(KIND.score(folder / "gold", folder / "gold", {}))
    assert all(each[0] == each[1] == each[2] for each in same.values())
