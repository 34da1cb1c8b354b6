"""Whether clients that send a byte now and then keep others out of a server.

    python benchmarks/slow_clients.py MODEL [--slow 200] [--seconds 30] [--json FILE]

Half of the slow ones are never done with the head of a request, half never with its body; whom the
server ends begins anew. Meanwhile others ask, each time over a new connection, whether it is live,
and for a sentence to be annotated.
"""

import argparse
import asyncio
import random
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from serve import Seen, put, reply, request, share, started

HEAD = b"POST /v1/annotate HTTP/1.1\r\nHost: slow\r\nContent-Type: application/json\r\n"
BODY = HEAD + b"Content-Length: 1000\r\n\r\n"
LIVE = b"GET /health/live HTTP/1.1\r\nHost: %s\r\n\r\n"


async def trickle(url: str, row: int, pauses: tuple[float, float]) -> int:
    """Be slow for ever; returns only when the server ends the connection."""
    address, rng = urlsplit(url), random.Random(row)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        writer.write(BODY if row % 2 else HEAD + b"X-Slow: ")
        while True:
            reply = asyncio.create_task(reader.read(65536))
            done, _ = await asyncio.wait({reply}, timeout=rng.uniform(*pauses))
            if done:
                return row
            reply.cancel()
            writer.write(b" ")
            await writer.drain()
    finally:
        writer.close()


async def slow(url: str, row: int, pauses: tuple[float, float], ended: list[int]) -> None:
    """Begin anew whenever the server has ended it."""
    while True:
        try:
            ended.append(await trickle(url, row, pauses))
        except OSError:
            ended.append(row)


async def ask(url: str, what: bytes, end: float, pause: float, seen: Seen) -> None:
    """Ask the same over new connections until the end."""
    address = urlsplit(url)
    while time.monotonic() < end:
        began = time.monotonic()
        try:
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(what)
            head = await reply(reader)
            seen.add(head.status, time.monotonic() - began)
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            seen.broken += 1
        await asyncio.sleep(pause)


async def measured(url: str, options: argparse.Namespace) -> dict[str, Any]:
    """Have the slow ones begin, then the others ask."""
    ended: list[int] = []
    host = urlsplit(url).netloc
    rows = range(options.slow)
    clients = [asyncio.create_task(slow(url, row, (0.5, 2.0), ended)) for row in rows]
    await asyncio.sleep(1)
    live, texts, end = Seen(), Seen(), time.monotonic() + options.seconds
    sentence = request(host, "Ada met Bob in London.")
    await asyncio.gather(
        ask(url, LIVE % host.encode(), end, 0.1, live), ask(url, sentence, end, 0.5, texts)
    )
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    return {
        "slow": options.slow,
        "seconds": options.seconds,
        "live": told(live),
        "annotated": told(texts),
        "slow_connections_ended": len(ended),
    }


def told(seen: Seen) -> dict[str, Any]:
    """Return what was seen as plain numbers."""
    times = [seconds for latencies in seen.seconds.values() for seconds in latencies]
    return {
        "statuses": {str(status): count for status, count in sorted(seen.statuses.items())},
        "broken": seen.broken,
        "p50_ms": share(times, 0.5),
        "slowest_ms": share(times, 1.0),
    }


def main() -> None:
    """Measure, print, and save where that is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--slow", type=int, default=200)
    arguments.add_argument("--seconds", type=float, default=30.0)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    with started(options.model) as (url, _):
        result = asyncio.run(measured(url, options))
    put(result, options.json)


if __name__ == "__main__":
    main()
