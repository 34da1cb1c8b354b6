"""The order of runs, and what happens when workers die or runs fail."""

from collections import Counter
from dataclasses import replace

import pytest
from made_rows import RECIPES, make_row

from spanloom.errors import StudyError
from spanloom.studies import execute
from spanloom.studies import job as jobs_module
from spanloom.studies import row as rows
from spanloom.studies.execute import Folders
from spanloom.studies.executors import open_executor
from spanloom.studies.run import MAX_DEATHS, read_rows, run
from spanloom.studies.worker import OUTCOME, Outcome

SINGLE, JOINT, PAIRS = {"design": "single"}, {"design": "joint"}, {"design": "pairs"}
CHAIN = {"design": "chains", "orders": [["pos", "ner", "dep"]]}


class FakeExecutor:
    """Ends jobs in the order in which they came; some die or fail."""

    def __init__(self, folders, size=2, deaths=(), failing=()):
        self.size, self.folders, self.failing = size, folders, failing
        self.deaths, self.running, self.started = Counter(deaths), [], []

    def start(self, job):
        assert len(self.running) < self.size
        assert job.before is None or rows.row_path(self.folders.results, job.before.key).exists()
        self.running.append(job)
        self.started.append(job.name)

    def wait(self):
        job = self.running.pop(0)
        if self.deaths[job.name]:
            self.deaths[job.name] -= 1
            return Outcome(job.key)
        if job.name in self.failing:
            return Outcome(job.key, error="a loss that is not finite")
        row = make_row(job, dict.fromkeys(job.tasks, 0.5))
        rows.save(row, self.folders.results)
        return Outcome(job.key, row=row)


@pytest.fixture
def folders(tmp_path):
    return Folders(RECIPES, tmp_path / "runs", tmp_path / "rows")


def name(*tasks, seed=1):
    return f"{'+'.join(tasks)}, seed {seed}"


def test_each_run_is_executed_once_and_never_again(study, folders):
    designs = [SINGLE, JOINT, PAIRS, {"design": "all-but-one"}]
    executor = FakeExecutor(folders)
    planned, study_rows = run(study(designs, seeds=[1, 2]), folders, executor, print)
    assert len(executor.started) == len(set(executor.started)) == len(study_rows) == 14
    assert study_rows.keys() == planned.jobs.keys()
    again = FakeExecutor(folders)
    run(study(designs, seeds=[1, 2]), folders, again, print)
    assert again.started == []


@pytest.mark.slow
def test_shared_weights_are_scored_and_each_tasks_own_beside_them(study, folders, monkeypatch):
    """Two models are saved; each is known by what a scorer that is replaced says of it."""
    settings = ["stages.0.epochs=1", "stages.0.precision=bf16"]
    shared = study([JOINT], tasks=["pos", "ner"], settings=settings, weights="shared")
    (job,) = read_rows(shared, folders)[0].jobs.values()
    real = execute.load
    origins, precisions = {}, set()

    def load(path, **options):
        model = real(path, **options)
        origins[id(model)] = path.name
        precisions.add(str(model.compute))
        return model

    def score(model, name, documents, log):
        is_own = origins[id(model)] == name
        return rows.SplitScore({"f1": 0.75 if is_own else 0.5})

    monkeypatch.setattr(execute, "load", load)
    monkeypatch.setattr(execute, "_score", score)
    row = execute.execute(job, folders, lambda line: None)
    assert {name: rows.primary_score(row, name, "dev") for name in job.tasks} == dict.fromkeys(
        job.tasks, 0.5
    )
    assert {splits["dev"].metrics["f1"] for splits in row.own_scores.values()} == {0.75}
    assert row.own_scores.keys() == set(job.tasks)
    assert precisions == {row.compute}  # that of training, not what suits the machine
    (saved,) = rows.Rows(folders.results).read([job.key]).values()
    assert saved.own_scores == row.own_scores


def test_a_new_design_trains_only_what_is_new(study, folders):
    run(study([SINGLE]), folders, FakeExecutor(folders), print)
    executor = FakeExecutor(folders)
    run(study([SINGLE, JOINT]), folders, executor, print)
    assert executor.started == [name("pos", "dep", "ner")]


def test_an_oracle_is_planned_when_its_rows_are_there(study, folders):
    designs = [SINGLE, PAIRS, {"design": "oracle"}]
    planned, _ = run(study(designs), folders, FakeExecutor(folders), print)
    assert planned.waiting == ()
    assert sum(cell.design == "oracle" for cell in planned.cells) == 3


