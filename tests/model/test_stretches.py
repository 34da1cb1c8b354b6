"""Stretches of documents: where they end depends on nothing but the documents before."""

import pytest

from spanloom.document import Document, Query
from spanloom.model import stretches
from spanloom.model.stretches import cut_stretches

DOCUMENTS = [Document("word " * (row * 7 % 50), name=str(row)) for row in range(400)]


def sizes(documents):
    return [sum(len(doc.text.encode()) // 6 + 16 for doc in stretch) for stretch in documents]


def test_they_grow_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(stretches, "_MAX_WORDS", 700)
    whole = list(cut_stretches(DOCUMENTS, words=100))
    assert [doc for stretch in whole for doc in stretch] == DOCUMENTS
    assert len(whole) > 5
    for number, size in enumerate(sizes(whole)[:-1]):
        assert min(700, 100 << number) <= size < min(700, 100 << number) + 60


@pytest.mark.parametrize("done", [1, 2, 5])
def test_who_goes_on_behind_one_cuts_the_same(done):
    whole = list(cut_stretches(DOCUMENTS, words=100))
    left = DOCUMENTS[sum(map(len, whole[:done])) :]
    assert list(cut_stretches(left, words=100, done=done)) == whole[done:]


def test_empty_documents_and_questions_count():
    empty = [Document("", name=str(row)) for row in range(200)]
    assert len(next(cut_stretches(empty))) == 64
    asked = Document("word " * 100, queries=tuple(Query(f"Q{i}", "What?") for i in range(99)))
    assert len(next(cut_stretches([asked] * 3))) == 1
    assert list(cut_stretches([])) == []
