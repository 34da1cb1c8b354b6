"""The page of a similarity: a picture of layers and heads for each pair, and a table."""

import html
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from spanloom.atomic_io import write_file
from spanloom.errors import PackageMissing
from spanloom.studies.drawing import new_figure, to_svg
from spanloom.studies.page import figure, page, table
from spanloom.studies.similarity import PairSimilarity, Similarity

_COLORS = "viridis"  # similar is yellow, different is dark


def write_page(similarity: Similarity, path: Path) -> list[Path]:
    """Write the page to ``path`` and the values as JSON beside it; return both paths.

    Raises ``StorageError``, and ``PackageMissing`` without matplotlib.
    """
    PackageMissing.check("study similarity", "studies", "matplotlib")
    values = path.with_suffix(".json")
    write_file(values, similarity.to_json().encode())
    write_file(path, _page(similarity).encode())
    return [path, values]


def _page(similarity: Similarity) -> str:
    parts = [_NOTES]
    for target in similarity.targets:
        pairs = [pair for pair in similarity.pairs if pair.target == target]
        name, count = html.escape(target), similarity.sentences[target]
        parts.append(f"<h2>{name}: {count} sentences</h2>")
        drawn = {pair.source: pair for pair in reversed(pairs) if pair.heads}  # one per source
        if drawn:
            caption = f"Attention similarity to {name} by layer and head; one scale for all."
            parts.append(figure(draw_heads(sorted(drawn.values(), key=_order)), caption))
        parts.append(table(_HEAD, map(_row, sorted(pairs, key=_order))))
    return page("Similarity of tasks", parts)


def draw_heads(pairs: Sequence[PairSimilarity]) -> str:
    """Draw a picture per source: layers from the bottom up, heads from left to right."""
    maps = [np.array(pair.heads) for pair in pairs]
    lowest = min(float(heads.min()) for heads in maps)
    drawing, axes = new_figure((1.2 + 1.9 * len(pairs), 2.4), len(pairs))
    panels = np.atleast_1d(axes)
    for panel, pair, heads in zip(panels, pairs, maps, strict=True):
        image = panel.imshow(heads, cmap=_COLORS, vmin=lowest, vmax=0.0, origin="lower")
        panel.set_title(_name(pair))
        panel.set_xlabel("head")
        panel.set_xticks(range(heads.shape[1]), [str(1 + head) for head in range(heads.shape[1])])
        panel.set_yticks(range(heads.shape[0]), [str(1 + layer) for layer in range(len(heads))])
        panel.tick_params(length=0, labelsize=6)
    panels[0].set_ylabel("layer")
    drawing.colorbar(image, ax=list(panels), label="similarity")
    return to_svg(drawing)


def _name(pair: PairSimilarity) -> str:
    return f"{pair.source}, another seed" if pair.is_ceiling else pair.source


def _order(pair: PairSimilarity) -> tuple[bool, float]:
    """Order sources: the ceiling first, then by attention, most similar first."""
    return not pair.is_ceiling, -(pair.attention or 0.0)


_HEAD = ("source", "model", "attention similarity", "span overlap", "gradient cosine")


def _row(pair: PairSimilarity) -> str:
    values = (pair.attention, pair.span_overlap, pair.gradient_cosine)
    cells = "".join(
        f'<td class="number">{"" if value is None else f"{value:.3f}"}</td>' for value in values
    )
    folder = html.escape(Path(pair.source_model).name)
    return f"<td>{html.escape(_name(pair))}</td><td><code>{folder}</code></td>{cells}"


_NOTES = """\
<p>Attention similarity is minus the Frobenius norm of the difference of two models' attention maps
of a sentence, averaged over the target's sentences, and over heads in the table (Jiang et al. 2020,
section 4.3). It grows with the length of sentences, so it may be compared within a target only.
Span overlap is the Dice coefficient of the spans that the source's model finds on the target's
sentences and the target's gold spans, labels aside. Gradient cosine is that of the tasks' mean
gradients in the shared weights of a common model; of a task with itself, of two halves of its
batches. <i>Another seed</i> is a second model of the target itself: the ceiling of each
measure.</p>"""
