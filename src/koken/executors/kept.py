"""The processes of one body, seen from the worker: their output, their end, how to end them."""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import signal
import socket
from asyncio import StreamReader, StreamWriter, TimerHandle
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from koken.executors.base import Broken, Host
from koken.executors.capture import RunLog, last_state
from koken.executors.stopping import Going
from koken.model.runparts import Failure

CHUNK = 1 << 16
REPORT_LIMIT = 1 << 20
"""Bytes of one report; it names processes."""
TAIL = 2_000
"""Characters of stderr that are remembered for the message."""
LATE = 2.0
"""Seconds that output may still come after the last process ended: an escaped one may hold it."""


class KeptGoing(Going):
    """A body in processes of its own."""

    __slots__ = ("asked", "grace", "loop", "timeout", "timer", "used", "writer")

    def __init__(self, grace: float, timeout: float | None) -> None:
        super().__init__()
        self.grace = grace
        self.timeout = timeout
        self.loop = asyncio.get_running_loop()
        self.asked: asyncio.Future[None] = self.loop.create_future()
        """Done when it is to stop."""
        self.writer: StreamWriter | None = None
        self.timer: TimerHandle | None = None
        self.used: tuple[int, float] | None = None
        """Bytes and seconds that it took, once that is known."""

    async def started(self, start: Awaitable[None]) -> bool:
        """Wait for ``start``; False when the body is to stop before that is through."""
        starting = asyncio.ensure_future(start)
        await asyncio.wait({starting, self.asked}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            await starting
            return True
        starting.add_done_callback(lambda late: late.cancelled() or late.exception())
        return False

    def stop(self, why: str) -> None:
        """Ask the processes to end; what is there after the grace is killed."""
        if not self.why:
            self.why = self.seen = why
            self.asked.set_result(None)
            self.settle()
            self.pass_on()

    def attach(self, writer: StreamWriter) -> None:
        """The processes have started, and their time begins; ``writer`` leads to their keeper."""
        self.writer = writer
        if self.timeout is not None:
            self.timer = self.loop.call_later(self.timeout, self.stop, "timeout")
        if self.why:
            self.pass_on()

    def pass_on(self) -> None:
        """Tell the keeper, once there is one."""
        if self.writer is not None:
            self.writer.write(json.dumps({"stop": self.grace}).encode() + b"\n")

    def tell(self, end: End) -> None:
        """Take note of what it took, and of what force was needed."""
        self.used = end.used
        if end.escaped:
            self.detail = f"could not be killed: {', '.join(end.escaped)}"
        elif end.exit_code == -signal.SIGKILL:
            self.detail = f"it was killed, since it had not ended within {self.grace:g} s"

    def account(self, host: Host) -> None:
        """Tell the worker what it took."""
        if self.used is not None:
            host.used(*self.used)

    def settle(self) -> None:
        """Forget the timer."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


@dataclass(slots=True)
class End:
    """How the processes of a body ended, as their keeper reports it."""

    exit_code: int | None = None
    """Of the first process; negative for a signal. None when it did not start or is not known."""
    failed: int | None = None
    """The system's error number, when the first process could not be started."""
    where: str = ""
    lost: bool = False
    """Whether the keeper took the worker for dead and ended all."""
    left: list[str] = field(default_factory=list)
    """Processes that were still there when the first one had ended."""
    escaped: list[str] = field(default_factory=list)
    """Processes that could not be killed."""
    used: tuple[int, float] | None = None
    """Bytes of memory that the largest process took at its worst, and seconds of the processor."""


class Ears:
    """The worker's ends of what a keeper and its processes speak into."""

    def __init__(self) -> None:
        self.control, theirs = socket.socketpair()
        out, out_theirs = os.pipe()
        err, err_theirs = os.pipe()
        self.pipes = {"stdout": os.fdopen(out, "rb", 0), "stderr": os.fdopen(err, "rb", 0)}
        self.theirs = [theirs.detach(), out_theirs, err_theirs]
        """The keeper's ends: control, stdout, stderr, and what else the body is given."""
        self.tail = ""
        """The end of what came on stderr."""

    def let_go(self) -> None:
        """Close the keeper's ends here, now that it has them."""
        while self.theirs:
            os.close(self.theirs.pop())

    def close(self) -> None:
        """Close what is still open. A keeper that still goes then ends all."""
        self.control.close()
        for pipe in self.pipes.values():
            pipe.close()
        self.let_go()

    async def listen(self, going: KeptGoing, log: RunLog, order: bytes = b"") -> End:
        """Give the order; take output and reports until the keeper ends."""
        reader, writer = await asyncio.open_unix_connection(sock=self.control, limit=REPORT_LIMIT)
        pumps = [asyncio.ensure_future(self.pump(stream, log)) for stream in self.pipes]
        try:
            writer.write(order)
            end = await self.reports(reader, writer, going)
            await asyncio.wait(pumps, timeout=LATE)
        finally:
            writer.transport.abort()
            for pump in pumps:
                pump.cancel()
            self.close()
        tell(end, log)
        return end

    async def reports(self, reader: StreamReader, writer: StreamWriter, going: KeptGoing) -> End:
        """What the keeper says, put together."""
        end = End()
        while said := await next_report(reader):
            if "started" in said:
                going.attach(writer)
            if "status" in said:
                end.exit_code = os.waitstatus_to_exitcode(said["status"])
            end.lost = end.lost or "lost" in said
            end.failed = said.get("failed", end.failed)
            end.where = said.get("where", end.where)
            end.left = said.get("left", end.left)
            end.escaped = said.get("escaped", end.escaped)
            if "used" in said:
                memory, seconds = said["used"]
                end.used = (int(memory), float(seconds))
        return end

    async def pump(self, stream: str, log: RunLog) -> None:
        """Bring output into the log as it comes; what is not UTF-8 stays readable."""
        reader = StreamReader(limit=CHUNK)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self.pipes[stream]
        )
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        try:
            while data := await reader.read(CHUNK):
                self.take(stream, decoder.decode(data), log)
            self.take(stream, decoder.decode(b"", final=True), log)
        finally:
            transport.close()

    def take(self, stream: str, text: str, log: RunLog) -> None:
        """A piece of output."""
        if stream == "stderr":
            self.tail = (self.tail + text)[-TAIL:]
        log.write(stream, text)

    def last_line(self) -> str:
        """The last line on stderr that is not blank."""
        lines = (last_state(line).strip() for line in reversed(self.tail.split("\n")))
        return next((line for line in lines if line), "")


async def next_report(reader: StreamReader) -> dict[str, Any]:
    """The next report; nothing when the keeper has ended, in whatever way."""
    with suppress(OSError, ValueError):
        report: dict[str, Any] = json.loads(await reader.readline())
        return report
    return {}


def tell(end: End, log: RunLog) -> None:
    """Name in the log what the body left behind."""
    if end.left:
        log.put("warning", "log", f"left behind, and ended: {', '.join(end.left)}")
    if end.escaped:
        log.put("error", "log", f"could not be killed and still go: {', '.join(end.escaped)}")


def order_line(order: dict[str, Any]) -> bytes:
    """An order as the keeper reads it."""
    return json.dumps(order).encode() + b"\n"


def broken_off(end: End) -> Broken | None:
    """The answer when it was not the body that failed."""
    if end.where == "fork":
        message = f"no process could be started: {os.strerror(end.failed or 0)}"
        return Broken(Failure(type="NotStarted", message=message))
    if end.lost or (end.exit_code is None and end.failed is None):
        message = "the process that watches over the body died, and the body with it"
        return Broken(Failure(type="KeeperDied", message=message))
    return None
