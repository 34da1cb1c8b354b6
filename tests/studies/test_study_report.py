"""The results of a study: comparisons, tables, the page."""

import csv
import io
import json
import random
import re
from dataclasses import replace

import pytest
from made_rows import RECIPES, filled, helped, make_row, rows_reader

from spanloom.config import yaml
from spanloom.errors import DataError, RecipeError
from spanloom.studies.condition_table import condition_table
from spanloom.studies.designs import plan
from spanloom.studies.figures import benefit_graph, gain_matrix, learning_curves
from spanloom.studies.report import write_report
from spanloom.studies.result_text import to_csv, to_json, to_text
from spanloom.studies.results import compare_conditions
from spanloom.studies.row import SplitScore

DESIGNS = [
    {"design": "single"},
    {"design": "pairs"},
    {"design": "curve", "examples": [5, "50%"]},
]


def test_a_condition_is_compared_with_the_task_alone(study):
    read = study(DESIGNS, seeds=[1, 2, 3])
    results = {(r.task, r.condition): r for r in compare_conditions(read, *filled(read, helped))}
    gain = results["ner", "with pos"].comparison
    assert gain.gain == pytest.approx(0.1)
    assert (gain.direction, gain.arrow) == ("higher", "↑")
    loss = results["dep", "with ner"].comparison
    assert loss.gain == pytest.approx(-0.05)
    assert (loss.direction, loss.arrow) == ("lower", "↓")
    none = results["pos", "with ner"].comparison
    assert (none.gain, none.direction, none.arrow) == (0, "", "")
    assert results["ner", "single"].comparison is None
    assert results["ner", "single"].values == pytest.approx((0.501, 0.502, 0.503))


def test_p_is_corrected_for_all_comparisons(study):
    read = study(DESIGNS)
    results = compare_conditions(read, *filled(read, helped))
    tested = [r.comparison.p for r in results if r.comparison]
    assert len(tested) == 6  # of the pairs; a curve alone is compared with nothing
    # equal scores per document: the least p that 10,000 resamples give, for 2 of 6 tests
    assert sorted(tested)[:2] == pytest.approx([6 / 10001] * 2)
    assert sorted(tested)[2:] == [1.0] * 4


def test_one_seed_gives_no_direction(study):
    read = study(DESIGNS)
    assert {
        r.comparison.direction
        for r in compare_conditions(read, *filled(read, helped))
        if r.comparison
    } == {""}


def test_a_direction_waits_for_all_seeds_that_both_sides_plan(study):
    """The task alone has a fourth seed, which pairs have not: nobody waits for that one."""
    alone = {"design": "single", "task_seeds": {"ner": [4]}}
    read = study([alone, DESIGNS[1]], seeds=[1, 2, 3])
    planned, rows = filled(read, helped)
    for tasks, seed, expected in (
        (("ner",), 4, "higher"),
        (("ner",), 3, None),
        (("pos", "ner"), 3, None),
    ):
        left = {
            key: row
            for key, row in rows.items()
            if (planned.jobs[key].tasks, row.recipe["seed"]) != (tasks, seed)
        }
        results = compare_conditions(read, planned, left)
        (pair,) = (r for r in results if (r.task, r.condition) == ("ner", "with pos"))
        assert pair.comparison.gain == pytest.approx(0.1, abs=0.002)  # over all seeds of each side
        assert pair.comparison.direction == expected
        (line,) = (
            line
            for line in csv.DictReader(io.StringIO(to_csv(results)))
            if (line["task"], line["condition"]) == ("ner", "with pos")
        )
        assert line["direction"] == (expected or "")


def test_the_page_of_a_half_done_queue_has_no_arrows_by_deviations(study, tmp_path):
    read = study([*DESIGNS[:2], {"design": "joint"}], seeds=[1, 2, 3])
    planned, rows = filled(read, helped, num_documents=9)  # too few to be tested
    left = {key: row for key, row in rows.items() if row.recipe["seed"] < 3}
    results = compare_conditions(read, planned, left)
    assert {r.comparison.direction for r in results if r.comparison} == {None}
    page = write_report(read, planned, left, results, tmp_path / "page.html")[0].read_text()
    body = page[page.index("<body>") : page.index("How to read this")]
    cells = re.findall(r"<td[^>]*>([^<]*)", body)
    assert not any(mark in cell for cell in cells for mark in ("↑", "↓", "higher", "lower"))
    assert 'class="gain "' in body
    assert 'class="gain None"' not in body


