"""Figures without a window, as SVG for a page."""

import io
from typing import Any

_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "spanloom",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def new_figure(size: tuple[float, float], columns: int = 1) -> tuple[Any, Any]:
    """Return a figure of this size in inches, and its axes: one, or an array of ``columns``."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        return figure, figure.subplots(1, columns)


def to_svg(figure: Any) -> str:
    """Return a figure as an ``svg`` element for a page."""
    from matplotlib import rc_context

    stream = io.StringIO()
    with rc_context(_STYLE):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    return text[text.index("<svg") :]
