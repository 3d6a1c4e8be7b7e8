"""A worker process of the bench: ``python -m bench.worker SYSTEM URL TALLY``.

It says ``ready`` when everything is imported, begins at the word ``go`` on standard input, and
leaves when that ends or says anything more.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from bench.systems import known
from bench.systems.base import System
from bench.tally import Tally


async def work(system: System, url: str, tally: Tally) -> None:
    """Work until there is something on standard input, such as its end."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_reader(0, stop.set)
    await system.work(url, tally, stop)


def main(name: str, url: str, path: str) -> None:
    """Load, wait for the word, work."""
    system = known.load(name)
    tally = Tally(Path(path))
    print("ready", flush=True)
    if os.read(0, 3) == b"go\n":
        system.run(work(system, url, tally))


if __name__ == "__main__":
    main(*sys.argv[1:])
