"""Trees of which some words have no part: they are not learnt, and reported like all others."""

from spanloom.data.instances import tokenize
from spanloom.document import Document, Layer, Relation
from spanloom.model.build import word_level_tokenizer
from spanloom.tasks import TaskSetup, load, number_spans
from spanloom.tokenization import word_tokenizer

TEXT = "Well , she wrote\nletters ."
WORDS = Layer(
    "main",
    number_spans(("word", 7, 10), ("word", 11, 16), ("word", 17, 24)),
    (
        Relation("R1", "nsubj", "T2", "T1"),
        Relation("R2", "root", "T2", "T2"),
        Relation("R3", "obj", "T2", "T3"),
    ),
)


def test_the_report_counts_arcs_where_words_before_them_have_none():
    kind, document = load("dependency"), Document(TEXT, (WORDS,), "letter")
    tokenized = tokenize(document, word_tokenizer("char-class", "newline"), word_level_tokenizer())
    options, train = kind.options(), [(document, tokenized)]
    vocabulary = kind.infer_vocabulary(options, "main", train)
    task = kind.build(TaskSetup("trees", "main", options, vocabulary, vocabulary))
    gold = task.encode_gold(document, tokenized)
    assert [word for word, _, _ in gold.spans] == [2, 3, 4]
    assert sorted(tail for _, tail, _ in gold.pairs) == [2, 3, 4]
    notes = task.coverage_notes(train, [tokenized.full_sentences], {0: gold})
    assert notes == [
        "trees: 1 document, 3 spans, 3 relations to learn from",
        "trees: not learnt, as they reach across sentences: 0 spans and 1 relation",
    ]
