"""Where a run stands is one word in rows, in strips, in numbers by state and in queries."""

from __future__ import annotations

from typing import Any

import pytest

from koken.engine.control import acknowledge
from koken.errors import InvalidArguments
from koken.store.database import Database
from koken.views import facets, marks, runs
from koken.views.jobfacts import job_facts
from koken.views.standings import Standing, standing
from koken.views.strips import strips
from tests.support.house import House
from tests.support.nights import at, flow

ENDED = {"finished_at": at(0)}


async def asked(views: Database, query: str) -> list[int]:
    return [run.id for run in await runs.find(views, query, workspace="default")]


@pytest.mark.parametrize(
    ("word", "columns"),
    [
        ("running", {"state": "running"}),
        ("running", {"state": "waiting", "wait_cause": "children", "settle": "failed"}),
        ("waiting", {"state": "waiting", "wait_cause": "question", "wait_for": "undo"}),
        ("retrying", {"state": "waiting", "wait_cause": "retry"}),
        ("cancelling", {"state": "running", "cancel_requested_at": at(0)}),
        (
            "cancelling",
            {"state": "waiting", "wait_cause": "children", "cancel_requested_at": at(0)},
        ),
        (
            "compensating",
            {
                "state": "waiting",
                "wait_cause": "children",
                "wait_for": "undo",
                "settle": "cancelled",
                "cancel_requested_at": at(0),
            },
        ),
        ("succeeded", {"state": "succeeded", **ENDED}),
        ("failed", {"state": "failed", "settle": "failed", **ENDED}),
        ("cancelled", {"state": "cancelled", "cancel_requested_at": at(0), **ENDED}),
    ],
)
async def test_one_word_for_one_standing(
    house: House, views: Database, word: str, columns: dict[str, Any]
) -> None:
    run_id = await flow(house, {}, **columns)
    run = await runs.get(views, run_id, workspace="default")
    assert standing(run) == word
    assert marks.of_run(run).word == word
    for each in Standing:
        assert await asked(views, f"state:{each}") == ([run_id] if each == word else [])
    live = run.ended_at is None
    assert await asked(views, "state:live") == ([run_id] if live else [])
    assert await asked(views, "state:ended,blocked") == ([] if live else [run_id])
    found = await facets.facets(views, "", workspace="default")
    assert (found.states, found.matching) == ({word: 1}, 1)
    job = (await job_facts(views, "nightly", workspace="default")).id
    (outcome,) = (await strips(views, [job], workspace="default"))[job]
    assert outcome.mark.word == word


async def test_open_failures_are_those_that_nobody_has_acknowledged(
    house: House, views: Database
) -> None:
    seen, unseen = [await flow(house, {}, state="failed", **ENDED) for _ in range(2)]
    await acknowledge(house.db, seen, by="anna", reason="known")
    assert await asked(views, "state:failed") == [unseen, seen]
    assert await asked(views, "state:open") == [unseen]
    assert await asked(views, "state:acknowledged") == [seen]
    assert await asked(views, "state:open,acknowledged") == [unseen, seen]
    assert (await facets.facets(views, "state:open", workspace="default")).matching == 1
    found = [await runs.get(views, each, workspace="default") for each in (seen, unseen, seen)]
    known, unknown, again = map(marks.of_run, found)
    assert (known.word, unknown.word) == ("failed, acknowledged", "failed")
    assert marks.tally([known, unknown, again]) == "2 acknowledged, 1 failed"


async def test_a_word_that_is_none_is_refused_with_those_that_there_are(views: Database) -> None:
    with pytest.raises(InvalidArguments, match="'red' is no state; there are blocked, ready"):
        await asked(views, "state:red")
