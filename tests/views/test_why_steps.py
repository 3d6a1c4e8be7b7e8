"""Why steps, and the runs that are made of them, stand as they do."""

from __future__ import annotations

from typing import Any

import pytest

from koken.store.database import Database
from koken.views import runs
from koken.views.steps import step_id
from koken.views.why import Why, why
from tests.support.house import House
from tests.support.nights import FAILED, at, failed, flow, insert


async def asked(views: Database, run_id: int) -> Why:
    return await why(views, await runs.get(views, run_id, workspace="default"))


async def of_step(views: Database, run_id: int, name: str) -> Why:
    run = await runs.get(views, run_id, workspace="default")
    return await asked(views, await step_id(views, run, name))


def told(found: Why) -> list[tuple[str, str | None, str]]:
    return [(cause.cause, cause.step, cause.text) for cause in found.causes]


async def test_a_failed_night(house: House, views: Database) -> None:
    found = await asked(views, await failed(house))
    assert told(found) == [
        ("ended", None, "it failed"),
        ("step_failed", "crunch", "OSError: [Errno 28] No space left on device"),
        ("needs", "publish", "needs crunch"),
        ("needs", "site", "needs publish"),
        ("needs", "apologise", "needs site"),
    ]
    _, crunch, publish, *_ = found.causes
    assert (crunch.worker, crunch.since) == ("w-7", at(-0.25))
    assert (publish.until, publish.wait_for) == (at(16.5), "gate 30 4 * * *")
    assert publish.to_json() == {
        "cause": "needs", "text": "needs crunch", "step": "publish",
        "until": "2026-03-11T04:30:00+00:00", "wait_for": "gate 30 4 * * *",
    }  # fmt: skip


async def test_a_live_night(house: House, views: Database) -> None:
    """What failed first, then what goes, then what waits for it."""
    standing = FAILED | {
        "files": {"state": "cancelled", "finished_at": at(0)},
        "size": {"state": "running", "started_at": at(-1), "worker": "w-8"},
        "add_up": {"state": "ready"},
        "publish": {"state": "waiting", "wait_cause": "gate", "wake_at": at(16.5)},
        "site": {"state": "blocked"},
    }
    found = await asked(
        views, await flow(house, standing, state="waiting", wait_cause="children", open_children=2)
    )
    assert told(found) == [
        ("children", None, "2 of its runs go: size, add_up and publish"),
        ("step_cancelled", "files", "cancelled"),
        ("step_failed", "crunch", "OSError: [Errno 28] No space left on device"),
        ("running", "size", "runs on w-8"),
        (
            "no_worker",
            "add_up",
            "waits: no live worker serves queue default; start one: koken worker --queue default",
        ),
        ("gate", "publish", "held by its gate 30 4 * * *"),
        ("needs", "site", "needs publish"),
        ("needs", "apologise", "needs site"),
    ]


async def test_a_step_in_line_for_its_lock(house: House, views: Database) -> None:
    standing = FAILED | {"files": {"state": "blocked"}}
    found = await asked(views, await flow(house, standing, state="waiting", wait_cause="children"))
    assert ("lock", "files", "waits for its lock") in told(found)


async def test_a_night_that_is_undone(house: House, views: Database) -> None:
    run_id = await flow(
        house, FAILED, state="waiting", wait_cause="children", wait_for="undo", settle="failed"
    )
    for no, name, state in (
        (1_000_001, "undo publish", "succeeded"),
        (1_000_002, "undo table[3]", "running"),
        (1_000_003, "undo files", "blocked"),
    ):
        rest: dict[str, Any] = {"worker": "w-9"} if state == "running" else {}
        rest |= {"open_needs": 1} if state == "blocked" else {}
        await insert(house, run_id, no, name, state=state, undoes_id=1, **rest)
    found = told(await asked(views, run_id))
    assert found[0] == (
        "compensating",
        None,
        "what its steps did is undone; then it ends as failed",
    )
    assert found[-2:] == [
        ("running", "undo table[3]", "runs on w-9"),
        ("needs", "undo files", "comes after the one before it"),
    ]