def test_columns_of_arrows_are_empty_while_they_wait(study):
    """Pairs with dep have all seeds, those of pos and ner have not."""
    read = study(DESIGNS[:2], seeds=[1, 2])
    planned, rows = filled(read, helped)
    left = {
        key: row
        for key, row in rows.items()
        if (planned.jobs[key].tasks, row.recipe["seed"]) != (("pos", "ner"), 2)
    }
    text = condition_table(compare_conditions(read, planned, left))
    lines = [re.findall(r"<t[dh][^>]*>([^<]*)", row) for row in text.split("<tr>")[1:]]
    table = {name: cells for name, *cells in lines}
    assert table["with pos"] == ["", "60.10", "50.15", "0", "0"]
    assert table["with ner"] == ["50.10", "", "45.15↓", "0", "1"]
    one_seed = {key: row for key, row in left.items() if row.recipe["seed"] == 1}
    assert "↑" not in condition_table(compare_conditions(read, planned, one_seed))


def test_all_but_one_is_compared_with_all(study):
    """The paper's table 6; without a run of all tasks, with the task alone."""
    designs = [{"design": "single"}, {"design": "joint"}, {"design": "all-but-one"}]
    for used, expected in ((designs, ("joint", -0.1)), (designs[::2], ("single", 0.0))):
        read = study(used)
        results = compare_conditions(read, *filled(read, helped))
        (found,) = (r for r in results if (r.task, r.condition) == ("ner", "without pos"))
        assert found.comparison.against == expected[0]
        assert found.comparison.gain == pytest.approx(expected[1])


def test_the_table_counts_who_is_higher_and_who_is_lower(study):
    read = study(DESIGNS[:2], seeds=[1, 2])
    text = condition_table(compare_conditions(read, *filled(read, helped)))
    lines = [re.findall(r"<t[dh][^>]*>([^<]*)", row) for row in text.split("<tr>")[1:]]
    assert lines[0] == ["condition", "pos", "ner", "dep", "↑", "↓"]
    table = {name: cells for name, *cells in lines}
    assert table["single"] == ["50.15", "50.15", "50.15", "", ""]
    assert table["with pos"] == ["", "60.15↑", "50.15", "1", "0"]
    assert table["with ner"] == ["50.15", "", "45.15↓", "0", "1"]
    assert table["pairs, mean"] == ["50.15", "55.15", "47.65", "", ""]
    assert table["pairs, higher"] == ["0", "1", "0", "", ""]
    assert table["pairs, lower"] == ["0", "0", "1", "", ""]


@pytest.mark.parametrize("further", [{}, {"task_seeds": {"ner": [2]}}])
def test_the_table_of_one_seed_counts_nothing(study, further):
    read = study([DESIGNS[0] | further, DESIGNS[1]])
    text = condition_table(compare_conditions(read, *filled(read, helped)))
    lines = [re.findall(r"<t[dh][^>]*>([^<]*)", row) for row in text.split("<tr>")[1:]]
    assert [line[0] for line in lines[-2:]] == ["with dep", "pairs, mean"]
    assert {len(line) for line in lines} == {4}
    assert not any("↑" in cell or "↓" in cell for line in lines for cell in line)


def test_runs_of_the_baseline_are_not_tested_against_it(study):
    """An oracle without helpers has the very runs of single, which may have further seeds."""
    further = {"task_seeds": {"ner": [4, 5]}}
    read = study([DESIGNS[0] | further, {"design": "subsets", "sets": [["ner"]]}])
    results = compare_conditions(read, *filled(read, helped))
    assert {r.comparison for r in results} == {None}


def test_few_documents_are_not_tested(study):
    read = study(DESIGNS)
    results = compare_conditions(read, *filled(read, helped, num_documents=9))
    assert {r.comparison.p for r in results if r.comparison} == {None}


def test_runs_that_are_not_finished_are_left_out(study):
    read = study(DESIGNS, seeds=[1, 2])
    planned, rows = filled(read, helped)
    gone = next(key for key, job in planned.jobs.items() if job.tasks == ("pos",))
    results = compare_conditions(
        read, planned, {key: row for key, row in rows.items() if key != gone}
    )
    by_name = {(r.task, r.condition): r for r in results}
    assert by_name["pos", "single"].seeds == (2,)
    assert by_name["pos", "with ner"].comparison.baseline.count == 1  # the seed that both have


def test_a_curve_with_partners_is_compared_at_its_size(study):
    designs = [*DESIGNS, {"design": "curve", "examples": [5], "of": "pairs"}]
    read = study(designs)
    results = {(r.task, r.condition): r for r in compare_conditions(read, *filled(read, helped))}
    assert results["ner", "5 examples, with pos"].comparison.gain == pytest.approx(0.1)


