"""Write docs/benchmarks.md: the text of docs/benchmarks.in.md, its tables from benchmarks/results.

Example: python docs/benchmarks.py

Lines of the text that are replaced; FILES are below benchmarks/results and may have a ``*``:

    <!-- rows: FILES PATH | cell | cell -->      a line a file, or a thing that PATH leads to
    <!-- together: FILES PATH | cell | cell -->  one line of all files: means and deviations
    <!-- seeds: FILES -->                        mean and spread over seeds
    <!-- board: FOLDER -->                       the rows of Open GLAD
    <!-- peers: FOLDER -->                       the rows of peers
    <!-- grid: FOLDER -->                        rows of tasks alone, jointly, fine-tuned
    <!-- gains: FILE DESIGN -->                  a study's gains, by task and partner
    <!-- conditions: FILE -->                    a study's scores, by task and condition
    <!-- curves: FILE -->                        a study's scores and gains, by size of data
    <!-- probing: FILE -->                       accuracies of probing, by vectors and task

PATH is keys with dots between them, a ``*`` for each key there is; it may be absent. In a cell
``{KEYS:FORMAT}`` is a value: ``{*0}`` the first key that a ``*`` stood for, ``{files}`` how many
files. FORMAT is Python's, after a factor where there is a ``*`` (``100*.2f``); ``s`` is seconds.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from grid import grid
from seeds import seeds
from study_tables import conditions, curves, gains, probing
from ten_tasks import peers, ten_tasks

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
TEMPLATE, PAGE = (Path(__file__).with_name(f"benchmarks.{end}") for end in ("in.md", "md"))

_LINE = re.compile(r"^<!-- (\w+): (\S+)(?: ([^|\s]+))?(?: \| (.*))? -->\n", re.M)
_VALUE = re.compile(r"\{([^{}:]+)(?::([^{}]*))?\}")


@dataclass(frozen=True, slots=True)
class Several:
    """One number of several files."""

    values: tuple[float, ...]

    def __mul__(self, factor: float) -> "Several":
        """Return each number times a factor."""
        return Several(tuple(factor * value for value in self.values))

    def __format__(self, form: str) -> str:
        """Say their mean and standard deviation."""
        return f"{mean(self.values):{form}} ± {stdev(self.values):{form}}"


def page(text: str, results: Path = RESULTS) -> str:
    """Return a page made of a text; ``ValueError`` names what it asks for and is not there."""

    def replaced(match: re.Match[str]) -> str:
        name, files, path, cells = match.groups()
        try:
            return MAKERS[name](results, files, path, cells)
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{match[0].strip()}: not found: {error}") from error

    text_of_page = _LINE.sub(replaced, text)
    left = re.search(r"^<!--.*", text_of_page, re.M)
    if left:
        raise ValueError(f"{left[0]}: expected <!-- NAME: FILES PATH | cell | cell -->")
    return text_of_page


def _rows(results: Path, files: str, path: str | None, cells: str) -> str:
    read = [json.loads(file.read_text("utf-8")) for file in _found(results, files)]
    return "".join(_filled(cells, row) for data in read for row in _inside(data, path))


def _together(results: Path, files: str, path: str | None, cells: str) -> str:
    read = [json.loads(file.read_text("utf-8")) for file in _found(results, files)]
    rows = [next(_inside(data, path)) for data in read]
    return _filled(cells, {**_merged(rows), "files": len(rows)})


def _seeds(results: Path, files: str, path: None, cells: None) -> str:
    return seeds(_found(results, files))


def _board(results: Path, files: str, path: None, cells: None) -> str:
    return ten_tasks(results / files, results / "asked.yaml")


def _grid(results: Path, files: str, path: None, cells: None) -> str:
    return grid(results / files)


def _gains(results: Path, file: str, design: str, cells: None) -> str:
    return gains(results / file, design)


def _conditions(results: Path, file: str, path: None, cells: None) -> str:
    return conditions(results / file)


def _probing(results: Path, file: str, path: None, cells: None) -> str:
    return probing(results / file)


def _curves(results: Path, file: str, path: None, cells: None) -> str:
    return curves(results / file)


def _peers(results: Path, files: str, path: None, cells: None) -> str:
    return peers(results / files)


MAKERS: dict[str, Callable[..., str]] = {
    "rows": _rows,
    "together": _together,
    "seeds": _seeds,
    "board": _board,
    "peers": _peers,
    "grid": _grid,
    "gains": _gains,
    "conditions": _conditions,
    "probing": _probing,
    "curves": _curves,
}


def _found(results: Path, files: str) -> list[Path]:
    paths = sorted(results.glob(files))
    if not paths:
        raise LookupError(files)
    return paths


def _inside(data: Any, path: str | None) -> Iterator[dict[str, Any]]:
    """Yield what a path leads to, with the keys that stood for ``*`` as ``*0``, ``*1``."""
    pending: list[tuple[Any, tuple[str, ...]]] = [(data, ())]
    for key in path.split(".") if path else ():
        if key == "*":
            pending = [(e, (*keys, str(k))) for node, keys in pending for k, e in _items(node)]
        else:
            pending = [(_step(node, key), keys) for node, keys in pending]
    for node, keys in pending:
        if not isinstance(node, dict):
            raise LookupError(f"keys below {path}")
        yield node | {f"*{number}": key for number, key in enumerate(keys)}


def _items(node: Any) -> Sequence[tuple[Any, Any]]:
    return list(node.items() if isinstance(node, dict) else enumerate(node))


def _step(node: Any, key: str) -> Any:
    return node[int(key)] if isinstance(node, list) else node[key]


def _merged(values: Sequence[Any]) -> Any:
    """Several values of one shape as one: numbers side by side, of all else the first."""
    first = values[0]
    if isinstance(first, dict):
        return {key: _merged([value.get(key) for value in values]) for key in first}
    if all(isinstance(value, int | float) for value in values):
        return Several(tuple(values))
    return first


def _filled(cells: str, row: dict[str, Any]) -> str:
    def shown(match: re.Match[str]) -> str:
        return _shown(_reached(row, match[1]), match[2] or "")

    return f"| {_VALUE.sub(shown, cells)} |\n"


def _reached(value: Any, path: str) -> Any:
    """What a path leads to; what is left of it may be one key that has dots itself."""
    key, dot, remainder = path.partition(".")
    if not dot or (isinstance(value, dict) and path in value):
        return _step(value, path)
    return _reached(_step(value, key), remainder)


def _shown(value: Any, form: str) -> str:
    factor, sign, remainder = form.partition("*")
    if sign:
        return _shown(value * float(factor), remainder)
    if form == "s":
        return format(value, ".3f" if value < 0.0995 else ".2f")
    return format(value, form)


if __name__ == "__main__":
    PAGE.write_text(page(TEMPLATE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"written to {PAGE}\n")
