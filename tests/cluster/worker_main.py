"""One worker process: ``python -m tests.cluster.worker_main NAME SETTINGS``."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from pathlib import Path

from koken.app import load_app
from koken.config import load
from koken.runtime.worker import Worker


async def live(worker: Worker, grace: float) -> None:
    """Work until SIGTERM; the second one is final."""
    asked = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, heard, worker, asked)
    stopping = asyncio.ensure_future(asked.wait())
    starting = asyncio.ensure_future(worker.start())
    await asyncio.wait({stopping, starting}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        await asyncio.wait({starting})
    else:
        await starting
    await stopping
    await worker.stop(grace=grace)


def heard(worker: Worker, asked: asyncio.Event) -> None:
    """Begin to drain, or hand back what is still under way."""
    if asked.is_set():
        asyncio.ensure_future(worker.hand_back())
    asked.set()


def main() -> None:
    """Be a worker."""
    name, settings = sys.argv[1:]
    logging.basicConfig(
        stream=sys.stdout, level=logging.INFO, format="%(relativeCreated)6d %(name)s %(message)s"
    )
    config = load(json.loads(settings), environment={}, folder=Path("/nonexistent"))
    asyncio.run(live(Worker(load_app(config.app), config, name=name), config.grace))


if __name__ == "__main__":
    main()
