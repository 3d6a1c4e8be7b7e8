"""Whoever comes back hears what it has missed, whenever that was committed."""

from __future__ import annotations

import pytest

from koken.errors import InvalidArguments
from koken.store.database import Database
from koken.views import heardevents, heardlines
from tests.support.house import House

RUN = """
insert into koken.run (workspace_id, job_id, version_id, queue_id, parent_id, root_id, step_no,
  state, priority, rank, max_attempts, max_infra_attempts, trigger_kind, logical_at, created_at,
  lease, worker_id)
values (1, 1, 1, 1, $1, $1, case when $1::bigint is not null then 1 end, 'running', 0, koken.now(),
  1, 3, 'run', koken.now(), koken.now(), 1, $2) returning id
"""


def say(run: int, text: str) -> str:
    """A line of a run."""
    return (
        "insert into koken.log_line (run_id, lease, at, level, stream, text)"
        f" values ({run}, 1, now(), 'info', 'log', '{text}')"
    )


async def lines(views: Database, listener: heardlines.Listener) -> list[tuple[str, str]]:
    """What a listener hears, each with the mark that comes with it."""
    told, _ = await heardlines.after(views, listener)
    return [(said.line.text, str(heard)) for said, heard in told]


async def test_a_line_of_another_worker_that_comes_late_is_heard_once(
    house: House, views: Database
) -> None:
    await house.job()
    root = await house.value(RUN, None, await house.hire("a"))
    child = await house.value(RUN, root, await house.hire("b"))
    async with house.db.session() as slow:
        await slow.execute("begin")
        await slow.execute(say(child, "late"))
        await house.rows(say(root, "early"))
        listener = await heardlines.anew(views, root, last=10)
        assert await lines(views, listener) == [("early", f"2;{child}:0")]
        await slow.execute("commit")
    heard = heardlines.Heard.read(f"2;{child}:0")
    again = heardlines.again(root, heard)
    assert await lines(views, again) == [("late", f"1;{root}:2")]
    await house.rows(say(root, "next"))
    again = heardlines.again(root, heardlines.Heard.read(f"1;{root}:2"))
    assert await lines(views, again) == [("next", f"3;{child}:1")]


async def test_lines_of_one_worker_need_no_more_than_a_number(
    house: House, views: Database
) -> None:
    await house.job()
    worker = await house.hire()
    root = await house.value(RUN, None, worker)
    child = await house.value(RUN, root, worker)
    for run in (root, child, root):
        await house.rows(say(run, f"of {run}"))
    listener = await heardlines.anew(views, root, last=2)
    assert await lines(views, listener) == [(f"of {child}", "2"), (f"of {root}", "3")]
    listener = await heardlines.anew(views, root, last=0)
    assert await lines(views, listener) == []


async def test_an_event_that_comes_late_is_heard(house: House, views: Database) -> None:
    await house.job()
    run = (await house.start()).run_id or 0

    def act(by: str) -> str:
        return (
            "insert into koken.event (workspace_id, verb, by, run_id)"
            f" values (1, 'cancel', '{by}', {run})"
        )

    async def heard_after(heard: heardevents.Heard) -> list[tuple[str, str]]:
        told, _ = await heardevents.after(views, "default", heard, common=True)
        return [(event.by, str(so_far)) for event, so_far in told]

    first = await heardevents.anew(views, "default", common=True)
    async with house.db.session() as slow:
        await slow.execute("begin")
        await slow.execute(act("late"))
        await house.rows(act("early"))
        ((by, mark),) = await heard_after(first)
        assert by == "early"
        await slow.execute("commit")
    assert [by for by, _ in await heard_after(heardevents.Heard.read(mark))] == ["late"]


def test_a_number_is_done_with_when_all_who_may_bring_one_before_it_are_through() -> None:
    heard = heardevents.Heard(0, frozenset({3, 5, 9}))
    heard = heard.settled(newest=5, low=100, high=104)
    heard = heard.settled(newest=9, low=100, high=106)
    assert str(heard.settled(newest=9, low=105, high=107)) == "0.3.5.9"
    assert str(heard.settled(newest=9, low=106, high=107)) == "5.9"


async def test_numbers_without_a_gap_are_named_by_the_last(house: House, views: Database) -> None:
    heard = await heardevents.anew(views, "default", common=True)
    for _ in range(60):
        await house.rows(
            "insert into koken.event (workspace_id, verb, by) values (1, 'cancel', 'anna')"
        )
    told, _ = await heardevents.after(views, "default", heard, common=True)
    assert [str(so_far) for _, so_far in told[-2:]] == ["59", "60"]


@pytest.mark.parametrize("text", ["", "x", "1;2", "-1", "1;2:3;", "9" * 19])
def test_a_mark_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidArguments):
        heardlines.Heard.read(text)
    with pytest.raises(InvalidArguments):
        heardevents.Heard.read(text)
