"""A user's program, read by the type checkers and never run; see ``test_inference.py``."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal, reveal_type

from pydantic import BaseModel

import koken
from koken import AsyncContext, Cancel, Context, Fail, Job, Retry, Skip, Snooze
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
    ctx.progress("half")
    ctx.attempt = 2


@app.job(queu="reports")
def misspelt() -> None: ...


@app.job(overlap="skip")
def no_rule() -> None: ...


@app.job(effect="pure", executor="process", keep={"succeeded": "30d"}, lock="a", tags=["b"])
def many_options(size: Literal["big", "small"], at: datetime) -> None: ...


reveal_type(many_options)

reveal_type(call(delay_report, day=date(2013, 1, 1)))
reveal_type(call(fetch, "https://example.org"))
reveal_type(test_client.run(greet))
reveal_type(test_client.fast_forward(test_client.start(fetch, "https://example.org")))
reveal_type(test_client.started(fetch))
call(fetch, 7)
test_client.replacing(greet, lambda: 1)
test_client.failing(fetch, ConnectionError, times=2)
