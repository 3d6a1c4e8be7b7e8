"""A worker that carries out one job and says what its body logs: ``worker.py JOB ARGS``."""

from __future__ import annotations

import asyncio
import json
import sys

from koken.define.job import declare
from koken.executors import Command
from koken.executors.process import ProcessExecutor
from tests.executors.bodies import app
from tests.executors.hosts import FakeHost, assignment


class Telling(FakeHost):
    """Passes the log on at once."""

    def log(self, level: str, stream: str, text: str) -> None:
        print(text, flush=True)


async def main(name: str, args: str) -> None:
    """Carry out the job ``name``, or the command that it is when it begins with ``sh``."""
    executor = ProcessExecutor("tests.executors.bodies:app", grace=60)
    command = name.startswith("sh ")
    job = declare(Command(name), {"name": "c"}) if command else app.registry.get(name)
    run = assignment(job.name, **json.loads(args))
    await executor.carry_out(job, run, Telling())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
