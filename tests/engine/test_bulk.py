"""What is done to many runs: previewed, at a rate, paused, stopped by failures that come back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import psycopg
import pytest

import koken
from koken.engine import bulk, control, repair
from koken.engine.repair import Order
from koken.errors import InvalidArguments, NotFound, Refused
from koken.testing import TestClient
from koken.views import bulks
from tests.support.house import House

app = koken.App("bulk")
BROKEN: set[int] = set()


@app.job
def fetch(n: int) -> int:
    if n in BROKEN:
        raise TimeoutError(f"no answer for {n}")
    return n


@app.job(effect="unsafe")
def pay(n: int) -> None:
    if n in BROKEN:
        raise TimeoutError("the bank does not answer")


@pytest.fixture
def client() -> Iterator[TestClient]:
    BROKEN.clear()
    with TestClient(app, by="anna") as made:
        yield made


def failed(client: TestClient, count: int) -> list[int]:
    BROKEN.update(range(count))
    runs = client.start_many(fetch, [{"n": n} for n in range(count)])
    client.drain()
    assert {client.get(run).state for run in runs} == {"failed"}
    return [run.id for run in runs]


def succeeded(client: TestClient) -> int:
    return len(client.find("job:fetch state:succeeded"))


def test_runs_are_retried_at_the_rate(client: TestClient) -> None:
    failed(client, 5)
    BROKEN.clear()
    made = client.retry_where("job:fetch error:Timeout since:2h", rate="2/s", reason="it is back")
    assert (made.state, made.total, made.done, made.rate) == ("running", 5, 0, 2.0)
    client.drain()
    assert (client.bulk(made).done, succeeded(client)) == (2, 2)
    client.advance("0.9s")
    assert client.bulk(made).done == 2
    client.advance("0.1s")
    assert client.bulk(made).done == 4
    client.advance("2s")
    ended = client.bulk(made)
    assert (ended.state, ended.done, ended.failed_again, ended.refused) == ("done", 5, 0, 0)
    assert (ended.going, ended.recovered) == (0, 5)
    assert succeeded(client) == 5
    assert [each.id for each in client.bulks()] == [made.id]
    with psycopg.connect(client.database_url) as connection:
        told = connection.execute(
            "select verb, by, reason, detail ->> 'bulk' from koken.event"
            " where verb like 'bulk%' or verb = 'retry' order by id"
        ).fetchall()
    assert told == [
        ("bulk", "anna", "it is back", "1"),
        *[("retry", "anna", "it is back", "1")] * 5,
        ("bulk done", "koken", None, "1"),
    ]


def test_it_stops_when_the_failures_come_back(client: TestClient) -> None:
    failed(client, 40)
    made = client.retry_where("job:fetch state:failed", rate="5/s", reason="try")
    client.advance("1m")
    stopped = client.bulk(made)
    assert (stopped.state, stopped.done, stopped.failed_again) == ("stopped", 10, 10)
    assert stopped.stopped_reason == "10 of the last 10 runs that it retried failed again"
    BROKEN.clear()
    client.resume_bulk(made, reason="mended now")
    client.advance("1m")
    ended = client.bulk(made)
    assert (ended.state, ended.done, ended.failed_again) == ("done", 40, 10)
    assert ended.stopped_reason is None


def test_a_few_failures_do_not_stop_it(client: TestClient) -> None:
    failed(client, 20)
    BROKEN.clear()
    BROKEN.update(range(0, 20, 2))
    made = client.retry_where("job:fetch state:failed", rate="20/s", reason="try")
    client.advance("1m")
    assert (client.bulk(made).state, client.bulk(made).failed_again) == ("done", 10)


def test_pause_resume_stop(client: TestClient) -> None:
    failed(client, 6)
    BROKEN.clear()
    made = client.retry_where("job:fetch", rate="1/s", reason="try")
    client.drain()
    assert client.pause_bulk(made, reason="lunch").state == "paused"
    client.advance("1h")
    assert client.bulk(made).done == 1
    with pytest.raises(Refused, match="bulk 1 is paused; pause does nothing"):
        client.pause_bulk(made)
    client.resume_bulk(made)
    client.drain()
    assert client.bulk(made).done == 2
    stopped = client.stop_bulk(made, reason="enough")
    assert (stopped.state, stopped.stopped_reason) == ("stopped", "enough")
    client.advance("1h")
    assert client.bulk(made).done == 2
    with pytest.raises(NotFound, match="there is no bulk 9"):
        client.stop_bulk(9)


def test_what_cannot_be_retried_is_counted_with_its_reason(client: TestClient) -> None:
    BROKEN.update((1, 2))
    runs = client.start_many(pay, [{"n": 1}, {"n": 2}])
    client.drain()
    made = client.retry_where("job:pay", reason="try")
    client.advance("1m")
    ended = client.bulk(made)
    assert (ended.state, ended.done, ended.refused) == ("done", 0, 2)
    assert {client.get(run).state for run in runs} == {"failed"}
    with psycopg.connect(client.database_url) as connection:
        (why,) = connection.execute("select min(refusal) from koken.bulk_run").fetchone() or ("",)
    assert (
        why
        == f"run {runs[0].id}: retry repeats pay, which is unsafe; --force with a reason does it"
    )


def test_what_would_be_refused_is_foreseen_and_what_was_is_told(client: TestClient) -> None:
    BROKEN.update((1, 2, 3))
    client.start_many(pay, [{"n": 1}, {"n": 2}])
    gone = client.start(fetch, n=3)
    client.drain()
    db = client.awaiting.link.db
    runs = [run.id for run in client.find("state:failed")]
    seen = client.portal.call("test", bulk.foresee(db, "retry", runs, seconds=60))
    why = "retry repeats pay, which is unsafe; --force with a reason does it"
    assert (seen.looked, seen.refusals) == (2 + 1, {why: 2})
    client.retry(gone)
    seen = client.portal.call("test", bulk.foresee(db, "retry", [gone.id], seconds=60))
    assert seen.refusals == {
        "it is ready; only a run that failed, was cancelled or was skipped can be retried": 1
    }
    one = client.portal.call("test", bulk.foresee(db, "retry", runs[1:], seconds=0))
    assert (one.looked, one.refusals) == (1, {why: 1})
    made = client.retry_where("job:pay", reason="try")
    client.advance("1m")
    assert client.portal.call("test", bulks.refusals(db, made.id)) == {why: 2}


def test_only_what_has_not_gone_well_is_taken(client: TestClient) -> None:
    failed(client, 2)
    BROKEN.clear()
    client.run(fetch, n=7)
    assert client.retry_where("job:fetch", reason="try").total == 2


def test_refused_at_the_door(client: TestClient) -> None:
    failed(client, 1)
    with pytest.raises(InvalidArguments, match="wants a reason"):
        client.retry_where("job:fetch", reason="")
    with pytest.raises(InvalidArguments, match="say which runs"):
        client.retry_where(" ", reason="x")
    with pytest.raises(InvalidArguments, match="rate is '5/x'"):
        client.retry_where("job:fetch", rate="5/x", reason="x")
    with pytest.raises(InvalidArguments, match="Did you mean state:"):
        client.retry_where("stat:failed", reason="x")


async def test_many_workers_keep_the_rate_together(house: House) -> None:
    await house.job()
    runs = [(await house.start()).run_id for _ in range(20)]
    for run in runs:
        await control.cancel(house.db, run, by="anna", reason=None)
    made = await bulk.make(
        house.db, "retry", "job:report", runs, workspace="default", rate=4.0, by="anna", reason="x"
    )
    for expected in (4, 8, 12):
        await asyncio.gather(*(bulk.sweep(house.db) for _ in range(8)))
        assert (await bulks.bulk(house.db, made, workspace="default")).done == expected
        await house.pass_time(seconds=1)


async def test_what_a_dead_worker_took_is_taken_again(house: House) -> None:
    await house.job()
    run = (await house.start()).run_id
    await control.cancel(house.db, run, by="anna", reason=None)
    made = await bulk.make(
        house.db, "retry", "job:report", [run], workspace="default", rate=1.0, by="anna", reason="x"
    )
    await house.rows("update koken.bulk_run set taken_at = koken.now()")
    await bulk.sweep(house.db)
    assert await house.state(run) == "cancelled"
    await house.pass_time(seconds=61)
    await bulk.sweep(house.db)
    assert await house.state(run) == "ready"
    await house.pass_time(seconds=1)
    await bulk.sweep(house.db)
    assert (await bulks.bulk(house.db, made, workspace="default")).state == "done"


async def test_a_run_that_another_worker_has_done_is_left_alone(house: House) -> None:
    await house.job()
    run = (await house.start()).run_id
    await control.cancel(house.db, run, by="anna", reason=None)
    made = await bulk.make(
        house.db, "retry", "job:report", [run], workspace="default", rate=1.0, by="anna", reason="x"
    )
    order = Order(verb="retry", run_id=run, by="anna", reason="x", bulk=made)
    await repair.repair(house.db, order)
    await control.cancel(house.db, run, by="anna", reason="again")
    with pytest.raises(Refused, match="bulk 1 is done with it"):
        await repair.repair(house.db, order)
    assert await house.state(run) == "cancelled"


async def test_one_sweep_takes_fifty_of_all_bulks_together(house: House) -> None:
    await house.job()
    runs = [(await house.start()).run_id for _ in range(120)]
    await house.rows("update koken.run set state = 'cancelled', finished_at = koken.now()")
    for part in (runs[:60], runs[60:]):
        await bulk.make(
            house.db,
            "retry",
            "job:report",
            part,
            workspace="default",
            rate=1000.0,
            by="anna",
            reason="x",
        )
    done = []
    for _ in range(3):
        await bulk.sweep(house.db)
        done.append([each.done for each in await bulks.bulks(house.db, workspace="default")][::-1])
        await house.pass_time(seconds=0.03)
    assert done == [[25, 25], [50, 50], [60, 60]]


async def test_the_last_twenty_are_found_by_an_index(house: House) -> None:
    async with house.db.session() as session:
        plan = await session.fetch_text(f"explain {bulk.CHECK_BULK.text('koken')}")
    assert "bulk_run_done" in "\n".join(row[0] for row in plan)


@app.workflow
def publish() -> None:
    """Three parts, two of which may fail."""


@publish.step
def left() -> None:
    if "left" in TORN:
        raise OSError("left is torn")


@publish.step
def right() -> None:
    if "right" in TORN:
        raise OSError("right is torn")


@publish.step(after=[left, right], join="none_failed")
def bind() -> str:
    return "bound"


TORN: set[str] = set()


def test_runs_that_have_not_ended_are_cancelled(client: TestClient) -> None:
    fetched = client.start_many(fetch, [{"n": 1}])
    client.drain()
    later = client.start_many(fetch.using(delay="1h"), [{"n": n} for n in range(3)])
    found = client.portal.call(
        "test",
        bulks.preview(client.awaiting.link.views, "job:fetch", workspace="default", verb="cancel"),
    )
    assert (found.ids, dict(found.jobs)) == ([run.id for run in later], {"fetch": 3})
    made = client.cancel_where("job:fetch", rate="100/s", reason="wrong market")
    assert (made.verb, made.total) == ("cancel", 3)
    client.cancel(later[0])
    client.advance("2s")
    ended = client.bulk(made)
    assert (ended.state, ended.done, ended.refused, ended.failed_again) == ("done", 2, 1, 0)
    assert [client.get(run).state for run in (*fetched, *later)] == [
        "succeeded", "cancelled", "cancelled", "cancelled",
    ]  # fmt: skip
    with psycopg.connect(client.database_url) as connection:
        told = connection.execute(
            "select by, reason from koken.event where verb = 'cancel' and run_id = %s",
            [later[2].id],
        ).fetchall()
    assert told == [("anna", "wrong market")]
    refused = client.portal.call("test", bulks.refusals(client.awaiting.link.views, made.id))
    assert refused == {"it has ended before": 1}


def test_of_workflows_that_failed_the_failed_steps_are_skipped(client: TestClient) -> None:
    TORN.update(("left", "right"))
    BROKEN.add(1)
    flow, plain = client.start(publish), client.start(fetch, n=1)
    client.drain()
    TORN.clear()
    assert [client.get(run).state for run in (flow, plain)] == ["failed", "failed"]
    made = client.skip_where("state:failed", rate="100/s", reason="go without")
    assert (made.verb, made.total) == ("skip", 1)
    client.advance("2s")
    assert (client.bulk(made).state, client.bulk(made).done) == ("done", 1)
    assert client.get(flow).state == "succeeded"
    assert client.states(flow) == {"left": "skipped", "right": "skipped", "bind": "succeeded"}
    assert client.get(plain).state == "failed"


def test_what_cannot_be_skipped_is_told(client: TestClient) -> None:
    TORN.add("left")
    flow = client.start(publish)
    client.drain()
    made = client.skip_where("state:failed", rate="100/s", reason="go without")
    TORN.clear()
    client.retry(flow)
    assert client.fast_forward(flow).state == "succeeded"
    client.drain()
    assert (client.bulk(made).done, client.bulk(made).refused) == (0, 1)
    refused = client.portal.call("test", bulks.refusals(client.awaiting.link.views, made.id))
    assert refused == {"it has no step that failed": 1}


def test_a_bulk_wants_a_reason(client: TestClient) -> None:
    for act in (client.cancel_where, client.skip_where):
        with pytest.raises(InvalidArguments, match="of many runs wants a reason"):
            act("job:fetch", reason="")
