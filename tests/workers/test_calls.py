"""Functions called in worker processes: results in order, errors in their turn."""

import pickle

import pytest

from spanloom.errors import FormatError, LayerError, NameNotFound, SpanloomError, WordError
from spanloom.formats.brat import read as brat
from spanloom.workers.calls import WorkerCalls, answer_call, map_here
from spanloom.workers.executors import InProcess


def half(number):
    if number == 5:
        raise FormatError("a.txt", 5, "is odd")
    if number == 7:
        raise PermissionError(13, "Permission denied", "b.txt")
    return number / 2


@pytest.mark.parametrize("mapper", [map_here, WorkerCalls(InProcess(answer_call))])
def test_results_in_order(mapper):
    assert list(mapper(half, [2, 4, 6])) == [1, 2, 3]


@pytest.mark.parametrize("mapper", [map_here, WorkerCalls(InProcess(answer_call))])
@pytest.mark.parametrize(("bad", "error"), [(5, FormatError), (7, PermissionError)])
def test_an_error_comes_after_the_results_before_it(mapper, bad, error):
    results = mapper(half, [2, 4, bad, 6])
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(error, match=r"a.txt:5: is odd|b\.txt"):
        next(results)


def same(value):
    return value


def test_documents_are_copied_with_their_source():
    reading = brat.loads("Stir it.", "T1\tA 0 4\tStir\nno line\n", name="a")
    (copy,) = WorkerCalls(InProcess(answer_call))(same, [reading])
    assert copy == reading
    assert copy.document.source == reading.document.source
    (line, _) = copy.document.source.lines[:2]
    assert line.annotation is copy.document.layers[0].spans[0]


@pytest.mark.parametrize(
    "error",
    [
        WordError(3, "no tag"),
        LayerError("d", "ner", ["srl"]),
        FormatError("a", None, "empty"),
        NameNotFound("form", "jsn", ["json"]),
    ],
)
def test_errors_are_copied(error):
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, SpanloomError)
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
