"""Which runs a study needs, and what each measures."""

import json
from collections import Counter
from copy import deepcopy
from dataclasses import replace
from hashlib import sha256

import pytest
from made_rows import RECIPES, make_row, rows_reader

from spanloom.config import recipe as recipes
from spanloom.config import yaml
from spanloom.errors import DataError, RecipeError
from spanloom.studies import designs
from spanloom.studies.baseline import baseline_and_control
from spanloom.studies.designs import plan
from spanloom.studies.job import Job, _encoder_hash, build_job, data_hash, subset
from spanloom.studies.row import given_gold
from spanloom.studies.split_checks import check_splits

SHARED = RECIPES.parent / "ten-layers-shared.yaml"
SINGLE, JOINT, PAIRS = {"design": "single"}, {"design": "joint"}, {"design": "pairs"}
ALL_BUT_ONE = {"design": "all-but-one"}


def planned(study, rows=None):
    return plan(study, RECIPES, rows_reader(rows or {}))


def learnt(job):
    return tuple(job.recipe["stages"][0]["tasks"])


@pytest.mark.parametrize(
    ("designs", "num_jobs", "num_cells"),
    [
        ([SINGLE], 3, 3),
        ([JOINT], 1, 3),
        ([PAIRS], 3, 6),
        ([ALL_BUT_ONE], 3, 6),
        ([PAIRS, ALL_BUT_ONE], 3, 12),  # of three tasks, all but one are a pair
        ([SINGLE, JOINT, {"design": "joint-then-single"}], 7, 9),
        ([{"design": "chains", "orders": [["pos", "ner", "dep"], ["pos", "dep"]]}], 4, 2),
        ([{"design": "subsets", "sets": [["pos", "ner", "dep"]]}, JOINT], 1, 6),
        ([{"design": "curve", "examples": [3, "10%"]}], 6, 6),
        ([{"design": "curve", "examples": [3], "of": "joint"}], 1, 3),
        ([{"design": "curve", "examples": [3], "of": "joint", "limited": "measured"}], 3, 3),
        ([SINGLE, {"design": "single-then-single"}], 6, 6),
        ([SINGLE, PAIRS, {"design": "pairs-then-single"}], 12, 15),
        ([{"design": "joint-then-single", "heads": ["kept", "reset"]}], 7, 6),
        ([{"design": "curve", "examples": [3, 9], "tasks": ["dep"]}], 2, 2),
        ([{"design": "curve", "examples": [3], "of": "joint", "tasks": ["dep"]}], 1, 1),
        (
            [
                {
                    "design": "grid",
                    "options": {"sharing": ["separate-heads", "task-token"], "window": [32, 64]},
                }
            ],
            12,
            12,
        ),
        ([{"design": "grid", "tasks": ["dep"], "options": {"window": [32, 64]}}], 2, 2),
        ([{"design": "grid", "tasks": ["dep"], "of": "joint", "options": {"window": [32]}}], 1, 1),
    ],
)
def test_runs_that_several_designs_need_are_planned_once(study, designs, num_jobs, num_cells):
    study_plan = planned(study(designs))
    assert (len(study_plan.jobs), len(study_plan.cells)) == (num_jobs, num_cells)
    assert len({cell.job.key for cell in study_plan.cells} - study_plan.jobs.keys()) == 0


def test_seeds_sharing_modes_and_trunks_multiply_the_runs(study):
    trunks = {"a": [{"casing": 4}], "b": [{"casing": 8}]}
    sharing = ["separate-heads", "task-token"]
    study_plan = planned(
        study([JOINT], tasks=["ner", "pos"], seeds=[1, 2, 3], trunks=trunks, sharing=sharing)
    )
    assert len(study_plan.jobs) == 12
    assert Counter(job.recipe["sharing"] for job in study_plan.jobs.values()) == dict.fromkeys(
        sharing, 6
    )
    assert {job.recipe["seed"] for job in study_plan.jobs.values()} == {1, 2, 3}


