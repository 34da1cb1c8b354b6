"""Whether a server that is told to end under load loses a request that it had taken.

    python benchmarks/restarts.py MODEL [--rounds 50] [--clients 8] [--json FILE]

Each round starts a server, lets clients ask as fast as they can, sends SIGTERM after a while, and
waits for the end. Taken is what was sent whole at least ``--margin`` seconds before the signal: it
must be answered. What was sent later may be answered, or the connection closed without a byte; a
reply that breaks off is lost in any case.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from serve import WORDS, Head, head_of, put, request, started


@dataclass
class Round:
    """What became of the requests of one round; ``told`` is when the signal was sent."""

    told: float = float("inf")
    answered: Counter[int] = field(default_factory=Counter)
    closed: list[float] = field(default_factory=list)  # when what got no byte had been sent
    broken: int = 0


async def client(url: str, row: int, seen: Round) -> None:
    """Ask until a connection is refused or closed."""
    address, rng = urlsplit(url), random.Random(row)
    try:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
    except OSError:
        return
    while True:
        sent = time.monotonic()
        head: Head | None = None
        try:
            writer.write(request(address.netloc, " ".join(rng.choices(WORDS, k=20))))
            await writer.drain()
            sent = time.monotonic()
            head = await head_of(reader)
            await reader.readexactly(head.length)
        except asyncio.IncompleteReadError as error:
            if head or error.partial:
                seen.broken += 1
            else:
                seen.closed.append(sent)
            return
        except OSError:
            seen.closed.append(sent)
            return
        seen.answered[head.status] += 1
        if head.last:
            return


async def ended(url: str, process: int, clients: int, seconds: float) -> Round:
    """One round of load and the signal in its midst."""
    seen = Round()
    asking = [asyncio.create_task(client(url, row, seen)) for row in range(clients)]
    await asyncio.sleep(seconds)
    seen.told = time.monotonic()
    os.kill(process, signal.SIGTERM)
    await asyncio.gather(*asking)
    return seen


def main() -> None:
    """Do all rounds, print, and save where that is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--rounds", type=int, default=50)
    arguments.add_argument("--clients", type=int, default=8)
    arguments.add_argument("--margin", type=float, default=0.1)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    answered: Counter[int] = Counter()
    lost = broken = late = 0
    rng = random.Random(1)
    for _ in range(options.rounds):
        with started(options.model) as (url, process):
            seen = asyncio.run(ended(url, process.pid, options.clients, rng.uniform(0.3, 1.2)))
        answered.update(seen.answered)
        before = [moment for moment in seen.closed if moment < seen.told - options.margin]
        lost, late = lost + len(before), late + len(seen.closed) - len(before)
        broken += seen.broken
    result: dict[str, Any] = {
        "rounds": options.rounds,
        "clients": options.clients,
        "answered": {str(status): count for status, count in sorted(answered.items())},
        "lost": lost,
        "broken": broken,
        "closed_after_the_signal": late,
    }
    put(result, options.json)
    sys.exit(bool(lost or broken))


if __name__ == "__main__":
    main()
