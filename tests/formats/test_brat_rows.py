"""The 54 edge cases of brat standoff, one test a row, in the order of the list they come from.

"kept" means: the line makes no annotation, is reported with its file and line, and is written back.
"""

import os
import time
from dataclasses import replace

import pytest

from spanloom.annotation.comparable import comparable
from spanloom.document import (
    MAIN,
    Document,
    Equivalence,
    Layer,
    Normalization,
    Relation,
    Span,
)
from spanloom.errors import FormatError, StorageError
from spanloom.formats.brat import conf, folder, read, write
from spanloom.formats.brat.save import save

TEXT = "Barack Obama was born in Hawaii and met Angela Merkel in Berlin.\nHe did not.\n"


def one(ann, text=TEXT):
    """Read; whatever was read must be written back unchanged."""
    reading = read.loads(text, ann, name="doc")
    assert write.dumps(reading.document) == ann
    return reading


def main(ann, text=TEXT):
    """The main layer of annotation without a problem."""
    reading = one(ann, text)
    assert [str(each) for each in reading.problems] == []
    return reading.document[MAIN]


def fragments(ann, text=TEXT):
    return [span.fragments for span in main(ann, text).spans]


def kept(ann, text=TEXT):
    """The lines that made nothing, each of them reported."""
    reading = one(ann, text)
    lines = [
        i for i, line in enumerate(reading.document.source.lines, start=1) if not line.annotation
    ]
    assert sorted(each.line for each in reading.problems if each.kept) == lines
    return lines


def warned(ann, text=TEXT):
    """The lines that were read with a warning."""
    reading = one(ann, text)
    assert not any(each.kept for each in reading.problems)
    return [each.line for each in reading.problems]


TWO = "T1\tP 0 12\tBarack Obama\nT2\tP 40 53\tAngela Merkel\n"
EVENT = "T1\tP 0 12\tBarack Obama\nT2\tMeet 36 39\tmet\nE1\tMeet:T2 Who:T1\n"


def test_row_01_discontinuous_surface_joined_with_one_space():
    assert fragments("T1\tP 0 6;17 21\tBarack born\n") == [((0, 6), (17, 21))]


def test_row_02_old_style_surface_joined_without_space():
    assert fragments("T1\tP 0 6;17 21\tBarackborn\n") == [((0, 6), (17, 21))]


def test_row_03_span_over_newline_is_split_by_the_writer():
    assert fragments("T1\tP 57 64;65 67\tBerlin. He\n") == [((57, 64), (65, 67))]
    document = Document(TEXT, (Layer(MAIN, (Span("T1", "P", ((57, 67),)),)),))
    assert write.dumps(document) == "T1\tP 57 64;65 67\tBerlin. He\n"
    windows = Document("a\r\nb", (Layer(MAIN, (Span("T1", "P", ((0, 4),)),)),))
    assert write.dumps(windows) == "T1\tP 0 1;3 4\ta b\n"


def test_row_04_span_over_newline_not_split():
    assert fragments("T1\tP 0 5\tab cd\n", "ab\ncd") == [((0, 5),)]


def test_row_05_span_over_tab():
    assert fragments("T1\tP 0 5\tab\tcd\nT2\tP 0 2\tab\tmore\n", "ab\tcd") == [((0, 5),), ((0, 2),)]


def test_row_06_touching_fragments():
    assert fragments("T1\tP 0 3;3 6\tBar ack\n") == [((0, 3), (3, 6))]


def test_row_07_fragments_out_of_order_keep_their_order():
    assert fragments("T1\tP 17 21;0 6\tborn Barack\n") == [((17, 21), (0, 6))]


def test_row_08_overlapping_fragments_are_kept():
    assert kept("T1\tP 0 12;7 16\tBarack Obama Obama was\n") == [1]


def test_row_09_zero_width():
    assert fragments("T1\tP 1 1\t\n") == [((1, 1),)]
    assert kept("T1\tP 1 1\n") == [1]


