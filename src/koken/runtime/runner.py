"""Carries claimed runs: finds the body, asks an executor, and passes on what becomes of it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from koken.define.job import Job
from koken.define.registry import Registry
from koken.engine.claim import Claimed
from koken.engine.finish import Ending, Finished
from koken.executors.base import Assignment, Executor, raised
from koken.model import codec
from koken.model.run import Trigger, TriggerKind
from koken.model.states import State
from koken.runtime import verdict
from koken.runtime.finisher import Finisher
from koken.runtime.host import RunHost
from koken.runtime.names import Names
from koken.runtime.recorder import Recorder

CLOSING_RULES = ("skip_if_failed", "skip_if_running_or_failed")


class Carried:
    """A run that this worker holds until its ending is delivered."""

    __slots__ = ("executor", "host", "run", "task")

    def __init__(self, run: Claimed) -> None:
        self.run = run
        self.host: RunHost | None = None
        self.executor: Executor | None = None
        self.task: asyncio.Task[None] | None = None


class Runner:
    """The bodies of a worker, and the slots that they take in each queue."""

    def __init__(
        self,
        *,
        registry: Registry,
        executors: Callable[[Job[..., Any]], Executor],
        names: Names,
        recorder: Recorder,
        slots: Mapping[int, int],
        on_free: Callable[[], None],
    ) -> None:
        self.registry = registry
        self.executors = executors
        self.names = names
        self.recorder = recorder
        self.finisher: Finisher | None = None
        self.slots = dict(slots)
        self.busy = dict.fromkeys(slots, 0)
        self.on_free = on_free
        self.carried: dict[int, Carried] = {}
        self.delivered: set[tuple[int, int]] | None = None
        """Delivered while the claimer asks what we hold, whose answer may be older."""
        self.bodies = 0
        self.idle = asyncio.Event()
        self.idle.set()

    def room(self) -> dict[int, int]:
        """Free slots of each queue."""
        return {queue: slots - self.busy[queue] for queue, slots in self.slots.items()}

    def take(self, runs: Iterable[Claimed]) -> None:
        """Carry these runs; what is carried already is left alone."""
        loop = asyncio.get_running_loop()
        for run in runs:
            known = self.carried.get(run.id)
            if known is not None and known.run.lease == run.lease:
                continue
            carried = self.carried[run.id] = Carried(run)
            self.busy[run.queue_id] = self.busy.get(run.queue_id, 0) + 1
            self.bodies += 1
            carried.task = loop.create_task(self.carry(carried))
        if self.bodies:
            self.idle.clear()

    async def carry(self, carried: Carried) -> None:
        """One body, from its start to its ending."""
        run = carried.run
        began = time.monotonic()
        try:
            ending = await self.outcome(carried, began)
        finally:
            self.free(run)
        host = carried.host
        if host is not None and host.wrote:
            host.show()
            await self.recorder.flush()
        if ending is None:
            self.forget(carried)
        elif self.finisher is not None:
            self.finisher.add(ending)

    async def outcome(self, carried: Carried, began: float) -> Ending | None:
        """What becomes of the run."""
        run = carried.run
        name = self.names.job(run.job_id)
        job = self.registry.jobs.get(name)
        if job is None:
            return verdict.unknown(run, name)
        host = carried.host = RunHost(run, self.recorder, asyncio.get_running_loop())
        try:
            executor = carried.executor = self.executors(job)
            answer = await executor.carry_out(job, self.assignment(run, job, name), host)
        except Exception as error:
            answer = raised(error)
        found = verdict.ending(run, job, answer, time.monotonic() - began, random.random())
        if found is not None and found.state is State.SUCCEEDED:
            found.closes_failures = run.overlap in CLOSING_RULES
        return found

    def assignment(self, run: Claimed, job: Job[..., Any], name: str) -> Assignment:
        """The facts that the executor gets."""
        limits = [each for each in (job.spec.timeout, run.seconds_left) if each is not None]
        return Assignment(
            run_id=run.id,
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
            args=codec.decode(run.args) if run.args != "{}" else {},
            timeout=max(min(limits), 0.0) if limits else None,
        )

    def free(self, run: Claimed) -> None:
        """Its slot is free again."""
        self.busy[run.queue_id] -= 1
        self.bodies -= 1
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
        """Begin to stop the bodies of these runs; each ends by its own answer."""
        for run_id in list(run_ids):
            carried = self.carried.get(run_id)
            if carried is None or carried.host is None or carried.executor is None:
                continue
            if not carried.host.stop:
                carried.host.stop = why
                await carried.executor.stop(run_id, why)

    async def abandon(self) -> None:
        """All runs went to others: stop the bodies and forget them."""
        lost = list(self.carried.values())
        await self.stop(list(self.carried), "lost")
        for carried in lost:
            self.forget(carried)

    def unsafe(self) -> list[int]:
        """Runs whose body may not run a second time, or does not say."""
        return [
            run_id
            for run_id, carried in self.carried.items()
            if self.effect(carried) in (None, "once", "unsafe")
        ]

    def effect(self, carried: Carried) -> str | None:
        """What the job says of its effect."""
        job = self.registry.jobs.get(self.names.job(carried.run.job_id))
        return job.spec.effect if job else None
