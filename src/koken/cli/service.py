"""The life of a worker in this process: it begins when it can, and ends when it is asked to.

try to begin ─► serve ─► first request: drain ─► gone
     │  ▲                second request: stop bodies at once, hand them back ─► gone
     └──┘ PostgreSQL does not answer: again, later
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from koken.cli.stopping import Stopping
from koken.cli.tables import refuse_others, standing
from koken.config import Config
from koken.define.registry import Program
from koken.engine import register
from koken.errors import DatabaseUnreachable, KokenError
from koken.runtime.worker import Worker
from koken.views.words import counted

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
"""Seconds between two tries to begin."""

logger = logging.getLogger("koken.worker")


async def serve(program: Program, config: Config, stop: Stopping) -> int:
    """Work until asked to stop; returns the exit code."""
    worker = await begin(program, config, stop)
    if worker is None:
        logger.info("asked to stop before it began")
        return 0
    await stop.wait()
    return await end(worker, config.grace, stop)


async def begin(program: Program, config: Config, stop: Stopping) -> Worker | None:
    """A worker at work; None when an end was asked for before there was one.

    Raises ``Conflict`` when the schema does not fit, and whatever the program's lifespan raises.
    """
    pause = FIRST_PAUSE
    while not stop.asked:
        worker = Worker(program, config)
        try:
            if await unless_stopped(start(worker, config), stop):
                return worker
        except DatabaseUnreachable as error:
            await let_go(worker)
            logger.warning("%s; trying again in %.0f s", error, pause)
            await unless_stopped(asyncio.sleep(pause), stop)
            pause = min(pause * 2, LONGEST_PAUSE)
        except BaseException:
            await let_go(worker)
            raise
        else:
            await let_go(worker)
    return None


async def start(worker: Worker, config: Config) -> None:
    """Look at the schema, then begin to work."""
    refuse_others(await standing(config))
    await worker.start()


async def unless_stopped(work: Coroutine[Any, Any, Any], stop: Stopping) -> bool:
    """Carry out ``work``; False when an end is asked for first, and the work is given up."""
    task = asyncio.ensure_future(work)
    asked = asyncio.ensure_future(stop.wait())
    await asyncio.wait((task, asked), return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return False
    asked.cancel()
    task.result()
    return True


async def let_go(worker: Worker) -> None:
    """Take back what a worker that never began has begun."""
    with suppress(KokenError):
        if worker.id:
            await register.leave(worker.db, worker.id)
    await worker.cleanup.aclose()
    await worker.db.close()


def bodies(worker: Worker) -> str:
    """How many bodies are at work."""
    return counted(worker.runner.bodies, "body", "bodies")


async def end(worker: Worker, grace: float, stop: Stopping) -> int:
    """Drain and leave; a second request stops the bodies at once. Returns the exit code."""
    logger.info("draining: %s, %.0f s; ask again to stop at once", bodies(worker), grace)
    leaving = asyncio.ensure_future(worker.stop(grace=grace))
    final = asyncio.ensure_future(stop.wait(2))
    await asyncio.wait((leaving, final), return_when=asyncio.FIRST_COMPLETED)
    if not leaving.done():
        logger.warning("asked again: %s to stop and hand back", bodies(worker))
        await worker.hand_back()
    final.cancel()
    await leaving
    left = sorted(worker.runner.carried)
    logger.info("worker %s has left", worker.id)
    return 1 if left else 0
