"""From the predictions of a batch to a layer of characters, without objects."""

import tracemalloc
from itertools import accumulate

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from spanloom.annotation_ids import IdGenerator
from spanloom.data.instances import Instance
from spanloom.document import Document, Layer
from spanloom.tasks._document_prediction import spans_and_relations, to_characters
from spanloom.tasks._spans import (
    RELATION_ROW,
    SPAN_ROW,
    InstancePrediction,
    Labels,
    split_by_instance,
)
from spanloom.tensors import PredictedRelations, PredictedSpans
from spanloom.tokenization import WordBounds

LABELS = Labels(("b", "a"), ("r", "q"), {"mood": ("yes", "no")}, {"sure": ("low", "high")})
SIZES = (3, 0, 4)


def instances(sizes):
    """Instances of one document, each word two characters and a blank."""
    firsts = list(accumulate(sizes, initial=0))
    words = WordBounds.of([(3 * row, 3 * row + 2) for row in range(firsts[-1])])
    return [
        Instance(0, first, words[first : first + size], ("ab",) * size, ((1,),) * size, (), ())
        for first, size in zip(firsts, sizes, strict=False)
    ]


@st.composite
def predictions(draw):
    """Spans that stay in an instance, in any order, and relations within an instance."""
    firsts = list(accumulate(SIZES, initial=0))
    spans = []
    for _ in range(draw(st.integers(0, 8))):
        owner = draw(st.sampled_from([0, 2]))
        start = draw(st.integers(0, SIZES[owner] - 1))
        end = draw(st.integers(start + 1, SIZES[owner]))
        label, score = draw(st.integers(1, 2)), draw(st.sampled_from([0.25, 0.5]))
        value = draw(st.integers(0, 2))
        spans.append((owner, firsts[owner] + start, firsts[owner] + end, label, score, value))
    pairs = [
        (head, tail, draw(st.integers(1, 2)), draw(st.sampled_from([0.25, 1.0])))
        for head, (owner, *_) in enumerate(spans)
        for tail, (other, *_) in enumerate(spans)
        if owner == other and draw(st.booleans())
    ]
    return spans, pairs


def expected(spans, pairs):
    """Spans by bounds and label, relations by the contents of their ends; both as plain lists."""
    order = sorted(
        range(len(spans)), key=lambda row: (spans[row][0], row)
    )  # as they stand in their instances
    content = {
        row: ((3 * spans[row][1], 3 * spans[row][2] - 1), LABELS.spans[spans[row][3] - 1])
        for row in order
    }
    written = sorted(order, key=lambda row: content[row])
    id_of = {row: f"T{n}" for n, row in enumerate(written, 1)}
    scored = {row: (*content[row], spans[row][4]) for row in order}
    by_owner = sorted(pairs, key=lambda pair: spans[pair[0]][0])
    links = sorted(by_owner, key=lambda pair: (scored[pair[0]], scored[pair[1]]))
    return (
        [(id_of[row], *content[row], spans[row][4]) for row in written],
        [(id_of[i], id_of[j], LABELS.relations[k - 1], score) for i, j, k, score in links],
        {
            (id_of[row], "mood", LABELS.attributes["mood"][spans[row][5] - 1])
            for row in order
            if spans[row][5]
        },
    )


@given(predictions())
def test_predictions_of_a_batch_become_sorted_annotations(drawn):
    spans, pairs = drawn
    columns = torch.tensor([span[1:4] for span in spans], dtype=torch.long).reshape(-1, 3)
    chosen = PredictedSpans(
        columns[:, :2],
        columns[:, 2],
        torch.tensor([span[4] for span in spans]),
        torch.tensor([[span[5]] for span in spans], dtype=torch.long).reshape(-1, 1),
        torch.ones(len(spans), 1),
    )
    linked = PredictedRelations(
        torch.tensor([pair[:2] for pair in pairs], dtype=torch.long).reshape(-1, 2),
        torch.tensor([pair[2] for pair in pairs], dtype=torch.long),
        torch.tensor([pair[3] for pair in pairs]),
    )
    units = instances(SIZES)
    split = list(split_by_instance(units, chosen, linked, LABELS))
    assert [len(part.spans) for part in split] == [
        sum(span[0] == row for span in spans) for row in range(3)
    ]
    result = to_characters(list(zip(units, split, strict=True)), IdGenerator())
    want_spans, want_relations, want_attributes = expected(spans, pairs)
    assert [(s.id, *s.fragments, s.label, s.score) for s in result.spans] == want_spans
    assert [(r.head, r.tail, r.label, r.score) for r in result.relations] == want_relations
    assert {attribute[:3] for attribute in result.attributes} == want_attributes


def test_no_predictions_are_no_annotations():
    spans, relations = spans_and_relations([], IdGenerator())
    assert (spans, relations) == ((), ())


def test_a_long_document_takes_few_bytes_per_annotation():
    words = 100_000
    rows, links = np.zeros(words, SPAN_ROW), np.zeros(words, RELATION_ROW)
    rows["start"], rows["end"], rows["label"] = range(words), range(1, words + 1), 1
    links["head"], links["tail"], links["label"] = range(words), range(words), 1
    (instance,) = instances((words,))
    text = "ab " * words
    Document(text, (Layer("x"),))
    tracemalloc.start()
    try:
        prediction = InstancePrediction(LABELS, rows, links)
        layer = Layer("x", *spans_and_relations([(instance, prediction)], IdGenerator()))
        document = Document(text, (layer,))
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    annotations = len(document["x"].spans) + len(document["x"].relations)
    assert annotations == 2 * words
    assert held / annotations < 20
    assert peak / annotations < 120
