"""What a server answers to bad requests: never a 5xx of its own making, never silence.

    python benchmarks/bad_requests.py MODEL [--requests 20000] [--seed 1] [--json FILE]

Whole requests, drawn at random: bytes that are no JSON, JSON that is deep, huge, cut short or of
the wrong types, half characters, NUL, NaN, unknown keys and tasks, wrong heads, methods, places;
and good ones with odd texts, whose reply must slice the very text that was sent. 503 is a full
queue, and counts apart; a reply later than ``--patience`` seconds is a hang.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from serve import put, started

PATHS = ("/v1/annotate", "/v1/ask", "/v1/classify")
ODD = "a B é 👍🏽 \u202e \ufeff \u0301 \u200d \t \n \r\n <b> & \" ' \\ \u2028 ك 你好 .".split(" ")
WORDS = ("Ada", "met", "Bob", "in", "London", ".", "He", "wrote", "2", "books", "!")


def text(rng: random.Random) -> str:
    """A text of odd and usual words."""
    return " ".join(rng.choices(ODD + list(WORDS), k=rng.randint(0, 30)))


def value(rng: random.Random, depth: int = 0) -> Any:
    """Any JSON value, or what Python takes for one."""
    plain: list[Callable[[], Any]] = [
        lambda: None,
        lambda: rng.random() < 0.5,
        lambda: rng.randint(-(10**30), 10**30),
        lambda: float(rng.choice(["nan", "inf", "-inf", "1e308", "0.1"])),
        lambda: text(rng),
        lambda: rng.choice(["\ud800", "a\x00b", "\udfff\ud800"]),
    ]
    nested: list[Callable[[], Any]] = [
        lambda: [value(rng, depth + 1) for _ in range(rng.randint(0, 4))],
        lambda: {key(rng): value(rng, depth + 1) for _ in range(rng.randint(0, 4))},
    ]
    return rng.choice(plain + nested * (depth < 4))()


def key(rng: random.Random) -> str:
    """A key that is known, or nearly, or not at all."""
    keys = (
        "text",
        "texts",
        "tasks",
        "format",
        "question",
        "questions",
        "text_pair",
        "Text",
        "",
        "x",
    )
    return rng.choice(keys)


def body(rng: random.Random) -> bytes:
    """The body of a request."""
    data = json.dumps({"text": text(rng)} if rng.random() < 0.3 else value(rng)).encode()
    spoilt: list[Callable[[], bytes]] = [
        lambda: data,
        lambda: data,
        lambda: data[: rng.randint(0, len(data))],
        lambda: rng.randbytes(rng.randint(0, 200)),
        lambda: data.replace(b'"', b"'"),
        lambda: data[:5] + b"\xff\xfe" + data[5:],
        lambda: rng.choice([b"[", b'{"a":', b'{"text":[']) * rng.choice([10, 1000, 100_000]),
        lambda: b'{"text": "' + b"a" * rng.choice([100_001, 2_000_001]) + b'"}',
        lambda: b'{"text": ' + b"9" * rng.choice([10, 5000]) + b"}",
        lambda: json.dumps({"texts": ["a"] * rng.randint(1, 400)}).encode(),
        lambda: json.dumps({"text": "a", key(rng): value(rng)}).encode(),
    ]
    return rng.choice(spoilt)()


async def ask(client: httpx.AsyncClient, rng: random.Random) -> tuple[str, str | None]:
    """Send one request; return what came, and what is wrong with it if anything is."""
    if rng.random() < 0.2:
        return await good(client, text(rng) or "a")
    method = rng.choice(["POST"] * 9 + ["PUT", "GET", "DELETE", "PATCH"])
    path = rng.choice([*PATHS * 3, "/v1", "/v1/annotate/x", "/%00", "/..%2f..", "/v1/model"])
    heads = {"content-type": rng.choice(["application/json"] * 9 + ["text/plain", "", "x"])}
    reply = await client.request(method, path, content=body(rng), headers=heads)
    wrong = f"{reply.status_code} for {method} {path}" if reply.status_code >= 500 else None
    return str(reply.status_code), None if reply.status_code == 503 else wrong


async def good(client: httpx.AsyncClient, text: str) -> tuple[str, str | None]:
    """Have a text annotated; every span must lie in it and cover what the reply says it covers."""
    reply = await client.post(PATHS[0], json={"text": text})
    if reply.status_code != 200:
        return str(reply.status_code), None if reply.status_code in (422, 503) else reply.text[:200]
    (document,) = reply.json()["documents"]
    if document["text"] != text:
        return "200", f"another text came back for {text!r}"
    for layer in document.get("layers", ()):
        for span in layer.get("spans", ()):
            if not all(0 <= start <= end <= len(text) for start, end in span["fragments"]):
                return "200", f"{span} is outside {text!r}"
    return "200", None


async def all_of(url: str, options: argparse.Namespace) -> dict[str, Any]:
    """Send all requests, some at a time."""
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    slowest = 0.0
    left = iter(range(options.requests))

    async def worker() -> None:
        nonlocal slowest
        async with httpx.AsyncClient(base_url=url, timeout=options.patience) as client:
            for number in left:
                rng, began = random.Random(f"{options.seed}-{number}"), time.monotonic()
                try:
                    status, problem = await ask(client, rng)
                except httpx.TimeoutException:
                    status, problem = "hang", f"request {number}: no reply"
                except httpx.TransportError as error:
                    status, problem = f"closed ({type(error).__name__})", None
                slowest = max(slowest, time.monotonic() - began)
                seen[status] += 1
                if problem:
                    wrong.append(problem)

    await asyncio.gather(*(worker() for _ in range(options.clients)))
    return {
        "requests": options.requests,
        "seed": options.seed,
        "statuses": dict(sorted(seen.items())),
        "slowest_seconds": round(slowest, 2),
        "wrong": len(wrong),
        "first_wrong": wrong[:5],
    }


def main() -> None:
    """Start a server, ask, print, and save where that is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--requests", type=int, default=20_000)
    arguments.add_argument("--clients", type=int, default=8)
    arguments.add_argument("--patience", type=float, default=35.0)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    with started(options.model) as (url, _):
        counts = asyncio.run(all_of(url, options))
    put(counts, options.json)
    sys.exit(bool(counts["wrong"]))


if __name__ == "__main__":
    main()
