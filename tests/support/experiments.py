"""A program with a table of its own, whose rows go from state to state."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import Any

from koken import App
from tests.support.house import House

TABLE = """
create type public.status as enum ('DRAFT', 'TO_BE_SCHEDULED', 'SCHEDULED', 'CANCELLED');
create table public.experiment (
  id int primary key, status public.status not null default 'DRAFT', ends date, note text);
insert into public.experiment (id, ends) values (1, '2099-01-01'), (2, '2020-02-02');
"""


class Status(StrEnum):
    """Where an experiment stands."""

    DRAFT = "DRAFT"
    TO_BE_SCHEDULED = "TO_BE_SCHEDULED"
    SCHEDULED = "SCHEDULED"
    CANCELLED = "CANCELLED"


app = App("dne")
SUBJECT = "experiment:{experiment_id}"


@app.job(subject=SUBJECT)
def set_up(experiment_id: int, note: str = "") -> None: ...


@app.job(subject="experiment:{number}")
def end_all(number: int, reason: str = "") -> None: ...


@app.job(subject=SUBJECT, overlap="refuse", overlap_key="{experiment_id}")
def sync_end(experiment_id: int, end: date) -> None: ...


@app.job
def trial(number: str) -> None: ...


@app.job(subject=SUBJECT)
def report(experiment_id: int) -> None: ...


def not_over(row: Mapping[str, Any]) -> str | None:
    """Its row, as it is held, has the program's own types."""
    over: bool = row["ends"] <= date(2026, 3, 10)
    return f"experiment {row['id']} ended on {row['ends']}" if over else None


def not_carl(by: str, row: Mapping[str, Any]) -> str | None:
    """A rule about people."""
    return f"{by} may not expire {row['status']}" if by == "carl" else None


experiments = app.machine("experiment", table="public.experiment", column="status", states=Status)
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
    who=["anna", "ben"],
    start=end_all,
    supersedes=[set_up],
)
expire = experiments.transition(
    "expire", "SCHEDULED", "SCHEDULED", who=not_carl, excludes=[set_up, end_all]
)
move_end = experiments.transition("move end", "SCHEDULED", "SCHEDULED", start=sync_end)
drop = experiments.transition("drop", Status.DRAFT, Status.CANCELLED)


async def status(house: House, key: int = 1) -> str:
    """Where an experiment stands now."""
    return str(await house.value("select status::text from public.experiment where id = $1", key))


async def put(house: House, state: str, key: int = 1) -> None:
    """Put an experiment into a state by hand."""
    await house.rows(
        "update public.experiment set status = $1::text::public.status where id = $2", state, key
    )


async def events(house: House, verb: str) -> list[Mapping[str, Any]]:
    """What was recorded, oldest first."""
    return await house.rows(
        "select by, reason, run_id, detail from koken.event where verb = $1 order by id", verb
    )
