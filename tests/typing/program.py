"""A user's program, read by the type checkers and never run; see ``test_inference.py``."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Literal, reveal_type

from pydantic import BaseModel

import koken
from koken import (
    Accept,
    AsyncContext,
    Cancel,
    Context,
    Fail,
    Job,
    Operation,
    Retry,
    Skip,
    Snooze,
)
from koken.executors import Command
from koken.testing import TestClient, call

app = koken.App("flights")
client = koken.Client(app)
async_client = koken.AsyncClient(app)
test_client = TestClient(app)


class Report(BaseModel):
    day: date
    flights: int


@app.job(queue="reports", max_attempts=5, backoff="2m", never_retry=(FileNotFoundError,))
def delay_report(ctx: Context, day: date | None = None) -> Report: ...


@app.job
def greet(url: str = "https://example.org") -> int | Snooze: ...


@app.job
async def fetch(ctx: AsyncContext, url: str, *, tries: int = 1) -> list[int]: ...


class Publish(Operation[int, str, Report]):
    every = "5m"

    async def submit(self, item: int, key: str) -> str: ...

    def poll(self, item: int, handle: str) -> Report | Snooze: ...


@app.job(name="FETCH_ALL")
async def fetch_all() -> str | Retry | Snooze | Skip | Fail | Cancel: ...


def plain_function(day: date) -> Report: ...
def load(table: str, limit: int = 10) -> list[Report]: ...
async def load_slowly(table: str) -> Report: ...


called = app.job(plain_function, name="called", timeout=5)

reveal_type(delay_report)
reveal_type(greet)
reveal_type(fetch)
reveal_type(fetch_all)
reveal_type(called)
reveal_type(Job("elsewhere"))
reveal_type(delay_report.using(delay="5m"))
reveal_type(client.start(delay_report, day=date(2013, 1, 1)))
reveal_type(client.result(client.start(greet)))

client.start(fetch, "https://example.org", tries=2)
client.start(Job("elsewhere"), 1, anything="x")
client.start(delay_report, day="x")
client.start(fetch)
client.start(plain_function, date(2013, 1, 1))
delay_report()
delay_report.using(dealy="5m")
delay_report.using(run_at="tomorrow")


async def handler(ctx: AsyncContext) -> None:
    async_client.start(fetch, "https://example.org")
    reveal_type(await async_client.start(fetch, "https://example.org"))
    reveal_type(await ctx.step("load", load, "flights", limit=5))
    reveal_type(await ctx.step("load slowly", load_slowly, "flights"))


def body(ctx: Context) -> None:
    reveal_type(ctx.step("load", load, "flights"))
    ctx.step("load", load, 7)
    reveal_type(ctx.step("fetch", fetch, "https://example.org", tries=2))
    reveal_type(ctx.step("publish", Publish(), 7))
    reveal_type(ctx.map("load", load, ["flights"]))
    reveal_type(ctx.map("publish", Publish(), [1, 2]))
    reveal_type(ctx.start(greet))
    reveal_type(ctx.ask("Ship it?", bool))
    reveal_type(ctx.wait_signal("go", Report, timeout="1h"))
    reveal_type(ctx.using(compensate=load, max_attempts=3).step("load", load, "flights"))
    ctx.progress("half")
    ctx.attempt = 2


@app.job(queu="reports")
def misspelt() -> None: ...


@app.job(overlap="skip")
def no_rule() -> None: ...


@app.job(effect="pure", executor="process", keep={"succeeded": "30d"}, lock="a", tags=["b"])
def many_options(size: Literal["big", "small"], at: datetime) -> None: ...


reveal_type(many_options)


@app.workflow(max_attempts=2, fail_fast=True, on_failure=greet)
def nightly(day: date, limit: int = 3) -> None: ...


@app.workflow
def bare() -> None: ...


@nightly.step
def files(day: date) -> list[Path]: ...


@nightly.step(each={"file": files}, at_once=8, accept=Accept(0.95, of=20), queue="cpu")
async def table(ctx: AsyncContext, file: Path) -> Report | Skip: ...


@table.compensate
def drop(table: Report) -> None: ...


@files.compensate(max_attempts=5)
def unmade() -> str: ...


@nightly.step(jion="all_done")
def misspelt_step() -> None: ...


named = app.workflow("named", schedule="0 20 * * *")
site = nightly.step(delay_report, name="site", after=[files, "table"], when={"limit": 3})

reveal_type(nightly)
reveal_type(bare)
reveal_type(named)
reveal_type(files)
reveal_type(table)
reveal_type(site)
reveal_type(drop)
reveal_type(unmade)
reveal_type(nightly.step(Command("ls"), name="list"))
reveal_type(client.start(nightly, day=date(2013, 1, 1)))
client.start(nightly, day="x")
client.start(named, 1)
files(date(2013, 1, 1))

reveal_type(call(delay_report, day=date(2013, 1, 1)))
reveal_type(call(fetch, "https://example.org"))
reveal_type(test_client.run(greet))
reveal_type(test_client.fast_forward(test_client.start(fetch, "https://example.org")))
reveal_type(test_client.started(fetch))
call(fetch, 7)
test_client.replacing(greet, lambda: 1)
test_client.failing(fetch, ConnectionError, times=2)
