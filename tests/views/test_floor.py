"""Queues, workers, locks, events and workspaces, as one workspace sees them."""

from __future__ import annotations

import pytest

from koken.engine import control, events, queues
from koken.errors import InvalidArguments, NotFound
from koken.model.policy import Lock, Overlap
from koken.store.database import Database
from koken.views import eventquery, floor, locks, openquestions, versions, workspaces
from koken.views import events as recorded
from tests.support.house import House


async def test_a_workspace_counts_its_own(house: House, views: Database) -> None:
    await house.job()
    await house.hire(default=3)
    await house.start_many(2)
    await house.start(workspace="other")
    await house.claim(2)
    await house.claim(1)
    await house.start(workspace="other")
    whole = (await floor.queues(views))[0]
    mine = (await floor.queues(views, workspace="default"))[0]
    theirs = (await floor.queues(views, workspace="other", name="default"))[0]
    assert [(row.running, row.ready, row.full) for row in (whole, mine, theirs)] == [
        (3, 1, True),
        (2, 0, False),
        (1, 1, True),
    ]
    assert await floor.queues(views, name="nowhere") == []
    (worker,) = await floor.workers(views, workspace="default")
    assert (worker.busy, [each.run_id for each in worker.runs or ()]) == (2, [1, 2])
    assert worker.to_json()["runs"][0]["job"] == "report"
    assert "runs" not in (await floor.workers(views))[0].to_json()


async def test_workspaces(house: House, views: Database) -> None:
    await house.job()
    await house.hire(default=1)
    await house.start()
    await house.start(workspace="other")
    found = {row.name: row for row in await workspaces.workspaces(views)}
    assert {name: (row.ready, row.running) for name, row in found.items()} == {
        "default": (1, 0),
        "other": (1, 0),
    }
    assert found["other"].last_at is not None
    assert [row.name for row in await workspaces.workspaces(views, ["other", "none"])] == ["other"]


async def test_who_has_a_lock_and_who_waits(house: House, views: Database) -> None:
    await house.job(lock=Lock("cluster"))
    first, second = (await house.start()).run_id, (await house.start()).run_id
    await house.start(workspace="other")
    (lock,) = await locks.locks(views, workspace="default")
    assert (lock.kind, lock.key, lock.mode, lock.limit) == ("lock", "cluster", "exclusive", 1)
    assert (lock.held, lock.waiting) == (1, 1)
    assert [each.run_id for each in lock.holders] == [first]
    assert [(each.run_id, each.since) for each in lock.next] == [(second, None)]
    assert lock.to_json()["holders"][0]["run"] == str(first)
    after = (lock.since, lock.id)
    assert await locks.locks(views, workspace="default", after=after) == []
    assert await locks.named(views, "cluster", workspace="default") == [lock]
    with pytest.raises(NotFound):
        await locks.named(views, "cluster", workspace="nowhere")
    with pytest.raises(InvalidArguments):
        await locks.locks(views, workspace="default", kind="door")


@pytest.mark.parametrize("rule", [Overlap.SKIP_IF_RUNNING, Overlap.QUEUE_ALL])
async def test_keys_that_a_run_keeps(house: House, views: Database, rule: Overlap) -> None:
    await house.job(overlap=rule)
    first = (await house.start()).run_id
    await house.start()
    (key,) = await locks.keys(views, workspace="default")
    assert (key.run_id, key.job, key.rule) == (first, "report", rule.value)
    assert await locks.keys(views, workspace="default", longer_than=1e6) == []


async def test_events_stay_in_their_workspace(house: House, views: Database) -> None:
    await house.job()
    mine, theirs = (await house.start()).run_id, (await house.start(workspace="other")).run_id
    await control.cancel(house.db, mine, by="anna", reason="Disk full")
    await control.cancel(house.db, theirs, by="otto", reason=None)
    await queues.pause(house.db, "default", paused=True, by="otto", reason=None)
    await house.db.run(lambda tx: events.record(tx, "prune", "otto", detail={"runs": 7}))
    await house.db.run(lambda tx: events.record(tx, "note", "anna", run_id=theirs))
    listed = await recorded.of_workspace(views, workspace="default")
    assert [(row.verb, row.by, row.workspace, row.run_id) for row in listed] == [
        ("pause", "otto", "GLOBAL", None),
        ("cancel", "anna", "default", mine),
    ]
    assert listed[1].to_json()["job"] == "report"
    other = await recorded.of_workspace(views, workspace="other", common=True)
    assert [row.verb for row in other] == ["note", "prune", "pause", "cancel"]
    assert await recorded.of_workspace(views, workspace="nowhere", common=True) == []

    async def narrowed(query: str) -> list[str]:
        asked_for = eventquery.parse(query)
        found = await recorded.of_workspace(views, workspace="default", **asked_for)
        return [row.verb for row in found]

    assert await narrowed("by:anna,nina verb:cancel job:report since:2026-03-01") == ["cancel"]
    assert await narrowed(f"run:{theirs}") == []
    assert await narrowed("disk FULL") == ["cancel"]
    assert await narrowed("until:300d") == []
    with pytest.raises(
        InvalidArguments, match=r"verbs: is no word of this query. Did you mean verb:"
    ):
        eventquery.parse("verbs:x")
    with pytest.raises(InvalidArguments):
        eventquery.parse("run:9999999999999999999999")


async def test_versions_and_what_differs(house: House, views: Database) -> None:
    await house.job()
    await house.job(max_attempts=3, tags=("money",))
    found = await versions.versions(views, "report", workspace="default")
    assert [(row.number, row.current) for row in found] == [(2, True), (1, False)]
    specs = [
        (await versions.spec(views, "report", workspace="default", number=number))[1]
        for number in (1, 2)
    ]
    assert [each.to_json() for each in versions.compared(*specs)] == [
        {"path": "tags", "change": "changed", "before": [], "after": ["money"]},
        {"path": "max_attempts", "change": "changed", "before": 1, "after": 3},
    ]
    assert await versions.versions(views, "report", workspace="default", before=1) == []
    for job, number in (("none", 1), ("report", 3), ("report", 2**70)):
        with pytest.raises(NotFound):
            await versions.spec(views, job, workspace="default", number=number)


def test_steps_and_schedules_are_compared_by_name() -> None:
    old = {"steps": [{"name": "a", "no": 1}, {"name": "b", "no": 2}], "schedules": []}
    new = {
        "steps": [{"name": "b", "no": 1}],
        "schedules": [{"name": "", "expression": "5m", "timezone": None}],
    }
    assert [(each.path, each.change) for each in versions.compared(old, new)] == [
        ("steps.a", "removed"),
        ("steps.b.no", "changed"),
        ("schedules.5m", "added"),
    ]


async def test_nothing_waits(house: House, views: Database) -> None:
    assert await openquestions.questions(views, workspace="default") == []
    assert await openquestions.signals(views, workspace="default") == []
