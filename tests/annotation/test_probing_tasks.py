"""What probing tasks ask of a sentence, on sentences whose answers are seen."""

from dataclasses import replace
from random import Random

import pytest

from spanloom.annotation import probing
from spanloom.annotation.probing import Bigrams, Sentence, sentences
from spanloom.formats import conllu, trees
from spanloom.tokenization import given_words


def parsed(rows):
    """A sentence of ``word tag head relation`` rows, with a bar between."""
    cells = [row.split() for row in rows.split("|")]
    heads = [int(head) - 1 if head != "0" else number for number, (*_, head, _) in enumerate(cells)]
    words, tags, _, relations = zip(*cells, strict=True)
    return Sentence(words, tags, tuple(heads), relations)


CATS = parsed(
    "The DT 2 det|cats NNS 4 nsubj|have VBP 4 aux|eaten VBN 0 root|a DT 6 det|fish NN 4 obj"
)
JOINED = parsed(
    "Ada NNP 2 nsubj|sang VBD 0 root|, , 7 punct|and CC 7 cc|the DT 6 det|dogs NNS 7 nsubj"
    "|barked VBD 2 conj|loudly RB 7 advmod|. . 2 punct"
)


def test_tense_and_numbers_are_of_the_main_clause():
    assert probing.tense(CATS) == "PRES"  # of the auxiliary: the participle has none
    assert probing.subject_number(CATS) == "NNS"
    assert probing.object_number(CATS) == "NN"
    assert probing.tense(JOINED) == "PAST"
    assert probing.subject_number(JOINED) == "NN"
    assert probing.object_number(JOINED) is None


@pytest.mark.parametrize(
    "ask", [probing.tense, probing.subject_number, probing.object_number, probing.tree_depth,
            probing.top_constituents, probing.inverted_coordination]
)  # fmt: skip
def test_words_alone_tell_nothing_about_their_syntax(ask):
    assert ask(Sentence(("a", "b"))) is None


def test_two_clauses_change_places():
    assert probing.inverted_coordination(JOINED) == (
        *("The", "dogs", "barked", "loudly"), *(",", "and"), *("Ada", "sang"), ".",
    )  # fmt: skip
    she = replace(JOINED, words=("She", *JOINED.words[1:]), tags=("PRP", *JOINED.tags[1:]))
    assert probing.inverted_coordination(she)[6:8] == ("she", "sang")
    for capital in ("I", "BBC"):
        kept = replace(she, words=(capital, *JOINED.words[1:]))
        assert probing.inverted_coordination(kept)[6:8] == (capital, "sang")
    assert probing.inverted_coordination(CATS) is None


@pytest.mark.parametrize(
    ("length", "label"), [(4, None), (5, "0"), (8, "0"), (9, "1"), (25, "4"), (28, "5"), (29, None)]
)
def test_lengths_are_those_of_the_paper(length, label):
    assert probing.sentence_length(Sentence(("a",) * length)) == label


def test_depth_and_top_constituents_are_those_of_the_tree():
    tree = (
        "(ROOT (S (NP (DT The) (NNS cats)) "
        "(VP (VBD ate) (NP (NN fish) (PP (IN of) (NP (NN Rome))))) (. .)))"
    )
    (document,) = trees.loads(tree + "\n")
    (sentence,) = sentences(document, given_words(document))
    assert probing.top_constituents(sentence) == "NP_VP_."
    assert probing.tree_depth(sentence) == "7"  # ROOT S VP NP PP NP NN


def test_a_sentence_has_its_words_tags_and_heads():
    rows = ["1 Ada _ PROPN NNP _ 2 nsubj _ _", "2 sang _ VERB VBD _ 0 root _ _"]
    lines = ["\t".join(row.split()) for row in rows]
    text = "\n".join(lines) + "\n\n"
    (document,) = conllu.loads(f"# newdoc id = d\n{text}{text}")
    first, second = sentences(document, given_words(document))
    assert first == second == Sentence(("Ada", "sang"), ("NNP", "VBD"), (1, 1), ("nsubj", "root"))
    assert first.root == 1


def test_a_bigram_is_shifted_and_the_rest_stays():
    words = ("First", "a", "b", ",", "c", "d")
    for seed in range(20):
        changed = probing.shifted_bigram(Sentence(words), Random(seed))
        assert changed in {("First", "b", "a", ",", "c", "d"), ("First", "a", "b", ",", "d", "c")}
    assert probing.shifted_bigram(Sentence(("a", ",", "b", "The", "the")), Random(0)) == (
        "a", ",", "The", "b", "the"
    )  # fmt: skip
    assert probing.shifted_bigram(Sentence(("a", "b", ".")), Random(0)) is None
    assert probing.shifted_bigram(Sentence(("a", "A", ".")), Random(0)) is None


def test_the_odd_word_has_the_tag_of_the_one_before_and_like_bigrams():
    bigrams = Bigrams()
    for noun, tag in (("cat", "NN"), ("dog", "NN"), ("cats", "NNS")):
        bigrams.add(Sentence(("the", noun, "sat"), ("DT", tag, "VBD")))
    for _ in range(30):
        bigrams.add(Sentence(("the", "man", "sat"), ("DT", "NN", "VBD")))
    sentence = Sentence(("the", "cat", "sat"), ("DT", "NN", "VBD"))
    assert probing.odd_man_out(sentence, bigrams, Random(0)) == ("the", "dog", "sat")
    assert probing.odd_man_out(Sentence(("the", "cat", "sat")), bigrams, Random(0)) is None


def test_one_word_of_the_asked_ones_is_the_content():
    words = frozenset({"cat", "dog"})
    assert probing.word_content(Sentence(("The", "Cat")), words) == "cat"
    assert probing.word_content(Sentence(("cat", "dog")), words) is None
    assert probing.word_content(Sentence(("cow",)), words) is None
