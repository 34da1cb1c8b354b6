"""The leaderboard: results as a markdown table and as an HTML page."""

from collections.abc import Sequence
from html import escape

from spanloom.corpora import card as cards
from spanloom.glad.result import Result

HEAD = (
    *("dataset", "task", "kind", "measure", "dev", "test", "95 %", "recipe", "seed"),
    *("min", "trained", "words/s", "of encoder", "commit", "version"),
)
_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;"
    "max-width:90rem;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%;font-size:.8rem}"
    "th,td{padding:.3rem .35rem;text-align:left;border-bottom:1px solid #8884}"
    "td:is(:first-child,:nth-child(8),:last-child){overflow-wrap:anywhere}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}"
    "code{font-size:.85em;overflow-wrap:anywhere}"
    # a narrow page shows each row as a block of its own, with the heads beside the values
    "@media(max-width:80rem){thead{position:absolute;clip-path:inset(50%)}"
    "tr{display:grid;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));"
    "padding:.5rem 0;border-bottom:1px solid #8884}td,td.n{border:0;text-align:left;padding:0}"
    "td:empty{display:none}td::before{content:attr(data-head) ' ';opacity:.7}}"
)
_CLASS = ' class="n"'
_NUMBERS = {"dev", "test", "95 %", "seed", "min", "trained", "words/s", "of encoder"}


def cells(row: Result) -> tuple[str, ...]:
    """Return a row's cells under ``HEAD``, "" for what is not known.

    Ratios are in percent, speeds in words a second of CPU time, in training and annotating.
    """
    measure, value = row.main
    kind = ", ".join(
        (
            row.kind,
            *(["given"] if row.gold_inputs else []),
            *(["labels mapped"] if row.labels else []),
        )
    )
    dev = row.dev.get(f"{row.task}.{measure}")
    interval = [f"{100 * bound:.1f}" for bound in row.intervals.get(measure, ())]
    return (
        *(row.dataset, row.task, kind, measure, _format(dev, ".2f", 100), f"{100 * value:.2f}"),
        *(" to ".join(interval), row.made_by, str(row.seed), _format(row.train_cpu_minutes, ".1f")),
        *(_format(row.train_words_per_s, ",.0f"), f"{row.annotate_words_per_s:,.0f}"),
        _format(row.relative_speed, ".0f", 100),
        *(row.commit, row.version),
    )


def _format(value: float | None, form: str, times: float = 1) -> str:
    return "" if value is None else format(times * value, form)


def sort_rows(rows: Sequence[Result]) -> list[Result]:
    """Return rows by dataset and task, the best first."""
    return sorted(rows, key=lambda row: (row.dataset, row.task, -row.main[1], row.file))


def table(rows: Sequence[Result]) -> str:
    """Return a markdown table of the rows."""
    lines = [HEAD, tuple("---" for _ in HEAD), *map(cells, sort_rows(rows))]
    return "".join("| " + " | ".join(_plain(cell) for cell in line) + " |\n" for line in lines)


def _plain(cell: str) -> str:
    """Return a cell that ends no cell of markdown."""
    return cell.replace("|", "\\|").replace("\n", " ")


def page(rows: Sequence[Result]) -> str:
    """Return a self-contained page: the table, and below it the command of each row."""
    head = "".join(f"<th>{escape(name)}</th>" for name in HEAD)
    body = "\n".join(f"<tr>{_cells(row)}</tr>" for row in sort_rows(rows))
    how = "\n".join(f"<li>{_how(row)}</li>" for row in sort_rows(rows))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Open GLAD</title><style>{_STYLE}</style></head><body><main>\n<h1>Open GLAD</h1>\n"
        f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>\n"
        f"<h2>Commands</h2>\n<ul>\n{how}\n</ul>\n</main></body></html>\n"
    )


def _cells(row: Result) -> str:
    named = zip(HEAD, cells(row), strict=True)
    return "".join(
        f'<td data-head="{name}"{_CLASS if name in _NUMBERS else ""}>{escape(cell)}</td>'
        for name, cell in named
    )


def _how(row: Result) -> str:
    """Return a row's command, with the notes of its dataset's card on comparability."""
    has_card = row.dataset in cards.names()
    card = cards.load(row.dataset) if has_card else None
    note = f" {card.comparability}" if card and card.comparability else ""
    terms = f" ({card.license})" if card else ""
    return f"{escape(row.dataset)}{escape(terms)}: <code>{escape(row.command)}</code>{escape(note)}"
