"""A workbench, and the model of a run that nobody interrupted."""

import pytest
import torch
from workbench import Bench


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="session")
def undisturbed(bench):
    """The model of a run that nobody interrupted."""
    bench.train(bench.home / "undisturbed")
    return bench.home / "undisturbed"
