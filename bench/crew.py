"""Worker processes: started for real, told to go at the same moment, watched, stopped."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from pathlib import Path
from typing import Self

from bench import proc
from bench.lab import Base
from bench.tally import Tally

PATIENCE = 120.0
"""Seconds that anything may take."""
LOOK = 0.002
ROOT = Path(__file__).parent.parent


class Stuck(Exception):
    """Workers did not do what they should, in all the time they had."""


class Crew:
    """``count`` workers on one database; ``async with`` has them loaded, ``go`` lets them begin."""

    def __init__(self, base: Base, folder: Path, count: int = 1) -> None:
        self.base = base
        self.folder = folder / "crew"
        self.count = count
        self.tallies: list[Tally] = []
        self.workers: list[asyncio.subprocess.Process] = []

    async def __aenter__(self) -> Self:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for number in range(self.count):
            path = self.folder / f"tally{number}"
            self.tallies.append(Tally(path))
            self.workers.append(await self.launch(path, self.folder / f"worker{number}.log"))
        for worker in self.workers:
            assert worker.stdout is not None
            if await asyncio.wait_for(worker.stdout.readline(), PATIENCE) != b"ready\n":
                raise Stuck(f"a worker of {self.base.system.name} did not start:\n{self.said()}")
        return self

    async def launch(self, tally: Path, log: Path) -> asyncio.subprocess.Process:
        """A worker that waits for its word."""
        with log.open("wb") as file:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bench.worker", self.base.system.name, self.base.url),
                str(tally),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=file,
                cwd=ROOT,
            )

    def go(self) -> None:
        """Let all of them work."""
        for worker in self.workers:
            assert worker.stdin is not None
            worker.stdin.write(b"go\n")

    @property
    def begun(self) -> int:
        """Bodies that have begun, of all workers."""
        return sum(tally.count for tally in self.tallies)

    async def reached(self, bodies: int, look: float = LOOK) -> None:
        """Until so many bodies have begun."""
        deadline = time.monotonic() + PATIENCE
        while self.begun < bodies:
            self.check(deadline, f"{self.begun} of {bodies} bodies")
            await asyncio.sleep(look)

    async def all_done(self) -> None:
        """Until the database knows of no job that is left."""
        deadline = time.monotonic() + PATIENCE
        while not await self.base.done():
            self.check(deadline, "jobs are left that nobody finishes")
            await asyncio.sleep(LOOK)

    def check(self, deadline: float, state: str) -> None:
        """Raise when it takes too long, or a worker has died."""
        dead = any(worker.returncode is not None for worker in self.workers)
        if dead or time.monotonic() > deadline:
            raise Stuck(f"{self.base.system.name}: {state}\n{self.said()}")

    def cpu(self) -> float:
        """Seconds of processor time of all workers so far."""
        return sum(proc.cpu(worker.pid) for worker in self.workers)

    def said(self) -> str:
        """The last of what the workers wrote to their logs."""
        logs = sorted(self.folder.glob("worker*.log"))
        return "\n".join(log.read_text(errors="replace")[-2000:] for log in logs)

    async def __aexit__(self, *_: object) -> None:
        for worker in self.workers:
            if worker.stdin is not None:
                worker.stdin.close()
        for worker in self.workers:
            try:
                await asyncio.wait_for(worker.wait(), 20)
            except TimeoutError:
                worker.kill()
                await worker.wait()