def test_rows_of_earlier_code_are_known_by_their_names(study, folders, monkeypatch):
    read = study([SINGLE, JOINT])
    run(read, folders, FakeExecutor(folders), print)
    monkeypatch.setattr(jobs_module, "LEARNING", jobs_module.LEARNING + 1)
    run(study([JOINT]), folders, FakeExecutor(folders), print)
    assert [row.name for row in read_rows(read, folders)[1].values()] == [name("pos", "dep", "ner")]
    planned, known = read_rows(read, folders, any_version=True)
    assert known.keys() == planned.jobs.keys()
    assert all(row.name == planned.jobs[key].name for key, row in known.items())
    assert sum(row.key != key for key, row in known.items()) == 3  # joint has one of today


def test_a_row_of_own_weights_is_none_of_shared_ones(study, folders):
    run(study([JOINT]), folders, FakeExecutor(folders), print)
    shared = study([JOINT], weights="shared")
    assert read_rows(shared, folders, any_version=True)[1] == {}


def test_a_row_of_the_same_name_but_another_recipe_is_no_earlier_one(study, folders):
    """Names tell tasks, seed and settings alone; bases of studies differ, too."""
    other = study([SINGLE], tasks=["ner"])
    _, known = run(other, folders, FakeExecutor(folders), print)
    (row,) = known.values()
    changed = {**row.recipe, "window": row.recipe["window"] + 1}
    rows.save(replace(row, key="f" * 16, recipe=changed, date="2027-01-01"), folders.results)
    rows.row_path(folders.results, row.key).unlink()
    assert read_rows(other, folders, any_version=True)[1] == {}
    rows.save(replace(row, key="e" * 16), folders.results)
    ((_, earlier),) = read_rows(other, folders, any_version=True)[1].items()
    assert earlier.key == "e" * 16
    rows.save(replace(row, key="d" * 16), folders.results)  # of the same day: which is newer?
    assert read_rows(other, folders, any_version=True)[1] == {}


def test_a_row_of_earlier_code_may_have_no_scores_as_an_encoder_has_none(study, folders):
    other = study([SINGLE], tasks=["ner"])
    _, known = run(other, folders, FakeExecutor(folders), print)
    (row,) = known.values()
    rows.row_path(folders.results, row.key).unlink()
    for scores, taken in (({"ner": {}}, 1), ({"ner": {"test": row.scores["ner"]["dev"]}}, 0)):
        rows.save(replace(row, key="f" * 16, scores=scores), folders.results)
        assert len(read_rows(other, folders, any_version=True)[1]) == taken


def test_the_longest_runs_come_first(study, folders):
    executor = FakeExecutor(folders, size=1)
    run(study([SINGLE, JOINT]), folders, executor, print)
    assert executor.started[0] == name("pos", "dep", "ner")


def test_a_run_whose_worker_died_goes_on(study, folders):
    executor = FakeExecutor(folders, deaths={name("ner"): MAX_DEATHS - 1})
    _, study_rows = run(study([SINGLE]), folders, executor, print)
    assert len(study_rows) == 3
    assert executor.started.count(name("ner")) == MAX_DEATHS


def test_a_run_that_kills_its_workers_is_given_up(study, folders):
    executor = FakeExecutor(folders, deaths={name("ner"): 99})
    with pytest.raises(StudyError, match="1 run failed.*ner.*workers died over it"):
        run(study([SINGLE]), folders, executor, print)
    assert executor.started.count(name("ner")) == MAX_DEATHS
    assert len(read_rows(study([SINGLE]), folders)[1]) == 2


def test_a_failed_run_ends_those_after_it_and_no_others(study, folders):
    executor = FakeExecutor(folders, failing={name("pos")})
    with pytest.raises(StudyError, match="3 runs failed, the first pos.*loss that is not finite"):
        run(study([CHAIN, PAIRS]), folders, executor, print)
    assert len(executor.started) == 1 + 3


def test_only_some_runs(study, folders):
    executor = FakeExecutor(folders)
    joint = lambda jobs: {key: job for key, job in jobs.items() if "+" in job.name}  # noqa: E731
    planned, study_rows = run(study([SINGLE, JOINT]), folders, executor, print, choose=joint)
    assert executor.started == [name("pos", "dep", "ner")]
    assert (len(planned.jobs), len(study_rows)) == (4, 1)


def test_progress_is_told_with_what_is_left(study, folders):
    lines = []
    run(study([SINGLE]), folders, FakeExecutor(folders), lines.append)
    assert [line.split("; ")[1].split(",")[0] for line in lines if "so far" in line] == [
        "1 of 3 runs",
        "2 of 3 runs",
        "3 of 3 runs",
    ]


