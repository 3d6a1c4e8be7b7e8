"""What the demo needs behind the curtain: a private PostgreSQL, the schema, worker processes.

All of it ends with the demo, however the demo ends.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from koken.embedded.guardian import death_signal
from koken.embedded.server import Server

ROOT = Path(__file__).parents[2]
"""Where the workers stand: the folder in which ``examples`` is a package."""
KOKEN = Path(sys.executable).with_name("koken")
QUICK = {"fsync": "off", "full_page_writes": "off"}
"""The demo's data may go with the machine, so nothing waits for the disk."""
GRACE = "1s"
PATIENCE = 10.0
"""Seconds that a worker has to end before it is killed."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process and what it says."""

    number: int
    process: Process
    log: Path

    async def ended(self) -> Worker:
        """Itself, once it has ended."""
        await self.process.wait()
        return self

    def said(self) -> str:
        """The end of what it said."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-15:])


@asynccontextmanager
async def private_server() -> AsyncIterator[Server]:
    """A PostgreSQL of our own in a folder that is gone afterwards."""
    folder = fresh_folder()
    try:
        server = await uninterrupted(folder)
        try:
            yield server
        finally:
            await asyncio.to_thread(server.stop)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def fresh_folder() -> Path:
    """A folder that another user can reach as well: as root, PostgreSQL runs as one."""
    folder = Path(tempfile.mkdtemp(prefix="koken-demo-"))
    folder.chmod(0o755)
    return folder


async def uninterrupted(folder: Path) -> Server:
    """The server, started to the end even when we are cancelled meanwhile: then it is stopped."""
    starting = asyncio.ensure_future(asyncio.to_thread(Server.start, folder, settings=QUICK))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait([starting])
        if not starting.exception():
            await asyncio.to_thread(starting.result().stop)
        raise


@asynccontextmanager
async def worker_processes(
    count: int, environment: Mapping[str, str], folder: Path
) -> AsyncIterator[list[Worker]]:
    """So many ``koken worker`` processes, stopped in an orderly way at the end."""
    workers: list[Worker] = []
    try:
        while len(workers) < count:
            workers.append(await start_worker(len(workers) + 1, environment, folder))
        yield workers
    finally:
        for worker in workers:
            send(worker.process, signal.SIGTERM)
        for worker in workers:
            await ended(worker.process)


async def start_worker(number: int, environment: Mapping[str, str], folder: Path) -> Worker:
    """Start ``koken worker``: in a session of its own, for Ctrl-C is the demo's to handle."""
    log = folder / f"worker-{number}.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *death_signal(),
            str(KOKEN),
            *("worker", "--queue", "reports:2", "--grace", GRACE),
            env={**os.environ, **environment},
            cwd=ROOT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return Worker(number, process, log)


async def ended(process: Process) -> None:
    """Until a process that was asked to end has ended."""
    try:
        await asyncio.wait_for(process.wait(), PATIENCE)
    except TimeoutError:
        send(process, signal.SIGKILL)
        await process.wait()


def send(process: Process, what: signal.Signals) -> None:
    """Signal a process, unless it has ended."""
    if process.returncode is None:
        process.send_signal(what)


def from_root(path: Path) -> str:
    """A path as the workers may know it: short where it lies in their folder."""
    whole = path.absolute()
    return str(whole.relative_to(ROOT) if whole.is_relative_to(ROOT) else whole)


def shown(path: Path) -> str:
    """A path as a person would type it here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
