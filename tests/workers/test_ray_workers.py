"""A Ray cluster that does not start, or is smaller than asked; Ray itself is a stand-in here."""

import sys
from types import SimpleNamespace

import pytest

from spanloom.errors import ClusterError, PackageMissing
from spanloom.workers.ray_workers import RayWorkers


def fake_ray(monkeypatch, init, cpus):
    """A stand-in for Ray, whose cluster has so many CPUs, some of them free."""
    total, free = cpus
    ray = SimpleNamespace(
        init=init,
        cluster_resources=lambda: {"CPU": total},
        available_resources=lambda: {"CPU": free} if free else {},
        remote=lambda **_: lambda actor: actor,
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(PackageMissing, "check", lambda *_: None)


def test_a_cluster_that_does_not_start_is_one_line(monkeypatch):
    def init(**_):
        raise Exception("The current node timed out during startup.\nSee the logs.")

    fake_ray(monkeypatch, init, (4.0, 4.0))
    with pytest.raises(ClusterError, match=r"no Ray cluster at local: The .* startup. See the"):
        RayWorkers(2, "local", lambda: bytes.upper)


@pytest.mark.parametrize(
    ("size", "cpus", "actors"),
    [
        (None, (4.0, 4.0), 4),
        (3, (4.0, 4.0), 3),
        (9, (4.0, 4.0), 4),
        (9, (4.0, 2.0), 2),
        (9, (4.0, 0), 4),
    ],
)
def test_no_actor_waits_for_a_core_that_is_not_there(monkeypatch, size, cpus, actors):
    fake_ray(monkeypatch, lambda **_: None, cpus)
    assert RayWorkers(size, "auto", lambda: bytes.upper).size == actors
