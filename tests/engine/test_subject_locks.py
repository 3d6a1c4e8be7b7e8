"""One subject, one run at a time: lines, runs that supersede others, and runs below a holder."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from koken import AsyncClient
from koken.engine import grant
from koken.errors import Locked, Refused
from koken.model.policy import Lock
from koken.model.run import Run
from koken.model.states import State, WaitCause
from tests.support import experiments as dne
from tests.support.experiments import events, put, status
from tests.support.house import House


@pytest_asyncio.fixture
async def client(
    house: House, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AsyncClient]:
    """A client of the program, whose table is there."""
    monkeypatch.setenv("KOKEN_DATABASE_URL", database_url)
    async with house.db.session() as session:
        await session.execute(dne.TABLE)
    async with AsyncClient(dne.app, by="anna") as made:
        yield made


async def moved(client: AsyncClient, transition: Any, key: int = 1, **args: Any) -> Run[Any]:
    """The run that a move has started."""
    run = await client.move(transition, key, **args)
    assert run is not None
    return run


async def test_runs_on_one_subject_take_turns(house: House, client: AsyncClient) -> None:
    first = await client.start(dne.set_up, 1)
    second = await client.start(dne.end_all, 1)
    other = await client.start(dne.end_all, 2)
    free = await client.start(dne.report, 1)  # no machine sets it against others
    states = [run.state for run in (first, second, other, free)]
    assert states == ["ready", "blocked", "ready", "ready"]
    (why,) = (await client.why(second)).causes
    assert why.text == f"lock experiment:1 is held by run {first.id} (set_up)"
    claimed = {run.id: run for run in await house.claim()}
    assert set(claimed) == {first.id, other.id, free.id}
    await house.finish(claimed[first.id])
    assert await house.state(second.id) == "ready"


async def test_what_runs_is_stopped_first(house: House, client: AsyncClient) -> None:
    """The set-up is stopped, then the cancel runs: never both."""
    setting_up = await moved(client, dne.schedule)
    (run,) = await house.claim()
    cancelling = await moved(client, dne.cancel)
    assert await status(house) == "CANCELLED"
    assert await house.state(cancelling.id) == "blocked"
    row = await house.row(setting_up.id)
    assert row["state"] == "running"
    assert row["cancel_requested_at"] is not None
    (event,) = await events(house, "cancel")
    assert (event["by"], event["run_id"]) == ("anna", setting_up.id)
    assert event["reason"] == f"superseded by run {cancelling.id} (end_all)"

    await grant.sweep(house.db)
    assert await house.state(cancelling.id) == "blocked"
    assert len(await events(house, "cancel")) == 1

    await house.finish(run, State.CANCELLED)
    assert await house.state(setting_up.id) == "cancelled"
    assert await house.state(cancelling.id) == "ready"
    assert await status(house) == "CANCELLED"


async def test_one_that_succeeds_all_the_same(house: House, client: AsyncClient) -> None:
    """It was asked to stop, but had just done its work: the cancel runs on what there is."""
    setting_up = await moved(client, dne.schedule)
    (run,) = await house.claim()
    cancelling = await moved(client, dne.cancel)
    await house.finish(run)
    assert await house.state(setting_up.id) == "succeeded"
    assert await house.state(cancelling.id) == "ready"
    assert await status(house) == "CANCELLED"


async def test_what_has_not_begun_ends_at_once(house: House, client: AsyncClient) -> None:
    setting_up = await moved(client, dne.schedule)
    in_line = await client.start(dne.set_up, 1)
    later = await client.start(dne.set_up.using(delay="1h", priority=-100), 1)
    other = await moved(client, dne.schedule, 2)
    cancelling = await moved(client, dne.cancel)
    for run in (setting_up, in_line, later):
        assert await house.state(run.id) == "cancelled"
    assert await house.state(other.id) == "ready"
    assert await house.state(cancelling.id) == "ready"


async def test_what_waits_for_its_next_attempt_ends_at_once(
    house: House, client: AsyncClient
) -> None:
    setting_up = await moved(client, dne.schedule)
    (run,) = await house.claim()
    await house.finish(
        run, State.WAITING, outcome="retry", wait_cause=WaitCause.RETRY, delay=60.0, error="{}"
    )
    cancelling = await moved(client, dne.cancel)
    assert await house.state(setting_up.id) == "cancelled"
    assert await house.state(cancelling.id) == "ready"


async def test_others_keep_their_place_in_line(house: House, client: AsyncClient) -> None:
    """What is not superseded goes before it, and what came after it is left alone."""
    await put(house, "SCHEDULED")
    holder = await client.start(dne.end_all, 1)
    before = await client.start(dne.end_all, 1)
    doomed = await client.start(dne.set_up, 1)
    cancelling = await moved(client, dne.cancel)
    after = await client.start(dne.set_up, 1)
    assert await house.state(doomed.id) == "cancelled"
    for run in (holder, before, cancelling, after):
        (claimed,) = await house.claim()
        assert claimed.id == run.id
        await house.finish(claimed)


async def test_one_that_is_retried_supersedes_again(house: House, client: AsyncClient) -> None:
    await put(house, "SCHEDULED")
    cancelling = await moved(client, dne.cancel)
    (run,) = await house.claim()
    await house.finish(run, State.FAILED, error="{}")
    setting_up = await client.start(dne.set_up, 1)
    await client.retry(cancelling)
    assert await house.state(setting_up.id) == "cancelled"
    assert await house.state(cancelling.id) == "ready"


async def test_a_move_that_is_not_committed_stops_nobody(
    house: House, client: AsyncClient, database_url: str
) -> None:
    """The sweep finds from the rows alone what a caller's transaction has left to do."""
    setting_up = await moved(client, dne.schedule)
    (run,) = await house.claim()
    connection = await asyncpg.connect(database_url)
    try:
        async with connection.transaction():
            cancelling = await moved(client.using(connection), dne.cancel)
            await grant.sweep(house.db)
            assert await events(house, "cancel") == []
        assert await events(house, "cancel") == []
    finally:
        await connection.close()
    await grant.sweep(house.db)
    assert [event["run_id"] for event in await events(house, "cancel")] == [setting_up.id]
    await house.finish(run, State.CANCELLED)
    assert await house.state(cancelling.id) == "ready"