def test_a_grid_sets_values_of_several_levels(study):
    trunk = [{"casing": 4}, {"characters": "cnn", "ngram_sizes": [3, 5]}]
    grid = {"design": "grid", "tasks": ["ner"], "options": {"trunk": [trunk]}}
    (cell,) = planned(study([grid])).cells
    assert cell.job.recipe["trunk"] == trunk


def test_a_grid_sets_a_mapping(study):
    grid = {
        "design": "grid",
        "tasks": ["ner"],
        "options": {"stages.0.lr": [{"task": 0.5, "encoder": 0}]},
    }
    (cell,) = planned(study([grid])).cells
    assert cell.job.recipe["stages"][0]["lr"]["task"] == 0.5


def test_a_run_has_only_what_its_tasks_need(study):
    (job,) = (cell.job for cell in planned(study([SINGLE])).cells if cell.task == "ner")
    assert list(job.recipe["tasks"]) == ["ner"]
    assert learnt(job) == ("ner",)
    assert not job.recipe["stages"][0]["save_best_per_task"]
    (joint,) = planned(study([JOINT])).jobs.values()
    assert joint.recipe["stages"][0]["save_best_per_task"]


def test_shared_weights_make_other_runs_only_where_tasks_are_joint(study):
    own, shared = (planned(study([SINGLE, JOINT], weights=w)) for w in ("own", "shared"))
    singles = {key for key, job in own.jobs.items() if len(job.tasks) == 1}
    assert len(singles) == 3
    assert own.jobs.keys() & shared.jobs.keys() == singles
    assert {job.weights for job in shared.jobs.values()} == {"shared"}


def test_a_study_of_dev_takes_a_run_that_was_scored_on_test(study):
    on_dev, on_test = (planned(study([SINGLE], score=split)).jobs for split in ("dev", "test"))
    assert not on_dev.keys() & on_test.keys()
    (scored,) = (job for job in on_test.values() if job.tasks == ("ner",))
    keys = planned(study([SINGLE], score="dev"), {scored.key: make_row(scored, {"ner": 0.5})}).jobs
    assert len(keys) == 3
    assert keys.keys() & on_test.keys() == {scored.key}
    (own,) = (job for job in on_dev.values() if job.tasks == ("ner",))
    rows = {job.key: make_row(job, {"ner": 0.5}) for job in (own, scored)}
    assert planned(study([SINGLE], score="dev"), rows).jobs.keys() == on_dev.keys()


def test_settings_reach_their_runs_alone(study):
    own = {"ner": ["stages.0.epochs=7"]}
    study_plan = planned(
        study([SINGLE | {"settings": ["stages.0.epochs=5"], "task_settings": own}, JOINT])
    )
    epochs = {learnt(job): job.recipe["stages"][0]["epochs"] for job in study_plan.jobs.values()}
    assert epochs == {("pos",): 5, ("ner",): 7, ("dep",): 5, ("pos", "dep", "ner"): 2}


def test_chains_share_their_beginnings(study):
    orders = [["pos", "ner", "dep"], ["pos", "ner"]]
    long, short = planned(study([{"design": "chains", "orders": orders}])).cells
    assert long.job.before == short.job
    assert long.job.recipe["init_from"] == short.job.key
    assert (long.partners, long.condition) == (("pos", "ner"), "after pos > ner")


def test_a_link_with_another_trunk_than_the_one_before_is_refused_at_once(study):
    trunk = "trunk=[{casing: 4}, {characters: cnn}]"
    chain = {"design": "chains", "orders": [["pos", "dep", "ner"]]}
    problem = r"trunk: expected casing: 4, characters: cnn, as in the run that it goes on from, got"
    with pytest.raises(RecipeError, match=problem):
        planned(study([chain | {"task_settings": {"pos": [trunk], "dep": [trunk]}}]))
    (cell,) = planned(study([chain | {"settings": [trunk]}])).cells
    assert cell.job.recipe["trunk"] == cell.job.before.before.recipe["trunk"]


