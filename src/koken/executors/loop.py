"""``async def`` bodies on the worker's own event loop: the leanest way, for bodies that await."""

from __future__ import annotations

import asyncio
import types
from asyncio import CancelledError, TimerHandle
from collections.abc import Coroutine, Generator
from typing import Any

from koken.define.function import Function
from koken.define.job import Job
from koken.executors.base import Answer, Assignment, Host, Stopped, misplaced
from koken.executors.bodies import answer_with, begin
from koken.executors.capture import RunLog, speaking
from koken.executors.stopping import GRACE, Going, answer_to

DRIVEN_OUT = 100
"""Times that a body may swallow its cancellation after the grace, before it is dropped."""


class LoopExecutor:
    """Carries out ``async def`` bodies in the task that calls ``carry_out``.

    A stop cancels that task once; ``grace`` seconds later the body is driven out: cancelled at
    each of its awaits, and dropped when it goes on all the same.
    """

    name = "loop"

    def __init__(self, *, grace: float = GRACE) -> None:
        self.grace = grace
        self.under_way: dict[int, LoopGoing] = {}

    async def carry_out(self, job: Job[..., Any], assignment: Assignment, host: Host) -> Answer:
        """Carry out the body; call it in a task of its own."""
        function = job.body
        if not isinstance(function, Function):
            return misplaced(job, self.name)
        going = LoopGoing(self.grace)
        self.under_way[assignment.run_id] = going
        if assignment.timeout is not None:
            going.timer = going.loop.call_later(assignment.timeout, going.stop, "timeout")
        log = RunLog(host)
        token = speaking.set(log)
        try:
            body = await begin(function, assignment, host, going)
            answer = answer_with(function, await drive(body, going))
        except CancelledError as error:
            if going.foreign() and not going.why:
                raise
            answer = Stopped(going.why, going.detail) if going.why else answer_to(error)
        except BaseException as error:
            answer = answer_to(error)
        finally:
            speaking.reset(token)
            log.close()
            going.settle()
            if self.under_way.get(assignment.run_id) is going:
                del self.under_way[assignment.run_id]
        if going.cancels:
            await going.calm()
        going.notice_lateness(assignment.timeout)
        return going.verdict(answer)

    async def stop(self, run_id: int, why: str) -> None:
        """Begin to stop the run's body; its ``carry_out`` answers."""
        going = self.under_way.get(run_id)
        if going is not None:
            going.stop(why)

    def goes_on(self, run_id: int, lease: int) -> bool:
        """A body that is not driven any more does not go on."""
        return False

    async def close(self) -> None:
        """Nothing is held between bodies."""


class LoopGoing(Going):
    """A body on the loop, and the task that drives it."""

    __slots__ = ("before", "began", "cancels", "grace", "hard", "loop", "task", "timer")

    def __init__(self, grace: float) -> None:
        super().__init__()
        task = asyncio.current_task()
        assert task is not None
        self.task = task
        self.loop = task.get_loop()
        self.grace = grace
        self.began = self.loop.time()
        self.timer: TimerHandle | None = None
        self.before = task.cancelling()
        self.cancels = 0
        self.hard = False

    def stop(self, why: str) -> None:
        """Cancel the body; the first reason counts."""
        if self.why or self.task.done():
            return
        self.why = self.seen = why
        self.cancel()
        self.settle()
        self.timer = self.loop.call_later(self.grace, self.drive_out)

    def notice_lateness(self, timeout: float | None) -> None:
        """A body that blocked the loop past its timeout was not stopped in time: it counts all
        the same."""
        if timeout is not None and not self.why and self.loop.time() - self.began > timeout:
            self.why = "timeout"
            self.detail = "it blocked the event loop, so it could not be stopped sooner"

    def drive_out(self) -> None:
        """The grace is over: from now on each await of the body is cancelled."""
        self.hard = True
        self.cancel()

    def cancel(self) -> None:
        """Cancel the task, and remember that it was us."""
        self.cancels += 1
        self.task.cancel(f"the run is to stop: {self.why}")

    def foreign(self) -> bool:
        """Whether somebody else cancelled the task."""
        return self.task.cancelling() > self.before + self.cancels

    def settle(self) -> None:
        """Forget the timer."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    async def calm(self) -> None:
        """Take our cancellations off the task, one that was not delivered yet included."""
        try:
            await asyncio.sleep(0)
        except CancelledError:
            if self.foreign():
                raise
        for _ in range(self.cancels):
            self.task.uncancel()


@types.coroutine
def drive(body: Coroutine[Any, Any, Any], going: LoopGoing) -> Generator[Any, Any, Any]:
    """Await ``body``, with the power to end it: a coroutine goes on only while it is driven."""
    try:
        awaited = body.send(None)
        while True:
            thrown: BaseException | None = None
            try:
                yield awaited
            except BaseException as error:
                thrown = error
            if going.hard:
                return drop(body, going)
            awaited = body.send(None) if thrown is None else body.throw(thrown)
    except StopIteration as end:
        return end.value


def drop(body: Coroutine[Any, Any, Any], going: LoopGoing) -> Any:
    """Throw a cancellation at every await of ``body`` until it ends, then leave it where it is."""
    try:
        for _ in range(DRIVEN_OUT):
            body.throw(CancelledError(f"the run is to stop: {going.why}"))
    except StopIteration as end:
        return end.value
    going.detail = "the body kept swallowing its cancellation and was dropped"
    raise CancelledError
