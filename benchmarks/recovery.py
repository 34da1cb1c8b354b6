"""How soon a server is as quick as ever when a crowd has left it.

    python benchmarks/recovery.py MODEL [--clients 16] [--crowd 256] [--seconds 10] [--json FILE]

The usual clients ask for some seconds, then as many seconds the crowd, hasty, which then goes away
in the midst of its requests. The usual ones come back at once: the server has recovered when within
a second at least half as many replies come as usual, and the slowest hundredth takes no longer than
usual, but for ``--slack``.
"""

import argparse
import asyncio
import time
from argparse import Namespace
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serve import Seen, load, put, share, started

AFTER = 20.0  # seconds that are looked at when the crowd has left
STEP = 0.5


@dataclass
class Timed(Seen):
    """Knows when each annotation came, too."""

    began: float = field(default_factory=time.monotonic)
    times: list[tuple[float, float]] = field(default_factory=list)

    def add(self, status: int, seconds: float) -> None:
        """Note one reply."""
        super().add(status, seconds)
        if status == 200:
            self.times.append((time.monotonic() - self.began, seconds))


def recovered(times: list[tuple[float, float]], usual: float, least: float) -> float | None:
    """Return the end of the first second in which enough replies took no longer than usual."""
    for step in range(int(AFTER / STEP)):
        start = step * STEP
        latencies = [seconds for moment, seconds in times if start <= moment < start + 1]
        slowest = share(latencies, 0.99)
        if slowest is not None and slowest <= usual and len(latencies) >= least:
            return start + 1
    return None


async def measured(url: str, options: Namespace) -> dict[str, Any]:
    """The usual clients, the crowd, the usual ones again."""
    asking = Namespace(words=20, hasty=False, clients=options.clients, seconds=options.seconds)
    await load(url, Namespace(**{**vars(asking), "seconds": options.warm}))
    before = (await load(url, asking)).seconds.get(200, [])
    usual = share(before, 0.99)
    if usual is None:
        raise SystemExit("the usual clients got no annotation")
    crowd = Seen()
    many = Namespace(**{**vars(asking), "clients": options.crowd, "hasty": True})
    with suppress(TimeoutError):
        # longer than the time they are given, so that they leave in the midst of their requests
        await asyncio.wait_for(
            load(url, Namespace(**{**vars(many), "seconds": 2 * options.seconds}), crowd),
            options.seconds,
        )
    after = Timed()
    await load(url, Namespace(**{**vars(asking), "seconds": AFTER}), after)
    return {
        "clients": options.clients,
        "crowd": options.crowd,
        "seconds": options.seconds,
        "usual_per_second": round(len(before) / options.seconds, 1),
        "usual_p99_ms": usual,
        "crowd_statuses": {str(status): count for status, count in sorted(crowd.statuses.items())},
        "recovered_seconds": recovered(
            after.times, options.slack * usual, len(before) / options.seconds / 2
        ),
        "after_p99_ms": share(after.seconds.get(200, []), 0.99),
        "after_statuses": {str(status): count for status, count in sorted(after.statuses.items())},
    }


def main() -> None:
    """Measure, print, and save where that is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--clients", type=int, default=16)
    arguments.add_argument("--crowd", type=int, default=256)
    arguments.add_argument("--seconds", type=float, default=10.0)
    arguments.add_argument("--warm", type=float, default=30.0, help="seconds of load before")
    arguments.add_argument("--slack", type=float, default=1.2, help="times what is usual")
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    with started(options.model) as (url, _):
        result = asyncio.run(measured(url, options))
    put(result, options.json)


if __name__ == "__main__":
    main()