def test_a_chain_of_few_examples_is_compared_at_its_size(study):
    chain = {"design": "chains", "orders": [["pos", "ner"]], "examples": [5]}
    read = study([*DESIGNS, chain])
    results = {(r.task, r.condition): r for r in compare_conditions(read, *filled(read, helped))}
    found = results["ner", "after pos, 5 examples"].comparison
    assert found.baseline.mean == pytest.approx(results["ner", "5 examples"].scores.mean)


def two_metrics(rows):
    """Give ner a main metric without counts of its own: the mean of f1 and of another."""
    for row in rows.values():
        for split in row.scores.get("ner", {}).values():
            score = split.metrics["f1"]
            split.metrics.clear()
            split.metrics.update({"mean_f1": score + 0.1, "f1": score, "span_f1": score + 0.2})
            split.per_document_counts["span_f1"] = split.per_document_counts["f1"]


def test_each_metric_that_is_asked_for_is_reported_and_tested(study):
    read = study(DESIGNS, metrics={"ner": ["f1", "span_f1"]})
    planned, rows = filled(read, helped)
    two_metrics(rows)
    results = compare_conditions(read, planned, rows)
    pair = {r.metric: r for r in results if (r.task, r.condition) == ("ner", "with pos")}
    assert pair["span_f1"].scores.mean == pytest.approx(pair["f1"].scores.mean + 0.2)
    assert [pair[name].comparison.arrow for name in ("f1", "span_f1")] == ["↑", "↑"]
    assert {r.metric for r in results if r.task == "pos"} == {"f1"}
    assert "ner span_f1" in to_text(results)
    main = compare_conditions(study(DESIGNS), planned, rows)
    assert {r.metric for r in main if r.task == "ner"} == {"mean_f1"}


def test_a_metric_that_a_task_lacks_is_told(study):
    read = study(DESIGNS, metrics={"ner": ["span_f2"]})
    with pytest.raises(DataError, match="task 'ner' of a study: no metric 'span_f2'"):
        compare_conditions(read, *filled(read, helped))


def test_a_task_that_went_on_alone_is_compared_with_as_many_updates_alone_too(study):
    designs = ["single", "pairs", "pairs-then-single", "single-then-single"]
    read = study([{"design": name} for name in designs])

    def score(task, job):
        return 0.5 + 0.1 * (job.before is not None) + 0.02 * ("+" in job.name)

    results = compare_conditions(read, *filled(read, score))
    tuned = [r for r in results if r.design == "pairs-then-single"]
    assert [r.comparison.gain for r in tuned] == pytest.approx([0.12] * 6)
    assert [r.control.gain for r in tuned] == pytest.approx([0.02] * 6)
    assert {r.control.arrow for r in tuned} == {"↑"}
    assert all(r.control is None for r in results if r.design != "pairs-then-single")
    assert "against alone twice +2.00↑" in to_text(results)


def test_tables_hold_every_result(study):
    read = study(DESIGNS, seeds=[1, 2])
    results = compare_conditions(read, *filled(read, helped))
    lines = list(csv.DictReader(io.StringIO(to_csv(results))))
    assert [line["task"] for line in lines] == [r.task for r in results]
    assert [float(line["mean"]) for line in lines] == pytest.approx(
        [r.scores.mean for r in results]
    )
    assert [entry["condition"] for entry in json.loads(to_json(results))] == [
        r.condition for r in results
    ]
    assert len(to_text(results).splitlines()) == len(results)


def test_the_page_stands_alone(study, tmp_path):
    read = study(DESIGNS, seeds=[1, 2])
    planned, rows = filled(read, helped)
    page, *_ = paths = write_report(
        read, planned, rows, compare_conditions(read, planned, rows), tmp_path / "page.html"
    )
    assert [path.name for path in paths] == ["page.html", "page.csv", "page.json"]
    text = page.read_text()
    assert text.count("<svg") == 5  # matrix, graph, a curve of each of three tasks
    assert not re.findall(r"<(?:script|link|img|iframe)\b", text)
    assert not re.findall(r"""(?:src|href)=["']?http""", re.sub(r"xmlns\S*|xlink:href", "", text))
    assert "+10.00↑" in text
    assert "12 of 12 runs" in text or f"{len(rows)} of {len(rows)} runs" in text


def test_a_long_condition_leaves_room_for_its_matrix(study):
    read = study(DESIGNS, seeds=[1, 2, 3])
    results = compare_conditions(read, *filled(read, helped))
    long = " ".join(["tasks.names.input_dropout=0.25;"] * 9)
    longer = [replace(result, condition=long) for result in results if result.comparison]
    drawn = gain_matrix(longer)  # a figure that has no room warns, and warnings are errors
    assert drawn.count("tasks.names.input_dropout=0.25;") == 9


