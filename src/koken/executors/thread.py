"""``def`` bodies in threads of the worker: as many threads as bodies at once.

A thread cannot be killed. A stop is seen by the body's next call of its context; after ``patience``
a ``Stop`` is raised into its Python code, again and again; after ``grace`` the body is given up:
the run ends with that reason, and the thread, a daemon, does not keep the process. After a silence
it is not given up: such a body may not run twice, so its run must not go on while it does.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import itertools
import math
import threading
from asyncio import TimerHandle
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

from koken.define.function import Function
from koken.define.job import Job
from koken.executors.base import Answer, Assignment, Host, Stopped, misplaced
from koken.executors.bodies import perform
from koken.executors.capture import RunLog, speaking
from koken.executors.stopping import GRACE, Going, Stop

PATIENCE = 1.0
"""Seconds that a body has to see a stop by itself, before one is raised into it; then the time
between two of these."""
IDLE = 60.0
"""Seconds that a thread waits for another body before it ends."""

SILENCE = "silence"

numbers = itertools.count(1)


class ThreadExecutor:
    """Carries out bodies in daemon threads of its own, which it keeps for the next ones."""

    name = "thread"

    def __init__(self, *, grace: float = GRACE, patience: float = PATIENCE) -> None:
        self.grace = grace
        self.patience = min(patience, grace / 2)
        self.idle: deque[PoolThread] = deque()
        self.under_way: dict[int, ThreadGoing] = {}
        self.given_up: set[tuple[int, int]] = set()
        """Run and lease of bodies that go on without anybody waiting for them."""

    async def carry_out(self, job: Job[..., object], assignment: Assignment, host: Host) -> Answer:
        """Carry out the body in a thread."""
        function = job.body
        if not isinstance(function, Function):
            return misplaced(job, self.name)
        going = ThreadGoing(self, (assignment.run_id, assignment.lease))
        self.under_way[assignment.run_id] = going
        if assignment.timeout is not None:
            going.limit = going.loop.call_later(assignment.timeout, going.stop, "timeout")
        log = RunLog(host)
        context = contextvars.copy_context()
        context.run(speaking.set, log)
        self.start(lambda: context.run(going.carry, function, assignment, host))
        try:
            return going.verdict(await going.answer)
        except asyncio.CancelledError:
            going.stop("lost")
            raise
        finally:
            log.close()
            if self.under_way.get(assignment.run_id) is going:
                del self.under_way[assignment.run_id]

    def start(self, work: Callable[[], None]) -> None:
        """Have ``work`` done by an idle thread, or by a new one."""
        try:
            thread = self.idle.pop()
        except IndexError:
            thread = PoolThread(self.idle)
        thread.inbox.put(work)

    async def stop(self, run_id: int, why: str) -> None:
        """Begin to stop the run's body; its ``carry_out`` answers."""
        going = self.under_way.get(run_id)
        if going is not None:
            going.stop(why)

    def goes_on(self, run_id: int, lease: int) -> bool:
        """Whether the body was given up and has not ended since."""
        return (run_id, lease) in self.given_up

    async def close(self) -> None:
        """Let the idle threads end."""
        while self.idle:
            self.idle.pop().inbox.put(None)


class PoolThread:
    """A daemon thread that does one work after another."""

    def __init__(self, idle: deque[PoolThread]) -> None:
        self.idle = idle
        self.inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.thread = threading.Thread(
            target=self.live, name=f"koken-thread-{next(numbers)}", daemon=True
        )
        self.thread.start()

    def live(self) -> None:
        """Do works until none comes for a while."""
        while (work := self.next()) is not None:
            work()
            del work  # it holds the body's frame and values until the next one comes
            self.idle.append(self)

    def next(self) -> Callable[[], None] | None:
        """The next work; None when this thread is to end."""
        while True:
            try:
                return self.inbox.get(timeout=IDLE)
            except Empty:
                try:
                    self.idle.remove(self)
                except ValueError:
                    continue  # taken in this moment: its work is on the way
                return None


class ThreadGoing(Going):
    """A body in a thread."""

    __slots__ = (
        "answer",
        "deadline",
        "ended",
        "executor",
        "key",
        "limit",
        "lock",
        "loop",
        "thread",
        "timer",
    )

    def __init__(self, executor: ThreadExecutor, key: tuple[int, int]) -> None:
        super().__init__()
        self.executor = executor
        self.key = key
        """Its run and lease."""
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Answer] = self.loop.create_future()
        self.limit: TimerHandle | None = None
        """When its time is up."""
        self.timer: TimerHandle | None = None
        """When it is pressed again."""
        self.deadline = 0.0
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None
        self.ended = False

    def carry(self, function: Function, assignment: Assignment, host: Host) -> None:
        """Carry out the body, in its thread, and hand its answer over."""
        answer: Answer | None = None
        self.thread = threading.current_thread()
        with suppress(Stop):  # raised into us when the body had just ended
            answer = perform(function, assignment, host, self)
        self.end(self.thread)
        self.executor.given_up.discard(self.key)
        if answer is None or answer == Stopped(""):
            answer = Stopped(self.why)
        with suppress(RuntimeError):  # the worker's loop is gone, and nobody waits
            self.loop.call_soon_threadsafe(self.deliver, answer)

    def end(self, thread: threading.Thread) -> None:
        """From here on nothing is raised into the thread."""
        while not self.ended:
            try:
                with self.lock:
                    self.ended = True
                    raise_into(thread, None)
            except Stop:
                continue

    def deliver(self, answer: Answer) -> None:
        """Answer, unless the body was given up before."""
        for timer in (self.limit, self.timer):
            if timer is not None:
                timer.cancel()
        if not self.answer.done():
            self.answer.set_result(answer)

    def stop(self, why: str) -> None:
        """Begin to stop; the first reason counts, but a silence gives way to any other."""
        if self.ended or self.why not in ("", SILENCE) or self.why == why:
            return
        self.why = why
        self.deadline = math.inf if why == SILENCE else self.loop.time() + self.executor.grace
        if self.timer is not None:
            self.timer.cancel()
        self.timer = self.loop.call_later(self.executor.patience, self.press)

    def press(self) -> None:
        """Raise a ``Stop`` into the body, or give it up when the grace is over."""
        left = self.deadline - self.loop.time()
        if left <= 0:
            self.give_up()
            return
        with self.lock:
            if self.thread is not None and not self.ended:
                self.seen = self.why
                raise_into(self.thread, Stop)
        self.timer = self.loop.call_later(min(left, self.executor.patience), self.press)

    def give_up(self) -> None:
        """Answer without the body. Its context refuses every call that it makes from now on."""
        with self.lock:
            if self.ended:
                return  # its own answer is on the way
            self.executor.given_up.add(self.key)
        name = self.thread.name if self.thread else "a thread"
        self.seen = self.why
        self.deliver(Stopped(self.why, f"{name} could not be stopped and is still going"))


def raise_into(thread: threading.Thread, kind: type[BaseException] | None) -> None:
    """Raise ``kind`` in another thread at its next bytecode; None takes back what is pending."""
    exception = ctypes.py_object(kind) if kind else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), exception)
