"""Draw the task embeddings of joint models: t-SNE and cosines (Changpinyo et al. 2018, figure 4).

t-SNE (Van der Maaten and Hinton 2008) is computed exactly, as there are few tasks: from the first
two principal components, by BFGS, so that the same model gives the same picture.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import brentq, minimize
from scipy.spatial.distance import cdist
from torch import Tensor

from spanloom.errors import DataError, PackageMissing
from spanloom.model.model import Model
from spanloom.studies.drawing import new_figure, to_svg

_PERPLEXITY = 3.0  # about as many neighbours count; ten others leave no room for more
_EXAGGERATION = 4.0  # of similarities at first, so that clusters can pass each other (section 3.4)
_TINY = 1e-12

Points = Float[np.ndarray, "task 2"]
Vectors = Float[np.ndarray, "task dim"]
Pairs = Float[np.ndarray, "task task"]


@dataclass(frozen=True, slots=True)
class TaskMap:
    """Tasks as points of a plane, and the cosine of each two task embeddings, by model."""

    tasks: tuple[str, ...]
    points: Points
    cosines_by_model: tuple[Pairs, ...]

    @property
    def cosines(self) -> Pairs:
        """The mean of all models' cosines."""
        mean: Pairs = np.mean(self.cosines_by_model, axis=0)
        return mean

    @property
    def agreement(self) -> list[float]:
        """Pearson's r of the cosines of each two models, over pairs of different tasks."""
        above = np.triu_indices(len(self.tasks), 1)
        pairs = combinations([values[above] for values in self.cosines_by_model], 2)
        return [float(np.corrcoef(first, second)[0, 1]) for first, second in pairs]

    def to_json(self) -> dict[str, object]:
        """Return plain numbers, ready for ``json.dump``."""
        return {
            "tasks": list(self.tasks),
            "points": self.points.round(4).tolist(),
            "cosines": self.cosines.round(4).tolist(),
            "cosines_by_model": [values.round(4).tolist() for values in self.cosines_by_model],
            "agreement": [round(r, 4) for r in self.agreement],
        }


def map_tasks(models: Sequence[Model]) -> TaskMap:
    """Map the tasks of models that differ in their seeds: points by the vectors of all of them.

    Raises ``DataError`` for models without task embeddings or task tokens, and for other tasks.
    """
    tasks = tuple(models[0].recipe.tasks)
    if len(tasks) < 4:
        raise DataError(f"expected at least 4 tasks to draw, got {len(tasks)}")
    for model in models:
        if set(model.recipe.tasks) != set(tasks):
            others = ", ".join(model.recipe.tasks)
            raise DataError(f"expected models of the tasks {', '.join(tasks)}, got {others}")
    vectors = [_task_vectors(model, tasks) for model in models]
    return TaskMap(tasks, tsne(np.hstack(vectors)), tuple(cosines(table) for table in vectors))


def _task_vectors(model: Model, tasks: Sequence[str]) -> Vectors:
    """Return a model's vector of each task: its embedding, or its token in each embedder."""
    network = model.network
    if network.task_embeddings is not None:
        tables = [network.task_embeddings.weight]
    elif network.task_tokens is not None:
        tables = [cast(Tensor, table.weight) for table in network.task_tokens]
    else:
        raise DataError(
            "expected a model with sharing: task-embedding or task-token, "
            f"got sharing: {model.recipe.sharing}"
        )
    rows = [list(model.recipe.tasks).index(task) for task in tasks]
    vectors: Vectors = torch.cat(tables, dim=1).detach().cpu().double().numpy()[rows]
    return vectors


