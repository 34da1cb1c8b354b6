from hypothesis import given
from hypothesis import strategies as st

from spanloom.corpora.sources import excerpt
from spanloom.document import SENTENCES
from spanloom.formats import columns

WORDS = st.lists(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["O", "B-x", "I-x"])), min_size=1),
    min_size=1,
    max_size=6,
)


def spans(document, layer):
    return [(span.label, document.text_of(span)) for span in document[layer].spans]


@given(WORDS, st.data())
def test_two_parts_hold_what_the_whole_held(sentences, data):
    rows = "\n\n".join("\n".join("\t".join(row) for row in sentence) for sentence in sentences)
    (document,) = columns.loads(f"-DOCSTART-\tO\n\n{rows}\n")
    total = len(sentences)
    cut = data.draw(st.integers(0, total))
    parts = [excerpt(document, a, b) for a, b in ((0, cut), (cut, total)) if a < b]
    assert "\n".join(part.text for part in parts) == document.text
    for layer in ("words", SENTENCES, "entities"):
        assert [span for part in parts for span in spans(part, layer)] == spans(document, layer)
    values = [attribute.value for part in parts for attribute in part["words"].attributes]
    assert values == [attribute.value for attribute in document["words"].attributes]
