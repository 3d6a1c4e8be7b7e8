"""A run in the hands of its worker."""

from __future__ import annotations

import asyncio

from koken.engine.claim import Claimed
from koken.executors.base import Executor
from koken.runtime.host import RunHost


class Carried:
    """A run that this worker holds until its ending is delivered."""

    __slots__ = ("at_work", "cleans_up", "executor", "host", "run", "stop", "task")

    def __init__(self, run: Claimed) -> None:
        self.run = run
        self.host: RunHost | None = None
        self.executor: Executor | None = None
        self.task: asyncio.Task[None] | None = None
        self.at_work = False
        """Whether its body has begun and not ended yet."""
        self.cleans_up = False
        """Whether its run has ended in all but name, and it is asked what is to be undone."""
        self.stop = ""
        """Why it is to stop; empty while it may go on."""

    @property
    def goes(self) -> bool:
        """Whether its body goes, be it that its executor has given it up."""
        if self.at_work or self.executor is None or self.host is None:
            return self.at_work
        return self.executor.goes_on(self.host.of, self.run.lease)
