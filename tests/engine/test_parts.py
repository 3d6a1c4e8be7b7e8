"""Runs made of runs, verb by verb: opened, followed, handed over, stopped, pruned."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from koken.engine import control, durable, finish, parts, prune, queues
from koken.engine.claim import NO_ROOM, Claimed, Room
from koken.engine.finish import Ending, Finished
from koken.model.durable import Wanted
from koken.model.states import State, WaitCause
from koken.model.steps import Join, Need, StepSpec
from tests.support.house import House


def step(no: int, name: str, *needs: str, queue: str = "default", **rest: Any) -> StepSpec:
    """A step; a need that ends with an exclamation mark is hard."""
    edges = tuple(Need(each.rstrip("!"), None, each.endswith("!")) for each in needs)
    return StepSpec(name=name, no=no, queue=queue, needs=edges, **rest)


async def opened(house: House, *steps: StepSpec, room: Room = NO_ROOM) -> int:
    """The run of a workflow of these steps, opened."""
    await house.job("flow", steps=steps, parameters={})
    run_id = (await house.start("flow")).run_id
    (run,) = await house.claim()
    found = await parts.open_run(house.db, run.id, run.lease, [], fail_fast=False, room=room)
    assert found.state in (State.WAITING, State.READY)
    return run_id


async def end(
    house: House, run: Claimed, state: State = State.SUCCEEDED, room: Room = NO_ROOM
) -> Finished:
    """End a step."""
    outcome = "succeeded" if state is State.SUCCEEDED else state.value
    ending = Ending(run.id, run.lease, state, outcome, result='"x"', part=True)
    return await finish.finish(house.db, [ending], room)


async def states(house: House, run_id: int) -> dict[str, str]:
    """How the steps stand."""
    rows = await house.rows(
        "select step, state from koken.run where parent_id = $1 order by step_no", run_id
    )
    return {row["step"]: row["state"] for row in rows}


async def counters(house: House, run_id: int) -> tuple[str, int, int]:
    """State, open and bad children of a parent."""
    row = await house.row(run_id)
    return row["state"], row["open_children"], row["bad_children"]


async def test_a_diamond_goes_as_its_needs_end(house: House) -> None:
    run_id = await opened(
        house, step(1, "a"), step(2, "b", "a"), step(3, "c", "a"), step(4, "d", "b", "c")
    )
    assert await states(house, run_id) == {
        "a": "ready",
        "b": "blocked",
        "c": "blocked",
        "d": "blocked",
    }
    assert await counters(house, run_id) == ("waiting", 1, 0)
    (a,) = await house.claim()
    await end(house, a)
    assert await states(house, run_id) == {
        "a": "succeeded",
        "b": "ready",
        "c": "ready",
        "d": "blocked",
    }
    assert await counters(house, run_id) == ("waiting", 2, 0)
    b, c = await house.claim()
    await end(house, b)
    assert (await states(house, run_id))["d"] == "blocked"
    await end(house, c)
    (d,) = await house.claim()
    await end(house, d)
    assert await counters(house, run_id) == ("ready", 0, 0)


async def test_what_comes_after_a_failure_is_not_begun_and_the_parent_wakes(house: House) -> None:
    run_id = await opened(house, step(1, "a"), step(2, "b", "a"), step(3, "c", "b"))
    (a,) = await house.claim()
    await end(house, a, State.FAILED)
    assert await states(house, run_id) == {"a": "failed", "b": "blocked", "c": "blocked"}
    assert await counters(house, run_id) == ("ready", 0, 1)


@pytest.mark.parametrize(
    ("join", "ends", "verdict"),
    [
        (Join.ALL_SUCCEEDED, ("succeeded", "succeeded"), "ready"),
        (Join.ALL_SUCCEEDED, ("succeeded", "failed"), "blocked"),
        (Join.ALL_SUCCEEDED, ("succeeded", "skipped"), "ready"),
        (Join.ALL_DONE, ("failed", "cancelled"), "ready"),
        (Join.ALL_DONE, ("skipped", "failed"), "ready"),
        (Join.ANY_SUCCEEDED, ("failed", "succeeded"), "ready"),
        (Join.ANY_SUCCEEDED, ("failed", "skipped"), "blocked"),
        (Join.ANY_SUCCEEDED, ("skipped", "skipped"), "skipped"),
        (Join.ANY_FAILED, ("succeeded", "failed"), "ready"),
        (Join.ANY_FAILED, ("succeeded", "skipped"), "skipped"),
        (Join.NONE_FAILED, ("succeeded", "skipped"), "ready"),
        (Join.NONE_FAILED, ("cancelled", "succeeded"), "blocked"),
    ],
)
async def test_joins(house: House, join: Join, ends: Sequence[str], verdict: str) -> None:
    run_id = await opened(house, step(1, "a"), step(2, "b"), step(3, "c", "a", "b", join=join))
    a, b = sorted(await house.claim(), key=lambda run: run.id)
    await end(house, a, State(ends[0]))
    await end(house, b, State(ends[1]))
    assert (await states(house, run_id))["c"] == verdict


async def test_a_skip_passes_on_along_hard_edges_only(house: House) -> None:
    run_id = await opened(
        house,
        step(1, "a"),
        step(2, "b", "a!"),
        step(3, "c", "b!"),
        step(4, "d", "c"),
        step(5, "e", "a"),
    )
    (a,) = await house.claim()
    await end(house, a, State.SKIPPED)
    assert await states(house, run_id) == {
        "a": "skipped", "b": "skipped", "c": "skipped", "d": "ready", "e": "ready"
    }  # fmt: skip
    row = await house.value(
        "select error ->> 'message' from koken.run where parent_id = $1 and step = 'b'", run_id
    )
    assert row == "step a, whose result it wants, was skipped"
    assert await counters(house, run_id) == ("waiting", 2, 0)


async def test_what_becomes_ready_goes_on_with_the_worker_that_has_room(house: House) -> None:
    await house.hire()
    queue = await house.value("select koken.queue_id('default')")
    await house.value("select koken.queue_id('slow')")
    await queues.set_limits(house.db, "slow", limit=1, by="test", reason=None)
    run_id = await opened(
        house,
        step(1, "a"), step(2, "b", "a!"), step(3, "c", "a"), step(4, "d", "a", queue="slow"),
    )  # fmt: skip
    (a,) = await house.claim()
    slow = await house.value("select koken.queue_id('slow')")
    done = await end(house, a, room=Room(house.worker, [queue, slow], 1))
    (taken,) = done.taken
    assert (taken.step, taken.lease, taken.attempt, taken.is_step) == ("b", 1, 1, True)
    assert await states(house, run_id) == {
        "a": "succeeded", "b": "running", "c": "ready", "d": "ready"
    }  # fmt: skip
    assert done.ready_queues == {queue, slow}


async def test_a_worker_that_is_lost_is_handed_nothing(house: House) -> None:
    await house.hire()
    queue = await house.value("select koken.queue_id('default')")
    run_id = await opened(house, step(1, "a"), step(2, "b", "a"))
    (a,) = await house.claim()
    await house.rows("update koken.worker set lost_at = koken.now()")
    done = await end(house, a, room=Room(house.worker, [queue], 9))
    assert done.taken == []
    assert (await states(house, run_id))["b"] == "ready"


async def test_an_ending_that_is_delivered_twice_counts_followers_down_once(house: House) -> None:
    run_id = await opened(house, step(1, "a"), step(2, "b"), step(3, "c", "a", "b"))
    a, _ = sorted(await house.claim(), key=lambda run: run.id)
    await end(house, a)
    again = await end(house, a)
    assert again.delivered_before == {a.id}
    assert (
        await house.value(
            "select open_needs from koken.run where parent_id = $1 and step = 'c'", run_id
        )
        == 1
    )


async def test_two_that_end_at_once_free_their_follower_once(house: House) -> None:
    """I6, 30 rounds: whoever comes second counts on what the first has left."""
    names = [f"s{n}" for n in range(8)]
    await house.job(
        "flow",
        parameters={},
        steps=(*(step(n, name) for n, name in enumerate(names, 1)), step(9, "last", *names)),
    )
    for _ in range(30):
        run_id = (await house.start("flow")).run_id
        (run,) = await house.claim()
        await parts.open_run(house.db, run.id, run.lease, [], fail_fast=False, room=NO_ROOM)
        await asyncio.gather(*(end(house, each) for each in await house.claim()))
        (last,) = await house.claim()
        assert last.step == "last"
        await end(house, last)
        assert await counters(house, run_id) == ("ready", 0, 0)
        (run,) = await house.claim()
        await end(house, run)


def wanted(name: str) -> Wanted:
    return Wanted(key=f"child:{name}", step=None, spent=0, job="report", args={})


async def test_a_run_with_open_children_is_parked_and_ends_with_them(house: House) -> None:
    """I5."""
    await house.job()
    await house.start()
    (parent,) = await house.claim()
    await durable.child(house.db, parent.id, parent.lease, wanted("k"))
    done = await end(house, parent)
    assert done.moved == {parent.id: State.WAITING}
    row = await house.row(parent.id)
    assert (row["settle"], row["result"], row["finished_at"]) == ("succeeded", '"x"', None)
    (child,) = await house.claim()
    await end(house, child)
    assert await counters(house, parent.id) == ("ready", 0, 0)


async def test_a_child_is_started_once_and_not_by_a_run_that_is_to_end(house: House) -> None:
    await house.job()
    await house.start()
    (parent,) = await house.claim()
    for _ in range(2):
        await durable.child(house.db, parent.id, parent.lease, wanted("k"))
    assert (await house.row(parent.id))["made"] == 1
    await control.cancel(house.db, parent.id, by="mira", reason=None)
    with pytest.raises(Exception, match=f"run {parent.id} starts no more children"):
        await durable.child(house.db, parent.id, parent.lease, wanted("other"))


async def test_cancel_ends_what_is_not_begun_and_asks_what_runs(house: House) -> None:
    run_id = await opened(house, step(1, "a"), step(2, "b"), step(3, "c", "a"))
    (a,) = await house.claim(1)
    cancelled = await control.cancel(house.db, run_id, by="mira", reason="wrong")
    assert cancelled.verdict == "asked"
    assert await states(house, run_id) == {"a": "running", "b": "cancelled", "c": "cancelled"}
    row = await house.row(a.id)
    assert row["cancel_requested_at"] is not None
    await end(house, a)  # it had done its work before it heard of it
    assert await states(house, run_id) == {"a": "succeeded", "b": "cancelled", "c": "cancelled"}
    parent = await house.row(run_id)
    assert (parent["state"], parent["settle"], parent["open_children"]) == ("ready", "cancelled", 0)


async def test_a_cancel_that_was_broken_off_is_gone_on_with(house: House) -> None:
    run_id = await opened(house, step(1, "a"), step(2, "b", "a"))
    await house.rows("select koken.cancel_run($1, 'mira', 'wrong')", run_id)
    assert await states(house, run_id) == {"a": "ready", "b": "blocked"}
    await parts.stop_rest(house.db)
    assert await states(house, run_id) == {"a": "cancelled", "b": "cancelled"}


async def test_followers_of_a_run_that_is_to_end_are_not_released(house: House) -> None:
    run_id = await opened(house, step(1, "a"), step(2, "b", "a"))
    (a,) = await house.claim()
    await house.rows("select koken.cancel_run($1, 'mira', 'wrong')", run_id)
    await end(house, a)
    assert (await states(house, run_id))["b"] == "blocked"


async def test_a_tree_is_pruned_as_a_whole(house: House) -> None:
    run_id = await opened(house, step(1, "a"), step(2, "b", "a"))
    (a,) = await house.claim()
    await end(house, a, State.FAILED)
    (run,) = await house.claim()
    await end(house, run, State.FAILED)
    await house.start("flow")  # the last one stays
    await house.pass_time(days=10)
    keep = dict.fromkeys(("succeeded", "failed", "skipped", "cancelled"), 86400.0)
    assert (await prune.prune(house.db, keep)).runs == 1
    assert (
        await house.value("select count(*) from koken.run where id = $1 or parent_id = $1", run_id)
        == 0
    )


@pytest.mark.parametrize("size", [100, 5000])
async def test_a_step_costs_the_same_in_a_large_graph(house: House, size: int) -> None:
    """Rows of runs that the end of one step reads, with statistics that know nothing of them."""
    await house.hire()
    chain = [step(1, "s1"), *(step(n, f"s{n}", f"s{n - 1}") for n in range(2, size + 1))]
    await opened(house, *chain)
    queue = await house.value("select koken.queue_id('default')")
    (run,) = await house.claim()
    for _ in range(7):  # past the point at which a session makes generic plans
        (run,) = (await end(house, run, room=Room(house.worker, [queue], 9))).taken
    before = await read(house)
    (run,) = (await end(house, run, room=Room(house.worker, [queue], 9))).taken
    assert await read(house) - before <= 40


async def read(house: House) -> int:
    """Rows of runs that all sessions have read so far."""
    async with house.db.session() as session:
        await session.execute("select pg_stat_force_next_flush(); select pg_stat_clear_snapshot()")
    return int(
        await house.value(
            "select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)"
            " from pg_stat_user_tables where relname = 'run'"
        )
    )


async def test_a_body_whose_children_were_counted_up_while_it_ran_looks_again(house: House) -> None:
    """It parks on a count that a repair has changed since: what it waits for may have ended."""
    await house.job()
    await house.start()
    (parent,) = await house.claim()
    for key in ("old", "awaited"):
        await durable.child(house.db, parent.id, parent.lease, wanted(key))
    await house.rows("select koken.count_open($1)", parent.id)  # a repair, for a third one
    parking = Ending(
        parent.id,
        parent.lease,
        State.WAITING,
        "parked",
        "nothing",
        wait_cause=WaitCause.CHILDREN,
        delay=None,
        wake_below=1,
        part=True,
    )
    done = await finish.finish(house.db, [parking])
    assert done.moved == {parent.id: State.READY}
    row = await house.row(parent.id)
    assert (row["open_children"], row["wake_below"]) == (3, 0)