def test_after_a_pair_each_of_its_tasks_goes_on_alone(study):
    tuned = {"design": "pairs-then-single", "settings": ["stages.0.epochs=3"]}
    cells = planned(study([PAIRS | {"settings": ["stages.0.epochs=5"]}, tuned])).cells
    pairs = {cell.job.key: learnt(cell.job) for cell in cells if cell.design == "pairs"}
    after = [cell for cell in cells if cell.design == "pairs-then-single"]
    assert len(pairs) == 3
    assert len({cell.job.key for cell in after}) == 6
    for cell in after:
        assert learnt(cell.job) == (cell.task,)
        assert {*pairs[cell.job.before.key]} == {cell.task, *cell.partners}
        assert cell.condition == f"with {cell.partners[0]}, then alone"
        assert cell.job.recipe["stages"][0]["epochs"] == 3
        assert cell.job.before.recipe["stages"][0]["epochs"] == 5


def test_a_task_goes_on_from_its_own_run_with_the_settings_of_each(study):
    again = {"design": "single-then-single", "task_settings": {"ner": ["stages.0.epochs=3"]}}
    single = SINGLE | {"task_settings": {"ner": ["stages.0.epochs=5"]}}
    cells = planned(study([single, again])).cells
    alone, control = (next(c for c in cells if (c.design, c.task) == (name, "ner"))
                      for name in ("single", "single-then-single"))  # fmt: skip
    assert control.job.before == alone.job
    epochs = [cell.job.recipe["stages"][0]["epochs"] for cell in (alone, control)]
    assert (epochs, control.partners) == ([5, 3], ())


def test_a_new_head_alone_is_the_control_of_one_after_joint_training(study):
    again = {"design": "single-then-single", "heads": ["kept", "reset"]}
    tuned = {"design": "joint-then-single", "heads": ["kept", "reset"]}
    cells = planned(study([SINGLE, JOINT, tuned, again])).cells
    of_ner = {cell.condition: cell for cell in cells if cell.task == "ner"}
    reset = of_ner["single-then-single, new head"]
    assert [*reset.job.recipe["stages"][0]["reset_heads"]] == ["ner"]
    assert reset.job.before.key == of_ner["single"].job.key
    groups = [[cell] for cell in of_ner.values()]
    for heads in ("", ", new head"):
        _, (control,) = baseline_and_control([of_ner[f"joint-then-single{heads}"]], groups, [])
        assert control.condition == f"single-then-single{heads}"
    _, (control,) = baseline_and_control(
        [of_ner["joint-then-single, new head"]], [g for g in groups if g[0] is not reset], []
    )
    assert control.condition == "single-then-single"


def test_tasks_may_have_further_seeds_alone(study):
    single = SINGLE | {"task_seeds": {"ner": [2, 3]}}
    cells = planned(study([single, JOINT, PAIRS])).cells
    seeds = Counter((cell.design, cell.task, cell.variant.seed) for cell in cells)
    assert {seed for design, task, seed in seeds if (design, task) == ("single", "ner")} == {
        1,
        2,
        3,
    }
    assert {seed for design, task, seed in seeds if (design, task) != ("single", "ner")} == {1}
    assert max(seeds.values()) == 2  # each task is in two pairs


def test_the_head_of_a_task_is_kept_or_starts_anew(study):
    tuned = {"design": "joint-then-single", "heads": ["kept", "reset"]}
    cells = [c for c in planned(study([JOINT, tuned])).cells if c.task == "ner"][1:]
    assert [(c.condition, c.job.recipe["stages"][0]["reset_heads"]) for c in cells] == [
        ("joint-then-single", ()),
        ("joint-then-single, new head", ("ner",)),
    ]


