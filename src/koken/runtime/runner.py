"""Carries claimed runs: finds the body, asks an executor, and passes on what becomes of it."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from koken.define.job import Job
from koken.define.registry import Registry
from koken.engine.claim import Claimed
from koken.engine.finish import Ending, Finished
from koken.engine.parts import Moved
from koken.executors.base import Absent, Answer, Assignment, Executor, Raised, Stopped, raised
from koken.model.duration import in_words
from koken.model.runparts import Failure, Trigger, TriggerKind
from koken.model.states import State
from koken.runtime import verdict
from koken.runtime.carried import Carried
from koken.runtime.finisher import Finisher
from koken.runtime.host import RunHost
from koken.runtime.names import Names
from koken.runtime.parents import Parents
from koken.runtime.recorder import Recorder
from koken.runtime.slots import Slots
from koken.runtime.through import Carry

FULL_FOR_LONG = 300.0
"""Seconds without a free slot after which a worker says so."""
PATIENCE = 0.5
"""Seconds that a run which was fetched ahead waits for a slot."""
logger = logging.getLogger("koken.runner")
NOT_TWICE = (None, "once", "unsafe")
"""Effects of bodies that may not run a second time, or do not say."""
CLOSING_RULES = ("skip_if_failed", "skip_if_running_or_failed")


class Runner:
    """The bodies of a worker, and the slots that they take in each queue.

    ``chance`` gives numbers in 0..1, by which waits before another attempt are spread.
    """

    def __init__(
        self,
        *,
        registry: Registry,
        executors: Callable[[Job[..., Any]], Executor],
        names: Names,
        recorder: Recorder,
        parents: Parents,
        slots: Mapping[int, int],
        on_free: Callable[[], None],
        on_ready: Callable[[], None],
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.registry = registry
        self.executors = executors
        self.names = names
        self.recorder = recorder
        self.parents = parents
        self.finisher: Finisher | None = None
        self.slots = {queue: Slots(total) for queue, total in slots.items()}
        self.on_free = on_free
        self.on_ready = on_ready
        self.chance = chance
        self.carried: dict[int, Carried] = {}
        self.abandoned: list[Carried] = []
        """Runs that went to others while their bodies still went here."""
        self.delivered: set[tuple[int, int]] | None = None
        """Delivered while the claimer asks what we hold, whose answer may be older."""
        self.unknown: set[int] = set()
        """Jobs that this program does not have: their runs are left to other workers."""
        self.returning: asyncio.TimerHandle | None = None
        self.state: Any = None
        """What the program's lifespan gave; bodies find it in their context."""
        self.closing = False
        """Whether what is claimed now goes back at once."""
        self.bodies = 0
        self.idle = asyncio.Event()
        self.idle.set()

    def room(self) -> dict[int, int]:
        """How many runs of each queue to claim, some of them ahead of a free slot."""
        return {queue: slots.room for queue, slots in self.slots.items()}

    def tell_of_full_queues(self) -> None:
        """Warn, once each time, of a queue that has had no free slot for long."""
        now = time.monotonic()
        for queue_id, slots in self.slots.items():
            full = slots.full_since is not None and now - slots.full_since > FULL_FOR_LONG
            if full and not slots.told:
                slots.told = True
                going = [
                    one.run.id for one in self.carried.values() if one.run.queue_id == queue_id
                ]
                logger.warning(
                    "all %s slots of queue %s have been taken for %s, by runs %s; a timeout ends "
                    "bodies that hang",
                    slots.total,
                    self.names.queues.get(queue_id, queue_id),
                    in_words(now - (slots.full_since or now)),
                    sorted(going)[:10],
                )

    def free_slots(self, queue_id: int) -> int:
        """How many bodies of a queue may begin now."""
        slots = self.slots[queue_id]
        return slots.free - len(slots.waiting)

    def take(self, runs: Iterable[Claimed]) -> None:
        """Carry these runs; what is carried already is left alone."""
        for run in runs:
            if self.carries(run.id, run.lease):
                continue
            carried = self.carried[run.id] = Carried(run)
            carried.stop = "shutdown" if self.closing else ""
            slots = self.slots[run.queue_id]
            if slots.free > 0:
                self.begin(carried, slots)
            else:
                slots.waiting.append((time.monotonic(), run))
                self.return_soon()

    async def take_on(self, runs: Sequence[Claimed]) -> None:
        """Carry runs that became ready by what this worker did."""
        if runs:
            await self.names.learn(runs)
            await self.parents.plans.learn(runs)
            self.take(runs)

    def begin(self, carried: Carried, slots: Slots) -> None:
        """Give a run a slot."""
        slots.begin()
        self.bodies += 1
        self.idle.clear()
        carried.at_work = True
        carried.task = asyncio.get_running_loop().create_task(self.carry(carried))

    def return_soon(self) -> None:
        """What still waits for a slot after ``PATIENCE`` goes back."""
        if self.returning is None:
            loop = asyncio.get_running_loop()
            self.returning = loop.call_later(PATIENCE, self.return_waiting, PATIENCE)

    def return_waiting(self, patience: float) -> None:
        """Hand back what has waited so long for a slot: another worker may have one."""
        self.returning = None
        late = time.monotonic() - patience
        for slots in self.slots.values():
            while slots.waiting and slots.waiting[0][0] <= late:
                _, run = slots.waiting.popleft()
                if self.finisher is not None:
                    self.finisher.add(verdict.handed_back(run))
            if slots.waiting:
                self.return_soon()

    def carries(self, run_id: int, lease: int) -> bool:
        """Whether this worker knows that it holds the run."""
        known = self.carried.get(run_id)
        return known is not None and known.run.lease == lease

    async def carry(self, carried: Carried) -> None:
        """One body, from its start to its ending."""
        run = carried.run
        began = time.monotonic()
        try:
            ending = await self.outcome(carried)
        except Exception as error:  # ours, not the body's: the run must not hang on it
            logger.exception("run %s could not be carried", run.id)
            failure = Failure(type=type(error).__name__, message=str(error))
            ending = verdict.broken(run, failure, self.chance())
        except asyncio.CancelledError:
            if self.closing:
                raise
            # its body has cancelled the task that carries it; the run must end all the same
            while (task := asyncio.current_task()) is not None and task.uncancel():
                pass
            failure = Failure(type="CancelledError", message="its body cancelled its own task")
            ending = verdict.ended(run, State.FAILED, failure)
        finally:
            carried.at_work = False
            self.free(run, time.monotonic() - began)
        host = carried.host
        if host is not None and host.wrote:
            host.show()
            await self.recorder.flush()
        if ending is None:
            self.forget(carried)
        elif self.finisher is not None:
            self.finisher.add(ending)

    async def outcome(self, carried: Carried) -> Ending | None:
        """What becomes of the run; None when it is not ours any more, or was moved already."""
        run = carried.run
        name = self.names.job(run.job_id)
        job = self.registry.part(name, None, undo=False)
        if job is None:
            self.unknown.add(run.job_id)
            return verdict.unknown(run, name)
        found: Ending | Moved | None
        if carried.stop:
            found = verdict.ending(run, job, Stopped(carried.stop), 0.0)
        elif isinstance(following := await self.parents.next(run, job), Carry):
            found = await self.carried_out(carried, following, name)
        else:
            found = following
        if isinstance(found, Moved):
            await self.take_on(found.taken)
            if found.ready_queues:
                self.on_ready()
            return None
        if found is not None:
            host = carried.host
            found.unwind = host is not None and host.unwind
            found.part |= run.is_part or (host is not None and (host.part or host.unwind))
        return found

    async def carried_out(self, carried: Carried, carry: Carry, name: str) -> Ending | Moved | None:
        """Carry out a body; when its run does not end well, find what is to be undone first."""
        run = carried.run
        carried.cleans_up = carry.then is not None
        answer = await self.answer(carried, carry, name)
        if carry.then is not None:
            return await self.parents.undo.done(run, carry.then, answer)
        found = verdict.ending(run, carry.job, answer, self.chance())
        if found is None:
            return None
        unwind = run.unwind or (carried.host is not None and carried.host.unwind)
        if unwind and found.state in (State.FAILED, State.CANCELLED):
            carried.cleans_up = True
            carried.stop = ""
            answer = await self.answer(carried, replace(carry, undo="*", then=found), name)
            return await self.parents.undo.done(run, found, answer)
        if found.state is State.SUCCEEDED and run.parent_id is None:
            found.closes_failures = run.overlap in CLOSING_RULES
        return found

    async def answer(self, carried: Carried, carry: Carry, name: str) -> Answer:
        """What a body answers."""
        run = carried.run
        host = carried.host = RunHost(
            run, self.recorder, asyncio.get_running_loop(), of=carry.of, before=carried.host
        )
        try:
            executor = carried.executor = self.executors(carry.job)
            answer = await executor.carry_out(carry.job, self.assignment(run, carry, name), host)
        except Exception as error:
            answer = raised(error)
        if isinstance(answer, Raised) and host.stop != "lost":
            failure = answer.failure
            host.log("error", "log", failure.traceback.rstrip() or failure.in_line)
        if isinstance(answer, Absent):
            self.unknown.add(run.job_id)
        return answer

    def assignment(self, run: Claimed, carry: Carry, name: str) -> Assignment:
        """The facts that the executor gets."""
        whole = run.seconds_left if carry.then is None else None  # what cleans up has its own time
        limits = [each for each in (carry.job.spec.timeout, whole) if each is not None]
        return Assignment(
            run_id=carry.of or run.id,
            root_id=run.root_id or run.id,
            lease=run.lease,
            job=name,
            workspace=self.names.workspace(run.workspace_id),
            attempt=run.attempt,
            max_attempts=run.max_attempts,
            logical_time=run.logical_at,
            trigger=Trigger(
                kind=TriggerKind(run.trigger_kind),
                by=run.trigger_by or "",
                schedule=self.names.schedule(run.schedule_id),
                due_at=run.logical_at if run.schedule_id is not None else None,
                since=run.since_at,
            ),
            subject=run.subject,
            state=self.state,
            args=carry.args,
            timeout=max(min(limits), 0.0) if limits else None,
            step=carry.step,
            undo=carry.undo,
            schema=self.recorder.db.schema,
        )

    def free(self, run: Claimed, took: float) -> None:
        """Its slot is free again, and goes to one that waits."""
        slots = self.slots[run.queue_id]
        slots.end(took)
        self.bodies -= 1
        while slots.waiting:
            following = self.carried.get(slots.waiting.popleft()[1].id)
            if following is not None:
                self.begin(following, slots)
                break
        if self.bodies == 0:
            self.idle.set()
        self.on_free()

    def finished(self, endings: Sequence[Ending], done: Finished) -> None:
        """The database has taken these endings, or refused them as not ours."""
        if self.delivered is not None:
            self.delivered.update((ending.id, ending.lease) for ending in endings)
        for ending in endings:
            carried = self.carried.get(ending.id)
            if carried is not None and carried.run.lease == ending.lease:
                del self.carried[ending.id]

    def forget(self, carried: Carried) -> None:
        """The run is not ours any more."""
        if self.carried.get(carried.run.id) is carried:
            del self.carried[carried.run.id]

    async def stop(self, run_ids: Iterable[int], why: str) -> None:
        """Begin to stop the bodies of these runs; each ends by its own answer.

        What has not begun goes back. The first reason counts, but a silence gives way to another.
        """
        self.return_waiting(0.0)
        for run_id in list(run_ids):
            carried = self.carried.get(run_id)
            if carried is None or carried.stop not in ("", "silence"):
                continue
            if carried.cleans_up and why == "cancel":
                continue
            carried.stop = why
            if carried.host is not None and carried.executor is not None:
                carried.host.stop = why
                await carried.executor.stop(carried.host.of, why)

    async def abandon(self) -> None:
        """All runs went to others: stop the bodies and forget the runs."""
        for slots in self.slots.values():
            slots.waiting.clear()
        lost = list(self.carried.values())
        await self.stop(list(self.carried), "lost")
        self.abandoned = [each for each in (*self.abandoned, *lost) if each.goes]
        for carried in lost:
            self.forget(carried)

    def unsafe(self) -> list[int]:
        """Runs whose body goes, and may not run a second time or does not say.

        Those that went to others are among them until they have really ended.
        """
        known = {*self.carried.values(), *self.abandoned}
        return [each.run.id for each in known if each.goes and self.effect(each) in NOT_TWICE]

    def effect(self, carried: Carried) -> str | None:
        """What the job, or the step, says of its effect."""
        run = carried.run
        step = run.step if run.is_step or run.is_item else None
        job = self.registry.part(self.names.job(run.job_id), step, undo=False)
        return job.spec.effect if job else None
