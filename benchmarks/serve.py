"""What a server bears: requests a second, how long they take, what is refused, memory that grows.

    python benchmarks/serve.py --model MODEL [--clients 16] [--seconds 10] [--words 20] [--hasty]
    python benchmarks/serve.py --url http://127.0.0.1:8000 [--json FILE]

Each client sends one text, waits for the reply and sends the next one over the same connection; who
is refused comes back after Retry-After, or at once (``--hasty``). With ``--model`` the server is
started here and its memory is told (Linux); clients and server then share the processors.
"""

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

WORDS = (
    "the a of in and to Ada Bob London Paris company river met wrote moved sold bought near old "
    "new book bridge river engineer said that it was built by people from there in May 1843 ."
).split()


@dataclass
class Seen:
    """What came back: statuses, seconds by status, connections that broke."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: dict[int, list[float]] = field(default_factory=dict)
    broken: int = 0

    def add(self, status: int, seconds: float) -> None:
        """Note one reply."""
        self.statuses[status] += 1
        self.seconds.setdefault(status, []).append(seconds)


def request(host: str, text: str) -> bytes:
    """Return a whole request for /v1/annotate."""
    body = json.dumps({"text": text}).encode()
    head = f"POST /v1/annotate HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body


class Head(NamedTuple):
    """What the head of a reply says: ``later`` is Retry-After, ``last`` that nothing follows."""

    status: int
    length: int
    later: float
    last: bool


async def head_of(reader: asyncio.StreamReader) -> Head:
    """Read the head of one reply."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = re.search(r"content-length: (\d+)", head)
    later = re.search(r"retry-after: (\d+)", head)
    return Head(
        int(head.split()[1]),
        int(length[1]) if length else 0,
        float(later[1]) if later else 0.0,
        "connection: close" in head,
    )


async def reply(reader: asyncio.StreamReader) -> Head:
    """Read one reply and leave its body."""
    head = await head_of(reader)
    await reader.readexactly(head.length)
    return head


async def client(url: str, end: float, options: argparse.Namespace, seen: Seen, row: int) -> None:
    """Ask until the end, with a new connection where one breaks."""
    address, rng = urlsplit(url), random.Random(row)
    while time.monotonic() < end:
        try:
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
        except OSError:
            seen.broken += 1
            await asyncio.sleep(0.1)
            continue
        try:
            while time.monotonic() < end:
                text = " ".join(rng.choices(WORDS, k=options.words))
                began = time.monotonic()
                writer.write(request(address.netloc, text))
                head = await reply(reader)
                seen.add(head.status, time.monotonic() - began)
                await asyncio.sleep(0 if options.hasty else head.later)
        except (OSError, asyncio.IncompleteReadError):
            seen.broken += 1
        finally:
            writer.close()


async def load(url: str, options: argparse.Namespace, seen: Seen | None = None) -> Seen:
    """Let all clients ask for some seconds."""
    seen, end = seen or Seen(), time.monotonic() + options.seconds
    await asyncio.gather(*(client(url, end, options, seen, row) for row in range(options.clients)))
    return seen


@contextmanager
def started(model: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start a server on a free port; its address and its process."""
    command = [sys.executable, "-m", "spanloom", "serve", "-m", str(model), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                print(line, end="", file=sys.stderr)
                if match := re.search(r"http://\S+:\d+", line):
                    yield match[0], process
                    break
            else:
                raise SystemExit("the server did not start")
        finally:
            process.terminate()


def resident(process: int) -> float:
    """Memory that a process and those it started hold, in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    inner = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    megabytes = int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024
    return megabytes + sum(resident(int(child)) for child in inner)


def share(seconds: list[float], part: float) -> float | None:
    """The time that this part of some requests took at most, in milliseconds."""
    ordered = sorted(seconds)
    return (
        round(1000 * ordered[min(len(ordered) - 1, int(part * len(ordered)))], 1)
        if ordered
        else None
    )


def told(seen: Seen, options: argparse.Namespace) -> dict[str, object]:
    """Return what was seen as plain numbers."""
    good = seen.seconds.get(200, [])
    refused = seen.seconds.get(503, [])
    return {
        "clients": options.clients,
        "seconds": options.seconds,
        "words": options.words,
        "hasty": options.hasty,
        "annotated_per_second": round(len(good) / options.seconds, 1),
        "p50_ms": share(good, 0.5),
        "p99_ms": share(good, 0.99),
        "refused_p99_ms": share(refused, 0.99),
        "statuses": {str(status): count for status, count in sorted(seen.statuses.items())},
        "broken_connections": seen.broken,
    }


def put(result: object, path: Path | None) -> None:
    """Print a result, and save it where that is asked for."""
    text = json.dumps(result, indent=1)
    print(text)
    if path:
        path.write_text(text + "\n", encoding="utf-8")


def measured(options: argparse.Namespace) -> dict[str, object]:
    """Warm up until the allocator has what it needs, then measure."""
    if options.url is not None:
        return told(asyncio.run(load(options.url, options)), options)
    with started(options.model) as (url, process):
        short = argparse.Namespace(**{**vars(options), "seconds": options.warm})
        asyncio.run(load(url, short))
        before = resident(process.pid)
        seen = asyncio.run(load(url, options))
        after = resident(process.pid)
        return {**told(seen, options), "memory_mb": [round(before, 1), round(after, 1)]}


def main() -> None:
    """Measure, print, and save where that is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    target = arguments.add_mutually_exclusive_group(required=True)
    target.add_argument("--model", type=Path)
    target.add_argument("--url")
    arguments.add_argument("--clients", type=int, default=16)
    arguments.add_argument("--seconds", type=float, default=10.0)
    arguments.add_argument("--warm", type=float, default=30.0, help="seconds of load before")
    arguments.add_argument("--words", type=int, default=20)
    arguments.add_argument("--hasty", action="store_true")
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    result = measured(options)
    put(result, options.json)


if __name__ == "__main__":
    main()
