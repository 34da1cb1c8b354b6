"""The frame of a page: head, style and security policy. A page asks nothing of any network."""

import base64
import hashlib
from html import escape

from spanloom.page import palette
from spanloom.page.glyphs import visible

_LIGHT = (
    "color-scheme:light dark;--ground:#fff;--ink:#16181d;--soft:#667085;--line:#8a94a6;"
    "--rule:#e4e7ec;--panel:#f7f8fa;--miss:#c8102e;--extra:#b25e00;--other:#6a3fc4;--mark:#16181d;"
)
_DARK = (
    "--ground:#15171c;--ink:#e8eaf0;--soft:#9aa3b2;--line:#7d8798;--rule:#2b303a;--panel:#1c1f26;"
    "--miss:#ff6b7d;--extra:#ffb454;--other:#b79bff;--mark:#f0f1f5;"
)
_RULES = """
*{box-sizing:border-box}
body{margin:0;padding:1.5rem 2rem 4rem;background:var(--ground);color:var(--ink);
font:15px/1.5 system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif}
h1{font-size:1.35rem;margin:0 0 .75rem}
h2{font-size:1rem;margin:2rem 0 .25rem;padding-top:.9rem;border-top:1px solid var(--rule)}
h3{font-size:.8rem;margin:.9rem 0 0;color:var(--soft);font-weight:600}
.legend{background:var(--panel);border:1px solid var(--rule);border-radius:8px;
padding:.5rem .9rem;margin:0 0 .5rem}
.legend p{margin:.3rem 0;line-height:1.9}
.legend b{font-weight:600;margin-right:.5rem}
.k{display:inline-block;margin-right:.9rem;white-space:nowrap}
.k i{font-style:normal;color:var(--soft);font-size:.85em}
.k span{font:12px/1.5 ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;
padding:.05rem .35rem;border:1px solid var(--e,transparent);background:var(--f,transparent);
color:var(--mark);border-radius:4px}
.k span.r{color:inherit;border-color:var(--line);border-style:dotted}
.s{display:flex;overflow-x:auto;align-items:flex-end}
.s.rtl{flex-direction:row-reverse}
.n{flex:0 0 2.4rem;white-space:nowrap;color:var(--soft);font-size:.72rem;padding-bottom:.62rem;
text-align:right;padding-right:.7rem;user-select:none}
.p .n{flex-basis:5rem}
.rtl .n{text-align:left;padding:0 0 .62rem .7rem}
svg{flex:none;font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}
svg text{font-size:13.3px;fill:var(--ink);white-space:pre}
.t{fill:var(--f);opacity:.55}
.b rect{fill:var(--f);stroke:var(--e)}
.b text{font-size:11px;fill:var(--mark)}
.b path{fill:none;stroke:var(--e);stroke-width:1.3}
.b path.d{stroke-dasharray:4 3}
.a path{fill:none;stroke:var(--line);stroke-width:1.1}
.a path.h{fill:var(--line);stroke:none}
.a rect{fill:var(--ground)}
.a text{font-size:11px;fill:var(--ink)}
.a:hover path{stroke:var(--ink);stroke-width:2}
.a:hover path.h{fill:var(--ink);stroke:none}
.b:hover rect{stroke-width:2}
.b.missed rect,.b.spurious rect,.b.label rect,.b.boundary rect{stroke-width:2.2;
stroke-dasharray:4 2}
.b.missed rect{stroke:var(--miss)}.b.spurious rect{stroke:var(--extra)}
.b.label rect,.b.boundary rect{stroke:var(--other)}
.a.missed path{stroke:var(--miss)}.a.spurious path{stroke:var(--extra)}
.a.label path{stroke:var(--other)}
.a.missed .h{fill:var(--miss);stroke:none}.a.spurious .h{fill:var(--extra);stroke:none}
.a.label .h{fill:var(--other);stroke:none}
table{border-collapse:collapse;margin:.6rem 0 0 2.4rem;font-size:.86rem}
td,th{text-align:left;padding:.12rem .9rem .12rem 0;border-bottom:1px solid var(--rule);
vertical-align:top}
th{color:var(--soft);font-weight:600}
td.missed{color:var(--miss)}td.spurious{color:var(--extra)}
td.label,td.boundary{color:var(--other)}
.loose{margin:.5rem 0 0 2.4rem;padding:0;color:var(--soft);font-size:.85rem;list-style:none}
@media print{body{padding:0}.s{overflow:visible}}
"""


def _style() -> str:
    return (
        f":root{{{_LIGHT}}}{palette.style(dark=False)}"
        f"@media (prefers-color-scheme:dark){{:root{{{_DARK}}}{palette.style(dark=True)}}}{_RULES}"
    )


def sheet(title: str, body: str) -> str:
    """Return a whole HTML file; the policy allows this one style, no script and no request."""
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    shown = escape(visible(title))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{shown}</title>\n<style>{style}</style></head>\n"
        f"<body><h1>{shown}</h1>\n{body}\n</body></html>\n"
    )
