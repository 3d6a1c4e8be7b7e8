"""Keys, rules and locks where they meet: repeats, retries, shared holders, callers that dawdle."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import asyncpg
import pytest

from koken.engine import publish, queues, register
from koken.engine.claim import from_bottom, limited, shared_out
from koken.engine.finish import Ending, finish
from koken.engine.fire import fire
from koken.engine.grant import sweep
from koken.engine.wake import expire
from koken.errors import InvalidArguments, KokenError, Locked, Overlapping
from koken.model.job import JobSpec
from koken.model.policy import Lock, Overlap
from koken.model.schedule import Schedule
from koken.model.states import State
from koken.views import runs
from tests.support.house import ARGUMENTS, House


async def test_a_repeated_start_under_replace_finds_its_run_and_leaves_it_alone(
    house: House,
) -> None:
    await house.job(overlap=Overlap.REPLACE)
    first = await house.start(n=1, idempotency_key="k")
    again = await house.start(n=1, idempotency_key="k")
    assert (again.run_id, again.verdict) == (first.run_id, "existing")
    assert await house.state(first.run_id) == "ready"


async def test_the_newest_of_many_replacing_starts_survives(house: House) -> None:
    await house.job(overlap=Overlap.REPLACE)
    runs = await asyncio.gather(*(house.start(n=n) for n in range(8)))
    states = {run.run_id: await house.state(run.run_id) for run in runs}
    newest = max(states)
    assert states.pop(newest) in ("ready", "blocked")
    assert set(states.values()) == {"cancelled"}


async def test_who_replaced_a_run_is_on_record(house: House) -> None:
    await house.job(overlap=Overlap.REPLACE)
    first = await house.start()
    await house.start(by="mira")
    (event,) = await house.rows("select verb, by, reason, run_id from koken.event")
    assert event == {
        "verb": "cancel",
        "by": "mira",
        "reason": "replaced by a newer start",
        "run_id": first.run_id,
    }


async def test_two_skipped_starts_with_one_key_are_one_run(house: House) -> None:
    await house.job(overlap=Overlap.SKIP_IF_RUNNING)
    await house.start()
    skipped = await asyncio.gather(*(house.start(idempotency_key="k") for _ in range(5)))
    assert len({each.run_id for each in skipped}) == 1
    assert sorted(each.verdict for each in skipped) == ["existing"] * 4 + ["skipped"]


async def test_a_new_default_does_not_turn_a_repeat_into_a_conflict(house: House) -> None:
    await house.job()
    first = await house.start(n=1, idempotency_key="k")
    await house.job(defaults={"who": "everybody"})
    assert (await house.start(n=1, idempotency_key="k")).run_id == first.run_id


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        ("ALWAYS_RUN", ["started", "started"]),
        ("SKIP_IF_RUNNING", ["started", "skipped"]),
    ],
)
async def test_rules_have_their_other_names_in_sql_as_well(
    house: House, name: str, verdicts: list[str]
) -> None:
    await house.job(overlap=Overlap.QUEUE_ALL)
    enqueue = f"select koken.enqueue('report', '{{}}', overlap => '{name}')"
    runs = [await house.value(enqueue) for _ in range(2)]
    states = [await house.state(run) for run in runs]
    assert states == ["ready" if each == "started" else "skipped" for each in verdicts]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("overlap => 'nonsense'", "there is no overlap rule nonsense"),
        ("trigger_kind => 'banana'", "trigger_kind"),
        ("workspace => null", "workspace"),
    ],
)
async def test_what_sql_callers_may_get_wrong_is_refused(
    house: House, argument: str, message: str
) -> None:
    await house.job()
    with pytest.raises(KokenError, match=message):
        await house.value(f"select koken.enqueue('report', '{{}}', {argument})")
    assert await house.value("select count(*) from koken.run") == 0


async def test_many_starts_are_checked_by_name(house: House) -> None:
    await house.job(parameters={"properties": {"n": {}}, "required": ["n"]})
    for args, message in (("{}", "report wants n"), ('{"n": 1, "z": 2}', "has no argument z")):
        with pytest.raises(InvalidArguments, match=message):
            await house.rows(
                "select koken.start_many('report', $1, 'default', null, null, null, null, null,"
                " 'api', null)",
                ['{"n": 1}', args],
            )
    assert await house.value("select count(*) from koken.run") == 0


async def test_a_rule_of_one_start_sees_runs_that_have_none(house: House) -> None:
    await house.job()
    first = await house.start()
    second = await house.start(overlap=Overlap.SKIP_IF_RUNNING)
    assert second.verdict == "skipped"
    assert f"run {first.run_id} is waiting to start" in (await house.row(second.run_id))["error"]


async def test_a_retried_run_keeps_the_rule_of_its_start(house: House) -> None:
    await house.job()
    runs = [(await house.start(overlap=Overlap.QUEUE_ALL)).run_id for _ in range(2)]
    (first,) = await house.claim()
    await house.finish(first, State.FAILED)
    (second,) = await house.claim()
    await house.retry(runs[0], by="mira", reason=None)
    assert await house.state(runs[0]) == "blocked"
    await house.finish(second)
    assert await house.state(runs[0]) == "ready"


async def test_a_skipped_run_cannot_be_retried_beside_the_one_that_goes(house: House) -> None:
    await house.job(overlap=Overlap.SKIP_IF_RUNNING)
    first = await house.start()
    skipped = await house.start()
    with pytest.raises(Overlapping, match=f"run {first.run_id} holds its overlap key"):
        await house.retry(skipped.run_id, by="mira", reason=None)
    (run,) = await house.claim()
    await house.finish(run)
    await house.retry(skipped.run_id, by="mira", reason=None)
    assert (await house.start()).verdict == "skipped"


async def test_a_stale_success_closes_no_failure(house: House) -> None:
    await house.job(overlap=Overlap.SKIP_IF_FAILED)
    failed = await house.start()
    (run,) = await house.claim()
    await house.finish(run, State.FAILED)
    override = await house.start(overlap=Overlap.ALLOW)
    (run,) = await house.claim()
    stale = Ending(run.id, run.lease + 1, State.SUCCEEDED, closes_failures=True)
    assert (await finish(house.db, [stale])).moved == {}
    assert (await house.row(failed.run_id))["acknowledged_at"] is None
    assert (await house.start()).verdict == "skipped"
    assert await house.state(override.run_id) == "running"


async def test_shared_goes_with_shared_also_for_those_that_refuse(house: House) -> None:
    await house.job("reads", lock=Lock("k", mode="shared", when_held="refuse"))
    await house.job("writes", lock=Lock("k", limit=2, when_held="refuse"))
    for _ in range(2):
        assert await house.state((await house.start("reads")).run_id) == "ready"
    with pytest.raises(Locked):
        await house.start("writes")


async def test_a_users_lock_is_not_that_of_a_rule(house: House) -> None:
    await house.job("queues", overlap=Overlap.QUEUE_ALL)
    await house.start("queues")
    await house.job("other", lock=Lock("overlap", limit=5))
    await house.job("another", lock=Lock("queues", limit=5))
    await house.start("another")
    limits = await house.rows(
        "select kind, key, max_holders from koken.lock order by kind desc, key"
    )
    assert limits == [
        {"kind": "overlap", "key": "queues", "max_holders": 1},
        {"kind": "lock", "key": "queues", "max_holders": 5},
    ]


@pytest.mark.parametrize(
    ("template", "args", "key"),
    [
        ("k:{n}:{who}", {"n": 1, "who": "{n}"}, "k:1:{n}"),
        ("{{{n}}}", {"n": 1}, "{1}"),
        ("day {logical_time}", {}, "day 2026-03-10T12:00:00Z"),
        ("{workspace}/{who}", {"who": None}, "default/null"),
        ("plain", {}, "plain"),
    ],
)
async def test_keys_are_filled_in_one_pass(
    house: House, template: str, args: dict[str, object], key: str
) -> None:
    await house.job(lock=Lock(template))
    await house.start(**args)
    assert await house.value("select key from koken.lock") == key


async def test_a_claim_over_many_lanes_takes_no_more_than_its_room(house: House) -> None:
    await house.job()
    for number in range(40):
        await house.start(workspace=f"w{number}")
    assert len(await house.claim(2)) == 2
    ids = await register.queue_ids(house.db, {"default": 1})
    assert len(await from_bottom(house.db, house.worker, {ids["default"]: 7})) == 7
    assert await house.value("select count(*) from koken.run where state = 'running'") == 9


def test_known_lanes_share_the_room_and_no_more() -> None:
    lanes = [(1, 1), (1, 2), (1, 3), (2, 1)]
    assert shared_out(lanes, {1: 4, 2: 5}) == {(1, 1): 2, (1, 2): 1, (1, 3): 1, (2, 1): 5}


async def test_two_versions_published_at_once_get_two_numbers(house: House) -> None:
    specs = [JobSpec(name="report", priority=n, parameters=ARGUMENTS) for n in range(6)]
    await asyncio.gather(
        *(publish.publish(house.db, "test", [spec], by="x", whole=True) for spec in specs)
    )
    rows = await house.rows("select number from koken.job_version order by number")
    assert [row["number"] for row in rows] == [1, 2, 3, 4, 5, 6]


async def test_a_retried_run_has_its_time_in_the_queue_again(house: House) -> None:
    await house.job(start_timeout=60.0)
    run_id = (await house.start()).run_id
    (run,) = await house.claim()
    await house.pass_time(minutes=5)
    assert await expire(house.db) == 0
    await house.finish(run, State.FAILED)
    await house.retry(run_id, by="mira", reason=None)
    await house.pass_time(seconds=59)
    assert await expire(house.db) == 0
    await house.pass_time(seconds=2)
    assert await expire(house.db) == 1


async def due(house: House, *names: str) -> None:
    """Jobs with a schedule of their own, all due now."""
    for name in names:
        schedule = Schedule("* * * * *")
        await house.job(name, schedules=(schedule,), overlap=Overlap.SKIP_IF_RUNNING)
    await house.pass_time(minutes=1)


async def test_one_callers_open_transaction_holds_up_one_schedule(house: House) -> None:
    """The others fire, and the one comes as soon as the transaction is over, with its own tick."""
    await due(house, "a", "b", "c")
    caller = await asyncpg.connect(house.db.url)
    transaction = caller.transaction()
    await transaction.start()
    await caller.fetchval("select koken.enqueue('b')")
    await fire(house.db)
    ticks = (
        "select j.name, t.verdict from koken.tick t join koken.schedule s on s.id = t.schedule_id"
        " join koken.job j on j.id = s.job_id order by j.name, t.due_at"
    )
    assert [tuple(row.values()) for row in await house.rows(ticks)] == [
        ("a", "started"),
        ("c", "started"),
    ]
    await transaction.rollback()
    await caller.close()
    await house.pass_time(seconds=2)
    await fire(house.db)
    assert ("b", "started") in [tuple(row.values()) for row in await house.rows(ticks)]
    logical = await house.value(
        "select r.logical_at from koken.run r join koken.job j on j.id = r.job_id"
        " where j.name = 'b'"
    )
    assert logical == house.now - timedelta(seconds=2)


async def test_many_schedules_with_much_to_make_up_for_go_in_several_transactions(
    house: House,
) -> None:
    schedules = tuple(Schedule("* * * * *", name=f"s{n}", catchup="all") for n in range(12))
    await house.job(schedules=schedules, overlap=Overlap.ALLOW)
    await house.pass_time(hours=1, minutes=40)
    await fire(house.db)
    assert await house.value("select count(*) from koken.tick where verdict = 'started'") == 1200


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("run_at => '20000-01-01'", "at most 100 years ahead"),
        ("delay => '10000 years'", "at most 100 years ahead"),
        ("logical_time => '20000-01-01'", "years 1000 to 9000"),
        ("logical_time => '0044-03-15 BC'", "years 1000 to 9000"),
    ],
)
async def test_instants_that_nobody_can_read_are_refused(
    house: House, argument: str, message: str
) -> None:
    """One such row would stop every worker that claims it."""
    await house.job()
    with pytest.raises(InvalidArguments, match=message):
        await house.value(f"select koken.enqueue('report', '{{}}', {argument})")
    assert await house.value("select count(*) from koken.run") == 0


async def test_a_key_is_of_a_reasonable_length(house: House) -> None:
    await house.job(lock=Lock("k:{who}"))
    with pytest.raises(InvalidArguments, match="it may have 500"):
        await house.start(who="x" * 20_000)


async def test_arguments_that_python_cannot_read_break_no_list(house: House) -> None:
    await house.job(parameters={})
    await house.value(f"select koken.enqueue('report', '{{\"n\": 1{'0' * 5000}}}')")
    (run,) = await runs.find(house.db, "", workspace="default")
    assert run.args["?"].startswith('{"n": 1000')


async def test_replace_in_an_open_transaction_holds_up_no_finish(house: House) -> None:
    """The running one is asked to stop once the caller has committed."""
    await house.job(overlap=Overlap.REPLACE)
    await house.start()
    (running,) = await house.claim()
    caller = await asyncpg.connect(house.db.url)
    async with caller.transaction():
        newest = await caller.fetchval("select koken.enqueue('report')")
        assert (await house.row(running.id))["cancel_requested_at"] is None
        await asyncio.wait_for(house.finish(running, State.READY, outcome="returned"), 5)
        (running,) = await house.claim()
    await caller.close()
    await sweep(house.db)
    assert (await house.row(running.id))["cancel_requested_at"] == house.now
    await house.finish(running, State.CANCELLED)
    assert await house.state(newest) == "ready"


async def test_a_new_rate_counts_from_now(house: House) -> None:
    await house.job(queue="g")
    await house.start_many(5)
    worker = await house.hire(g=10)
    ids = await register.queue_ids(house.db, {"g": 1})
    await queues.set_limits(house.db, "g", rate=1 / 3600, by="mira", reason=None)
    assert (await limited(house.db, worker, ids["g"], 10))[0] == 1
    assert (await limited(house.db, worker, ids["g"], 10))[0] == 0
    await queues.set_limits(house.db, "g", rate=100.0, burst=3, by="mira", reason=None)
    assert (await limited(house.db, worker, ids["g"], 10))[0] == 3
