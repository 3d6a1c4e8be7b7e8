"""A worker that the database counts as lost: what it stops, what it waits for, when it goes on."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import koken
from koken.config import load
from koken.executors.thread import ThreadExecutor
from koken.model.timing import FAST
from koken.runtime import heart
from koken.runtime.heart import Heart, Pulses
from koken.runtime.worker import GIVEN_UP, Worker
from koken.store.database import Database
from tests.support.moments import until


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Something that a body waits for where no exception reaches it; opened at the end."""
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture
def app(database_url: str) -> koken.App:
    return koken.App("lost", database_url=database_url)


@pytest.fixture
async def worker(app: koken.App) -> AsyncIterator[Worker]:
    """A worker whose threads are given up in a moment."""
    worker = Worker(app, load({**app.settings, "worker": {"queues": {"default": 5}}}))
    await worker.start()
    worker.places.open["thread"] = ThreadExecutor(grace=0.2, patience=0.05)
    yield worker
    await worker.stop()


async def ask(worker: Worker, text: str) -> list[Any]:
    """A statement's rows."""
    return [tuple(row) for row in await worker.db.run(lambda tx: tx.fetch_text(text))]


async def lose(worker: Worker) -> None:
    """Everybody takes the worker for lost, and its next beat tells it."""
    await ask(worker, "update koken.worker set lost_at = koken.now()")
    worker.heart.ring()


@pytest.mark.parametrize("effect", ["unsafe", None])
async def test_a_body_that_may_not_run_twice_stays_in_sight_until_it_ends(
    app: koken.App,
    worker: Worker,
    gate: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    effect: Any,
) -> None:
    left: list[int] = []

    @app.job(effect=effect)
    def stuck() -> None:
        gate.wait()

    async with koken.AsyncClient(app) as client:
        run = await client.start(stuck)
        await until(lambda: worker.runner.unsafe() == [run.id])
        await lose(worker)
        await until(lambda: worker.losing and not worker.runner.bodies)  # given up by its executor
        assert (worker.runner.carried, worker.runner.unsafe()) == ({}, [run.id])
        assert worker.runner.closing  # what a late answer of a claim brings does not begin
        monkeypatch.setattr(os, "_exit", left.append)
        worker.die()
        assert left == [GIVEN_UP]
        assert not await worker.registered_anew()
        gate.set()
        await until(lambda: worker.losing is None)
        assert (worker.id, worker.runner.unsafe(), worker.runner.closing) == (2, [], False)


async def test_a_harmless_body_keeps_nobody(
    app: koken.App, worker: Worker, gate: threading.Event
) -> None:
    @app.job(effect="pure")
    def stuck() -> None:
        gate.wait()

    @app.job
    async def quick() -> int:
        return 7

    async with koken.AsyncClient(app) as client:
        await client.start(stuck)
        await until(lambda: worker.runner.bodies)
        await lose(worker)
        await until(lambda: worker.id == 2)
        run = await client.start(quick)
        assert (await client.wait(run, "20s")).result == 7


async def test_a_draining_worker_stops_what_went_to_others(app: koken.App, worker: Worker) -> None:
    left: list[str] = []

    @app.job
    async def holds() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            left.append("left")

    async with koken.AsyncClient(app) as client:
        await client.start(holds)
        await until(lambda: worker.runner.bodies)
        stopping = asyncio.create_task(worker.stop(grace=600))
        await until(lambda: worker.draining)
        await lose(worker)
        await until(lambda: left)
        await stopping
        assert worker.id == 1
        assert await ask(worker, "select id from koken.worker") == [(1,)]
        await worker.db.close()


async def test_death_is_judged_before_runs_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a long pause: what cannot be stopped in time must not be forgotten first."""

    async def lost(*_: object) -> None:
        return None

    class NoDatabase(Database):
        def place(self, *, alone: bool) -> Any:
            return asyncio.timeout(None)

    said: list[str] = []
    monkeypatch.setattr(heart, "beat", lost)
    beating = Heart(
        lambda: NoDatabase(""),
        timing=FAST,
        worker_id=lambda: 1,
        busy=lambda: 0,
        hungry=list,
        pulses=Pulses(
            on_cancel=lambda ids: None,
            on_lost=lambda: said.append("lost"),
            on_silence=lambda: None,
            on_voice=lambda: None,
            on_death=lambda: said.append("death"),
        ),
    )
    beating.confirmed_at -= FAST.kill_after + 1
    beating.thread.start()
    await until(lambda: len(said) >= 2)
    beating.stop()
    assert said[:2] == ["death", "lost"]