def test_the_page_is_the_same_each_time(study, tmp_path):
    read = study(DESIGNS)
    planned, rows = filled(read, helped)
    results = compare_conditions(read, planned, rows)
    pages = [
        write_report(read, planned, rows, results, tmp_path / f"{n}.html")[0].read_bytes()
        for n in range(2)
    ]
    assert pages[0] == pages[1]


def test_a_label_is_compared_with_the_same_design_without_it(study):
    other = {"design": "joint", "label": "narrow", "settings": ["window=32"]}
    read = study([{"design": "single"}, {"design": "joint"}, other])
    planned = plan(read, RECIPES, rows_reader({}))
    level = {"single": 0.5, "joint": 0.6, "joint, narrow": 0.9}
    rows = {}
    for cell in planned.cells:
        scores = dict.fromkeys(cell.job.tasks, level[cell.condition])
        rows[cell.job.key] = make_row(cell.job, scores)
    results = compare_conditions(read, planned, rows)
    gains = {r.condition: r.comparison.gain for r in results if r.comparison}
    assert gains == {"joint": pytest.approx(0.1), "joint, narrow": pytest.approx(0.3)}


def test_a_study_that_is_not_finished_says_which_seeds_wait(study):
    read = study([{"design": "single"}, {"design": "joint"}], seeds=[1, 2, 3])
    planned, rows = filled(read, helped)
    half = {key: row for key, row in rows.items() if row.recipe["seed"] == 1}
    assert to_text(compare_conditions(read, planned, half)).count(", seeds wait") == 3
    assert "seeds wait" not in to_text(compare_conditions(read, planned, rows))


@pytest.mark.parametrize("size", [50, 60])
def test_other_documents_of_one_seed_are_not_compared_as_pairs(study, size):
    read = study([{"design": "single"}, {"design": "joint"}], seeds=[1, 2])
    planned, rows = filled(read, helped, 60)
    for key, job in planned.jobs.items():
        if len(job.tasks) == 1:
            documents = {task: [0.4] * size for task in job.tasks}
            rows[key] = make_row(job, dict.fromkeys(job.tasks, 0.4), documents)
        for splits in rows[key].scores.values():
            splits["dev"] = replace(splits["dev"], documents=f"of {len(job.tasks)}")
    compared = [r.comparison for r in compare_conditions(read, planned, rows) if r.comparison]
    assert len(compared) == 3
    assert all(comparison.p is None for comparison in compared)


def test_means_are_of_conditions_that_differ_in_a_partner(study):
    read = study([*DESIGNS, {"design": "curve", "examples": [10, 20], "label": "more"}])
    planned, rows = filled(read, helped)
    assert ">curve, mean<" not in condition_table(compare_conditions(read, planned, rows))
    pair = next(key for key, job in planned.jobs.items() if job.tasks == ("pos", "ner"))
    del rows[pair]
    assert "(1 of 2)" in condition_table(compare_conditions(read, planned, rows))


@pytest.mark.parametrize(("score", "seeds"), [("dev", [1]), ("dev", [1, 2])])
def test_the_page_says_how_an_oracle_was_chosen(study, tmp_path, score, seeds):
    designs = [{"design": "single"}, {"design": "pairs"}, {"design": "oracle"}]
    read = study(designs, seeds=seeds, score=score)
    rows = filled(read, helped)[1]
    planned = plan(read, RECIPES, rows_reader(rows))
    results = compare_conditions(read, planned, rows)
    page = write_report(read, planned, rows, results, tmp_path / "study.html")[0].read_text()
    assert "Dev is scored here, too" in page
    assert ("By one seed" in page) == (len(seeds) == 1)


def of_condition(level, num_documents=20):
    """Return the function that gives a cell's scores, by condition, and per document."""
    rng = random.Random(3)
    texts = [rng.uniform(-0.1, 0.1) for _ in range(num_documents)]

    def fill(planned):
        rows = {}
        for cell in planned.cells:
            score = level[cell.condition]
            scores = dict.fromkeys(cell.job.tasks, score)
            documents = {task: [score + text for text in texts] for task in scores}
            rows[cell.job.key] = make_row(cell.job, scores, documents)
        return rows

    return fill