def test_models_go_when_no_run_needs_them(study, folders):
    def touch(job):
        (folders.runs / job.key).mkdir(parents=True)
        (folders.runs / f"{job.key}.lock").touch()

    class Writing(FakeExecutor):
        def start(self, job):
            if job.before is not None:
                assert (folders.runs / job.before.key).exists()
            touch(job)
            super().start(job)

    run(study([CHAIN]), folders, Writing(folders), print)
    assert list(folders.runs.iterdir()) == []


class Writing(FakeExecutor):
    """Leaves a model of each run that it starts."""

    def start(self, job):
        (self.folders.runs / job.key).mkdir(parents=True)
        (self.folders.runs / f"{job.key}.lock").touch()
        super().start(job)


def test_models_stay_for_runs_that_failed_or_were_not_chosen(study, folders):
    executor = Writing(folders, failing={f"{name('pos')} > ner"})
    chain = {"design": "chains", "orders": [["pos", "ner"]]}
    first = lambda jobs: {k: job for k, job in jobs.items() if job.before is None}  # noqa: E731
    planned, _ = run(study([chain]), folders, executor, print, choose=first)
    (start,) = first(planned.jobs)
    assert (folders.runs / start).exists()
    with pytest.raises(StudyError, match="1 run failed"):
        run(study([chain]), folders, executor, print)
    assert (folders.runs / start).exists()


def test_a_model_whose_row_is_lost_is_trained_again(study, folders, monkeypatch):
    (job,) = read_rows(study([JOINT]), folders)[0].jobs.values()
    (folders.runs / job.key / "own").mkdir(parents=True)  # kept; its run folder is gone

    def train(job, data, runs, log):
        assert not (runs / job.key).exists()
        (runs / f"{job.key}.run").mkdir()

    monkeypatch.setattr(execute, "_train", train)
    monkeypatch.setattr(execute, "_row", lambda job, *rest: make_row(job, {"ner": 0.5}))
    execute.execute(job, folders, print)
    assert rows.row_path(folders.results, job.key).exists()


def test_models_are_kept_on_request(study, folders):
    _, study_rows = run(study([SINGLE]), folders, Writing(folders), print, keep_models=True)
    assert {path.name for path in folders.runs.iterdir() if path.is_dir()} == study_rows.keys()


@pytest.fixture
def answering(monkeypatch, tmp_path):
    """Return a function that lets local workers run a shell script in place of a worker."""

    def replace(script):
        path = tmp_path / "worker.sh"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr("sys.executable", str(path))

    return replace


def test_a_worker_that_dies_while_it_answers_has_no_row(study, folders, answering):
    answering("""read size key; printf '99 %s\\n{"key": "a", "ro' $key""")
    workers = open_executor(1, folders, None)
    (job,) = planned_jobs(study([JOINT]), folders)
    workers.start(job)
    assert workers.wait() == Outcome(job.key)


def test_a_worker_answers_one_job_after_the_other(study, folders, answering):
    jobs = planned_jobs(study([SINGLE]), folders)
    answers = [OUTCOME.dump_json(Outcome(job.key, error=job.name)).decode() for job in jobs]
    script = "read size key; head -c $size > /dev/null; printf '%s %s\\n%s' {} $key '{}'"
    answering("\n".join(script.format(len(answer), answer) for answer in answers))
    workers = open_executor(1, folders, None)
    for job in jobs:
        workers.start(job)
        assert workers.wait() == Outcome(job.key, error=job.name)
    workers.close()


def planned_jobs(study, folders):
    return list(read_rows(study, folders)[0].jobs.values())


def test_hours_follow_sentences_and_patience(study, folders):
    """Ten times the sentences take ten times as long; patience ends a run early."""
    from spanloom.studies.estimate import Estimates

    def hours(*settings):
        designs = [{"design": "single", "settings": list(settings)}]
        jobs = read_rows(study(designs, tasks=["ner"]), folders)[0].jobs.values()
        (job,) = jobs
        return Estimates(folders.data).core_hours(job)

    few = hours("stages.0.updates_per_task=50", "stages.0.batch_sentences=4")
    many = hours("stages.0.updates_per_task=50", "stages.0.batch_sentences=40")
    assert many == pytest.approx(10 * few)
    assert hours("stages.0.epochs=100", "stages.0.patience=2") == pytest.approx(
        hours("stages.0.epochs=6")
    )