def test_a_curve_of_pairs_has_the_partners_that_are_named(study):
    curve = {"design": "curve", "of": "pairs", "limited": "measured", "examples": [3]}
    cells = planned(study([curve | {"partners": {"ner": ["pos"], "dep": ["ner", "pos"]}}])).cells
    assert {(cell.task, cell.partners) for cell in cells} == {
        ("ner", ("pos",)),
        ("dep", ("ner",)),
        ("dep", ("pos",)),
    }
    for cell in cells:
        examples = {name: task["examples"] for name, task in cell.job.recipe["tasks"].items()}
        assert examples == {cell.task: 3, cell.partners[0]: None}


def test_a_key_that_reads_as_a_number_is_a_name(study, monkeypatch):
    key = "5794347930e21291"
    monkeypatch.setattr(designs, "build_job", lambda *parts: replace(build_job(*parts), key=key))
    (cell,) = planned(study([{"design": "chains", "orders": [["pos", "ner"]]}])).cells
    assert cell.job.recipe["init_from"] == key


def test_a_link_of_a_chain_may_be_learnt_jointly(study):
    orders = [[["ner", "pos"], "ner"], ["pos", ["dep", "ner"]]]
    cells = planned(study([{"design": "chains", "orders": orders}, PAIRS])).cells
    tuned, dep, ner, *pairs = cells
    assert tuned.job.before.key in {cell.job.key for cell in pairs}
    assert (tuned.task, tuned.condition, tuned.partners) == ("ner", "after ner+pos", ("pos",))
    assert (dep.task, dep.condition, dep.partners) == ("dep", "dep+ner after pos", ("pos", "ner"))
    assert (ner.condition, learnt(ner.job)) == ("dep+ner after pos", ("dep", "ner"))
    assert learnt(ner.job.before) == ("pos",)


def test_a_chain_may_end_with_fewer_examples(study):
    chain = {"design": "chains", "orders": [["pos", "ner"]], "examples": [3, "10%"]}
    cells = planned(study([chain])).cells
    assert [cell.condition for cell in cells] == [
        "after pos, 3 examples",
        "after pos, 10% examples",
    ]
    assert [cell.job.recipe["tasks"]["ner"]["examples"] for cell in cells] == [3, "10%"]
    assert len({cell.job.before.key for cell in cells}) == 1  # the beginning is trained once
    assert cells[0].job.before.recipe["tasks"]["pos"]["examples"] is None


def test_the_seeds_of_a_last_link_may_share_their_beginning(study):
    chain = {"design": "chains", "orders": [["pos", "dep", "ner"]], "prefix_seed": 2}
    cells = planned(study([chain], seeds=[1, 2, 3])).cells
    assert [cell.job.recipe["seed"] for cell in cells] == [1, 2, 3]
    assert [cell.variant.seed for cell in cells] == [1, 2, 3]
    assert len({cell.job.key for cell in cells}) == 3
    (prefix,) = {cell.job.before.key for cell in cells}
    assert {cell.job.before.before.recipe["seed"] for cell in cells} == {2}
    own = planned(study([{**chain, "prefix_seed": None}], seeds=[2])).cells
    assert own[0].job.before.key == prefix
    assert own[0].job.key == cells[1].job.key


