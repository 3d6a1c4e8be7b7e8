"""The line from the process of a body to its worker: as a host, it looks like the worker itself."""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from koken import errors
from koken.executors import wire
from koken.model.durable import Child, Entry, Met, Past, Waiting, Wanted

T = TypeVar("T")


class Line:
    """A ``Host`` at the other end of a socket.

    This side listens only when it has asked, and when it looks whether the body should stop; so no
    thread is needed.
    """

    def __init__(self, descriptor: int) -> None:
        self.socket = socket.socket(fileno=descriptor)
        self.lock = threading.RLock()
        self.saying = False
        self.hearing = False
        self.stop = ""
        self.deferred: BaseException | None = None
        """Raised by a signal handler while a message was being sent; raised when it is out."""

    def log(self, level: str, stream: str, text: str) -> None:
        """As in ``Host``."""
        self.say({"log": [level, stream, text]})

    def progress(self, percent: int, message: str) -> None:
        """As in ``Host``."""
        self.say({"progress": [percent, message]})

    def used(self, peak_bytes: int, cpu_seconds: float) -> None:
        """Left to the keeper: it sees the whole process, from outside."""

    def stop_wanted(self) -> str:
        """As in ``Host``."""
        with self.lock:
            while not self.stop and select.select([self.socket], [], [], 0)[0]:
                self.stop = self.hear().get("stop", "")
            return self.stop

    async def checkpoints(self) -> Past:
        """As in ``Host``; holds up the caller's loop, which is the body's own."""
        return wire.record_from(Past, self.ask({"checkpoints": True})["checkpoints"])

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
        """As in ``Host``; holds up the caller's loop, which is the body's own."""
        message: wire.Message = {"keep": key, "value": value, "overwrite": overwrite}
        message["with"] = {
            "ordinal": ordinal,
            "undo": undo,
            "unwind": unwind,
            "entries": [wire.plain_record(each) for each in entries],
        }
        kept: str = self.ask(message)["kept"]
        return kept

    def unwinds(self) -> None:
        """As in ``Host``."""
        self.say({"unwinds": True})

    async def wait(self, waiting: Waiting) -> Met:
        """As in ``Host``."""
        return wire.record_from(Met, self.ask({"wait": wire.plain_record(waiting)})["met"])

    async def child(self, wanted: Wanted) -> Child:
        """As in ``Host``."""
        return wire.record_from(Child, self.ask({"child": wire.plain_record(wanted)})["child"])

    async def open_children(self, ids: Sequence[int]) -> tuple[list[int], int]:
        """As in ``Host``."""
        said = self.ask({"open_children": list(ids)})
        return said["ended"], said["open"]

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """As in ``Host``: ours never really wait."""
        try:
            work.send(None)
        except StopIteration as end:
            value: T = end.value
            return value
        raise RuntimeError("only what the host itself gives can be waited for")

    def ask(self, message: wire.Message) -> wire.Message:
        """Say something and wait for the answer to it."""
        with self.lock:
            self.say(message)
            while "stop" in (said := self.hear()):
                self.stop = said["stop"]
        if "error" in said:
            kind = getattr(errors, said["error"], errors.KokenError)
            raise kind(said["message"])
        return said

    def say(self, message: wire.Message) -> None:
        """Send a message; as a whole, since half of one would spoil the line."""
        with self.lock:
            self.saying = True
            try:
                self.socket.sendall(wire.pack(message))
            except OSError:
                os._exit(1)  # the worker is gone, and with it all that this could be good for
            finally:
                self.saying = False
        if self.deferred is not None:
            deferred, self.deferred = self.deferred, None
            raise deferred

    def hear(self) -> wire.Message:
        """The next message."""
        self.hearing = True
        try:
            return wire.unpack(self.exactly(wire.size_of(self.exactly(wire.HEAD.size))))
        finally:
            self.hearing = False

    def exactly(self, size: int) -> bytes:
        """That many bytes."""
        data = bytearray()
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                os._exit(1)  # as above
            data += piece
        return bytes(data)
