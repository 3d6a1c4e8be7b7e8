"""A graph: files, a table of each, two ways to count them, a page that may be taken back."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

import koken
from koken import Accept, Schedule

app = koken.App("nightly")
source: dict[str, int] = {}
"""The files that there are, and how many rows each has; below 0: it cannot be read."""
calls: list[str] = []
"""What was done, in its order."""


class Table(BaseModel):
    name: str
    rows: int


class Big(BaseModel):
    rows: int


class Small(BaseModel):
    rows: int


def download(day: date) -> list[Path]:
    return [Path(f"{day}/{name}") for name in source]


@app.job
def publish_site() -> str:
    calls.append("publish_site")
    return "https://example.org"


@app.workflow(
    schedule=Schedule(
        "0 20 * * *", timezone="Europe/Berlin", args={"day": "{logical_time:%Y-%m-%d}"}
    ),
    max_attempts=2,
)
def nightly(day: date) -> None:
    """The night's figures. Runbook: retry from the red step; finance waits for `publish`."""


@nightly.step
def files(day: date) -> list[Path]:
    calls.append(f"files {day}")
    return download(day)


@nightly.step(each={"file": files}, at_once=8, accept=Accept(0.95, of=20), queue="cpu")
def table(file: Path) -> Table:
    rows = source[file.name]
    calls.append(f"table {file.name}")
    if rows < 0:
        raise ValueError(f"{file.name} is no table")
    return Table(name=file.name, rows=rows)


@nightly.step
def size(table: list[Table]) -> Literal["big", "small"]:
    calls.append("size")
    return "big" if sum(each.rows for each in table) > 500 else "small"


@nightly.step(when={"size": "big"}, lock="cluster", effect="pure")
def crunch(table: list[Table]) -> Big:
    calls.append(f"crunch {','.join(each.name for each in table)}")
    return Big(rows=sum(each.rows for each in table))


@nightly.step(when={"size": "small"})
def add_up(table: list[Table]) -> Small:
    calls.append(f"add_up {','.join(each.name for each in table)}")
    return Small(rows=sum(each.rows for each in table))


@nightly.step(gate="30 4 * * *")
def publish(crunch: Big | None = None, add_up: Small | None = None) -> str:
    found = crunch or add_up
    assert found is not None
    calls.append(f"publish {type(found).__name__} {found.rows}")
    return f"page of {found.rows} rows"


@publish.compensate
def unpublish(publish: str) -> None:
    calls.append(f"unpublish {publish}")


nightly.step(publish_site, name="site", after=[publish])


@nightly.step(after=["site"], join="any_failed")
def apologise() -> None:
    calls.append("apologise")
