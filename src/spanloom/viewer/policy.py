"""Content security policies that allow only one script and one style, by their hashes."""

import base64
import hashlib


def policy(code: str, style: str, *extra_directives: str) -> str:
    """Return the policy of a page; ``extra_directives`` are appended."""
    rules = (
        "default-src 'none'",
        f"script-src {_hash_source(code)}",
        f"style-src {_hash_source(style)}",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join((*rules, *extra_directives))


def _hash_source(content: str) -> str:
    """Return the policy source of a script or style: its SHA-256."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