def test_the_gains_with_and_without_a_label_are_compared(study, tmp_path):
    narrow = {"label": "narrow", "settings": ["window=32"]}
    designs = [{"design": "single"}, {"design": "joint"}]
    designs += [{"design": "single", **narrow}, {"design": "joint", **narrow}]
    level = {"single": 0.5, "joint": 0.6, "single, narrow": 0.55, "joint, narrow": 0.6}
    read = study(designs)
    planned = plan(read, RECIPES, rows_reader({}))
    rows = of_condition(level)(planned)
    results = compare_conditions(read, planned, rows)
    gains = {r.condition: r.gain_difference for r in results if r.gain_difference}
    (difference,) = gains.values()
    assert [*gains] == ["joint, narrow"]
    assert (difference.own, difference.other) == pytest.approx((0.05, 0.1))
    assert difference.difference == pytest.approx(-0.05)
    # no document and no seed differs in it, so it is as sure as 10,000 resamples can be
    num_tests = sum(r.gain_difference is not None for r in results)
    assert num_tests == 3
    assert difference.p == pytest.approx(num_tests / 10_001)
    assert (difference.interval.low, difference.interval.high) == pytest.approx((-0.05, -0.05))
    text = "gains +5.00, without the label +10.00: -5.00 (-5.0 to -5.0, p < 0.001)"
    assert text in to_text(results)
    page, table, _ = write_report(read, planned, rows, results, tmp_path / "study.html")
    assert "difference of gains" in page.read_text()
    assert text.replace("<", "&lt;") in page.read_text()
    with table.open() as lines:
        written = {(row["task"], row["condition"]): row for row in csv.DictReader(lines)}
    assert written["ner", "joint, narrow"]["gain_difference"] == "-0.050000"
    assert written["ner", "joint"]["gain_difference"] == ""


def test_a_gain_is_compared_with_none_where_a_side_is_missing(study):
    narrow = {"label": "narrow", "settings": ["window=32"]}
    designs = [{"design": "single"}, {"design": "joint"}, {"design": "joint", **narrow}]
    level = {"single": 0.5, "joint": 0.6, "joint, narrow": 0.6, "single, narrow": 0.5}
    for with_alone, against in ((False, []), (True, ["single"])):
        more = [{"design": "single", **narrow}] if with_alone else []
        read = study([*designs, *more], against=against)
        planned = plan(read, RECIPES, rows_reader({}))
        results = compare_conditions(read, planned, of_condition(level)(planned))
        assert not any(r.gain_difference for r in results)


def test_a_task_on_other_data_is_scored_and_not_compared(study):
    moved = {"design": "joint", "label": "moved", "settings": ["tasks.ner.layer=coreference"]}
    read = study([{"design": "joint"}, moved])
    planned = plan(read, RECIPES, rows_reader({}))
    rows = {
        cell.job.key: make_row(cell.job, dict.fromkeys(cell.job.tasks, 0.5))
        for cell in planned.cells
    }
    results = compare_conditions(read, planned, rows)
    labelled = {r.task: r.comparison is not None for r in results if "moved" in r.condition}
    assert labelled == {"pos": True, "ner": False, "dep": True}


def test_joined_corpora_of_other_parts_are_not_compared(study, tmp_path):
    base = yaml.load(RECIPES / "tiny-joint.yaml").data
    layer = base["tasks"]["ner"].get("layer", "main")
    parts = [{"data": base["tasks"]["ner"]["data"], "layer": layer}]
    base["corpora"] = {"joined": parts}
    base["tasks"]["ner"] = {**base["tasks"]["ner"], "data": "joined", "layer": layer}
    path = tmp_path / "joined.yaml"
    path.write_text(json.dumps(base))
    other = json.dumps([parts[0] | {"layer": "coreference"}])
    moved = {"design": "joint", "label": "moved", "settings": [f"corpora.joined={other}"]}
    read = study([{"design": "joint"}, moved], recipe=str(path))
    results = compare_conditions(read, *filled(read, lambda task, job: 0.5))
    labelled = {r.task: r.comparison is not None for r in results if "moved" in r.condition}
    assert labelled == {"pos": True, "ner": False, "dep": True}


@pytest.mark.parametrize("named", [{}, {"ner": ["f1", "mean_f1"]}])
def test_a_metric_that_the_baseline_lacks_is_not_compared(study, named):
    other = {"design": "joint", "label": "other", "settings": ["window=32"]}
    read = study([{"design": "joint"}, other], metrics=named)
    planned, rows = filled(read, helped)
    labelled = {cell.job.key for cell in planned.cells if cell.label}
    two_metrics({key: rows[key] for key in labelled})
    results = [r for r in compare_conditions(read, planned, rows) if r.task == "ner"]
    compared = {(r.label, r.metric): r.comparison is not None for r in results}
    assert compared == {
        ("", "f1"): False,
        ("other", "mean_f1"): False,
        **({("other", "f1"): True} if named else {}),
    }


def test_updates_to_the_best_score_are_means_over_seeds(study):
    read = study([{"design": "joint"}], seeds=[1, 2])
    planned = plan(read, RECIPES, rows_reader({}))
    rows = {}
    for number, (key, job) in enumerate(planned.jobs.items()):
        row = make_row(job, dict.fromkeys(job.tasks, 0.5))
        rows[key] = replace(row, best_updates={"ner": 10 + 20 * number})
    found = {r.task: r.best_updates for r in compare_conditions(read, planned, rows)}
    assert found == {"ner": 20.0, "pos": None, "dep": None}


