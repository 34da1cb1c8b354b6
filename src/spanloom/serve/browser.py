"""The page for browsers: one file with its script and its style, and the policy that names both."""

from functools import cache
from importlib.resources import files
from string import Template

from starlette.responses import Response

from spanloom.viewer.html_shell import style
from spanloom.viewer.policy import policy
from spanloom.viewer.script import script

ENTRY = "serve/site/site"
_START = "\nstart(document);\n"
_NEEDED = ("connect-src 'self'", "img-src blob:", "frame-ancestors 'none'")  # blob: the PNG's way


@cache
def page() -> Response:
    """Return the reply that is the page; it is the same for everyone."""
    rules, code = style() + _read("site.css"), script(ENTRY) + _START
    content = Template(_read("site.html")).substitute(style=rules, script=code)
    told = {"content-security-policy": policy(code, rules, *_NEEDED)}
    return Response(content, headers=told, media_type="text/html")


def _read(name: str) -> str:
    return files("spanloom.serve").joinpath("site", name).read_text(encoding="utf-8")