@pytest.mark.parametrize("num_splits", [1, 3])
def test_no_seed_of_a_last_link_is_scored_on_what_its_beginning_learnt(study, tmp_path, num_splits):
    text = {"train": ("a", "b"), "dev": ("c",), "test": ("d",)}
    for split, names in [*text.items()][:num_splits]:
        for name in names:
            folder = tmp_path / "own" / split if num_splits > 1 else tmp_path / "own"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.txt").write_text("Ada slept.\n")
            (folder / f"{name}.ann").write_text("T1\tName 0 3\tAda\n")
    base = yaml.load(RECIPES / "tiny-joint.yaml").data
    base["tasks"]["ner"] = {**base["tasks"]["ner"], "data": str(tmp_path / "own"), "layer": "main"}
    (tmp_path / "base.yaml").write_text(json.dumps(base))
    chain = {"design": "chains", "orders": [[["pos", "ner"], "ner"]]}

    def check(**keys):
        read = study([{**chain, **keys}], recipe=str(tmp_path / "base.yaml"), seeds=[1, 2])
        check_splits(read, plan(read, RECIPES, rows_reader({})).cells, RECIPES)

    check()
    if num_splits == 3:
        check(prefix_seed=1)
    else:
        with pytest.raises(DataError, match="own has no dev split, .* seed 1 have learnt from"):
            check(prefix_seed=1)


def test_a_key_follows_from_what_decides_the_result(study, tmp_path):
    def key(**keys):
        (job,) = planned(study([JOINT], **keys)).jobs.values()
        return job.key

    assert key() == key()
    assert key() == key(tasks=["dep", "ner", "pos"])  # their order in the recipe is what counts
    others = [
        {"seeds": [2]},
        {"settings": ["stages.0.epochs=3"]},
        {"score": "test"},
        {"tasks": ["pos"]},
    ]
    assert len({key(), *(key(**changes) for changes in others)}) == 5


def test_other_data_give_another_key(study, tmp_path):
    corpus = RECIPES.parents[1] / "fixtures/tiny/analyses"
    keys = []
    for text in ("", "\n"):
        for path in corpus.iterdir():
            (tmp_path / text.replace("\n", "x") / path.name).parent.mkdir(exist_ok=True)
            data = path.read_bytes() + (text.encode() if "train" in path.name else b"")
            (tmp_path / text.replace("\n", "x") / path.name).write_bytes(data)
        folder = tmp_path / text.replace("\n", "x") if text else tmp_path
        (job,) = planned(
            study([JOINT], tasks=["ner"], settings=[f"tasks.ner.data={folder}"])
        ).jobs.values()
        keys.append(job.key)
    assert keys[0] != keys[1]


def test_other_word_vectors_give_another_key(study, tmp_path):
    corpus = RECIPES.parents[1] / "fixtures/tiny/analyses"
    trunk = {"words": [{"static": "vectors.txt"}]}
    read = study([JOINT], tasks=["ner"], settings=[f"tasks.ner.data={corpus}"], trunks=trunk)
    keys = []
    for row in ("a 1.0 2.0", "a 1.0 2.0", "a 1.0 2.5"):
        data = tmp_path / str(len(keys))
        data.mkdir()
        (data / "vectors.txt").write_text(row + "\n")
        keys += plan(read, data, rows_reader({})).jobs
    assert keys[0] == keys[1] != keys[2]


