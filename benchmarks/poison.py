"""Whether one client's poisonous text harms all others, and whether a server under it ends.

    python benchmarks/poison.py [MODEL] [--seconds 300] [--rate 20] [--clients 16] [--json FILE]

Clients send texts of 30 words, ``--rate`` a second in all, whatever comes back (who is late sends
at once), for some seconds; and once more while another client sends one text again and again:
37,733 characters without a full stop, so one sentence. Then, in the midst of it, SIGTERM. Times are
from the moment when a request was due. The rate should load the machine, but not to its limit.
"""

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from serve import WORDS, Seen, put, reply, request, share, started

from spanloom.glad.speed import processor

DEFAULT = Path(__file__).parents[1] / "src/spanloom/models/spanloom-en"
LENGTH = 37_733
LATE = 60.0  # seconds after which a server that was told to end is killed


def poison() -> str:
    """One sentence that does not end."""
    vocabulary = [word for word in WORDS if word != "."]
    return " ".join(islice(cycle(vocabulary), LENGTH))[:LENGTH]


async def usual(url: str, row: int, end: float, options: argparse.Namespace, seen: Seen) -> None:
    """Send short texts at a fixed rate, each client a little later than the one before it."""
    address, rng, gap = urlsplit(url), random.Random(row), options.clients / options.rate
    due = time.monotonic() + gap * row / options.clients
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        while due < end and time.monotonic() < end:  # what is due later is never sent
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            if reader.at_eof():  # closed while nothing was asked
                return
            text = " ".join(rng.choices(WORDS[:-1], k=29)) + " ."
            writer.write(request(address.netloc, text))
            head = await reply(reader)
            seen.add(head.status, time.monotonic() - due)
            due += gap
            if head.last:
                return
    except (OSError, asyncio.IncompleteReadError):
        seen.broken += 1
    finally:
        writer.close()


async def poisonous(url: str, seen: Seen) -> None:
    """Send the poisonous text until cancelled, each time when the last one was answered."""
    address, text = urlsplit(url), poison()
    while True:
        try:
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
        except OSError:
            return
        try:
            began = time.monotonic()
            writer.write(request(address.netloc, text))
            head = await reply(reader)
            seen.add(head.status, time.monotonic() - began)
            if head.status != 200:
                await asyncio.sleep(min(1.0, head.later))
        except (OSError, asyncio.IncompleteReadError):
            seen.broken += 1
        finally:
            writer.close()


async def phase(url: str, options: argparse.Namespace, poisoned: Seen | None) -> Seen:
    """Let the usual clients ask for some seconds, beside the poisonous one if there is one."""
    seen, end = Seen(), time.monotonic() + options.seconds
    poisoners = [asyncio.create_task(poisonous(url, poisoned))] if poisoned is not None else []
    await asyncio.gather(*(usual(url, row, end, options, seen) for row in range(options.clients)))
    for task in poisoners:
        task.cancel()
    await asyncio.gather(*poisoners, return_exceptions=True)
    return seen


async def ended(
    url: str, process: subprocess.Popen[str], options: argparse.Namespace
) -> dict[str, Any]:
    """Send SIGTERM while all clients ask; what became of it."""
    seen, bad, end = Seen(), Seen(), time.monotonic() + LATE
    asking = [
        asyncio.create_task(usual(url, row, end, options, seen)) for row in range(options.clients)
    ]
    asking.append(asyncio.create_task(poisonous(url, bad)))
    await asyncio.sleep(3)
    began = time.monotonic()
    os.kill(process.pid, signal.SIGTERM)
    try:
        code: int | None = await asyncio.to_thread(process.wait, LATE)
    except subprocess.TimeoutExpired:
        code = None
        process.kill()
    seconds = time.monotonic() - began
    await asyncio.wait(asking, timeout=5)
    for task in asking:
        task.cancel()
    return {
        "seconds": round(seconds, 2),
        "exit_code": code,
        "usual": statuses(seen),
        "usual_broken": seen.broken,
        "poison": statuses(bad),
    }


def statuses(seen: Seen) -> dict[str, int]:
    """How often each status came."""
    return {str(status): count for status, count in sorted(seen.statuses.items())}


def told(seen: Seen) -> dict[str, Any]:
    """What the usual clients saw."""
    latencies = [seconds for answered in seen.seconds.values() for seconds in answered]
    return {
        "requests": len(latencies),
        "p50_ms": share(latencies, 0.5),
        "p99_ms": share(latencies, 0.99),
        "slowest_ms": share(latencies, 1.0),
        "statuses": statuses(seen),
        "broken_connections": seen.broken,
    }


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Both phases and the end, of one server."""
    with started(options.model) as (url, process):
        warm = argparse.Namespace(**{**vars(options), "seconds": options.warm})
        asyncio.run(phase(url, warm, None))
        without = told(asyncio.run(phase(url, options, None)))
        bad = Seen()
        with_poison = told(asyncio.run(phase(url, options, bad)))
        answered = Counter(bad.statuses)
        end = asyncio.run(ended(url, process, options))
    times = [seconds for answered in bad.seconds.values() for seconds in answered]
    return {
        "processor": f"{processor()}, {os.cpu_count()} processors",
        "seconds": options.seconds,
        "clients": options.clients,
        "rate": options.rate,
        "without": without,
        "beside": with_poison,
        "ratio_p99": round(with_poison["p99_ms"] / without["p99_ms"], 2),
        "poison": {
            "characters": LENGTH,
            "statuses": {str(status): count for status, count in sorted(answered.items())},
            "p50_ms": share(times, 0.5),
            "broken_connections": bad.broken,
        },
        "end": end,
    }


def main() -> None:
    """Measure, print, and save where that is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", type=Path, nargs="?", default=DEFAULT)
    arguments.add_argument("--seconds", type=float, default=300.0)
    arguments.add_argument("--warm", type=float, default=10.0, help="seconds of load before")
    arguments.add_argument("--rate", type=float, default=20.0, help="requests a second in all")
    arguments.add_argument("--clients", type=int, default=16)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    result = measured(options)
    put(result, options.json)
    refused = {int(status) for status in result["beside"]["statuses"]} - {200}
    late = result["end"]["exit_code"] is None or result["end"]["seconds"] > 10
    sys.exit(bool(refused) or result["ratio_p99"] > 2 or late)


if __name__ == "__main__":
    main()
