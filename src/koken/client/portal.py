"""An event loop in a thread of its own, for callers that block."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from weakref import WeakSet

from koken.store.database import keep_for_ever

T = TypeVar("T")


class Portal:
    """Opens on the first call; shared by all threads of a program.

    A process that was forked has no such thread: there it opens again on the first call, and
    ``on_fork`` is called before, to let go of what belongs to the parent.
    """

    def __init__(self, on_fork: Callable[[], None]) -> None:
        self.on_fork = on_fork
        self.loop: asyncio.AbstractEventLoop | None = None
        self.thread: threading.Thread | None = None
        self.opening = threading.Lock()
        portals.add(self)

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

    def begin_anew(self) -> None:
        """Be as before the first call; in a process that was forked."""
        keep_for_ever(self.loop)  # its sockets and what wakes it are shared with the parent
        self.loop = self.thread = None
        self.opening = threading.Lock()
        self.on_fork()

    def close(self) -> None:
        """End the loop and its thread."""
        with self.opening:
            loop, thread = self.loop, self.thread
            self.loop = self.thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


portals: WeakSet[Portal] = WeakSet()


def begin_anew() -> None:
    """Called in a process that was just forked, before anything else."""
    for portal in list(portals):
        portal.begin_anew()


os.register_at_fork(after_in_child=begin_anew)
