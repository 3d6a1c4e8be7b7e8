"""A host without a worker, and the assignments to try it with."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from koken.errors import DatabaseUnreachable, LeaseLost
from koken.executors import capture
from koken.executors.base import Assignment
from koken.model.durable import Child, Entry, Kept, Met, Past, Waiting, Wanted
from koken.model.run import Run
from koken.model.runparts import Trigger, TriggerKind

T = TypeVar("T")

numbers = itertools.count(412)


class FakeHost:
    """Remembers what a body says, and keeps checkpoints in a dict."""

    def __init__(self, kept: dict[str, str] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self.lines: list[tuple[str, str, str]] = []
        self.shown: list[tuple[int, str]] = []
        self.took: list[tuple[int, float]] = []
        self.kept = dict(kept or {})
        self.places: dict[str, int] = {}
        self.undone: set[str] = set()
        self.at: dict[str, float] = {}
        self.clock = 0.0
        self.spent = 0
        self.ledger: list[Entry] = []
        self.unwind = False
        self.came: dict[str, list[Any]] = {}
        self.waits: list[Waiting] = []
        self.asked: list[Wanted] = []
        self.children: dict[str, Run[Any]] = {}
        self.refuses = ""
        self.wanted = ""
        self.lost = False
        self.away = ""
        """The verb that the database does not answer."""

    def reach(self, verb: str) -> None:
        """Raise ``DatabaseUnreachable`` where that is wanted."""
        if self.away == verb:
            raise DatabaseUnreachable("PostgreSQL does not answer: reset by peer")

    def log(self, level: str, stream: str, text: str) -> None:
        self.lines += [(level, stream, line) for line in text.split("\n")]

    def progress(self, percent: int, message: str) -> None:
        self.shown.append((percent, message))

    def used(self, peak_bytes: int, cpu_seconds: float) -> None:
        self.took.append((peak_bytes, cpu_seconds))

    def stop_wanted(self) -> str:
        return self.wanted

    async def checkpoints(self) -> Past:
        self.reach("checkpoints")
        kept = {
            key: Kept(text, self.places.get(key), key in self.undone, self.age(key))
            for key, text in self.kept.items()
        }
        for key, each in kept.items():
            stands = json.loads(each.value) if key.startswith("wait:") else {}
            if stands.get("kind") == "sleep":
                kept[key] = replace(each, left=stands["until"] - self.clock)
        return Past(self.spent, kept)

    def age(self, key: str) -> float:
        return self.clock - self.at.get(key, self.clock)

    async def keep(
        self,
        key: str,
        value: str,
        *,
        overwrite: bool = False,
        ordinal: int | None = None,
        undo: bool = False,
        unwind: bool = False,
        entries: Sequence[Entry] = (),
    ) -> str:
        self.reach("keep")
        if self.lost:
            raise LeaseLost("run 412 is no longer ours")
        if self.refuses and key.startswith(self.refuses):
            raise ConnectionError("the worker was killed here")
        self.ledger += entries
        self.unwind = self.unwind or unwind or undo
        if overwrite or key not in self.kept:
            self.kept[key] = value
            self.at[key] = self.clock
            if ordinal is not None:
                self.places[key] = ordinal
            if undo:
                self.undone.add(key)
        return self.kept[key]

    def unwinds(self) -> None:
        self.unwind = True

    async def wait(self, waiting: Waiting) -> Met:
        self.reach("wait")
        stands = json.loads(self.kept.get(waiting.key, "null"))
        if stands is None:
            until = None if waiting.seconds is None else self.clock + waiting.seconds
            if waiting.until is not None:
                until = waiting.until.timestamp()
            if waiting.kind == "signal" and waiting.before:
                until = json.loads(self.kept[waiting.before])["until"]
            stands = {"kind": waiting.kind, "name": waiting.name, "until": until}
            if waiting.ordinal is not None:
                self.places[waiting.key] = waiting.ordinal
        left = None if stands["until"] is None else stands["until"] - self.clock
        came = self.came.get(waiting.name, [])
        if came:
            stands["value"] = came.pop(0)
        elif left is not None and left <= 0:
            stands["late"] = True
        self.kept[waiting.key] = json.dumps(stands)
        self.waits.append(waiting)
        value = json.dumps(stands["value"]) if "value" in stands else None
        return Met(value, "late" in stands, left)

    async def child(self, wanted: Wanted) -> Child:
        self.reach("child")
        self.asked.append(wanted)
        run = self.children.get(wanted.key) or self.children["any"]
        return Child(run, sum(not each.state.ended for each in self.children.values()))

    async def open_children(self, ids: Sequence[int]) -> tuple[list[int], int]:
        self.reach("open_children")
        ended = [each.id for each in self.children.values() if each.state.ended and each.id in ids]
        return ended, sum(not each.state.ended for each in self.children.values())

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def texts(self, stream: str | None = None) -> list[str]:
        """The lines of the log, or of one of its streams."""
        return [text for _, found, text in self.lines if stream in (None, found)]


@contextmanager
def captured() -> Iterator[None]:
    """What bodies log and print goes to their hosts. (As a fixture, pytest's own would undo it.)"""
    capture.install()
    try:
        yield
    finally:
        capture.uninstall()


def assignment(
    job: str = "j",
    timeout: float | None = None,
    run_id: int = 0,
    lease: int = 1,
    undo: str | None = None,
    **args: Any,
) -> Assignment:
    """One attempt at a run of a job."""
    run_id = run_id or next(numbers)
    return Assignment(
        run_id=run_id,
        root_id=run_id,
        lease=lease,
        undo=undo,
        job=job,
        workspace="acme",
        attempt=1,
        max_attempts=3,
        logical_time=datetime(2026, 11, 30, 19, tzinfo=UTC),
        trigger=Trigger(kind=TriggerKind.USER, by="anna"),
        args=args,
        timeout=timeout,
    )
