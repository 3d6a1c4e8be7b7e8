"""A program of workflows and of bodies that wait, for the cluster's workers."""

from __future__ import annotations

import asyncio

import koken
from koken import AsyncContext, Context
from tests.cluster.app import LOOK, is_open, note, wait_for

app = koken.App("flows")
BORNE = 50
"""Losses that each run bears: the test kills workers as it likes."""


@app.workflow(max_infra_attempts=BORNE)
def night(size: int) -> None:
    """A list, a run for each member, a sum, a chain, a body that keeps its steps."""


@night.step(effect="pure")
def files(size: int) -> list[int]:
    return list(range(size))


@night.step(each={"file": files}, at_once=4, effect="pure")
def table(ctx: Context, file: int) -> int:
    note("table", ctx)
    return file * file


@night.step(effect="pure")
async def total(table: list[int]) -> int:
    return sum(table)


@night.step(effect="pure")
async def first(total: int) -> int:
    await asyncio.sleep(LOOK)
    return total + 1


@night.step(effect="pure")
def second(first: int) -> int:
    return first + 1


@night.step(effect="pure")
async def kept(ctx: AsyncContext, second: int) -> int:
    found = second
    for number in range(5):
        found = await ctx.step(f"add {number}", plus_one, found)
        await ctx.sleep(0.05)
    return found


async def plus_one(number: int) -> int:
    return number + 1


@night.step(after=[kept], effect="pure")
def last(kept: int, total: int) -> list[int]:
    return [total, kept]


@app.job(effect="pure")
def under(ctx: Context) -> str:
    """The job that a step stands for."""
    return wait_for(ctx, "go")


@app.workflow
def tree() -> None:
    """Steps, items and a child job that all hold."""


@tree.step(effect="pure")
def hold(ctx: Context) -> str:
    return wait_for(ctx, "go")


@tree.step(effect="pure")
def names() -> list[str]:
    return ["a", "b", "c"]


@tree.step(each={"name": names}, at_once=2, effect="pure")
async def item(ctx: AsyncContext, name: str) -> str:
    note("began", ctx)
    try:
        while not is_open("go", ctx):  # noqa: ASYNC110 - gates are files
            await asyncio.sleep(LOOK)
    except BaseException:
        note("left", ctx)
        raise
    return name


tree.step(under, name="job")


@tree.step(effect="pure")
def never(hold: str) -> str:
    return hold


@app.job(effect="pure", max_infra_attempts=BORNE)
async def listener(ctx: AsyncContext, count: int) -> list[int]:
    """Takes so many signals, one after the other."""
    return [await ctx.wait_signal("number", int) for _ in range(count)]
