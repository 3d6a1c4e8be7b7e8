"""What a body asks while the database is away: the answer comes late, and no error before it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from koken.engine.claim import Claimed
from koken.errors import DatabaseUnreachable, LeaseLost
from koken.model.durable import Met, Past, Waiting, Wanted
from koken.runtime import host as hosts
from koken.runtime.host import RunHost
from koken.runtime.recorder import Recorder
from koken.store.database import Database
from tests.support.house import House, open_house
from tests.support.moments import until
from tests.support.proxy import FaultProxy

WAIT = Waiting(key="wait:1", ordinal=1, kind="signal", name="go")
WANTED = Wanted(key="child:a", step="a", spent=0, job="report", args={})


class Away:
    """A run and its host, and a database behind a proxy that may be shut."""

    def __init__(self, house: House, proxy: FaultProxy, run: Claimed) -> None:
        self.house = house
        self.proxy = proxy
        self.run = run
        self.db = Database(proxy.url, size=3)
        self.recorder = Recorder(self.db)
        self.host = RunHost(run, self.recorder, asyncio.get_running_loop())
        self.host.fresh = False

    def shut(self) -> None:
        self.proxy.refuse()
        self.proxy.reset()

    async def asked(self, verb: Callable[[RunHost], Awaitable[Any]]) -> asyncio.Future[Any]:
        """Ask while the database is away; gives what is still to come, once it was tried."""
        await self.db.fetch(hosts.durable.OPEN_QUESTIONS, self.run.id)  # a connection to lose
        self.shut()
        asking = asyncio.ensure_future(verb(self.host))
        await until(lambda: self.tried() or asking.done())
        return asking

    def tried(self) -> bool:
        return any(f"run {self.run.id} waits" in record.message for record in self.caplog.records)

    caplog: pytest.LogCaptureFixture


@pytest.fixture
async def away(
    database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[Away]:
    monkeypatch.setattr(hosts, "FIRST_LOOK", 0.01)
    async with open_house(database_url) as house, FaultProxy.before(database_url) as proxy:
        await house.job()
        await house.start()
        (run,) = await house.claim()
        found = Away(house, proxy, run)
        found.caplog = caplog
        await found.recorder.start()
        try:
            yield found
        finally:
            await found.recorder.stop()
            await found.db.close()


VERBS: dict[str, tuple[Callable[[RunHost], Awaitable[Any]], Any]] = {
    "checkpoints": (lambda host: host.checkpoints(), Past()),
    "wait": (lambda host: host.wait(WAIT), Met()),
    "child": (lambda host: host.child(WANTED), 1),
    "open_children": (lambda host: host.open_children([]), ([], 0)),
}


@pytest.mark.parametrize("verb", VERBS)
async def test_a_verb_waits_for_the_database(away: Away, verb: str) -> None:
    ask, answer = VERBS[verb]
    asking = await away.asked(ask)
    assert not asking.done()
    await away.proxy.listen()
    found = await asking
    assert (found.open if verb == "child" else found) == answer


async def test_keep_waits_for_the_database(away: Away) -> None:
    away.shut()
    keeping = asyncio.ensure_future(away.host.keep("step:a", "1"))
    await until(lambda: not away.recorder.promises)
    await until(lambda: away.recorder.promises)  # put back
    assert not keeping.done()
    await away.proxy.listen()
    assert await keeping == "1"


@pytest.mark.parametrize("verb", VERBS)
async def test_a_body_that_is_to_stop_waits_no_longer(away: Away, verb: str) -> None:
    asking = await away.asked(VERBS[verb][0])
    away.host.stop = "shutdown"
    with pytest.raises(DatabaseUnreachable):
        await asking


async def test_patience_ends(away: Away, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "PATIENCE", 0.0)
    away.shut()
    with pytest.raises(DatabaseUnreachable):
        await away.host.wait(WAIT)


async def test_a_lease_that_went_meanwhile(away: Away) -> None:
    asking = await away.asked(VERBS["wait"][0])
    await away.house.rows("update koken.run set lease = lease + 1")
    await away.proxy.listen()
    with pytest.raises(LeaseLost):
        await asking


async def test_a_thread_that_waits_is_woken(away: Away, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes back to Python from time to time, where a stop can reach it."""
    monkeypatch.setattr(hosts, "WAKE", 0.01)
    gate = asyncio.Event()

    async def slow() -> int:
        await gate.wait()
        raise TimeoutError("the work's own")

    waiting = asyncio.ensure_future(asyncio.to_thread(away.host.wait_for, slow()))
    gate.set()
    with pytest.raises(TimeoutError, match="the work's own"):
        await waiting
