"""Who may ask: whoever knows the token, where there is one."""

import hmac

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from spanloom.serve.problem import Problem

_HEALTH = "/health/"  # whoever watches over the server needs no token
_PAGE = "/"  # a browser cannot send one with an address; the page knows nothing and asks for it


class Access:
    """Lets through requests with ``Authorization: Bearer TOKEN``, and those for its health or page.

    Raises ``Problem`` 401 for all others.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, if it may pass."""
        if scope["type"] == "http" and not _is_open(scope["path"]):
            said = Headers(scope=scope).get("authorization", "").encode("latin-1")
            if not hmac.compare_digest(said, self.expected):  # takes as long wherever they differ
                expected = "expected Bearer and the token of this server"
                told = {"WWW-Authenticate": "Bearer"}
                raise Problem(401, expected, where="header authorization", headers=told)
        await self.app(scope, receive, send)


def _is_open(path: str) -> bool:
    return path == _PAGE or path.startswith(_HEALTH)