@pytest.mark.parametrize(
    ("curves", "updates"),
    [
        ([[(3, 0.1), (6, 0.4), (9, 0.5)], [(2, 0.7)]], 4.0),  # goals are 0.4 and 0.6
        ([[(3, 0.1), (6, 0.39)], [(2, 0.7)]], None),  # once never as good
        ([[], [(2, 0.7)]], None),  # a row of an earlier version
    ],
)
def test_updates_to_equal_are_means_over_seeds(study, curves, updates):
    read = study([{"design": "single"}, {"design": "joint"}], seeds=[1, 2])
    planned = plan(read, RECIPES, rows_reader({}))
    alone = {1: [(5, 0.4), (10, 0.3)], 2: [(5, 0.2), (10, 0.6)]}
    rows = {}
    for key, job in planned.jobs.items():
        row, seed = make_row(job, dict.fromkeys(job.tasks, 0.5)), job.recipe["seed"]
        curve = alone[seed] if len(job.tasks) == 1 else curves[seed - 1]
        rows[key] = replace(row, dev_curves={"ner": tuple(curve)})
    results = compare_conditions(read, planned, rows)
    (joint,) = (r for r in results if (r.task, r.design) == ("ner", "joint"))
    assert joint.comparison.updates_to_equal == updates


@pytest.mark.parametrize(
    ("seeds", "deviations", "drawn", "dashed"),  # of six arrows
    [
        ([1, 2], (0.001, 0.001), 6, 0),  # each mean is .1 higher, and means hardly vary
        ([1, 2], (0.2, 0.2), 0, 0),  # as high a gain, and scores of seeds far apart
        ([1], (0.0,), 6, 6),  # no counts, so no p
    ],
)
def test_the_graph_of_several_seeds_has_only_sure_arrows(study, seeds, deviations, drawn, dashed):
    read = study([{"design": "single"}, {"design": "pairs"}], seeds=seeds)
    planned = plan(read, RECIPES, rows_reader({}))
    rows = {}
    for key, job in planned.jobs.items():
        seed = job.recipe["seed"]
        sign = 1 if seed == 1 else -1
        score = 0.4 + 0.1 * (len(job.tasks) == 2) + sign * deviations[seed - 1]
        rows[key] = make_row(job, dict.fromkeys(job.tasks, score))
    svg = benefit_graph(compare_conditions(read, planned, rows))
    assert svg.count('<g id="patch_') == 1 + drawn  # the background is one, too
    assert svg.count("stroke-dasharray") == 2 * dashed  # line and head of each
    assert all(f">{task}</text>" in svg for task in ("pos", "ner", "dep"))


def test_a_point_of_a_grid_that_changes_nothing_is_not_compared_with_itself(study):
    grid = {"design": "grid", "options": {"window": [32, 64]}}
    read = study([{"design": "single"}, grid])
    results = compare_conditions(read, *filled(read, helped))
    compared = {r.condition: r.comparison is not None for r in results if r.design == "grid"}
    assert compared == {f"window={size}": size != read.base.window for size in (32, 64)}


def test_all_metrics_are_means_over_seeds(study):
    read = study([{"design": "joint"}], seeds=[1, 2])
    planned = plan(read, RECIPES, rows_reader({}))
    rows = {}
    for number, (key, job) in enumerate(planned.jobs.items()):
        metrics = {"conll_f1": 0.5, "muc": 0.2 + 0.2 * number}
        scores = {task: {"dev": SplitScore(metrics)} for task in job.tasks}
        rows[key] = replace(make_row(job, {}), scores=scores)
    found = json.loads(to_json(compare_conditions(read, planned, rows)))
    assert {entry["metric"] for entry in found} == {"conll_f1"}
    assert found[0]["metrics"] == {"conll_f1": 0.5, "muc": pytest.approx(0.3)}


def test_a_study_of_test_scores_is_reported_on_dev_too(study):
    read = study([{"design": "joint"}], score="test")
    planned = plan(read, RECIPES, rows_reader({}))
    scores = {"dev": SplitScore({"f1": 0.6}), "test": SplitScore({"f1": 0.5})}
    rows = {
        key: replace(make_row(job, {}), scores=dict.fromkeys(job.tasks, scores))
        for key, job in planned.jobs.items()
    }
    for split, score in (("test", 0.5), ("dev", 0.6)):
        results = compare_conditions(read.scored_on(split), planned, rows)
        assert {result.scores.mean for result in results} == {score}


