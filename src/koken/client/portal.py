"""An event loop in a thread of its own, for callers that block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Portal:
    """Opens on the first call; shared by all threads of a program."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.thread: threading.Thread | None = None
        self.opening = threading.Lock()

    @property
    def open(self) -> bool:
        """Whether the loop goes."""
        return self.loop is not None

    def call(self, verb: str, work: Coroutine[Any, Any, T]) -> T:
        """Carry out ``work`` and wait for it; ``verb`` is its name, for the message.

        Raises ``TypeError`` inside a running event loop, which it would block.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            work.close()
            raise TypeError(
                f"Client.{verb}() would block this event loop. Use AsyncClient and await."
            )
        future = asyncio.run_coroutine_threadsafe(work, self.ensure())
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def ensure(self) -> asyncio.AbstractEventLoop:
        """The loop, going."""
        with self.opening:
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                self.thread = threading.Thread(
                    target=self.loop.run_forever, name="koken client", daemon=True
                )
                self.thread.start()
            return self.loop

    def close(self) -> None:
        """End the loop and its thread."""
        with self.opening:
            loop, thread = self.loop, self.thread
            self.loop = self.thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
