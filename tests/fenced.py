"""Code as Markdown has it, between fences."""

import re


def blocks(text, language):
    """What stands between fences of that language; "" for those that name none."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