def test_row_10_missing_fields_are_kept():
    assert kept("T32\tOrganization\nT33 Organization\nT34\nT35\tP 0\tB\nR1\tX\nE1\nA1\tX\n") == [
        *range(1, 8)
    ]


def test_row_11_impossible_offsets_are_kept():
    huge = "9" * 5000
    wrong = ["12 0", "-1 5", "70 999", f"0 {huge}", f"{huge} {huge}", "999999999999999999 0"]
    ann = "".join(f"T{i}\tP {each}\tx\n" for i, each in enumerate(wrong, start=1))
    assert kept(ann) == [1, 2, 3, 4, 5, 6]


def test_row_12_only_ascii_digits_count():
    assert kept("T1\tP +0 6\tBarack\nT2\tP 0 1_0\tB\nT3\tP ٠ ٦\tBarack\nT4\tP 0 6.0\tB\n") == [
        1,
        2,
        3,
        4,
    ]


def test_row_13_missing_surface_is_read_and_not_filled_in():
    assert fragments("T1\tP 0 6\nT2\tP 0 6\t\n") == [((0, 6),), ((0, 6),)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("don't go", "T1\tP 0 5\tdo n't"),
        ("caf\u00e9", "T1\tP 0 4\tcafe\u0301"),
        ("a\xa0b", "T1\tP 0 3\ta b"),
    ],
    ids=["tokenised", "NFD", "NBSP"],
)
def test_row_14_surface_that_differs_is_read_by_offsets_with_a_warning(text, line):
    assert warned(line + "\n", text) == [1]
    assert one(line + "\n", text).document[MAIN].spans[0].start == 0


@pytest.mark.parametrize(
    ("offsets", "hint"),
    [("0 5", "inclusive"), ("1 7", "from 1"), ("1 6", "from 1, with an inclusive end")],
)
def test_row_15_off_by_one_is_kept_with_a_hint(offsets, hint):
    ann = f"T1\tP {offsets}\tBarack\nT2\tP 7 12\tObama\n"
    assert kept(ann) == [1]
    assert hint in one(ann).problems[0].message


def test_row_16_more_text_after_the_surface():
    assert fragments("T1\tP 0 6\tBarack Obama\nT2\tP 0 6\tBarack\tx\n") == [((0, 6),), ((0, 6),)]


def test_row_17_crlf_counted_as_one_or_as_two():
    text = "ab\r\ncd ef\r\ngh"
    assert fragments("T1\tP 4 6\tcd\nT2\tP 11 13\tgh\n", text) == [((4, 6),), ((11, 13),)]
    reading = one("T1\tP 3 5\tcd\nT2\tP 9 11\tgh\n", text)
    assert reading.document.source.offsets == "crlf-as-one"
    assert [text[s.start : s.end] for s in reading.document[MAIN].spans] == ["cd", "gh"]
    grown = _added(reading.document, Span("T3", "P", ((7, 9),)))
    assert write.dumps(grown).endswith("T3\tP 6 8\tef\n")


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_row_18_crlf_or_cr_only_in_the_ann(end):
    ann = TWO.replace("\n", end) + f"R1\tKnows Arg1:T1 Arg2:T2{end}"
    layer = main(ann)
    assert [each.id for each in layer.annotations()] == ["T1", "T2", "R1"]
    assert layer.relations[0].tail == "T2"
    grown = _added(one(ann).document, Span("T3", "P", ((57, 63),)))
    assert write.dumps(grown) == f"{ann}T3\tP 57 63\tBerlin{end}"


@pytest.mark.parametrize(
    ("unit", "offsets"), [("points", "2 4"), ("utf16", "4 6"), ("bytes", "8 10")]
)
def test_row_19_offsets_in_code_points_utf16_or_bytes(unit, offsets):
    text = "😀😀ab 😀cd"
    reading = one(f"T1\tP {offsets}\tab\n", text)
    assert reading.document.source.offsets == unit
    assert reading.document[MAIN].spans[0].fragments == ((2, 4),)
    again = _added(reading.document, Span("T2", "P", ((6, 8),)))
    twice = read.loads(text, write.dumps(again), name="doc")
    assert twice.document == again


