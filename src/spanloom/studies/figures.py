"""Figures of a study as SVG: gains as a matrix and as ranges, who helps whom, learning curves."""

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from spanloom.studies.all_beside_pairs import gains_by_task
from spanloom.studies.drawing import new_figure, to_svg
from spanloom.studies.probing import Accuracy
from spanloom.studies.results import Comparison, Result, names_of_scores, with_first_metrics
from spanloom.studies.spec import CURVE, JOINT, PAIRS, SINGLE

_COLORS = "RdBu"  # gains blue, losses red; both are told apart by the colour-blind
_LEAST_RANGE = 0.01  # one point: smaller gains stay pale
_LABEL_WIDTH = 40  # letters of a condition in one line
_LETTER, _LINE = 0.075, 0.16  # inches
_NAMED_PARTNERS = 2  # of a curve; more are counted, as their names would cover it
_TASK_WIDTH, _BESIDE_LINE = 0.6, 0.18  # inches; of the distance of two tasks
_LEGEND_WIDTH = 3.4  # inches, of three names side by side
_GRAPH_SIDE, _GRAPH_NODE = 5.0, 0.65  # inches: at least, and for each task of a large one


def gain_matrix(results: Sequence[Result]) -> str | None:
    """Draw gains: a row per condition, a column per task and metric.

    Returns None where nothing is compared.
    """
    return _matrix(results, lambda r: None if r.design == CURVE else r.comparison)


def control_matrix(results: Sequence[Result]) -> str | None:
    """Draw the gain over the task alone twice; None where nothing is compared with that."""
    return _matrix(results, lambda r: r.control)


def _matrix(results: Sequence[Result], select: Callable[[Result], Comparison | None]) -> str | None:
    compared = [(r, comparison) for r in results if (comparison := select(r)) is not None]
    if not compared:
        return None
    names = names_of_scores(r for r, _ in compared)
    conditions = list(dict.fromkeys(r.condition for r, _ in compared))
    tasks = list(dict.fromkeys(names.values()))
    gains = np.full((len(conditions), len(tasks)), np.nan)
    texts = {}
    for r, comparison in compared:
        at = conditions.index(r.condition), tasks.index(names[r.task, r.metric])
        gains[at] = 100 * comparison.gain
        texts[at] = f"{gains[at]:+.2f}{comparison.arrow}"
    labels = [wrap(condition, _LABEL_WIDTH) for condition in conditions]
    letters = max(len(line) for lines in labels for line in lines)
    height = sum(max(0.34, _LINE * (1 + len(lines))) for lines in labels)
    figure, axes = new_figure((1.4 + 0.9 * len(tasks) + _LETTER * letters, 1.2 + height))
    limit = max(100 * _LEAST_RANGE, float(np.nanmax(np.abs(gains))))
    image = axes.imshow(gains, cmap=_COLORS, vmin=-limit, vmax=limit, aspect="auto")
    for (row, column), text in texts.items():
        dark = abs(gains[row, column]) > 0.6 * limit
        axes.text(column, row, text, ha="center", va="center", color="white" if dark else "black")
    axes.set_xticks(range(len(tasks)), tasks, rotation=30, ha="right")
    axes.set_yticks(range(len(conditions)), ["\n".join(lines) for lines in labels])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    figure.colorbar(image, ax=axes, label="points")
    return to_svg(figure)


