"""All tasks together, and an oracle's choice of them, beside pairs."""

import re

import pytest
from made_rows import RECIPES, filled, helped, make_row, rows_reader

from spanloom.studies.all_beside_pairs import all_beside_pairs, gains_by_task
from spanloom.studies.designs import plan
from spanloom.studies.figures import gain_ranges
from spanloom.studies.report import write_report
from spanloom.studies.results import compare_conditions


def test_all_together_stand_beside_pairs(study):
    """Of tasks in pairs: the mean gain, who is higher and lower, and what all together gain."""
    designs = [{"design": "single"}, {"design": "joint"}, {"design": "pairs"}]
    read = study(designs, seeds=[1, 2])
    results = compare_conditions(read, *filled(read, helped))
    gains = {task.task: task for task in gains_by_task(results)}
    for task, expected in (
        ("ner", {"pos": 0.1, "dep": 0.0}),
        ("dep", {"pos": 0.0, "ner": -0.05}),
    ):
        by_partner = {name: pair.gain for name, pair in gains[task].by_partner.items()}
        assert by_partner == pytest.approx(expected)
    assert [gains[task].mean_of_pairs for task in ("pos", "ner", "dep")] == pytest.approx(
        [0.0, 0.05, -0.025]
    )
    text = all_beside_pairs(results)
    lines = [re.findall(r"<t[dh][^>]*>([^<]*)", row) for row in text.split("<tr>")[1:]]
    table = {name: cells for name, *cells in lines[1:]}
    best_and_worst = ["pos +10.00", "dep +0.00"], ["pos +0.00", "ner -5.00"]
    ner, dep = (["1", "0", "+10.00", "yes", "1 of 2"], ["0", "1", "-5.00", "yes", "0 of 2"])
    assert table["ner"] == ["+5.00", *best_and_worst[0], *ner, ""]
    assert table["dep"] == ["-2.50", *best_and_worst[1], *dep, ""]
    assert "for 2 of 3 tasks, and are above 1 of 6 pairs.<" in text


def test_pairs_without_all_seeds_count_no_arrows_beside_all(study):
    read = study([{"design": "single"}, {"design": "joint"}, {"design": "pairs"}], seeds=[1, 2, 3])
    planned, rows = filled(read, helped)
    left = {key: row for key, row in rows.items() if row.recipe["seed"] < 3}
    text = all_beside_pairs(compare_conditions(read, planned, left))
    lines = [re.findall(r"<t[dh][^>]*>([^<]*)", row) for row in text.split("<tr>")[1:]]
    assert {tuple(cells[4:6]) for cells in lines} == {("pairs ↑", "pairs ↓"), ("", "")}


def helped_by_pos(task, job):
    """Ner gains 10 points beside pos, and 5 more beside dep, which helps only beside pos."""
    helpers = {*job.tasks} - {task} if task == "ner" else set()
    return 0.5 + 0.1 * ("pos" in helpers) + 0.05 * (len(helpers) == 2)


def with_oracle(study, **options):
    """Return results of three designs and of an oracle, which chose by the rows of the three."""
    designs = [{"design": "single"}, {"design": "joint"}, {"design": "pairs"}]
    _, rows = filled(study(designs, seeds=[1, 2]), helped_by_pos)
    read = study([*designs, {"design": "oracle", **options}], seeds=[1, 2])
    planned = plan(read, RECIPES, rows_reader(rows))
    for key, job in planned.jobs.items():
        if key not in rows:
            scores = {task: helped_by_pos(task, job) for task in job.tasks}
            rows[key] = make_row(job, scores, {task: [s] * 20 for task, s in scores.items()})
    return compare_conditions(read, planned, rows)


def test_the_oracle_stands_beside_all(study):
    """It learns with pos alone, so it gains less than all, of which dep helps ner, too."""
    results = with_oracle(study)
    gains = {task.task: task for task in gains_by_task(results)}
    assert gains["ner"].of_all.gain == pytest.approx(0.15)
    assert gains["ner"].of_oracle.gain == pytest.approx(0.1)
    assert gains["pos"].of_oracle is gains["dep"].of_oracle is None  # none helps them
    text = all_beside_pairs(results)
    assert "above all for 0 of 1 tasks with helpers, and above 1 of their 2 pairs; where" in text
    lines = [re.findall(r"<t[dh][^>]*>([^<]*)", row) for row in text.split("<tr>")[1:]]
    assert {cells[0]: cells[-1] for cells in lines[1:]} == {"pos": "", "ner": "+10.00", "dep": ""}


