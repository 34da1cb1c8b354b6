"""Words that a document gives are those that everybody uses."""

from hypothesis import given as draw
from hypothesis import strategies as st

from spanloom.annotation.comparable import comparable
from spanloom.document import SENTENCES, WORDS, Document, Layer, Span
from spanloom.formats import DocumentBuilder, WordView
from spanloom.formats.brat.read import loads_parts
from spanloom.formats.brat.write import parts
from spanloom.tokenization import given_words, word_tokenizer, words_of

FORMS = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp", "Zs")), min_size=1)
FILES = st.lists(st.lists(st.tuples(FORMS, st.booleans()), min_size=1, max_size=6), max_size=4)


def made(sentences):
    making = DocumentBuilder("a")
    for words in sentences:
        making.sentence([word for word, _ in words], [blank for _, blank in words])
    return making.build()


def test_none_are_given():
    document = Document("Ada met Bob.", name="a")
    assert given_words(document) is None
    split = word_tokenizer("whitespace", "newline")
    assert words_of(document, split) == split(document.text)


@draw(FILES)
def test_words_and_sentences_come_back_as_they_were_given(sentences):
    document = made(sentences)
    tokenization = words_of(document, word_tokenizer("char-class", "punctuation"))
    forms = [document.text[a:b] for a, b in tokenization.words]
    assert forms == [word for words in sentences for word, _ in words]
    sizes = [last - first for first, last in tokenization.sentences]
    assert sizes == [len(words) for words in sentences]
    laid = WordView(document)
    spaces = [laid.spaces(bounds) for bounds in tokenization.sentences]
    assert spaces == [[blank for _, blank in words[:-1]] + [False] for words in sentences]
    assert sorted(laid.word_of_span.values()) == list(range(len(forms)))


@draw(FILES)
def test_brat_keeps_them_beside_the_annotation(sentences):
    document = made(sentences)
    files = parts(document)
    assert "word" not in files.get(".ann", "")
    back = loads_parts(document.text, files, name="a").document
    assert comparable(back) == comparable(document)
    assert words_of(back, word_tokenizer("char-class", "punctuation")) == words_of(
        document, word_tokenizer("char-class", "punctuation")
    )


def test_what_no_model_could_tell_apart_is_left_out():
    spans = (
        Span("T1", "word", ((0, 3),)),
        Span("T2", "word", ((2, 5),)),  # shares a letter with the one before
        Span("T3", "word", ((5, 5),)),
        Span("T4", "word", ((6, 7), (8, 9))),
    )
    document = Document("abcdefghij", (Layer(WORDS, spans), Layer(SENTENCES)), "a")
    tokenization = given_words(document)
    assert tokenization.words == ((0, 3), (6, 9))


def test_a_bare_document_keeps_its_words():
    document = made([[("Ada", True), ("met", False), (".", True)]])
    gold = document.with_layer(Layer("ner", (Span("X1", "person", ((0, 3),)),)))
    assert gold.unannotated() == document
    assert given_words(gold.unannotated()) == given_words(gold)
