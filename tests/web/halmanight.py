"""The nightly pipeline of the company: items, a branch, a gate, an undo."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import BaseModel

from koken import Accept, Context, Schedule
from tests.web.halma import HOSTILE, app


class Table(BaseModel):
    """What a file became."""

    file: str
    rows: int


Bad = Literal["", "compute", "tell"]


@app.workflow(
    name="nightly",
    queue="night",
    owner="data team",
    tags=["night", "pipeline"],
    schedule=Schedule(
        "30 1 * * *", timezone="Europe/Berlin", args={"day": "{logical_time:%Y-%m-%d}"}
    ),
    max_attempts=2,
    backoff="10ms",
)
def nightly(day: date = date(2026, 11, 30), bad: Bad = "") -> None:
    """Load the shops' files, clean them, compute the stock and publish it.

    Effects: the shop shows yesterday's stock until it has gone through. Workaround: none needed
    before 06:00. Recovery: run it again from the red step; publishing twice is harmless.
    """


@nightly.step
def extract(day: date) -> list[str]:
    """Which files there are."""
    return [f"{day}-{shop}.csv" for shop in ("berlin", "hamburg", "koeln", "muenchen", "wien")]


@nightly.step(each={"file": extract}, at_once=3, accept=Accept(0.8, of=5))
def load(ctx: Context, file: str) -> Table:
    """One shop's file."""
    ctx.log.info("loading %s", file)
    if file.endswith("wien.csv"):
        raise FileNotFoundError(f"{file}: the shop in Vienna has sent nothing")
    return Table(file=file, rows=1000 + len(file))


@nightly.step
def clean(load: list[Table]) -> Literal["big", "small"]:
    """Throw out what cannot be."""
    return "small" if sum(each.rows for each in load) < 1_000_000 else "big"


@nightly.step(when={"clean": "big"}, lock="cluster", effect="pure")
def crunch(load: list[Table]) -> int:
    """On the cluster, where there is much."""
    return sum(each.rows for each in load)


@nightly.step(when={"clean": "small"}, queue="cluster")
def compute(ctx: Context, load: list[Table], bad: Bad) -> int:
    """Here, where there is little."""
    if bad == "compute":
        print(f"shop said {HOSTILE} instead of a number")
        raise ValueError(f"stock of boot 412 is '{HOSTILE}', which is no number")
    return sum(each.rows for each in load)


@nightly.step(gate="* * * * 0,6")
def weekend(compute: int | None = None) -> str:
    """A longer table at weekends."""
    return f"{compute} rows, and those of the week"


@nightly.step(max_attempts=3, backoff="10ms")
def publish(compute: int | None = None, crunch: int | None = None) -> str:
    """Show it in the shop."""
    return f"{compute or crunch} rows"


@publish.compensate
def unpublish(publish: str) -> None:
    """Take it back."""
    raise PermissionError("shop.halma.example: you may not take stock back after 06:00")


@nightly.step(after=[publish, weekend])
def tell(bad: Bad) -> None:
    """Tell the shops."""
    if bad == "tell":
        raise RuntimeError("the mail server of the shops answers 421")
