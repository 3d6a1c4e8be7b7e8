"""The contract of everything that starts and stops, held by each service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from koken.define.registry import Registry
from koken.engine.claim import NO_ROOM
from koken.errors import DatabaseUnreachable
from koken.model.timing import FAST
from koken.runtime.chores import Chores
from koken.runtime.claimer import Claimer
from koken.runtime.finisher import Finisher
from koken.runtime.listener import Listener
from koken.runtime.names import Names
from koken.runtime.parents import Parents
from koken.runtime.plans import Plans
from koken.runtime.recorder import Recorder
from koken.runtime.runner import Runner
from koken.runtime.service import Service
from koken.store.database import Database

NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


async def nothing() -> None:
    """Nothing to do."""


def runner(db: Database) -> Runner:
    """A runner without jobs."""
    return Runner(
        registry=Registry(),
        executors=lambda job: None,
        names=Names(db),
        recorder=Recorder(db),
        parents=Parents(db, Registry(), Plans(db), room=lambda: NO_ROOM, chance=lambda: 0.0),
        slots={1: 1},
        on_free=lambda: None,
        on_ready=lambda: None,
    )


def claimer(db: Database) -> Service:
    return Claimer(
        db,
        worker_id=lambda: 1,
        runner=runner(db),
        names=Names(db),
        plans=Plans(db),
        may_claim=lambda: True,
        undelivered=lambda: 0,
    )


def finisher(db: Database) -> Service:
    async def told(*_: object) -> None:
        """Nobody carries anything."""

    return Finisher(db, told, room=lambda: NO_ROOM, on_doubt=lambda: None)


def chores(db: Database) -> Service:
    return Chores(
        db,
        worker_id=lambda: 1,
        queue_ids=lambda: [1],
        timing=FAST,
        keep={},
        on_ready=lambda: None,
        audit=nothing,
    )


def listener(db: Database) -> Service:
    return Listener(
        db.url,
        db.schema,
        on_ready=lambda queue: None,
        on_cancel=lambda worker: None,
        on_connected=lambda: None,
    )


MAKERS: dict[str, Callable[[Database], Service]] = {
    "recorder": Recorder,
    "finisher": finisher,
    "claimer": claimer,
    "chores": chores,
    "listener": listener,
}


@pytest.fixture(params=["there", "away"])
def db(request: pytest.FixtureRequest, database_url: str) -> Database:
    """A database that answers, and one that does not."""
    return Database(database_url if request.param == "there" else NOWHERE)


@pytest.mark.parametrize("name", MAKERS)
async def test_stop_means_stopped_twice_is_fine_and_so_is_before_the_start(
    name: str, db: Database
) -> None:
    never_started = MAKERS[name](db)
    await never_started.stop()
    await never_started.start()
    assert never_started.task is None
    service = MAKERS[name](db)
    await service.start()
    first = service.task
    await service.start()
    assert service.task is first
    await asyncio.sleep(0)
    await service.stop()
    await service.stop()
    assert first is not None
    assert first.done()
    assert not first.cancelled()
    await db.close()


class Failing(Service):
    """Fails as often as told, then rests."""

    name = "failing"

    def __init__(self, *errors: Exception) -> None:
        super().__init__()
        self.errors = list(errors)
        self.done = asyncio.Event()

    async def turn(self) -> float:
        if self.errors:
            raise self.errors.pop(0)
        self.done.set()
        return 60.0


async def test_a_failed_turn_costs_a_rest_and_the_service_goes_on() -> None:
    service = Failing(DatabaseUnreachable("away"), RuntimeError("odd"), DatabaseUnreachable("away"))
    await service.start()
    for _ in range(3):
        service.ring()
    await asyncio.wait_for(service.done.wait(), 10)
    await service.stop()
    assert service.failures == 0


async def test_the_bell_ends_a_rest() -> None:
    service = Failing()
    await service.start()
    await service.done.wait()
    service.done.clear()
    service.ring()
    await asyncio.wait_for(service.done.wait(), 10)
    await service.stop()
