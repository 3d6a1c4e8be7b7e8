"""A small process between the worker and the processes of one body; it leaves none behind.

It starts the body's first process, passes on how that ended, and ends all that came of it: on
demand, when the first process is gone, and when the worker is, be it by ``kill -9``. On Linux it
is their subreaper, so that even one with a session of its own and a dead parent stays below it.
Orders and reports are lines of JSON on one socket.

For commands this runs in a plain interpreter, without site packages and without the rest of
Koken, which would take long to import: it may import the standard library and ``table`` only.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from koken.executors import table

LEFT_GRACE = 2.0
"""Seconds that processes have to end which the body left behind when it ended by itself."""
LOST_GRACE = 5.0
"""Seconds, at most, that processes have to end when the worker is gone: another one may begin."""
ROUND = 0.05
"""Seconds between two rounds of killing."""
LAST = 5.0
"""Seconds of killing after which those that still live have escaped."""
LOOK = 1.0
"""Seconds between two looks whether the parent lives, in case somebody else holds the line."""

Order = dict[str, Any]
Start = Callable[[Order, list[int], int], None]
"""Becomes the body, in a new process, and does not return. Is given the order, the descriptors
that came with it and one to close as soon as it has begun; or raises ``Unstarted``."""


class Unstarted(Exception):
    """The body cannot be started: ``number`` is the system's, at ``where``."""

    def __init__(self, where: str, number: int) -> None:
        super().__init__(where, number)
        self.where = where
        self.number = number


class Keeper:
    """One body's processes. ``control`` is the line to the worker."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.parent = os.getppid()
        self.pending = b""
        self.first = 0
        self.open = True
        self.force_at: float | None = None
        """When those that were asked to end are killed; None while nobody was asked."""
        self.wake = (-1, -1)
        """A pipe into which the system writes when a process has ended."""

    def keep(self, start: Start, extra: list[int]) -> None:
        """Start the body, and return when nothing of it lives, or what lives cannot be killed."""
        order = self.order()
        if order is None:
            return
        self.prepare()
        if not self.begin(lambda outlet: start(order, extra, outlet)):
            return
        for descriptor in extra:
            os.close(descriptor)
        while self.alive():
            now = time.monotonic()
            if self.force_at is not None and now >= self.force_at:
                self.force()
                break
            self.listen(LOOK if self.force_at is None else min(LOOK, self.force_at - now))
        self.report({"used": used()})

    def order(self) -> Order | None:
        """The first line; None when the worker went before it was through."""
        received = b""
        while not received.endswith(b"\n"):
            data = self.control.recv(1 << 20)
            if not data:
                return None
            received += data
        order: Order = json.loads(received)
        return order

    def prepare(self) -> None:
        """Be deaf to signals that are meant for others, and the parent of all that lose theirs."""
        table.be_deaf()
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.wake = os.pipe()
        for descriptor in self.wake:
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(self.wake[1], warn_on_full_buffer=False)
        table.adopt_orphans()

    def begin(self, start: Callable[[int], None]) -> bool:
        """Start the first process; reports what kept it from that."""
        inlet, outlet = os.pipe()
        keeper = os.getpid()
        self.first = os.fork()
        if self.first == 0:
            signal.set_wakeup_fd(-1)
            self.control.close()
            for descriptor in (inlet, *self.wake):
                os.close(descriptor)
            become(start, keeper, outlet)
        os.close(outlet)
        with os.fdopen(inlet, "rb") as failures:
            failure = failures.read()
        if failure:
            os.waitpid(self.first, 0)
            self.report(json.loads(failure))
            return False
        self.report({"started": self.first})
        return True

    def alive(self) -> bool:
        """Whether anything of the body lives; looks after those that have ended."""
        status = None
        lives = True
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self.first:
                    status = ended[1]
        except ChildProcessError:
            lives = not table.LINUX and table.group_lives(self.first)
        if status is not None:
            self.first_ended(status, lives)
        return lives

    def first_ended(self, status: int, others: bool) -> None:
        """Report the end of the first process, and ask those that it left behind to go."""
        asked = self.force_at is not None
        left = table.named(self.descendants()) if others and not asked else []
        self.report({"status": status, "left": left})
        if others and not asked:
            self.ask(LEFT_GRACE)

    def listen(self, patience: float) -> None:
        """Wait for an order, for the end of a process, or until the time is up."""
        ears: list[Any] = [self.wake[0], self.control] if self.open else [self.wake[0]]
        heard = select.select(ears, [], [], max(patience, 0))[0]
        if self.wake[0] in heard:
            os.read(self.wake[0], 4096)
        if self.control in heard:
            self.obey()
        elif self.open and os.getppid() != self.parent:
            self.lose()

    def obey(self) -> None:
        """Read an order."""
        data = b""
        with contextlib.suppress(OSError):
            data = self.control.recv(4096)
        if not data:
            self.lose()
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            self.ask(json.loads(line)["stop"])

    def lose(self) -> None:
        """The worker is gone, or the process that forked us, which is about to be."""
        self.open = False
        self.report({"lost": True})
        self.ask(LOST_GRACE)

    def ask(self, grace: float) -> None:
        """Ask all to end, and give them ``grace`` seconds; never more than they have already."""
        if self.force_at is None:
            self.signal_all(signal.SIGTERM)
            self.signal_all(signal.SIGCONT)  # one that is paused could not follow
        until = time.monotonic() + grace
        self.force_at = until if self.force_at is None else min(self.force_at, until)

    def force(self) -> None:
        """Kill until nothing lives; reports those that cannot be killed."""
        give_up = time.monotonic() + LAST
        while self.alive():
            if time.monotonic() > give_up:
                self.report({"escaped": table.named(self.descendants())})
                return
            self.freeze()
            self.signal_all(signal.SIGKILL)
            self.listen(ROUND)

    def freeze(self) -> None:
        """Pause all, so that none starts another while they are killed."""
        frozen: set[int] = set()
        while fresh := set(self.descendants()) - frozen:
            for pid in fresh:
                table.send(pid, signal.SIGSTOP)
            frozen |= fresh

    def signal_all(self, number: int) -> None:
        """Send a signal to every process of the body."""
        if not table.LINUX:
            table.send(-self.first, number)
        for pid in self.descendants():
            table.send(pid, number)

    def descendants(self) -> list[int]:
        """Every process below this one. Empty where the system does not tell."""
        parents = table.parents_of_all() if table.LINUX else {}
        found = {os.getpid()}
        growing = True
        while growing:
            fresh = {pid for pid, parent in parents.items() if parent in found} - found
            found |= fresh
            growing = bool(fresh)
        return sorted(found - {os.getpid()})

    def report(self, what: dict[str, Any]) -> None:
        """Tell the worker; if it is gone, nobody."""
        with contextlib.suppress(OSError):
            self.control.sendall(json.dumps(what).encode() + b"\n")


def used() -> tuple[int, float]:
    """What the processes that have ended took: the largest one's memory in bytes, and the time of
    the processor in seconds, of all together."""
    took = resource.getrusage(resource.RUSAGE_CHILDREN)
    unit = 1 if sys.platform == "darwin" else 1024
    return took.ru_maxrss * unit, took.ru_utime + took.ru_stime


def become(start: Callable[[int], None], keeper: int, outlet: int) -> None:
    """Become the body, in the new process; a failure goes into ``outlet``."""
    try:
        os.setsid()
        table.die_with_parent()
        if os.getppid() == keeper:
            table.hear_again()
            start(outlet)
    except Unstarted as failure:
        os.write(outlet, json.dumps({"failed": failure.number, "where": failure.where}).encode())
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(127)
