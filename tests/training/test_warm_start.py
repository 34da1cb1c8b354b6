"""Weights of an earlier model: what is taken, what begins anew, what is refused."""

import shutil

import pytest

from spanloom.errors import ModelError, RecipeError
from spanloom.model import serialization

JOINT = {"tasks": ["steps", "names"], "epochs": 1, "batch_words": 40, "precision": "fp32"}
ALONE = JOINT | {"tasks": ["names"]}
NAMES = {"data": "corpus", "kind": "entities", "hidden_size": 16}
LABELLED = {"data": "corpus", "kind": "relations", "level": "context", "hidden_size": 16}


@pytest.fixture(scope="module")
def joint(bench, tmp_path_factory):
    out = tmp_path_factory.mktemp("joint") / "model"
    bench.train(out, stages=[JOINT])
    return out


def weights(model):
    return {name: each.clone() for name, each in model.network.state_dict().items()}


def test_a_task_by_itself_starts_where_joint_training_ended(bench, joint):
    model, prepared = bench.fresh(init_from=str(joint), tasks={"names": NAMES}, stages=[ALONE])
    mine, theirs = weights(model), weights(serialization.load(joint, device="cpu"))
    assert mine
    assert all(each.equal(theirs[name]) for name, each in mine.items())
    assert prepared.notes[-1] == f"starting from {joint}; anew: nothing"


def test_a_head_of_another_kind_or_task_begins_anew(bench, joint):
    tasks = {"names": LABELLED, "other": NAMES}
    stage = JOINT | {"tasks": ["names", "other"]}
    model, prepared = bench.fresh(init_from=str(joint), tasks=tasks, stages=[stage])
    earlier = weights(serialization.load(joint, device="cpu"))
    for name, each in weights(model).items():
        if not name.startswith("heads."):
            assert each.equal(earlier[name]), name
        elif name in earlier and each.ndim > 1:
            assert not each.equal(earlier[name]), name
    assert prepared.notes[-1] == f"starting from {joint}; anew: names, other"


def test_a_level_of_another_size_begins_anew(bench, joint):
    levels = [{"name": "context", "rnn": "lstm", "hidden_size": 9}]
    remark = bench.fresh(init_from=str(joint), levels=levels)[1].notes[-1]
    assert remark == f"starting from {joint}; anew: context, steps"


def test_other_embedders_are_refused(bench, joint):
    trunk = [{"transformer": str(bench.home / "encoder")}, {"casing": 4}]
    with pytest.raises(RecipeError, match=r"trunk: expected the embedders of .*, got .*casing"):
        bench.fresh(init_from=str(joint), trunk=trunk)


def test_an_embedder_of_another_size_is_refused(bench, joint):
    trunk = [{"transformer": str(bench.home / "encoder"), "casing_embeddings": True}]
    with pytest.raises(
        RecipeError, match=r"differs in casing_embedding.weight: expected shape None, got"
    ):
        bench.fresh(init_from=str(joint), trunk=trunk)


def test_another_encoder_than_the_earlier_models_is_refused(bench, joint, tmp_path):
    (spec,) = serialization.load_recipe(joint).trunk
    shutil.copytree(bench.home / "encoder", tmp_path / "other")
    named = [{"transformer": str(tmp_path / "other")}]
    with pytest.raises(RecipeError, match=r"transformer: expected '.*encoder', as in .*, got"):
        bench.fresh(init_from=str(joint), trunk=named)
    smaller = [{"transformer": spec.options["transformer"], "num_layers": 1}]
    with pytest.raises(ModelError, match=r"num_layers: expected 2, .*, got 1"):
        bench.fresh(init_from=str(joint), trunk=smaller)


def test_an_alphabet_is_the_earlier_models(bench, tmp_path):
    """What an embedder collected from other data goes with its weights."""
    trunk = [{"characters": "cnn", "num_filters": 4, "embedding_dim": 3}]
    changes = {"trunk": trunk, "tasks": {"names": NAMES}, "stages": [ALONE], "levels": []}
    bench.train(tmp_path / "first", **changes)
    shutil.copytree(bench.home / "corpus", bench.home / "upper")
    for path in (bench.home / "upper").rglob("*.txt"):
        path.write_text(path.read_text().upper())
    again = changes | {"tasks": {"names": NAMES | {"data": "upper"}}}
    model = bench.fresh(init_from=str(tmp_path / "first"), **again)[0]
    earlier = serialization.load(tmp_path / "first", device="cpu")
    assert model.network.trunk[0].extra_files() == earlier.network.trunk[0].extra_files()
    assert (
        bench.fresh(**again)[0].network.trunk[0].extra_files()
        != earlier.network.trunk[0].extra_files()
    )
    shutil.rmtree(bench.home / "upper")


def test_each_task_takes_its_own_vector(bench, tmp_path):
    tags = {"data": "corpus", "kind": "sequence_tagging"}
    stage = JOINT | {"tasks": ["first", "second"]}
    shared = {"sharing": "task-embedding", "levels": [], "stages": [stage]}
    bench.train(tmp_path / "both", **shared, tasks={"first": tags, "second": tags})
    tasks = {"new": tags, "second": tags, "first": tags}
    stages = [JOINT | {"tasks": ["new", "first"]}]
    model, prepared = bench.fresh(
        init_from=str(tmp_path / "both"), **(shared | {"stages": stages}), tasks=tasks
    )
    vectors = serialization.load(tmp_path / "both", device="cpu").network.task_embeddings.weight
    assert model.network.task_embeddings.weight[1:].equal(vectors.flip(0))
    assert prepared.notes[-1].endswith("anew: vector of new")


def test_a_shared_head_of_other_labels_begins_anew(bench, tmp_path):
    tags = {"data": "corpus", "kind": "sequence_tagging"}
    shared = {"sharing": "shared-head", "levels": []}
    before = {"tasks": {"first": tags}, "stages": [JOINT | {"tasks": ["first"]}]}
    bench.train(tmp_path / "first", **shared, **before)
    stages = [JOINT | {"tasks": ["second"]}]
    for scheme, anew in (("BIOES", "nothing"), ("BIO", "tags")):
        tasks = {"second": tags | {"scheme": scheme}}
        after = shared | {"tasks": tasks, "stages": stages}
        prepared = bench.fresh(init_from=str(tmp_path / "first"), **after)[1]
        assert prepared.notes[-1].endswith(f"anew: {anew}")


def test_what_is_no_model_is_refused(bench):
    with pytest.raises(ModelError, match="no manifest.json"):
        bench.fresh(init_from=str(bench.home / "encoder"))


def test_a_run_can_go_on_from_a_model(bench, joint, tmp_path):
    said = bench.train(
        tmp_path / "alone", init_from=str(joint), tasks={"names": NAMES}, stages=[ALONE]
    )
    assert f"starting from {joint}; anew: nothing" in said
    assert list(serialization.load(tmp_path / "alone", device="cpu").tasks) == ["names"]
