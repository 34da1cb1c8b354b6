"""Code as Markdown has it, between fences."""

import re

_FENCED = re.compile(r"^```([^`\n]*)\n(.*?)^```$", re.M | re.S)


def blocks(text, language):
    """What stands between fences of that language; "" for those that name none."""
    return [code for info, code in _FENCED.findall(text) if info == language]