def test_the_table_of_numbers_has_all_metrics(study):
    read = study([{"design": "single"}], seeds=[1, 2], tasks=["ner"])
    planned, rows = filled(read, helped)
    for key, row in rows.items():
        score = row.scores["ner"]["dev"]
        further = score.metrics | {"exact": row.recipe["seed"] / 10}
        scores = {"ner": {"dev": replace(score, metrics=further)}}
        rows[key] = replace(row, scores=scores)
    (result,) = compare_conditions(read, planned, rows)
    assert result.metrics["exact"] == pytest.approx(0.15)
    (line,) = csv.DictReader(io.StringIO(to_csv([result])))
    assert (line["metric"], float(line["exact"])) == ("f1", pytest.approx(0.15))


def by_trunk(task, job):
    return {"small": 0.5, "wide": 0.6, "deep": 0.7}[job.recipe["trunk"][0]["transformer"]]


TRUNKS = {name: [{"transformer": name}] for name in ("small", "wide", "deep")}


def test_trunks_are_compared_with_those_that_the_study_names(study, tmp_path):
    read = study([{"design": "single"}], trunks=TRUNKS, against=["small", "wide"])
    planned, rows = filled(read, by_trunk)
    results = compare_conditions(read, planned, rows)
    found = {(r.trunk, r.task): r for r in results}
    assert found["small", "ner"].comparison is found["small", "ner"].control is None
    assert found["wide", "ner"].comparison.gain == pytest.approx(0.1)
    assert found["wide", "ner"].control is None
    deep = found["deep", "ner"]
    assert (deep.comparison.gain, deep.control.gain) == pytest.approx((0.2, 0.1))
    assert (deep.comparison.against, deep.control.against) == ("small", "wide")
    assert (deep.comparison.arrow, deep.control.arrow) == ("↑", "↑")
    gain = "+20.00↑ (+20.0 to +20.0, p 0.001); against wide +10.00↑ (+10.0 to +10.0, p < 0.001)"
    assert gain in to_text(results)
    page, *_ = write_report(read, planned, rows, results, tmp_path / "page.html")
    assert "gain over small" in page.read_text()
    assert "against wide" in page.read_text()


def test_chains_are_compared_with_the_one_that_the_study_names(study):
    orders = [["pos", "ner"], ["dep", "ner"]]
    read = study([{"design": "chains", "orders": orders}], against=["after pos"])

    def score(task, job):
        return 0.6 if job.before is not None and "dep" in job.before.name else 0.5

    first, second = compare_conditions(read, *filled(read, score))
    assert (first.condition, first.comparison) == ("after pos", None)
    assert (second.comparison.against, second.control) == ("after pos", None)
    assert second.comparison.gain == pytest.approx(0.1)


def test_sharing_modes_are_compared_with_the_one_that_the_study_names(study):
    modes = ["separate-heads", "task-embedding"]
    read = study([{"design": "joint"}], sharing=modes, against=["separate-heads"])

    def score(task, job):
        return 0.6 if job.recipe["sharing"] == "task-embedding" else 0.5

    results = compare_conditions(read, *filled(read, score))
    found = {r.sharing: r.comparison for r in results if r.task == "ner"}
    assert found["separate-heads"] is None
    assert found["task-embedding"].against == "separate-heads"
    assert found["task-embedding"].gain == pytest.approx(0.1)


def test_all_conditions_are_compared_with_the_one_that_the_study_names(study):
    read = study(
        [{"design": "single"}, {"design": "joint"}, {"design": "pairs"}], against=["joint"]
    )
    results = compare_conditions(read, *filled(read, helped))
    assert {r.comparison and r.comparison.against for r in results if r.design != "joint"} == {
        "joint"
    }
    assert {r.comparison for r in results if r.design == "joint"} == {None}


def test_a_label_makes_no_baseline_of_others(study):
    long = {"design": "single", "label": "long", "settings": ["stages.0.epochs=9"]}
    read = study([long, {"design": "single"}, {"design": "joint"}])
    results = compare_conditions(read, *filled(read, helped))
    against = {r.condition: r.comparison and r.comparison.against for r in results}
    assert against == {"single, long": "single", "single": None, "joint": "single"}
    planned, rows = filled(read, helped)
    plain = {cell.job.key for cell in planned.cells if cell.condition == "single"}
    left = {key: row for key, row in rows.items() if key not in plain}
    assert {r.comparison for r in compare_conditions(read, planned, left)} == {None}