async def test_what_is_excluded_names_the_run(house: House, client: AsyncClient) -> None:
    await put(house, "SCHEDULED")
    running = await client.start(dne.end_all, 1)
    await house.claim()
    with pytest.raises(Refused) as caught:
        await client.move(dne.expire, 1)
    assert str(caught.value) == (
        f"'expire' is refused while run {running.id} of end_all goes, since 2026-03-10 12:00:00 UTC"
    )
    assert (caught.value.held_by, caught.value.since) == (running.id, house.now)
    assert len(await events(house, "move refused")) == 1


async def test_what_is_excluded_elsewhere_or_over_is_in_nobodys_way(
    house: House, client: AsyncClient
) -> None:
    await put(house, "SCHEDULED")
    await client.start(dne.end_all, 2)
    await client.using(workspace="other").start(dne.end_all, 1)
    await client.start(dne.report, 1)
    await moved(client, dne.move_end, 1, end=date(2030, 1, 1))
    assert await client.move(dne.expire, 1) is None
    running = await client.start(dne.end_all, 1)
    with pytest.raises(Refused):
        await client.move(dne.expire, 1)
    await client.cancel(running)
    assert await client.move(dne.expire, 1) is None


async def test_never_two_at_once(house: House, client: AsyncClient) -> None:
    """Moves, starts and ends in any order: a subject is in one hand, and everything ends."""
    chance = random.Random(7)
    await house.hire(default=100)
    seen = 0

    async def people() -> None:
        for _ in range(60):
            key = chance.choice((1, 2))
            verb = chance.choice((dne.schedule, dne.cancel, dne.cancel))
            try:
                await client.move(verb, key)
            except Refused:
                await put(house, chance.choice(("DRAFT", "SCHEDULED", "TO_BE_SCHEDULED")), key)

    async def work() -> None:
        nonlocal seen
        while not done.is_set() or await live():
            await grant.sweep(house.db)
            for run in await house.claim(chance.randint(1, 3)):
                together = await house.value(
                    "select max(n) from (select count(*) as n from koken.run"
                    " where state = 'running' group by subject) x"
                )
                assert together == 1
                seen += 1
                asked = (await house.row(run.id))["cancel_requested_at"]
                await house.finish(run, State.CANCELLED if asked else State.SUCCEEDED)

    async def live() -> int:
        return int(await house.value("select count(*) from koken.run where finished_at is null"))

    done = asyncio.Event()
    working = asyncio.gather(work(), work())
    await asyncio.gather(people(), people(), people())
    done.set()
    await working
    assert seen > 10
    assert await house.value("select count(*) from koken.hold") == 0
    ended = await house.rows(
        "select m.transition, r.state from koken.moving m join koken.run r on r.id = m.run_id"
    )
    assert {row["state"] for row in ended if row["transition"] == "cancel"} == {"succeeded"}


