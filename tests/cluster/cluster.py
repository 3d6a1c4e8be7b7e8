"""Several workers as processes of their own, on one database, and what their bodies say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import asyncpg

from koken import AsyncClient
from koken.model.run import Run
from koken.model.timing import Timing
from tests.support.moments import until
from tests.support.postgres import scratch_directory

ROOT = Path(__file__).parents[2]
FOLDER = "KOKEN_TEST_FOLDER"
TIMING = Timing(
    beat=0.4, beat_deadline=1.2, stop_after=2.5, kill_after=7.5, lease=8.6, confirm=2.7, sweep=0.4
)
"""The shortest that the rules allow, with some room for a busy machine."""
MARGIN = 5.0
"""Seconds that a busy machine may add."""
TAKEOVER = TIMING.takeover + MARGIN
STANDING = """
select r.id, r.parent_id, r.step, r.state, r.wait_cause, r.wait_for, r.wake_at, r.lease, r.attempt,
       r.infra_attempt, r.open_needs, r.made, r.open_children, r.wake_below, r.at_once, r.released,
       r.settle, w.name as worker, w.lost_at, r.error
  from koken.run r left join koken.worker w on w.id = r.worker_id
 where r.finished_at is null or r.state = 'failed' order by r.id limit 200
"""
"""What is not over, or failed: shown when something does not come."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What a body said (``began``, ``ended``, …), and its run, lease and process."""

    what: str
    run_id: int
    lease: int
    pid: int


class WorkerProcess:
    """A worker process; ``log`` is what it says."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.process = process
        self.log = log
        self.launched_at = time.monotonic()

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """``kill -9``."""
        self.send(signal.SIGKILL)
        self.process.wait()

    def says(self, text: str) -> bool:
        """Whether it has said so."""
        return text in self.log.read_text(errors="replace")

    @property
    def code(self) -> int | None:
        """Its exit code, once it has ended."""
        return self.process.poll()

    async def ended(self, timeout: float = 30) -> int:
        """Its exit code, when it ends."""
        await until(lambda: self.code is not None, timeout)
        return self.process.returncode


class Cluster:
    """Workers on the database at ``url``; ``folder`` has gates, facts and logs."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.workers: list[WorkerProcess] = []
        self.client = AsyncClient(url, by="test")
        self.connection: asyncpg.Connection[Any] | None = None

    @classmethod
    @asynccontextmanager
    async def at(cls, url: str) -> AsyncIterator[Self]:
        """A cluster without workers; those that it gets are gone afterwards."""
        with scratch_directory() as folder:
            cluster = cls(url, folder)
            try:
                yield cluster
            finally:
                await cluster.close()

    async def close(self) -> None:
        """Kill what still lives, and show what was said."""
        for worker in self.workers:
            worker.send(signal.SIGKILL)
            worker.process.wait()
        for worker in self.workers:
            print(f"--- {worker.name}: exit {worker.code}")
            print(worker.log.read_text(errors="replace"))
        await self.client.close()
        if self.connection is not None:
            self.connection.terminate()

    def launch(self, name: str = "", *, url: str = "", **settings: Any) -> WorkerProcess:
        """Start ``koken worker``; ``settings`` are as in ``koken.toml``."""
        name = name or f"w{len(self.workers) + 1}"
        whole = {
            "app": "tests.cluster.app:app",
            "database_url": url or self.url,
            "timing": {key: getattr(TIMING, key) for key in TIMING.__slots__},
            "worker": {"queues": {"default": 20}, "grace": 10},
            **settings,
        }
        home = self.folder / name
        home.mkdir()
        (home / "koken.toml").write_text(toml(whole))
        environment = {key: value for key, value in os.environ.items() if key[:6] != "KOKEN_"}
        path = os.pathsep.join([str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
        with (home / "log").open("ab") as target:
            process = subprocess.Popen(
                [sys.executable, "-c", "from koken.cli.main import main; main()", "worker"],
                cwd=home,
                env={**environment, "PYTHONPATH": path, FOLDER: str(self.folder)},
                stdin=subprocess.DEVNULL,
                stdout=target,
                stderr=target,
            )
        worker = WorkerProcess(name, process, home / "log")
        self.workers.append(worker)
        return worker

    async def worker(self, name: str = "", **settings: Any) -> WorkerProcess:
        """Start a worker process and wait until it serves."""
        worker = self.launch(name, **settings)
        await until(lambda: worker.says(" serves ") or worker.code is not None, 30)
        assert worker.code is None, worker.log.read_text()
        return worker

    def open(self, gate: str = "go") -> None:
        """Let the bodies go that hold at this gate."""
        (self.folder / gate).touch()

    def facts(self, what: str | None = None) -> list[Fact]:
        """What the bodies have said so far."""
        try:
            text = (self.folder / "facts").read_text()
        except FileNotFoundError:
            return []
        found = []
        for line in text.split("\n")[:-1]:  # what comes behind the last end is being written
            kind, *numbers = line.split()
            found.append(Fact(kind, *map(int, numbers)))
        return [fact for fact in found if what in (None, fact.what)]

    def count(self, what: str) -> Counter[int]:
        """How often each run said so."""
        return Counter(fact.run_id for fact in self.facts(what))

    async def said(self, what: str, times: int, timeout: float = 20) -> list[Fact]:
        """What was said, once that is so much."""
        await until(lambda: len(self.facts(what)) >= times, timeout)
        return self.facts(what)

    async def more_ended(self, count: int, *, of: Sequence[Run[Any]]) -> None:
        """Wait until so many more bodies have ended, or all of them."""
        ended = len(self.facts("ended"))
        await self.said("ended", min(ended + count, len(of)))

    async def rows(self, text: str, *args: Any) -> Sequence[Mapping[str, Any]]:
        """The rows of a statement, over a connection of the test's own."""
        if self.connection is None or self.connection.is_closed():
            self.connection = await asyncpg.connect(self.url)
        found: Sequence[Mapping[str, Any]] = await self.connection.fetch(text, *args)
        return found

    async def value(self, text: str, *args: Any) -> Any:
        """The only value of the only row."""
        (row,) = await self.rows(text, *args)
        return row[0]

    async def states(self, runs: Sequence[Run[Any]] | None = None) -> Counter[str]:
        """How many runs are in which state."""
        ids = None if runs is None else [run.id for run in runs]
        rows = await self.rows(
            "select state, count(*) as n from koken.run"
            " where $1::bigint[] is null or id = any($1) group by state",
            ids,
        )
        return Counter({row["state"]: row["n"] for row in rows})

    async def all_in(self, state: str, runs: Sequence[Run[Any]], timeout: float = 20) -> None:
        """Wait until all of these runs are in that state."""

        async def arrived() -> bool:
            return await self.states(runs) == {state: len(runs)}

        try:
            await until(arrived, timeout)
        except AssertionError:
            for row in await self.rows(STANDING):
                print(dict(row))
            raise

    async def set_clock(self, **offset: float) -> None:
        """Move the database's clock by so much from the right time; a ``timedelta``'s words."""
        length = " ".join(f"{number} {unit}" for unit, number in offset.items()) or "0 s"
        await self.rows(
            "create or replace function koken.now() returns timestamptz language sql stable"
            f" parallel safe return statement_timestamp() + interval '{length}'"
        )


def toml(settings: Mapping[str, Any]) -> str:
    """Settings as a file has them."""
    return "\n".join(f"{name} = {inline(value)}" for name, value in settings.items())


def inline(value: Any) -> str:
    """A value, tables included, in one line of TOML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {inline(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def alive(pid: int) -> bool:
    """Whether a process lives (a zombie does not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
