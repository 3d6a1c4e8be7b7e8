"""A host without a worker, and the assignments to try it with."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

from koken.errors import LeaseLost
from koken.executors import capture
from koken.executors.base import Assignment
from koken.model.run import Trigger, TriggerKind

T = TypeVar("T")

numbers = itertools.count(412)


class FakeHost:
    """Remembers what a body says, and keeps checkpoints in a dict."""

    def __init__(self, kept: dict[str, str] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self.lines: list[tuple[str, str, str]] = []
        self.shown: list[tuple[int, str]] = []
        self.kept = dict(kept or {})
        self.wanted = ""
        self.lost = False

    def log(self, level: str, stream: str, text: str) -> None:
        self.lines += [(level, stream, line) for line in text.split("\n")]

    def progress(self, percent: int, message: str) -> None:
        self.shown.append((percent, message))

    def stop_wanted(self) -> str:
        return self.wanted

    async def checkpoints(self) -> dict[str, str]:
        return dict(self.kept)

    async def keep(self, key: str, value: str, *, overwrite: bool) -> str:
        if self.lost:
            raise LeaseLost("run 412 is no longer ours")
        if overwrite:
            self.kept[key] = value
        return self.kept.setdefault(key, value)

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


def assignment(job: str = "j", timeout: float | None = None, **args: Any) -> Assignment:
    """One attempt at a run of a job."""
    run_id = next(numbers)
    return Assignment(
        run_id=run_id,
        root_id=run_id,
        lease=1,
        job=job,
        workspace="acme",
        attempt=1,
        max_attempts=3,
        logical_time=datetime(2026, 11, 30, 19, tzinfo=UTC),
        trigger=Trigger(kind=TriggerKind.USER, by="anna"),
        args=args,
        timeout=timeout,
    )
