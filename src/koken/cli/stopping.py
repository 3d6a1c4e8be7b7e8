"""Requests to stop, heard from the first moment: SIGTERM and SIGINT, counted.

The first asks for an orderly end, the second is final. They count from before anything slow is
imported or opened; as the first process of a container nobody else would hear them.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from contextlib import suppress
from types import FrameType

LAST = 25.0
"""Seconds after the second request, after which the process leaves whatever hangs in it."""
LEFT = 70
"""Its exit code then."""


class Stopping:
    """How often this process was asked to stop."""

    def __init__(self) -> None:
        self.count = 0
        self.loop: asyncio.AbstractEventLoop | None = None
        self.bell: asyncio.Event | None = None

    def listen(self) -> None:
        """Begin to count, in place of what these signals do by themselves."""
        signal.signal(signal.SIGTERM, self.heard)
        signal.signal(signal.SIGINT, self.heard)

    def heard(self, _: int, __: FrameType | None) -> None:
        """A signal: tell the loop; before there is one, a second signal ends what is slow."""
        self.count += 1
        if self.count == 2:
            last = threading.Timer(LAST, os._exit, [LEFT])
            last.daemon = True
            last.start()
        if self.loop is not None:
            with suppress(RuntimeError):  # the loop is closed: we are leaving already
                self.loop.call_soon_threadsafe(self.ring)
        elif self.count > 1:
            raise KeyboardInterrupt

    def ring(self) -> None:
        """Wake whoever waits."""
        if self.bell is not None:
            self.bell.set()

    @property
    def asked(self) -> bool:
        """Whether an end was asked for."""
        return self.count > 0

    async def wait(self, times: int = 1) -> None:
        """Until so many signals have come."""
        self.loop = asyncio.get_running_loop()
        while self.count < times:
            bell = self.bell = self.bell or asyncio.Event()
            await bell.wait()
            if self.bell is bell:
                self.bell = None


STOP = Stopping()
