"""Starts: born as they should be, once per key, and as their overlap rule says."""

from __future__ import annotations

from datetime import timedelta

import pytest

from koken.engine import control
from koken.engine.grant import sweep
from koken.errors import InvalidArguments, KeyConflict, Locked, NotFound, Overlapping
from koken.model.policy import Lock, Overlap
from koken.model.states import State, WaitCause
from tests.support.house import NOON, House


async def test_a_start_is_ready_at_once_with_what_it_was_given(house: House) -> None:
    await house.job(priority=3, max_attempts=5, queue="reports")
    started = await house.start(n=7, who="anna", by="mira")
    row = await house.row(started.run_id)
    assert started.verdict == "started"
    assert (row["state"], row["attempt"], row["lease"], row["max_attempts"]) == ("ready", 0, 0, 5)
    assert row["args"] == '{"n": 7, "who": "anna"}'
    assert (row["trigger_kind"], row["trigger_by"]) == ("user", "mira")
    assert row["rank"] == NOON + timedelta(seconds=180)
    assert row["logical_at"] == row["created_at"] == NOON


async def test_a_later_start_waits_until_then(house: House) -> None:
    await house.job()
    delayed = await house.start(delay=600.0)
    at = await house.start(run_at=NOON + timedelta(hours=1))
    row = await house.row(delayed.run_id)
    assert (row["state"], row["wait_cause"], row["wake_at"]) == (
        "waiting",
        "delay",
        NOON + timedelta(minutes=10),
    )
    assert (await house.row(at.run_id))["wake_at"] == NOON + timedelta(hours=1)


async def test_an_instant_in_the_past_is_now(house: House) -> None:
    await house.job()
    started = await house.start(run_at=NOON - timedelta(days=1))
    assert await house.state(started.run_id) == "ready"


async def test_large_arguments_stand_apart_and_are_claimed_whole(house: House) -> None:
    await house.job()
    started = await house.start(who="x" * 100_000)
    assert (await house.row(started.run_id))["args"] is None
    (run,) = await house.claim()
    assert run.args == '{"who": "' + "x" * 100_000 + '"}'


async def test_defaults_fill_what_a_start_leaves_out(house: House) -> None:
    await house.job(defaults={"who": "everybody"})
    assert (await house.row((await house.start(n=1)).run_id))["args"] == (
        '{"n": 1, "who": "everybody"}'
    )


async def test_unknown_jobs_and_arguments_are_refused_with_their_name(house: House) -> None:
    await house.job(parameters={"properties": {"n": {}}, "required": ["n"]})
    with pytest.raises(NotFound, match="there is no job nothing"):
        await house.start("nothing")
    with pytest.raises(InvalidArguments, match=r"report wants n\. Nothing was started"):
        await house.start()
    with pytest.raises(InvalidArguments, match="report has no argument who") as caught:
        await house.start(n=1, who="x")
    assert caught.value.problems == {"who": "report has no argument who"}
    assert await house.value("select count(*) from koken.run") == 0


async def test_one_run_for_one_idempotency_key(house: House) -> None:
    await house.job()
    await house.job("other")
    first = await house.start(n=1, idempotency_key="k")
    again = await house.start(n=1, idempotency_key="k")
    assert (again.run_id, again.verdict) == (first.run_id, "existing")
    with pytest.raises(KeyConflict, match=f"run {first.run_id}, whose arguments differ in n, who"):
        await house.start(n=2, who="x", idempotency_key="k")
    with pytest.raises(KeyConflict, match="whose arguments differ in the job, report"):
        await house.start("other", n=1, idempotency_key="k")
    elsewhere = await house.start(n=2, idempotency_key="k", workspace="acme")
    assert elsewhere.verdict == "started"


async def test_a_run_keeps_its_key_after_its_end(house: House) -> None:
    await house.job()
    first = await house.start(n=1, idempotency_key="k")
    (run,) = await house.claim()
    await house.finish(run)
    assert (await house.start(n=1, idempotency_key="k")).run_id == first.run_id


async def test_skip_if_running_leaves_a_skipped_run_that_names_the_blocker(house: House) -> None:
    await house.job(overlap=Overlap.SKIP_IF_RUNNING)
    first = await house.start()
    second = await house.start(by="mira")
    row = await house.row(second.run_id)
    assert (second.verdict, row["state"]) == ("skipped", "skipped")
    assert row["error"] == (
        f'{{"type": "Skip", "blocker": "{first.run_id}", '
        f'"message": "run {first.run_id} is waiting to start (skip_if_running)"}}'
    )
    (run,) = await house.claim()
    await house.finish(run)
    assert (await house.start()).verdict == "started"