def test_a_folder_named_like_the_encoder_changes_no_key(study, tmp_path, monkeypatch):
    trunk = {"encoder": [{"transformer": "minilm"}, {"characters": "cnn"}]}
    read = study([JOINT], tasks=["ner"], trunks=trunk)
    monkeypatch.chdir(tmp_path)
    before = planned(read).jobs
    for name in ("minilm", "cnn"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    assert planned(read).jobs.keys() == before.keys()


def test_a_wrong_option_of_an_embedder_is_told(study):
    with pytest.raises(RecipeError, match=r"trunk\.0\.static: expected a valid string, got 5"):
        planned(study([JOINT], trunks={"words": [{"static": 5}]}))


def test_points_of_a_curve_and_a_grid_have_the_settings_of_the_task_alone(study):
    single = SINGLE | {"task_settings": {"ner": ["stages.0.epochs=7"]}}
    curve = {"design": "curve", "examples": [3]}
    grid = {"design": "grid", "options": {"window": [32]}}
    cells = [cell for cell in planned(study([single, curve, grid])).cells if cell.task == "ner"]
    assert [cell.job.recipe["stages"][0]["epochs"] for cell in cells] == [7, 7, 7]


def test_a_run_of_all_but_one_tells_the_oracle_its_settings(study):
    joint = JOINT | {"settings": ["stages.0.epochs=7"]}
    designs = [SINGLE, joint, ALL_BUT_ONE, {"design": "oracle", "of": ["all-but-one"]}]
    read = study(designs, tasks=["pos", "ner"])
    jobs = planned(read).jobs
    rows = {k: make_row(job, dict.fromkeys(job.tasks, len(job.tasks))) for k, job in jobs.items()}
    oracle = [cell for cell in planned(read, rows).cells if cell.design == "oracle"]
    assert [learnt(cell.job) for cell in oracle] == [("pos", "ner")] * 2
    assert {cell.job.recipe["stages"][0]["epochs"] for cell in oracle} == {7}


def test_jobs_survive_the_way_to_a_worker(study):
    chain = {"design": "chains", "orders": [["pos", ["ner", "dep"]]]}
    study_plan = planned(study([chain]))
    for each_job in study_plan.jobs.values():
        assert Job.from_json(each_job.to_json()) == each_job


HELPED = {  # dev scores by what is learnt: ner gains from pos, dep from both, pos from none
    ("pos",): {"pos": 0.9},
    ("ner",): {"ner": 0.5},
    ("dep",): {"dep": 0.5},
    ("pos", "ner"): {"pos": 0.8, "ner": 0.6},
    ("pos", "dep"): {"pos": 0.9, "dep": 0.6},
    ("dep", "ner"): {"ner": 0.4, "dep": 0.7},
    ("pos", "dep", "ner"): {"pos": 0.7, "ner": 0.7, "dep": 0.7},
}


def rows_of(study_plan, scores):
    return {key: make_row(job, scores[learnt(job)]) for key, job in study_plan.jobs.items()}


def test_files_behind_links_are_part_of_the_data(tmp_path):
    for name in ("kept", "corpus"):
        (tmp_path / name).mkdir()
    (tmp_path / "kept" / "a.txt").write_text("a")
    (tmp_path / "corpus" / "train").symlink_to(tmp_path / "kept")
    (tmp_path / "kept" / "round").symlink_to(tmp_path / "corpus")
    hashes = []
    for text in ("a", "b"):
        (tmp_path / "kept" / "a.txt").write_text(text)
        data_hash.cache_clear()
        hashes.append(data_hash(tmp_path / "corpus"))
    assert len(set(hashes)) == 2


def test_a_folders_hash_is_of_the_names_and_bytes_of_its_files_in_order(tmp_path):
    for name in ("b/x", "b.c/x", "b-a", "a/é/z", "B"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name * 3)
    lines = [
        f"{path.relative_to(tmp_path).as_posix()}\0{sha256(path.read_bytes()).hexdigest()}\n"
        for path in sorted(tmp_path.rglob("*"))
        if path.is_file()
    ]
    assert data_hash(tmp_path) == sha256("".join(lines).encode()).hexdigest()
    (line,) = [line for line in lines if line.startswith("B\0")]
    assert data_hash(tmp_path / "B") == sha256(f".{line[1:]}".encode()).hexdigest()


def test_an_encoder_that_was_trained_again_is_the_same_one(tmp_path):
    """Its folder keeps the speed of the run, which differs; weights that differ count."""
    hashes = []
    for times, weights in (("1 s", "a"), ("2 s", "a"), ("2 s", "b")):
        (tmp_path / "pretraining.json").write_text(times)
        (tmp_path / "manifest.json").write_text(times)
        (tmp_path / "model.safetensors").write_text(weights)
        data_hash.cache_clear()
        hashes.append(_encoder_hash(tmp_path))
    assert hashes[0] == hashes[1] != hashes[2]
    (tmp_path / "pretraining.json").unlink()  # another folder, all of which counts
    assert _encoder_hash(tmp_path) == data_hash(tmp_path)


def test_an_oracle_learns_with_the_tasks_that_help(study):
    designs = [SINGLE, PAIRS, {"design": "oracle"}]
    first = planned(study(designs))
    assert first.waiting == ("oracle",)
    study_plan = planned(study(designs), rows_of(first, HELPED))
    oracle = {cell.task: learnt(cell.job) for cell in study_plan.cells if cell.design == "oracle"}
    assert oracle == {"pos": ("pos",), "ner": ("pos", "ner"), "dep": ("pos", "dep", "ner")}
    assert study_plan.waiting == ()


def test_an_oracle_waits_for_the_pairs_of_its_own_task_alone(study):
    designs = [SINGLE, PAIRS, {"design": "oracle"}]
    rows = rows_of(planned(study(designs)), HELPED)
    for missing, done in (({"pos", "ner"}, {"dep"}), ({"dep"}, {"pos", "ner"})):
        known = {key: row for key, row in rows.items() if row.scores.keys() != missing}
        study_plan = planned(study(designs), known)
        assert {cell.task for cell in study_plan.cells if cell.design == "oracle"} == done
        assert study_plan.waiting == ("oracle",)


def test_an_oracle_of_both_sees_who_is_missed(study):
    both = {"design": "oracle", "of": ["pairs", "all-but-one"]}
    designs = [SINGLE, JOINT, PAIRS, ALL_BUT_ONE, both]
    first = planned(study(designs))
    study_plan = planned(study(designs), rows_of(first, HELPED))
    oracle = {cell.task: learnt(cell.job) for cell in study_plan.cells if cell.design == "oracle"}
    # without dep ner falls from 0.7 to 0.6, without ner dep from 0.7 to 0.6; pos never gains
    assert oracle == {"pos": ("pos",), "ner": ("pos", "dep", "ner"), "dep": ("pos", "dep", "ner")}


def test_an_oracle_reads_the_designs_without_a_label_and_may_have_one(study):
    labelled = [
        {"design": name, "label": "wide", "settings": ["window=128"]}
        for name in ("single", "pairs")
    ]
    designs = [SINGLE, PAIRS, *labelled, {"design": "oracle"}, {"design": "oracle", "label": "new"}]
    designs[-1]["settings"] = ["stages.0.epochs=7"]
    first = planned(study(designs))
    better = {names: {name: 0.99 for name in names} for names in HELPED}
    rows = {
        key: make_row(job, (HELPED if job.recipe["window"] != 128 else better)[learnt(job)])
        for key, job in first.jobs.items()
    }
    cells = [cell for cell in planned(study(designs), rows).cells if cell.design == "oracle"]
    assert Counter(cell.condition for cell in cells) == {"oracle": 3, "oracle, new": 3}
    assert {cell.task: learnt(cell.job) for cell in cells}["ner"] == ("pos", "ner")
    with pytest.raises(RecipeError, match="needs the design 'single' without a label"):
        study([*labelled, PAIRS, {"design": "oracle"}])


def test_two_runs_of_one_condition_are_told_and_no_seeds(study):
    with pytest.raises(RecipeError, match="2 times the condition 'joint' of task 'pos'"):
        planned(study([SINGLE, JOINT, {"design": "joint", "settings": ["window=32"]}]))
    with pytest.raises(RecipeError, match=r"in pos\+ner"):
        planned(study([{"design": "subsets", "sets": [["pos", "ner"], ["ner", "pos"]]}]))
    alone = planned(study([{"design": "subsets", "sets": [["pos"], ["ner"]]}]))
    assert {cell.condition for cell in alone.cells} == {"alone"}  # a column, not one a task


def test_a_task_that_runs_on_request_is_learnt_alone(study):
    (job,) = planned(study([SINGLE], tasks=["ner"], settings=[])).jobs.values()
    asked = {**job.recipe, "tasks": {"ner": {**job.recipe["tasks"]["ner"], "on_request": True}}}
    assert subset(asked, ["ner"], (), "one").tasks["ner"].on_request is False


def test_span_layers_that_no_task_reads_are_left_out():
    base = recipes.to_plain(recipes.load(SHARED))
    (layer,) = base["span_layers"]
    readers = {name for name, task in base["tasks"].items() if task.get("span_layer")}
    assert 0 < len(readers) < len(base["tasks"])
    for name in base["tasks"]:
        kept = subset(base, [name], (), name).span_layers
        assert [spec.name for spec in kept] == [layer["name"]] * (name in readers)


def test_a_teacher_of_several_tasks_teaches_those_that_are_learnt(study):
    (job,) = planned(study([SINGLE], tasks=["ner"], settings=[])).jobs.values()
    base = deepcopy(job.recipe)
    base["tasks"]["other"] = deepcopy(base["tasks"]["ner"])
    (stage,) = base["stages"]
    teacher = {"model": "large", "tasks": ["ner"], "weight": 0.5}
    taught = {**base, "stages": [{**stage, "tasks": ["ner", "other"], "teacher": teacher}]}
    both = subset(taught, ["ner", "other"], (), "both").stages[0].teacher
    assert both is not None
    assert both.tasks == ("ner",)
    assert subset(taught, ["ner"], (), "one").stages[0].teacher == both
    assert subset(taught, ["other"], (), "one").stages[0].teacher is None


def test_what_helps_with_one_seed_only_is_no_help(study):
    designs = [SINGLE, PAIRS, {"design": "oracle"}]
    first = planned(study(designs, tasks=["pos", "ner"], seeds=[1, 2, 3]))
    gains = {1: 0.1, 2: -0.05, 3: 0.02}
    rows = {
        key: make_row(
            job, {t: 0.5 + (len(job.tasks) > 1) * gains[job.recipe["seed"]] for t in job.tasks}
        )
        for key, job in first.jobs.items()
    }
    study_plan = planned(study(designs, tasks=["pos", "ner"], seeds=[1, 2, 3]), rows)
    oracle = {learnt(cell.job) for cell in study_plan.cells if cell.design == "oracle"}
    assert oracle == {("pos",), ("ner",)}


def test_a_default_written_out_leaves_the_key(study):
    (default,), (written,) = (
        planned(study([JOINT], settings=settings)).jobs
        for settings in ([], ["stages.0.epoch_size=all-tasks", "window=64"])
    )
    assert default == written


def test_a_label_tells_equal_designs_apart_and_its_settings_make_other_runs(study):
    first = {"design": "joint", "label": "narrow", "settings": ["window=32"]}
    study_plan = planned(study([SINGLE, JOINT, first]))
    conditions = Counter(cell.condition for cell in study_plan.cells)
    assert conditions == {"single": 3, "joint": 3, "joint, narrow": 3}
    windows = {cell.condition: cell.job.recipe["window"] for cell in study_plan.cells}
    assert windows["joint, narrow"] == 32 != windows["joint"]


def test_tasks_are_measured_with_gold_inputs_too_and_other_runs_keep_their_keys(study):
    plain = planned(study([SINGLE, JOINT]))
    given = planned(study([SINGLE, JOINT], gold_inputs=["ner"]))
    names = Counter((cell.task, cell.condition) for cell in given.cells)
    assert names[given_gold("ner"), "single"] == names["ner, gold inputs", "joint"] == 1
    assert len(given.cells) == len(plain.cells) + 2
    keys = {job.tasks: job.key for job in plain.jobs.values()}
    for job_ in given.jobs.values():
        assert (job_.key == keys[job_.tasks]) == ("ner" not in job_.tasks)
        assert Job.from_json(job_.to_json()) == job_
    with pytest.raises(RecipeError, match="gold_inputs.*no task 'nre'"):
        study([SINGLE], gold_inputs=["nre"])