def cosines(vectors: Vectors) -> Pairs:
    """Return the cosine of each two vectors."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Pairs = unit @ unit.T
    return result


def tsne(vectors: Vectors) -> Points:
    """Return points of the plane whose neighbours are those of the vectors."""
    similarities = joint_similarities(vectors, min(_PERPLEXITY, (len(vectors) - 1) / 2))
    centered = vectors - vectors.mean(0)
    left, sizes, _ = np.linalg.svd(centered, full_matrices=False)
    points = 0.01 * left[:, :2] * sizes[:2] / max(sizes[0], _TINY)
    for factor, steps in ((_EXAGGERATION, 50), (1.0, 1000)):
        optimum = minimize(
            divergence,
            points.ravel(),
            args=(factor * similarities,),
            jac=True,
            method="BFGS",
            options={"maxiter": steps},
        )
        points = optimum.x.reshape(-1, 2)
    result: Points = points - points.mean(0)
    return result


def joint_similarities(vectors: Vectors, perplexity: float) -> Pairs:
    """Return the symmetric similarities of all pairs, which sum to 1 (section 3.1)."""
    distances = cdist(vectors, vectors, "sqeuclidean")
    distances /= distances.mean()
    rows = [_conditional(np.delete(row, i), perplexity) for i, row in enumerate(distances)]
    conditional = np.array([np.insert(row, i, 0.0) for i, row in enumerate(rows)])
    result: Pairs = (conditional + conditional.T) / (2 * len(vectors))
    return result


def _conditional(distances: Float[np.ndarray, " other"], perplexity: float) -> Any:
    """Return the similarities of a point's others, with the precision that gives the perplexity."""

    def weights(log_precision: float) -> Any:
        scores = -distances * np.exp(log_precision)
        values = np.exp(scores - scores.max())
        return values / values.sum()

    def surplus(log_precision: float) -> float:
        p = weights(log_precision)
        return float(-(p * np.log(p + _TINY)).sum() - np.log(perplexity))

    if surplus(-20.0) * surplus(20.0) > 0:  # others at equal distances
        return weights(0.0)
    return weights(brentq(surplus, -20.0, 20.0))


def divergence(flat: Float[np.ndarray, " number"], similarities: Pairs) -> tuple[float, Any]:
    """Return the Kullback-Leibler divergence of points (equation 2), and its gradient (5)."""
    points = flat.reshape(-1, 2)
    kernel = 1 / (1 + cdist(points, points, "sqeuclidean"))
    np.fill_diagonal(kernel, 0.0)
    q = np.maximum(kernel / kernel.sum(), _TINY)
    p = np.maximum(similarities, _TINY)
    loss = float((similarities * np.log(p / q)).sum())
    forces = (similarities - similarities.sum() * q) * kernel
    gradient = 4 * (forces.sum(1)[:, None] * points - forces @ points)
    return loss, gradient.ravel()


def draw(task_map: TaskMap) -> str:
    """Return the map and the cosines as SVG; raises ``PackageMissing`` without matplotlib."""
    PackageMissing.check("study embeddings", "studies", "matplotlib")
    figure, (left, right) = new_figure((11, 5), 2)
    _draw_points(left, task_map)
    _draw_cosines(right, task_map.tasks, task_map.cosines)
    num_models = len(task_map.cosines_by_model)
    right.set_title("cosines" if num_models == 1 else f"cosines, mean of {num_models} models")
    return to_svg(figure)


def _draw_points(axes: Any, task_map: TaskMap) -> None:
    axes.scatter(task_map.points[:, 0], task_map.points[:, 1], s=18)
    for task, (x, y) in zip(task_map.tasks, task_map.points, strict=True):
        axes.annotate(task, (x, y), xytext=(4, 4), textcoords="offset points")
    axes.set_title("t-SNE of the task embeddings")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.15)


def _draw_cosines(axes: Any, tasks: Sequence[str], values: Pairs) -> None:
    axes.imshow(values, cmap="RdBu", vmin=-1, vmax=1)
    for (row, column), value in np.ndenumerate(values):
        color = "white" if abs(value) > 0.6 else "black"
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=color, fontsize=7)
    axes.set_xticks(range(len(tasks)), tasks, rotation=45, ha="right")
    axes.set_yticks(range(len(tasks)), tasks)
