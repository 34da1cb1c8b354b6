"""Weights of an earlier model: what is taken, what begins anew, what is refused."""

import pytest

from spanloom.errors import ModelError
from spanloom.model import folder

JOINT = {"tasks": ["steps", "names"], "epochs": 1, "batch": 40, "precision": "fp32"}
ALONE = JOINT | {"tasks": ["names"]}
NAMES = {"data": "corpus", "kind": "entities", "size": 16}
LABELLED = {"data": "corpus", "kind": "relations", "level": "context", "size": 16}


@pytest.fixture(scope="module")
def joint(bench, tmp_path_factory):
    out = tmp_path_factory.mktemp("joint") / "model"
    bench.train(out, stages=[JOINT])
    return out


def weights(model):
    return {name: each.clone() for name, each in model.network.state_dict().items()}


def test_a_task_by_itself_starts_where_joint_training_ended(bench, joint):
    model, prepared = bench.fresh(start=str(joint), tasks={"names": NAMES}, stages=[ALONE])
    mine, theirs = weights(model), weights(folder.load(joint, device="cpu"))
    assert mine
    assert all(each.equal(theirs[name]) for name, each in mine.items())
    assert prepared.remarks[-1] == f"starting from {joint}; anew: nothing"


def test_a_head_of_another_kind_or_task_begins_anew(bench, joint):
    tasks = {"names": LABELLED, "other": NAMES}
    stage = JOINT | {"tasks": ["names", "other"]}
    model, prepared = bench.fresh(start=str(joint), tasks=tasks, stages=[stage])
    plain = weights(bench.fresh(tasks=tasks, stages=[stage])[0])
    earlier = weights(folder.load(joint, device="cpu"))
    for name, each in weights(model).items():
        expected = plain if name.startswith("heads.") else earlier
        assert each.equal(expected[name]), name
    assert prepared.remarks[-1] == f"starting from {joint}; anew: names, other"


def test_a_level_of_another_size_begins_anew(bench, joint):
    levels = [{"name": "context", "rnn": "lstm", "size": 9}]
    remark = bench.fresh(start=str(joint), levels=levels)[1].remarks[-1]
    assert remark == f"starting from {joint}; anew: context, steps"


def test_another_trunk_is_refused(bench, joint):
    trunk = [{"transformer": str(bench.home / "encoder")}, {"casing": 4}]
    with pytest.raises(ModelError, match=r"another trunk .* trunk.1.table.weight: .*, got None"):
        bench.fresh(start=str(joint), trunk=trunk)


def test_what_is_no_model_is_refused(bench):
    with pytest.raises(ModelError, match="no manifest.json"):
        bench.fresh(start=str(bench.home / "encoder"))


def test_a_run_can_go_on_from_a_model(bench, joint, tmp_path):
    said = bench.train(tmp_path / "alone", start=str(joint), tasks={"names": NAMES}, stages=[ALONE])
    assert f"starting from {joint}; anew: nothing" in said
    assert list(folder.load(tmp_path / "alone", device="cpu").tasks) == ["names"]
