"""The steps of a run as rows and as numbers."""

from __future__ import annotations

from typing import Any

import pytest

from koken.errors import NotFound
from koken.model.run import Run
from koken.store.database import Database
from koken.views import runs
from koken.views.results import items
from koken.views.steprows import StepRow
from koken.views.steps import step_id, steps, undone
from tests.support.house import House
from tests.support.nights import FAILED, at, failed, flow, insert


async def read(views: Database, run_id: int) -> Run[Any]:
    return await runs.get(views, run_id, workspace="default")


async def rows(views: Database, run_id: int) -> dict[str, StepRow]:
    found = await steps(views, await read(views, run_id))
    return {row.name: row for row in found}


async def test_a_failed_night(house: House, views: Database) -> None:
    found = await rows(views, await failed(house))
    assert {name: row.code for name, row in found.items()} == {
        "files": 4, "table": 4, "size": 4, "crunch": -1, "add_up": 3, "publish": 0, "site": 0,
        "apologise": 0,
    }  # fmt: skip
    assert [(row.mark.glyph, row.mark.word) for row in found.values()] == [
        ("✓", "succeeded"), ("✓", "succeeded"), ("✓", "succeeded"), ("✗", "failed"),
        ("–", "skipped"), ("·", "not begun"), ("·", "not begun"), ("·", "not begun"),
    ]  # fmt: skip
    assert found["files"].result == "214 files"
    assert found["size"].result == '"big"'
    assert found["table"].result == "5 skipped: accepted at 95 % of 20"
    assert found["table"].items is not None
    assert (found["table"].items.good, found["table"].items.made) == (209, 214)
    assert found["crunch"].took == 2.75 * 3600
    assert found["crunch"].to_json() == {
        "name": "crunch", "no": 4, "run": str(found["crunch"].run_id), "state": "failed",
        "code": -1, "attempt": 2, "max_attempts": 2, "items": None,
        "started_at": "2026-03-10T09:00:00+00:00", "ended_at": "2026-03-10T11:45:00+00:00",
        "took": 9900.0, "reason": "OSError: [Errno 28] No space left on device", "gate": None,
        "wait": None, "not_before": None, "worker": "w-7", "undoes": False, "child": None,
        "detail": None, "result": None, "recorded": False, "kept_from": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("row", "code", "glyph", "word"),
    [
        ({"state": "ready"}, 0, "○", "ready"),
        ({"state": "running"}, 2, "●", "running"),
        ({"state": "blocked"}, 0, "◌", "waits for its lock"),
        ({"state": "blocked", "open_needs": 1}, 1, "◌", "waits its turn"),
        ({"state": "blocked", "open_needs": 0}, 1, "◌", "waits its turn"),
        ({"state": "cancelled", "finished_at": at(0)}, -1, "⊘", "cancelled"),
        ({"state": "waiting", "wait_cause": "gate", "wake_at": at(1)}, 0, "◔", "held"),
        ({"state": "waiting", "wait_cause": "delay", "wake_at": at(1)}, 0, "◔", "delayed"),
        ({"state": "waiting", "wait_cause": "retry"}, 2, "↻", "retrying"),
        ({"state": "waiting", "wait_cause": "children"}, 2, "●", "running"),
        ({"state": "waiting", "wait_cause": "operation"}, 2, "◔", "at work elsewhere"),
        ({"state": "waiting", "wait_cause": "signal"}, 2, "◔", "awaits a signal"),
        ({"state": "waiting", "wait_cause": "question"}, 2, "◔", "asks"),
        ({"state": "waiting", "wait_cause": "sleep"}, 2, "◔", "sleeping"),
    ],
)
async def test_codes_in_a_live_run(
    house: House, views: Database, row: dict[str, Any], code: int, glyph: str, word: str
) -> None:
    run_id = await flow(house, FAILED | {"files": row}, state="waiting", wait_cause="children")
    found = (await rows(views, run_id))["files"]
    assert (found.code, found.mark.glyph, found.mark.word) == (code, glyph, word)
    assert (await rows(views, run_id))["publish"].code == 1


