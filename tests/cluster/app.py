"""The program whose bodies the cluster's workers carry out.

A body that holds says so and stays until its gate, a file, is there. What bodies say goes into a
file of short lines, so that it is known even when the database is away or the body dies.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import psycopg

import koken
from koken import AsyncContext, Context
from koken.define.facts import Facts
from koken.executors import Command

FOLDER = Path(os.environ.get("KOKEN_TEST_FOLDER", "/nonexistent"))
LOOK = 0.02

app = koken.App("cluster")


def note(what: str, ctx: Facts) -> None:
    """Say what a body does, with its run, its lease and its process."""
    say(f"{what} {ctx.run_id} {lease(ctx)} {os.getpid()}")


def lease(ctx: Facts) -> int:
    """The run's lease, with which bodies have no business otherwise."""
    found: int = ctx.assignment.lease  # type: ignore[attr-defined]  # not in the public face
    return found


def say(line: str) -> None:
    """Add a line to the facts, in one piece."""
    target = os.open(FOLDER / "facts", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(target, f"{line}\n".encode())
    os.close(target)


def wait_for(ctx: Context, gate: str) -> str:
    """Stay until the gate is there, and go when asked to; says which lease it had."""
    note("began", ctx)
    try:
        while not is_open(gate, ctx):
            ctx.heartbeat()
            time.sleep(LOOK)
    except BaseException:
        note("left", ctx)
        raise
    note("ended", ctx)
    return f"lease {lease(ctx)}"


def is_open(gate: str, ctx: Facts) -> bool:
    """Whether the gate is there, for all or for this lease."""
    return (FOLDER / gate).exists() or (FOLDER / f"{gate}.{lease(ctx)}").exists()


@app.job(effect="pure")
def hold_thread(ctx: Context, gate: str = "go") -> str:
    return wait_for(ctx, gate)


@app.job(effect="pure")
async def hold_loop(ctx: AsyncContext, gate: str = "go") -> str:
    note("began", ctx)
    try:
        while not is_open(gate, ctx):  # noqa: ASYNC110 - gates are files
            await asyncio.sleep(LOOK)
    except BaseException:
        note("left", ctx)
        raise
    note("ended", ctx)
    return f"lease {lease(ctx)}"


@app.job(effect="pure", executor="process")
def hold_process(ctx: Context, gate: str = "go") -> str:
    return wait_for(ctx, gate)


@app.job(effect="pure")
def asks_thread(ctx: Context, gate: str = "go") -> int:
    return asks(ctx, gate)


@app.job(effect="pure", executor="process")
def asks_process(ctx: Context, gate: str = "go") -> int:
    return asks(ctx, gate)


def asks(ctx: Context, gate: str) -> int:
    """Asks the database for all that a body may ask, once its gate is open."""
    wait_for(ctx, gate)
    with suppress(TimeoutError):
        ctx.wait_signal("never", timeout=0)
    return ctx.step("kid", quick, 1) + sum(ctx.map("kids", quick, [2, 3]))


@app.job(effect="pure")
async def asks_loop(ctx: AsyncContext, gate: str = "go") -> int:
    note("began", ctx)
    while not is_open(gate, ctx):  # noqa: ASYNC110 - gates are files
        await asyncio.sleep(LOOK)
    with suppress(TimeoutError):
        await ctx.wait_signal("never", timeout=0)
    return await ctx.step("kid", quick, 1) + sum(await ctx.map("kids", quick, [2, 3]))


hold_command = app.job(
    Command(
        ["/bin/sh", "-c", """
            echo "began $KOKEN_RUN_ID 0 $$" >> "$0/facts"
            setsid sleep 987654 & echo "child $KOKEN_RUN_ID 0 $!" >> "$0/facts"
            until [ -e "$0/go" ]; do sleep 0.05; done
            kill $!
            echo "ended $KOKEN_RUN_ID 0 $$" >> "$0/facts"
            """, "{folder}"]
    ),
    name="hold_command",
    effect="pure",
)  # fmt: skip


@app.job(max_attempts=2)
def in_steps(ctx: Context) -> list[int]:
    """Keeps its first step, then holds."""
    first = ctx.step("first", first_step, ctx)
    wait_for(ctx, "go")
    return [first, ctx.attempt]


def first_step(ctx: Context) -> int:
    note("step", ctx)
    return 41


@app.job
def fragile(ctx: Context, gate: str = "go") -> str:
    """Does not say whether it may run twice: it is stopped when its worker hears nothing."""
    return wait_for(ctx, gate)


@app.job(effect="pure")
async def quick(ctx: AsyncContext, n: int = 0) -> int:
    note("ended", ctx)
    return n


@app.job(effect="pure", overlap="queue_all")
async def in_line(ctx: AsyncContext, n: int = 0) -> int:
    note("began", ctx)
    note("ended", ctx)
    return n


@app.job(effect="pure", overlap="skip_if_running")
def alone(ctx: Context, gate: str = "go") -> str:
    return wait_for(ctx, gate)


@app.job(effect="pure", overlap="queue_one")
def one_behind(ctx: Context, gate: str = "go") -> str:
    return wait_for(ctx, gate)


@app.job(effect="pure", lock=koken.Lock("shelf", limit=3))
def locked(ctx: Context, gate: str = "go") -> str:
    return wait_for(ctx, gate)


@app.job(effect="pure", queue="narrow")
def narrow(ctx: Context, gate: str = "go") -> str:
    return wait_for(ctx, gate)


async def for_a_moment(ctx: AsyncContext) -> None:
    """Be under way for so long that another one could be seen beside it."""
    note("began", ctx)
    await asyncio.sleep(LOOK)
    note("ended", ctx)


@app.job(effect="pure", queue="narrow")
async def narrow_quick(ctx: AsyncContext) -> None:
    await for_a_moment(ctx)


@app.job(effect="pure", lock=koken.Lock("drawer", limit=3))
async def locked_quick(ctx: AsyncContext) -> None:
    await for_a_moment(ctx)


@app.job(effect="pure")
async def blocking(ctx: AsyncContext, length: float) -> None:
    """Keeps the worker's event loop from anything else."""
    note("began", ctx)
    time.sleep(length)  # noqa: ASYNC251 - that is the fault
    note("ended", ctx)


@app.job(timeout="1s", queue="five")
def hung_in_python(ctx: Context) -> None:
    """Waits for ever, and asks nobody."""
    note("began", ctx)
    while True:
        time.sleep(LOOK)


@app.job(timeout="1s", queue="five")
def hung_in_a_call(ctx: Context) -> None:
    """Waits for a byte that nobody sends, in a thread that nobody can end."""
    note("began", ctx)
    ours, theirs = socket.socketpair()
    with theirs:
        ours.recv(1)


@app.job(timeout="1s", queue="five")
async def hung_on_loop(ctx: AsyncContext) -> None:
    note("began", ctx)
    await asyncio.Event().wait()


@app.job(timeout="1s", queue="five", executor="process")
def hung_process(ctx: Context) -> None:
    note("began", ctx)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.pause()


@app.job(queue="five")
async def after_hung(ctx: AsyncContext) -> None:
    note("ended", ctx)


@app.job(effect="pure")
def reads(ctx: Context, url: str, key: str) -> int:
    """How many rows the caller has written beside its start."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "select count(*) from public.mine where key = %s", [key]
        ).fetchone()
    assert row is not None
    return int(row[0])
