"""A program for the tests of a run's page: what fails, asks, waits, undoes and prints."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Literal

import koken
from koken import AsyncContext, Context
from koken.config import load
from koken.executors import Command
from koken.runtime.worker import Worker

HOSTILE = "<script>alert(1)</script>"
COLOURED = f"\x1b[1;31mhot\x1b[0m {HOSTILE} \x1b]8;;http://evil.example\x07link\x1b[2K"


def make(trouble: set[str]) -> koken.App:
    """A fresh app; what ``trouble`` names fails."""
    app = koken.App("mill")

    @app.workflow(name="daily-report", tags=["money"])
    def report(day: str = "2026-11-30", password: str = "") -> None:
        """Load, then mail."""

    @report.step(effect="idempotent")
    def extract(day: str) -> list[str]:
        return [day, HOSTILE]

    @report.step(effect="idempotent", max_attempts=3, backoff="10ms")
    def load(ctx: Context, extract: list[str]) -> dict[str, str]:
        ctx.log.info("%s", COLOURED)
        if "load" in trouble:
            raise ConnectionError(f"connection refused {HOSTILE}")
        return {"token": "s3cret", "text": HOSTILE}

    @report.step(effect="unsafe")
    def mail(load: dict[str, str]) -> None:
        if "mail" in trouble:
            raise OSError("421")

    @app.workflow(name="booking")
    def booking() -> None:
        """Reserve, then charge."""

    @booking.step(effect="idempotent")
    def reserve() -> str:
        return "table 4"

    @reserve.compensate
    def free(reserve: str) -> None:
        print(f"{reserve} is free again")

    @booking.step(after=reserve)
    async def charge(ctx: AsyncContext) -> str:
        return await ctx.ask(f"Charge {HOSTILE}?", Literal["card", "cash"], to="lea")

    @app.workflow(name="pictures")
    def pictures() -> None:
        """One after the other."""

    @pictures.step
    def files() -> list[int]:
        return [1, 2, 3]

    @pictures.step(each={"number": files})
    def resize(ctx: Context, number: int) -> int:
        ctx.log.info("picture %d", number)
        if number == 2:
            raise ValueError("no picture")
        return number

    @app.job(effect="pure", max_attempts=2, backoff="10ms")
    def plain(ctx: Context, lines: int = 0) -> None:
        for number in range(lines):
            ctx.log.log(30 if number % 10 == 9 else 20, "line %d", number)
        raise ValueError("no good")

    @app.job
    async def approve(ctx: AsyncContext) -> bool:
        return await ctx.ask("May it go?", bool, to="lea")

    @app.job
    async def word(ctx: AsyncContext) -> Any:
        return await ctx.wait_signal("go")

    app.job(Command("sh -c 'exit 3'"), name="command")

    @app.job
    def quiet() -> int:
        return 7

    return app


@asynccontextmanager
async def working(app: koken.App) -> AsyncIterator[Worker]:
    """A worker at work."""
    worker = Worker(app, replace(load(app.settings), queues={"default": 4}))
    await worker.start()
    try:
        yield worker
    finally:
        await worker.stop(grace=1)
