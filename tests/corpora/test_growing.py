"""Reading keeps the collector at rest, and leaves it as it was."""

import gc

import pytest

from spanloom.corpora.folder import pause_gc


@pytest.fixture(autouse=True)
def _collector():
    active = gc.isenabled()
    yield
    (gc.enable if active else gc.disable)()


@pytest.mark.parametrize("before", [True, False])
def test_the_collector_rests_and_is_left_as_it_was(before):
    (gc.enable if before else gc.disable)()
    with pause_gc():
        assert not gc.isenabled()
        with pause_gc():
            pass
        assert not gc.isenabled()
    assert gc.isenabled() == before


def test_an_error_wakes_it_too():
    gc.enable()
    with pytest.raises(KeyError), pause_gc():
        raise KeyError
    assert gc.isenabled()