async def test_how_long_a_step_took(house: House, views: Database) -> None:
    """The time of its attempts alone; nothing for one that a person has resolved."""
    run_id = await flow(house, FAILED, state="waiting", wait_cause="children")
    step = await step_id(views, await read(views, run_id), "crunch")
    await house.rows(
        "update koken.run set lease = 3, claimed_at = $2, finished_at = $3 where id = $1",
        step, at(-1), at(0),
    )  # fmt: skip
    for lease, begin, end in ((1, -3, -2.75), (2, -2, -1.5), (3, -1, -0.9)):
        await house.rows(
            "insert into koken.attempt (run_id, lease, attempt, started_at, ended_at, outcome)"
            " values ($1, $2, $2, $3, $4, 'retry')",
            step, lease, at(begin), at(end),
        )  # fmt: skip
    took = (await rows(views, run_id))["crunch"].took
    assert took == pytest.approx((0.25 + 0.5 + 0.1) * 3600)
    await house.rows(
        "update koken.run set state = 'succeeded', acknowledged_at = $2 where id = $1", step, at(0)
    )
    assert (await rows(views, run_id))["crunch"].took is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"items":3,"skipped":0,"succeeded":3}', "3 items"),
        ('{"items":1,"skipped":0,"succeeded":1}', "1 item"),
        ('{"items":3,"skipped":1,"succeeded":2}', "2 of 3, 1 skipped"),
        ('{"items":4,"skipped":1,"succeeded":1,"cancelled":2}', "1 of 4, 1 skipped, 2 cancelled"),
        ('{"items":3}', '{"items":3}'),
        ('"cut off', '"cut off'),
    ],
)
def test_the_counts_of_a_step_with_items(text: str, told: str) -> None:
    assert items(text) == told


async def test_a_run_that_is_not_opened(house: House, views: Database) -> None:
    run_id = await flow(house, {}, state="running")
    found = await rows(views, run_id)
    assert [row.code for row in found.values()] == [0, 1, 1, 1, 1, 1, 1, 1]
    assert [row.run_id for row in found.values()] == [None] * 8
    assert found["publish"].gate == "gate 30 4 * * *"
    await house.rows("update koken.run set state = 'cancelled', finished_at = koken.now()")
    assert [row.code for row in (await rows(views, run_id)).values()] == [0] * 8


async def test_a_run_without_steps(house: House, views: Database) -> None:
    await house.job()
    assert await rows(views, (await house.start()).run_id) == {}


async def test_items(house: House, views: Database) -> None:
    """They are counted from 0, and do not take themselves for the workflow's steps."""
    run_id = await flow(house, FAILED, state="waiting", wait_cause="children")
    table = await step_id(views, await read(views, run_id), "table")
    for no, state in enumerate(("succeeded", "failed", "blocked"), 1):
        values: dict[str, Any] = {"state": state, "need_rule": None}
        values |= {"open_needs": 1} if state == "blocked" else {"finished_at": at(0)}
        await insert(house, table, no, "table", **values)
    found = await rows(views, table)
    assert {name: row.code for name, row in found.items()} == {
        "table[0]": 4, "table[1]": -1, "table[2]": 0,
    }  # fmt: skip
    run = await read(views, run_id)
    assert await step_id(views, run, "table[1]") == found["table[1]"].run_id
    for name in ("table[3]", "nothing", "nothing[0]", "table[999999999999]"):
        with pytest.raises(NotFound, match="has no step"):
            await step_id(views, run, name)


async def test_undo_steps(house: House, views: Database) -> None:
    """They are no steps; those that undo them come in the order in which they go."""
    run_id = await flow(
        house, FAILED, state="waiting", wait_cause="children", wait_for="undo", settle="failed"
    )
    run = await read(views, run_id)
    assert run.phase == "compensating"
    assert run.to_json()["phase"] == "compensating"
    of = await step_id(views, run, "publish")
    for no, name in ((1_000_002, "undo files"), (1_000_001, "undo publish")):
        await insert(house, run_id, no, name, state="ready", undoes_id=of)
    assert [row.name for row in await undone(views, run)] == ["undo publish", "undo files"]
    assert len(await steps(views, run)) == 8


async def test_what_a_run_says_of_itself(house: House, views: Database) -> None:
    run_id = await flow(
        house, FAILED, state="waiting", wait_cause="children", origin_id=7, origin_verb="rerun"
    )
    plain = (await read(views, run_id)).to_json()
    assert (plain["state"], plain["phase"]) == ("waiting", "running")
    assert plain["wait"] == {"cause": "children", "until": None, "wait_for": None}
    assert plain["origin"] == {"id": "7", "verb": "rerun"}
    step = await read(views, await step_id(views, await read(views, run_id), "size"))
    assert (step.step, step.step_no, step.parent_id, step.root_id) == ("size", 3, run_id, run_id)
    assert step.to_json()["origin"] is None