async def test_a_step_that_needs_others(house: House, views: Database) -> None:
    live = await flow(house, FAILED, state="waiting", wait_cause="children")
    found = await of_step(views, live, "publish")
    assert told(found) == [("needs", None, "it needs crunch (failed)")]
    assert found.causes[0].until == at(16.5)
    over = await failed(house)
    found = await of_step(views, over, "publish")
    assert told(found) == [("needs", None, f"it needs crunch (failed); nightly {over} has ended")]
    assert found.causes[0].until is None


async def test_many_needs(house: House, views: Database) -> None:
    standing = FAILED | {name: {"state": "ready"} for name in ("crunch", "add_up")}
    run_id = await flow(house, standing, state="waiting", wait_cause="children")
    assert told(await of_step(views, run_id, "publish")) == [
        ("needs", None, "it needs crunch (ready) and add_up (ready)")
    ]


@pytest.mark.parametrize(
    ("row", "cause", "text"),
    [
        ({"wait_cause": "gate", "wake_at": at(16.5)}, "gate", "it is held by its gate 30 4 * * *"),
        ({"wait_cause": "signal", "wait_for": "go"}, "signal", "it awaits the signal go"),
        ({"wait_cause": "signal", "wait_for": "go\nstop"}, "signal",
         "it awaits the signal go or stop"),
        ({"wait_cause": "sleep", "wake_at": at(2)}, "sleep", "it sleeps"),
        ({"wait_cause": "operation", "wait_for": "schedule", "wake_at": at(0.1)}, "operation",
         "operation schedule goes on elsewhere; the next poll comes"),
        ({"wait_cause": "children", "open_children": 1, "made": 1}, "children",
         "1 of its runs goes"),
        ({"wait_cause": "delay", "wake_at": at(2)}, "not_due", "it is not due yet"),
        ({"wait_cause": "retry", "wake_at": at(2), "attempt": 1}, "retry",
         "attempt 1 of 2 failed, the next one comes"),
    ],
)  # fmt: skip
async def test_waits(
    house: House, views: Database, row: dict[str, Any], cause: str, text: str
) -> None:
    standing = FAILED | {"publish": {"state": "waiting", **row}}
    run_id = await flow(house, standing, state="waiting", wait_cause="children")
    found = await of_step(views, run_id, "publish")
    assert told(found) == [(cause, None, text)]
    assert found.causes[0].until == row.get("wake_at")


async def test_a_question(house: House, views: Database) -> None:
    await house.job()
    run_id = (await house.start()).run_id
    await house.rows("update koken.run set state = 'running'")
    await house.rows(
        "update koken.run set state = 'waiting', wait_cause = 'question', wait_for = 'k'"
    )
    await house.rows(
        "insert into koken.question (run_id, key, text, for_whom, schema)"
        " values ($1, 'k', 'Budget of 9 €?', 'lea', '{}')",
        run_id,
    )
    assert told(await asked(views, run_id)) == [("question", None, "it asks lea: Budget of 9 €?")]


async def test_items_that_failed(house: House, views: Database) -> None:
    """A step's own run tells of its items; those that wait for their turn say so."""
    run_id = await flow(house, FAILED, state="waiting", wait_cause="children")
    table = await step_id(views, await runs.get(views, run_id, workspace="default"), "table")
    await house.rows("update koken.run set state = 'blocked' where id = $1", table)
    await house.rows(
        "update koken.run set state = 'waiting', wait_cause = 'children' where id = $1", table
    )
    bad = {"type": "ValueError", "message": "no table"}
    await insert(house, table, 1, "table", state="failed", error=bad, need_rule=None)
    held = await insert(house, table, 2, "table", state="blocked", open_needs=1, need_rule=None)
    found = told(await asked(views, table))
    assert ("step_failed", "table[0]", "ValueError: no table") in found
    assert told(await asked(views, held)) == [
        ("at_once", None, "its turn comes when fewer of those before it go")
    ]


async def test_no_more_than_can_be_read(house: House, views: Database) -> None:
    run_id = await flow(house, FAILED, state="waiting", wait_cause="children")
    await house.rows("update koken.run set state = 'blocked' where step = 'table'")
    await house.rows(
        "update koken.run set state = 'waiting', wait_cause = 'children' where step = 'table'"
    )
    table = await step_id(views, await runs.get(views, run_id, workspace="default"), "table")
    for no in range(1, 101):
        await insert(house, table, no, "table", state="ready", need_rule=None)
    found = told(await asked(views, table))
    assert len(found) == 32
    assert found[-1] == ("more", None, "70 more steps are not done")
