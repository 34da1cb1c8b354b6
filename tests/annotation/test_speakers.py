"""Who says which word, and genres in names."""

from spanloom.annotation.attributes import genre, speakers
from spanloom.document import Attribute, Document, Layer, Span

TEXT = "Hi .\nHello you .\nBye ."
WORDS = [(0, 2), (3, 4), (5, 10), (11, 14), (15, 16), (17, 20), (21, 22)]
SENTENCES = Layer(
    "sentences",
    tuple(Span(f"T{n}", "sentence", (at,)) for n, at in enumerate([(0, 4), (5, 16), (17, 22)])),
    attributes=(Attribute("A1", "speaker", "T0", "Ada"), Attribute("A2", "speaker", "T1", "Bob")),
)


def test_words_have_the_speaker_of_their_sentence_and_none_where_nobody_says():
    names = speakers(Document(TEXT, (SENTENCES,)), WORDS)
    assert names == ("Ada", "Ada", "Bob", "Bob", "Bob", "", "")


def test_a_word_may_say_otherwise():
    words = Layer(
        "words",
        (Span("T9", "word", ((11, 14),)),),
        attributes=(Attribute("A9", "speaker", "T9", "Cy"),),
    )
    names = speakers(Document(TEXT, (SENTENCES, words)), WORDS)
    assert names == ("Ada", "Ada", "Bob", "Cy", "Bob", "", "")


def test_nothing_given_is_nobody():
    assert speakers(Document(TEXT), WORDS) == ("",) * 7
    assert speakers(Document(""), []) == ()


def test_genres_are_parts_of_names():
    assert genre("GUM_academic_art", 1) == "academic"
    assert genre("bc/cctv/00/cctv_0000", 0) == "bc"
    assert genre("plain", 3) == ""
