"""The tiny corpora hold what their README says, and nothing that words cannot express."""

import re
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from spanloom.annotation.comparable import comparable
from spanloom.annotation.queries import answers, dangling_answers
from spanloom.annotation.text_pairs import classification_of, text_pair
from spanloom.corpora import folder
from spanloom.embedders import static
from spanloom.formats import jsonl
from spanloom.formats.brat import read as brat
from spanloom.formats.brat import write
from spanloom.tokenization import word_tokenizer

TINY = Path(__file__).resolve().parents[1] / "fixtures" / "tiny"
ANALYSES = "pos dependency constituency ner mentions coreference relations chunks semantics".split()
LAYERS = {
    "steps": ["main"],
    "analyses": ANALYSES,
    "questions": ["answers"],
    "reviews": ["sentiment"],
    "pairs": ["parts", "entailment"],
    "likeness": ["parts", "likeness"],
    "texts": [],
}
SIZES = {
    "steps": (12, 4),
    "analyses": (6, 2),
    "questions": (8, 3),
    "reviews": (16, 6),
    "pairs": (15, 6),
    "likeness": (12, 6),
    "texts": (20, 4),
}
SPLITS = ("train", "dev")
CUT = word_tokenizer("char-class", "newline")


def documents(corpus, split):
    return folder.read(TINY / corpus, split).documents


def everything(*corpora):
    return [
        document for corpus in corpora for split in SPLITS for document in documents(corpus, split)
    ]


def vocabulary():
    texts = []
    for document in everything(*LAYERS):
        texts += [document.text, *(query.prompt for query in document.queries)]
    return {text[a:b] for text in texts for a, b in CUT(text).words}


def rows(document, layer):
    """Bounds in words by the id of each span of a layer; a bound inside a word is a KeyError."""
    words = CUT(document.text).words
    first = {start: row for row, (start, _) in enumerate(words)}
    last = {end: row + 1 for row, (_, end) in enumerate(words)}
    return {span.id: (first[span.start], last[span.end]) for span in document[layer].spans}


def sentence(document, row):
    """The row of a word's sentence."""
    return next(n for n, (a, b) in enumerate(CUT(document.text).sentences) if a <= row < b)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("corpus", LAYERS)
def test_all_is_read_without_a_problem_and_every_layer_is_in_every_document(corpus, split):
    corpus_read = folder.read(TINY / corpus, split)
    assert not corpus_read.problems
    assert len(corpus_read.documents) == SIZES[corpus][SPLITS.index(split)]
    for document in corpus_read.documents:
        assert [layer.name for layer in document.layers] == LAYERS[corpus]
        assert corpus != "questions" or 2 <= len(document.queries) <= 4


@pytest.mark.parametrize("path", sorted(TINY.glob("*/*.jsonl")), ids=lambda path: path.parent.name)
def test_json_lines_are_written_as_they_stand(path):
    assert jsonl.dumps(jsonl.read(path)) == path.read_text(encoding="utf-8")


def test_brat_files_are_written_as_they_stand():
    for split in SPLITS:
        for document in documents("steps", split):
            path = TINY / "steps" / split / f"{document.name}.ann"
            assert write.parts(document) == {".ann": path.read_text(encoding="utf-8")}


def test_what_json_lines_hold_brat_holds_too():
    for document in everything("analyses", "questions", "reviews", "pairs", "likeness"):
        again = brat.loads_parts(document.text, write.parts(document), name=document.name)
        assert not again.problems
        assert comparable(again.document) == comparable(document)


def test_a_line_is_a_sentence_and_both_splitters_find_the_words_between_blanks():
    spacy = word_tokenizer("spacy", "newline")
    for document in everything(*LAYERS):
        assert CUT(document.text) == spacy(document.text)
        assert [document.text[a:b] for a, b in CUT(document.text).words] == document.text.split()
        assert all(re.search(r" [.?]$", line) for line in document.text.splitlines())


