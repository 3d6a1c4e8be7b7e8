"""The hub: one look for all who watch, none where nobody does, nothing lost with the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from koken.engine import control
from koken.errors import DatabaseUnreachable, TooMany
from koken.store.database import Database, Transaction
from koken.views import fingerprints
from koken.web.live import hub as hubs
from koken.web.live.hub import Changes, Hub
from koken.web.live.topics import OfEvents, OfRun, OfWorkspace
from tests.support.house import House, open_house
from tests.support.moments import until
from tests.support.proxy import FaultProxy


@pytest_asyncio.fixture
async def house(database_url: str) -> AsyncIterator[House]:
    """The engine on a fresh database."""
    async with open_house(database_url) as made:
        await made.job()
        yield made


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement of a view or a look, as it is sent."""
    found: list[str] = []
    fetch_text = Transaction.fetch_text

    async def counted(self: Transaction, text: str, *args: Any) -> list[Any]:
        found.append(text)
        return await fetch_text(self, text, *args)

    monkeypatch.setattr(Transaction, "fetch_text", counted)
    return found


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Other databases on the server write as well: says whether anything was written."""
    written = iter(range(1, 1000))
    mark = [0]

    async def committed(_: Transaction) -> str:
        return str(mark[0])

    monkeypatch.setattr(fingerprints, "committed", committed)
    return lambda: mark.__setitem__(0, next(written))


async def followed(
    stack: AsyncExitStack, hub: Hub, topics: Iterator[Any] | list[Any]
) -> list[Changes]:
    """Follow each of these."""
    return [await stack.enter_async_context(hub.follow(topic)) for topic in topics]


@pytest.mark.parametrize("viewers", [1, 50])
async def test_viewers_cost_the_same_however_many_they_are(
    house: House, sent: list[str], quiet: Callable[[], None], viewers: int
) -> None:
    run = (await house.start()).run_id or 0
    hub = Hub(house.db)
    three = [OfRun(run), OfWorkspace("default"), OfEvents("default")]
    async with AsyncExitStack() as stack:
        changes = await followed(stack, hub, three * viewers)
        await hub.turn()
        assert len(sent) == 4  # each topic, and who may come in
        assert all([await each.within(1) for each in changes])
        sent.clear()
        await hub.turn()
        assert sent == []  # but the question whether anything was written
        await control.cancel(house.db, run, by="anna", reason=None)
        quiet()
        await hub.turn()
        assert len(sent) == 4
        assert all([await each.within(1) for each in changes])
    sent.clear()
    quiet()
    assert await hub.turn() == hubs.LONGEST_REST
    assert sent == []
    assert hub.watched == {}


async def test_it_is_asked_whether_anything_was_written(house: House, sent: list[str]) -> None:
    hub = Hub(house.db)
    async with hub.follow(OfEvents("default")) as changes:
        await hub.turn()
        assert sent[0] == fingerprints.COMMITTED
        await house.rows("insert into koken.event (workspace_id, verb, by) values (1, 'x', 'y')")
        first = await changes.within(1)
        await hub.turn()
        assert await changes.within(1) not in (None, first)


async def test_who_is_slow_hears_the_latest_and_holds_nobody_up(
    house: House, quiet: Callable[[], None]
) -> None:
    run = (await house.start()).run_id or 0
    hub = Hub(house.db)
    async with hub.follow(OfRun(run)) as slow, hub.follow(OfRun(run)) as quick:
        heard = []
        for step in range(3):
            await house.rows("update koken.run set progress = $1 returning id", step)
            quiet()
            await hub.turn()
            heard.append(await quick.within(1))
        assert len(set(heard)) == 3
        assert await slow.within(1) == heard[-1]
        assert await slow.within(0) is None


async def test_a_topic_is_told_at_once_then_whenever_it_changes(house: House) -> None:
    run = (await house.start()).run_id or 0
    hub = Hub(house.db)
    async with hub.going(), hub.follow(OfRun(run)) as changes:
        first = await anext(changes)
        await control.cancel(house.db, run, by="anna", reason=None)
        assert await anext(changes) != first
        asked = asyncio.ensure_future(anext(changes, "over"))
        hub.end()
        assert await asked == "over"


async def test_no_more_than_so_many_follow(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "MOST", 2)
    hub = Hub(house.db)
    async with hub.follow(OfEvents("default")), hub.follow(OfRun(1)):
        with pytest.raises(TooMany):
            async with hub.follow(OfRun(1)):
                pass
    async with hub.follow(OfRun(1)):
        assert list(hub.watched) == ["run:1"]


async def test_who_follows_is_sent_away_with_the_database_and_misses_nothing(house: House) -> None:
    """Silence would say that nothing has changed."""
    run = (await house.start()).run_id or 0
    async with FaultProxy.before(house.db.url) as proxy:
        db = Database(proxy.url)
        hub = Hub(db)
        async with hub.going():
            async with hub.follow(OfRun(run)) as changes:
                first = await anext(changes)
                proxy.refuse()
                proxy.reset()
                assert await anext(changes, "over") == "over"
            with pytest.raises(DatabaseUnreachable):
                async with hub.follow(OfRun(run)):
                    pass
            await control.cancel(house.db, run, by="anna", reason=None)
            await proxy.listen()
            await until(lambda: not hub.blind)
            async with hub.follow(OfRun(run)) as changes:
                assert await anext(changes) != first
        await db.close()


async def test_behind_a_pooler(house: House, quiet: Callable[[], None]) -> None:
    run = (await house.start()).run_id or 0
    db = Database(house.db.url, pooled=True)
    straight, pooled = Hub(house.db), Hub(db)
    async with straight.follow(OfRun(run)) as one, pooled.follow(OfRun(run)) as other:
        await straight.turn()
        await pooled.turn()
        assert await one.within(1) == await other.within(1) is not None
    await db.close()