def test_a_task_that_none_helps_is_not_compared_with_its_own_runs(study):
    """There are three of all and six pairs, and of the oracle one, not three."""
    results = with_oracle(study)
    oracle = {r.task: r for r in results if r.design == "oracle"}
    assert oracle["pos"].comparison is oracle["dep"].comparison is None
    assert oracle["pos"].values == (0.5, 0.5)  # its own runs alone are still its score
    tested = [r.comparison.p for r in results if r.comparison]
    assert len(tested) == 10
    least = min(tested)  # of pairs, all and oracle that gain: the others are equal, p = 1
    assert sorted(tested) == pytest.approx([least] * 3 + [1.0] * 7)


def test_an_oracle_with_settings_and_no_helper_is_compared_and_is_no_oracle(study):
    """Its runs are other ones than those of the task alone, but it has no partners."""
    results = with_oracle(study, settings=["window=32"])
    oracle = {r.task: r for r in results if r.design == "oracle"}
    assert (oracle["dep"].partners, oracle["dep"].comparison.gain) == ((), 0)
    assert {task.task: task.of_oracle is None for task in gains_by_task(results)} == {
        "pos": True,
        "ner": False,
        "dep": True,
    }


def test_without_pairs_or_without_all_there_is_no_such_table(study):
    for design in ("joint", "pairs"):
        read = study([{"design": "single"}, {"design": design}])
        assert all_beside_pairs(compare_conditions(read, *filled(read, helped))) is None


def points(svg):
    """Return how many markers a drawing has."""
    return svg.count("<use ")


def test_ranges_are_drawn_of_pairs_all_and_oracle(study):
    """Three tasks have two pairs each; one more point of all each, and one task has an oracle."""
    results = with_oracle(study)
    with_helpers = gain_ranges(results)
    without = gain_ranges([r for r in results if r.design != "oracle"])
    assert points(with_helpers) - points(without) == 2  # the oracle of ner, and in the legend
    assert all(f">{name}</text>" in with_helpers for name in ("pos", "ner", "dep", "oracle"))
    assert ">oracle</text>" not in without
    one_pair_less = [r for r in results if (r.task, r.condition) != ("ner", "with pos")]
    assert points(with_helpers) - points(gain_ranges(one_pair_less)) == 1


def test_ranges_are_percents_of_the_score_alone(study):
    results = with_oracle(study)
    (ner,) = (gains for gains in gains_by_task(results) if gains.task == "ner")
    assert ner.of_all.relative_gain == pytest.approx(0.15 / 0.5)
    assert ner.by_partner["pos"].relative_gain == pytest.approx(0.1 / 0.5)


def test_a_task_that_scores_nothing_alone_has_no_range(study):
    def score(task, job):
        return 0.5 * (task != "ner" or len(job.tasks) > 1)

    read = study([{"design": "single"}, {"design": "joint"}, {"design": "pairs"}])
    results = compare_conditions(read, *filled(read, score))
    drawn = gain_ranges(results)
    assert [f">{task}</text>" in drawn for task in ("pos", "ner", "dep")] == [True, False, True]
    assert gain_ranges([r for r in results if r.task == "ner"]) is None
    assert "<td>ner</td>" in all_beside_pairs(results)


def test_ranges_stand_above_their_table_on_the_page(study, tmp_path):
    read = study([{"design": "single"}, {"design": "joint"}, {"design": "pairs"}], seeds=[1, 2])
    planned, rows = filled(read, helped)
    results = compare_conditions(read, planned, rows)
    page = write_report(read, planned, rows, results, tmp_path / "page.html")[0].read_text()
    caption = page.index("as in figure 2 of Changpinyo et al. (2018)")
    assert caption < page.index("<th>worst partner</th>")
    without = [r for r in results if r.design != "pairs"]
    page = write_report(read, planned, rows, without, tmp_path / "page.html")[0].read_text()
    assert "figure 2 of" not in page