def test_row_20_byte_order_marks(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfab cd")
    (tmp_path / "a.ann").write_bytes(b"\xef\xbb\xbfT1\tP 1 3\tab\n")
    reading = read.load(tmp_path / "a.txt")
    assert reading.document.text == "ab cd"
    assert reading.document.source.offsets == "bom"
    assert reading.document[MAIN].spans[0].fragments == ((0, 2),)
    assert save(reading.document, tmp_path) == ()
    save(_added(reading.document, Span("T2", "P", ((3, 5),))), tmp_path)
    assert (tmp_path / "a.ann").read_bytes() == b"\xef\xbb\xbfT1\tP 1 3\tab\nT2\tP 4 6\tcd\n"
    (tmp_path / "a.ann").write_bytes(b"T1\tP 0 2\tab\n")
    assert read.load(tmp_path / "a.txt").document.source.offsets == "points"


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_row_21_only_a_line_feed_ends_a_line(char):
    text = f"ab{char}cd"
    layer = main(f"T1\tP 0 5\t{text}\n#1\tNote T1\tone{char}two\n", text)
    assert layer.notes[0].text == f"one{char}two"


def test_row_22_undecodable_bytes_name_the_byte(tmp_path):
    (tmp_path / "a.txt").write_bytes("ok\nK\u00f6ln".encode("latin-1"))
    with pytest.raises(FormatError, match=r"a\.txt:2: byte 4 \(0xf6\) is not utf-8") as caught:
        read.load(tmp_path / "a.txt")
    assert caught.value.line == 2
    assert read.load(tmp_path / "a.txt", encoding="latin-1").document.text == "ok\nK\u00f6ln"
    (tmp_path / "b.txt").write_bytes("Köln".encode("utf-16"))
    (tmp_path / "b.ann").write_bytes("T1\tP 0 4\tKöln\n".encode("utf-16"))
    with pytest.raises(FormatError, match="byte 0"):
        read.load(tmp_path / "b.txt")
    reading = read.load(tmp_path / "b.txt", encoding="utf-16")
    assert reading.document[MAIN].spans[0].end == 4
    assert save(reading.document, tmp_path, encoding="utf-16") == ()
    with pytest.raises(FormatError, match="unknown encoding"):
        read.load(tmp_path / "b.txt", encoding="no-such")


def test_row_23_spaces_in_place_of_tabs_are_kept():
    assert kept("T1 P 0 6 Barack\nT2\tP 0 6 Barack\n") == [1, 2]


def test_row_24_blank_lines_and_no_final_newline():
    ann = "\nT1\tP 0 6\tBarack\n\n  \nT2\tP 7 12\tObama"
    assert len(main(ann).spans) == 2
    grown = _added(one(ann).document, Span("T3", "P", ((57, 63),)))
    assert write.dumps(grown) == ann + "\nT3\tP 57 63\tBerlin\n"


def test_row_25_duplicate_ids_keep_the_second_line():
    assert kept(TWO + "T1\tP 57 63\tBerlin\nR1\tX A:T1 B:T2\nR1\tX A:T2 B:T1\n") == [3, 5]
    assert kept("T1\tbroken\nT1\tP 0 6\tBarack\n") == [1, 2]  # an unreadable line holds its id


def test_row_26_unusual_ids():
    layer = main(
        "T1-foo\tP 0 6\tBarack\nTT1\tP 7 12\tObama\nT900\tP 57 63\tBerlin\nR7x\tIn A:T1-foo B:TT1\n"
    )
    assert [each.id for each in layer.annotations()] == ["T1-foo", "TT1", "T900", "R7x"]


def test_row_27_unknown_letters_or_no_number_are_kept():
    assert kept(
        "X1\tP 0 6\tBarack\nt1\tP 0 6\tBarack\nT\tP 0 6\tBarack\n1\tP 0 6\tBarack\n#\tN T1\tx\n"
    ) == [*range(1, 6)]


def test_row_28_forward_references():
    layer = main(
        "R1\tIn A:T1 B:E1\nA1\tNeg E1\nE1\tMeet:T2 Who:T1\n"
        + EVENT.replace("E1\tMeet:T2 Who:T1\n", "")
    )
    assert (layer.relations[0].tail, layer.attributes[0].target) == ("E1", "E1")


def test_row_29_dangling_references_are_kept_and_what_hangs_on_them():
    ann = TWO + "R1\tIn A:T1 B:T99\nA1\tNeg E9\nN1\tRef T8 W:1\tx\n*\tAlias T1 T55\nA2\tSure R1\n"
    assert kept(ann) == [3, 4, 5, 6, 7]


def test_row_30_relation_with_named_roles():
    relation = main(TWO + "R1\tCoref Anaphora:T2 Antecedent:T1\n").relations[0]
    assert relation == Relation("R1", "Coref", "T2", "T1", ("Anaphora", "Antecedent"))


def test_row_31_relation_with_equal_roles_or_three_arguments_is_kept():
    assert kept(TWO + "R1\tX Arg1:T1 Arg1:T2\nR2\tX A:T1 B:T2 C:T1\nR3\tX A:T1\n") == [3, 4, 5]


def test_row_32_trailing_tab_after_a_relation():
    assert main(TWO + "R1\tX A:T1 B:T2\t\nR2\tX A:T1 B:T2 \n").relations[0].tail == "T2"


def test_row_33_relation_to_a_trigger_or_an_event():
    layer = main(EVENT + "R1\tX A:T2 B:E1\n")
    assert (layer.relations[0].head, layer.relations[0].tail) == ("T2", "E1")


def test_row_34_event_without_arguments():
    ann = "T1\tMeet 36 39\tmet\nT2\tBorn 17 21\tborn\nE1\tMeet:T1\nE2\tBorn:T2 \n"
    assert [each.arguments for each in main(ann).events] == [(), ()]


def test_row_35_numbered_roles_keep_their_label():
    event = main(EVENT.replace("Who:T1", "Theme:T1 Theme2:T1 H2O2:T1")).events[0]
    assert [each.role for each in event.arguments] == ["Theme", "Theme2", "H2O2"]


def test_row_36_event_with_a_wrong_trigger_is_kept():
    wrong = ["E1\tMeet Who:T1", "E2\tMeet:T9", "E3\tMeet:E4", "E4\tBorn:T2", "E5\tMeet: Who:T1"]
    assert kept(EVENT.replace("E1\tMeet:T2 Who:T1\n", "\n".join(wrong) + "\n")) == [3, 4, 5, 6, 7]


def test_row_37_cyclic_events():
    ann = "T1\tA 0 6\tBarack\nT2\tB 7 12\tObama\nE1\tA:T1 X:E2\nE2\tB:T2 X:E1 Y:E2\n"
    assert len(main(ann).events) == 2
    assert comparable(one(ann).document) == comparable(one(ann).document)


def test_row_38_attributes_without_and_with_value():
    ann = TWO + "A1\tNeg T1\nA2\tSure T1 High\nA3\tRemark T1 two words\nM1\tSpec T2\n"
    found = [(each.id, each.target, each.value) for each in main(ann).attributes]
    assert found == [
        ("A1", "T1", None),
        ("A2", "T1", "High"),
        ("A3", "T1", "two words"),
        ("M1", "T2", None),
    ]


def test_row_39_attributes_on_relations_and_events():
    layer = main(EVENT + "R1\tX A:T1 B:T2\nA1\tNeg R1\nA2\tNeg E1\n")
    assert [each.target for each in layer.attributes] == ["R1", "E1"]


@pytest.mark.parametrize(
    "link",
    ["T1 GO:GO:0005", "Annotation:T1 Referent:GO:GO:0005", "Referent:GO:GO:0005 Annotation:T1"],
)
def test_row_40_normalization_with_a_colon_or_in_the_order_of_2013(link):
    found = main(TWO + f"N1\tReference {link}\tname\n").normalizations[0]
    assert found == Normalization("N1", "Reference", "T1", "GO", "GO:0005", "name")


def test_row_41_a_second_tab_in_a_normalization():
    layer = main(
        TWO + "N1\tReference T1 W:1\t\tname\nN2\tReference T1 W:1\t\t\t\nN3\tReference T1 W:1\n"
    )
    assert [each.text for each in layer.normalizations] == ["name", "", ""]


def test_row_42_notes():
    ann = (
        TWO
        + "#1\tNote T1\ta\tb\n#2\tNote T1\t\n#3\tNote T1\n"
        + "#4\tNote T99\tnobody\n#5\tSTATUS doc\tdone\n"
    )
    found = [(each.target, each.text) for each in main(ann).notes]
    assert found == [("T1", "a\tb"), ("T1", ""), ("T1", ""), ("T99", "nobody"), ("doc", "done")]


def test_row_43_equivalences_that_share_a_member_are_one():
    ann = "".join(f"T{i}\tP 0 6\tBarack\n" for i in range(1, 8))
    lines = "*\tEquiv T1 T2\n*\tEquiv T5 T6\n*\tEquiv T2 T3 T4\n*\tAlias T4 T7\n"
    found = main(ann + lines).equivalences
    assert found == (
        Equivalence("*1", "Equiv", ("T1", "T2", "T3", "T4")),
        Equivalence("*2", "Equiv", ("T5", "T6")),
        Equivalence("*3", "Alias", ("T4", "T7")),
    )
    document = one(ann + lines).document
    fewer = replace(document[MAIN], equivalences=found[1:])
    assert write.dumps(document.with_layer(fewer)) == ann + "*\tEquiv T5 T6\n*\tAlias T4 T7\n"
    grown = (replace(found[0], members=("T1", "T7")), *found[1:])
    written = write.dumps(document.with_layer(replace(document[MAIN], equivalences=grown)))
    assert written == ann + "*\tEquiv T1 T7\n*\tEquiv T5 T6\n*\tAlias T4 T7\n"


def test_row_44_split_files(tmp_path):
    files = {"a1": TWO, "a2": "T3\tMet 36 39\tmet\nE1\tMet:T3 Who:T1\n", "rel": "R1\tX A:T1 B:E1\n"}
    files["co"] = "*\tEquiv T1 T2\n"
    (tmp_path / "d.txt").write_text(TEXT)
    for suffix, ann in files.items():
        (tmp_path / f"d.{suffix}").write_text(ann)
    document = read.load(tmp_path / "d.txt").document
    assert write.parts(document) == {f".{suffix}": ann for suffix, ann in files.items()}
    assert len(list(document[MAIN].annotations())) == 6
    assert read.loads(TEXT, write.dumps(document), name="d").document == document
    grown = _added(document, Span("T4", "P", ((57, 63),)))
    unfinished = {".a1": TWO.rstrip(), ".rel": "R1\tX A:T1 B:T2"}
    joined = write.dumps(read.loads_parts(TEXT, unfinished).document)
    assert joined == TWO + "R1\tX A:T1 B:T2"
    assert write.parts(grown)[".a2"] == files["a2"] + "T4\tP 57 63\tBerlin\n"
    (tmp_path / "d.ann").write_text(TWO)
    reading = read.load(tmp_path / "d.txt")
    assert len(reading.problems) == 4
    assert str(reading.problems[0]) == "d.a1: not read, for there is an .ann"


def test_row_45_files_that_are_missing_empty_or_elsewhere(tmp_path):
    (tmp_path / "bare.txt").write_text(TEXT)
    (tmp_path / "empty.txt").write_text(TEXT)
    (tmp_path / "empty.ann").write_text("")
    (tmp_path / "lonely.ann").write_text(TWO)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "bare.ann").write_text(TWO)
    found = folder.collect(tmp_path)
    assert [name for name, _ in found.documents] == ["bare", "empty"]
    assert [str(each) for each in found.problems] == [
        "lonely.ann: has no .txt beside it",
        "other/bare.ann: has no .txt beside it",
    ]
    bare, empty = (each.document for each in folder.read_all(tmp_path))
    assert (bare.has_layer(MAIN), empty.has_layer(MAIN)) == (False, True)
    assert (write.parts(bare), write.parts(empty)) == ({}, {".ann": ""})
    with pytest.raises(FormatError, match=r"lonely\.txt: cannot be read"):
        read.load(tmp_path / "lonely.txt")