async def test_the_rule_holds_by_key(house: House) -> None:
    await house.job(overlap=Overlap.SKIP_IF_RUNNING, overlap_key="{n}")
    assert (await house.start(n=1)).verdict == "started"
    assert (await house.start(n=2)).verdict == "started"
    assert (await house.start(n=1)).verdict == "skipped"
    assert (await house.start(n=1, workspace="acme")).verdict == "started"


async def test_refuse_raises_and_starts_nothing(house: House) -> None:
    await house.job(overlap=Overlap.REFUSE)
    first = await house.start()
    with pytest.raises(Overlapping, match=f"run {first.run_id} is waiting to start") as caught:
        await house.start()
    assert (caught.value.held_by, caught.value.since) == (first.run_id, NOON)
    assert await house.value("select count(*) from koken.run") == 1


P = ["succeeded", "running", "failed", "cancelled"]


@pytest.mark.parametrize(
    ("rule", "verdicts"),
    [
        ("allow", ["started", "started", "started", "started"]),
        ("skip_if_running", ["started", "skipped", "started", "started"]),
        ("skip_if_failed", ["started", "started", "skipped", "skipped"]),
        ("skip_if_running_or_failed", ["started", "skipped", "skipped", "skipped"]),
    ],
)
@pytest.mark.parametrize("before", P)
async def test_policies_by_the_last_state(
    house: House, rule: str, verdicts: list[str], before: str
) -> None:
    """P-01 to P-04: what the job's last run was decides, and a skip does not change it (P-06)."""
    await house.job(overlap=Overlap(rule))
    await house.start()
    (run,) = await house.claim()
    if before != "running":
        await house.finish(run, State(before))
    expected = verdicts[P.index(before)]
    assert (await house.start()).verdict == expected
    if expected == "skipped":
        assert (await house.start()).verdict == "skipped"


async def test_an_acknowledged_failure_opens_skip_if_failed(house: House) -> None:
    await house.job(overlap=Overlap.SKIP_IF_FAILED)
    failed = await house.start()
    (run,) = await house.claim()
    await house.finish(run, State.FAILED)
    assert (await house.start()).verdict == "skipped"
    await control.acknowledge(house.db, failed.run_id, by="mira", reason="known")
    assert (await house.start()).verdict == "started"
    row = await house.row(failed.run_id)
    assert (row["state"], row["acknowledged_by"]) == ("failed", "mira")


async def test_a_success_closes_the_failures_before_it(house: House) -> None:
    await house.job(overlap=Overlap.SKIP_IF_FAILED)
    await house.start()
    (run,) = await house.claim()
    await house.finish(run, State.FAILED)
    override = await house.start(overlap=Overlap.ALLOW)
    (run,) = await house.claim()
    await house.finish(run, closes_failures=True)
    assert override.verdict == "started"
    assert (await house.start()).verdict == "started"


async def test_ticks_of_a_plain_job_see_a_run_that_a_person_started(house: House) -> None:
    """bug-020: the key is taken by a start that the rule does not concern."""
    await house.job(overlap=Overlap.SKIP_IF_RUNNING)
    await house.start(overlap=Overlap.ALLOW)
    assert (await house.start()).verdict == "skipped"


async def test_queue_one_keeps_one_waiting(house: House) -> None:
    await house.job(overlap=Overlap.QUEUE_ONE)
    await house.start()
    (run,) = await house.claim()
    second, third = await house.start(), await house.start()
    assert [await house.state(each.run_id) for each in (second, third)] == ["blocked", "skipped"]
    await house.finish(run)
    assert await house.state(second.run_id) == "ready"


async def test_queue_all_goes_one_at_a_time_oldest_first(house: House) -> None:
    """bug-109."""
    await house.job(overlap=Overlap.QUEUE_ALL)
    runs = [(await house.start(n=n)).run_id for n in range(5)]
    done = []
    while claimed := await house.claim():
        (run,) = claimed
        done.append(run.id)
        await house.finish(run)
    assert done == runs


async def test_replace_asks_the_running_one_and_ends_the_waiting_one(house: House) -> None:
    await house.job(overlap=Overlap.REPLACE)
    await house.start()
    (running,) = await house.claim()
    waiting = await house.start()
    newest = await house.start()
    assert (await house.row(running.id))["cancel_requested_at"] == NOON
    assert await house.state(waiting.run_id) == "cancelled"
    assert await house.state(newest.run_id) == "blocked"
    await house.finish(running, State.CANCELLED)
    assert await house.state(newest.run_id) == "ready"