def benefit_graph(results: Sequence[Result]) -> str | None:
    """Draw an arrow from each partner to the task that gains or loses beside it alone.

    Blue arrows are gains, red ones losses. With several seeds only those are drawn that are higher
    or lower by means and deviations (Changpinyo et al. 2018, figure 3); with one all are, and those
    solid that are significant. Returns None without pairs.
    """
    import networkx

    compared = [
        (r, r.comparison)
        for r in with_first_metrics(results)
        if r.comparison is not None
        and r.comparison.against == SINGLE
        and (r.design, r.label, len(r.partners)) == (PAIRS, "", 1)
    ]
    if not compared:
        return None
    graph = networkx.DiGraph()
    graph.add_nodes_from(name for r, _ in compared for name in (*r.partners, r.task))
    for r, comparison in compared:
        has_seeds = comparison.num_seeds > 1
        is_sure = bool(comparison.direction if has_seeds else comparison.arrow)
        if is_sure or not has_seeds:
            graph.add_edge(r.partners[0], r.task, gain=comparison.gain, is_sure=is_sure)
    side = max(_GRAPH_SIDE, _GRAPH_NODE * len(graph))
    figure, axes = new_figure((1.1 * side, side))
    places = networkx.circular_layout(graph)
    edges = list(graph.edges(data=True))
    limit = max([_LEAST_RANGE, *(abs(edge["gain"]) for _, _, edge in edges)])
    networkx.draw_networkx_labels(graph, places, ax=axes, font_size=9)
    for head, tail, edge in edges:
        networkx.draw_networkx_edges(
            graph,
            places,
            ax=axes,
            edgelist=[(head, tail)],
            edge_color=[edge["gain"]],
            edge_cmap=_color_map(),
            edge_vmin=-limit,
            edge_vmax=limit,
            width=1 + 3 * abs(edge["gain"]) / limit,
            style="solid" if edge["is_sure"] else "dashed",
            connectionstyle="arc3,rad=0.12",
            node_size=1400,
        )
    axes.margins(0.2)
    axes.axis("off")
    return to_svg(figure)


def gain_ranges(results: Sequence[Result]) -> str | None:
    """Draw how far pairs, all tasks together and the oracle are from the task alone, in percent.

    A line goes from the worst to the best pair of each task (Changpinyo et al. 2018, figure 2).
    Tasks that score 0 alone have no percentages. Returns None without pairs and all.
    """
    tasks = [gains for gains in gains_by_task(results) if gains.is_relative]
    if not tasks:
        return None
    figure, axes = new_figure((max(_LEGEND_WIDTH, 1.6 + _TASK_WIDTH * len(tasks)), 3.6))
    axes.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    of_pairs = [[*map(_percent, gains.by_partner.values())] for gains in tasks]
    columns = range(len(tasks))
    lowest, highest = ([*map(end, of_pairs)] for end in (min, max))
    axes.vlines(columns, lowest, highest, color="0.55", linewidth=1.5, zorder=1)
    pairs = [(column, gain) for column, gains in enumerate(of_pairs) for gain in gains]
    axes.plot(*zip(*pairs, strict=True), ".", color="black", markersize=4, label="pairs")
    # beside the line, as they often are as high as one of the pairs
    of_all = [_percent(gains.of_all) for gains in tasks]
    left = [column - _BESIDE_LINE for column in columns]
    axes.plot(left, of_all, "s", color="tab:blue", markersize=5, label="all")
    helped = [(column, gains.of_oracle) for column, gains in enumerate(tasks) if gains.of_oracle]
    if helped:
        right = [column + _BESIDE_LINE for column, _ in helped]
        of_oracle = [_percent(comparison) for _, comparison in helped]
        axes.plot(right, of_oracle, "^", color="tab:orange", markersize=6, label="oracle")
    axes.set_xticks(columns, [gains.task for gains in tasks], rotation=30, ha="right")
    axes.set_xlim(-0.6, len(tasks) - 0.4)
    axes.set_ylabel("change over the task alone, %")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return to_svg(figure)


def _percent(comparison: Comparison) -> float:
    return 100 * (comparison.relative_gain or 0.0)


def learning_curves(results: Sequence[Result]) -> dict[str, str]:
    """Draw the scores of tasks that have curves by number of examples.

    There is a line for each set of partners and each label. Returns the drawings by what they
    show. All data, where it was learnt from too, is the last point.
    """
    names = names_of_scores(results)
    curves: dict[str, list[Result]] = {}
    for r in results:
        if r.design == CURVE or _ends_curve(results, r):
            curves.setdefault(names[r.task, r.metric], []).append(r)
    return {name: _learning_curve(own) for name, own in curves.items()}


