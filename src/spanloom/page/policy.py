"""Content policies: a page runs its one script and shows its one style, named by their sums."""

import base64
import hashlib


def policy(code: str, style: str, *further: str) -> str:
    """Return the policy of a page; ``further`` are directives that it needs beside."""
    rules = (
        "default-src 'none'",
        f"script-src {_sum(code)}",
        f"style-src {_sum(style)}",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join((*rules, *further))


def _sum(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
