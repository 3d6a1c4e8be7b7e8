"""Moves in a caller's own transaction, over every driver: row, state and job, or none of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import psycopg
import pytest
import pytest_asyncio

from koken import AsyncClient, Client
from koken.engine import grant
from koken.errors import NotFound, Refused
from tests.cluster import callers
from tests.support import experiments as dne
from tests.support.experiments import events, put, status
from tests.support.house import House, open_house


@pytest_asyncio.fixture
async def house(database_url: str) -> AsyncIterator[House]:
    """The engine, with the program's table and one of the callers'."""
    async with open_house(database_url) as made:
        async with made.db.session() as session:
            await session.execute(dne.TABLE)
            await session.execute("create table public.mine (key text primary key)")
        yield made


@pytest.fixture(params=callers.KINDS, ids=[kind.__name__.lower() for kind in callers.KINDS])
def kind(request: pytest.FixtureRequest) -> type[callers.Asyncpg]:
    """Each way to the database."""
    found: type[callers.Asyncpg] = request.param
    return found


async def test_committed_with_what_the_caller_did(
    house: House, database_url: str, kind: type[callers.Asyncpg]
) -> None:
    caller: callers.Caller = await kind.at(database_url)
    await caller.insert("experiment")
    run_id = await caller.move(dne.schedule, 1, note="%s $1 :x")
    assert run_id is not None
    assert await status(house) == "DRAFT"
    assert await house.value("select count(*) from koken.run") == 0
    await caller.end(commit=True)
    assert await status(house) == "TO_BE_SCHEDULED"
    run = await house.row(run_id)
    assert (run["state"], run["subject"], run["hooks"]) == ("blocked", "experiment:1", True)
    assert [event["run_id"] for event in await events(house, "move")] == [run_id]
    await grant.sweep(house.db)
    (claimed,) = await house.claim()
    await house.finish(claimed)
    assert await status(house) == "SCHEDULED"


async def test_rolled_back_it_never_was(
    house: House, database_url: str, kind: type[callers.Asyncpg]
) -> None:
    caller: callers.Caller = await kind.at(database_url)
    assert await caller.move(dne.schedule, 1) is not None
    await caller.end(commit=False)
    assert await status(house) == "DRAFT"
    assert await house.value("select count(*) from koken.run") == 0
    assert await events(house, "move") == []


async def test_a_refusal_is_kept_and_spoils_nothing(
    house: House, database_url: str, kind: type[callers.Asyncpg]
) -> None:
    """It is recorded at once; the caller's transaction goes on and may still commit."""
    await put(house, "SCHEDULED", 2)
    caller: callers.Caller = await kind.at(database_url)
    await caller.insert("kept")
    with pytest.raises(Refused, match="'schedule' goes from DRAFT, experiment 2 is SCHEDULED"):
        await caller.move(dne.schedule, 2)
    assert len(await events(house, "move refused")) == 1
    with pytest.raises(NotFound, match="there is no experiment 3"):
        await caller.move(dne.schedule, 3)
    assert await caller.move(dne.drop, 1) is None
    await caller.end(commit=True)
    assert await status(house) == "CANCELLED"
    assert await house.value("select key from public.mine") == "kept"
    assert len(await events(house, "move refused")) == 1


async def test_refused_and_rolled_back_it_is_kept(
    house: House, database_url: str, kind: type[callers.Asyncpg]
) -> None:
    await put(house, "CANCELLED")
    caller: callers.Caller = await kind.at(database_url)
    with pytest.raises(Refused):
        await caller.move(dne.schedule, 1)
    await caller.end(commit=False)
    (event,) = await events(house, "move refused")
    assert event["reason"] == "'schedule' goes from DRAFT, experiment 1 is CANCELLED"


async def test_an_excluded_run_refuses_without_an_error_of_the_database(
    house: House, database_url: str, kind: type[callers.Asyncpg]
) -> None:
    holder: callers.Caller = await callers.Asyncpg.at(database_url)
    busy = await holder.move(dne.schedule, 2)
    await holder.end(commit=True)
    await put(house, "SCHEDULED", 2)
    caller: callers.Caller = await kind.at(database_url)
    with pytest.raises(Refused) as caught:
        await caller.move(dne.expire, 2)
    assert caught.value.held_by == busy
    await caller.insert("still")
    await caller.end(commit=True)
    assert await house.value("select key from public.mine") == "still"


async def test_a_connection_that_commits_each_statement(house: House, database_url: str) -> None:
    """Nothing is moved by half, even there."""

    def moved() -> int:
        with (
            psycopg.connect(database_url, autocommit=True) as connection,
            Client(database_url, by="anna") as client,
        ):
            run = client.using(connection).move(dne.schedule, 1)
            assert run is not None
            return run.id

    run_id = await asyncio.to_thread(moved)
    assert await status(house) == "TO_BE_SCHEDULED"
    assert await house.state(run_id) == "blocked"


async def test_a_search_path_of_the_callers_own(house: House, database_url: str) -> None:
    """The end finds the table that the caller meant."""
    await house.rows("create schema lab")
    await house.rows('create table lab.trial ("no" text primary key, "my state" text)')
    await house.rows("insert into lab.trial values ('a''b', 'new'), ('c', 'new')")
    trials = dne.app.machine(
        "trial", table="trial", column="my state", key="no", states=["new", "it's on", "50% :x"]
    )
    dne.app.registry.machines.discard("trial")
    begin = trials.transition("begin", "new", "it's on", start=dne.trial, on_success="50% :x")
    async with AsyncClient(database_url) as client:
        connection = await asyncpg.connect(database_url)
        await connection.execute("set search_path = lab")
        assert await client.using(connection).move(begin, "a'b") is not None
        await connection.close()
    (claimed,) = await house.claim()
    await house.finish(claimed)
    rows = await house.rows('select "no", "my state" as state from lab.trial order by 1')
    assert [tuple(row.values()) for row in rows] == [("a'b", "50% :x"), ("c", "new")]