def _learning_curve(results: Sequence[Result]) -> str:
    lines: dict[str, list[tuple[str, float, float]]] = {}
    for r in results:
        size = "all" if r.examples is None else str(r.examples)
        point = size, 100 * r.scores.mean, 100 * r.scores.deviation
        name = ", ".join(filter(None, (_beside(r.partners), r.label)))
        lines.setdefault(name, []).append(point)
    sizes = sorted({size for points in lines.values() for size, _, _ in points}, key=_by_size)
    figure, axes = new_figure((5.5, 3.4))
    for name, points in lines.items():
        points.sort(key=lambda point: _by_size(point[0]))
        x = [sizes.index(size) for size, _, _ in points]
        means, deviations = [p[1] for p in points], [p[2] for p in points]
        axes.errorbar(x, means, yerr=deviations, marker="o", capsize=2, label=name)
    axes.set_xticks(range(len(sizes)), sizes)
    axes.set_xlabel("examples of training data")
    axes.set_ylabel("score")
    axes.legend(frameon=False)
    return to_svg(figure)


def probing_bars(name: str, accuracies: Sequence[Accuracy]) -> str:
    """Draw what is found in the vectors of one level: a pair of bars per task, with intervals.

    A line across each pair is the accuracy of always saying the most frequent label.
    """
    tasks = list(dict.fromkeys(accuracy.task for accuracy in accuracies))
    poolings = list(dict.fromkeys(accuracy.pooling for accuracy in accuracies))
    figure, axes = new_figure((1.6 + 0.7 * len(tasks), 3.2))
    width = 0.8 / len(poolings)
    for number, pooling in enumerate(poolings):
        own = {accuracy.task: accuracy for accuracy in accuracies if accuracy.pooling == pooling}
        positions = [tasks.index(task) + width * (number - (len(poolings) - 1) / 2) for task in own]
        values = [100 * accuracy.accuracy for accuracy in own.values()]
        errors = [
            [100 * (accuracy.accuracy - accuracy.low) for accuracy in own.values()],
            [100 * (accuracy.high - accuracy.accuracy) for accuracy in own.values()],
        ]
        axes.bar(positions, values, width, yerr=errors, capsize=2, label=pooling)
    for accuracy in accuracies:
        position = tasks.index(accuracy.task)
        axes.plot(
            [position - 0.45, position + 0.45], [100 * accuracy.majority] * 2, "k:", linewidth=1
        )
    axes.set_xticks(range(len(tasks)), tasks, rotation=30, ha="right")
    axes.set_ylim(0, 100)
    axes.set_ylabel("accuracy")
    axes.set_title(name, fontsize=10)
    axes.legend(frameon=False)
    return to_svg(figure)


def _beside(partners: Sequence[str]) -> str:
    if len(partners) > _NAMED_PARTNERS:
        return f"with {len(partners)} others"
    return f"with {'+'.join(partners)}" if partners else "alone"


def _ends_curve(results: Sequence[Result], result: Result) -> bool:
    """Whether a result on all data is the last point of a curve with its partners and label."""
    if result.design not in (SINGLE, PAIRS, JOINT):
        return False
    curve = CURVE, result.task, result.label, {*result.partners}
    return any((r.design, r.task, r.label, {*r.partners}) == curve for r in results)


def _by_size(size: str) -> tuple[int, float]:
    """Order sizes: numbers, then percentages, then all."""
    if size == "all":
        return 2, 0.0
    return (1, float(size[:-1])) if size.endswith("%") else (0, float(size))


def _color_map() -> Any:
    from matplotlib import colormaps

    return colormaps[_COLORS]