def test_row_46_nested_collections_and_links_that_leave(tmp_path):
    root = tmp_path / "root"
    for name in ("PMID.1", "a/PMID.1.2", "a/b/c", ".hidden", ".git/x"):
        path = root / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    (tmp_path / "secret.txt").write_text("secret")
    (root / "leak.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "secret.ann").write_text("T1\tP 0 4\ttext\n")
    (root / "PMID.1.ann").symlink_to(tmp_path / "secret.ann")
    (root / "a" / "b" / "c.ann").write_text("T1\tP 0 4\ttext\n")
    (root / "a" / "PMID.1.2.ann").symlink_to(root / "a" / "b" / "c.ann")
    (root / "out").symlink_to(tmp_path)
    (root / "a" / "circle").symlink_to(root)
    (root / "same.txt").symlink_to(root / "PMID.1.txt")
    found = folder.collect(root)
    assert [name for name, _ in found.documents] == ["PMID.1", "a/PMID.1.2", "a/b/c", "same"]
    assert sorted(each.path for each in found.problems) == ["PMID.1.ann", "leak.txt", "out"]
    is_annotated = [each.document.has_layer(MAIN) for each in folder.read_all(root)]
    assert is_annotated == [False, True, True, False]
    alone = read.load(root / "PMID.1.txt")
    assert [str(each) for each in alone.problems] == [
        "PMID.1.ann: a link that leaves the folder; not read"
    ]
    document = replace(next(folder.read_all(root)).document, name="../escaped")
    for name in ("../escaped", "/etc/x", "a/../../x", "..", "out/x", "a\\b", "nul\0"):
        with pytest.raises(StorageError, match="leads out of the folder"):
            save(replace(document, name=name), root)
    with pytest.raises(StorageError, match="expected a document with a name, got one without"):
        save(replace(document, name=""), root)
    assert not (tmp_path / "x.txt").exists()


CONF = """[entities]
Person <NORM>:Wiki
[relations]
<PG>=Person|<ENTITY>
Alias Arg1:<PG>, Arg2:<ANY>, <REL-TYPE>:symmetric-transitive
<OVERLAP> Arg1:Person, Arg2:<ENTITY>, <OVL-TYPE>:nest-equal
[events]
!Life  Place?:<ENTITY>
 Die  Agent*:<EVENT>, <INHERIT>
[attributes]
Negation Arg:<EVENT>
"""


def test_row_47_configuration_inherited_with_macros(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / conf.NAME).write_text(CONF)
    found = conf.find(tmp_path / "a" / "b", tmp_path)
    assert found == (tmp_path / conf.NAME).resolve()
    assert conf.find(tmp_path / "a" / "b", tmp_path / "a") is None
    config = conf.load(found)
    assert config.entities[0].marks == (("<NORM>", "Wiki"),)
    assert config.relations[0].marks == (("<REL-TYPE>", "symmetric-transitive"),)
    assert config.relations[0].roles[0].types == ("Person", "<ENTITY>")
    assert config.expand(config.relations[0].roles[1].types) == ("Person", "Die", "Alias")
    assert config.labels("relations") == ("Alias",)
    assert [role.name for role in config.events[1].roles] == ["Agent", "Place"]
    assert conf.loads(conf.dumps(config)) == config
    with pytest.raises(FormatError, match=r"annotation.conf:2: unknown macro <PG>"):
        conf.loads("[events]\nX A:<PG>\n")  # macros end with their section
    with pytest.raises(FormatError, match=r"conf:2: <ENTITY> cannot be defined"):
        conf.loads("[events]\n<ENTITY>=X\n")


def test_row_47_macros_that_double_are_stopped():
    lines = ["[events]", "<a>=X"]
    names = [chr(97 + i // 26) + chr(97 + i % 26) for i in range(60)]
    for before, name in zip(["a", *names], names, strict=False):
        lines.append(f"<{name}>=<{before}>|<{before}>")
    with pytest.raises(FormatError, match="more than 100000 characters"):
        conf.loads("\n".join(lines))


def test_row_48_the_same_relation_on_several_lines():
    config = conf.loads("[relations]\nX A:P, B:Q\nX A:R, B:S\n")
    assert config.labels("relations") == ("X",)
    assert [each.roles[0].types for each in config.relations] == [("P",), ("R",)]


def test_row_49_repetition():
    roles = (
        conf.loads("[events]\nX A:P, B?:P, C*:P, D+:P, E{2}:P, F{1-3}:P, Arg1:P\n").events[0].roles
    )
    assert [(each.least, each.most) for each in roles] == [
        *[(1, 1), (0, 1), (0, None), (1, None), (2, 2), (1, 3), (1, 1)]
    ]
    for wrong in (
        "A1*:P",
        "A2{2}:P",
        "A{0}:P",
        "A{3-2}:P",
        "A**:P",
        "A{x}:P",
        "A:P|",
        "A",
        "A:P, A:Q",
    ):
        with pytest.raises(FormatError, match=r"annotation\.conf:3: "):
            conf.loads(f"# events\n[events]\nX {wrong}\n")


def test_row_50_hierarchy_separators_and_sections():
    text = (
        "[spans]\n!Thing\n Person|PER\n\tAda\n-----\nPlace\n[relations]\n[events]\n[attributes]\n"
    )
    config = conf.loads(text)
    assert [(each.label, each.depth, each.usable) for each in config.entities] == [
        *[
            ("Thing", 0, False),
            ("Person", 1, True),
            ("Ada", 1, True),
            ("", 0, True),
            ("Place", 0, True),
        ]
    ]
    assert config.labels("entities") == ("Person", "Ada", "Place")
    assert conf.loads(conf.dumps(config)) == config
    with pytest.raises(
        FormatError, match=r"conf:1: unknown section \[entitites\]; did you mean \[ent"
    ):
        conf.loads("[entitites]\nX\n")
    with pytest.raises(FormatError, match=r"conf:3: indented by 2, at most 1"):
        conf.loads("[entities]\nX\n  Y\n")
    with pytest.raises(FormatError, match=r"conf:1: expected a section"):
        conf.loads("X\n[entities]\n")
    config, mistakes = conf.parse(
        "X\nY\n[entities]\nA\n   B\nC\n[x]\nD\n[events]\n<M>=<N>\nE <M>\n"
    )
    assert [mistake.line for mistake in mistakes] == [1, 5, 7, 10, 11]
    assert (config.labels("entities"), config.labels("events")) == (("A", "C"), ())


def test_row_51_labels_of_all_kinds():
    assert main("T1\tЧеловек 0 6\tBarack\n").spans[0].label == "Человек"
    assert main("T1\ta|b:c 0 6\tBarack\n").spans[0].label == "a|b:c"
    document = Document(TEXT, (Layer(MAIN, (Span("T1", "Cell line|x", ((0, 6),)),)),))
    ann = write.dumps(document)
    assert ann == "T1\tCell_x20_line_x7c_x 0 6\tBarack\n"
    assert main(ann).spans[0].label == "Cell line|x"
    config = conf.loads("[entities]\nЧеловек|Person|人\n")
    assert config.entities[0].terms == ("Человек", "Person", "人")
    with pytest.raises(FormatError, match=r"conf:2: expected Role:Type"):
        conf.loads("[entities]\nCell line\n")


def test_row_52_nested_crossing_and_equal_spans():
    ann = "T1\tA 0 12\tBarack Obama\nT2\tB 7 16\tObama was\nT3\tC 7 12\tObama\n"
    ann += "T4\tD 7 12\tObama\nT5\tD 7 12\tObama\n"
    assert len(fragments(ann)) == 5


def test_row_53_a_file_that_changed_since_it_was_read(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    ann = tmp_path / "a.ann"
    ann.write_text(TWO)
    document = read.load(tmp_path / "a.txt").document
    before = ann.stat()
    assert save(document, tmp_path) == ()
    assert (ann.stat().st_mtime_ns, ann.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    grown = _added(document, Span("T3", "P", ((57, 63),)))
    ann.write_text(TWO + "T9\tP 57 63\tBerlin\n")
    with pytest.raises(StorageError, match=r"a\.ann: not written, .*changed since"):
        save(grown, tmp_path)
    assert ann.read_text() == TWO + "T9\tP 57 63\tBerlin\n"
    ann.write_text(TWO)
    ann.chmod(0o444)
    with pytest.raises(StorageError, match="read-only"):
        save(grown, tmp_path)
    ann.chmod(0o644)
    assert save(grown, tmp_path) == (ann,)
    assert ann.read_text() == TWO + "T3\tP 57 63\tBerlin\n"
    assert sorted(os.listdir(tmp_path)) == ["a.ann", "a.txt"]


@pytest.mark.slow
def test_row_54_a_very_large_document_takes_linear_time():
    small, large = (_read_and_write_seconds(size) for size in (25_000, 100_000))
    assert large < 7 * small  # 4 times the lines; quadratic time would be 16 times as long


def _read_and_write_seconds(size):
    """Return the CPU time to read a document of ``size`` spans, add relations and write it."""
    text = "word " * size
    ann = "".join(f"T{i}\tW {5 * i} {5 * i + 4}\tword\n" for i in range(size))
    started = time.process_time()
    document = read.loads(text, ann).document
    assert len(document[MAIN].spans) == size
    new_id = document.id_generator()
    relations = tuple(
        Relation(new_id("R"), "X", f"T{i}", f"T{i + 1}") for i in range(size // 3 + 5)
    )
    written = write.dumps(document.with_layer(replace(document[MAIN], relations=relations)))
    seconds = time.process_time() - started
    assert written.startswith(ann)
    assert written.count("\n") == size + len(relations)
    assert new_id("T") == f"T{size}"
    return seconds


def least_seconds(work):
    """CPU seconds of some work, the least of three: others' garbage may be collected in one."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


@pytest.mark.parametrize(
    "line",
    [
        "T{i}\tX 0 {size}\tzz",
        "T{i}\tX 0 {size}",
        "T{i}\tX 5 4;0 {size}\tz",
        "#{i}\tN #{next}\tchain",
        "A{i}\tN A{next}",
        "E{i}\tX:E{next} A:E{next}",
        "*\tEquiv T0 T{i}",
        "T1\tX 0 4\tword",
    ],
)
def test_row_54_hostile_lines_take_linear_time_too(line):
    text = "word " * 200_000
    ann = "T0\tX 0 4\tword\n" + "".join(
        line.format(i=i, next=i + 1, size=len(text)) + "\n" for i in range(1, 5000)
    )
    assert write.dumps(read.loads(text, ann).document) == ann
    assert least_seconds(lambda: write.dumps(read.loads(text, ann).document)) < 1


@pytest.mark.parametrize("line", ["N1\t{a}", "N1\ta {a}", "N1\t{a} Annotation:b {a}", "T{one}:\tx"])
def test_row_54_a_line_takes_linear_time(line):
    ann = line.format(a="a" * 200_000, one="1" * 200_000)
    assert len(read.loads("word", ann).problems) == 1
    assert least_seconds(lambda: read.loads("word", ann)) < 1


def _added(document, span):
    layer = document[MAIN]
    return document.with_layer(replace(layer, spans=(*layer.spans, span)))


def test_types_of_white_space_alone_are_kept():
    assert kept(
        "T2\t\r 0 3\tBar\nR1\t\f Arg1:T1 Arg2:T1\nE1\t\r:T1\nA1\t\v T1\n"
        "N1\t\r T1 a:b\tx\n#1\t\r T1\tx\n*\t\r T1 T1\n"
    ) == [*range(1, 8)]