def test_spans_are_whole_words_of_one_sentence():
    for document in everything("steps", "analyses", "questions"):
        for layer in document.layers:
            for a, b in rows(document, layer.name).values():
                assert sentence(document, a) == sentence(document, b - 1)


@pytest.mark.parametrize("corpus", ["steps", "analyses", "reviews", "pairs"])
def test_dev_has_no_label_that_train_has_not_and_labels_vary(corpus):
    def labels(split, layer):
        layers = (document[layer].annotations() for document in documents(corpus, split))
        return {annotation.label for annotations in layers for annotation in annotations}

    for layer in LAYERS[corpus]:
        assert labels("dev", layer) <= labels("train", layer)
        assert len(labels("dev", layer)) >= 2 or layer == "parts"


@pytest.mark.parametrize("layer", ["pos", "semantics", "dependency"])
def test_each_word_has_one_span(layer):
    for document in everything("analyses"):
        words = CUT(document.text).words
        assert list(rows(document, layer).values()) == [(n, n + 1) for n in range(len(words))]


def test_dependencies_are_a_tree_with_one_root_a_sentence():
    for document in everything("analyses"):
        row = {key: a for key, (a, _) in rows(document, "dependency").items()}
        arcs = document["dependency"].relations
        head = {row[arc.tail]: row[arc.head] for arc in arcs}
        assert len(arcs) == len(head) == len(row)
        assert all((arc.head == arc.tail) == (arc.label == "root") for arc in arcs)
        for a, b in CUT(document.text).sentences:
            roots = [word for word in range(a, b) if head[word] == word]
            assert len(roots) == 1
            for word in range(a, b):
                for _ in range(b - a):  # as many steps as there are words lead to the top
                    word = head[word]
                assert word == roots[0]


def test_constituents_nest_and_the_outer_one_comes_first():
    chains = set()
    for document in everything("analyses"):
        spans = list(
            zip(
                rows(document, "constituency").values(), document["constituency"].spans, strict=True
            )
        )
        for ((a, b), outer), ((c, d), inner) in combinations(spans, 2):
            assert b <= c or (a <= c and d <= b)
            if (a, b) == (c, d):
                chains.add((document.name, outer.label, inner.label))
        sentences = [bounds for bounds, span in spans if span.label == "S"]
        assert set(CUT(document.text).sentences) <= set(sentences)
    assert {("john", "S", "VP"), ("maria", "S", "VP")} <= chains  # of train, of dev
    assert {(outer, inner) for _, outer, inner in chains} == {("S", "VP")}


@pytest.mark.parametrize("layer", ["ner", "chunks"])
def test_names_and_chunks_are_flat(layer):
    for document in everything("analyses"):
        bounds = list(rows(document, layer).values())
        assert all(b <= c for (_, b), (c, _) in pairwise(bounds))


def test_coreference_points_left_from_each_mention_to_the_nearest():
    for document in everything("analyses"):
        bounds_of = rows(document, "coreference")
        mentioned = set(rows(document, "mentions").values())
        links = document["coreference"].relations
        heads, tails = [link.head for link in links], [link.tail for link in links]
        assert all(bounds_of[link.tail] < bounds_of[link.head] for link in links)
        # chains without a fork or a second antecedent skip no mention
        assert len(set(heads)) == len(heads)
        assert len(set(tails)) == len(tails)
        assert {*heads, *tails} == set(bounds_of)
        assert set(bounds_of.values()) <= mentioned
        across = [
            sentence(document, bounds_of[a][0]) > sentence(document, bounds_of[b][0])
            for a, b in zip(heads, tails, strict=True)
        ]
        assert any(across)