async def test_a_lock_with_a_limit_lets_so_many_go_and_is_fair(house: House) -> None:
    await house.job(lock=Lock("customer:{who}", limit=2))
    runs = [(await house.start(who="a")).run_id for _ in range(4)]
    other = await house.start(who="b")
    states = [await house.state(run) for run in runs]
    assert states == ["ready", "ready", "blocked", "blocked"]
    assert await house.state(other.run_id) == "ready"
    first = (await house.claim(1))[0]
    await house.finish(first)
    assert [await house.state(run) for run in runs[1:]] == ["ready", "ready", "blocked"]


async def test_a_run_keeps_its_lock_while_it_waits_for_a_retry(house: House) -> None:
    await house.job(lock=Lock("k"), max_attempts=3)
    await house.start()
    other = await house.start()
    (run,) = await house.claim()
    await house.finish(run, State.WAITING, wait_cause=WaitCause.RETRY, delay=60.0)
    await sweep(house.db)
    assert await house.state(other.run_id) == "blocked"


async def test_when_held_skip_and_refuse(house: House) -> None:
    await house.job("skips", lock=Lock("k", when_held="skip"))
    await house.job("refuses", lock=Lock("k", when_held="refuse"))
    holder = await house.start("skips")
    skipped = await house.start("skips")
    row = await house.row(skipped.run_id)
    assert row["state"] == "skipped"
    assert row["error"] == (
        f'{{"type": "Skip", "blocker": "{holder.run_id}", '
        f'"message": "lock k is held by run {holder.run_id}"}}'
    )
    with pytest.raises(Locked, match=f"lock k is held by run {holder.run_id}") as caught:
        await house.start("refuses")
    assert caught.value.held_by == holder.run_id


async def test_shared_holders_keep_an_exclusive_one_out_and_it_stops_later_ones(
    house: House,
) -> None:
    await house.job("reads", lock=Lock("k", mode="shared"))
    await house.job("writes", lock=Lock("k"))
    readers = [await house.start("reads") for _ in range(2)]
    writer = await house.start("writes")
    late = await house.start("reads")
    states = [await house.state(each.run_id) for each in (*readers, writer, late)]
    assert states == ["ready", "ready", "blocked", "blocked"]
    for run in await house.claim():
        await house.finish(run)
    assert await house.state(writer.run_id) == "ready"
    assert await house.state(late.run_id) == "blocked"


async def test_a_delayed_run_stands_in_line_only_from_its_time_on(house: House) -> None:
    await house.job(lock=Lock("k"))
    later = await house.start(delay=3600.0)
    now = await house.start()
    assert [await house.state(each.run_id) for each in (later, now)] == ["blocked", "ready"]
    (run,) = await house.claim()
    await house.finish(run)
    assert await house.state(later.run_id) == "blocked"
    await house.pass_time(hours=1)
    await sweep(house.db)
    assert await house.state(later.run_id) == "ready"


async def test_many_starts_come_in_the_order_of_their_rows(house: House) -> None:
    await house.job()
    ids = await house.start_many(2500)
    assert len(ids) == 2500
    assert ids == sorted(ids)
    rows = await house.rows("select id, args from koken.run order by id")
    assert [(row["id"], row["args"]) for row in rows] == [
        (run_id, f'{{"n": {n}}}') for n, run_id in enumerate(ids)
    ]


async def test_many_starts_under_a_rule_decide_one_by_one(house: House) -> None:
    await house.job(overlap=Overlap.QUEUE_ONE)
    await house.start_many(4)
    rows = await house.rows("select state from koken.run order by id")
    assert [row["state"] for row in rows] == ["blocked", "skipped", "skipped", "skipped"]
    await sweep(house.db)
    assert await house.value("select state from koken.run order by id limit 1") == "ready"


async def test_enqueue_is_one_call_for_every_language(house: House) -> None:
    await house.job()
    run = await house.value(
        "select koken.enqueue('report', '{\"n\": 7}', run_at => koken.now() + interval '10 min',"
        " idempotency_key => 'k')"
    )
    row = await house.row(run)
    assert (row["state"], row["args"], row["trigger_kind"], row["trigger_by"]) == (
        "waiting",
        '{"n": 7}',
        "api",
        "postgres",
    )