def test_the_graph_is_of_pairs_without_a_label(study):
    wide = {"design": "pairs", "label": "wide", "settings": ["window=32"]}
    designs = [{"design": "single"}, {"design": "pairs"}]
    graphs = []
    for more in ([], [wide]):
        read = study([*designs, *more])
        graphs.append(benefit_graph(compare_conditions(read, *filled(read, helped))))
    assert graphs[0] == graphs[1]


def test_each_gain_is_drawn_once(study, tmp_path):
    wide = {"design": "joint", "label": "wide", "settings": ["window=32"]}
    read = study([{"design": "single"}, {"design": "joint"}, wide, {"design": "all-but-one"}])
    planned, rows = filled(read, helped)
    results = compare_conditions(read, planned, rows)
    page = write_report(read, planned, rows, results, tmp_path / "page.html")[0].read_text()
    matrices = [svg for svg in page.split("<figure>")[1:] if "Gain over" in svg]
    captions = [re.search("<figcaption>(.*?), in", svg)[1] for svg in matrices]
    assert captions == [
        "Gain over the task alone",
        "Gain over all tasks together",
        "Gain over the same without its label",
    ]
    drawn = [re.sub("</svg>.*", "", svg, flags=re.DOTALL) for svg in matrices]
    assert ["joint, wide" in svg for svg in drawn] == [False, False, True]


def test_a_curve_has_a_line_for_each_label(study):
    curve = {"design": "curve", "examples": [5, "50%"]}
    long = {"label": "long", "settings": ["stages.0.epochs=9"]}
    read = study([{"design": "single"}, curve, curve | long])
    drawn = learning_curves(compare_conditions(read, *filled(read, helped)))
    assert all("alone, long" in svg for svg in drawn.values())


def test_all_data_are_the_last_point_of_a_curve_alone_and_of_one_with_others(study):
    designs = [{"design": "single"}, {"design": "joint"}]
    curves = [{"design": "curve", "examples": [5], "of": of} for of in ("single", "joint")]
    read = study([*designs, *curves])
    results = compare_conditions(read, *filled(read, helped))
    without = [r for r in results if r.design != "joint"]
    for svg, shorter in zip(
        learning_curves(results).values(), learning_curves(without).values(), strict=True
    ):
        assert svg.count("<use ") > shorter.count("<use ")  # markers of the further point


def test_runs_on_other_documents_than_those_of_other_seeds_are_compared(study):
    read = study([{"design": "single"}, {"design": "joint"}], seeds=[1, 2])
    planned, rows = filled(read, helped)
    for key, job in planned.jobs.items():
        scores = {task: helped(task, job) for task in job.tasks}
        size = 20 + job.recipe["seed"]  # each seed holds out another part of train
        rows[key] = make_row(job, scores, {task: [s] * size for task, s in scores.items()})
    results = compare_conditions(read, planned, rows)
    assert {r.task for r in results if r.comparison and r.comparison.p is not None} == {
        *("pos", "ner", "dep")
    }


def test_documents_of_equal_numbers_are_the_same_ones_only_if_rows_say_so(study):
    """Each seed holds out other texts, of which there are as many, each with one label."""
    read = study([{"design": "single"}, {"design": "joint"}], seeds=[1, 2, 3])
    planned, rows = filled(read, helped)
    for key, job in planned.jobs.items():
        rng = random.Random(job.recipe["seed"])
        values = [rng.random() < 0.3 * job.recipe["seed"] for _ in range(60)]
        if len(job.tasks) > 1:  # better in a few texts of each seed
            values = [value or rng.random() < 0.15 for value in values]
        rows[key] = make_row(job, dict.fromkeys(job.tasks, 0.5), dict.fromkeys(job.tasks, values))
    p_values = []
    for is_told in (False, True):
        for row in rows.values():
            for splits in row.scores.values():
                name = f"of seed {row.recipe['seed']}" if is_told else ""
                splits["dev"] = replace(splits["dev"], documents=name)
        results = compare_conditions(read, planned, rows)
        p_values.append([r.comparison.p for r in results if r.comparison and r.task == "ner"])
    assert p_values[0] != p_values[1]  # in pairs, by seed


def test_labels_have_means_of_their_own(study):
    pairs = {"design": "pairs", "label": "wide", "settings": ["window=32"]}
    read = study([{"design": "single"}, {"design": "pairs"}, pairs], seeds=[1, 2])
    table = condition_table(compare_conditions(read, *filled(read, helped)))
    assert [table.count(f"<td>{name}, mean</td>") for name in ("pairs", "pairs, wide")] == [1, 1]


def test_an_unknown_name_to_compare_with_is_refused(study):
    with pytest.raises(
        RecipeError, match="no trunk, sharing mode or condition 'smal'; did you mean 'small'"
    ):
        filled(study([{"design": "single"}], trunks=TRUNKS, against=["smal"]), by_trunk)
