"""PubTator: mentions of concepts in titles and abstracts, relations between concepts."""

import pytest
from door_checks import reads_or_refuses, same_again, writing_time
from drawn_documents import documents
from hypothesis import given
from hypothesis import strategies as st

from spanloom.errors import FormatError
from spanloom.formats.pubtator import KIND, dumps, loads

# the first document of BioCreative V CDR's sample as it is published, shortened
SAMPLE = """\
227508|t|Naloxone reverses the antihypertensive effect of clonidine.
227508|a|In unanesthetized rats the decrease in blood pressure was reversed by naloxone.
227508\t0\t8\tNaloxone\tChemical\tD009270
227508\t49\t58\tclonidine\tChemical\tD003000
227508\t130\t138\tnaloxone\tChemical\tD009270
227508\tCID\tD009270\tD003000

"""


def test_offsets_count_title_break_and_abstract():
    (document,) = loads(SAMPLE)
    assert document.name == "227508"
    spans = document["entities"].spans
    assert [document.text_of(span) for span in spans] == ["Naloxone", "clonidine", "naloxone"]
    assert [(span.start, span.end) for span in spans] == [(0, 8), (49, 58), (130, 138)]
    keys = [normalization.key for normalization in document["entities"].normalizations]
    assert keys == ["D009270", "D003000", "D009270"]


def test_a_relation_of_concepts_links_their_first_mentions():
    (document,) = loads(SAMPLE)
    (relation,) = document["entities"].relations
    spans = {span.id: span for span in document["entities"].spans}
    ends = [document.text_of(spans[end]) for end in (relation.head, relation.tail)]
    assert (relation.label, ends) == ("CID", ["Naloxone", "clonidine"])


@pytest.mark.parametrize("text", [SAMPLE, KIND.example, SAMPLE + KIND.example])
def test_files_come_back(text):
    assert same_again(KIND, text)


def test_a_relation_without_mentions_is_kept_but_not_learnt():
    first, second = loads(KIND.example)
    assert [relation.label for relation in first["entities"].relations] == ["CID"]
    assert first.meta == (("relation", "CID\tD008012\tD000001"),)
    assert second.text == "No abstract"
    assert not second["entities"].spans


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("227508\t0\t8\tNaloxon\tChemical\tD009270", "expected the text 'Naloxone' of 0..8"),
        ("227508\t0\t999\tNaloxone\tChemical\tD009270", "expected bounds in 0..139"),
        ("1\t0\t8\tNaloxone\tChemical\tD009270", "expected a line of document '227508', got '1'"),
        ("227508\tCID\tD009270", "expected ID, START"),
        ("227508|x|text", "expected a line of document '227508'"),
    ],
)
def test_errors_say_where_and_what(line, problem):
    text = SAMPLE.replace("227508\t49\t58\tclonidine\tChemical\tD003000", line)
    with pytest.raises(FormatError, match=r"in\.txt:4: ") as error:
        list(loads(text, path="in.txt"))
    assert problem in str(error.value)


def test_the_first_line_is_a_title():
    with pytest.raises(FormatError, match=r"in:1: expected ID\|t\|TEXT"):
        list(loads("227508|a|An abstract\n", path="in"))
    assert KIND.sniff(SAMPLE, "a.txt")
    assert not KIND.sniff("a|b|c\n", "a.txt")
    assert not KIND.sniff("", "a.txt")


def test_many_relations_are_written_in_linear_time():
    assert writing_time(KIND, 6000) < 9 * writing_time(KIND, 1500)


def test_damaged_samples():
    reads_or_refuses(KIND)


@given(st.lists(documents(), max_size=3))
def test_what_is_written_is_read_as_written(drawn):
    text = dumps(drawn)
    assert dumps(loads(text)) == text
