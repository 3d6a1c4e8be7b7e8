"""The slots of one queue in one worker, and the few short runs that wait for one.

Fetching ahead lets claims, bodies and finishes overlap. It is done only while bodies of the queue
are short, never in a queue with a limit, and what waits too long goes back.
"""

from __future__ import annotations

import time
from collections import deque

from koken.engine.claim import Claimed

SHORT = 0.02
"""Seconds; bodies that take longer are not fetched ahead."""
AHEAD = 0.05
"""Seconds of work that may wait for a slot."""
MOST_AHEAD = 500
WEIGHT = 0.2
"""Of a new duration in the running mean."""


class Slots:
    """``total`` bodies of a queue may go at once."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.busy = 0
        self.full_since: float | None = None
        """Since when no slot is free, on the machine's clock."""
        self.told = False
        """Whether somebody was told that it is full for long."""
        self.pace: float | None = None
        """Mean seconds of a body of late; None before the first."""
        self.waiting: deque[tuple[float, Claimed]] = deque()
        """Since when each waits."""

    @property
    def free(self) -> int:
        """How many more may begin now."""
        return self.total - self.busy

    @property
    def room(self) -> int:
        """How many to claim: for the free slots, and ahead while bodies are short."""
        return self.free + self.ahead() - len(self.waiting)

    def ahead(self) -> int:
        """How many may wait for a slot."""
        if self.pace is None or self.pace > SHORT:
            return 0
        return int(min(self.total * AHEAD / max(self.pace, 1e-4), MOST_AHEAD))

    def begin(self) -> None:
        """A body begins."""
        self.busy += 1
        if self.busy >= self.total and self.full_since is None:
            self.full_since = time.monotonic()

    def end(self, took: float) -> None:
        """A body has ended, after ``took`` seconds."""
        self.busy -= 1
        self.full_since, self.told = None, False
        if self.pace is None or took > SHORT:
            self.pace = took  # a long one is believed at once
        else:
            self.pace += WEIGHT * (took - self.pace)
