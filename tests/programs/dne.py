"""Experiments at an advertiser: set up elsewhere over hours, undone when that fails."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import Any

import psycopg
from pydantic import BaseModel

import koken
from koken import Accept, AsyncContext, Fail, Operation, Snooze, Stall
from tests.programs.google import google

app = koken.App("dne")
database = {"url": ""}
TABLES = """
create table experiment (
  id int generated always as identity primary key, groups int not null,
  status text not null default 'DRAFT', ab_end date not null default '2999-12-31');
create table scope (experiment_id int not null, campaign int not null);
"""


class Status(StrEnum):
    DRAFT = "DRAFT"
    TO_BE_SCHEDULED = "TO_BE_SCHEDULED"
    SCHEDULED = "SCHEDULED"
    CANCELLED = "CANCELLED"


class OverlappingDates(Exception):
    """Another experiment on the same campaigns."""


class Draft(BaseModel):
    resource: str


class Experiment(BaseModel):
    id: int
    groups: list[str]


async def connect() -> psycopg.AsyncConnection[tuple[Any, ...]]:
    return await psycopg.AsyncConnection.connect(database["url"])


async def load(experiment_id: int) -> Experiment:
    async with await connect() as connection:
        found = await connection.execute(
            "select groups from experiment where id = %s", [experiment_id]
        )
        row = await found.fetchone()
    assert row is not None
    return Experiment(id=experiment_id, groups=[f"{experiment_id}-{n}" for n in range(row[0])])


async def find_or_create_draft(group: str) -> Draft:
    return Draft(resource=await google.find_or_create(group))


async def find_or_create_arms(draft: Draft) -> None:
    await google.find_or_create_arms(draft.resource)


async def end_draft(draft: Draft) -> None:
    await google.end(draft.resource)


async def b_side_campaigns(live: list[Draft]) -> list[int]:
    return [int(draft.resource.partition("-")[2]) + 1000 for draft in live]


async def write_scopes(
    connection: psycopg.AsyncConnection[Any], experiment_id: int, campaigns: list[int]
) -> None:
    for campaign in campaigns:
        await connection.execute("insert into scope values (%s, %s)", [experiment_id, campaign])


async def drafts_of(experiment_id: int) -> list[Draft]:
    return [Draft(resource=each) for each in google.drafts if each.startswith(f"{experiment_id}-")]


class ScheduleDraft(Operation[Draft, str, Draft]):
    every, within = "5m", "12h"
    stall = Stall(no_handle="30m", in_flight="1h", max_submits=12)

    async def find(self, item: Draft, key: str) -> str | None:
        return await google.last_operation(item.resource)

    async def submit(self, item: Draft, key: str) -> str:
        return await google.schedule(item.resource, key)

    async def poll(self, item: Draft, handle: str) -> Draft | Snooze | Fail:
        operation = await google.operation(handle)
        if not operation.done:
            return Snooze(reason="in flight")
        return Fail(operation.error) if operation.error else item

    async def cancel(self, item: Draft, handle: str) -> None:
        await google.cancel(handle)


@app.job(
    name="GOOGLE_SETUP_EXPERIMENT",
    queue="google",
    priority=10,
    subject="experiment:{experiment_id}",
    max_attempts=144,
    backoff="5m",
    never_retry=(OverlappingDates,),
)
async def set_up(ctx: AsyncContext, experiment_id: int) -> list[int]:
    experiment = await ctx.step("read", load, experiment_id)
    undo = ctx.using(compensate=end_draft, effect="once")
    drafts = await undo.map("create", find_or_create_draft, experiment.groups)
    await ctx.map("arms", find_or_create_arms, drafts)
    live = await ctx.map(
        "schedule", ScheduleDraft(), drafts, accept=Accept(0.95, of=20, at_least=1)
    )
    campaigns = await ctx.step("read B side", b_side_campaigns, live)
    async with await connect() as connection:
        await ctx.using(connection).step(
            "write", write_scopes, connection, experiment_id, campaigns
        )
    return campaigns


@app.job(
    name="GOOGLE_CANCEL_EXPERIMENT",
    queue="google",
    subject="experiment:{experiment_id}",
    max_attempts=3,
)
async def end_all(ctx: AsyncContext, experiment_id: int) -> None:
    await ctx.map("end", end_draft, await ctx.step("read", drafts_of, experiment_id))


@app.job(
    name="GOOGLE_SYNC_EXPERIMENT_END_DATE",
    queue="google",
    subject="experiment:{experiment_id}",
    max_attempts=3,
    overlap="refuse",
    overlap_key="{experiment_id}",
)
async def sync_end(ctx: AsyncContext, experiment_id: int, end: date) -> None:
    google.calls.append(f"end of {experiment_id} is {end}")


experiments = app.machine("experiment", table="experiment", column="status", states=Status)


def not_over(row: Mapping[str, Any]) -> str | None:
    """A text refuses, and is what the caller reads."""
    over = row["ab_end"] <= date.today()
    return f"experiment {row['id']} ended on {row['ab_end']}" if over else None


schedule = experiments.transition(
    "schedule",
    Status.DRAFT,
    Status.TO_BE_SCHEDULED,
    start=set_up,
    on_success=Status.SCHEDULED,
    on_failure=Status.DRAFT,
)
cancel = experiments.transition(
    "cancel",
    [Status.TO_BE_SCHEDULED, Status.SCHEDULED],
    Status.CANCELLED,
    guard=not_over,
    start=end_all,
    supersedes=[set_up],
)
expire = experiments.transition(
    "expire", Status.SCHEDULED, Status.SCHEDULED, guard=not_over, start=end_all
)
move_end = experiments.transition("move end", Status.SCHEDULED, Status.SCHEDULED, start=sync_end)
