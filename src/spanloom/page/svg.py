"""One strip of the layout as an SVG element. Every text is escaped; colours are CSS classes."""

from collections.abc import Iterator, Mapping
from html import escape

from spanloom.page.arcs import Arc
from spanloom.page.boxes import BAR, CAPTION, LEVEL, PADDING, Box
from spanloom.page.feet import Foot
from spanloom.page.glyphs import visible
from spanloom.page.layout import Strip

_LINE = 20.0  # height of a line of text
_BASE = 14.0  # from the top of the text to its baseline
_MARGIN = 6.0  # around a strip
_CORNER = 6.0  # radius where an arc turns
_DEEPEST = 3  # tints of nested spans are this many steps deeper at most


def draw(strip: Strip, colours: Mapping[str, int]) -> str:
    """Return the SVG of one row; ``colours`` gives the palette number of each label."""
    left, right = _sides(strip)
    top = max(
        [_MARGIN, *(b.top for b in strip.boxes), *(a.height + CAPTION / 2 for a in strip.arcs)]
    )
    width, height = right - left, top + _LINE + 2 * _MARGIN
    spoken = escape(" ".join(word.text for word in strip.row.words))
    parts = [
        f'<svg width="{_px(width)}" height="{_px(height)}" role="img" aria-label="{spoken}" '
        f'viewBox="{_px(left)} {_px(-top - _MARGIN)} {_px(width)} {_px(height)}">'
    ]
    deepest_first = sorted(strip.boxes, key=_level, reverse=True)
    parts += [piece for box in deepest_first for piece in _tints(box, colours)]
    # The highest arc first: its legs pass under the captions of lower arcs.
    parts += [_arc(arc) for arc in sorted(strip.arcs, key=_height, reverse=True)]
    parts += [_box(box, colours) for box in strip.boxes]
    parts += _words(strip)
    return "".join([*parts, "</svg>"])


def _level(box: Box) -> int:
    return box.level


def _height(arc: Arc) -> float:
    return arc.height


def _sides(strip: Strip) -> tuple[float, float]:
    reaches = [*(box.reach for box in strip.boxes), *(arc.reach for arc in strip.arcs)]
    feet = [foot.x for arc in strip.arcs for foot in (arc.source, arc.target) if foot]
    left = min([0.0, *feet, *(reach[0] for reach in reaches)])
    right = max([strip.row.width, *feet, *(reach[1] for reach in reaches)])
    return left - _MARGIN, right + _MARGIN


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _words(strip: Strip) -> Iterator[str]:
    for word, x in zip(strip.row.words, strip.row.xs, strict=True):
        if word.text:
            size = f'textLength="{_px(word.width)}" lengthAdjust="spacingAndGlyphs"'
            place = f'x="{_px(x)}" y="{_px(_BASE)}"'
            if word.backward:
                place = f'x="{_px(x + word.width)}" y="{_px(_BASE)}" direction="rtl"'
            yield f"<text {place} {size if word.width else ''}>{escape(word.text)}</text>"


def _tints(box: Box, colours: Mapping[str, int]) -> Iterator[str]:
    deeper = min(box.level, _DEEPEST) * 1.5
    for left, right in box.pieces:
        yield (
            f'<rect class="t c{colours[box.mark.label]}" x="{_px(left)}" y="0" rx="2" '
            f'width="{_px(max(2.0, right - left))}" height="{_px(18 + deeper)}"/>'
        )


def _box(box: Box, colours: Mapping[str, int]) -> str:
    state = f" {box.mark.state}" if box.mark.state else ""
    place = f'x="{_px(box.left)}" y="{_px(-box.top)}" width="{_px(box.right - box.left)}"'
    text = f'x="{_px(box.left + PADDING)}" y="{_px(-box.bottom - 3.8)}"'
    size = f'textLength="{_px(box.right - box.left - 2 * PADDING)}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<g class="b c{colours[box.mark.label]}{state}">'
        f"<title>{escape(_tip(box.mark.tip))}</title>"
        f'{_bars(box)}<rect {place} height="{_px(CAPTION)}" rx="3"/>'
        f"<text {text} {size}>{escape(box.caption)}</text></g>"
    )


def _bars(box: Box) -> str:
    """Draw a bracket over each piece, and dashes from each piece to the next."""
    low, high = -box.level * LEVEL, -box.level * LEVEL - BAR + 2
    lines = []
    for left, right in box.pieces:
        right = max(right, left + 2)
        inner = left + 0.5, right - 0.5
        lines.append(f"M{_px(inner[0])} {_px(low)}V{_px(high)}H{_px(inner[1])}V{_px(low)}")
    drawn = f'<path d="{"".join(lines)}"/>'
    gaps = zip(box.pieces, box.pieces[1:], strict=False)
    dashes = "".join(f"M{_px(one[1])} {_px(high)}H{_px(other[0])}" for one, other in gaps)
    return drawn + (f'<path class="d" d="{dashes}"/>' if dashes else "")


def _tip(text: str) -> str:
    """Return the text with control characters shown, its own line ends kept."""
    return "\n".join(map(visible, text.split("\n")))


def _arc(arc: Arc) -> str:
    left, right = arc.label
    state = f" {arc.link.state}" if arc.link.state else ""
    head = _head(arc.target) if arc.target and arc.link.directed else ""
    size = f'textLength="{_px(right - left - 2 * PADDING)}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<g class="a{state}"><title>{escape(_tip(arc.link.tip))}</title>'
        f'<path d="{_path(arc)}"/>{head}<rect x="{_px(left)}" y="{_px(-arc.height - 7)}" '
        f'width="{_px(right - left)}" height="14"/><text x="{_px(left + PADDING)}" '
        f'y="{_px(-arc.height + 3.8)}" {size}>{escape(arc.caption)}</text></g>'
    )


def _head(foot: Foot) -> str:
    """Draw an arrow head down onto a box, or sideways into it."""
    x, y = foot.x, -foot.y
    if foot.side is None:
        points = f"M{_px(x)} {_px(y)}l-3-6.5h6z"
    else:
        back = 6.5 if x > foot.side else -6.5
        points = f"M{_px(foot.side)} {_px(y)}l{_px(back)}-3v6z"
    return f'<path class="h" d="{points}"/>'


def _path(arc: Arc) -> str:
    """Return the line of an arc: up from the source, along, down to the target."""
    start = arc.source.x if arc.source else arc.free
    stop = arc.target.x if arc.target else arc.free
    turn = min(_CORNER, abs(stop - start) / 2) * (1 if stop >= start else -1)
    line = -arc.height
    path = f"M{_px(start)} {_px(line)}"
    if arc.source:
        side = (
            ""
            if arc.source.side is None
            else f"M{_px(arc.source.side)} {_px(-arc.source.y)}H{_px(start)}"
        )
        path = side or f"M{_px(start)} {_px(-arc.source.y)}"
        path += f"V{_px(line + abs(turn))}Q{_px(start)} {_px(line)} {_px(start + turn)} {_px(line)}"
    if not arc.target:
        return path + f"H{_px(stop)}"
    path += f"H{_px(stop - turn)}Q{_px(stop)} {_px(line)} {_px(stop)} {_px(line + abs(turn))}"
    path += f"V{_px(-arc.target.y)}"
    return path if arc.target.side is None else path + f"H{_px(arc.target.side)}"