CHILD = """
select run_id from koken.start_run($1, $2::jsonb, 'default', null, null, $3, null, null, null, null,
  'run', $4::bigint::text, null, null, true, $4, null)
"""


async def child(house: House, parent: int, job: str = "part", priority: int = 0) -> int:
    """A child of a run that is running."""
    (row,) = await house.rows(CHILD, job, '{"who": "a"}', priority, parent)
    return int(row["run_id"])


async def family(house: House, **lock: Any) -> int:
    """A running parent that holds the lock of its children."""
    for name in ("report", "part"):
        await house.job(name, lock=Lock("door:{who}", **lock))
    parent = (await house.start(who="a")).run_id
    (run,) = await house.claim()
    assert run.id == parent
    return parent


async def test_a_child_passes_what_its_ancestor_holds(house: House) -> None:
    """Also before those that stood in line when it came, and one that is no relative waits."""
    parent = await family(house)
    stranger = (await house.start("part", who="a")).run_id
    first = await child(house, parent)
    second = await child(house, parent)
    await grant.sweep(house.db)
    assert await house.state(first) == "ready"
    assert await house.state(second) == await house.state(stranger) == "blocked"

    (run,) = await house.claim()
    grandchild = await child(house, first)
    await grant.sweep(house.db)
    assert await house.state(grandchild) == "ready"
    assert await house.state(second) == "blocked"
    for each in await house.claim():
        await house.finish(each, part=True)
    await house.finish(run, part=True)
    assert await house.state(second) == "ready"
    assert await house.state(stranger) == "blocked"


async def test_a_child_is_not_refused_for_its_parent(house: House) -> None:
    parent = await family(house, when_held="refuse")
    with pytest.raises(Locked):
        await house.start("part", who="a")
    first = await child(house, parent)
    await grant.sweep(house.db)
    assert await house.state(first) == "ready"
    with pytest.raises(Locked):
        await child(house, parent)


async def test_a_limit_counts_strangers_only(house: House) -> None:
    parent = await family(house, limit=2)
    stranger = (await house.start("part", who="a")).run_id
    assert await house.state(stranger) == "ready"
    first, second = await child(house, parent), await child(house, parent)
    await grant.sweep(house.db)
    assert await house.state(first) == "ready"
    assert await house.state(second) == "blocked"


async def test_a_child_that_does_not_wait_is_counted(house: House) -> None:
    """Its parent learns that it has ended, turned away from a lock."""
    parent = await family(house, when_held="skip")
    first, second = await child(house, parent), await child(house, parent)
    await grant.sweep(house.db)
    assert await house.state(first) == "ready"
    assert await house.state(second) == "skipped"
    assert (await house.row(parent))["open_children"] == 1
