"""The process that carries out runs: its services, wired together, and its life.

Start: publish the program's jobs, register, beat, listen, claim. Drain: claim no more, let bodies
finish until the grace ends, hand the rest back, leave. Lost: stop what runs, register anew when
nothing goes any more that may not run twice; while draining only stop it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any

from koken.config import Config
from koken.define.registry import Program
from koken.engine import register
from koken.engine.finish import Ending, Finished
from koken.engine.publish import publish
from koken.errors import DatabaseUnreachable, KokenError
from koken.executors import capture
from koken.model.states import State
from koken.runtime.chores import Chores
from koken.runtime.claimer import Claimer
from koken.runtime.finisher import Finisher
from koken.runtime.heart import Heart, Pulses
from koken.runtime.lifespan import enter_lifespan
from koken.runtime.limits import apply_limits
from koken.runtime.listener import Listener
from koken.runtime.names import Names
from koken.runtime.parents import Parents
from koken.runtime.places import Places
from koken.runtime.plans import Plans
from koken.runtime.recorder import Recorder
from koken.runtime.runner import Runner
from koken.runtime.service import Service
from koken.store.database import Database

LAST_WORDS = 10.0
"""Seconds that a stopping worker gives the database to take its last endings."""
GIVEN_UP = 75
"""Exit code of a process that left because bodies could not be stopped otherwise."""

logger = logging.getLogger("koken.worker")


class Worker:
    """One worker of ``program``, with the settings of ``config``."""

    def __init__(self, program: Program, config: Config, *, name: str = "") -> None:
        self.program = program
        self.config = config
        self.label = register.label_of(program.name, name)
        self.db = self.database(size=5)
        self.id = 0
        self.draining = False
        self.losing: asyncio.Task[None] | None = None
        self.cleanup = AsyncExitStack()
        self.gone = asyncio.Event()

    def database(self, size: int) -> Database:
        """Connections with the settings of this worker."""
        return Database(
            self.config.database_url,
            schema=self.config.schema,
            size=size,
            pooled=self.config.pooled,
        )

    async def start(self) -> None:
        """Begin to work; returns when the first claim may happen."""
        loop = asyncio.get_running_loop()
        capture.install()
        self.cleanup.callback(capture.uninstall)
        specs = self.program.registry.specs()
        await publish(self.db, self.program.name, specs, by=self.label.name, whole=True)
        await apply_limits(self.db, self.config.limits, by=self.label.name)
        queues = await register.queue_ids(self.db, self.config.queues)
        state = await enter_lifespan(self.program, self.cleanup)
        self.id = await register.register(self.db, self.label, self.config.queues)
        # a start that is given up ends above, or not at all: below nothing waits
        self.wire({queues[name]: slots for name, slots in self.config.queues.items()})
        self.runner.state = state
        self.names.queues = {number: name for name, number in queues.items()}
        self.heart = Heart(
            lambda: self.database(size=1),
            timing=self.config.timing,
            worker_id=lambda: self.id,
            busy=lambda: self.runner.bodies,
            hungry=lambda: list(self.claimer.hungry),
            pulses=Pulses(
                on_cancel=lambda ids: self.from_heart(loop, self.stop_bodies, ids, "cancel"),
                on_lost=lambda: self.from_heart(loop, self.be_lost),
                on_silence=lambda: self.from_heart(loop, self.be_silent),
                on_voice=lambda: self.from_heart(loop, self.be_heard),
                on_death=self.die,
            ),
        )
        self.heart.start()
        for service in self.services:
            await service.start()
        logger.info(
            "worker %s (%s) serves %s; if it dies, others take over within %.0f s",
            *(self.id, self.label.name, self.serves(), self.config.timing.takeover),
        )

    def wire(self, slots: Mapping[int, int]) -> None:
        """Make the services and tie them together."""
        self.names = Names(self.db)
        self.places = Places(self.program, self.config.app)
        self.recorder = Recorder(self.db)
        self.plans = Plans(self.db)
        self.runner = Runner(
            registry=self.program.registry,
            executors=self.places.of,
            names=self.names,
            recorder=self.recorder,
            parents=Parents(
                self.db,
                self.program.registry,
                self.plans,
                room=lambda: self.claimer.spare(),
                chance=random.random,
            ),
            slots=slots,
            on_free=lambda: self.claimer.ring(),
            on_ready=lambda: self.claimer.tell(),
        )
        self.finisher = Finisher(
            self.db,
            self.finished,
            room=lambda: self.claimer.spare(),
            on_doubt=lambda: self.claimer.doubt(),
        )
        self.runner.finisher = self.finisher
        self.claimer = Claimer(
            self.db,
            worker_id=lambda: self.id,
            runner=self.runner,
            names=self.names,
            plans=self.plans,
            may_claim=self.may_claim,
            undelivered=lambda: len(self.finisher.endings),
        )
        self.chores = Chores(
            self.db,
            worker_id=lambda: self.id,
            queue_ids=lambda: list(slots),
            timing=self.config.timing,
            keep=self.config.keep,
            on_ready=self.claimer.tell,
            audit=self.look_round,
        )
        listener = Listener(
            self.config.listen_url or self.config.database_url,
            self.config.schema,
            on_ready=lambda queue: self.claimer.tell() if queue in slots else None,
            on_cancel=lambda worker: self.heart.ring() if worker == self.id else None,
            on_connected=self.claimer.tell,
        )
        self.services: Sequence[Service] = (
            self.recorder,
            self.finisher,
            self.claimer,
            self.chores,
            # behind a pooler a LISTEN would be somebody else's with the next transaction
            *([listener] if self.config.listen_url or not self.config.pooled else []),
        )

    async def look_round(self) -> None:
        """See that we know what we hold, and that slots come free."""
        await self.claimer.audit()
        self.runner.tell_of_full_queues()

    def serves(self) -> str:
        """The queues with their slots, for people."""
        return ", ".join(f"{name}:{slots}" for name, slots in self.config.queues.items())

    def may_claim(self) -> bool:
        """Whether this worker may take anything now."""
        if self.draining or self.losing is not None:
            return False
        return self.heart.silence < self.config.timing.stop_after

    async def finished(self, endings: Sequence[Ending], done: Finished) -> None:
        """A batch is delivered: forget its runs, go on with others, wake what is parked in time."""
        self.runner.finished(endings, done)
        await self.runner.take_on(done.taken)
        for ending in endings:
            if done.moved.get(ending.id) is State.WAITING and ending.delay is not None:
                self.chores.wake_in(ending.delay, ending.id)
        if done.ready_queues or State.READY in done.moved.values():
            self.claimer.tell()
        elif self.claimer.limited:
            self.claimer.ring()

    def from_heart(self, loop: asyncio.AbstractEventLoop, call: Any, *args: Any) -> None:
        """Carry a word of the heart's thread to the worker's loop."""
        with suppress(RuntimeError):  # the loop is closed: the worker has left
            loop.call_soon_threadsafe(call, *args)

    def stop_bodies(self, run_ids: Sequence[int], why: str) -> None:
        """Begin to stop bodies."""
        task = asyncio.ensure_future(self.runner.stop(run_ids, why))
        task.add_done_callback(lambda done: done.exception())

    def be_silent(self) -> None:
        """No beat was confirmed for too long: stop what may not run twice, claim nothing."""
        if self.losing is None:
            logger.error("no word from the database; stopping bodies that may not run twice")
            self.stop_bodies(self.runner.unsafe(), "silence")

    def be_heard(self) -> None:
        """Beats are confirmed again."""
        self.claimer.in_doubt = True
        self.claimer.tell()

    def be_lost(self) -> None:
        """The database has given our runs to others."""
        if self.losing is None:
            self.losing = asyncio.ensure_future(self.lose())

    async def lose(self) -> None:
        """Stop all bodies, drop what they answer, begin again as a new worker."""
        logger.error("worker %s counts as lost; its runs go to others", self.id)
        self.runner.closing = True  # a claim may be on its way
        await self.runner.abandon()
        self.finisher.endings.clear()
        while not self.draining:
            if await self.registered_anew():
                self.runner.closing = self.draining
                self.losing = None
                logger.info("works on as worker %s", self.id)
                self.claimer.tell()
                return
            await asyncio.sleep(1)

    async def registered_anew(self) -> bool:
        """Become a new worker; not while bodies go that may not run twice. The heart ends those."""
        if going := self.runner.unsafe():
            logger.warning("waiting for bodies that may not run twice, of runs %s", going)
            return False
        try:
            self.id = await register.register(self.db, self.label, self.config.queues)
        except KokenError as error:
            logger.warning("cannot register anew yet: %s", error)
            return False
        return True

    def die(self) -> None:
        """Called in the heart's thread when the lease is all but over: whatever may not run twice
        ends with this process, and its children with it."""
        if self.runner.unsafe():
            logger.critical("leaving: bodies that may not run twice could not be stopped in time")
            os._exit(GIVEN_UP)

    async def drain(self, grace: float) -> None:
        """Claim no more, let bodies finish for ``grace`` seconds, hand the rest back."""
        self.close_door()
        try:
            await register.drain(self.db, self.id)
        except DatabaseUnreachable:
            logger.warning("the database does not hear that this worker drains")
        try:
            if not self.runner.idle.is_set():
                await asyncio.wait_for(self.runner.idle.wait(), grace)
        except TimeoutError:
            logger.warning("%s bodies are not done; they are handed back", self.runner.bodies)
        await self.hand_back()

    def close_door(self) -> None:
        """From here on nothing new begins, a claim that is under way included."""
        self.draining = True
        if self.id:
            self.runner.closing = True
            self.runner.return_waiting(0.0)

    async def hand_back(self) -> None:
        """Stop what still runs; it goes back as ready, and spends nothing."""
        self.close_door()
        await self.runner.stop(list(self.runner.carried), "shutdown")

    async def stop(self, *, grace: float = 0.0) -> None:
        """End: drain, deliver the last endings, leave. Twice is fine."""
        if self.id == 0 or self.gone.is_set():
            await self.leave()
            return
        await self.drain(grace)
        try:
            async with asyncio.timeout(self.places.grace + LAST_WORDS):
                await self.claimer.stop()  # what its last claim brings goes back at once
                await self.runner.idle.wait()
                while self.runner.carried:
                    self.finisher.ring()
                    await asyncio.sleep(0.01)
                if self.recorder.usages:
                    await self.recorder.flush()
        except TimeoutError:
            logger.warning("runs %s are left to rescue", sorted(self.runner.carried))
        for service in reversed(self.services):
            await service.stop()
        await self.leave()

    async def leave(self) -> None:
        """Say good-bye and let go of everything."""
        if not self.gone.is_set():
            self.gone.set()
            if self.losing is not None:
                self.losing.cancel()
            if self.id:
                self.heart.stop()
                await self.places.close()
                try:
                    await register.leave(self.db, self.id)
                except DatabaseUnreachable:
                    logger.warning("the database does not hear that this worker leaves")
            await self.cleanup.aclose()
            await self.db.close()