def test_mentions_nest_and_hold_all_names():
    nested = 0
    for document in everything("analyses"):
        mentions = rows(document, "mentions").values()
        assert len(set(mentions)) == len(mentions)
        assert set(rows(document, "ner").values()) <= set(mentions)
        overlaps = [(x, y) for x, y in combinations(sorted(mentions), 2) if y[0] < x[1]]
        assert all(y[1] <= x[1] or x[0] == y[0] for x, y in overlaps)
        nested += len(overlaps)
    assert nested >= 10


def test_relations_stand_between_names_of_one_sentence():
    for document in everything("analyses"):
        names = {(span.label, span.fragments) for span in document["ner"].spans}
        assert {(span.label, span.fragments) for span in document["relations"].spans} == names
        sentence_of = {
            key: sentence(document, a) for key, (a, _) in rows(document, "relations").items()
        }
        assert all(
            sentence_of[arrow.head] == sentence_of[arrow.tail]
            for arrow in document["relations"].relations
        )


def test_steps_have_events_relations_of_events_and_both_attributes():
    for split in SPLITS:
        layers = [each["main"] for each in documents("steps", split)]
        events = {event.id for layer in layers for event in layer.events}
        said = {(each.label, each.value) for layer in layers for each in layer.attributes}
        assert said == {("Negated", None), ("Certainty", "low"), ("Certainty", "high")}
        assert {each.target for layer in layers for each in layer.attributes} <= events
        assert {each.head in events for layer in layers for each in layer.relations} == {
            True,
            False,
        }


@pytest.mark.parametrize("split", SPLITS)
def test_queries_have_no_answer_or_one_or_several(split):
    counts = set()
    for document in documents("questions", split):
        assert not dangling_answers(document, "answers")
        counts |= {len(spans) for spans in answers(document, "answers").values()}
    assert counts == {0, 1, 2}


@pytest.mark.parametrize("split", SPLITS)
def test_judgements_are_the_classes_and_numbers_that_the_readme_names(split):
    assert {
        classification_of(document, "sentiment").label for document in documents("reviews", split)
    } == {
        "positive",
        "negative",
        "mixed",
    }
    assert {
        classification_of(document, "entailment").label for document in documents("pairs", split)
    } == {
        "entailment",
        "neutral",
        "contradiction",
    }
    values = [
        classification_of(document, "likeness").value for document in documents("likeness", split)
    ]
    assert (min(values), max(values)) == (0, 5)
    assert len(set(values)) > 4
    for document in (*documents("pairs", split), *documents("likeness", split)):
        assert [
            document.text_of(part) for part in text_pair(document)
        ] == document.text.splitlines()


def test_the_encoder_is_a_bert_that_knows_every_word():
    from transformers import AutoConfig, AutoModel, AutoTokenizer, BertModel

    tokenizer = AutoTokenizer.from_pretrained(TINY / "encoder", local_files_only=True)
    config = AutoConfig.from_pretrained(TINY / "encoder", local_files_only=True)
    assert isinstance(AutoModel.from_config(config), BertModel)
    assert config.vocab_size == len(tokenizer)
    words = sorted({word.lower() for word in vocabulary()})
    assert len(words) == 134
    assert [tokenizer.tokenize(word) for word in words] == [[word] for word in words]
    assert tokenizer.tokenize("Unseen words") != ["[UNK]", "[UNK]"]
    around = tokenizer.convert_ids_to_tokens(tokenizer("Mary", "Tom")["input_ids"])
    assert around == ["[CLS]", "mary", "[SEP]", "tom", "[SEP]"]


def test_vectors_are_there_for_most_words_and_not_for_all():
    words = {word.lower() for word in vocabulary()}
    vectors = static.read_vectors(TINY / "vectors.txt", max_vectors=1000)
    assert vectors.rows.shape == (120, 16)
    assert set(vectors.words) < words


def test_the_folder_is_small_and_holds_no_weights():
    files = [path for path in TINY.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".jsonl", ".txt", ".ann", ".md"}
    assert sum(path.stat().st_size for path in files) < 300_000
