"""The application with a fake model, called without a socket, or served on one."""

import asyncio
import json

import httpx
import pytest
from fake_model import ABOUT, Fake, laned, serving, until

from spanloom.serve.app import application


@pytest.fixture
def fake():
    return Fake()


@pytest.fixture
def lanes(fake):
    with laned(fake) as lanes:
        until(lambda: lanes.is_ready)
        yield lanes
        fake.door.set()


@pytest.fixture
def asked(lanes):
    """Return a function that sends a request: ``asked(path, body)`` posts, ``asked(path)`` gets.

    A body of bytes is sent unchanged; ``about``, ``token`` and ``is_local`` configure the
    application.
    """

    usual = application(lanes, ABOUT)

    def ask(path, body=None, *, about=ABOUT, token=None, is_local=False, **how):
        special = about is not ABOUT or token is not None or is_local
        app = application(lanes, about, token=token, is_local=is_local) if special else usual
        return asyncio.run(_asked(app, path, body, how))

    return ask


async def _asked(app, path, body, how):
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://here", trust_env=False
    ) as client:
        if body is None:
            return await client.get(path, **how)
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"content-type": "application/json", **how.pop("headers", {})}
        return await client.post(path, content=content, headers=headers, **how)


@pytest.fixture
def served():
    """A server with the usual limits."""
    with serving() as running:
        yield running
