"""Garbage is looked for as before, once a model is loaded, or could not be."""

import gc

import pytest

from spanloom.cli.garbage import loaded_to_stay


def test_the_collector_pauses_and_goes_on():
    assert gc.isenabled()
    before = gc.get_freeze_count()
    with loaded_to_stay():
        assert not gc.isenabled()
        kept = [[] for _ in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= before + len(kept)
    gc.unfreeze()


def test_the_collector_goes_on_after_an_error():
    with pytest.raises(ValueError, match="no model"), loaded_to_stay():
        raise ValueError("no model")
    assert gc.isenabled()
    gc.disable()
    try:
        with loaded_to_stay():
            pass
        assert not gc.isenabled()  # whoever paused it goes on with it
    finally:
        gc.enable()
        gc.unfreeze()
